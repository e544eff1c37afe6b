//! ECC corrects so many wrong bits of a codeword, and a page when it corrects every codeword.

use super::LEAST_LUCK;

/// Rates that the chance of failure is kept of.
const POINTS: usize = 2048;

/// The correction of a page.
#[derive(Clone, Debug)]
pub struct Ecc {
    /// The rate at which a codeword has as many wrong bits as can be corrected, on average.
    limit: f64,
    /// Points for each unit of the rate.
    scale: f64,
    /// By rate up to twice the limit, the chance that a codeword of a page has too many. Empty where codewords have just the mean.
    fails: Vec<f64>,
    /// Below this rate every page is corrected.
    safe: f64,
}

impl Ecc {
    /// Codewords of so many bits each, of which so many may be wrong, and so many codewords in a page. Without noise each has as many
    /// wrong bits as the rate says; with it, wrong bits are independent of each other.
    pub fn new(bits: u32, correctable: u32, codewords: u32, has_noise: bool) -> Ecc {
        let limit = f64::from(correctable) / f64::from(bits);
        let scale = (POINTS - 1) as f64 / (2.0 * limit).min(1.0);
        let fails = |at: usize| {
            let tail = more_than(bits, correctable, at as f64 / scale);
            -libm::expm1(f64::from(codewords) * libm::log1p(-tail))
        };
        let fails: Vec<f64> = if has_noise { (0..POINTS).map(fails).collect() } else { Vec::new() };
        // Between two points the chance is at most that of the greater one.
        let safe = match fails.iter().position(|&chance| chance >= LEAST_LUCK) {
            Some(point) => point.saturating_sub(1) as f64 / scale,
            None => limit,
        };
        Ecc { limit, scale, fails, safe }
    }

    /// The rate at which a codeword has as many wrong bits as can be corrected, on average.
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// The chance that a page with that rate of wrong bits cannot be corrected.
    #[inline]
    pub fn fails(&self, rate: f64) -> f64 {
        if self.fails.is_empty() {
            return if rate > self.limit { 1.0 } else { 0.0 };
        }
        let at = rate * self.scale;
        let Some(&[low, high]) = self.fails.get(at as usize..).and_then(|rest| rest.first_chunk()) else { return 1.0 };
        low + (high - low) * at.fract()
    }

    /// True if a page with that rate of wrong bits is corrected, however bad its luck.
    #[inline]
    pub fn always_corrects(&self, rate: f64) -> bool {
        rate < self.safe
    }

    /// True if a page with that rate of wrong bits is corrected; `luck`: where among all such pages it stands.
    #[inline]
    pub fn corrects(&self, rate: f64, luck: f64) -> bool {
        luck >= self.fails(rate)
    }
}

/// The chance that of so many bits, each wrong with that chance, more than `correctable` are.
fn more_than(bits: u32, correctable: u32, rate: f64) -> f64 {
    if rate <= 0.0 || correctable >= bits {
        return 0.0;
    }
    if rate >= 1.0 {
        return 1.0;
    }
    let (n, odds) = (f64::from(bits), rate / (1.0 - rate));
    let log_of = |count: f64| {
        libm::lgamma(n + 1.0) - libm::lgamma(count + 1.0) - libm::lgamma(n - count + 1.0)
            + count * libm::log(rate)
            + (n - count) * libm::log1p(-rate)
    };
    let is_negligible = |term: f64, sum: f64| term <= sum * 1e-18;
    let (mut sum, limit) = (0.0, f64::from(correctable));
    if n * rate <= limit {
        let (mut count, mut term) = (limit + 1.0, libm::exp(log_of(limit + 1.0)));
        while count <= n && !is_negligible(term, sum) {
            sum += term;
            term *= (n - count) / (count + 1.0) * odds;
            count += 1.0;
        }
        return sum.min(1.0);
    }
    let (mut count, mut term) = (limit, libm::exp(log_of(limit)));
    while count >= 0.0 && !is_negligible(term, sum) {
        sum += term;
        term *= count / (n - count + 1.0) / odds;
        count -= 1.0;
    }
    (1.0 - sum).max(0.0)
}
