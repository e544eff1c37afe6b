//! Data separation: which stream a page belongs to, and so which pages share a frontier.

mod refusals;

use base::{Choice, Geometry, Instant, Lpn, Param, ParamKind, Seam, Selection};

use super::{Agenda, Arrival, NewPage, PageOrigin, Placing, Planned, Reported, Restart};
pub(crate) use refusals::check;

use crate::allocation::Allocation;
use crate::kernel::{AXES, Axis, Kernel, Needs, Stream};
use crate::{Bytes, Figures, OutOfMemory, Policies};

/// The axis of regions, or of host pages and copies.
const AXIS: usize = 0;

/// The most regions of data clustering.
const MAX_REGIONS: usize = 8;

/// How often the workload's locality is taken.
const LOCALITY_PERIOD: Instant = Instant(1_000_000_000);

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "Host writes and GC copies share one frontier per plane.", params: &[] },
    Choice { name: "host-gc", doc: "Host writes and GC copies have a frontier each per plane.", params: &[] },
    Choice {
        name: "dac",
        doc: "Dynamic data clustering: a page rises a region with each overwrite and sinks one with each GC copy; a \
              frontier for each region (Chiang et al. 1999; GCMix section 2.2).",
        params: &[Param {
            name: "regions",
            kind: ParamKind::Integer { default: 4, min: 2, max: MAX_REGIONS as u32 },
            doc: "Regions, from the coldest, in which every page begins, to the hottest.",
        }],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam { key: "separation", doc: "Which data share a frontier.", choices: CHOICES };

/// Data separation in force.
#[derive(Clone)]
pub(crate) enum Separation {
    /// Host writes are class 0, copies class 1.
    HostGc,
    /// Classes are regions.
    Dac(Dac),
}

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

impl Separation {
    /// # Panics
    /// If the selection is not from this registry.
    fn of(selection: &Selection, user_pages: usize) -> Option<Separation> {
        match selection.name {
            "none" => None,
            "host-gc" => Some(Separation::HostGc),
            "dac" => Some(Separation::Dac(Dac {
                top: selection.integer("regions") as u8 - 1,
                regions: vec![0; user_pages],
                valid: [0; MAX_REGIONS],
                overwritten: [0; MAX_REGIONS],
                next_locality: LOCALITY_PERIOD,
            })),
            name => panic!("`{name}` is not a data separation"),
        }
    }
}

impl Planned for Separation {
    fn needs(policies: &Policies<'_>, _: &Geometry) -> Option<Needs> {
        let axis = |classes, splits| Axis { classes, splits, ..Axis::ONE };
        match policies.separation.name {
            "host-gc" => Some(Needs::of_axis(AXIS, axis(2, false))),
            // Collection goes on until one unit more than the reserve is free.
            "dac" => {
                let regions = axis(policies.separation.integer("regions") as usize, true);
                Some(Needs { aside: 1, on_demand: true, time: true, ..Needs::of_axis(AXIS, regions) })
            }
            _ => None,
        }
    }

    fn bytes(policies: &Policies<'_>, _: &Geometry, user_pages: u64, _: bool) -> Bytes {
        let regions = if policies.separation.name == "dac" { user_pages } else { 0 };
        Bytes { regions, renewed: regions, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<Separation>, OutOfMemory> {
        Ok(Separation::of(policies.separation, kernel.user_pages() as usize))
    }
}

impl Placing for Separation {
    #[inline]
    fn class(&self, _: &Kernel, lpn: Lpn, arrival: Arrival, classes: &mut [usize; AXES]) -> Option<Stream> {
        classes[AXIS] = match (self, arrival) {
            (Separation::HostGc, Arrival::Host { .. }) => 0,
            (Separation::HostGc, Arrival::Copy) => 1,
            (Separation::Dac(dac), Arrival::Host { is_mapped, .. }) => dac.host_region(lpn, is_mapped),
            (Separation::Dac(dac), Arrival::Copy) => dac.copy_region(lpn),
        };
        None
    }

    /// Pages of the map have no region.
    #[inline]
    fn region(&self, lpn: Lpn) -> Option<u8> {
        let Separation::Dac(dac) = self else { return None };
        dac.regions.get(lpn.index()).copied()
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        if let Separation::Dac(dac) = self
            && lpn.index() < dac.regions.len()
        {
            engine::prefetch(&dac.regions, lpn.index());
        }
    }

    #[inline]
    fn placed(&mut self, kernel: &mut Kernel, page: &NewPage) {
        let Separation::Dac(dac) = self else { return };
        if page.lpn.0 >= kernel.user_pages() {
            return;
        }
        match page.origin {
            PageOrigin::Host { was_mapped } => dac.promote(page.lpn, was_mapped),
            PageOrigin::Copy(..) => dac.move_to(page.lpn, dac.copy_region(page.lpn)),
            PageOrigin::Map | PageOrigin::Anew(_) => {}
        }
    }

    /// A page that is trimmed begins anew in the coldest region.
    fn lost(&mut self, _: &mut Kernel, lpn: Lpn) {
        if let Separation::Dac(dac) = self
            && let Some(region) = dac.regions.get_mut(lpn.index())
        {
            dac.valid[usize::from(std::mem::take(region))] -= 1;
        }
    }
}

impl Agenda for Separation {
    /// The workload's locality ω (GCMix, equations 1 to 4), every simulated second, if regions are kept and pages were
    /// overwritten.
    #[inline]
    fn tell(&mut self, kernel: &mut Kernel, now: Instant) -> Option<f64> {
        match self {
            Separation::Dac(dac) if now >= dac.next_locality => {
                let omega = dac.take_locality(now)?;
                kernel.note_locality(Some(omega));
                Some(omega)
            }
            _ => None,
        }
    }
}

impl Restart for Separation {
    fn adopt_page(&mut self, lpn: Lpn, region: u8) {
        if let Separation::Dac(dac) = self
            && lpn.index() < dac.regions.len()
        {
            dac.regions[lpn.index()] = region.min(dac.top);
            dac.valid[usize::from(region.min(dac.top))] += 1;
        }
    }

    /// Every page begins in the coldest region.
    fn renew(&mut self, kernel: &mut Kernel, policies: &Policies<'_>) {
        if let Some(anew) = Separation::of(policies.separation, kernel.user_pages() as usize) {
            *self = anew;
        }
        if let Separation::Dac(_) = self {
            for lpn in (0..kernel.user_pages()).map(Lpn).filter(|&lpn| kernel.is_mapped(lpn)) {
                self.adopt_page(lpn, 0);
            }
        }
        kernel.note_locality(None);
    }
}

impl Reported for Separation {
    fn figures(&self, figures: &mut Figures) {
        if let Separation::Dac(dac) = self {
            figures.counts("separation", "valid_pages", &dac.valid[..=usize::from(dac.top)]);
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
    fn promote(&mut self, lpn: Lpn, is_mapped: bool) {
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
        self.overwritten = [0; MAX_REGIONS];
        Some(variance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dac(regions: u32, pages: usize) -> Dac {
        let mut selection = Selection::default_of(SEAM.find("dac").unwrap());
        selection.set("regions", regions.into());
        match Separation::of(&selection, pages) {
            Some(Separation::Dac(dac)) => dac,
            _ => unreachable!(),
        }
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
