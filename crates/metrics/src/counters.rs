//! Plain counts of what happened.

use std::ops::{Add, Sub};

use base::{CAUSES, Cause, InStep, OpKind, RequestKind};
use serde::{Deserialize, Serialize};

/// Counts since the start of the measurement. Subtract an earlier copy to get a window.
///
/// Flash operations are in pages and blocks as the FTL sees them. Where channels or planes are in step these are
/// superpages and superblocks, and [`Counters::physical`] has the same in pages and blocks of the flash. Map units are programmed and
/// moved as units, and read in flash pages.
///
/// A copyback is an array read and an array program, so it is in `ops` under both kinds and once more in
/// `copybacks`; a reprogram is a program, and once more in `reprograms`. The write amplification is thus
/// the same figure whichever way data moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Host reads completed.
    pub host_reads: u64,
    /// Host writes completed.
    pub host_writes: u64,
    /// Host trims completed.
    pub host_trims: u64,
    /// Host flushes completed.
    pub host_flushes: u64,
    /// Bytes of the reads completed.
    pub bytes_read: u64,
    /// Bytes of the writes completed.
    pub bytes_written: u64,
    /// Bytes of the trims completed.
    pub bytes_trimmed: u64,
    /// Page reads of never-written pages, answered without flash.
    pub unmapped_reads: u64,
    /// Page reads of the host that end in an error: their data cannot be corrected, or were lost.
    pub failed_reads: u64,
    /// Flash operations by `[cause][kind]`: pages read, pages programmed, blocks erased.
    pub ops: [[u64; 3]; CAUSES],
    /// Pages moved inside their plane, by cause.
    pub copybacks: [u64; CAUSES],
    /// Pages programmed a second time without an erase.
    pub reprograms: u64,
    /// Wordlines programmed coarsely, the first of two passes.
    pub first_passes: u64,
    /// Of `ops`, those that were part of a multi-plane command of two or more planes.
    pub multi_ops: [[u64; 3]; CAUSES],
    /// Flash pages of superpages that a command for the host did not concern: programmed although the host wrote
    /// only others, or not needed of a superpage that was read. By `[cause][kind]`; none without superpages.
    pub bystanders: [[u64; 3]; CAUSES],
    /// Of `bystanders`, those of multi-plane commands of two or more superpages.
    pub multi_bystanders: [[u64; 3]; CAUSES],
    /// Garbage collections of data that ended.
    pub gc_invocations: u64,
    /// Of those, all that were not forward: a host write may have waited for them, or they were begun along with such a one.
    pub gc_foreground: u64,
    /// Of those, the ones that a GC schedule began ahead of need.
    pub gc_forward: u64,
    /// Times that a garbage collection was suspended at a preemption point.
    pub gc_preempted: u64,
    /// Valid pages that garbage collection moved.
    pub gc_moved_pages: u64,
    /// Blocks whose data wear leveling moved.
    pub wear_moves: u64,
    /// Pages of host writes that overwrote a page in the write buffer.
    pub buffer_hits: u64,
    /// Pages of host reads that the write buffer answered.
    pub buffer_read_hits: u64,
    /// Pages that were programmed from the write buffer.
    pub buffer_evictions: u64,
    /// Pages that a trim dropped from the write buffer.
    pub buffer_drops: u64,
}

impl Counters {
    /// Counts `pages` page reads, page programs or block erases that are not part of a multi-plane command.
    #[inline]
    pub fn count(&mut self, cause: Cause, kind: OpKind, pages: u64) {
        self.ops[cause as usize][kind as usize] += pages;
    }

    /// Counts one flash command over `planes` planes, and as multi-plane if there are two or more.
    #[inline]
    pub fn command(&mut self, cause: Cause, kind: OpKind, planes: u64) {
        self.ops[cause as usize][kind as usize] += planes;
        self.multi_ops[cause as usize][kind as usize] += if planes >= 2 { planes } else { 0 };
    }

    /// Counts one page of a multi-plane command whose pages are for several causes.
    pub fn part(&mut self, cause: Cause, kind: OpKind) {
        self.ops[cause as usize][kind as usize] += 1;
        self.multi_ops[cause as usize][kind as usize] += 1;
    }

