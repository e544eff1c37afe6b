//! The shape of the device and the arithmetic between page numbers and places.
//!
//! A *reclaim unit* is `width` blocks of one die, on neighbouring planes and with the same block offset
//! (1: a plain block; all planes of the die: twin blocks). Slots of a unit run page by page, inside a page offset plane by plane, and
//! inside a flash page part by part; so `Ppn = unit × slots_per_unit + slot` holds for every width and number of parts.
//!
//! A *page* is what has a map entry. It is a flash page, or one of the equal parts of one (`ftl.map_unit`).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::ids::{Block, Die, Domain, Page, Ppn, Slot, Unit};

/// Bits stored per cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// One bit.
    Slc,
    /// Two bits.
    Mlc,
    /// Three bits.
    Tlc,
    /// Four bits.
    Qlc,
}

impl Cell {
    /// Bits per cell, which is pages per wordline.
    pub fn bits(self) -> u32 {
        match self {
            Cell::Slc => 1,
            Cell::Mlc => 2,
            Cell::Tlc => 3,
            Cell::Qlc => 4,
        }
    }
}

/// Which page of a wordline: 0 is the LSB page, `bits - 1` the MSB page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageType(pub u8);

/// The order in which the pages of a block are numbered, and so programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramOrder {
    /// All pages of a wordline follow each other: LSB 2k is paired with MSB 2k + 1.
    Consecutive,
    /// Each further bit of a wordline is programmed one wordline late: LSB0 LSB1 MSB0 LSB2 MSB1 …
    Shadow,
}

/// Which addresses a multi-plane command may combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Multiplane {
    /// No multi-plane commands.
    Off,
    /// Planes are addressed independently (Wen and Chang 2012, section 3.5).
    Any,
    /// Same page offset on every plane (ONFI's page address constraint).
    Pac,
    /// Same page offset and same block offset (block address constraint).
    Bac,
}

/// Parts of a device that do the same thing at the same time, each on its own flash page: together they are one part
/// whose pages, *superpages*, are that many times wider (GC forwarding, section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InStep {
    /// Channels in step: all of the device, or 1.
    pub channels: u32,
    /// Planes of each die in step: all of it, or 1.
    pub planes: u32,
}

impl InStep {
    /// Every channel and plane by itself.
    pub const NONE: InStep = InStep { channels: 1, planes: 1 };

    /// Flash pages of a superpage; blocks of a superblock.
    #[inline]
    pub fn parts(self) -> u32 {
        self.channels * self.planes
    }
}

/// Division by a number that is fixed for the run, as a multiplication.
///
/// Exact for every 32-bit dividend (Granlund and Montgomery 1994, with a 33-bit reciprocal in 64 bits;
/// powers of two are shifts of the same form).
#[derive(Clone, Copy, Debug)]
pub struct FastDiv {
    divisor: u32,
    reciprocal: u64,
}

impl FastDiv {
    /// # Panics
    /// If `divisor` is zero.
    pub fn new(divisor: u32) -> FastDiv {
        assert!(divisor > 0, "division by zero");
        // ceil(2^64 / divisor), except that 1 does not fit and is handled by `quotient`.
        let reciprocal = (u64::MAX / u64::from(divisor)).wrapping_add(1);
        FastDiv { divisor, reciprocal }
    }

    /// The divisor.
    #[inline]
    pub fn divisor(self) -> u32 {
        self.divisor
    }

    /// `n / divisor`.
    #[inline]
    pub fn quotient(self, n: u32) -> u32 {
        if self.divisor == 1 {
            return n;
        }
        ((u128::from(self.reciprocal) * u128::from(n)) >> 64) as u32
    }

    /// `(n / divisor, n % divisor)`.
    #[inline]
    pub fn split(self, n: u32) -> (u32, u32) {
        let q = self.quotient(n);
        (q, n - q * self.divisor)
    }
}

