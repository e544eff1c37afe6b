//! The array against a model that keeps every page by itself: random commands, legal and illegal, on every kind of
//! cell in both program orders. What the one refuses the other refuses, and what pages hold is the same.

use base::{Cell, Multiplane, PageLayout, ProgramOrder, ReadLimits, ReprogramWear};
use engine::Chance;
use nand::{Disturbed, Nand, Shape, StoreKind, Violation};

/// A block by its number.
fn b(number: u32) -> base::Block {
    base::Block::new(number)
}

/// A page of a block by its number.
fn p(number: u32) -> base::Page {
    base::Page::new(number)
}

const BLOCKS: u32 = 4;
const BLOCKS_PER_PLANE: u32 = 2;
const PAGES: u32 = 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Page {
    Erased,
    Holds(u64, u128),
    Lost,
}

#[derive(Clone)]
struct ModelBlock {
    pages: Vec<Page>,
    /// Guard pages too.
    reprogrammed: Vec<u32>,
    /// By page: the reads of the block when it was programmed, or when they began anew.
    reads_before: Vec<u32>,
    /// Whether a page was reprogrammed, or nearly so, since the last erase.
    was_reprogrammed: bool,
    /// Erases of it with that.
    cycles: u32,
    /// In thousandths.
    wear: u64,
    lsb_only: bool,
    torn: bool,
    bad: bool,
    erases: u32,
    reads: u32,
}

struct Model {
    layout: PageLayout,
    bits: u32,
    limits: Option<ReadLimits>,
    highest: f64,
    disturbed: Option<Disturbed>,
    blocks: Vec<ModelBlock>,
}

impl Model {
    fn new(cell: Cell, order: ProgramOrder, limits: Option<ReadLimits>) -> Model {
        let block = ModelBlock {
            pages: vec![Page::Erased; PAGES as usize],
            reprogrammed: Vec::new(),
            reads_before: vec![0; PAGES as usize],
            was_reprogrammed: false,
            cycles: 0,
            wear: 0,
            lsb_only: false,
            torn: false,
            bad: false,
            erases: 0,
            reads: 0,
        };
        let blocks = vec![block; BLOCKS as usize];
        let layout = PageLayout::new(cell, order, PAGES, 1);
        Model { layout, bits: cell.bits(), limits, highest: 0.0, disturbed: None, blocks }
    }

    fn usable(&self, block: u32) -> bool {
        let state = &self.blocks[block as usize];
        !state.bad && !state.torn
    }

    fn page(&self, block: u32, page: u32) -> Page {
        self.blocks[block as usize].pages[page as usize]
    }

    fn set(&mut self, block: u32, page: u32, content: Page) {
        self.blocks[block as usize].pages[page as usize] = content;
    }

    /// Whether pages of that number are ever programmed in the block's mode.
    fn in_use(&self, block: u32, page: u32) -> bool {
        !self.blocks[block as usize].lsb_only || self.layout.page_type(page).0 == 0
    }

    fn may_read(&self, block: u32, page: u32) -> bool {
        page < PAGES
            && self.usable(block)
            && self.page(block, page) != Page::Erased
            && !self.blocks[block as usize].reprogrammed.contains(&page)
    }

    /// A page may be programmed if it is erased, all pages before it that are ever used are programmed, and none
    /// after it is.
    fn may_program(&self, block: u32, page: u32) -> bool {
        page < PAGES
            && self.usable(block)
            && self.in_use(block, page)
            && (0..PAGES)
                .filter(|&other| self.in_use(block, other))
                .all(|other| (self.page(block, other) != Page::Erased) == (other < page))
    }

    fn is_msb(&self, page: u32) -> bool {
        self.bits > 1 && u32::from(self.layout.page_type(page).0) == self.bits - 1
    }

    fn is_low(&self, block: u32, page: u32) -> bool {
        let wordline = self.layout.wordline(page);
        self.blocks[block as usize].reprogrammed.iter().any(|&msb| self.layout.wordline(msb) == wordline)
    }

