//! The words between page mapping and mechanisms.

use base::{Domain, Lpn, Ppn, Unit};

use crate::kernel::{Placement, Stream};
use crate::ops::{DataSource, How, Step};

/// Where a mechanism makes room from, when the agenda asks it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoomSource {
    /// Before the domain is short: a mechanism's own limit.
    Early,
    /// Units in a mechanism's hands that are empty, or will be.
    Kept,
    /// A unit that gains room whatever the policy says.
    Forced,
    /// A victim in a mechanism's hands that is being emptied.
    InWork,
    /// Buffered pages of a mechanism, if room was short already for this host page; those of a cache, oldest first.
    Buffered,
    /// Buffered pages of a mechanism, when nothing else is left.
    LastResort,
}

/// How a page is about to come to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The host writes it.
    Host {
        /// The domain that takes it.
        domain: Domain,
        /// True if it was written before.
        is_mapped: bool,
        /// Where the host wants it.
        hint: u16,
    },
    /// It is copied.
    Copy,
}

/// How a page came to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageOrigin {
    /// The host wrote it.
    Host {
        /// True if it had been written before.
        was_mapped: bool,
        /// Where the host wanted it.
        hint: u16,
    },
    /// It was copied.
    Copy(Ppn, How),
    /// It is a page of a map in flash, made anew.
    Map,
    /// A failed program or a power cut destroyed it, and it comes from there.
    Anew(DataSource),
}

/// A page that was placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewPage {
    pub(crate) domain: Domain,
    pub(crate) lpn: Lpn,
    pub(crate) at: Ppn,
    pub(crate) origin: PageOrigin,
}

/// Pending work of a domain besides collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// This is done next.
    Act(Step),
    /// A page of the map needs a place: the agenda makes room, if need be, and asks again.
    Room,
}

/// Work that a mechanism does on its own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnWork {
    /// A collection began or ended.
    Changed,
    /// Room has to be made before a unit's pages can move.
    Room,
    /// This stream's active block takes no more pages.
    Close(Stream),
    /// This is done next.
    Act(Step),
    /// The job in hand goes on: its pages can be read but a few times more, so nothing comes before them.
    Move,
}

/// The pages that move out of a victim next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// The pages of the group.
    Group,
    /// No page: those that are left stay, and the unit is in use again.
    Stays,
}

/// The step after the last page that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VictimEnd {
    /// This first.
    Act(Step),
    /// The job is out of the domain's hands: it is over, or waits in the mechanism's. The domain is at others' service.
    Over,
    /// The job is over; the mechanism has the unit erased when nothing depends on it.
    Hold,
}

/// The page that goes under the next host page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Under {
    /// The next pages of the victim that [`Kernel::pairing`](crate::kernel::Kernel::pairing) names.
    Victim,
    /// A victim is to be chosen, before which others may begin what is due.
    Choice,
    /// A unit is erased first, which may make it needless.
    Erase,
    /// A collection that began comes first.
    Collection,
}

/// A page that a mechanism made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combined {
    pub(crate) place: Placement,
    pub(crate) product: Product,
}

/// The page that a mechanism makes of pages that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// A backup.
    Backup,
    /// This page of the map.
    Map(Lpn),
    /// A page that was there already, programmed anew so that its wordline has guard levels.
    Guard,
}

/// The units of a domain that mechanisms keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keepers {
    /// Set aside.
    pub(crate) aside: Vec<Unit>,
    /// In work.
    pub(crate) in_work: Vec<Unit>,
    /// Withheld from the victim policy.
    pub(crate) withheld: Vec<Unit>,
}

/// Answers of which everybody's is asked for, and one counts.
pub(super) trait Either {
    /// This answer if there is one, or the one before.
    fn or_before(self, before: Self) -> Self;
}

impl Either for bool {
    fn or_before(self, before: bool) -> bool {
        self || before
    }
}

impl Either for Option<f64> {
    fn or_before(self, before: Option<f64>) -> Option<f64> {
        self.or(before)
    }
}
