//! Mechanisms: what a paper or a product adds to page mapping, one folder each.
//!
//! A mechanism owns its state, its table for the configuration, its figures, its checks and its refusals. It meets the rest
//! in one trait, [`Mechanism`], whose methods all have defaults. Mechanisms do not know each other: what two of them share is
//! a fact in the kernel. In which order they are asked stands in the two tables of [`crate::agenda`], and within a line of
//! these it is their order in [`All`].

mod all;
pub mod dftl;
pub mod disturb;
pub mod forwarding;
pub mod migration;
pub mod paired;
pub mod separation;
pub mod twin;
pub mod wear;

use std::ops::Range;
use std::slice;

use base::{Cause, Domain, Geometry, Instant, Lpn, Ppn, Slot, Unit};

use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{Job, Kept, Kernel, Needs, Place, Saved, Spare, Stream, Why};
use crate::ops::{How, Op, Source};
use crate::scan::{Rescue, Scanned};
use crate::{Figures, OutOfMemory, Policies};

/// Where a mechanism makes room from, when the agenda asks it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Before the domain is short: a mechanism's own limit.
    Early,
    /// Units in a mechanism's hands that are empty, or will be.
    Kept,
    /// A unit that gains room whatever the policy says.
    Forced,
    /// A victim in a mechanism's hands that is being emptied.
    InWork,
    /// What a mechanism buffers, if room was short already for this host page.
    Buffered,
    /// What a mechanism buffers, when nothing else is left.
    LastResort,
}

pub(crate) use all::{All, Plain, Plan};

/// How a page came to its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The host wrote it.
    Host {
        /// Whether it had been written before.
        was_mapped: bool,
    },
    /// It was copied.
    Copy(Ppn, How),
    /// It is a page of a map in flash, made anew.
    Map,
    /// A failed program or a power cut destroyed it, and it comes from there.
    Anew(Source),
}

/// A page that was placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placing {
    pub(crate) domain: Domain,
    pub(crate) lpn: Lpn,
    pub(crate) at: Ppn,
    pub(crate) origin: Origin,
}

/// What is pending in a domain besides collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// Nothing, or nothing that can be done now.
    None,
    /// This is done next.
    Act(Op),
    /// A page of the map needs a place: the agenda makes room, if need be, and asks again.
    Room,
}

/// What comes after the last page of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its erase.
    Erase,
    /// This first.
    Act(Op),
    /// The job waits in the mechanism's hands; the domain is at others' service.
    Park,
    /// The job is over; the mechanism has the unit erased when nothing depends on it.
    Hold,
}

/// What goes under the next host page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Under {
    /// Nothing.
    Nothing,
    /// The next pages of the victim that [`Kernel::pairing`] names.
    Victim,
    /// A unit is erased first, which may make it needless.
    Erase,
    /// A collection that began comes first.
    Collection,
}

/// A page that a mechanism made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combined {
    pub(crate) place: Place,
    pub(crate) what: Made,
}

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// A backup.
    Backup,
    /// This page of the map.
    Map(Lpn),
    /// A page that was there already, programmed anew so that its wordline has guard levels.
    Guard,
}

/// What reads of the array call for in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbed {
    /// Nothing, or nothing but the collection in progress.
    Nothing,
    /// Room has to be made before a unit's pages can move.
    Room,
    /// A collection began or ended.
    Changed,
    /// This stream's active block takes no more pages.
    Close(Stream),
    /// Pages of the unit in work move, which [`Mechanism::pick`] names.
    Move,
    /// Nothing is left to be done with the unit in work, which stays in use.
    Keep,
    /// This is done next.
    Act(Op),
}

