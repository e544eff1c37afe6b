//! The cells of a wordline as threshold voltages, to see what reprogramming in place does to bits.
//!
//! A cell of n bits has 2ⁿ levels, which a Gray code numbers: of a TLC cell ER 111, P1 011, P2 001, P3 101, P4 100, P5 000,
//! P6 010, P7 110 (MSB, CSB, LSB). Levels 2k and 2k + 1 differ in the MSB alone. Programming only raises a threshold. So the
//! MSB page can be programmed anew such that the lower level of each pair is left unused, a guard level below the other; only
//! the erased level and P1 stay as they are, because nothing is below them that they could be mistaken for (Wu et al., "Flash
//! Read Disturb Management Using Adaptive Cell Bit-Density with In-Place Reprogramming", DATE 2018, section III-C).
//!
//! The array does not keep cells. What it does to pages on a reprogram is what the tests here show of cells.

/// The distance of two levels. A threshold is at its level times this, or somewhere between while it is raised.
pub const STEP: u32 = 10;

/// A reprogram that would lower the threshold of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reprogram of cell {cell} from level {from} down to level {to}: programming only raises a threshold")]
pub struct Downwards {
    /// Which cell of the wordline.
    pub cell: usize,
    /// Its level.
    pub from: u32,
    /// The level that was asked for.
    pub to: u32,
}

/// The cells of a wordline, all of its pages programmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wordline {
    bits: u32,
    /// By cell.
    thresholds: Vec<u32>,
}

/// The bit of a page, LSB first, at a level of a cell of so many bits.
pub fn bit_at(bits: u32, level: u32, page: u32) -> bool {
    let gray = level ^ level >> 1;
    gray >> (bits - 1 - page) & 1 == 0
}

/// The level of a cell with these bits, LSB first.
pub fn level_of(bits: &[bool]) -> u32 {
    let count = bits.len() as u32;
    // Each bit of a Gray code says whether the bit of the number differs from the one above it.
    bits.iter().zip(0..).fold(0, |level, (&bit, page)| level ^ (u32::from(!bit) * ((1 << (count - page)) - 1)))
}

/// Fig. 6 (b) of the paper: the new MSB of a cell at a level. Pairs move to their upper level, but for the lowest.
fn new_level(level: u32) -> u32 {
    if level < 2 { level } else { level | 1 }
}

impl Wordline {
    /// Programs pages, LSB page first, each with a bit per cell.
    ///
    /// # Panics
    /// Unless there are two pages or more, all of one length.
    pub fn program(pages: &[Vec<bool>]) -> Wordline {
        assert!(pages.len() > 1 && pages.iter().all(|page| page.len() == pages[0].len()), "pages of one wordline");
        let of_cell = |cell: usize| pages.iter().map(|page| page[cell]).collect::<Vec<bool>>();
        let thresholds = (0..pages[0].len()).map(|cell| STEP * level_of(&of_cell(cell))).collect();
        Wordline { bits: pages.len() as u32, thresholds }
    }

    /// By cell, its threshold voltage.
    pub fn thresholds(&self) -> &[u32] {
        &self.thresholds
    }

    /// Reads a page, LSB first, with the references between all levels.
    pub fn read(&self, page: u32) -> Vec<bool> {
        let level = |threshold: &u32| (threshold + STEP / 2) / STEP;
        self.thresholds.iter().map(|threshold| bit_at(self.bits, level(threshold), page)).collect()
    }

    /// Reads a lower page with the references just below the upper level of each pair: Vr5 tells the LSB of a TLC cell, and
    /// Vr3 or Vr7 the CSB. The whole guard level is margin then.
    ///
    /// # Panics
    /// If it is the MSB page.
    pub fn read_with_guard_levels(&self, page: u32) -> Vec<bool> {
        assert!(page + 1 < self.bits, "the MSB page holds nothing");
        let pair = |threshold: &u32| (threshold.saturating_sub(STEP / 2)) / (2 * STEP);
        self.thresholds.iter().map(|threshold| bit_at(self.bits, 2 * pair(threshold), page)).collect()
    }

    /// The data with which the MSB page is programmed anew, from those of all pages.
    pub fn guard_data(pages: &[Vec<bool>]) -> Vec<bool> {
        let bits = pages.len() as u32;
        let of_cell = |cell: usize| pages.iter().map(|page| page[cell]).collect::<Vec<bool>>();
        (0..pages[0].len()).map(|cell| bit_at(bits, new_level(level_of(&of_cell(cell))), bits - 1)).collect()
    }

