//! What a map in flash (DFTL) cannot be exposed to.

use config::Config;

use crate::RunError;

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
