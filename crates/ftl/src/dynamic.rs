//! Dynamic allocation: whose turn it is among the domains of a die. Among dies executors keep the turns
//! ([`DieTurns`](crate::allocation::DieTurns)).

use base::{Die, Domain};

use crate::allocation::Allocation;
use crate::mechanism::Mechanisms;
use crate::page::PageMap;

/// Whose turn it is among the domains of a die. A domain has its turn for a whole flash page.
#[derive(Clone, Copy)]
pub(crate) struct DomainTurn {
    /// Its number in the die.
    domain: u32,
    /// The parts of the page that it has had.
    had: u32,
}

impl DomainTurn {
    /// No domain has had a turn.
    pub(crate) const FIRST: DomainTurn = DomainTurn { domain: 0, had: 0 };
}

impl<M: Mechanisms> PageMap<M> {
    /// The domain of a die whose turn it is, round robin over those that accept pages.
    #[inline]
    pub(crate) fn peek_domain_of(&self, die: Die) -> Option<Domain> {
        let count = self.kernel.geometry().domains_per_die();
        if count == 1 {
            let domain = Domain::new(die.number());
            return self.accepts(domain).then_some(domain);
        }
        let turn = self.turns[die.index()].domain;
        let mut in_turn = (turn..count).chain(0..turn).map(|turn| Domain::new(die.number() * count + turn));
        in_turn.find(|&domain| self.accepts(domain))
    }

    /// Of a dynamic allocation: a domain gets a page, or has something to do first, and the round robin of its die goes on behind it.
    #[inline(always)]
    pub(crate) fn pass_turn(&mut self, domain: Domain) {
        // A domain alone in its die always has its turn.
        if let Allocation::Dynamic(_) = self.allocation
            && self.kernel.geometry().domains_per_die() > 1
        {
            self.rotate(self.kernel.geometry().die_of_domain(domain), domain);
        }
    }

    fn rotate(&mut self, die: Die, domain: Domain) {
        let count = self.kernel.geometry().domains_per_die();
        let (turn, own) = (&mut self.turns[die.index()], domain.number() - die.number() * count);
        let had = if turn.domain == own { turn.had + 1 } else { 1 };
        *turn = match own + 1 {
            _ if had < self.kernel.geometry().parts => DomainTurn { domain: own, had },
            next if next < count => DomainTurn { domain: next, had: 0 },
            _ => DomainTurn::FIRST,
        };
    }
}