/// Which wordline and which bit of it each page of a block is.
#[derive(Clone, Debug)]
pub struct PageLayout {
    /// By page offset: (wordline, page type).
    pages: Vec<(u16, u8)>,
}

impl PageLayout {
    /// The layout of a block of `pages_per_block` pages, so many of which are the parts of a flash page.
    pub fn new(cell: Cell, order: ProgramOrder, pages_per_block: u32, parts: u32) -> PageLayout {
        let bits = cell.bits();
        let wordlines = pages_per_block / parts / bits;
        let mut pages = Vec::with_capacity((pages_per_block / parts) as usize);
        match order {
            ProgramOrder::Consecutive => {
                for wordline in 0..wordlines {
                    for bit in 0..bits {
                        pages.push((wordline as u16, bit as u8));
                    }
                }
            }
            ProgramOrder::Shadow => {
                // Step s programs bit b of wordline s - b, upper bits of older wordlines last.
                for step in 0..wordlines + bits - 1 {
                    for bit in 0..bits {
                        if step >= bit && step - bit < wordlines {
                            pages.push(((step - bit) as u16, bit as u8));
                        }
                    }
                }
            }
        }
        let pages = pages.into_iter().flat_map(|page| std::iter::repeat_n(page, parts as usize)).collect();
        PageLayout { pages }
    }

    /// The bit of the wordline that a page is.
    #[inline]
    pub fn page_type(&self, page: u32) -> PageType {
        PageType(self.pages[page as usize].1)
    }

    /// The wordline of a page.
    pub fn wordline(&self, page: u32) -> u32 {
        u32::from(self.pages[page as usize].0)
    }

    /// Pages in the block.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// True without pages.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}

/// The parts of a device, and the width of its reclaim units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimensions {
    /// Channels of the device.
    pub channels: u32,
    /// Chips on a channel.
    pub chips_per_channel: u32,
    /// Dies of a chip.
    pub dies_per_chip: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_size: u32,
    /// Blocks of a reclaim unit: 1, or `planes_per_die` for twin blocks.
    pub unit_width: u32,
    /// Pages that are the parts of a flash page, which are sensed and programmed together: 1, or several with map units below it.
    pub parts: u32,
}

impl Dimensions {
    /// One plane with a block of one page: what a small device is written as a difference from.
    pub const ONE_PAGE: Dimensions = Dimensions {
        channels: 1,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die: 1,
        blocks_per_plane: 1,
        pages_per_block: 1,
        page_size: 4096,
        unit_width: 1,
        parts: 1,
    };

    /// The counts whose product is the number of pages.
    fn counts(&self) -> [u32; 6] {
        [
            self.channels,
            self.chips_per_channel,
            self.dies_per_chip,
            self.planes_per_die,
            self.blocks_per_plane,
            self.pages_per_block,
        ]
    }
}

/// The device's shape. Dies are numbered channel-major: channel, then chip, then die of the chip.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Channels of the device.
    pub channels: u32,
    /// Chips on a channel.
    pub chips_per_channel: u32,
    /// Dies of a chip.
    pub dies_per_chip: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_size: u32,
    /// Blocks of a reclaim unit: 1, or `planes_per_die` for twin blocks.
    pub unit_width: u32,
    /// Pages that are the parts of a flash page.
    pub parts: u32,
    unit_slots: FastDiv,
    row: FastDiv,
    part: FastDiv,
    units_per_domain: FastDiv,
    domains_per_die: FastDiv,
    dies_per_channel: FastDiv,
}

