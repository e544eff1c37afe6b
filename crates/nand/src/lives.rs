//! How long blocks live: some are bad from the factory, and each of the others fails in a cycle of its own.
//!
//! The cycle in which a block fails is drawn when the device is built, from a Weibull distribution: so the rate of failures grows with the
//! cycles that blocks have had, and the order of operations has no say in it. A block fails by an erase, or by a program of one of its
//! pages. Nothing here knows units, or what becomes of a block that has failed.

use base::choice::{Choice, Choices, FeatureKey, Param, ParamKind};
use base::{Block, Page};

const fn number(name: &'static str, default: f64, range: [f64; 2], doc: &'static str) -> Param {
    Param { name, kind: ParamKind::Number { default, min: range[0], max: range[1] }, doc }
}

/// How blocks come to be bad.
pub static BAD_BLOCKS: FeatureKey = FeatureKey {
    key: "bad_blocks",
    noun: "bad blocks",
    doc: "Which blocks are bad from the factory, and after how many P/E cycles the others fail. A block that has failed is retired; when \
          there is no spare left, the device is read-only and the run ends.",
    choices: &[
        Choice { name: "none", doc: "No block is bad, and none fails.", params: &[] },
        Choice {
            name: "weibull",
            doc: "Of the blocks that are good at first, the share 1 - exp(-(p/life)^shape) has failed after p cycles.",
            params: &[
                number(
                    "factory",
                    0.005,
                    [0.0, 0.02],
                    "Share of blocks that are bad from the factory. Assumed; data sheets allow 2 % at most.",
                ),
                number("life", 9000.0, [1.0, 1e9], "P/E cycles after which 63 % of the blocks have failed. Assumed."),
                number(
                    "rated_cycles",
                    0.0,
                    [0.0, 1e9],
                    "P/E cycles of the datasheet, by which one block in 730 has failed: `life` is then 729^(1/shape) times as long, 3 times \
                     with the default shape. 0: `life` holds.",
                ),
                number(
                    "shape",
                    6.0,
                    [0.1, 100.0],
                    "How alike blocks are: the greater, the closer together they fail; 1: cycles do not matter. Assumed.",
                ),
                number(
                    "erases",
                    0.5,
                    [0.0, 1.0],
                    "Share of the failures that are failed erases; the others are failed programs. Assumed.",
                ),
            ],
        },
    ],
};

/// The blocks of an array, as far as their lives go.
#[derive(Clone, Copy, Debug)]
pub struct LifeShape {
    /// Blocks of the device.
    pub blocks: u32,
    /// Flash blocks that are one block, because they are in step: it lives as long as the first of them to fail.
    pub parts: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// P/E cycles that all blocks have had, and that none of them has failed in.
    pub pe_cycles: u32,
}

/// The hazard that blocks have when their rated cycles are over: 1 in 3^6, so that the assumed life of 9,000 cycles is rated for 3,000.
const RATED_HAZARD: f64 = 1.0 / 729.0;

/// How blocks fail, as it was chosen.
#[derive(Clone, Copy, Debug)]
pub struct LifeSetup {
    factory: f64,
    life: f64,
    shape: f64,
    erases: f64,
}

impl LifeSetup {
    /// That of a configuration; `None`: no block fails.
    pub fn of(made: &Choices) -> Option<LifeSetup> {
        let selection = BAD_BLOCKS.of(made);
        let number = |name| selection.number(name);
        (selection.name != "none").then(|| {
            let (rated, shape) = (number("rated_cycles"), number("shape"));
            let life = if rated > 0.0 { rated * libm::pow(RATED_HAZARD, -1.0 / shape) } else { number("life") };
            LifeSetup { factory: number("factory"), life, shape, erases: number("erases") }
        })
    }

    /// Share of the good blocks that have failed after so many P/E cycles.
    pub fn share_failed(&self, cycles: f64) -> f64 {
        -libm::expm1(-libm::pow(cycles / self.life, self.shape))
    }

