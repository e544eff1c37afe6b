//! A static allocation of the user's own: a domain for each logical page, as a table.

use std::sync::Arc;

use base::{Domain, Lpn};

/// The domains of logical pages.
#[derive(Clone)]
pub struct DomainTable {
    domains: u32,
    by_lpn: Arc<Vec<Domain>>,
}

impl DomainTable {
    pub(super) fn new(own: &base::Own, domains: u32) -> DomainTable {
        DomainTable { domains, by_lpn: own.loaded() }
    }

    pub(super) fn domains(&self) -> u32 {
        self.domains
    }

    #[inline]
    pub(crate) fn domain_of(&self, lpn: Lpn) -> Domain {
        self.by_lpn[lpn.index()]
    }
}