    fn limit(&self, block: u32, page: u32) -> Option<u32> {
        let limits = self.limits.as_ref()?;
        Some(if self.is_low(block, page) { limits.low } else { limits.full })
    }

    fn read(&mut self, block: u32, page: u32) {
        self.blocks[block as usize].reads += 1;
        let Some(limit) = self.limit(block, page) else { return };
        let state = &self.blocks[block as usize];
        let reads = state.reads - state.reads_before[page as usize];
        self.highest = self.highest.max(f64::from(reads) / f64::from(limit));
        if reads > limit && self.disturbed.is_none() {
            self.disturbed = Some(Disturbed { block: b(block), page: p(page), reads, limit });
        }
    }

    fn program(&mut self, block: u32, page: u32, content: Page) {
        self.set(block, page, content);
        let state = &mut self.blocks[block as usize];
        state.reads_before[page as usize] = state.reads;
    }

    fn reprogram(&mut self, block: u32, page: u32) {
        let restarts = self.limits.as_ref().is_some_and(|limits| limits.restarts);
        let state = &mut self.blocks[block as usize];
        state.reprogrammed.push(page);
        state.was_reprogrammed = true;
        let all = state.reprogrammed.len() as u32 == PAGES / self.bits;
        if restarts && all && !state.pages.contains(&Page::Erased) {
            state.reads_before.fill(state.reads);
        }
    }

    fn may_reprogram(&self, block: u32, page: u32) -> bool {
        self.is_msb(page)
            && self.usable(block)
            && self.page(block, page) != Page::Erased
            && !self.blocks[block as usize].reprogrammed.contains(&page)
    }

    fn erase(&mut self, block: u32) {
        let state = &mut self.blocks[block as usize];
        let is_special = std::mem::take(&mut state.was_reprogrammed);
        state.cycles += u32::from(is_special);
        state.wear += match &self.limits {
            Some(limits) if is_special => limits.wear.thousandths(state.cycles, state.erases + 1),
            _ => 1000,
        };
        state.pages.fill(Page::Erased);
        state.reprogrammed.clear();
        (state.lsb_only, state.torn) = (false, false);
        (state.erases, state.reads) = (state.erases + 1, 0);
    }

    fn fail(&mut self, block: u32, page: u32) {
        self.program(block, page, Page::Lost);
        for other in 0..PAGES {
            let lower = self.layout.page_type(other).0 <= self.layout.page_type(page).0;
            let paired = self.layout.wordline(other) == self.layout.wordline(page);
            if lower && paired && (other == page || self.page(block, other) != Page::Erased) {
                self.set(block, other, Page::Lost);
            }
        }
    }

    /// The page that may be programmed next, if any.
    fn next(&self, block: u32) -> Option<u32> {
        (0..PAGES).find(|&page| self.may_program(block, page))
    }
}

fn arrays(cell: Cell, order: ProgramOrder, limits: Option<ReadLimits>) -> (Nand, Model) {
    let shape = Shape {
        planes: BLOCKS / BLOCKS_PER_PLANE,
        planes_per_die: 1,
        blocks_per_plane: BLOCKS_PER_PLANE,
        pages_per_block: PAGES,
        parts: 1,
        multiplane: Multiplane::Off,
        cell,
        program_order: order,
    };
    let mut nand = Nand::new(shape, StoreKind::Stamps);
    limits.iter().for_each(|limits| nand.keep_reads(limits.clone()));
    (nand, Model::new(cell, order, limits))
}

