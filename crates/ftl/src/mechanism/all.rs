//! The mechanisms in force: all that were chosen, or none.

use base::Geometry;
use base::scope::{Scope, Scoped};

use super::dftl::Dftl;
use super::disturb::Disturb;
use super::migration::Migration;
use super::paired::Paired;
use super::renewal::Refresh;
use super::retirement::Retirement;
use super::separation::Separation;
use super::slc::SlcCache;
use super::twin::Twin;
use super::wear::WearLeveling;
use super::{Agenda, Placing, Planned, Reported, Restart};
use crate::allocation::Allocation;
use crate::kernel::{Kernel, Needs};
use crate::{Bytes, OutOfMemory, Policies};

/// The mechanisms in force, as page mapping is compiled with them.
pub(crate) trait Mechanisms: Planned + Placing + Agenda + Restart + Reported {
    /// There is none.
    const IS_PLAIN: bool;

    /// The mechanisms that alone do something for page mapping.
    fn parts(&self) -> MechanismParts<'_>;

    /// The mechanisms that alone do something for page mapping, to be told.
    fn parts_mut(&mut self) -> MechanismPartsMut<'_>;
}

/// A mechanism that alone does something for page mapping, where it is in force. Whoever asks for it finds the mechanism itself.
#[derive(Clone, Copy, Default)]
pub(crate) struct MechanismParts<'a> {
    /// The map in flash.
    pub(crate) map: Option<&'a Dftl>,
    /// The reads that pages took.
    pub(crate) reads: Option<&'a Disturb>,
    /// How much the host asks for.
    pub(crate) load: Option<&'a Migration>,
    /// The mechanism that covers lower pages.
    pub(crate) covers: Option<&'a Paired>,
    /// Blocks that fail.
    pub(crate) retirement: Option<&'a Retirement>,
    /// Refresh by age and errors.
    pub(crate) refresh: Option<&'a Refresh>,
    /// The pseudo-SLC cache.
    pub(crate) cache: Option<&'a SlcCache>,
    /// Data separation.
    pub(crate) separation: Option<&'a Separation>,
}

/// A mechanism that alone does something for page mapping, to be told.
#[derive(Default)]
pub(crate) struct MechanismPartsMut<'a> {
    /// The map in flash.
    pub(crate) map: Option<&'a mut Dftl>,
    /// The reads that pages took.
    pub(crate) reads: Option<&'a mut Disturb>,
    /// How much the host asks for.
    pub(crate) load: Option<&'a mut Migration>,
    /// The mechanism that covers lower pages.
    pub(crate) covers: Option<&'a mut Paired>,
    /// Blocks that fail.
    pub(crate) retirement: Option<&'a mut Retirement>,
    /// Refresh by age and errors.
    pub(crate) refresh: Option<&'a mut Refresh>,
    /// The pseudo-SLC cache.
    pub(crate) cache: Option<&'a mut SlcCache>,
}

/// No mechanism.
#[derive(Clone)]
pub(crate) struct Plain;

impl Planned for Plain {
    fn needs(_: &Policies<'_>, _: &Geometry) -> Option<Needs> {
        None
    }

    fn bytes(_: &Policies<'_>, _: &Geometry, _: u64, _: bool) -> Bytes {
        Bytes::default()
    }

    fn build(_: &Kernel, _: &Policies<'_>, _: &Allocation) -> Result<Option<Plain>, OutOfMemory> {
        Ok(Some(Plain))
    }
}

impl Mechanisms for Plain {
    const IS_PLAIN: bool = true;

    #[inline(always)]
    fn parts(&self) -> MechanismParts<'_> {
        MechanismParts::default()
    }

    #[inline(always)]
    fn parts_mut(&mut self) -> MechanismPartsMut<'_> {
        MechanismPartsMut::default()
    }
}

/// Any mechanisms, with their plans.
macro_rules! all {
    ([$($row:ident: $type:ty,)*]) => {
        /// Any mechanisms.
        #[derive(Clone)]
        pub(crate) struct All {
            $(pub(super) $row: Option<Box<$type>>,)*
        }

        impl Planned for All {
            fn needs(policies: &Policies<'_>, geometry: &Geometry) -> Option<Needs> {
                let chosen = [$(<$type>::needs(policies, geometry)),*];
                chosen.into_iter().flatten().reduce(Needs::and)
            }

            fn bytes(policies: &Policies<'_>, geometry: &Geometry, user_pages: u64, keeps_spares: bool) -> Bytes {
                [$(<$type>::bytes(policies, geometry, user_pages, keeps_spares)),*].into_iter().sum()
            }

            fn build(
                kernel: &Kernel,
                policies: &Policies<'_>,
                allocation: &Allocation,
            ) -> Result<Option<All>, OutOfMemory> {
                Ok(Some(All { $($row: <$type>::build(kernel, policies, allocation)?.map(Box::new),)* }))
            }
        }
    };
}

rows!(all!);

/// The scopes of all mechanisms.
macro_rules! scopes {
    ([$($row:ident: $type:ty,)*]) => {
        pub(crate) fn scopes() -> Vec<&'static Scope> {
            vec![$(&<$type as Scoped>::SCOPE),*]
        }
    };
}

rows!(scopes!);

impl Mechanisms for All {
    const IS_PLAIN: bool = false;

    #[inline(always)]
    fn parts(&self) -> MechanismParts<'_> {
        MechanismParts {
            map: self.dftl.as_deref(),
            reads: self.disturb.as_deref(),
            load: self.migration.as_deref(),
            covers: self.paired.as_deref(),
            retirement: self.retirement.as_deref(),
            refresh: self.refresh.as_deref(),
            cache: self.slc.as_deref(),
            separation: self.separation.as_deref(),
        }
    }

    #[inline(always)]
    fn parts_mut(&mut self) -> MechanismPartsMut<'_> {
        MechanismPartsMut {
            map: self.dftl.as_deref_mut(),
            reads: self.disturb.as_deref_mut(),
            load: self.migration.as_deref_mut(),
            covers: self.paired.as_deref_mut(),
            retirement: self.retirement.as_deref_mut(),
            refresh: self.refresh.as_deref_mut(),
            cache: self.slc.as_deref_mut(),
        }
    }
}
