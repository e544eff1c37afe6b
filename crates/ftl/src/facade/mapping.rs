//! The trait of a mapping: what executors ask of any of them. The façade calls the one in force.

use base::{Domain, Lpn, Ppn, Unit};

use super::{Ftl, InForce};
use crate::group::Group;
use crate::kernel::Why;
use crate::ops::{Array, Erasure, Placed, Step};
use crate::plain::PlainPages;
use crate::{Figures, Policies};

/// Any place suits: see [`Ftl::place`].
pub const ANYWHERE: Option<fn(Ppn) -> bool> = None;

/// Calls the mapping in force: a branch that the processor predicts, inlined into the executor.
macro_rules! delegate {
    ($mapping:expr, $ftl:ident => $call:expr) => {
        match $mapping {
            InForce::Plain(PlainPages($ftl)) => $call,
            InForce::Page($ftl) => $call,
            InForce::Fast($ftl) => $call,
        }
    };
}

/// The trait, and the same calls of [`Ftl`], each declared once.
macro_rules! calls {
    ($(#[$doc:meta])* trait $trait:ident { $($calls:tt)* }) => {
        calls! { @next [$(#[$doc])*] $trait [] [] $($calls)* }
    };
    (@next [$($doc:tt)*] $trait:ident [$($declared:tt)*] [$($called:tt)*]) => {
        $($doc)*
        pub(crate) trait $trait {
            $($declared)*
        }

        impl Ftl {
            $($called)*
        }
    };
    (
        @next $doc:tt $trait:ident [$($declared:tt)*] [$($called:tt)*]
        $(#[$of:meta])*
        fn $name:ident(&self $(, $arg:ident: $type:ty)*) $(-> $answer:ty)?;
        $($calls:tt)*
    ) => {
        calls! {
            @next $doc $trait
            [$($declared)* $(#[$of])* fn $name(&self $(, $arg: $type)*) $(-> $answer)?;]
            [
                $($called)*
                $(#[$of])*
                #[inline(always)]
                pub fn $name(&self $(, $arg: $type)*) $(-> $answer)? {
                    delegate!(&self.mapping, ftl => $trait::$name(ftl $(, $arg)*))
                }
            ]
            $($calls)*
        }
    };
    (
        @next $doc:tt $trait:ident [$($declared:tt)*] [$($called:tt)*]
        $(#[$of:meta])*
        fn $name:ident(&mut self $(, $arg:ident: $type:ty)*) $(-> $answer:ty)?;
        $($calls:tt)*
    ) => {
        calls! {
            @next $doc $trait
            [$($declared)* $(#[$of])* fn $name(&mut self $(, $arg: $type)*) $(-> $answer)?;]
            [
                $($called)*
                $(#[$of])*
                #[inline(always)]
                pub fn $name(&mut self $(, $arg: $type)*) $(-> $answer)? {
                    delegate!(&mut self.mapping, ftl => $trait::$name(ftl $(, $arg)*))
                }
            ]
            $($calls)*
        }
    };
}

calls! {
    /// Any mapping.
    trait Mapping {
        /// Logical pages of the host.
        fn user_pages(&self) -> u32;

        /// Where a logical page is, if it was ever written (and not trimmed since).
        fn lookup(&self, lpn: Lpn) -> Option<Ppn>;

        /// True if a physical page holds current data.
        fn is_valid(&self, at: Ppn) -> bool;

        /// Asks the memory for the map entry of a page that will be looked up or written.
        fn prefetch(&self, lpn: Lpn);

        /// Asks the memory for what a write of the page makes invalid, and what a read of it counts. Best said some time after
        /// [`Ftl::prefetch`].
        fn prefetch_old(&self, lpn: Lpn);

        /// True if a domain has something to do before it takes host pages: a collection, or what a mechanism asks for.
        fn is_busy(&self, domain: Domain) -> bool;

        /// Why a domain is collected, if it is.
        fn why(&self, domain: Domain) -> Option<Why>;

        /// Units that can be written before garbage has to be collected: free ones or, under hybrid mapping, log blocks
        /// that are not in use.
        fn spare_units(&self, domain: Domain) -> u32;

        /// The domain that takes a page when no time passes.
        fn domain_without_time(&mut self, lpn: Lpn) -> Domain;

        /// Has a domain do what has to come before a host page. Returns whether that is nothing, so that it can be written; if
        /// not, it has something to do first ([`Ftl::advance`]).
        fn prepare(&mut self, domain: Domain, lpn: Lpn) -> bool;

        /// Places a page that the host writes, if the place that it would get suits, and makes its old version invalid. `suits` is
        /// asked once, and a unit is open for the page then, whether it suits or not.
        ///
        /// A collection may begin ([`Ftl::is_busy`]): it has to end before the domain takes another host page.
        ///
        /// # Panics
        /// If the domain is busy, or there is no such page.
        fn write_if(&mut self, domain: Domain, lpn: Lpn, suits: impl FnOnce(Ppn) -> bool) -> Option<Placed>;

        /// Forgets a logical page. Returns whether it was mapped.
        fn trim(&mut self, lpn: Lpn) -> bool;

        /// Begins and ends what is due in a domain, so that [`Ftl::op`] has an answer.
        fn advance(&mut self, domain: Domain);

        /// The next operation of a domain, with its pages, which are put into `group`. [`Ftl::advance`] comes first: it begins
        /// and ends what is due.
        fn op(&self, domain: Domain, group: &mut Group) -> Option<Step>;

        /// Places the next page that the step in hand programs, if the place that it would get suits: the copy of the one page that is
        /// given or, for [`Op::Combine`](crate::Op::Combine) and [`Op::Reprogram`](crate::Op::Reprogram), what is made of all that
        /// are; without any, a dummy page. `None` if the place does not suit, or if the page was to be copied, and was overwritten or
        /// trimmed since. `suits` is asked once, if at all, and a unit is open for the page then; [`ANYWHERE`] takes any place.
        ///
        /// # Panics
        /// If the step programs nothing.
        fn place(
            &mut self, domain: Domain, step: Step, pages: &[Ppn], suits: Option<impl FnOnce(Ppn) -> bool>
        ) -> Option<Placed>;

        /// The unit of [`Op::Erase`](crate::Op::Erase) was erased. The next collection of the domain may begin at once.
        ///
        /// # Panics
        /// If it was not to be erased.
        fn erased(&mut self, domain: Domain, unit: Unit) -> Erasure;

        /// Carries out whatever a domain has to do, at once.
        fn collect(&mut self, domain: Domain, array: &mut impl Array);

        /// Makes every policy anew and forgets figures: preconditioning ends with this, whether it was run or loaded from a
        /// file. So a run that starts from a saved state equals one that aged the device itself, and a state can be used under
        /// other policies.
        fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64);

        /// The work of mapping and mechanisms since preconditioning.
        fn figures(&self) -> Figures;

        /// Checks the whole state: that map and reverse map mirror each other, that valid counts and free counts add up, that
        /// every unit is where its state says, and that every logical page lies where `is_programmed` holds.
        ///
        /// # Errors
        /// A sentence that names the first disagreement.
        fn check(&self, is_programmed: &dyn Fn(Ppn) -> bool) -> Result<(), String>;

        /// Says in words a domain's free blocks, its job and its next operation.
        fn in_words(&self, domain: Domain) -> String;
    }
}

impl Ftl {
    /// Places a page that the host writes, as [`Ftl::write_if`] does where any place suits.
    ///
    /// # Panics
    /// If the domain is busy, or there is no such page.
    #[inline(always)] // Of plain page mapping little is left where pages store nothing.
    pub fn write(&mut self, domain: Domain, lpn: Lpn) -> Placed {
        match &mut self.mapping {
            InForce::Plain(PlainPages(page)) => page.write(domain, lpn),
            _ => self.write_with_care(domain, lpn),
        }
    }

    #[inline(never)]
    fn write_with_care(&mut self, domain: Domain, lpn: Lpn) -> Placed {
        delegate!(&mut self.mapping, ftl => ftl.write(domain, lpn))
    }
}

/// Looks for a logical page that lies where nothing is programmed.
///
/// # Errors
/// A sentence that names it.
pub(crate) fn check_programmed(
    mapping: &impl Mapping,
    logical_pages: u32,
    is_programmed: &dyn Fn(Ppn) -> bool,
) -> Result<(), String> {
    let astray = (0..logical_pages).map(Lpn).find_map(|lpn| {
        let at = mapping.lookup(lpn).filter(|&at| !is_programmed(at))?;
        Some(format!("LPN {} maps to PPN {}, which is not programmed", lpn.0, at.0))
    });
    astray.map_or(Ok(()), Err)
}