impl Geometry {
    /// The geometry of a device of these dimensions.
    ///
    /// # Panics
    /// If a count is zero, if `unit_width` does not divide `planes_per_die` or `parts` the pages of a block, or if the device has more
    /// pages than 32 bits can number. The config reader refuses all of these first.
    pub fn new(dimensions: Dimensions) -> Geometry {
        let pages = dimensions.counts().into_iter().try_fold(1, |pages: u32, count| pages.checked_mul(count));
        assert!(pages.is_some_and(|pages| pages < u32::MAX), "more pages than 32 bits can number");
        assert!(pages != Some(0), "a device has a page at least");
        let Dimensions {
            channels,
            chips_per_channel,
            dies_per_chip,
            planes_per_die,
            blocks_per_plane,
            pages_per_block,
            page_size,
            unit_width,
            parts,
        } = dimensions;
        assert!(planes_per_die.is_multiple_of(unit_width), "a reclaim unit covers whole planes of a die");
        assert!(parts > 0 && pages_per_block.is_multiple_of(parts), "a block is of whole flash pages");
        Geometry {
            channels,
            chips_per_channel,
            dies_per_chip,
            planes_per_die,
            blocks_per_plane,
            pages_per_block,
            page_size,
            unit_width,
            parts,
            unit_slots: FastDiv::new(pages_per_block * unit_width),
            row: FastDiv::new(unit_width * parts),
            part: FastDiv::new(parts),
            units_per_domain: FastDiv::new(blocks_per_plane),
            domains_per_die: FastDiv::new(planes_per_die / unit_width),
            dies_per_channel: FastDiv::new(chips_per_channel * dies_per_chip),
        }
    }

    /// Dies of the device.
    pub fn dies(&self) -> u32 {
        self.channels * self.chips_per_channel * self.dies_per_chip
    }

    /// Planes of the device.
    pub fn planes(&self) -> u32 {
        self.dies() * self.planes_per_die
    }

    /// Blocks of the device.
    pub fn blocks(&self) -> u32 {
        self.planes() * self.blocks_per_plane
    }

    /// Physical pages of the device.
    pub fn pages(&self) -> u64 {
        u64::from(self.planes()) * u64::from(self.blocks_per_plane) * u64::from(self.pages_per_block)
    }

