//! Which devices and policies collections ahead of need can be combined with.

use config::Config;
use config::model::Executor;

use crate::Refusal;

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let schedule = config.ftl.get("gc_schedule").name;
    if schedule == "threshold" {
        return Ok(());
    }
    let refuse = |message: &str, help: &str| {
        Err(Refusal { key: "ftl.gc_schedule", message: format!("`{schedule}` {message}"), help: help.into() })
    };
    if config.run.executor == Executor::Count {
        return refuse(
            "fills time in which a channel would be idle, and under `count` no time passes",
            "set `run.executor = \"timed\"`, or `ftl.gc_schedule = \"threshold\"`",
        );
    }
    Ok(())
}
