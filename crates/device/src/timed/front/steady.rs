//! Steady state of a tenant's figures, by which it ends: the criteria of fio (`steadystate`).
//!
//! Requests and bytes are counted by the second. When the last ones fill the window, their slope or their largest deviation from the mean
//! is compared with the limit; the slope is that of least squares, a second for a sample.

use std::collections::VecDeque;

use base::{Duration, Instant};
use config::model::{self, SteadyFigure};

/// The time of a sample.
const SECOND: Duration = Duration::from_us(1_000_000);

/// The samples of a tenant, or of several that are judged together.
pub(super) struct Steadiness {
    of: model::Steady,
    /// Samples that fill the window.
    window: usize,
    samples: VecDeque<f64>,
    /// The end of the sample that is being counted; `None` before the tenant has begun.
    ends: Option<Instant>,
    count: u64,
}

impl Steadiness {
    /// `start`: when the tenant begins to send, if that is known.
    pub(super) fn of(of: model::Steady, start: Option<Instant>) -> Steadiness {
        let window = (of.window.ns() / SECOND.ns()).max(1) as usize;
        let mut steadiness = Steadiness { of, window, samples: VecDeque::new(), ends: None, count: 0 };
        start.into_iter().for_each(|start| steadiness.begin(start));
        steadiness
    }

    /// The tenant begins to send then.
    pub(super) fn begin(&mut self, start: Instant) {
        self.ends = Some(start + self.of.ramp + SECOND);
    }

    /// A request of that many bytes is complete. Returns true if the figures before it are steady.
    pub(super) fn completed(&mut self, now: Instant, bytes: u64) -> bool {
        let Some(mut ends) = self.ends else { return false };
        let mut is_steady = false;
        while now >= ends && !is_steady {
            if self.samples.len() == self.window {
                self.samples.pop_front();
            }
            self.samples.push_back(std::mem::take(&mut self.count) as f64);
            ends += SECOND;
            is_steady = self.samples.len() == self.window && self.is_within();
        }
        self.ends = Some(ends);
        // What comes in the ramp is not counted.
        if now + SECOND >= ends {
            self.count += if self.of.figure.is_of_bytes() { bytes } else { 1 };
        }
        is_steady
    }

    /// True if the samples of the window are within the limit.
    fn is_within(&self) -> bool {
        let count = self.samples.len() as f64;
        let mean = self.samples.iter().sum::<f64>() / count;
        let found = match self.of.figure {
            SteadyFigure::Iops | SteadyFigure::Bw => {
                self.samples.iter().map(|sample| (sample - mean).abs()).fold(0.0, f64::max)
            }
            SteadyFigure::IopsSlope | SteadyFigure::BwSlope => self.slope(mean).abs(),
        };
        let found = if self.of.is_share { 100.0 * found / mean } else { found };
        found < self.of.limit
    }

    /// The slope of least squares, by the second.
    fn slope(&self, mean: f64) -> f64 {
        let middle = (self.samples.len() - 1) as f64 / 2.0;
        let apart = |at: usize| at as f64 - middle;
        let squares: f64 = (0..self.samples.len()).map(|at| apart(at) * apart(at)).sum();
        let products: f64 = self.samples.iter().enumerate().map(|(at, sample)| apart(at) * (sample - mean)).sum();
        if squares > 0.0 { products / squares } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds so many requests in each second; returns after how many seconds the figures are steady.
    fn steady_after(
        figure: SteadyFigure,
        limit: f64,
        is_share: bool,
        window: u64,
        ramp: u64,
        each: &[u64],
    ) -> Option<usize> {
        let of = model::Steady { figure, limit, is_share, window: SECOND * window, ramp: SECOND * ramp };
        let mut steadiness = Steadiness::of(of, Some(Instant::ZERO));
        for (second, &requests) in each.iter().enumerate() {
            for number in 0..requests {
                let at = second as u64 * SECOND.ns() + number * SECOND.ns() / requests;
                if steadiness.completed(Instant(at), 4096) {
                    return Some(second);
                }
            }
        }
        None
    }

    #[test]
    fn the_slope_and_the_deviation_are_those_of_the_window() {
        use SteadyFigure::*;
        let falls = [1000, 900, 800, 700, 700, 700, 700, 700];
        // The mean is 700 from the fourth second on, so a window of three is level after six.
        assert_eq!(steady_after(IopsSlope, 0.3, true, 3, 0, &falls), Some(6));
        assert_eq!(steady_after(Iops, 1.0, false, 3, 0, &falls), Some(6));
        // 800, 700, 700: a slope of 50 a second, and 66.7 above the mean at most.
        assert_eq!(steady_after(IopsSlope, 51.0, false, 3, 0, &falls), Some(5));
        assert_eq!(steady_after(IopsSlope, 49.0, false, 3, 0, &falls), Some(6));
        assert_eq!(steady_after(Iops, 67.0, false, 3, 0, &falls), Some(5));
        assert_eq!(steady_after(Iops, 66.0, false, 3, 0, &falls), Some(6));
        // In per cent of the mean of 733.3; of bytes it is as much.
        for figure in [IopsSlope, BwSlope] {
            assert_eq!(steady_after(figure, 6.9, true, 3, 0, &falls), Some(5), "50 are 6.82 % of 733.3");
            assert_eq!(steady_after(figure, 6.8, true, 3, 0, &falls), Some(6));
        }
        assert_eq!(steady_after(BwSlope, 51.0 * 4096.0, false, 3, 0, &falls), Some(5));
        // What comes in the ramp is not looked at, and a window that is not full says nothing.
        assert_eq!(steady_after(IopsSlope, 0.3, true, 3, 3, &falls), Some(6));
        assert_eq!(steady_after(IopsSlope, 0.3, true, 3, 4, &falls), Some(7));
        assert_eq!(steady_after(IopsSlope, 0.3, true, 9, 0, &falls), None);
    }
}