fn assert_same(nand: &Nand, model: &Model, block: u32) {
    let (found, wanted) = (nand.blocks()[block as usize], &model.blocks[block as usize]);
    assert_eq!((found.erases, found.reads), (wanted.erases, wanted.reads));
    assert_eq!((found.is_torn(), found.is_bad(), found.is_lsb_only()), (wanted.torn, wanted.bad, wanted.lsb_only));
    assert_eq!(found.is_low_density(), !wanted.reprogrammed.is_empty());
    assert_eq!(found.has_lost_pages(), wanted.pages.contains(&Page::Lost));
    assert_eq!(nand.effective(b(block)), wanted.wear as f64 / 1000.0);
    assert_eq!(nand.highest_share(), model.limits.as_ref().map(|_| model.highest));
    assert_eq!(nand.disturbed(), model.disturbed);
    if !wanted.bad && !wanted.torn {
        assert_eq!(model.next(block).unwrap_or(PAGES), u32::from(found.next_page));
    }
    for page in 0..PAGES {
        let wanted = model.page(block, page);
        assert_eq!(nand.is_programmed(b(block), p(page)), wanted != Page::Erased);
        assert_eq!(nand.is_lost(b(block), p(page)), wanted == Page::Lost);
        assert_eq!(nand.has_guard_levels(b(block), p(page)), model.is_low(block, page));
        if wanted != Page::Erased {
            let state = &model.blocks[block as usize];
            let limit = model.limit(block, page);
            let left = limit.map(|limit| limit.saturating_sub(state.reads - state.reads_before[page as usize]));
            assert_eq!(nand.reads_left(b(block), p(page)), left, "page {page} of block {block}");
        }
        assert_eq!(nand.holds_data(b(block), p(page)), model.may_read(block, page) && wanted != Page::Lost);
        match wanted {
            Page::Holds(stamp, spare) => {
                assert_eq!((nand.data(b(block), p(page)), nand.spare(b(block), p(page))), (stamp, spare));
            }
            Page::Lost => assert_eq!((nand.data(b(block), p(page)), nand.spare(b(block), p(page))), (0, 0)),
            Page::Erased => {}
        }
    }
}

/// Half of the addresses are the next page of the block, so that blocks fill.
fn address(random: &mut Chance, model: &Model) -> (u32, u32) {
    let block = random.below_u32(BLOCKS);
    match model.next(block) {
        Some(next) if random.below(4) > 0 => (block, next),
        _ => (block, random.below_u32(PAGES + 1)),
    }
}