    /// Of the superpages of a command, all counted already, so many flash pages were not concerned.
    pub fn bystand(&mut self, cause: Cause, kind: OpKind, pages: u64, is_multi: bool) {
        self.bystanders[cause as usize][kind as usize] += pages;
        self.multi_bystanders[cause as usize][kind as usize] += if is_multi { pages } else { 0 };
    }

    /// The counts in pages and blocks of the flash, in place of superpages.
    ///
    /// Flash pages that the host did not write and that were programmed with its own count as `rmw`; flash pages
    /// that it did not need count as not read. Planes in step are multi-plane commands by construction. What is
    /// no flash operation stays as it is: pages of the write buffer, reads of pages never written; and map units, which are as large
    /// whatever is in step.
    pub fn physical(&self, in_step: InStep, has_units: bool) -> Counters {
        if in_step == InStep::NONE {
            return *self;
        }
        let parts = u64::from(in_step.parts());
        let of_pages = if has_units { 1 } else { parts };
        let program = OpKind::Program as usize;
        let concerned = |all: &[[u64; 3]; CAUSES], bystanders: &[[u64; 3]; CAUSES]| {
            let mut ops: [[u64; 3]; CAUSES] = std::array::from_fn(|cause| {
                std::array::from_fn(|kind| {
                    all[cause][kind] * if kind == program { of_pages } else { parts } - bystanders[cause][kind]
                })
            });
            ops[Cause::Rmw as usize][program] += bystanders[Cause::Host as usize][program];
            ops
        };
        let ops = concerned(&self.ops, &self.bystanders);
        let multi_ops = if in_step.planes > 1 { ops } else { concerned(&self.multi_ops, &self.multi_bystanders) };
        Counters {
            ops,
            multi_ops,
            bystanders: [[0; 3]; CAUSES],
            multi_bystanders: [[0; 3]; CAUSES],
            copybacks: self.copybacks.map(|pages| pages * of_pages),
            reprograms: self.reprograms * of_pages,
            first_passes: self.first_passes * parts,
            gc_moved_pages: self.gc_moved_pages * of_pages,
            wear_moves: self.wear_moves * parts,
            ..*self
        }
    }

    /// Counts `pages` copybacks: programs and copybacks, and so many reads, which are fewer where a read brings several pages.
    #[inline]
    pub fn copyback(&mut self, cause: Cause, reads: u64, pages: u64) {
        self.count(cause, OpKind::Read, reads);
        self.count(cause, OpKind::Program, pages);
        self.copybacks[cause as usize] += pages;
    }

    /// Of a command that was counted as one of programs, all pages were copybacks; so many reads brought them.
    #[inline]
    pub fn copyback_command(&mut self, cause: Cause, reads: u64, pages: u64) {
        self.command(cause, OpKind::Read, reads);
        self.copybacks[cause as usize] += pages;
    }

    /// Counts `pages` reprogrammed pages: programs and reprograms.
    #[inline]
    pub fn reprogram(&mut self, cause: Cause, pages: u64) {
        self.count(cause, OpKind::Program, pages);
        self.reprograms += pages;
    }

    /// Counts a completed host request.
    #[inline]
    pub fn request(&mut self, kind: RequestKind, bytes: u64) {
        match kind {
            RequestKind::Read => {
                self.host_reads += 1;
                self.bytes_read += bytes;
            }
            RequestKind::Write => {
                self.host_writes += 1;
                self.bytes_written += bytes;
            }
            RequestKind::Trim => {
                self.host_trims += 1;
                self.bytes_trimmed += bytes;
            }
            RequestKind::Flush => self.host_flushes += 1,
        }
    }

    /// Host requests completed, of every kind.
    pub fn requests(&self) -> u64 {
        self.host_reads + self.host_writes + self.host_trims + self.host_flushes
    }

    /// Write amplification in bytes: what was programmed for any cause, in pages of `page_bytes`, ÷ what the host wrote;
    /// `None` where it wrote nothing. Below 1 where newer data took the place of older in a write buffer.
    ///
    /// Only of [`Counters::physical`] counters, whose pages are pages of the flash.
    pub fn waf(&self, page_bytes: u64) -> Option<f64> {
        (self.bytes_written > 0).then(|| self.page_programs() as f64 * page_bytes as f64 / self.bytes_written as f64)
    }

