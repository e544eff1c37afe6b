//! Collections that keep step with the host: with each page that it writes, as much of a victim moves as is due for it.

use base::{Domain, Geometry, Unit};

use crate::kernel::Why;
use crate::mechanism::Mechanisms;
use crate::page::PageMap;
use crate::victim::UnitState;

/// A collection that keeps step with the host.
#[derive(Clone, Copy, Debug)]
struct PacedCollection {
    victim: Unit,
    /// It goes on until no more steps than these are left.
    until: u32,
    /// Pages that are to be free when it ends.
    line: u64,
}

/// The collections that keep step with the host, where the schedule is that one.
#[derive(Clone)]
pub(crate) struct HostPace {
    /// Free units above the reserve at which they begin.
    low: u32,
    /// By domain: the last one, until its victim is erased.
    last: Vec<Option<PacedCollection>>,
}

impl HostPace {
    /// `low`: so many units above the reserve they begin, if the schedule is that one.
    pub(crate) fn of(low: Option<u32>, geometry: &Geometry) -> Option<HostPace> {
        low.map(|low| HostPace { low, last: vec![None; geometry.domains() as usize] })
    }

    /// Bytes for a device.
    pub(crate) fn bytes(low: Option<u32>, geometry: &Geometry) -> u64 {
        let of_domain = size_of::<Option<PacedCollection>>() as u64;
        if low.is_some() { u64::from(geometry.domains()) * of_domain } else { 0 }
    }

    /// Begins anew.
    pub(crate) fn restart(&mut self) {
        self.last.fill(None);
    }

    /// The victim of a domain's collection was erased.
    pub(crate) fn ended(&mut self, domain: Domain) {
        self.last[domain.index()] = None;
    }
}

impl<M: Mechanisms> PageMap<M> {
    /// Begins a collection in step with the host, which has just written `written` pages to a domain, or goes on with the last one,
    /// if free space has come down to the mark. Returns whether it does.
    ///
    /// As much is to be free when the victim is erased as when it was begun, less what the host writes meanwhile. That
    /// may be as much as the victim gains; where the domain begins below the mark, less in proportion, down to nothing at the
    /// reserve. So many pages of the victim go with each page of the host.
    pub(crate) fn begin_in_step(&mut self, domain: Domain, written: u32) -> bool {
        let going = self.go_in_step(domain, written);
        if let (Some(going), Some(pace)) = (going, &mut self.pace) {
            pace.last[domain.index()] = Some(going);
        }
        going.is_some()
    }

    fn go_in_step(&mut self, domain: Domain, written: u32) -> Option<PacedCollection> {
        let HostPace { low, last } = self.pace.as_ref()?;
        if self.kernel.free(domain) > self.kernel.budget().reserve + low {
            return None;
        }
        let (low, last) = (*low, last[domain.index()]);
        let slots = u64::from(self.kernel.geometry().unit_slots());
        let mark = u64::from(self.kernel.budget().reserve + low) * slots;
        let free = self.kernel.free_slots(domain);
        if free > mark || self.is_busy(domain) {
            return None;
        }
        let last = last.filter(|last| self.goes_on_with(domain, last.victim));
        match last {
            Some(last) => self.kernel.begin(domain, last.victim, Why::Forward),
            None if !self.begin_next(domain) => return None,
            None => {}
        }
        let (victim, left) = (self.kernel.job(domain)?.unit, self.steps_left(domain));
        let after = free + slots - u64::from(left - 1);
        let line =
            last.map_or_else(|| free + (mark - free) * (after - free) / (u64::from(low) * slots), |last| last.line);
        let (written, room) = (u64::from(written), (after + u64::from(written)).saturating_sub(line));
        let due = if room <= written { left } else { (written * u64::from(left)).div_ceil(room) as u32 };
        Some(PacedCollection { victim, until: left - due, line })
    }

    fn goes_on_with(&self, domain: Domain, unit: Unit) -> bool {
        let has_room = self.kernel.free(domain) >= self.kernel.budget().for_a_victim;
        has_room && self.kernel.state_of(unit) == UnitState::Closed && self.kernel.gain_of(unit) > 0
    }

    /// True unless a collection keeps step with the host and has not done yet what is due.
    pub(crate) fn has_kept_pace(&self, domain: Domain) -> bool {
        let last = self.pace.as_ref().and_then(|pace| pace.last[domain.index()]);
        last.is_none_or(|last| self.steps_left(domain) <= last.until)
    }

    /// The steps left of the collection in progress: a step for each page, and one for the erase.
    fn steps_left(&self, domain: Domain) -> u32 {
        self.kernel.job(domain).map_or(0, |job| self.kernel.valid_of(job.unit) + 1)
    }
}
