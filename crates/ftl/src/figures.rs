//! Figures of mapping and mechanisms: each says its own, under the seam that chose it.

/// A figure of the summary.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A number of events or things.
    Count(u64),
    /// A number for each of several, in order.
    Counts(Vec<u64>),
    /// A part of a whole, or a number per something; nothing where that is none.
    Ratio(Option<f64>),
}

/// The work of mapping and mechanisms since preconditioning, by seam and name; nothing of what is not in force.
#[derive(Clone, Debug, Default)]
pub struct Figures(Vec<(&'static str, &'static str, Figure)>);

impl Figures {
    pub(crate) fn count(&mut self, seam: &'static str, name: &'static str, count: u64) {
        self.0.push((seam, name, Figure::Count(count)));
    }

    pub(crate) fn counts(&mut self, seam: &'static str, name: &'static str, counts: &[u64]) {
        self.0.push((seam, name, Figure::Counts(counts.to_vec())));
    }

    pub(crate) fn ratio(&mut self, seam: &'static str, name: &'static str, part: u64, whole: u64) {
        let ratio = (whole > 0).then(|| part as f64 / whole as f64);
        self.0.push((seam, name, Figure::Ratio(ratio)));
    }

    /// Seam, name and figure of each.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'static str, &Figure)> {
        self.0.iter().map(|(seam, name, figure)| (*seam, *name, figure))
    }

    /// The value of a count or of a ratio; nothing if there is none.
    pub fn get(&self, seam: &str, name: &str) -> Option<f64> {
        let (_, _, figure) = self.iter().find(|&(of, figure, _)| (of, figure) == (seam, name))?;
        match figure {
            Figure::Count(count) => Some(*count as f64),
            Figure::Ratio(ratio) => *ratio,
            Figure::Counts(_) => None,
        }
    }
}
