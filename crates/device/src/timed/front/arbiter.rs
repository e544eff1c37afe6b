//! Whose command is next, where several hosts have commands waiting.

use base::Selection;
use config::model::{Priority, Tenant};

/// Takes tenants in turn.
struct Turn {
    at: usize,
    /// Commands that the one at turn has left of its burst.
    left: u32,
}

impl Turn {
    fn new(tenants: usize) -> Turn {
        Turn { at: tenants - 1, left: 0 }
    }

    fn next(&mut self, burst: u32, may: impl Fn(usize) -> bool, tenants: usize) -> Option<usize> {
        if self.left == 0 || !may(self.at) {
            self.at = (1..=tenants).map(|step| (self.at + step) % tenants).find(|&tenant| may(tenant))?;
            self.left = burst;
        }
        self.left -= 1;
        Some(self.at)
    }
}

/// Round robin, or weighted round robin behind an urgent class.
pub(super) struct Arbiter {
    burst: u32,
    turn: Turn,
    urgent: Turn,
    /// By tenant: true if it is urgent.
    is_urgent: Vec<bool>,
    /// By tenant: commands in a round, and those that are left of them; empty where all count the same.
    weights: Vec<u32>,
    credits: Vec<u32>,
}

impl Arbiter {
    pub(super) fn new(arbitration: &Selection, tenants: &[Tenant]) -> Arbiter {
        let shares = tenants.iter().map(|tenant| (tenant.weight, tenant.priority == Priority::Urgent));
        Arbiter::of(arbitration.integer("burst"), arbitration.name == "weighted", shares)
    }

    /// Of each tenant, its weight and whether it is urgent.
    fn of(burst: u32, is_weighted: bool, shares: impl ExactSizeIterator<Item = (u32, bool)> + Clone) -> Arbiter {
        let tenants = shares.len();
        let weights: Vec<u32> = shares.clone().filter(|_| is_weighted).map(|(weight, _)| weight).collect();
        Arbiter {
            burst,
            turn: Turn::new(tenants),
            urgent: Turn::new(tenants),
            is_urgent: shares.map(|(_, is_urgent)| is_weighted && is_urgent).collect(),
            credits: weights.clone(),
            weights,
        }
    }

    /// The tenant whose command is taken, of those that have one waiting.
    pub(super) fn next(&mut self, waits: impl Fn(usize) -> bool) -> Option<usize> {
        let tenants = self.is_urgent.len();
        if let Some(urgent) = self.urgent.next(self.burst, |tenant| self.is_urgent[tenant] && waits(tenant), tenants) {
            return Some(urgent);
        }
        if self.weights.is_empty() {
            return self.turn.next(self.burst, waits, tenants);
        }
        let may = |tenant: usize| !self.is_urgent[tenant] && waits(tenant);
        let mut next = self.turn.next(self.burst, |tenant| may(tenant) && self.credits[tenant] > 0, tenants);
        if next.is_none() && (0..tenants).any(may) {
            // A round is over once nobody who waits has anything left. What others left lapses.
            self.credits.copy_from_slice(&self.weights);
            next = self.turn.next(self.burst, may, tenants);
        }
        self.credits[next?] -= 1;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arbiter(name: &str, burst: u32, tenants: &[(u32, bool)]) -> Arbiter {
        Arbiter::of(burst, name == "weighted", tenants.iter().copied())
    }

    fn taken(arbiter: &mut Arbiter, commands: usize, waits: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..commands).map(|_| arbiter.next(&waits).unwrap()).collect()
    }

    #[test]
    fn round_robin_takes_a_burst_of_each_that_waits() {
        let mut arbiter = arbiter("round-robin", 2, &[(1, false); 3]);
        assert_eq!(taken(&mut arbiter, 8, |_| true), [0, 0, 1, 1, 2, 2, 0, 0]);
        assert_eq!(taken(&mut arbiter, 4, |tenant| tenant != 1), [2, 2, 0, 0]);
        assert_eq!(arbiter.next(|_| false), None);
    }

    #[test]
    fn shares_of_a_round_are_the_weights_whatever_the_burst() {
        for burst in [1, 2, 3, 8, 256] {
            let mut arbiter = arbiter("weighted", burst, &[(5, false), (1, false), (3, false)]);
            for round in 0..4 {
                let taken = taken(&mut arbiter, 9, |_| true);
                let of = |tenant| taken.iter().filter(|&&other| other == tenant).count();
                assert_eq!([of(0), of(1), of(2)], [5, 1, 3], "burst {burst}, round {round}: {taken:?}");
            }
        }
    }

    #[test]
    fn what_a_tenant_left_of_a_round_lapses() {
        let mut arbiter = arbiter("weighted", 1, &[(4, false), (2, false)]);
        // The first one has nothing waiting for fifty rounds. What it gets for that afterwards is the rest of the round that is going on.
        assert_eq!(taken(&mut arbiter, 100, |tenant| tenant == 1), [1; 100]);
        assert_eq!(taken(&mut arbiter, 4, |_| true), [0; 4]);
        let taken = taken(&mut arbiter, 60, |_| true);
        assert_eq!(taken.iter().filter(|&&tenant| tenant == 0).count(), 40, "{taken:?}");
    }

    #[test]
    fn urgent_ones_go_first_and_a_low_one_still_moves_when_they_rest() {
        let mut arbiter = arbiter("weighted", 1, &[(1, false), (200, false), (1, true), (1, true)]);
        assert_eq!(taken(&mut arbiter, 4, |_| true), [2, 3, 2, 3]);
        let rest = taken(&mut arbiter, 402, |tenant| tenant < 2);
        assert_eq!(rest.iter().filter(|&&tenant| tenant == 0).count(), 2);
    }
}