/// What a mechanism does where page mapping asks it. Every method has a default: nothing.
#[allow(unused_variables)]
pub(crate) trait Mechanism {
    /// What it needs of every domain.
    fn needs(policies: &Policies<'_>, geometry: &Geometry) -> Needs
    where
        Self: Sized,
    {
        Needs::NONE
    }

    // Asked; nothing changes.

    /// The class of a page that the host is about to write, on the mechanism's axis.
    fn host_class(&self, lpn: Lpn, is_mapped: bool) -> usize {
        0
    }

    /// The class of a page that is about to be copied, on the mechanism's axis.
    fn copy_class(&self, lpn: Lpn) -> usize {
        0
    }

    /// Whether something is pending in a domain that comes before host pages, besides a collection.
    fn is_pending(&self, domain: Domain) -> bool {
        false
    }

    /// Whether there may not be room to empty the next victim after another host page, wherever that goes.
    fn is_cramped(&self, kernel: &Kernel, domain: Domain) -> bool {
        false
    }

    /// Whether something belongs to the pages that a domain placed last, before which its collection is not suspended.
    fn goes_on(&self, domain: Domain) -> bool {
        false
    }

    /// A unit in the mechanism's hands that can be erased.
    fn erasable(&self, kernel: &Kernel, domain: Domain) -> Option<Unit> {
        None
    }

    /// Why a unit in the mechanism's hands is erased, if that is not garbage collection.
    fn erase_cause(&self, domain: Domain, unit: Unit) -> Option<Cause> {
        None
    }

    /// Whether something has to be done before an empty unit is erased.
    fn delays_erase(&self, kernel: &Kernel, domain: Domain, unit: Unit) -> bool {
        false
    }

    /// Domains that may be collected along with one.
    fn neighbours(&self, kernel: &Kernel, domain: Domain) -> Range<u32> {
        0..0
    }

    /// Whether a domain is near enough to its threshold to be collected along with a neighbour.
    fn goes_along(&self, kernel: &Kernel, domain: Domain) -> bool {
        false
    }

    /// Which pages of a victim move together, with how many dummy pages behind them; none if it does not matter.
    fn pick(
        &self,
        kernel: &Kernel,
        domain: Domain,
        job: &mut Job,
        stream_of: &dyn Fn(Lpn) -> Stream,
        group: &mut Group,
    ) {
    }

    /// Which way the pages of a group move, which go to a stream.
    fn how(&self, kernel: &Kernel, domain: Domain, stream: Stream, group: &Group) -> How {
        How::OffChip
    }

    /// Where else the data of a page are that a failed program destroyed.
    fn elsewhere(&self, domain: Domain, page: Ppn) -> Option<Source> {
        None
    }

    /// The units of a domain that the mechanism keeps: those set aside, and those in work.
    fn kept(&self, domain: Domain, aside: &mut Vec<Unit>, in_work: &mut Vec<Unit>) {}

    /// The units of a domain that the mechanism withholds from the victim policy.
    fn withheld(&self, kernel: &Kernel, domain: Domain, units: &mut Vec<Unit>) {}

    /// Checks the mechanism's state against the kernel's.
    fn check(&self, kernel: &Kernel) -> Result<(), String> {
        Ok(())
    }

    /// Adds what a device state holds of it: the units that it keeps, and words of its own.
    fn save(&self, kernel: &Kernel, saved: &mut Saved<'_>) {}

    /// Takes over what a device state holds of it, once the kernel has its own; it is as new. `words` begin with its own.
    ///
    /// # Errors
    /// What is no such state.
    fn restore(&mut self, kernel: &mut Kernel, kept: &[Kept], words: &mut slice::Iter<'_, u32>) -> Result<(), String> {
        Ok(())
    }

    /// Adds what it did since preconditioning.
    fn figures(&self, figures: &mut Figures) {}

    // Told.

    /// A page was placed.
    fn placed(&mut self, kernel: &mut Kernel, page: &Placing) {}

    /// A dummy page was placed.
    fn padded(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) {}

    /// A unit was filled, or waits filled for its collection again.
    fn filled(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {}

    /// A page that is mapped is trimmed, or lost.
    fn trimmed(&mut self, kernel: &mut Kernel, lpn: Lpn) {}

    /// The host reads a page.
    fn read(&mut self, lpn: Lpn) {}

    /// A unit was erased and is free, after a collection if there was one. Returns whether it was in the mechanism's hands.
    fn erased(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, why: Option<Why>) -> bool {
        false
    }

    /// A collection is suspended; if that is for the erase of another unit, what it was about to do is done first.
    fn suspended(&mut self, domain: Domain, is_for_erase: bool) {}

    /// Nothing is left to do in a domain.
    fn settled(&mut self, domain: Domain) {}

    /// A page of the map that was placed in a domain is in flash.
    fn committed(&mut self, kernel: &mut Kernel, domain: Domain) {}

    /// Preconditioning is over: figures begin anew.
    fn renew(&mut self, kernel: &mut Kernel, policies: &Policies<'_>) {}

    // What a domain does; `agenda` says when each is asked.

    /// Something pending. `has_room` says that room was made for a page of the map.
    fn pending(&mut self, kernel: &mut Kernel, domain: Domain, has_room: bool, group: &mut Group) -> Pending {
        Pending::None
    }

    /// A job that waited in the mechanism's hands goes on, if it may.
    fn take_up(&mut self, kernel: &mut Kernel, domain: Domain) {}

    /// What comes before the next page of a victim.
    fn before_copies(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Option<Op> {
        None
    }

    /// What comes after the last page of a victim.
    fn end(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> End {
        End::Erase
    }

    /// What comes before a collection ends whose unit stays in use.
    fn before_keeping(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> End {
        End::Erase
    }

    /// Ends the collection of a unit that stays in use.
    fn keep(&mut self, kernel: &mut Kernel, domain: Domain) {}

    /// What comes before the erase of an empty unit in another mechanism's hands.
    fn before_erase(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, group: &mut Group) -> End {
        End::Erase
    }

    /// What comes before a page is programmed at a place.
    fn before_page(&mut self, kernel: &mut Kernel, domain: Domain, at: Ppn, group: &mut Group) -> Option<Op> {
        None
    }

    /// What goes under the next host page of a stream.
    fn under(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream) -> Under {
        Under::Nothing
    }

    /// Makes room for a stream. Returns whether something was begun that does.
    fn room(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream, source: Room) -> bool {
        false
    }

    /// Whether a collection may begin for this reason now.
    fn may_begin(&mut self, kernel: &Kernel, domain: Domain, why: Why) -> bool {
        true
    }

    /// A unit that is due to be collected, whatever the need for room.
    fn due(&mut self, kernel: &Kernel, domain: Domain) -> Option<(Unit, Why)> {
        None
    }

    /// What reads of the array call for, once no other collection is in progress.
    fn disturbed(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Disturbed {
        Disturbed::Nothing
    }

    // After a failed program, and after a power cut.

    /// The program of a page failed. Returns whether nothing else is to be done about it.
    fn failed(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) -> bool {
        false
    }

    /// No more pages are added to a unit that is not full.
    fn sealed(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {}

    /// A restart finds how often the blocks of a unit were read since their erase, and which of its slots hold guard levels.
    fn adopt_reads(&mut self, kernel: &Kernel, unit: Unit, found: &Scanned) {}

    /// A restart finds a page with this region.
    fn adopt_page(&mut self, lpn: Lpn, region: u8) {}

    /// A restart finds a unit that was being filled up to a slot. Returns whether it is not filled further by a stream.
    fn adopt_open(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, next: Slot) -> bool {
        false
    }

    /// A restart goes on filling a unit from a slot on.
    fn adopt_frontier(&mut self, kernel: &Kernel, domain: Domain, unit: Unit, next: Slot, found: &Scanned) {}

    /// A restart finds a filled unit that is set aside.
    fn adopt_aside(&mut self, domain: Domain, unit: Unit) {}

    /// After a restart and its erases: the mechanism's own units.
    fn reopen(&mut self, kernel: &mut Kernel) {}

    /// What a page of backup brings back, of all that was found.
    fn rescued(&self, kernel: &Kernel, scan: &[Scanned], at: Ppn, spare: &Spare) -> Option<Rescue> {
        None
    }

    /// Whether a page that is brought back may be programmed at a place: nothing unprotected is put at risk meanwhile.
    fn may_rescue_to(&self, kernel: &Kernel, at: Ppn) -> bool {
        true
    }
}

/// The mechanisms in force, as page mapping is compiled with them.
pub(crate) trait Mechanisms: Mechanism + Sized {
    /// Whether there is none.
    const IS_PLAIN: bool;

    /// The mechanisms that were chosen.
    fn build(kernel: &mut Kernel, policies: &Policies<'_>, allocation: &Allocation) -> Result<Self, OutOfMemory>;

    /// A page is looked up, written or moved soon: asks the memory for what is kept of it.
    fn prefetch(&self, _lpn: Lpn) {}

    /// A page of the array is read soon: asks for what is kept of it.
    fn prefetch_read(&self, _kernel: &Kernel, _at: Ppn) {}

    /// The stream of a page that the host is about to write.
    fn host_stream(&self, _kernel: &Kernel, _lpn: Lpn, _is_mapped: bool) -> Stream {
        Stream::FIRST
    }

    /// The stream of a page of data that is about to be copied.
    fn copy_stream(&self, _kernel: &Kernel, _lpn: Lpn) -> Stream {
        Stream::FIRST
    }

    /// What the spare area of a page says of it, besides what the kernel knows.
    fn region(&self, _lpn: Lpn) -> u8 {
        0
    }

    /// Whether pages may have to be made safe before others are programmed.
    fn guards_pages(&self) -> bool {
        false
    }

    /// Whether anybody wants to hear of every page that is read.
    fn hears_of_reads(&self) -> bool {
        false
    }

    /// A page of the array is read, whatever for.
    fn page_read(&mut self, _kernel: &mut Kernel, _at: Ppn) {}

    /// The host reads so many pages of a block from one on, as many as call for nothing: returns how many.
    fn host_reads(&mut self, _kernel: &Kernel, _first: Ppn, pages: u32) -> u32 {
        pages
    }

    /// Whether a page of the array may be read for the host now, or has to move first.
    fn may_read(&self, _kernel: &Kernel, _at: Ppn) -> bool {
        true
    }

    /// Whether a page that is about to be filled up gets guard levels.
    fn is_guard(&self, _kernel: &Kernel, _at: Ppn) -> bool {
        false
    }

    /// The cause of a collection that begins for want of room, if that is not garbage collection for the host; `asked` says
    /// that pages which have to move for being read ask for the room.
    fn cause_of_room(&mut self, _kernel: &Kernel, _domain: Domain, _asked: bool) -> Option<Cause> {
        None
    }

    /// Time goes on. Returns a sample of the workload's locality, if one was due.
    fn tell(&mut self, _kernel: &mut Kernel, _now: Instant) -> Option<f64> {
        None
    }

    /// Whether anybody wants to know the time.
    fn hears_of_time(&self) -> bool {
        false
    }

    /// Whether anybody wants to hear how full the write buffer is.
    fn hears_of_buffer(&self) -> bool {
        false
    }

    /// So much of the write buffer, of one, is full from now on.
    fn tell_fill(&mut self, _kernel: &mut Kernel, _now: Instant, _fill: f64) {}

    // A map in flash.

    /// Whether the map entry of a page is in DRAM.
    fn holds_entry(&self, _lpn: Lpn) -> bool {
        true
    }

    /// Whether the map entry of a page can be read: it is in DRAM, or there is none.
    fn is_known(&self, _kernel: &Kernel, _lpn: Lpn) -> bool {
        true
    }

    /// Has the owner of a map entry get it. Returns the owner.
    fn want_entry(&mut self, _kernel: &mut Kernel, _lpn: Lpn, _for_write: bool) -> Domain {
        unreachable!("the whole map is in DRAM")
    }

    /// Whether pages lie in other domains than their map entries.
    fn has_owners(&self) -> bool {
        false
    }

    /// The domain that has the map entry of a page, where the map is in flash.
    fn owner_of(&self, _lpn: Lpn) -> Option<Domain> {
        None
    }

    /// Valid pages of a domain to come, for which room is kept.
    fn promised(&self, _domain: Domain) -> u32 {
        0
    }

    /// Keeps beside the map what the pages of the map say, to check the rest against.
    fn keep_contents(&mut self) {}

    /// What a page of the map said is lost. It was programmed anew without it.
    fn map_page_lost(&mut self, _kernel: &mut Kernel, _lpn: Lpn) {}

    /// Where the page goes that is combined next under a cause.
    fn combined_place(&mut self, _kernel: &mut Kernel, _domain: Domain, _cause: Cause) -> Ppn {
        unreachable!("nothing is combined")
    }

    /// Places what is combined of pages under a cause.
    fn combine(&mut self, _kernel: &mut Kernel, _domain: Domain, _cause: Cause, _pages: &[Ppn]) -> Combined {
        unreachable!("nothing is combined")
    }

    /// The page of an [`Op::Read`] was read. Returns the page of the host that it was read for.
    fn was_read(&mut self, _kernel: &mut Kernel, _domain: Domain) -> Lpn {
        unreachable!("nothing is read but to be moved")
    }
}
