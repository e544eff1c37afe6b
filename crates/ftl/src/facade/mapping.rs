//! The trait of a mapping: what executors ask of any of them. The façade calls the one in force.

use base::{Domain, Lpn, Ppn, Unit};

use super::{Ftl, InForce};
use crate::group::Group;
use crate::ops::{Array, Erasure, HostWrite, Placed, Step};
use crate::work::DomainWork;
use crate::{Figures, Policies};

/// Any place suits: see [`Ftl::place`].
pub const ANYWHERE: Option<fn(Ppn) -> bool> = None;

/// Calls the mapping in force: a branch that the processor predicts, inlined into the executor.
macro_rules! delegate {
    ($mapping:expr, $ftl:ident => $call:expr) => {
        match $mapping {
            InForce::Plain($ftl) => $call,
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
        /// Where a logical page is, or why it is nowhere.
        fn lookup(&self, lpn: Lpn) -> Result<Ppn, Nowhere>;

        /// True if a physical page holds current data.
        fn is_valid(&self, at: Ppn) -> bool;

        /// A number that is another one once a page of a unit in work has become invalid; `None`: that has to be looked for.
        fn valid_mark(&self, unit: Unit) -> Option<u32>;

        /// Asks the memory for the map entry of a page that will be looked up or written.
        fn prefetch(&self, lpn: Lpn);

        /// Asks the memory for what a write of the page makes invalid, and what a read of it counts. Best said some time after
        /// [`Ftl::prefetch`].
        fn prefetch_old(&self, lpn: Lpn);

        /// The work of a domain that comes before host pages. `None`: it is not busy.
        fn work(&self, domain: Domain) -> Option<DomainWork>;

        /// Has a domain do what has to come before a host page. Returns whether that is nothing, so that it can be written; if
        /// not, it has something to do first ([`Ftl::next_step`]).
        fn prepare(&mut self, domain: Domain, page: HostWrite) -> bool;

        /// Places a page that the host writes, if the place that it would get suits, and makes its old version invalid. `suits` is
        /// asked once, and a unit is open for the page then, whether it suits or not; [`ANYWHERE`] takes any place.
        ///
        /// A collection may begin ([`Ftl::work`]): it has to end before the domain takes another host page.
        ///
        /// # Panics
        /// If the domain is busy, or there is no such page.
        fn write(&mut self, domain: Domain, page: HostWrite, suits: Option<impl FnOnce(Ppn) -> bool>) -> Option<Placed>;

        /// Forgets a logical page. Returns whether it was mapped.
        fn trim(&mut self, lpn: Lpn) -> bool;

        /// The data of a page of the array cannot be corrected, and are lost; those of the map are made again. Returns whether they are
        /// the host's.
        fn lose(&mut self, at: Ppn) -> bool;

        /// Begins and ends what is due in a domain, until there is an operation to carry out. Its pages are put into `group`.
        fn next_step(&mut self, domain: Domain, group: &mut Group) -> Option<Step>;

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

        /// Places copies of the first of these pages, which the step in hand moves off the chip, at once: in order, and as many as their
        /// row takes. Returns the place of the first one, and how many they are; `None` where each is to be placed by itself.
        ///
        /// # Panics
        /// If one of them was overwritten or trimmed since.
        fn place_run(&mut self, domain: Domain, pages: &[Ppn]) -> Option<(Ppn, u32)>;

        /// The unit of [`Op::Erase`](crate::Op::Erase) was erased, or its erase has failed. The next collection of the domain may begin at
        /// once.
        ///
        /// # Panics
        /// If it was not to be erased.
        fn erased(&mut self, domain: Domain, unit: Unit, has_failed: bool) -> Erasure;

        /// Carries out what a domain has to do, at once: so many operations at most. Returns whether there may be more.
        fn collect(&mut self, domain: Domain, most: u32, array: &mut impl Array) -> bool;

        /// Makes every policy anew and forgets figures: preconditioning ends with this, whether it was run or loaded from a
        /// file. So a run that starts from a saved state equals one that aged the device itself, and a state can be used under
        /// other policies.
        fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64);

        /// The work of mapping and mechanisms since preconditioning.
        fn figures(&self) -> Figures;

        /// Checks the whole state: that map and reverse map mirror each other, that valid counts and free counts add up, that
        /// every unit is where its state says, and that the array has it as the map does.
        ///
        /// # Errors
        /// A sentence that names the first disagreement.
        fn check(&self, array: &dyn ArrayView) -> Result<(), String>;

        /// Says in words a domain's free blocks, its job and its next operation.
        fn in_words(&self, domain: Domain) -> String;
    }
}

/// Why a logical page is nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nowhere {
    /// It was never written, or was trimmed since.
    Unwritten,
    /// The data of the host were lost, and it was neither written nor trimmed since: a read of it is an error.
    Lost,
}

/// The array, as a check of the whole state sees it.
pub trait ArrayView {
    /// True if a page is programmed, or waits for that.
    fn is_programmed(&self, at: Ppn) -> bool;

    /// True if map and reverse map were made of one another just now, from a file, whose pages are looked at apart.
    fn is_of_file(&self) -> bool {
        false
    }

    /// True if the block of a page is one of which only LSB pages are used; `None`: nothing is programmed in it.
    fn is_lsb_only(&self, at: Ppn) -> Option<bool>;
}

/// Looks for a logical page that lies where nothing is programmed.
///
/// # Errors
/// A sentence that names it.
pub(crate) fn check_programmed(
    mapping: &impl Mapping,
    logical_pages: u32,
    array: &dyn ArrayView,
) -> Result<(), String> {
    let astray = (0..logical_pages).map(Lpn).find_map(|lpn| {
        let at = mapping.lookup(lpn).ok().filter(|&at| !array.is_programmed(at))?;
        Some(format!("LPN {} maps to PPN {}, which is not programmed", lpn.0, at.0))
    });
    astray.map_or(Ok(()), Err)
}
