//! Read disturb, and what makes wordlines take more of it.
//!
//! A read of a page disturbs all pages of its block. A page can be read until its block was read so many times since the
//! page was programmed; the limit is higher where its wordline is of low density. Reads are counted by block, so that a page
//! only remembers the count that it began with.

use base::scope::{Area, Scope};
use base::{Block, Page, ReadLimits};
use serde::{Deserialize, Serialize};

use crate::bits::Bits;
use crate::block::BlockState;
use crate::{Nand, Violation};

/// A read of a page past its limit: it has more errors than ECC corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disturbed {
    /// Block.
    pub block: Block,
    /// Page offset.
    pub page: Page,
    /// Reads of its block since the page was programmed, this one included.
    pub reads: u32,
    /// Reads of its block that the page takes.
    pub limit: u32,
}

/// The P/E cycles of a block that had reprogramming.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycles {
    /// Cycles with reprogramming that came to their end.
    pub reprogrammed: u32,
    /// The present one is of them.
    pub is_reprogrammed: bool,
    /// Wear beyond 1 a cycle, in thousandths.
    pub extra: u64,
}

/// The record of reads and reprogramming.
#[derive(Clone)]
pub(crate) struct DisturbRecord {
    limits: ReadLimits,
    /// By page: the reads of its block when the page was programmed; without meaning for others.
    reads_before: Vec<u32>,
    /// By block.
    cycles: Vec<Cycles>,
    /// By density, full and low: the most reads that a page of it had when it was read.
    highest: [u32; 2],
    first: Option<Disturbed>,
}

impl Cycles {
    /// The present one ended, with that many erases.
    fn end(&mut self, limits: &ReadLimits, erases: u32) {
        if std::mem::take(&mut self.is_reprogrammed) {
            self.reprogrammed += 1;
            self.extra += limits.wear.thousandths(self.reprogrammed, erases).saturating_sub(1000);
        }
    }
}

impl DisturbRecord {
    fn limit(&self, is_low: bool) -> u32 {
        if is_low { self.limits.low } else { self.limits.full }
    }

    /// Below so many reads of a block, a read of a page of that density tells nothing new.
    fn unwatched(&self, is_low: bool) -> u32 {
        self.limit(is_low).min(self.highest[usize::from(is_low)])
    }
}

impl Nand {
    /// Bytes of what [`Nand::keep_reads`] keeps.
    pub fn bytes_of_reads(pages: u64, blocks: u64) -> u64 {
        pages * size_of::<u32>() as u64 + blocks * size_of::<Cycles>() as u64 + 2 * Bits::bytes(pages)
    }

    /// Keeps from now on how far reads disturbed the pages. Without this, reads disturb nothing.
    pub fn keep_reads(&mut self, limits: ReadLimits) {
        let reads_before = vec![0; self.pages()];
        let cycles = vec![Cycles::default(); self.blocks.len()];
        self.disturb = Some(Box::new(DisturbRecord { limits, reads_before, cycles, highest: [0; 2], first: None }));
        self.watch_blocks();
    }

    /// By page, the reads of its block when it was programmed, 0 if it is not; empty where none are kept.
    pub fn reads_before(&self) -> Vec<u32> {
        let Some(disturb) = &self.disturb else { return Vec::new() };
        let mut reads = disturb.reads_before.clone();
        for (block, of_block) in (0u32..).zip(reads.chunks_mut(self.shape.pages_per_block as usize)) {
            let unprogrammed =
                (0u32..).zip(of_block).filter(|&(page, _)| !self.is_programmed(Block::new(block), Page::new(page)));
            unprogrammed.for_each(|(_, reads)| *reads = 0);
        }
        reads
    }

    /// By block, the P/E cycles with reprogramming; empty where none are kept.
    pub fn cycles(&self) -> &[Cycles] {
        self.disturb.as_ref().map_or(&[], |disturb| &disturb.cycles)
    }

    /// Reads of its block since a page was programmed, 0 if it is not. Where limits are not kept, since the block was erased.
    pub fn reads_of_page(&self, block: Block, page: Page) -> u32 {
        if !self.is_programmed(block, page) {
            return 0;
        }
        let before = self.disturb.as_ref().map_or(0, |disturb| disturb.reads_before[self.index(block, page)]);
        self.blocks[block.index()].reads - before
    }