    /// The levels that programming the MSB page anew would bring the cells to.
    ///
    /// # Errors
    /// [`Downwards`] for the first cell that would have to go down.
    fn targets(&self, msb: &[bool]) -> Result<Vec<u32>, Downwards> {
        let target = |(cell, (&threshold, &bit)): (usize, (&u32, &bool))| {
            let from = threshold.div_ceil(STEP);
            let lower = from & !1;
            let to = if bit_at(self.bits, lower, self.bits - 1) == bit { lower } else { lower + 1 };
            if to * STEP < threshold { Err(Downwards { cell, from, to }) } else { Ok(to) }
        };
        self.thresholds.iter().zip(msb).enumerate().map(target).collect()
    }

    /// Programs the MSB page anew.
    ///
    /// # Errors
    /// [`Downwards`] for the first cell that would have to go down; nothing is changed then.
    pub fn reprogram(&mut self, msb: &[bool]) -> Result<(), Downwards> {
        self.thresholds = self.targets(msb)?.iter().map(|level| level * STEP).collect();
        Ok(())
    }

    /// Reprograms the cells and stops in between: `on_the_way` says how many [`STEP`]s of its way up each cell has come.
    ///
    /// # Errors
    /// As for [`Wordline::reprogram`].
    pub fn stop_reprogram(&mut self, msb: &[bool], on_the_way: impl Fn(usize) -> u32) -> Result<(), Downwards> {
        let targets = self.targets(msb)?;
        for (cell, (threshold, target)) in self.thresholds.iter_mut().zip(targets).enumerate() {
            *threshold = (*threshold + on_the_way(cell)).min(target * STEP);
        }
        Ok(())
    }
}