    /// Write amplification as papers count it: pages programmed for any cause ÷ pages programmed for the host; `None`
    /// where the host programmed nothing. Where a map unit has all the flash pages in step, units are counted: those of its pages
    /// that the host did not write are part of what was programmed for it.
    pub fn waf_units(&self, has_wide_units: bool) -> Option<f64> {
        let rest = if has_wide_units { self.of(Cause::Rmw, OpKind::Program) } else { 0 };
        ratio(self.page_programs(), self.of(Cause::Host, OpKind::Program) + rest)
    }

    /// Operations of one kind, for any cause.
    pub fn of_kind(&self, kind: OpKind) -> u64 {
        self.ops.iter().map(|by_kind| by_kind[kind as usize]).sum()
    }

    /// Operations of one cause and kind.
    pub fn of(&self, cause: Cause, kind: OpKind) -> u64 {
        self.ops[cause as usize][kind as usize]
    }

    /// Pages read for any cause.
    pub fn page_reads(&self) -> u64 {
        self.of_kind(OpKind::Read)
    }

    /// Pages programmed for any cause, or map units where several are a page.
    pub fn page_programs(&self) -> u64 {
        self.of_kind(OpKind::Program)
    }

    /// Blocks erased for any cause.
    pub fn block_erases(&self) -> u64 {
        self.of_kind(OpKind::Erase)
    }

    /// Page reads, page programs and block erases together.
    pub fn flash_ops(&self) -> u64 {
        self.page_reads() + self.page_programs() + self.block_erases()
    }

    /// Share of the host's page reads or page programs that multi-plane commands served (those of garbage
    /// collection are left out); for erases, of all of them, since the host never erases.
    pub fn multiplane_fraction(&self, kind: OpKind) -> Option<f64> {
        let sum = |ops: &[[u64; 3]; CAUSES]| match kind {
            OpKind::Erase => ops.iter().map(|by_kind| by_kind[OpKind::Erase as usize]).sum(),
            _ => ops[Cause::Host as usize][kind as usize],
        };
        ratio(sum(&self.multi_ops), sum(&self.ops))
    }

    /// Valid pages moved per block that garbage collection erased.
    pub fn moved_per_victim(&self) -> Option<f64> {
        ratio(self.gc_moved_pages, self.of(Cause::Gc, OpKind::Erase))
    }

    fn combine(&self, other: &Counters, f: impl Fn(u64, u64) -> u64) -> Counters {
        let by_cause = |a: &[u64; CAUSES], b: &[u64; CAUSES]| std::array::from_fn(|i| f(a[i], b[i]));
        let by_kind = |a: &[[u64; 3]; CAUSES], b: &[[u64; 3]; CAUSES]| {
            std::array::from_fn(|i| std::array::from_fn(|kind| f(a[i][kind], b[i][kind])))
        };
        // Every field is named, so that a new one cannot be forgotten here.
        Counters {
            host_reads: f(self.host_reads, other.host_reads),
            host_writes: f(self.host_writes, other.host_writes),
            host_trims: f(self.host_trims, other.host_trims),
            host_flushes: f(self.host_flushes, other.host_flushes),
            bytes_read: f(self.bytes_read, other.bytes_read),
            bytes_written: f(self.bytes_written, other.bytes_written),
            bytes_trimmed: f(self.bytes_trimmed, other.bytes_trimmed),
            unmapped_reads: f(self.unmapped_reads, other.unmapped_reads),
            failed_reads: f(self.failed_reads, other.failed_reads),
            ops: by_kind(&self.ops, &other.ops),
            copybacks: by_cause(&self.copybacks, &other.copybacks),
            reprograms: f(self.reprograms, other.reprograms),
            first_passes: f(self.first_passes, other.first_passes),
            multi_ops: by_kind(&self.multi_ops, &other.multi_ops),
            bystanders: by_kind(&self.bystanders, &other.bystanders),
            multi_bystanders: by_kind(&self.multi_bystanders, &other.multi_bystanders),
            gc_invocations: f(self.gc_invocations, other.gc_invocations),
            gc_foreground: f(self.gc_foreground, other.gc_foreground),
            gc_forward: f(self.gc_forward, other.gc_forward),
            gc_preempted: f(self.gc_preempted, other.gc_preempted),
            gc_moved_pages: f(self.gc_moved_pages, other.gc_moved_pages),
            wear_moves: f(self.wear_moves, other.wear_moves),
            buffer_hits: f(self.buffer_hits, other.buffer_hits),
            buffer_read_hits: f(self.buffer_read_hits, other.buffer_read_hits),
            buffer_evictions: f(self.buffer_evictions, other.buffer_evictions),
            buffer_drops: f(self.buffer_drops, other.buffer_drops),
        }
    }
}