    /// The reads of its block when a page was programmed; 0 where limits are not kept.
    pub(crate) fn reads_when_programmed(&self, block: Block, page: Page) -> u32 {
        self.disturb.as_ref().map_or(0, |disturb| disturb.reads_before[self.index(block, page)])
    }

    /// Reads of its block that a page still takes before it cannot be read; `None` where limits are not kept.
    pub fn reads_left(&self, block: Block, page: Page) -> Option<u32> {
        let limit = self.disturb.as_ref()?.limit(self.has_guard_levels(block, page));
        Some(limit.saturating_sub(self.reads_of_page(block, page)))
    }

    /// The wear of a block in erases: 1 a P/E cycle, more for one with reprogramming where limits are kept, and less for one in SLC
    /// mode where it has a wear of its own.
    pub fn effective(&self, block: Block) -> f64 {
        let extra = self.disturb.as_ref().map_or(0, |disturb| disturb.cycles[block.index()].extra);
        let spared = self.spared().get(block.index()).map_or(0, |&spared| u64::from(spared));
        (u64::from(self.blocks[block.index()].erases) * 1000 + extra - spared) as f64 / 1000.0
    }

    /// The highest share of its limit that a page had reached when it was read, that read included; nothing where limits are
    /// not kept.
    pub fn highest_share(&self) -> Option<f64> {
        let disturb = self.disturb.as_ref()?;
        let share = |is_low| f64::from(disturb.highest[usize::from(is_low)]) / f64::from(disturb.limit(is_low));
        Some(share(false).max(share(true)))
    }

    /// The highest share begins anew.
    pub fn forget_highest_share(&mut self) {
        if let Some(disturb) = &mut self.disturb {
            disturb.highest = [0; 2];
        }
        self.watch();
    }

    /// The first read of a page past its limit.
    #[inline]
    pub fn disturbed(&self) -> Option<Disturbed> {
        self.disturb.as_ref()?.first
    }

    /// True if the wordline of a page is of low density.
    pub fn has_guard_levels(&self, block: Block, page: Page) -> bool {
        let index = self.index(block, page);
        self.lower.contains(index) || self.reprogrammed.contains(index)
    }

    /// Reprograms an MSB page in place: the other pages of its wordline keep their data and gain margin, its
    /// own are lost, and the block counts as of low density until it is erased.
    ///
    /// # Errors
    /// [`Violation`] unless the page is a programmed MSB page (of a cell of two or more bits) that was not
    /// reprogrammed before.
    pub fn reprogram(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        self.check_reprogram(block, page)?;
        self.add_guard_levels(block, page);
        self.wear_by_reprogramming(block);
        self.restart(block);
        self.commit(block);
        Ok(())
    }

    /// Reprograms an MSB page without coming to the end: the operation failed, or power went off during it. Its content is
    /// lost. The other pages of its wordline keep theirs: every cell is on its way between two levels that agree in them. The
    /// wordline does not have its guard levels; it may be reprogrammed again.
    ///
    /// # Errors
    /// [`Violation`] as for [`Nand::reprogram`].
    pub fn fail_reprogram(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        self.check_reprogram(block, page)?;
        self.lose(block, page);
        self.wear_by_reprogramming(block);
        self.commit(block);
        Ok(())
    }

    /// Programs an MSB page in its turn with what leaves the guard levels of its wordline unused. It holds nothing, like a
    /// reprogrammed one, and the block counts as of low density until it is erased.
    ///
    /// # Errors
    /// [`Violation`] as for [`Nand::program`], and unless it is an MSB page (of a cell of two or more bits).
    pub fn program_guard(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        self.check_guard(block, page)?;
        self.program(block, page)?;
        self.store(block, page, 0, 0);
        self.add_guard_levels(block, page);
        self.commit(block);
        Ok(())
    }

    /// Programs a guard page without success. The lower pages of the wordline are lost, as by [`Nand::fail_program`]: unlike a
    /// reprogram it begins at the wide levels of a cell of one bit less, so that a cell stopped on its way up is mistaken for
    /// one of the next pair that has not moved yet. The wordline does not have its guard levels.
    ///
    /// # Errors
    /// [`Violation`] as for [`Nand::program_guard`].
    pub fn fail_program_guard(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        self.check_guard(block, page)?;
        self.fail_program(block, page)
    }