    /// Bytes of all physical pages.
    pub fn raw_bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_size)
    }

    /// Domains of the device: the scopes in which free space is managed and victims are chosen.
    pub fn domains(&self) -> u32 {
        self.planes() / self.unit_width
    }

    /// All domains of the device.
    pub fn all_domains(&self) -> impl DoubleEndedIterator<Item = Domain> + Clone + use<> {
        (0..self.domains()).map(Domain::new)
    }

    /// All dies of the device.
    pub fn all_dies(&self) -> impl DoubleEndedIterator<Item = Die> + Clone + use<> {
        (0..self.dies()).map(Die::new)
    }

    /// Domains of a die.
    #[inline]
    pub fn domains_per_die(&self) -> u32 {
        self.domains_per_die.divisor()
    }

    /// The domains of a die.
    #[inline]
    pub fn domains_of_die(&self, die: Die) -> impl DoubleEndedIterator<Item = Domain> + Clone + use<> {
        let (count, die) = (self.domains_per_die(), die.number());
        (die * count..(die + 1) * count).map(Domain::new)
    }

    /// Reclaim units of a domain.
    #[inline]
    pub fn units_per_domain(&self) -> u32 {
        self.blocks_per_plane
    }

    /// Reclaim units of the device.
    pub fn units(&self) -> u32 {
        self.domains() * self.blocks_per_plane
    }

    /// Pages of a reclaim unit.
    #[inline]
    pub fn unit_slots(&self) -> u32 {
        self.unit_slots.divisor()
    }

    /// The reclaim unit and the slot in it of a page.
    #[inline]
    pub fn unit_and_slot(&self, ppn: Ppn) -> (Unit, Slot) {
        let (unit, slot) = self.unit_slots.split(ppn.0);
        (Unit::new(unit), Slot::new(slot))
    }

    /// The reclaim unit of a page.
    #[inline]
    pub fn unit_of(&self, ppn: Ppn) -> Unit {
        Unit::new(self.unit_slots.quotient(ppn.0))
    }

    /// The page at a slot of a reclaim unit.
    #[inline]
    pub fn ppn(&self, unit: Unit, slot: Slot) -> Ppn {
        Ppn(unit.number() * self.unit_slots() + slot.number())
    }

    /// The slot of a page offset on one of a unit's planes.
    #[inline]
    pub fn slot_at(&self, page: Page, lane: u32) -> Slot {
        let page = page.number();
        let (flash_page, part) = self.part.split(page);
        Slot::new((flash_page * self.unit_width + lane) * self.parts + part)
    }

    /// The slot behind the last one of a unit: where a filled unit's next page would go.
    #[inline]
    pub fn end_slot(&self) -> Slot {
        Slot::new(self.unit_slots())
    }

    /// A slot so many further on, or the last one.
    #[inline]
    pub fn slot_ahead(&self, slot: Slot, by: u32) -> Slot {
        Slot::new((slot.number() + by).min(self.unit_slots() - 1))
    }

    /// The slots of a unit from one on.
    #[inline]
    pub fn slots_from(&self, slot: Slot) -> impl Iterator<Item = Slot> + Clone + use<> {
        (slot.number()..self.unit_slots()).map(Slot::new)
    }

    /// The number of slots of a unit from one on.
    #[inline]
    pub fn slots_left(&self, slot: Slot) -> u32 {
        self.unit_slots() - slot.number()
    }

    /// The domain of a reclaim unit.
    #[inline]
    pub fn domain_of_unit(&self, unit: Unit) -> Domain {
        Domain::new(self.units_per_domain.quotient(unit.number()))
    }

    /// The place of a reclaim unit in its domain.
    #[inline]
    pub fn offset_of_unit(&self, unit: Unit) -> u32 {
        self.units_per_domain.split(unit.number()).1
    }

    /// All units of the device.
    pub fn all_units(&self) -> impl Iterator<Item = Unit> + Clone + use<> {
        (0..self.units()).map(Unit::new)
    }

    /// The units of a domain.
    pub fn units_of_domain(&self, domain: Domain) -> impl Iterator<Item = Unit> + Clone + use<> {
        let (count, domain) = (self.units_per_domain(), domain.number());
        (domain * count..(domain + 1) * count).map(Unit::new)
    }

    /// The die of a domain.
    #[inline]
    pub fn die_of_domain(&self, domain: Domain) -> Die {
        Die::new(self.domains_per_die.quotient(domain.number()))
    }

    /// The die of a page.
    #[inline]
    pub fn die_of(&self, ppn: Ppn) -> Die {
        self.die_of_domain(self.domain_of_unit(self.unit_of(ppn)))
    }

    /// The channel of a die.
    #[inline]
    pub fn channel_of_die(&self, die: Die) -> u32 {
        self.dies_per_channel.quotient(die.number())
    }

    /// The global block number (plane-major) of a unit's block on one of its planes.
    #[inline]
    pub fn block_of(&self, unit: Unit, lane: u32) -> Block {
        let (domain, offset) = self.units_per_domain.split(unit.number());
        Block::new((domain * self.unit_width + lane) * self.blocks_per_plane + offset)
    }

    /// The reclaim unit of a block.
    pub fn unit_of_block(&self, block: Block) -> Unit {
        let block = block.number();
        let (plane, offset) = (block / self.blocks_per_plane, block % self.blocks_per_plane);
        Unit::new(plane / self.unit_width * self.units_per_domain() + offset)
    }

    /// The page offset, inside its block, of a slot.
    #[inline]
    pub fn page_of_slot(&self, slot: Slot) -> Page {
        self.page_and_lane(slot).0
    }

    /// Which block of its unit, counted by plane, a slot lies in.
    #[inline]
    pub fn lane_of_slot(&self, slot: Slot) -> u32 {
        self.page_and_lane(slot).1
    }

    /// The page offset of a slot, and which block of its unit it lies in.
    #[inline]
    pub fn page_and_lane(&self, slot: Slot) -> (Page, u32) {
        let (row, place) = self.row.split(slot.number());
        let (lane, part) = self.part.split(place);
        (Page::new(row * self.parts + part), lane)
    }

    /// The slot of the last page of a slot's flash page.
    #[inline]
    pub fn last_part(&self, slot: Slot) -> Slot {
        Slot::new(self.part.quotient(slot.number()) * self.parts + self.parts - 1)
    }

    /// True for the last page of its flash page.
    #[inline]
    pub fn is_last_part(&self, ppn: Ppn) -> bool {
        self.part.split(ppn.0).1 + 1 == self.parts
    }

    /// Slots of a unit at one offset of flash pages, a *row*: those of a flash page on each of its planes.
    #[inline]
    pub fn row_slots(&self) -> u32 {
        self.row.divisor()
    }

    /// True for the first page of a row.
    #[inline]
    pub fn begins_row(&self, ppn: Ppn) -> bool {
        self.row.split(ppn.0).1 == 0
    }

    /// The row of a slot, and its place there.
    #[inline]
    pub fn row_of_slot(&self, slot: Slot) -> (u32, u32) {
        self.row.split(slot.number())
    }

    /// Which block of its unit a place in a row lies in, counted by plane, and which part of its flash page it is.
    #[inline]
    pub fn lane_and_part(&self, place: u32) -> (u32, u32) {
        self.part.split(place)
    }

    /// Pages of a block of a unit, counted by plane, of which so many slots are filled from the first one on.
    #[inline]
    pub fn pages_before(&self, slots: u32, lane: u32) -> u32 {
        let (row, place) = self.row.split(slots);
        row * self.parts + place.saturating_sub(lane * self.parts).min(self.parts)
    }

    /// The flash page that a page is or is a part of, counted over the device.
    #[inline]
    pub fn flash_page_of(&self, ppn: Ppn) -> u32 {
        self.part.quotient(ppn.0)
    }

    /// The numbers of all pages of the flash page of a page.
    #[inline]
    pub fn flash_page_around(&self, ppn: Ppn) -> Range<u32> {
        let first = ppn.0 - self.part.split(ppn.0).1;
        first..first + self.parts
    }

    /// The numbers of all pages of the row of a page.
    #[inline]
    pub fn row_around(&self, ppn: Ppn) -> Range<u32> {
        let first = ppn.0 - self.row.split(ppn.0).1;
        first..first + self.row_slots()
    }

    /// True for pages of one unit and at one offset of flash pages: they lie on planes of one die, and on distinct ones if they are
    /// not of the same flash page.
    #[inline]
    pub fn are_in_a_row(&self, first: Ppn, second: Ppn) -> bool {
        self.row.quotient(first.0) == self.row.quotient(second.0)
    }

    /// Where a page is.
    #[inline]
    pub fn place(&self, ppn: Ppn) -> Place {
        let (unit, slot) = self.unit_and_slot(ppn);
        let (domain, block_offset) = self.units_per_domain.split(unit.number());
        let (page, lane) = self.page_and_lane(slot);
        let plane = domain * self.unit_width + lane;
        Place { plane, block: Block::new(plane * self.blocks_per_plane + block_offset), page }
    }
}