/// Where the cells of a pair of levels may be before the MSB page is programmed: the lower pages are programmed to the wide
/// levels of a cell of one bit less, which no target of theirs may be below, and which reach down to the upper level of the
/// pair below.
pub fn before_msb(pair: u32) -> std::ops::RangeInclusive<u32> {
    match pair {
        0 => 0..=0,
        pair => (2 * pair - 1) * STEP..=2 * pair * STEP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of bits once, and what each page has of it.
    fn all(bits: u32) -> Vec<Vec<bool>> {
        (0..bits).map(|page| (0..1u32 << bits).map(|cell| cell >> page & 1 == 1).collect()).collect()
    }

    fn reprogrammed(pages: &[Vec<bool>]) -> Wordline {
        let mut wordline = Wordline::program(pages);
        wordline.reprogram(&Wordline::guard_data(pages)).unwrap();
        wordline
    }

    #[test]
    fn the_levels_are_those_of_the_paper() {
        let names = |bits: u32| -> Vec<String> {
            let name = |level| (0..bits).rev().map(|page| u8::from(bit_at(bits, level, page)).to_string()).collect();
            (0..1 << bits).map(name).collect()
        };
        assert_eq!(names(2), ["11", "01", "00", "10"]);
        assert_eq!(names(3), ["111", "011", "001", "101", "100", "000", "010", "110"]);
        for bits in 2..=4 {
            for level in 0..1 << bits {
                let of_level: Vec<bool> = (0..bits).map(|page| bit_at(bits, level, page)).collect();
                assert_eq!(level_of(&of_level), level);
                if level % 2 == 0 {
                    let changed = (0..bits).filter(|&page| bit_at(bits, level + 1, page) != of_level[page as usize]);
                    assert_eq!(changed.collect::<Vec<_>>(), [bits - 1], "a pair differs in its MSB");
                }
            }
        }
    }

    #[test]
    fn the_rule_of_the_paper_for_tlc() {
        // P4 (100) is reprogrammed with 0, which makes it P5 (000); P2 (001) becomes P3 (101), P6 (010) P7 (110).
        let moved = [(0, 0), (1, 1), (2, 3), (3, 3), (4, 5), (5, 5), (6, 7), (7, 7)];
        for (from, to) in moved {
            let pages: Vec<Vec<bool>> = (0..3).map(|page| vec![bit_at(3, from, page)]).collect();
            assert_eq!(Wordline::guard_data(&pages), [bit_at(3, to, 2)], "P{from}");
            assert_eq!(reprogrammed(&pages).thresholds(), [to * STEP]);
        }
    }

    #[test]
    fn thresholds_only_rise_and_lower_pages_read_back() {
        for bits in 2..=4 {
            let pages = all(bits);
            let (before, after) = (Wordline::program(&pages), reprogrammed(&pages));
            for (cell, (from, to)) in before.thresholds().iter().zip(after.thresholds()).enumerate() {
                assert!(from <= to, "cell {cell} of {bits} bits");
                let level = to / STEP;
                assert!(level < 2 || level % 2 == 1, "guard levels are left unused");
                assert!(*from >= 2 * STEP || from == to, "the erased level and the next need not be moved");
            }
            for (page, data) in (0..bits - 1).zip(&pages) {
                assert_eq!(&after.read(page), data);
                assert_eq!(&after.read_with_guard_levels(page), data);
            }
        }
    }

    #[test]
    fn guard_levels_are_margin() {
        // Thresholds that rose by more than a level's margin are still told apart; without guard levels they are not.
        for bits in 2..=4 {
            let pages = all(bits);
            let shifted = |wordline: &Wordline, by: u32| Wordline {
                thresholds: wordline.thresholds.iter().map(|threshold| threshold + by).collect(),
                ..wordline.clone()
            };
            let (before, after) = (Wordline::program(&pages), reprogrammed(&pages));
            let limit = STEP / 2;
            assert_ne!(shifted(&before, limit).read(0), pages[0]);
            for (page, data) in (0..bits - 1).zip(&pages) {
                assert_eq!(&shifted(&before, limit - 1).read(page), data);
                assert_eq!(&shifted(&after, limit + STEP - 1).read_with_guard_levels(page), data);
            }
        }
    }

    #[test]
    fn the_msb_page_is_gone() {
        for bits in 2..=4 {
            let pages = all(bits);
            let mut others = pages.clone();
            // Another MSB page, of all cells that are to be moved.
            let is_moved = |cell: usize| Wordline::program(&pages).thresholds()[cell] >= 2 * STEP;
            let msb = others.last_mut().unwrap();
            (0..msb.len()).filter(|&cell| is_moved(cell)).for_each(|cell| msb[cell] = !msb[cell]);
            assert_ne!(pages, others);
            assert_eq!(reprogrammed(&pages), reprogrammed(&others));
        }
    }

    #[test]
    fn no_cell_goes_down() {
        // P3 (101) to P2 (001), among cells that could take their new bit.
        let mut wordline = Wordline::program(&[vec![true, true], vec![true, false], vec![true, true]]);
        let before = wordline.clone();
        let down = Downwards { cell: 1, from: 3, to: 2 };
        assert_eq!(wordline.reprogram(&[false, false]), Err(down));
        assert_eq!(wordline.stop_reprogram(&[false, false], |_| 3), Err(down));
        assert_eq!(wordline, before);
        // A second time there is nothing to raise.
        let pages = all(3);
        let mut twice = reprogrammed(&pages);
        twice.reprogram(&twice.read(2)).unwrap();
        assert_eq!(twice, reprogrammed(&pages));
        assert!(twice.reprogram(&pages[2]).is_err(), "the old MSB page does not come back");
    }

    #[test]
    fn an_interrupted_reprogram_leaves_the_lower_pages() {
        for bits in 2..=4 {
            let pages = all(bits);
            for on_the_way in [0, 1, STEP / 2, STEP - 1] {
                let mut stopped = Wordline::program(&pages);
                stopped.stop_reprogram(&Wordline::guard_data(&pages), |cell| on_the_way + cell as u32 % 2).unwrap();
                for (page, data) in (0..bits - 1).zip(&pages) {
                    assert_eq!(&stopped.read(page), data, "page {page} after {on_the_way}");
                }
                // It lacks its guard levels: the references that rely on them misread it.
                let is_misread = (0..bits - 1).any(|page| stopped.read_with_guard_levels(page) != pages[page as usize]);
                assert_eq!(is_misread, on_the_way < STEP / 2);
                // The new MSB page follows from what can still be read, and brings it to its end.
                let readable: Vec<Vec<bool>> = (0..bits).map(|page| stopped.read(page)).collect();
                stopped.reprogram(&Wordline::guard_data(&readable)).unwrap();
                assert_eq!(stopped, reprogrammed(&pages));
            }
        }
    }

    #[test]
    fn an_interrupted_guard_page_takes_the_lower_pages_along() {
        for bits in 2..=4u32 {
            for pair in 1..(1 << (bits - 1)) - 1 {
                // Raised from its wide level to the upper one of the pair, a cell passes where one of the next pair begins.
                let passed = *before_msb(pair).start()..=(2 * pair + 1) * STEP;
                let next = before_msb(pair + 1);
                assert!(passed.contains(next.start()), "pair {pair} of {bits} bits");
                let lower = |pair: u32| (0..bits - 1).map(move |page| bit_at(bits, 2 * pair, page));
                assert!(lower(pair).ne(lower(pair + 1)), "one threshold for two contents of the lower pages");
            }
        }
    }
}
