//! Which devices and policies a map in flash can have.

use base::Geometry;
use base::scope::{Area, Scope, Scoped};

use super::{CACHED_ENTRY_BYTES, LEAST_ENTRIES, cached_entries};
use crate::Policies;
use crate::mechanism::SpacePlan;
use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    if !setup.policies.has_map() {
        return Ok(());
    }
    let refuse = |message: &str, help: &str| {
        Err(Refusal { key: "ftl.mapping", message: format!("`dftl` {message}"), help: help.into() })
    };
    if setup.is_dynamic() && setup.policies.gc_schedule.name != "threshold" {
        return refuse(
            "has collections wait for map entries on other planes under a dynamic allocation, and one ahead of need has to \
             be suspended at any time",
            "use a static allocation order, for instance `ftl.allocation = \"CWDP\"`, or `ftl.gc_schedule = \"threshold\"`",
        );
    }
    let besides = match setup.policies.paired_page.name {
        _ if !setup.is_dynamic() => None,
        "gcmix" | "gcmix-adaptive" => {
            Some("a victim of GCMix is emptied over many host writes, which would all wait with it")
        }
        "slc-buffer" => Some("a merged SLC buffer is held besides: there is no room for both"),
        _ => None,
    };
    if let Some(reason) = besides {
        return refuse(
            &format!("has collections wait for map entries on other planes under a dynamic allocation, and {reason}"),
            "use a static allocation order, for instance `ftl.allocation = \"CWDP\"`, or another `ftl.paired_page`",
        );
    }
    let geometry = setup.geometry;
    let bytes = setup.policies.mapping.size("cache");
    if cached_entries(geometry, bytes) < u64::from(LEAST_ENTRIES) {
        let (domains, entry) = (geometry.domains(), CACHED_ENTRY_BYTES);
        let parts = if geometry.unit_width > 1 { "dies" } else { "planes" };
        let least = u64::from(domains) * u64::from(LEAST_ENTRIES * entry);
        return Err(Refusal {
            key: "ftl.mapping",
            message: format!(
                "a cached mapping table of {} has not {} entries of {entry} bytes for each of {domains} {parts}",
                (setup.print_size)(bytes),
                LEAST_ENTRIES
            ),
            help: format!("set `mapping.dftl.cache` to \"{}\" or more", (setup.print_size)(least)),
        });
    }
    Ok(())
}

/// The pages of a domain besides user data and free blocks.
pub(crate) fn in_words(geometry: &Geometry, policies: &Policies<'_>) -> String {
    // One is being filled with translation pages.
    let more = SpacePlan::new(policies, geometry).reserve() - policies.free_blocks() + 1;
    format!(", and {more} more and the translation pages,")
}

impl Scoped for super::Dftl {
    const SCOPE: Scope = Scope {
        area: Area::Ftl,
        name: "Map in flash (DFTL)",
        keys: &["ftl.mapping"],
        modelled: "Translation pages lie in flash, and a cached mapping table of any size in DRAM.",
        not_modelled: &[
            "The cache is LRU, not the segmented LRU of the paper.",
            "Under a dynamic allocation no collection begins ahead of need.",
        ],
    };
}