    fn check_reprogram(&self, block: Block, page: Page) -> Result<(), Violation> {
        self.check_usable(block, page)?;
        if !self.may_be_reprogrammed(block, page) || self.reprogrammed.contains(self.index(block, page)) {
            return Err(Violation::Reprogram { block, page });
        }
        Ok(())
    }

    fn check_guard(&self, block: Block, page: Page) -> Result<(), Violation> {
        self.check_usable(block, page)?;
        if page.number() < self.shape.pages_per_block && !self.is_msb(page) {
            return Err(Violation::Guard { block, page });
        }
        Ok(())
    }

    /// The wordline of a programmed MSB page is of low density from now on.
    pub(crate) fn add_guard_levels(&mut self, block: Block, page: Page) {
        let (pages, first) = (self.pages(), self.index(block, Page::FIRST));
        self.reprogrammed.insert(first + page.index(), pages);
        if let Some(image) = self.image_mut() {
            image.mark_reprogrammed(first + page.index());
        }
        let of = |page: Page| (self.layout.wordline(page.number()), self.layout.page_type(page.number()));
        let (wordline, msb) = of(page);
        for lower in Page::all(0..page.number()).filter(|&lower| of(lower).0 == wordline && of(lower).1 != msb) {
            self.lower.insert(first + lower.index(), pages);
        }
        self.blocks[block.index()].mark_low_density();
    }

    fn wear_by_reprogramming(&mut self, block: Block) {
        if let Some(disturb) = &mut self.disturb {
            disturb.cycles[block.index()].is_reprogrammed = true;
        }
    }

    /// Reads count anew once all wordlines of a full block are of low density.
    fn restart(&mut self, block: Block) {
        let (first, pages) = (self.index(block, Page::FIRST), self.shape.pages_per_block);
        let state = self.blocks[block.index()];
        let Some(disturb) = &mut self.disturb else { return };
        if disturb.limits.restarts
            && u32::from(state.next_page) == pages
            && Page::all(0..pages).all(|page| {
                let index = first + page.index();
                self.lower.contains(index) || self.reprogrammed.contains(index)
            })
        {
            disturb.reads_before[first..][..pages as usize].fill(state.reads);
            self.commit_asides(block);
        }
    }

    /// A page is about to be read; the read is not counted yet.
    pub(crate) fn note_disturb(&mut self, block: Block, page: Page) {
        if self.disturb.is_none() {
            return;
        }
        let (index, is_low) = (self.index(block, page), self.has_guard_levels(block, page));
        let Some(disturb) = &mut self.disturb else { return };
        let reads = self.blocks[block.index()].reads + 1 - disturb.reads_before[index];
        let limit = disturb.limit(is_low);
        let highest = &mut disturb.highest[usize::from(is_low)];
        if reads > *highest {
            *highest = reads;
            if reads > limit {
                disturb.first.get_or_insert(Disturbed { block, page, reads, limit });
            }
            self.watch();
        }
    }

    /// A page was programmed.
    pub(crate) fn note_program(&mut self, block: Block, page: Page) {
        let index = self.index(block, page);
        if let Some(disturb) = &mut self.disturb {
            disturb.reads_before[index] = self.blocks[block.index()].reads;
        }
    }

    /// A block that is not ordinary is about to be erased.
    pub(crate) fn end_cycle(&mut self, block: Block) {
        let erases = self.blocks[block.index()].erases;
        if let Some(disturb) = &mut self.disturb {
            let cycles = &mut disturb.cycles[block.index()];
            cycles.end(&disturb.limits, erases + 1);
        }
    }

    /// A block is found erased for that many times.
    pub(crate) fn end_cycle_found(&self, cycles: &mut Cycles, erases: u32) {
        if let Some(disturb) = &self.disturb {
            cycles.end(&disturb.limits, erases);
        }
    }

    /// Has every block watched, where something is kept.
    fn watch_blocks(&mut self) {
        if self.disturb.is_some() {
            self.blocks.iter_mut().for_each(BlockState::watch);
        }
        self.watch();
    }