/// One command on both; whether it was legal.
fn step(random: &mut Chance, nand: &mut Nand, model: &mut Model) -> bool {
    let (block, page) = address(random, model);
    let (found, legal): (Result<(), Violation>, bool) = match random.below(64) {
        0 if model.blocks.iter().filter(|state| state.bad).count() < 2 && random.below(50) == 0 => {
            nand.mark_bad(b(block));
            model.blocks[block as usize].bad = true;
            (Ok(()), true)
        }
        0 | 1 => {
            let legal = !model.blocks[block as usize].bad;
            if legal {
                model.erase(block);
            }
            (nand.erase(b(block)), legal)
        }
        2 if random.below(4) == 0 => {
            let legal = !model.blocks[block as usize].bad;
            if legal {
                model.erase(block);
                model.blocks[block as usize].torn = true;
            }
            (nand.tear_erase(b(block)), legal)
        }
        3..=5 => {
            let erased = model.blocks[block as usize].pages.iter().all(|&page| page == Page::Erased);
            let legal = model.usable(block) && erased;
            if legal {
                model.blocks[block as usize].lsb_only = true;
            }
            (nand.use_lsb_only(b(block)), legal)
        }
        6..=8 => {
            let legal = model.may_program(block, page);
            if legal {
                model.fail(block, page);
            }
            (nand.fail_program(b(block), p(page)), legal)
        }
        9 | 10 => {
            // The last MSB page, so that many of them are, or any page.
            let page = if random.below(4) > 0 { page.saturating_sub(1) } else { random.below_u32(PAGES) };
            let legal = model.may_reprogram(block, page);
            if random.below(8) == 0 {
                if legal {
                    model.set(block, page, Page::Lost);
                    model.blocks[block as usize].was_reprogrammed = true;
                }
                (nand.fail_reprogram(b(block), p(page)), legal)
            } else {
                if legal {
                    model.reprogram(block, page);
                }
                (nand.reprogram(b(block), p(page)), legal)
            }
        }
        11 | 12 => {
            let legal = model.may_program(block, page) && model.is_msb(page);
            if random.below(8) == 0 {
                if legal {
                    model.fail(block, page);
                }
                (nand.fail_program_guard(b(block), p(page)), legal)
            } else {
                if legal {
                    model.program(block, page, Page::Holds(0, 0));
                    model.blocks[block as usize].reprogrammed.push(page);
                }
                (nand.program_guard(b(block), p(page)), legal)
            }
        }
        13..=19 => {
            let from = (random.below_u32(BLOCKS), random.below_u32(PAGES));
            let same_plane = from.0 / BLOCKS_PER_PLANE == block / BLOCKS_PER_PLANE;
            let readable = same_plane && model.may_read(from.0, from.1);
            let legal = readable && model.may_program(block, page);
            // The read half of a copyback was carried out when its program is refused.
            if readable {
                model.read(from.0, from.1);
            }
            if legal {
                model.program(block, page, model.page(from.0, from.1));
            }
            (nand.copyback((b(from.0), p(from.1)), (b(block), p(page))), legal)
        }
        20..=39 => {
            let legal = model.may_read(block, page);
            if legal {
                model.read(block, page);
            }
            (nand.read(b(block), p(page)), legal)
        }
        _ => {
            let legal = model.may_program(block, page);
            let found = nand.program(b(block), p(page));
            if legal {
                let (stamp, spare) = (random.next(), u128::from(random.next()) << 64 | u128::from(random.next()));
                nand.store(b(block), p(page), stamp, spare);
                model.program(block, page, Page::Holds(stamp, spare));
            }
            (found, legal)
        }
    };
    assert_eq!(found.is_ok(), legal, "block {block}, page {page}: {found:?}");
    legal
}

/// Limits that are met, ones that are hardly met, and none.
fn limits(seed: u64) -> Option<ReadLimits> {
    let (full, low) = [(5, 12), (20, 40), (1, 1000)].get(seed as usize % 4).copied()?;
    let wear = ReprogramWear { rates: vec![0.1, 0.6], wear: vec![1.9, 1.2] };
    Some(ReadLimits { full, low, restarts: seed % 8 < 4, wear })
}

#[test]
fn random_commands_end_as_the_model_says() {
    for cell in [Cell::Slc, Cell::Mlc, Cell::Tlc, Cell::Qlc] {
        for order in [ProgramOrder::Consecutive, ProgramOrder::Shadow] {
            let (mut legal, mut lost, mut full, mut disturbed, mut low) = (0, 0, 0, 0, 0);
            for seed in 0..20 {
                let mut random = Chance::new(seed, "nand model");
                let (mut nand, mut model) = arrays(cell, order, limits(seed));
                for _ in 0..1000 {
                    legal += u32::from(step(&mut random, &mut nand, &mut model));
                    (0..BLOCKS).for_each(|block| assert_same(&nand, &model, block));
                    low += u32::from(nand.blocks().iter().any(nand::BlockState::is_low_density));
                }
                lost += nand.lost().len();
                disturbed += u32::from(nand.disturbed().is_some());
                full += nand.blocks().iter().filter(|state| u32::from(state.next_page) == PAGES).count();
            }
            // The sequences reach what they are for.
            assert!(
                (4000..16_000).contains(&legal) && lost > 20 && full > 5,
                "{cell:?} {order:?}: {legal} {lost} {full}"
            );
            let reaches_low = (low > 1000) == (cell != Cell::Slc);
            assert!((5..20).contains(&disturbed) && reaches_low, "{cell:?} {order:?}: {disturbed} {low}");
        }
    }
}
