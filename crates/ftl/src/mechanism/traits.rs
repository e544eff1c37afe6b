//! Mechanisms are asked and told by five traits, by who asks. A mechanism writes the few methods that it needs.
//!
//! A question that one mechanism alone will ever answer is no method here: page mapping finds that
//! mechanism by its part ([`MechanismParts`](super::Parts)).

use std::slice;

use base::{Cause, Domain, Geometry, Instant, Lpn, Ppn, Slot, Unit};

use super::answers::{
    Arrival, Combined, Either, Keepers, NewPage, OwnWork, Pending, Picked, RoomSource, Under, VictimEnd,
};
use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{AXES, Job, Kept, Kernel, Needs, Saved, Stream, Why};
use crate::ops::{How, Op, Step, Way};
use crate::scan::Scanned;
use crate::{Bytes, Figures, OutOfMemory, Policies};

/// The questions to a mechanism when a device is planned and built.
pub(crate) trait Planned: Sized {
    /// Its needs of every domain; nothing if it was not chosen.
    fn needs(policies: &Policies<'_>, geometry: &Geometry) -> Option<Needs>;

    /// The memory it takes, with so many pages of the host; `keeps_spares`: where pages have spare areas.
    fn bytes(policies: &Policies<'_>, geometry: &Geometry, user_pages: u64, keeps_spares: bool) -> Bytes;

    /// The mechanism, if it was chosen.
    ///
    /// # Errors
    /// When what it keeps does not fit in memory.
    fn build(kernel: &Kernel, policies: &Policies<'_>, allocation: &Allocation) -> Result<Option<Self>, OutOfMemory>;
}

asked! {
    /// Questions and notes where pages come to lie, and where they are lost.
    trait Placing {
        /// Puts the class of a page that is about to be written or copied among `classes`, on the mechanism's axis. The answer is
        /// a stream that it goes to whatever its classes are.
        first class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival, classes: &mut [usize; AXES]) -> Option<Stream>;

        /// The number that a page's spare area has of it, besides what the kernel knows.
        first region(&self, lpn: Lpn) -> Option<u8>;

        /// How a page is programmed, if not as the next one of its block; `is_dummy`: it holds nothing.
        first way(&self, kernel: &Kernel, at: Ppn, is_dummy: bool) -> Option<Way>;

        /// A page is looked up, written or moved soon: asks the memory for what is kept of it.
        all prefetch(&self, lpn: Lpn);

        /// A page was placed.
        all placed(&mut self, kernel: &mut Kernel, page: &NewPage);

        /// A dummy page was placed.
        all padded(&mut self, kernel: &Kernel, domain: Domain, at: Ppn);

        /// A unit was filled, or waits filled for its collection again.
        all filled(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit);

        /// No more pages are added to a unit that is not full.
        all sealed(&mut self, kernel: &Kernel, domain: Domain, unit: Unit);

        /// A page that is mapped is trimmed, or its data are lost. A page of a map in flash has its place all the same.
        all lost(&mut self, kernel: &mut Kernel, lpn: Lpn);

        /// A unit was erased and is free, after a collection if there was one. Returns whether it was in the mechanism's hands.
        every erased(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, why: Option<Why>) -> bool;
    }
}

asked! {
    /// Questions and notes where a domain decides what it does next; [`agenda`](crate::agenda) says when.
    trait Agenda {
        /// True if something is pending in a domain that comes before host pages, besides a collection.
        any is_pending(&self, domain: Domain) -> bool;

        /// True if something belongs to the pages that a domain placed last, before which its collection is not suspended.
        any goes_on(&self, domain: Domain) -> bool;

        /// A unit in the mechanism's hands that can be erased.
        first erasable(&self, kernel: &Kernel, domain: Domain) -> Option<Unit>;

        /// The pending work of a domain. `has_room` says that room was made for a page of the map; `may_fetch`, that the page of the map
        /// which is wanted may be read.
        first pending(
            &mut self, kernel: &mut Kernel, domain: Domain, has_room: bool, may_fetch: bool, group: &mut Group
        ) -> Option<Pending>;

        /// The work that begins or goes on in a domain on the mechanism's own account; `may_begin`: no collection waits elsewhere.
        first take_up(&mut self, kernel: &mut Kernel, domain: Domain, may_begin: bool, group: &mut Group) -> Option<OwnWork>;

        /// The step before the next page of a victim.
        first before_copies(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Option<Step>;

        /// Which pages of a victim move together, with how many dummy pages behind them; nothing if it does not matter.
        first pick(
            &self, kernel: &Kernel, domain: Domain, job: &mut Job, stream_of: &dyn Fn(Lpn) -> Stream, group: &mut Group
        ) -> Option<Picked>;

        /// Which way the pages of a group move, which go to a stream; nothing: through the controller.
        first how(&self, kernel: &Kernel, domain: Domain, stream: Stream, group: &Group) -> Option<How>;

        /// The step after the last page that moves out of a unit in work, before its erase or before it is in use again.
        first end(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, group: &mut Group) -> Option<VictimEnd>;

        /// The operation before a page is programmed at a place.
        first before_page(&mut self, kernel: &mut Kernel, domain: Domain, at: Ppn, group: &mut Group) -> Option<Op>;

        /// The page that goes under the next host page of a stream. `may_choose`: nothing else is due, so that a victim may be chosen.
        first under(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream, may_choose: bool) -> Option<Under>;

        /// Makes room for a stream. Returns whether something was begun that does.
        any room(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream, source: RoomSource) -> bool;

        /// A unit that is due to be collected between two other collections, whatever the need for room.
        first due(&mut self, kernel: &Kernel, domain: Domain) -> Option<(Unit, Why)>;

        /// Adds domains that are near enough to their threshold to be collected along with one.
        all neighbours(&self, kernel: &Kernel, domain: Domain, along: &mut Vec<Domain>);

        /// Places what is made of pages under a cause, if the place suits; nothing if that does not, or others make it.
        first combine(
            &mut self, kernel: &mut Kernel, domain: Domain, cause: Cause, pages: &[Ppn], suits: &mut dyn FnMut(Ppn) -> bool
        ) -> Option<Combined>;

        /// Time goes on. Returns a sample of the workload's locality, if one was due.
        every tell(&mut self, kernel: &mut Kernel, now: Instant) -> Option<f64>;
    }
}

asked! {
    /// Questions and notes after a failed program, after a power cut, and where a device state is saved or loaded.
    trait Restart {
        /// The program of a page failed. Returns whether nothing else is to be done about it.
        any failed(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) -> bool;

        /// A block of a unit has failed for good. Returns whether the unit stays in the mechanism's hands, which sees that it is erased.
        any fails(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) -> bool;

        /// A restart finds a page with this region, whose data are of this write.
        all adopt_page(&mut self, lpn: Lpn, region: u8, write: u64);

        /// A restart finds a unit that was being filled up to a slot. Returns whether it is not filled further by a stream.
        any adopt_open(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, next: Slot) -> bool;

        /// A restart goes on filling a unit from a slot on.
        all adopt_frontier(&mut self, kernel: &Kernel, domain: Domain, unit: Unit, next: Slot, found: &Scanned);

        /// Over a pristine array, and after a restart and its erases: the mechanism's own units.
        all reopen(&mut self, kernel: &mut Kernel);

        /// Adds what a device state holds of it: the units that it keeps, and words of its own.
        all save(&self, kernel: &Kernel, saved: &mut Saved<'_>);

        /// Takes over what a device state holds of it, once the kernel has its own; it is as new. `words` begin with its own. An
        /// error says what is no such state.
        sound restore(&mut self, kernel: &mut Kernel, kept: &[Kept], words: &mut slice::Iter<'_, u32>) -> Result<(), String>;

        /// Preconditioning is over: figures begin anew.
        all renew(&mut self, kernel: &mut Kernel, policies: &Policies<'_>);
    }
}

asked! {
    /// The questions of reports and of the whole-state check.
    trait Reported {
        /// Adds what it did since preconditioning.
        all figures(&self, figures: &mut Figures);

        /// Adds the units of a domain that the mechanism keeps.
        all kept(&self, kernel: &Kernel, domain: Domain, keepers: &mut Keepers);

        /// Checks the mechanism's state against the kernel's.
        sound check(&self, kernel: &Kernel) -> Result<(), String>;
    }
}
