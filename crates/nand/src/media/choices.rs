//! The key of the media, with the constants that a user may change: each with its source, or "assumed".

use base::choice::{Choice, Choices, FeatureKey, Param, ParamKind, Selection};
use base::units::Duration;

use super::ecc::Ecc;
use super::levels::{LEVELS, ReadLevels};
use super::rber::{ErrorModel, ErrorTerms, acceleration};

const DAY: u64 = 86_400_000_000;

const fn number(name: &'static str, default: f64, range: [f64; 2], doc: &'static str) -> Param {
    Param { name, kind: ParamKind::Number { default, min: range[0], max: range[1] }, doc }
}

const fn integer(name: &'static str, default: u32, range: [u32; 2], doc: &'static str) -> Param {
    Param { name, kind: ParamKind::Integer { default, min: range[0], max: range[1] }, doc }
}

const fn time(name: &'static str, days: u64, doc: &'static str) -> Param {
    let kind = ParamKind::Time {
        default: Duration::from_us(days * DAY),
        min: Duration::ZERO,
        max: Duration::from_us(3650 * DAY),
    };
    Param { name, kind, doc }
}

const AGE: Param = time(
    "age",
    30,
    "How old the data are that are on the device when the run begins; simulated time comes on top. P/E cycles at the start are \
     `device.wear.pe_cycles`.",
);
const TEMPERATURE: Param =
    number("temperature", 30.0, [-40.0, 125.0], "Temperature of the flash in °C, before the run and in it.");
const ENERGY: Param = number(
    "energy",
    1.1,
    [0.0, 3.0],
    "Activation energy of retention in eV, by which data age faster in the heat (JESD218); 0: they do not.",
);
const ONSET: Param = Param {
    name: "onset",
    kind: ParamKind::Time {
        default: Duration::from_us(DAY),
        min: Duration::from_us(1_000_000),
        max: Duration::from_us(3650 * DAY),
    },
    doc: "Age at which the logarithm of retention begins to grow. Assumed.",
};
const BLOCKS: Param = number(
    "blocks",
    0.1,
    [0.0, 2.0],
    "How blocks differ: the standard deviation of the logarithm of their errors. Assumed; 0: all are alike.",
);
const LAYERS: Param = number(
    "layers",
    0.2,
    [0.0, 3.0],
    "How layers differ: the logarithm of the errors of the outermost wordlines over those of the middle one. Assumed; 0: all are alike.",
);
const NOISE: Param = Param {
    name: "noise",
    kind: ParamKind::Flag { default: true },
    doc: "Wrong bits fall on codewords by chance; without it, each codeword has the mean.",
};
const CODEWORD: Param = Param {
    name: "codeword",
    kind: ParamKind::Size { default: 1024, min: 128, max: 65_536 },
    doc: "Data that ECC corrects together. Assumed.",
};
const CORRECTABLE: Param = integer("correctable", 72, [1, 4096], "Wrong bits of a codeword that it corrects. Assumed.");
const LEVEL_NAMES: [&str; LEVELS.len()] = {
    let mut names = [""; LEVELS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = LEVELS[at].name;
        at += 1;
    }
    names
};
const LEVEL: Param = Param::word(
    "levels",
    &LEVEL_NAMES,
    "Reference voltages of a page's first read: those that were good for its block last, the default ones, or those that fit its age. \
     The next ones are the nearest.",
);
const STEPS: Param = integer("steps", 15, [0, 63], "Steps of the retry table besides the default voltages. Assumed.");
const STEP: Param =
    number("step", 0.5, [0.01, 10.0], "How much of the logarithm of the age one step makes good. Assumed.");
const FLOOR: Param =
    number("floor", 0.1, [0.0, 1.0], "Part of the errors of retention that no reference voltage makes good. Assumed.");
const SOFT_GAIN: Param = number(
    "soft_gain",
    1.5,
    [1.0, 10.0],
    "Soft decoding corrects a page with so many times the wrong bits. Assumed; 1: there is none that helps.",
);
const SOFT_READS: Param = integer("soft_reads", 4, [0, 64], "Further reads for the soft bits. Assumed.");

/// The parameters that every model of errors has, with its own behind age and temperature.
macro_rules! with_own {
    ($($own:expr),* $(,)?) => {
        &[
            AGE, TEMPERATURE, $($own,)* ENERGY, ONSET, BLOCKS, LAYERS, NOISE, CODEWORD, CORRECTABLE, LEVEL, STEPS, STEP, FLOOR,
            SOFT_GAIN, SOFT_READS,
        ]
    };
}

