//! The operations that the FTL has the array do. Why it is done is the FTL's business: executors see operations, and the cause under which
//! each is counted.

use base::{Cause, Lpn, Ppn, Unit};

/// Which way a page moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Through the controller, which corrects it.
    OffChip,
    /// Inside its plane, as it is.
    Copyback,
}

/// The next operation of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read the pages of the group, then place and program each, and behind them as many dummy pages as [`Group::rest`](crate::Group::rest)
    /// says ([`Ftl::place`](crate::Ftl::place)). A copyback is both at once, and has no dummy pages.
    Move(How),
    /// Read the pages of the group, if there are any, then place and program what is made of them: one page, or
    /// [`Group::products`](crate::Group::products); behind the first part of a page of the map as many others as
    /// [`Group::rest`](crate::Group::rest) says.
    Combine,
    /// Read the page of the group, with all its parts, then say so ([`MapInFlash::fetched`](crate::MapInFlash::fetched)).
    Read,
    /// Place and program a dummy page.
    Pad,
    /// Read the pages of the group, which share a wordline, then place and program its top page anew, in place.
    Reprogram,
    /// Erase this unit, in which nothing is valid, then say so ([`Ftl::erased`](crate::Ftl::erased)).
    Erase(Unit),
}

/// An operation, with the cause under which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The operation on the pages of the group.
    pub op: Op,
    /// For whom.
    pub cause: Cause,
}

impl Step {
    pub(crate) fn new(op: Op, cause: Cause) -> Step {
        Step { op, cause }
    }
}

/// A page that the host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostWrite {
    /// Which.
    pub lpn: Lpn,
    /// Where the host wants it: a stream, a handle, or an expected lifetime, by which some separations place pages.
    pub hint: u16,
}

impl From<Lpn> for HostWrite {
    /// One that the host wants nowhere in particular.
    fn from(lpn: Lpn) -> HostWrite {
        HostWrite { lpn, hint: 0 }
    }
}

/// The content of a page that was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagePayload {
    /// The data of this logical page: what was read, or what the host sent.
    Data(Lpn),
    /// The exclusive-or of the pages that were read; of a single page: its copy.
    Parity,
    /// The next version of this page of the map, behind those of the host, or of a part of one.
    Map(Lpn),
    /// No content: a dummy page.
    Nothing,
}

/// How a page is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As the next page of its block.
    Plain,
    /// As the next page of its block, the first one of a block of which only LSB pages are used.
    BeginsLsbOnly,
    /// As the next page of its block, with guard levels for its wordline.
    Guard,
    /// Once more, in place, with guard levels for its wordline; what it held is gone.
    Again,
}

/// A page that was placed, to be programmed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where.
    pub at: Ppn,
    /// Its content.
    pub holds: PagePayload,
    /// Its spare area: whole for what the host wrote, dummies and the map; for copies and backups all but the identity
    /// ([`crate::IDENTITY`]), which goes on with the data. 0 where pages have none.
    pub tag: u128,
    /// How.
    pub way: Way,
}

/// Where the data of a page come from that is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSource {
    /// From the controller, which has not let go of them: the page whose program failed.
    Controller,
    /// From the controller's page buffer, if it has one: a lower page, by its place.
    PageBuffer(Ppn),
    /// From another page.
    Page(Ppn),
    /// From a parity page and the other page of the parity.
    Parity(Ppn, Ppn),
}

/// How it ended to write a page anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// It is where it was placed.
    Done,
    /// Its data were not there any more.
    Lost,
    /// That program failed as well. The controller holds the page, and what else the program destroyed, in its page buffer.
    Failed,
    /// Both: its data were not there, and the program failed.
    LostAndFailed,
}

/// The erase of a unit, and what it is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// The unit.
    pub unit: Unit,
    /// Garbage collection, wear leveling, or a full backup block.
    pub cause: Cause,
    /// True if the collection was ahead of need.
    pub forward: bool,
    /// True if a collection ends with it; a merge erases further units.
    pub ends: bool,
    /// True if the unit is used no more: its blocks are marked as bad.
    pub retires: bool,
}

/// How a collection ahead of need goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AheadPhase {
    /// With the copy of a page or, under hybrid mapping, of a logical block.
    Copy,
    /// With the erase of an emptied unit.
    Erase,
}

/// Programs pages anew that a failed program has left without a place, and what belongs to them.
pub trait Rewriter {
    /// A page is made of the pages of a group, or of none. Returns whether the program succeeded.
    fn combined(&mut self, cause: Cause, pages: &[Ppn], to: Placed) -> bool;
    /// After a failed program, a page is to be read and programmed anew.
    fn rewritten(&mut self, cause: Cause, source: DataSource, to: Placed) -> Rewritten;
    /// Pages whose data the controller still holds after a failed program: all that were placed in the unit and not programmed, where
    /// pages wait for others. None where each is programmed by itself.
    #[inline]
    fn held(&self) -> Vec<Ppn> {
        Vec::new()
    }
    /// Where the array still has what the controller holds for a place: what it was copied from.
    #[inline]
    fn original_of(&self, _at: Ppn) -> Option<Ppn> {
        None
    }
    /// Pages of a unit that the array has lost, where pages wait for others: a failed program has destroyed some.
    #[inline]
    fn lost_in(&self, _unit: Unit) -> Vec<Ppn> {
        Vec::new()
    }
}

/// Carries out operations at once, for executors without time.
pub trait Array: Rewriter {
    /// A valid page is moved. Returns whether the program succeeded.
    fn moved(&mut self, cause: Cause, how: How, from: Ppn, to: Placed) -> bool;
    /// True if valid pages of a unit may be told several at once.
    fn moves_runs(&self, unit: Unit) -> bool;
    /// Moves `pages` valid pages of such a unit that end at `last` to consecutive pages from `to`, in order. `reads[b]` flash pages of
    /// the unit's block `b` are read for it.
    fn moved_run(&mut self, cause: Cause, pages: u32, last: Ppn, to: Ppn, reads: &[u32]);
    /// A page is read, and nothing is programmed.
    fn read(&mut self, cause: Cause, from: Ppn);
    /// A unit is to be erased. Returns whether the erase succeeded; if not, the blocks of the unit are marked as bad.
    fn erased(&mut self, erasure: Erasure) -> bool;
    /// The erase of a unit has to wait for pages that are placed and not programmed. Returns the active unit of the first of them, which
    /// is to be filled up.
    #[inline]
    fn waits_for(&self, _unit: Unit) -> Option<Unit> {
        None
    }
}
