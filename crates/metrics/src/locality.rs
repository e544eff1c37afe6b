//! The distribution of the workload's locality ω (GCMix, section 4.4).

use hdrhistogram::Histogram;

use crate::table::{Column, Table};

/// ω is stored in millionths.
const SCALE: f64 = 1e6;

/// One sample per simulated second in which pages were overwritten. Percentiles are within 0.1 %, and within
/// 1e-6 for the smallest values.
#[derive(Clone, Debug)]
pub struct Locality {
    histogram: Histogram<u64>,
}

impl Default for Locality {
    fn default() -> Locality {
        Locality::new()
    }
}

impl Locality {
    /// No samples.
    pub fn new() -> Locality {
        let histogram = Histogram::new_with_bounds(1, 1 << 53, 3).expect("three digits below 2^53 are valid bounds");
        Locality { histogram }
    }

    /// Adds a sample.
    pub fn record(&mut self, omega: f64) {
        self.histogram.saturating_record((omega * SCALE) as u64);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.histogram.reset();
    }

    /// Samples.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The smallest ω that a fraction `q` (0..1) of the samples do not exceed.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        (self.count() > 0).then(|| self.histogram.value_at_quantile(q) as f64 / SCALE)
    }

    /// Table `locality`: `omega` and `samples`, their number by value, ascending.
    pub fn table(&self) -> Table {
        let values = self.histogram.iter_recorded();
        let (omega, count) = values
            .map(|at| (at.value_iterated_to() as f64 / SCALE, at.count_at_value()))
            .unzip::<f64, u64, Vec<_>, Vec<_>>();
        Table { name: "locality", columns: vec![("omega", Column::F64(omega)), ("samples", Column::U64(count))] }
    }
}
