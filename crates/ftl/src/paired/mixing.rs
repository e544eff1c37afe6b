//! GCMix: the valid pages of a victim under the pages that the host writes (GCMix, section 4).

use base::Ppn;

use crate::layer::{Ftl, NONE};
use crate::victim::UnitState;

/// A victim that is emptied page by page, as host writes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mix {
    pub(crate) unit: u32,
    /// Slots before this one are done.
    pub(crate) cursor: u32,
    /// Slots that were invalid when the victim was chosen.
    pub(crate) gain: u32,
}

impl Ftl {
    /// Turns mixing on or off by the watermarks and, if adaptive, by ω (GCMix, Algorithm 1).
    fn update_mixing(&mut self, domain: u32) -> bool {
        let Some(watermarks) = self.protection.watermarks else { return false };
        let free = self.domains[domain as usize].free;
        let guard = &mut self.protection.guards[domain as usize];
        let is_local = watermarks.tau.is_some_and(|tau| self.protection.omega.is_some_and(|omega| omega >= tau));
        guard.is_mixing = !is_local && if guard.is_mixing { free < watermarks.high } else { free <= watermarks.low };
        guard.is_mixing
    }

    /// The victim's page to put under the next host page of a domain, if mixing is on and there is one.
    pub(super) fn page_to_pair(&mut self, domain: u32) -> Option<Ppn> {
        if !self.update_mixing(domain) {
            return None;
        }
        loop {
            let mix = match self.protection.guards[domain as usize].mix {
                Some(mix) => mix,
                None => self.begin_mix(domain)?,
            };
            if self.units[mix.unit as usize].valid == 0 {
                self.hold(domain, mix.unit);
                if self.unit_to_erase(domain).is_some() {
                    // It gives room, perhaps enough to suspend mixing: erased before another is chosen.
                    return None;
                }
                continue;
            }
            let first = self.geometry.ppn(mix.unit, 0).0;
            let slots = self.geometry.unit_slots();
            let found = (mix.cursor..slots).find(|&slot| self.reverse[(first + slot) as usize] != NONE)?;
            self.protection.guards[domain as usize].mix = Some(Mix { cursor: found, ..mix });
            return Some(Ppn(first + found));
        }
    }

    /// Chooses a victim to mix, if a unit is closed.
    fn begin_mix(&mut self, domain: u32) -> Option<Mix> {
        let unit = self.choose(domain)?;
        let valid = u32::from(self.units[unit as usize].valid);
        self.take_closed(domain, unit);
        let mix = Mix { unit, cursor: 0, gain: self.geometry.unit_slots() - valid };
        self.protection.guards[domain as usize].mix = Some(mix);
        Some(mix)
    }

    /// Puts an empty victim among the units that wait for their erase.
    pub(crate) fn hold(&mut self, domain: u32, unit: u32) {
        debug_assert_eq!(self.units[unit as usize].state, UnitState::Collecting);
        let guard = &mut self.protection.guards[domain as usize];
        guard.mix = None;
        guard.held.push(unit);
    }
}
