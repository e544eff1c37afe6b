//! Which devices and policies a map in flash (DFTL) can have.

use config::Config;

use crate::{Refusal, RunError, device};

fn is_dftl(config: &Config) -> bool {
    config.ftl.get("mapping").name == "dftl"
}

/// Refuses faults, from which this mapping cannot recover.
pub(crate) fn check_faults(config: &Config) -> Result<(), RunError> {
    if !is_dftl(config) {
        return Ok(());
    }
    Err(RunError::Input(
        "faults need `ftl.mapping = \"page\"`: with `dftl` translation pages are neither repaired after a failed program \
         nor found again after a restart"
            .into(),
    ))
}

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    if !is_dftl(config) {
        return Ok(());
    }
    let refuse = |message: &str, help: &str| {
        Err(Refusal { key: "ftl.mapping", message: format!("`dftl` {message}"), help: help.into() })
    };
    let chosen = |key: &str| config.ftl.get(key).name;
    if ftl::allocation::is_dynamic(chosen("allocation")) && chosen("gc_schedule") != "threshold" {
        return refuse(
            "has collections wait for map entries on other planes under a dynamic allocation, and one ahead of need has to \
             be put down at any time",
            "use a static allocation order, for instance `ftl.allocation = \"CWDP\"`, or `ftl.gc_schedule = \"threshold\"`",
        );
    }
    let besides = match chosen("paired_page") {
        _ if !ftl::allocation::is_dynamic(chosen("allocation")) => None,
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
    let geometry = device::geometry(config);
    let bytes = config.ftl.get("mapping").size("cache");
    if ftl::dftl::cached_entries(&geometry, bytes) < u64::from(ftl::dftl::LEAST_ENTRIES) {
        let (domains, entry) = (geometry.domains(), ftl::dftl::CACHED_ENTRY_BYTES);
        let parts = if geometry.unit_width > 1 { "dies" } else { "planes" };
        let least = u64::from(domains) * u64::from(ftl::dftl::LEAST_ENTRIES * entry);
        return Err(Refusal {
            key: "ftl.mapping",
            message: format!(
                "a cached mapping table of {} has not {} entries of {entry} bytes for each of {domains} {parts}",
                config::print_size(bytes),
                ftl::dftl::LEAST_ENTRIES
            ),
            help: format!("set `mapping.dftl.cache` to \"{}\" or more", config::print_size(least)),
        });
    }
    Ok(())
}

/// What a plane holds besides user data and free blocks, for the text about user spaces that are too large.
pub(crate) fn in_words(config: &Config) -> String {
    if !is_dftl(config) {
        return String::new();
    }
    let free = config.ftl.get("gc_schedule").integer("free_blocks");
    // One is being filled with translation pages.
    let more = ftl::reserve(&device::geometry(config), &device::policies(config)) - free + 1;
    format!(", and {more} more and the translation pages,")
}
