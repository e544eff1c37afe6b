//! Which states can be saved.

use config::Config;

use crate::RunError;

/// Refuses to save a state that could not be started from.
pub(crate) fn check_saved(config: &Config) -> Result<(), RunError> {
    let scheme = config.ftl.get("paired_page").name;
    if ftl::paired::keeps_track(scheme) {
        return Err(RunError::Input(format!(
            "a saved state does not hold the blocks that `ftl.paired_page = \"{scheme}\"` keeps for itself; save the \
             state of a device without that protection"
        )));
    }
    Ok(())
}
