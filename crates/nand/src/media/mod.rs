//! The media: how many errors a page has, and how often it has to be read before they can be corrected.
//!
//! The bits of a page that are wrong grow with the cycles of its block, with the age and the temperature of its data and with the
//! reads of its block ([`rber`]). ECC corrects so many of a codeword ([`ecc`]). Beyond that the page is read again with shifted
//! reference voltages, in an order that a policy says ([`levels`]), then decoded softly, then given up. Blocks and layers differ.
//!
//! The media own no clock: programs and reads are told with their time. Data that were there before the first instant have the
//! stated age then.

mod choices;
mod ecc;
mod levels;
mod rber;

use base::scope::{Area, Scope};
use base::{Block, Instant, Page, PageLayout};

pub use choices::{MEDIA, MediaSetup};
pub use ecc::Ecc;
pub use levels::{LEVELS, ReadLevels};
pub use rber::{ErrorModel, ErrorTerms, acceleration};

/// Pages of an array, as far as errors go.
#[derive(Clone, Copy, Debug)]
pub struct MediaShape<'a> {
    /// Blocks of the device.
    pub blocks: u32,
    /// Pages of a block; map units where a flash page has several.
    pub pages_per_block: u32,
    /// Bytes of such a page.
    pub page_size: u32,
    /// The wordlines of pages: a wordline is a layer.
    pub layout: &'a PageLayout,
}

/// The past of a block when a page of it is read.
#[derive(Clone, Copy, Debug)]
pub struct Endured {
    /// P/E cycles.
    pub cycles: u32,
    /// Page reads since the last erase.
    pub reads: u32,
}

/// How a page comes to be read correctly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Correction {
    /// Reads after the first one.
    pub retries: u8,
    /// No reference voltage was good enough: the last of them are for soft decoding.
    pub is_soft: bool,
    /// Soft decoding did not help either.
    pub is_uncorrectable: bool,
}

/// A block: how it differs, and what follows from its cycles.
#[derive(Clone, Copy)]
struct MediaBlock {
    /// By this its errors are multiplied.
    factor: f64,
    /// The cycles that `terms` are of.
    cycles: u32,
    terms: ErrorTerms,
    /// The step with which a page of it was read last.
    last_good: u8,
}

/// Errors of all pages of an array.
pub struct Media {
    setup: MediaSetup,
    ecc: Ecc,
    pages_per_block: u32,
    /// By page of a block: by this the errors of its layer are multiplied.
    layers: Vec<f64>,
    blocks: Vec<MediaBlock>,
    /// By page: the tick after the one of its program; 0 for data from before the first instant.
    born: Vec<u32>,
    /// Ticks that such data were old then.
    stated_age: u64,
    /// Of ticks that passed, by their last bits: the stretch that they make.
    stretched: Box<[Stretched; STRETCHES]>,
    /// Ticks × this: age at the reference temperature ÷ onset.
    stretch_of_tick: f64,
    salt: u64,
}

/// How far the levels of a page of some age have moved.
#[derive(Clone, Copy)]
struct Stretched {
    /// In ticks.
    age: u64,
    /// The logarithm of the age.
    stretch: f64,
    /// The step of the reference voltages that fits it.
    fitting: u32,
}

impl Stretched {
    /// No page is of that age.
    const NONE: Stretched = Stretched { age: u64::MAX, stretch: 0.0, fitting: 0 };
}

/// Ages that are kept: more than half an hour of them, since most pages that are read soon are of one of few ages.
const STRETCHES: usize = 512;

/// Time is kept in ticks of 2³² ns, which is 4.3 s.
const TICK_BITS: u32 = 32;

/// The least luck that a page can have.
const LEAST_LUCK: f64 = 0.5 / (1u64 << 53) as f64;

/// Cycles that no block has: its terms are not known.
const UNKNOWN: u32 = u32::MAX;

impl Media {
    /// Bytes for an array.
    pub fn bytes(blocks: u64, pages: u64) -> u64 {
        pages * size_of::<u32>() as u64 + blocks * size_of::<MediaBlock>() as u64
    }

    /// An array whose blocks are drawn with these random numbers of 64 bits.
    pub fn new(setup: MediaSetup, shape: MediaShape<'_>, mut random: impl FnMut() -> u64) -> Media {
        let codewords = shape.page_size.div_ceil(setup.codeword).max(1);
        let ecc = Ecc::new(setup.codeword * 8, setup.correctable, codewords, setup.has_noise);
        let layers = layers(&shape, setup.layers);
        let setup = setup.fitted(&ecc, &layers);
        let salt = random();
        let spread = setup.blocks;
        let mut block = || MediaBlock {
            factor: libm::exp(spread * normal(&mut random)),
            cycles: UNKNOWN,
            terms: ErrorTerms::default(),
            last_good: 0,
        };
        let seconds = |ns: u128| ns as f64 / 1e9;
        let tick = seconds(1u128 << TICK_BITS);
        Media {
            blocks: (0..shape.blocks).map(|_| block()).collect(),
            born: vec![0; shape.blocks as usize * shape.pages_per_block as usize],
            pages_per_block: shape.pages_per_block,
            stated_age: setup.age.ns() >> TICK_BITS,
            stretched: Box::new([Stretched::NONE; STRETCHES]),
            stretch_of_tick: tick * setup.acceleration() / seconds(setup.onset.ns().into()),
            layers,
            ecc,
            setup,
            salt,
        }
    }

