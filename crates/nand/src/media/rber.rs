//! The raw bit error rate of a page, as data: what it follows from.
//!
//! RBER(p, t, T, r) = wear(p) + retention(p) · ln(1 + t · AF(T) ÷ t0) + disturb(p) · r, with p P/E cycles, t the age of the data at the
//! temperature T, and r reads of the block since its erase. A model is what the three factors are.

use super::ecc::Ecc;

/// Cycles at which wear and retention of a fresh block have doubled, where their exponents are 1: the rated ones of TLC.
const RATED: f64 = 3000.0;

/// Cycles that the slope of read disturb is stated at.
const DISTURBED: f64 = 2000.0;

/// Boltzmann's constant in eV ÷ K.
const BOLTZMANN: f64 = 8.617_333_262e-5;

/// The temperature in °C at which ages are counted: that of JESD218's retention of client drives.
pub const REFERENCE: f64 = 30.0;

/// The factors of errors after so many cycles, as rates of wrong bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorTerms {
    /// Right after the program.
    pub wear: f64,
    /// For each unit of the logarithm of the age.
    pub retention: f64,
    /// For each read of the block.
    pub disturb: f64,
}

/// The source of errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorModel {
    /// A formula with these coefficients, which are of a fresh block; of the disturb, of one of 2,000 cycles.
    Formula {
        /// The coefficients.
        at: ErrorTerms,
        /// The exponents of the cycles, in the same order.
        exponents: [f64; 3],
    },
    /// Days until the first page of a block has to be read again, by cycles. `limit`: its rate of wrong bits then.
    Table {
        /// That rate, on the mean layer.
        limit: f64,
        /// Days in which retention begins.
        onset_days: f64,
    },
}

/// Cycles and days until the first read retry of a block of 3D TLC (Chun et al., "RiF", HPCA 2024).
pub(super) const FIRST_RETRY: [(f64, f64); 3] = [(0.0, 17.0), (200.0, 14.0), (500.0, 10.0)];

impl ErrorModel {
    /// The factors after so many cycles.
    pub fn terms(&self, cycles: u32) -> ErrorTerms {
        let cycles = f64::from(cycles);
        match *self {
            ErrorModel::Formula { at, exponents: [wear, retention, disturb] } => ErrorTerms {
                wear: at.wear * libm::pow(1.0 + cycles / RATED, wear),
                retention: at.retention * libm::pow(1.0 + cycles / RATED, retention),
                disturb: at.disturb * libm::pow(cycles / DISTURBED, disturb),
            },
            ErrorModel::Table { limit, onset_days } => {
                let days = interpolated(&FIRST_RETRY, cycles);
                ErrorTerms { retention: limit / libm::log1p(days / onset_days), ..ErrorTerms::default() }
            }
        }
    }

    /// Fits the model to an ECC: a table gets the rate at which the first page of a median block has failed with a chance of a half.
    pub(super) fn fitted(self, ecc: &Ecc, layers: &[f64]) -> ErrorModel {
        match self {
            ErrorModel::Table { onset_days, .. } => ErrorModel::Table { limit: first_failure(ecc, layers), onset_days },
            formula => formula,
        }
    }
}

/// The rate at which half of all median blocks have a page that ECC does not correct.
fn first_failure(ecc: &Ecc, layers: &[f64]) -> f64 {
    let survives = |rate: f64| -> f64 { layers.iter().map(|layer| libm::log1p(-ecc.fails(rate * layer))).sum() };
    let (mut low, mut high) = (0.0, ecc.limit() * 2.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if survives(middle) > -std::f64::consts::LN_2 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Outside the table, the nearest row.
fn interpolated(rows: &[(f64, f64)], at: f64) -> f64 {
    let above = rows.partition_point(|row| row.0 < at);
    match (above.checked_sub(1).map(|below| rows[below]), rows.get(above)) {
        (None, _) => rows[0].1,
        (Some(below), None) => below.1,
        (Some(below), Some(above)) => below.1 + (above.1 - below.1) * (at - below.0) / (above.0 - below.0),
    }
}

/// The speed at which data age at a temperature in °C, relative to 30 °C (Arrhenius), with an activation energy in eV.
pub fn acceleration(energy: f64, celsius: f64) -> f64 {
    let inverse = |celsius: f64| 1.0 / (celsius + 273.15);
    libm::exp(energy / BOLTZMANN * (inverse(REFERENCE) - inverse(celsius)))
}
