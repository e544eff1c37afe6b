//! Data separation: which stream a page belongs to, and so which pages share a frontier.

use base::{Choice, Lpn, Param, ParamKind, Seam, Selection};

/// Frontiers that a domain has at most.
pub const MAX_STREAMS: usize = 8;

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "Host writes and GC copies share one frontier per plane.", params: &[] },
    Choice { name: "host-gc", doc: "Host writes and GC copies have a frontier each per plane.", params: &[] },
    Choice {
        name: "dac",
        doc: "Dynamic data clustering: a page rises a region with each overwrite and sinks one with each GC copy; a \
              frontier for each region (Chiang et al. 1999; GCMix section 2.2).",
        params: &[Param {
            name: "regions",
            default: 4.0,
            min: 2.0,
            max: MAX_STREAMS as f64,
            kind: ParamKind::Whole,
            doc: "Regions, from the coldest, in which every page begins, to the hottest.",
        }],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam { key: "separation", doc: "Which data share a frontier.", choices: CHOICES };

/// Data separation in force.
pub(crate) enum Separation {
    /// One frontier.
    Shared,
    /// Host writes at stream 0, copies at stream 1.
    HostGc,
    /// Streams are regions.
    Dac(Dac),
}

/// Dynamic data clustering.
///
/// The region is kept by logical page, not by block. For plain DAC the two are the same, since a block then
/// holds pages of one region; with GCMix a block mixes regions (GCMix section 4.3).
pub(crate) struct Dac {
    /// The hottest region.
    top: u8,
    /// By LPN.
    regions: Vec<u8>,
    /// Valid pages by region.
    valid: [u64; MAX_STREAMS],
    /// Overwrites by region of the old version, since the last [`Dac::locality`].
    overwritten: [u64; MAX_STREAMS],
}

impl Separation {
    /// Bytes that are kept by logical page.
    pub(crate) fn bytes(selection: &Selection, user_pages: u64) -> u64 {
        if selection.name == "dac" { user_pages } else { 0 }
    }

    /// # Panics
    /// If the selection is not from this registry.
    pub(crate) fn build(selection: &Selection, user_pages: usize) -> Separation {
        match selection.name {
            "none" => Separation::Shared,
            "host-gc" => Separation::HostGc,
            "dac" => Separation::Dac(Dac {
                top: selection.get("regions") as u8 - 1,
                regions: vec![0; user_pages],
                valid: [0; MAX_STREAMS],
                overwritten: [0; MAX_STREAMS],
            }),
            name => panic!("`{name}` is not a data separation"),
        }
    }

    /// The stream of a coming host write.
    #[inline]
    pub(crate) fn host_stream(&self, lpn: Lpn, is_mapped: bool) -> usize {
        match self {
            Separation::Shared | Separation::HostGc => 0,
            Separation::Dac(dac) => dac.host_region(lpn, is_mapped),
        }
    }

    /// The stream of a coming copy.
    #[inline]
    pub(crate) fn copy_stream(&self, lpn: Lpn) -> usize {
        match self {
            Separation::Shared => 0,
            Separation::HostGc => 1,
            Separation::Dac(dac) => dac.copy_region(lpn),
        }
    }

    /// A host write takes place; returns its stream.
    #[inline]
    pub(crate) fn write(&mut self, lpn: Lpn, is_mapped: bool) -> usize {
        match self {
            Separation::Shared | Separation::HostGc => 0,
            Separation::Dac(dac) => dac.promote(lpn, is_mapped),
        }
    }

    /// A copy takes place.
    #[inline]
    pub(crate) fn copy(&mut self, lpn: Lpn) {
        if let Separation::Dac(dac) = self {
            let region = dac.copy_region(lpn);
            dac.move_to(lpn, region);
        }
    }

    /// A page is trimmed: it begins anew in the coldest region.
    pub(crate) fn trim(&mut self, lpn: Lpn) {
        if let Separation::Dac(dac) = self {
            dac.valid[usize::from(dac.regions[lpn.index()])] -= 1;
            dac.regions[lpn.index()] = 0;
        }
    }

    /// Counts a page that a restored device holds.
    pub(crate) fn adopt(&mut self, lpn: Lpn, region: u8) {
        if let Separation::Dac(dac) = self {
            dac.regions[lpn.index()] = region.min(dac.top);
            dac.valid[usize::from(region.min(dac.top))] += 1;
        }
    }

    /// The region of a page, for its spare area; translation pages have none.
    pub(crate) fn region(&self, lpn: Lpn) -> u8 {
        match self {
            Separation::Shared | Separation::HostGc => 0,
            Separation::Dac(dac) => dac.regions.get(lpn.index()).copied().unwrap_or(0),
        }
    }

    /// Valid pages by region; nothing without regions.
    pub(crate) fn valid_by_region(&self) -> &[u64] {
        match self {
            Separation::Shared | Separation::HostGc => &[],
            Separation::Dac(dac) => &dac.valid[..=usize::from(dac.top)],
        }
    }

    /// The workload's locality ω since the last call, if pages were overwritten at all.
    pub(crate) fn locality(&mut self) -> Option<f64> {
        match self {
            Separation::Shared | Separation::HostGc => None,
            Separation::Dac(dac) => dac.locality(),
        }
    }
}

impl Dac {
    #[inline]
    fn host_region(&self, lpn: Lpn, is_mapped: bool) -> usize {
        usize::from(if is_mapped { (self.regions[lpn.index()] + 1).min(self.top) } else { 0 })
    }

    #[inline]
    fn copy_region(&self, lpn: Lpn) -> usize {
        usize::from(self.regions[lpn.index()].saturating_sub(1))
    }

    #[inline]
    fn promote(&mut self, lpn: Lpn, is_mapped: bool) -> usize {
        let region = self.host_region(lpn, is_mapped);
        if is_mapped {
            self.overwritten[usize::from(self.regions[lpn.index()])] += 1;
            self.move_to(lpn, region);
        } else {
            self.regions[lpn.index()] = region as u8;
            self.valid[region] += 1;
        }
        region
    }

    #[inline]
    fn move_to(&mut self, lpn: Lpn, region: usize) {
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
        self.overwritten = [0; MAX_STREAMS];
        Some(variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dac(regions: f64, pages: usize) -> Separation {
        let mut selection = Selection::default_of(SEAM.find("dac").unwrap());
        selection.params[0].1 = regions;
        Separation::build(&selection, pages)
    }

    #[test]
    fn pages_rise_when_overwritten_and_sink_when_copied() {
        let mut dac = dac(3.0, 2);
        let page = Lpn(1);
        assert_eq!((dac.write(page, false), dac.write(page, true)), (0, 1));
        assert_eq!((dac.write(page, true), dac.write(page, true)), (2, 2));
        assert_eq!(dac.copy_stream(page), 1);
        dac.copy(page);
        assert_eq!((dac.region(page), dac.host_stream(page, true)), (1, 2));
        dac.copy(page);
        dac.copy(page);
        assert_eq!((dac.region(page), dac.valid_by_region()), (0, [1, 0, 0].as_slice()));
        dac.write(page, true);
        dac.trim(page);
        assert_eq!((dac.host_stream(page, false), dac.valid_by_region()), (0, [0, 0, 0].as_slice()));
    }

    #[test]
    fn locality_is_the_variance_of_the_migration_ratios() {
        let mut dac = dac(2.0, 4);
        assert_eq!(dac.locality(), None, "nothing was overwritten");
        for page in 0..4 {
            dac.write(Lpn(page), false);
        }
        dac.write(Lpn(0), true);
        for _ in 0..3 {
            dac.write(Lpn(0), true);
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