    /// A page was programmed at that time.
    #[inline]
    pub fn programmed(&mut self, block: Block, page: Page, now: Instant) {
        let index = self.index(block, page);
        self.born[index] = (now.ns() >> TICK_BITS) as u32 + 1;
    }

    /// The ticks of all pages, and where among them a page has its own: a read of it will want it.
    #[inline]
    pub fn tick_of(&self, block: Block, page: Page) -> (&[u32], usize) {
        (&self.born, self.index(block, page))
    }

    /// A page is read at that time: how often, until it is correct. The block keeps the step that was good.
    pub fn read(&mut self, block: Block, page: Page, wear: Endured, now: Instant) -> Correction {
        let Stretched { stretch, fitting, .. } = self.stretched(block, page, now);
        let factor = self.layers[page.index()];
        let state = &mut self.blocks[block.index()];
        if state.cycles != wear.cycles {
            (state.cycles, state.terms) = (wear.cycles, self.setup.model.terms(wear.cycles));
        }
        let (terms, factor, reads) = (state.terms, state.factor * factor, wear.reads);
        let MediaSetup { floor, step, steps, .. } = self.setup;
        let rber = |at: u32| {
            let off = (stretch - f64::from(at) * step).abs();
            (terms.wear + terms.retention * (off * (1.0 - floor) + stretch * floor) + terms.disturb * f64::from(reads))
                * factor
        };
        let first = self.setup.level.first(u32::from(state.last_good), fitting);
        let rate = rber(first);
        // Most pages are far from the limit, and it takes longer to draw their luck than all before.
        if self.ecc.always_corrects(rate) {
            state.last_good = first as u8;
            return Correction::default();
        }
        let luck = luck(self.salt, block, page, wear.cycles);
        if self.ecc.corrects(rate, luck) {
            state.last_good = first as u8;
            return Correction::default();
        }
        let found = levels::outward(first, steps).skip(1).zip(1u8..).find(|&(at, _)| self.ecc.corrects(rber(at), luck));
        if let Some((at, retries)) = found {
            state.last_good = at as u8;
            return Correction { retries, ..Correction::default() };
        }
        state.last_good = fitting as u8;
        let is_uncorrectable = !self.ecc.corrects(rber(fitting) / self.setup.soft_gain, luck);
        Correction { retries: (steps + self.setup.soft_reads) as u8, is_soft: true, is_uncorrectable }
    }

    /// How far the levels of a page have moved.
    #[inline]
    fn stretched(&mut self, block: Block, page: Page, now: Instant) -> Stretched {
        let now = now.ns() >> TICK_BITS;
        let age = match self.born[self.index(block, page)] {
            0 => self.stated_age + now,
            tick => now.saturating_sub(u64::from(tick) - 1),
        };
        let known = self.stretched[age as usize % STRETCHES];
        if known.age == age { known } else { self.stretch(age) }
    }

    /// How far levels have moved after so many ticks. It is kept.
    #[inline(never)]
    fn stretch(&mut self, age: u64) -> Stretched {
        let stretch = libm::log1p(age as f64 * self.stretch_of_tick);
        let fitting = ((stretch / self.setup.step).round() as u32).min(self.setup.steps);
        let known = Stretched { age, stretch, fitting };
        self.stretched[age as usize % STRETCHES] = known;
        known
    }

    #[inline]
    fn index(&self, block: Block, page: Page) -> usize {
        block.index() * self.pages_per_block as usize + page.index()
    }
}

/// A number in 0..1 for the content of a page, [`LEAST_LUCK`] at least: the lower it is, the more errors its worst codeword has beside the
/// mean.
#[inline]
fn luck(salt: u64, block: Block, page: Page, cycles: u32) -> f64 {
    let place = u64::from(block.number()) << 32 | u64::from(page.number());
    let mixed = mix(mix(salt ^ place).wrapping_add(u64::from(cycles)));
    ((mixed >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
}

/// SplitMix64.
#[inline]
fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A number of the standard normal distribution (Box and Muller), from two of 64 bits.
fn normal(random: &mut impl FnMut() -> u64) -> f64 {
    let mut fraction = || ((random() >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64);
    let (radius, angle) = (libm::sqrt(-2.0 * libm::log(fraction())), fraction());
    radius * libm::cos(angle * std::f64::consts::TAU)
}

/// By page of a block, the factor of its layer: the outer ones are worse, and the mean logarithm is 0.
fn layers(shape: &MediaShape<'_>, curve: f64) -> Vec<f64> {
    let wordline = |page| f64::from(shape.layout.wordline(page));
    let last = (0..shape.pages_per_block).map(wordline).fold(0.0, f64::max);
    let factor = |page| {
        let place = if last > 0.0 { wordline(page) / last * 2.0 - 1.0 } else { 0.0 };
        libm::exp(curve * (place * place - 1.0 / 3.0))
    };
    (0..shape.pages_per_block).map(factor).collect()
}

#[cfg(test)]
mod tests;

/// The scope of this part.
pub static SCOPE: Scope = Scope {
    area: Area::Media,
    name: "Errors of pages",
    keys: &["device.media"],
    modelled: "The rate of wrong bits follows from cycles, age, temperature and reads; ECC corrects so many of a codeword.",
    not_modelled: &[
        "MSB pages have no more errors than LSB pages.",
        "One temperature holds for programs, storage and reads.",
        "Retention has no early part of seconds to hours, and no recovery.",
        "Neighbouring blocks are not correlated.",
        "Reads of a wordline do not disturb its neighbours more than the rest of the block.",
    ],
};