/// A physical place: device-wide plane and block numbers, and the page offset in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Plane, counted over the device.
    pub plane: u32,
    /// Block, counted over the device (plane-major).
    pub block: Block,
    /// Page offset in the block, which is its place in the program order.
    pub page: Page,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_division_is_exact() {
        for divisor in [1, 2, 3, 5, 7, 64, 127, 128, 192, 255, 256, 512, 576, 1 << 20, u32::MAX] {
            let fast = FastDiv::new(divisor);
            let mut n = 1u32;
            for step in 0..200_000u32 {
                n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223 + step);
                for m in [n, n - n % divisor, (n - n % divisor).wrapping_sub(1)] {
                    assert_eq!(fast.split(m), (m / divisor, m % divisor), "{m} / {divisor}");
                }
            }
        }
    }

    #[test]
    fn every_page_has_its_own_place() {
        for (width, parts) in [(1, 1), (2, 1), (1, 2), (2, 2), (2, 4), (1, 4)] {
            let geometry = Geometry::new(Dimensions {
                channels: 2,
                dies_per_chip: 2,
                planes_per_die: 2,
                blocks_per_plane: 3,
                pages_per_block: 4,
                unit_width: width,
                parts,
                ..Dimensions::ONE_PAGE
            });
            let mut seen = std::collections::HashSet::new();
            for ppn in 0..geometry.pages() as u32 {
                let place = geometry.place(Ppn(ppn));
                let (unit, slot) = geometry.unit_and_slot(Ppn(ppn));
                assert_eq!(geometry.block_of(unit, geometry.lane_of_slot(slot)), place.block);
                assert_eq!(geometry.page_of_slot(slot), place.page);
                assert_eq!(geometry.pages_before(slot.number(), geometry.lane_of_slot(slot)), place.page.number());
                assert_eq!(geometry.slot_at(place.page, geometry.lane_of_slot(slot)), slot);
                assert_eq!(geometry.die_of(Ppn(ppn)), Die::new(place.plane / 2));
                for other in 0..geometry.pages() as u32 {
                    let (of_other, other_slot) = geometry.unit_and_slot(Ppn(other));
                    let flash_page = |page: u32| page / parts;
                    let offset = geometry.page_of_slot(other_slot);
                    let is_in_a_row =
                        of_other == unit && flash_page(offset.number()) == flash_page(place.page.number());
                    assert_eq!(geometry.are_in_a_row(Ppn(ppn), Ppn(other)), is_in_a_row);
                    let is_one = is_in_a_row && geometry.lane_of_slot(slot) == geometry.lane_of_slot(other_slot);
                    assert_eq!(geometry.flash_page_of(Ppn(ppn)) == geometry.flash_page_of(Ppn(other)), is_one);
                }
                assert!(seen.insert((place.block, place.page)));
            }
            assert_eq!(seen.len() as u64, geometry.pages());
        }
    }

    #[test]
    fn what_no_device_has_is_refused() {
        let one = Dimensions::ONE_PAGE;
        let refused = |dimensions| std::panic::catch_unwind(|| Geometry::new(dimensions)).is_err();
        assert!(!refused(one));
        assert!(!refused(Dimensions { channels: 65_535, blocks_per_plane: 65_536, ..one }));
        for dimensions in [
            Dimensions { channels: 0, ..one },
            Dimensions { chips_per_channel: 0, ..one },
            Dimensions { dies_per_chip: 0, ..one },
            Dimensions { planes_per_die: 0, ..one },
            Dimensions { blocks_per_plane: 0, ..one },
            Dimensions { pages_per_block: 0, ..one },
            Dimensions { unit_width: 0, ..one },
            Dimensions { unit_width: 2, ..one },
            Dimensions { planes_per_die: 3, unit_width: 2, ..one },
            Dimensions { pages_per_block: 6, parts: 4, ..one },
            Dimensions { parts: 0, ..one },
            Dimensions { channels: u32::MAX, ..one },
            Dimensions { channels: 65_536, blocks_per_plane: 65_536, ..one },
        ] {
            assert!(refused(dimensions), "{dimensions:?}");
        }
    }

    #[test]
    fn layouts_follow_the_datasheet_orders() {
        let consecutive = PageLayout::new(Cell::Mlc, ProgramOrder::Consecutive, 6, 1);
        assert_eq!(consecutive.pages, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
        let shadow = PageLayout::new(Cell::Mlc, ProgramOrder::Shadow, 6, 1);
        assert_eq!(shadow.pages, [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (2, 1)]);
        let tlc = PageLayout::new(Cell::Tlc, ProgramOrder::Shadow, 9, 1);
        assert_eq!(tlc.pages, [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 1), (1, 2), (2, 2)]);
        let parts = PageLayout::new(Cell::Mlc, ProgramOrder::Shadow, 8, 2);
        assert_eq!(parts.pages, [(0, 0), (0, 0), (1, 0), (1, 0), (0, 1), (0, 1), (1, 1), (1, 1)]);
    }
}
