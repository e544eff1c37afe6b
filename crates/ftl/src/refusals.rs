//! Choices that cannot be combined, or need another device: each mapping and mechanism says its own, behind one call.

use base::Geometry;

use crate::mechanism::{dftl, disturb, migration, paired, renewal, retirement, separation, slc, wear};
use crate::{Policies, fast, map_unit, victim};

/// A setting that is well-formed but that no device can have.
#[derive(Debug)]
pub struct Refusal {
    /// The key to point at.
    pub key: &'static str,
    /// The fault.
    pub message: String,
    /// A choice that would be right.
    pub help: String,
}

/// The choices in which the FTL has a say.
pub struct FtlSetup<'a> {
    /// The policies.
    pub policies: &'a Policies<'a>,
    /// The device's shape.
    pub geometry: &'a Geometry,
    /// Logical pages of the host.
    pub user_pages: u64,
    /// True if the device comes from a saved state.
    pub from_state: bool,
    /// True if no simulated time passes during the run.
    pub stands_still: bool,
    /// True if the FTL is told how full a write buffer is.
    pub hears_of_buffer: bool,
    /// How a size is printed for people.
    pub print_size: fn(u64) -> String,
}

impl FtlSetup<'_> {
    /// Units that are held free by choice.
    pub(crate) fn free_blocks(&self) -> u32 {
        self.policies.gc_schedule.integer("free_blocks")
    }

    /// True if pages lie where a formula of the LPN does not say.
    pub(crate) fn is_dynamic(&self) -> bool {
        crate::allocation::is_dynamic(self.policies.allocation.name)
    }
}

/// Refuses what cannot work, with the reason.
///
/// # Errors
/// The first such reason.
pub fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    check_own(setup.policies)?;
    victim::check_across(setup)?;
    map_unit::check(setup)?;
    separation::check(setup)?;
    paired::check(setup)?;
    fast::check(setup)?;
    dftl::check(setup)?;
    migration::check(setup)?;
    wear::check(setup)?;
    disturb::check(setup)?;
    renewal::check(setup)?;
    retirement::check(setup)?;
    slc::check(setup)
}

/// Only a flat map can be asked for a domain by any rule.
fn check_own(policies: &Policies<'_>) -> Result<(), Refusal> {
    if policies.allocation.own.is_none() || policies.mapping.name == "page" {
        return Ok(());
    }
    Err(Refusal {
        key: "ftl.allocation",
        message: format!(
            "an allocation of your own gives each page a plane, and `{}` needs an order that gives every stripe of pages \
             one page on each plane",
            policies.mapping.name
        ),
        help: "set `ftl.mapping = \"page\"`, or use a static order such as `ftl.allocation = \"CWDP\"`".into(),
    })
}

/// The pages of a domain besides user data and free blocks, for the text about user spaces that are too large.
pub fn besides_in_words(geometry: &Geometry, policies: &Policies<'_>) -> String {
    if policies.is_hybrid() {
        fast::in_words(policies)
    } else if policies.has_map() {
        dftl::in_words(geometry, policies)
    } else {
        let held = paired::in_words(geometry, policies);
        held + &migration::in_words(geometry, policies) + &disturb::in_words(geometry, policies)
    }
}