    /// P/E cycles after which 63 % of the blocks have failed.
    pub fn life(&self) -> f64 {
        self.life
    }

    /// The whole cycles beyond `before` after which a block fails, by a number in 0..1.
    fn cycles(&self, before: u32, chance: f64) -> u32 {
        // Of a block that has not failed before, the hazard that is left is exponential.
        let hazard = libm::pow(f64::from(before) / self.life, self.shape) - libm::log(chance);
        let life = self.life * libm::pow(hazard, 1.0 / self.shape) - f64::from(before);
        // As an erase count: it saturates.
        life.max(0.0) as u32
    }
}

/// How a block comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// It is bad from the factory.
    Factory,
    /// The program of this page fails, and of those behind it.
    Program(Page),
    /// The erase fails.
    Erase,
}

/// The life of a block: it ends after so many erases, counted by the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    erases: u32,
    end: End,
}

/// The lives of all blocks.
#[derive(Clone, Debug)]
pub struct BlockLives(Vec<Life>);

impl BlockLives {
    /// Bytes for so many blocks.
    pub fn bytes(blocks: u64) -> u64 {
        blocks * size_of::<Life>() as u64
    }

    /// Lives that are drawn with these random numbers of 64 bits.
    pub fn draw(setup: &LifeSetup, shape: LifeShape, mut random: impl FnMut() -> u64) -> BlockLives {
        let mut fraction = || ((random() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64);
        let mut of_part = || {
            // Each takes as many numbers, whatever it is.
            let [factory, life, kind, page] = [(); 4].map(|()| fraction());
            if factory < setup.factory {
                return Life { erases: 0, end: End::Factory };
            }
            let page = Page::new((page * f64::from(shape.pages_per_block)) as u32);
            let end = if kind < setup.erases { End::Erase } else { End::Program(page) };
            Life { erases: setup.cycles(shape.pe_cycles, life), end }
        };
        let mut of_block = || (0..shape.parts).map(|_| of_part()).min().expect("a block has parts");
        BlockLives((0..shape.blocks).map(|_| of_block()).collect())
    }

    /// From now on each erase stands for so many P/E cycles: of the cycles that a block has left, it has as many fewer erases.
    pub fn shorten(&mut self, cycles_per_erase: u32, erases: impl Fn(Block) -> u32) {
        for (block, life) in Block::all(0..self.0.len() as u32).zip(&mut self.0) {
            let had = erases(block).min(life.erases);
            life.erases = had + (life.erases - had) / cycles_per_erase;
        }
    }

    /// True for a block that is bad from the factory.
    pub fn is_bad(&self, block: Block) -> bool {
        self.0[block.index()].end == End::Factory
    }

    /// True if the program of pages up to `last` fails in a block that was erased so often.
    #[inline]
    pub fn fails_program(&self, block: Block, last: Page, erases: u32) -> bool {
        let life = self.0[block.index()];
        erases >= life.erases && matches!(life.end, End::Program(page) if last >= page)
    }

    /// True if the next erase fails of a block that was erased so often.
    #[inline]
    pub fn fails_erase(&self, block: Block, erases: u32) -> bool {
        let life = self.0[block.index()];
        erases >= life.erases && life.end == End::Erase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETUP: LifeSetup = LifeSetup { factory: 0.01, life: 3000.0, shape: 5.0, erases: 0.25 };

    fn drawn(setup: &LifeSetup, shape: LifeShape) -> BlockLives {
        let mut random = engine::Chance::new(7, "lives");
        BlockLives::draw(setup, shape, || random.next())
    }

    fn shape(blocks: u32) -> LifeShape {
        LifeShape { blocks, parts: 1, pages_per_block: 64, pe_cycles: 0 }
    }

    /// The share of blocks that have failed by so many erases.
    fn failed_by(lives: &BlockLives, erases: u32) -> f64 {
        let last = Page::new(63);
        let has_failed = |&block: &Block| {
            let fails = |erases| lives.fails_program(block, last, erases) || lives.fails_erase(block, erases);
            !lives.is_bad(block) && erases > 0 && fails(erases - 1)
        };
        let all = Block::all(0..lives.0.len() as u32);
        let good = all.clone().filter(|&block| !lives.is_bad(block)).count();
        all.filter(has_failed).count() as f64 / good as f64
    }

    #[test]
    fn blocks_fail_by_the_closed_form() {
        let lives = drawn(&SETUP, shape(200_000));
        for erases in [1500, 2400, 3000, 3600] {
            let expected = SETUP.share_failed(f64::from(erases));
            // Three standard deviations of 200,000 draws.
            let error = 3.0 * (expected * (1.0 - expected) / 200_000.0).sqrt();
            let found = failed_by(&lives, erases);
            assert!((found - expected).abs() < error, "{erases}: {found}, not {expected} ± {error}");
        }
        let all = || Block::all(0..200_000);
        let bad = all().filter(|&block| lives.is_bad(block)).count() as f64 / 200_000.0;
        assert!((bad - 0.01).abs() < 0.0007, "{bad}");
        let good = all().filter(|&block| !lives.is_bad(block));
        let by_erase = good.filter(|&block| lives.fails_erase(block, u32::MAX)).count() as f64 / 198_000.0;
        assert!((by_erase - 0.25).abs() < 0.003, "{by_erase}");
    }

    #[test]
    fn those_that_were_cycled_before_have_not_failed_before() {
        let before = 2400;
        let lives = drawn(&SETUP, LifeShape { pe_cycles: before, ..shape(100_000) });
        for erases in [300, 600, 1200] {
            let [start, end] = [before, before + erases].map(|cycles| 1.0 - SETUP.share_failed(f64::from(cycles)));
            let expected = 1.0 - end / start;
            let error = 3.0 * (expected * (1.0 - expected) / 99_000.0).sqrt();
            let found = failed_by(&lives, erases);
            assert!((found - expected).abs() < error, "{erases}: {found}, not {expected} ± {error}");
        }
    }

    #[test]
    fn erases_that_stand_for_several_cycles_use_up_what_is_left() {
        let (whole, mut short) = (drawn(&SETUP, shape(1000)), drawn(&SETUP, shape(1000)));
        short.shorten(10, |block| block.number() % 100);
        for (index, (whole, short)) in whole.0.iter().zip(&short.0).enumerate() {
            let had = index as u32 % 100;
            let erases = if whole.erases < had { whole.erases } else { had + (whole.erases - had) / 10 };
            assert_eq!((short.end, short.erases), (whole.end, erases));
        }
    }

    #[test]
    fn blocks_in_step_live_as_long_as_the_first_to_fail() {
        let alone = drawn(&SETUP, shape(40_000));
        let together = drawn(&SETUP, LifeShape { parts: 4, ..shape(10_000) });
        for (four, &block) in alone.0.chunks(4).zip(&together.0) {
            assert_eq!(four.iter().min(), Some(&block));
        }
    }

    #[test]
    fn a_block_fails_at_its_page_and_from_then_on() {
        let block = Block::new(0);
        let lives = BlockLives(vec![Life { erases: 3, end: End::Program(Page::new(5)) }]);
        let fails = |page, erases| lives.fails_program(block, Page::new(page), erases);
        assert!(!fails(5, 2) && !fails(4, 3) && fails(5, 3) && fails(6, 3) && fails(7, 9));
        assert!(!lives.fails_erase(block, 9) && !lives.is_bad(block));
        let lives = BlockLives(vec![Life { erases: 3, end: End::Erase }]);
        assert!(!lives.fails_erase(block, 2) && lives.fails_erase(block, 3));
        assert!(!lives.fails_program(block, Page::new(60), 9));
    }
}