    /// Sets the count of reads below which a block's reads are not looked at.
    fn watch(&mut self) {
        self.unwatched =
            [false, true].map(|is_low| self.disturb.as_ref().map_or(u32::MAX, |disturb| disturb.unwatched(is_low)));
    }

    /// Takes over the saved counts of reads, or none.
    pub(crate) fn restore_reads(
        &mut self,
        disturb: Option<Box<DisturbRecord>>,
        reads_before: Vec<u32>,
        cycles: Vec<Cycles>,
    ) {
        self.disturb = disturb.map(|disturb| {
            let or_new = |saved: Vec<u32>| if saved.is_empty() { vec![0; disturb.reads_before.len()] } else { saved };
            let cycles = if cycles.is_empty() { vec![Cycles::default(); disturb.cycles.len()] } else { cycles };
            let reads_before = or_new(reads_before);
            Box::new(DisturbRecord { reads_before, cycles, highest: [0; 2], first: None, ..*disturb })
        });
        self.watch_blocks();
    }
}

/// The scope of this part.
pub static SCOPE: Scope = Scope {
    area: Area::Array,
    name: "Read disturb",
    keys: &["device.wear.read_limit"],
    modelled: "A page takes a number of reads of its block; wordlines of low density take more.",
    not_modelled: &[
        "Neighbours of a wordline that is read are disturbed no more than the rest of its block.",
        "Worn blocks take as many reads as new ones.",
        "A disturbed page needs no retries before it fails.",
        "Blocks do not differ.",
    ],
};

#[cfg(test)]
mod tests {
    use base::{Cell, Multiplane, ProgramOrder, ReprogramWear};

    use super::*;
    use crate::tests::{b, p};
    use crate::{SavedArray, Shape, StoreKind};

    fn limits() -> ReadLimits {
        ReadLimits {
            full: 10,
            low: 100,
            restarts: false,
            wear: ReprogramWear { rates: vec![0.25, 0.5], wear: vec![2.0, 1.2] },
        }
    }

    /// A plane of 4 blocks of two TLC wordlines.
    fn with(limits: Option<ReadLimits>) -> Nand {
        let shape = Shape {
            planes: 1,
            planes_per_die: 1,
            blocks_per_plane: 4,
            pages_per_block: 6,
            parts: 1,
            multiplane: Multiplane::Off,
            cell: Cell::Tlc,
            program_order: ProgramOrder::Shadow,
        };
        let mut nand = Nand::new(shape, StoreKind::Stamps);
        limits.into_iter().for_each(|limits| nand.keep_reads(limits));
        nand
    }

    fn fill(nand: &mut Nand, block: Block) {
        Page::all(0..6).for_each(|page| nand.program(block, page).unwrap());
    }

    fn read(nand: &mut Nand, block: Block, page: Page, times: u32) {
        (0..times).for_each(|_| nand.read(block, page).unwrap());
    }

    #[test]
    fn a_page_takes_just_as_many_reads_as_its_limit_says() {
        let mut nand = with(Some(limits()));
        fill(&mut nand, b(1));
        read(&mut nand, b(1), p(0), 4);
        read(&mut nand, b(1), p(3), 6);
        assert_eq!((nand.highest_share(), nand.disturbed(), nand.reads_left(b(1), p(5))), (Some(1.0), None, Some(0)));
        read(&mut nand, b(1), p(5), 2);
        let first = Disturbed { block: b(1), page: p(5), reads: 11, limit: 10 };
        assert_eq!((nand.highest_share(), nand.disturbed()), (Some(1.2), Some(first)));
        nand.forget_highest_share();
        nand.erase(b(1)).unwrap();
        fill(&mut nand, b(1));
        read(&mut nand, b(1), p(0), 5);
        assert_eq!((nand.highest_share(), nand.reads_left(b(1), p(0))), (Some(0.5), Some(5)));
        read(&mut nand, b(0), p(0), 0);
        assert!(nand.read(b(0), p(0)).is_err());
        assert_eq!(nand.highest_share(), Some(0.5), "what is refused is no read");
    }

