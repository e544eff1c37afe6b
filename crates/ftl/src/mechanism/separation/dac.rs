//! Dynamic data clustering (DAC), and the workload's locality ω.

use base::{Instant, Lpn, Selection};

use super::MAX_REGIONS;

/// How often the workload's locality is taken.
const LOCALITY_PERIOD: Instant = Instant(1_000_000_000);

/// Dynamic data clustering.
///
/// The region is kept by logical page, not by block. For plain DAC the two are the same, since a block then
/// holds pages of one region; with GCMix a block mixes regions (GCMix section 4.3).
#[derive(Clone)]
pub(crate) struct Dac {
    /// The hottest region.
    top: u8,
    /// By LPN.
    regions: Vec<u8>,
    /// Valid pages by region.
    valid: [u64; MAX_REGIONS],
    /// Overwrites by region of the old version, since the last [`Dac::locality`].
    overwritten: [u64; MAX_REGIONS],
    /// When the locality is taken next.
    next_locality: Instant,
}

impl Dac {
    pub(super) fn new(selection: &Selection, user_pages: usize) -> Dac {
        Dac {
            top: selection.integer("regions") as u8 - 1,
            regions: vec![0; user_pages],
            valid: [0; MAX_REGIONS],
            overwritten: [0; MAX_REGIONS],
            next_locality: LOCALITY_PERIOD,
        }
    }

    pub(super) fn region(&self, lpn: Lpn) -> Option<u8> {
        self.regions.get(lpn.index()).copied()
    }

    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        if lpn.index() < self.regions.len() {
            engine::prefetch(&self.regions, lpn.index());
        }
    }

    /// A page that is trimmed begins anew in the coldest region.
    pub(super) fn lost(&mut self, lpn: Lpn) {
        if let Some(region) = self.regions.get_mut(lpn.index()) {
            self.valid[usize::from(std::mem::take(region))] -= 1;
        }
    }

    /// The locality, if it is due.
    #[inline]
    pub(super) fn tell(&mut self, now: Instant) -> Option<f64> {
        if now >= self.next_locality { self.take_locality(now) } else { None }
    }

    /// A restart finds a page of this region.
    pub(super) fn adopt(&mut self, lpn: Lpn, region: u8) {
        if lpn.index() < self.regions.len() {
            self.regions[lpn.index()] = region.min(self.top);
            self.valid[usize::from(region.min(self.top))] += 1;
        }
    }

    /// Valid pages by region.
    pub(super) fn valid(&self) -> &[u64] {
        &self.valid[..=usize::from(self.top)]
    }

    #[inline]
    pub(super) fn host_region(&self, lpn: Lpn, is_mapped: bool) -> usize {
        usize::from(if is_mapped { (self.regions[lpn.index()] + 1).min(self.top) } else { 0 })
    }

    #[inline]
    pub(super) fn copy_region(&self, lpn: Lpn) -> usize {
        usize::from(self.regions[lpn.index()].saturating_sub(1))
    }

    #[inline]
    pub(super) fn promote(&mut self, lpn: Lpn, is_mapped: bool) {
        let region = self.host_region(lpn, is_mapped);
        if is_mapped {
            self.overwritten[usize::from(self.regions[lpn.index()])] += 1;
            self.move_to(lpn, region);
        } else {
            self.regions[lpn.index()] = region as u8;
            self.valid[region] += 1;
        }
    }

    #[cold]
    fn take_locality(&mut self, now: Instant) -> Option<f64> {
        let period = LOCALITY_PERIOD.ns();
        self.next_locality = Instant((now.ns() / period + 1) * period);
        self.locality()
    }

    #[inline]
    pub(super) fn move_to(&mut self, lpn: Lpn, region: usize) {
        let old = usize::from(std::mem::replace(&mut self.regions[lpn.index()], region as u8));
        self.valid[old] -= 1;
        self.valid[region] += 1;
    }

    /// ω of GCMix, equations 1 to 4: the variance over the regions of α, a region's share of the overwrites
    /// divided by its share of the valid pages.
    ///
    /// Overwrites count in every region, the hottest included. A region without valid pages counts as if it
    /// held one, so that α stays defined.
    fn locality(&mut self) -> Option<f64> {
        let regions = usize::from(self.top) + 1;
        let overwritten: u64 = self.overwritten[..regions].iter().sum();
        if overwritten == 0 {
            return None;
        }
        let valid: u64 = self.valid[..regions].iter().sum();
        let alpha = |region: usize| {
            let of_writes = self.overwritten[region] as f64 / overwritten as f64;
            let of_valid = self.valid[region].max(1) as f64 / valid.max(1) as f64;
            of_writes / of_valid
        };
        let mean = (0..regions).map(alpha).sum::<f64>() / regions as f64;
        let variance = (0..regions).map(|region| (alpha(region) - mean).powi(2)).sum::<f64>() / regions as f64;
        self.overwritten = [0; MAX_REGIONS];
        Some(variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::separation::SEAM;

    fn dac(regions: u32, pages: usize) -> Dac {
        let mut selection = Selection::default_of(SEAM.find("dac").unwrap());
        selection.set("regions", regions.into());
        Dac::new(&selection, pages)
    }

    #[test]
    fn pages_rise_when_overwritten_and_sink_when_copied() {
        let mut dac = dac(3, 2);
        let page = Lpn(1);
        let mut regions = Vec::new();
        for is_mapped in [false, true, true, true] {
            regions.push(dac.host_region(page, is_mapped));
            dac.promote(page, is_mapped);
        }
        assert_eq!(regions, [0, 1, 2, 2]);
        assert_eq!(dac.copy_region(page), 1);
        dac.move_to(page, 1);
        assert_eq!((dac.regions[1], dac.host_region(page, true)), (1, 2));
        dac.move_to(page, dac.copy_region(page));
        dac.move_to(page, dac.copy_region(page));
        assert_eq!((dac.regions[1], &dac.valid[..3]), (0, [1, 0, 0].as_slice()));
    }

    #[test]
    fn locality_is_the_variance_of_the_migration_ratios() {
        let mut dac = dac(2, 4);
        assert_eq!(dac.locality(), None, "nothing was overwritten");
        for page in 0..4 {
            dac.promote(Lpn(page), false);
        }
        dac.promote(Lpn(0), true);
        for _ in 0..3 {
            dac.promote(Lpn(0), true);
        }
        // One of four pages is in the upper region; it got 3 of 4 overwrites, one page of the lower got the
        // first: α = (1/4) / (3/4) and (3/4) / (1/4).
        let (low, high) = (1.0 / 3.0, 3.0);
        let mean = (low + high) / 2.0;
        let expected = (f64::powi(low - mean, 2) + f64::powi(high - mean, 2)) / 2.0;
        assert!((dac.locality().unwrap() - expected).abs() < 1e-12);
        assert_eq!(dac.locality(), None, "each period counts its own overwrites");
    }
}
