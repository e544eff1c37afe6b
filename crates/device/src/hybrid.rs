//! Faults and limits that hybrid mapping cannot be exposed to.

use config::Config;

use crate::errors::RunError;

/// True if the mapping is a hybrid one.
fn is_hybrid(config: &Config) -> bool {
    config.ftl.get("mapping").name == "fast"
}

/// Refuses to save a state that would not be whole.
pub(crate) fn check_saved(config: &Config) -> Result<(), RunError> {
    if !is_hybrid(config) {
        return Ok(());
    }
    Err(RunError::Input(format!(
        "no state can be saved under `ftl.mapping = \"fast\"`, which {}",
        ftl::fast::NO_STATES
    )))
}

/// Refuses faults, from which this mapping cannot recover.
pub(crate) fn check_faults(config: &Config) -> Result<(), RunError> {
    if !is_hybrid(config) {
        return Ok(());
    }
    Err(RunError::Input(
        "faults need `ftl.mapping = \"page\"`: hybrid mapping is neither repaired after a failed program nor restarted"
            .into(),
    ))
}