    #[test]
    fn a_page_programmed_late_has_all_its_reads_before_it() {
        let mut nand = with(Some(limits()));
        nand.program(b(0), p(0)).unwrap();
        read(&mut nand, b(0), p(0), 10);
        nand.program(b(0), p(1)).unwrap();
        assert_eq!(
            (nand.reads_left(b(0), p(0)), nand.reads_left(b(0), p(1)), nand.reads_left(b(0), p(2))),
            (Some(0), Some(10), Some(10))
        );
        read(&mut nand, b(0), p(1), 10);
        assert_eq!((nand.highest_share(), nand.disturbed()), (Some(1.0), None));
        read(&mut nand, b(0), p(0), 1);
        assert_eq!(nand.disturbed(), Some(Disturbed { block: b(0), page: p(0), reads: 21, limit: 10 }));
    }

    #[test]
    fn a_copyback_reads_its_source() {
        let mut nand = with(Some(limits()));
        nand.program(b(0), p(0)).unwrap();
        read(&mut nand, b(0), p(0), 10);
        nand.copyback((b(0), p(0)), (b(1), p(0))).unwrap();
        assert_eq!(nand.disturbed(), Some(Disturbed { block: b(0), page: p(0), reads: 11, limit: 10 }));
    }

    #[test]
    fn wordlines_of_low_density_take_more() {
        // Shadow order: pages 0, 2, 4 hold wordline 0 and 1, 3, 5 wordline 1.
        let mut nand = with(Some(limits()));
        fill(&mut nand, b(2));
        read(&mut nand, b(2), p(0), 10);
        let pages = |wordline: u32| {
            Page::all(0..6).filter(|&page| nand.layout.wordline(page.number()) == wordline).collect::<Vec<Page>>()
        };
        let (first, second) = (pages(0), pages(1));
        nand.reprogram(b(2), p(first[2].number())).unwrap();
        assert!(nand.blocks()[2].is_low_density());
        assert_eq!(
            first.iter().map(|&page| nand.has_guard_levels(b(2), p(page.number()))).collect::<Vec<_>>(),
            [true; 3]
        );
        assert!(second.iter().all(|&page| !nand.has_guard_levels(b(2), p(page.number()))));
        assert_eq!(
            (nand.reads_left(b(2), p(first[0].number())), nand.reads_left(b(2), p(second[0].number()))),
            (Some(90), Some(0))
        );
        read(&mut nand, b(2), p(first[1].number()), 90);
        assert_eq!((nand.highest_share(), nand.disturbed()), (Some(1.0), None));
        read(&mut nand, b(2), p(second[0].number()), 1);
        assert_eq!(
            nand.disturbed(),
            Some(Disturbed { block: b(2), page: p(second[0].number()), reads: 101, limit: 10 })
        );
    }

    #[test]
    fn a_guard_page_is_programmed_in_its_turn() {
        let mut nand = with(Some(limits()));
        let msb = (0..6).find(|&page| nand.is_msb(p(page))).unwrap();
        assert_eq!(
            nand.program_guard(b(0), p(msb)),
            Err(Violation::ProgramOrder { block: b(0), page: p(msb), next: p(0) })
        );
        (0..msb).for_each(|page| nand.program(b(0), p(page)).unwrap());
        assert_eq!(nand.program_guard(b(0), p(0)), Err(Violation::Guard { block: b(0), page: p(0) }));
        assert_eq!(nand.program_guard(b(0), p(6)), Err(Violation::NoSuchPage { block: b(0), page: p(6) }));
        assert_eq!(nand.program_guard(b(9), p(0)), Err(Violation::NoSuchPage { block: b(9), page: p(0) }));
        nand.program_guard(b(0), p(msb)).unwrap();
        assert!(
            nand.blocks()[0].is_low_density() && nand.is_programmed(b(0), p(msb)) && !nand.holds_data(b(0), p(msb))
        );
        assert_eq!(nand.program_guard(b(0), p(msb)), Err(Violation::ProgramTwice { block: b(0), page: p(msb) }));
        assert_eq!(nand.read(b(0), p(msb)), Err(Violation::ReadReprogrammed { block: b(0), page: p(msb) }));
        assert_eq!(nand.reprogram(b(0), p(msb)), Err(Violation::Reprogram { block: b(0), page: p(msb) }));
        read(&mut nand, b(0), p(0), 100);
        assert_eq!((nand.highest_share(), nand.disturbed()), (Some(1.0), None));
        nand.erase(b(0)).unwrap();
        assert_eq!(nand.effective(b(0)), 1.0, "guard pages wear as all pages do");
        assert!(!nand.has_guard_levels(b(0), p(0)));
        nand.use_lsb_only(b(1)).unwrap();
        nand.program(b(1), p(0)).unwrap();
        assert_eq!(nand.program_guard(b(1), p(msb)), Err(Violation::UpperPage { block: b(1), page: p(msb) }));
    }