/// How errors of pages come about.
pub static MEDIA: FeatureKey = FeatureKey {
    key: "media",
    noun: "errors of the media",
    doc: "How errors of pages grow with P/E cycles, age, temperature and reads, so that pages are read again until they can be corrected \
          (executor `timed`).",
    choices: &[
        Choice { name: "none", doc: "Every page is correct when it is read once.", params: &[] },
        Choice {
            name: "formula",
            doc: "The rate of wrong bits is a·(1 + p/3000)^α + b·(1 + p/3000)^β·ln(1 + t·AF(T)/onset) + s·(p/2000)^γ·r, of a block of p \
                  cycles and r reads, with data of the age t. a and b are fitted to the first retries of 3D TLC (Chun et al., \
                  HPCA 2024) on the preset `client-tlc`.",
            params: with_own![
                number(
                    "wear",
                    5.2e-4,
                    [0.0, 0.1],
                    "a: the rate right after the program, of a fresh block. Fitted; 0: none.",
                ),
                number("wear_exponent", 1.0, [0.0, 5.0], "α. Assumed."),
                number("retention", 1.625e-3, [0.0, 0.1], "b: what the age adds, of a fresh block. Fitted; 0: none."),
                number("retention_exponent", 1.0, [0.0, 5.0], "β. Fitted with a and b."),
                number(
                    "disturb",
                    1e-9,
                    [0.0, 0.1],
                    "s: what a read of the block adds after 2,000 cycles (Cai et al., DSN 2015, of MLC; recalled). 0: nothing.",
                ),
                number("disturb_exponent", 1.46, [0.0, 5.0], "γ: 19 times as much after 15,000 cycles (the same)."),
            ],
        },
        Choice {
            name: "table",
            doc: "The first page of a median block is read again after 17, 14 and 10 days at 0, 200 and 500 cycles (Chun et al., HPCA 2024), \
                  whatever its size and ECC. Between these cycles days are interpolated; beyond 500 they stay. Reads disturb nothing.",
            params: with_own![],
        },
    ],
};

/// The media as they were chosen.
#[derive(Clone, Copy)]
pub struct MediaSetup {
    pub(super) model: ErrorModel,
    /// Age of the data at the start.
    pub(super) age: Duration,
    temperature: f64,
    energy: f64,
    pub(super) onset: Duration,
    pub(super) blocks: f64,
    pub(super) layers: f64,
    pub(super) has_noise: bool,
    pub(super) codeword: u32,
    pub(super) correctable: u32,
    pub(super) level: ReadLevels,
    pub(super) steps: u32,
    pub(super) step: f64,
    pub(super) floor: f64,
    pub(super) soft_gain: f64,
    pub(super) soft_reads: u32,
}

impl MediaSetup {
    /// The media of a configuration; `None`: nothing fails.
    pub fn of(made: &Choices) -> Option<MediaSetup> {
        let selection = MEDIA.of(made);
        (selection.name != "none").then(|| MediaSetup::new(selection))
    }

    /// The media of a choice other than `none`.
    pub fn new(selection: &Selection) -> MediaSetup {
        let onset = selection.time("onset");
        let number = |name| selection.number(name);
        let model = match selection.name {
            "formula" => ErrorModel::Formula {
                at: ErrorTerms { wear: number("wear"), retention: number("retention"), disturb: number("disturb") },
                exponents: [number("wear_exponent"), number("retention_exponent"), number("disturb_exponent")],
            },
            _ => ErrorModel::Table { limit: 0.0, onset_days: onset.ns() as f64 / (DAY * 1000) as f64 },
        };
        MediaSetup {
            model,
            age: selection.time("age"),
            temperature: number("temperature"),
            energy: number("energy"),
            onset,
            blocks: number("blocks"),
            layers: number("layers"),
            has_noise: selection.flag("noise"),
            codeword: selection.size("codeword") as u32,
            correctable: selection.integer("correctable"),
            level: ReadLevels::of(selection.word("levels")),
            steps: selection.integer("steps"),
            step: number("step"),
            floor: number("floor"),
            soft_gain: number("soft_gain"),
            soft_reads: selection.integer("soft_reads"),
        }
    }

    /// How old the data are that are there when a run begins.
    pub fn age(&self) -> Duration {
        self.age
    }

    /// The speed at which data age, relative to 30 °C.
    pub(super) fn acceleration(&self) -> f64 {
        acceleration(self.energy, self.temperature)
    }

    pub(super) fn fitted(self, ecc: &Ecc, layers: &[f64]) -> MediaSetup {
        MediaSetup { model: self.model.fitted(ecc, layers), ..self }
    }
}