impl Sub for Counters {
    type Output = Counters;

    /// The counts between two copies. `rhs` is the earlier one.
    fn sub(self, rhs: Counters) -> Counters {
        self.combine(&rhs, |a, b| a - b)
    }
}

impl Add for Counters {
    type Output = Counters;

    fn add(self, rhs: Counters) -> Counters {
        self.combine(&rhs, |a, b| a + b)
    }
}

/// `part / whole`, or `None` where there is no whole.
pub(crate) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_amplification_counts_every_program() {
        let mut counters = Counters::default();
        assert_eq!((counters.waf(8192), counters.waf_units(false)), (None, None));
        counters.count(Cause::Host, OpKind::Program, 4);
        counters.count(Cause::Gc, OpKind::Read, 3);
        counters.count(Cause::Gc, OpKind::Program, 1);
        counters.copyback(Cause::Gc, 2, 2);
        counters.reprogram(Cause::Refresh, 1);
        counters.count(Cause::Gc, OpKind::Erase, 2);
        assert_eq!(counters.waf_units(false), Some(2.0), "(4 + 1 + 2 + 1) / 4");
        assert_eq!(counters.waf(8192), None, "the host's write is not complete");
        // Four writes of a quarter of a page each.
        counters.bytes_written = 4 * 2048;
        assert_eq!(counters.waf(8192), Some(8.0), "8 pages of 8 KiB / 8 KiB");
        assert_eq!((counters.page_reads(), counters.page_programs(), counters.block_erases()), (5, 8, 2));
        assert_eq!(counters.flash_ops(), 15);
        assert_eq!(counters.copybacks[Cause::Gc as usize], 2);
        assert_eq!(counters.reprograms, 1);
    }

    #[test]
    fn multiplane_fractions_leave_garbage_collection_out() {
        let mut counters = Counters::default();
        assert_eq!(counters.multiplane_fraction(OpKind::Read), None);
        counters.command(Cause::Host, OpKind::Read, 2);
        counters.command(Cause::Host, OpKind::Read, 1);
        counters.command(Cause::Host, OpKind::Read, 1);
        counters.command(Cause::Gc, OpKind::Read, 4);
        counters.command(Cause::Host, OpKind::Program, 1);
        counters.command(Cause::Gc, OpKind::Erase, 2);
        counters.command(Cause::Wear, OpKind::Erase, 1);
        assert_eq!(counters.multiplane_fraction(OpKind::Read), Some(0.5));
        assert_eq!(counters.multiplane_fraction(OpKind::Program), Some(0.0));
        assert_eq!(counters.multiplane_fraction(OpKind::Erase), Some(2.0 / 3.0));
    }

    #[test]
    fn moved_pages_are_per_erased_victim() {
        let mut counters = Counters { gc_moved_pages: 30, ..Counters::default() };
        assert_eq!(counters.moved_per_victim(), None);
        counters.count(Cause::Gc, OpKind::Erase, 4);
        counters.count(Cause::Wear, OpKind::Erase, 9);
        assert_eq!(counters.moved_per_victim(), Some(7.5));
    }

    #[test]
    fn superpages_are_counted_in_flash_pages() {
        let mut counters = Counters { gc_moved_pages: 3, wear_moves: 1, unmapped_reads: 7, ..Counters::default() };
        // Two superpages of four flash pages; the host wrote one flash page of the one, and all of the other.
        counters.command(Cause::Host, OpKind::Program, 1);
        counters.bystand(Cause::Host, OpKind::Program, 3, false);
        counters.command(Cause::Host, OpKind::Program, 1);
        counters.command(Cause::Rmw, OpKind::Read, 1);
        counters.bystand(Cause::Rmw, OpKind::Read, 1, false);
        // A multi-plane read of two superpages, of which five flash pages were asked for.
        counters.command(Cause::Host, OpKind::Read, 2);
        counters.bystand(Cause::Host, OpKind::Read, 3, true);
        counters.command(Cause::Gc, OpKind::Erase, 1);
        assert_eq!(counters.physical(InStep::NONE, false), counters);

        let channels = counters.physical(InStep { channels: 4, planes: 1 }, false);
        assert_eq!((channels.of(Cause::Host, OpKind::Program), channels.of(Cause::Rmw, OpKind::Program)), (5, 3));
        assert_eq!((channels.waf_units(false), channels.waf_units(true)), (Some(1.6), Some(1.0)));
        let written = Counters { bytes_written: 5 * 4096, ..channels };
        assert_eq!(written.waf(4096), Some(1.6), "eight flash pages for the five that the host wrote");
        assert_eq!((channels.of(Cause::Rmw, OpKind::Read), channels.of(Cause::Host, OpKind::Read)), (3, 5));
        assert_eq!((channels.block_erases(), channels.gc_moved_pages, channels.wear_moves), (4, 12, 4));
        assert_eq!(channels.unmapped_reads, 7);
        assert_eq!(channels.multiplane_fraction(OpKind::Read), Some(1.0));
        assert_eq!(channels.multiplane_fraction(OpKind::Program), Some(0.0));

        let both = counters.physical(InStep { channels: 2, planes: 2 }, false);
        assert_eq!(both.ops, channels.ops);
        assert_eq!(both.multiplane_fraction(OpKind::Program), Some(1.0));
        assert_eq!(both.multiplane_fraction(OpKind::Erase), Some(1.0));
    }

    #[test]
    fn map_units_in_step_are_read_and_erased_with_all_their_flash_pages() {
        let mut counters = Counters { gc_moved_pages: 3, ..Counters::default() };
        counters.count(Cause::Host, OpKind::Program, 8);
        counters.count(Cause::Host, OpKind::Read, 1);
        counters.count(Cause::Gc, OpKind::Erase, 1);
        let physical = counters.physical(InStep { channels: 4, planes: 1 }, true);
        assert_eq!((physical.page_programs(), physical.page_reads(), physical.block_erases()), (8, 4, 4));
        assert_eq!(physical.gc_moved_pages, 3);
    }

    #[test]
    fn requests_are_counted_by_kind() {
        let mut counters = Counters::default();
        counters.request(RequestKind::Read, 10);
        counters.request(RequestKind::Write, 20);
        counters.request(RequestKind::Write, 21);
        counters.request(RequestKind::Trim, 30);
        counters.request(RequestKind::Flush, 0);
        let expected = Counters {
            host_reads: 1,
            host_writes: 2,
            host_trims: 1,
            host_flushes: 1,
            bytes_read: 10,
            bytes_written: 41,
            bytes_trimmed: 30,
            ..Counters::default()
        };
        assert_eq!(counters, expected);
        assert_eq!(counters.requests(), 5);
    }

    /// Counters whose fields hold `first`, `first + 1`, … in some order.
    fn distinct(first: u64) -> Counters {
        let next = std::cell::Cell::new(first);
        let zero = Counters::default();
        zero.combine(&zero, |_, _| next.replace(next.get() + 1))
    }

    #[test]
    fn sums_and_differences_reach_every_field() {
        let (a, b) = (distinct(1), distinct(1000));
        assert_eq!((a + b) - b, a);
        let text = serde_json::to_string(&(a + b)).unwrap();
        let mut numbers: Vec<u64> = text.split(|c: char| !c.is_ascii_digit()).flat_map(str::parse).collect();
        numbers.sort_unstable();
        let fields = 9 + CAUSES as u64 * (3 + 1 + 3 * 3) + 2 + 6 + 4;
        assert_eq!(numbers, (0..fields).map(|i| 1001 + 2 * i).collect::<Vec<u64>>());
        assert_eq!(serde_json::from_str::<Counters>(&text).unwrap(), a + b);
    }
}