    #[test]
    fn what_fails_gives_no_guard_levels() {
        let mut nand = with(Some(limits()));
        fill(&mut nand, b(0));
        let msb = (0..6).find(|&page| nand.is_msb(p(page))).unwrap();
        nand.fail_reprogram(b(0), p(msb)).unwrap();
        assert!(nand.is_lost(b(0), p(msb)) && !nand.blocks()[0].is_low_density());
        assert!(
            Page::all(0..6).filter(|&page| page != p(msb)).all(|page| nand.holds_data(b(0), page)),
            "the lower pages keep their data"
        );
        assert_eq!(nand.reads_left(b(0), p(0)), Some(10));
        nand.reprogram(b(0), p(msb)).unwrap();
        assert_eq!(nand.fail_reprogram(b(0), p(msb)), Err(Violation::Reprogram { block: b(0), page: p(msb) }));
        assert_eq!(nand.read(b(0), p(msb)), Err(Violation::ReadReprogrammed { block: b(0), page: p(msb) }));
        assert_eq!(nand.reads_left(b(0), p(0)), Some(100));

        (0..msb).for_each(|page| nand.program(b(1), p(page)).unwrap());
        assert_eq!(nand.fail_program_guard(b(1), p(0)), Err(Violation::Guard { block: b(1), page: p(0) }));
        nand.fail_program_guard(b(1), p(msb)).unwrap();
        for page in 0..=msb {
            let shared = nand.share_wordline(p(page), p(msb));
            assert_eq!((nand.is_lost(b(1), p(page)), nand.has_guard_levels(b(1), p(page))), (shared, false));
        }
    }

    #[test]
    fn with_restarts_a_block_counts_anew_once_all_of_it_is_reprogrammed() {
        for restarts in [false, true] {
            let mut nand = with(Some(ReadLimits { restarts, ..limits() }));
            fill(&mut nand, b(0));
            let msb: Vec<u32> = Page::all(0..6).filter(|&page| nand.is_msb(page)).map(Page::number).collect();
            read(&mut nand, b(0), p(0), 10);
            nand.reprogram(b(0), p(msb[0])).unwrap();
            assert_eq!(nand.reads_left(b(0), p(0)), Some(90));
            nand.reprogram(b(0), p(msb[1])).unwrap();
            let left = if restarts { 100 } else { 90 };
            assert_eq!(nand.reads_left(b(0), p(0)), Some(left));
            read(&mut nand, b(0), p(1), left);
            assert_eq!((nand.highest_share(), nand.disturbed()), (Some(1.0), None));
            read(&mut nand, b(0), p(0), 1);
            assert_eq!(nand.disturbed(), Some(Disturbed { block: b(0), page: p(0), reads: 101, limit: 100 }));
            // A block that is not full has wordlines to come.
            nand.program(b(1), p(0)).unwrap();
            let first = msb[0];
            (1..=first).for_each(|page| nand.program(b(1), p(page)).unwrap());
            read(&mut nand, b(1), p(0), 5);
            nand.reprogram(b(1), p(first)).unwrap();
            assert_eq!(nand.reads_left(b(1), p(0)), Some(95));
        }
    }

