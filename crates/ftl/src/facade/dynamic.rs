//! Dynamic allocation, as a part: whichever die is free takes a page.

use base::{Die, Domain, Ppn};

use super::{Ftl, InForce};

/// Dynamic allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicAllocation(());

impl DynamicAllocation {
    pub(super) fn of(ftl: &Ftl) -> Option<DynamicAllocation> {
        let allocation = match &ftl.mapping {
            InForce::Plain(page) => &page.allocation,
            InForce::Page(page) => &page.allocation,
            InForce::Fast(_) => return None,
        };
        allocation.dynamic().map(|_| DynamicAllocation(()))
    }

    /// The domain of a die whose turn it is, round robin over those that accept pages: behind the one that got a page last, or had
    /// something to do before it.
    #[inline]
    pub fn peek_domain_of(self, ftl: &Ftl, die: Die) -> Option<Domain> {
        of_pages!(&ftl.mapping, page => page.peek_domain_of(die))
    }

    /// True if a domain accepts so many pages more, wherever their older versions lie, and mechanisms hear of no single page. Of a die with
    /// one domain it has the turn for all of them.
    #[inline]
    pub fn accepts_all(self, ftl: &Ftl, domain: Domain, pages: u32) -> bool {
        of_pages!(&ftl.mapping, page => page.accepts_all(domain, pages))
    }

    /// True if one of so many pages from one on was superseded, and the array has nothing newer: a power cut would leave nothing else.
    pub fn needs(self, ftl: &Ftl, first: Ppn, pages: u32) -> bool {
        of_pages!(&ftl.mapping, page => page.kernel.needs_superseded(first, pages))
    }
}