    #[test]
    fn reprogramming_wears() {
        let mut nand = with(Some(limits()));
        let cycle = |nand: &mut Nand, reprograms: bool| {
            fill(nand, b(0));
            if reprograms {
                Page::all(0..6).filter(|&page| nand.is_msb(page)).collect::<Vec<_>>().into_iter().for_each(|page| {
                    nand.reprogram(b(0), page).unwrap();
                });
            }
            nand.erase(b(0)).unwrap();
            nand.effective(b(0))
        };
        assert_eq!([false, false, false, true].map(|reprograms| cycle(&mut nand, reprograms)), [1.0, 2.0, 3.0, 5.0]);
        assert_eq!(cycle(&mut nand, true), 6.52, "2 of 5 cycles: 1.2 + 0.8 × 0.4");
        assert_eq!(cycle(&mut nand, true), 7.72, "half of the cycles");
        fill(&mut nand, b(0));
        let msb = (0..6).find(|&page| nand.is_msb(p(page))).unwrap();
        nand.fail_reprogram(b(0), p(msb)).unwrap();
        nand.tear_erase(b(0)).unwrap();
        assert_eq!(nand.effective(b(0)), 8.92, "a failed one wears too, and so does an interrupted erase");
        nand.erase(b(0)).unwrap();
        assert_eq!(nand.effective(b(0)), 9.92);
        let mut without = with(None);
        assert_eq!(cycle(&mut without, true), 1.0);
    }

    #[test]
    fn without_limits_reads_disturb_nothing() {
        let mut nand = with(None);
        fill(&mut nand, b(0));
        read(&mut nand, b(0), p(0), 1000);
        assert_eq!((nand.highest_share(), nand.disturbed(), nand.reads_left(b(0), p(0))), (None, None, None));
        assert!(nand.reads_before().is_empty() && nand.cycles().is_empty());
        assert_eq!(nand.reads_of_page(b(0), p(0)), 1000);
    }

    /// Block 0: a page programmed late, a reprogrammed wordline, a cycle with reprogramming before.
    fn used() -> Nand {
        let mut nand = with(Some(limits()));
        let msb = (0..6).find(|&page| nand.is_msb(p(page))).unwrap();
        for _ in 0..2 {
            nand.erase(b(0)).unwrap();
            (0..=msb).for_each(|page| nand.program(b(0), p(page)).unwrap());
            nand.reprogram(b(0), p(msb)).unwrap();
        }
        read(&mut nand, b(0), p(0), 7);
        nand.program(b(0), p(msb + 1)).unwrap();
        nand
    }

    #[test]
    fn a_saved_state_holds_reads() {
        let (used, saved) = (used(), used().save());
        let mut restored = with(Some(limits()));
        restored.restore(saved.clone()).unwrap();
        assert_eq!(restored.save(), saved);
        assert_eq!((restored.effective(b(0)), restored.highest_share()), (used.effective(b(0)), Some(0.0)));
        for page in Page::all(0..6) {
            assert_eq!(restored.reads_left(b(0), page), used.reads_left(b(0), page));
            assert_eq!(restored.has_guard_levels(b(0), page), used.has_guard_levels(b(0), page));
        }
        restored.erase(b(0)).unwrap();
        assert_eq!(restored.cycles()[0].reprogrammed, 2);
        // Where none are kept they are forgotten, and where they were not, all reads count.
        let mut without = with(None);
        without.restore(saved.clone()).unwrap();
        assert_eq!(without.save(), SavedArray { reads_before: vec![], cycles: vec![], ..saved.clone() });
        let mut again = with(Some(limits()));
        again.restore(without.save()).unwrap();
        assert_eq!((again.reads_left(b(0), p(0)), again.effective(b(0))), (Some(93), 2.0));

        let refused = |change: &dyn Fn(&mut SavedArray), expected: &str| {
            let mut saved = saved.clone();
            change(&mut saved);
            assert_eq!(with(Some(limits())).restore(saved), Err(expected));
        };
        refused(&|saved| saved.reads_before.truncate(3), "a state of another array");
        refused(&|saved| saved.cycles.clear(), "a state of another array");
        refused(&|saved| saved.reads_before[0] = 8, "more reads before a page than its block had");
        refused(&|saved| saved.reads_before[6] = 1, "reads before a page that is not programmed");
        refused(&|saved| saved.cycles[0].reprogrammed = 3, "reprogramming that a block has not had");
        refused(&|saved| saved.cycles[1].is_reprogrammed = true, "reprogramming that a block has not had");
        refused(&|saved| saved.cycles[1].extra = 1, "reprogramming that a block has not had");
    }
}
