//! Which devices and policies collections ahead of need can be combined with.

use config::Config;
use config::model::Executor;

use crate::errors::Refusal;

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let schedule = config.ftl.get("gc_schedule").name;
    if schedule == "threshold" {
        return Ok(());
    }
    let refuse = |message: &str, help: &str| {
        Err(Refusal { key: "ftl.gc_schedule", message: format!("`{schedule}` {message}"), help: help.into() })
    };
    if schedule == "paced" && config.ftl.get("mapping").name == "fast" {
        return refuse(
            "moves a few pages of a victim at a time, and under `fast` a logical block is merged as a whole",
            "set `ftl.mapping = \"page\"`, or `ftl.gc_schedule = \"background\"`",
        );
    }
    if schedule == "paced" && config.run.executor == Executor::Count {
        return refuse(
            "spreads a collection over the writes that would wait for it, and under `count` nobody waits",
            "set `run.executor = \"timed\"`, or `ftl.gc_schedule = \"threshold\"`",
        );
    }
    if config.run.executor == Executor::Count {
        return refuse(
            "fills time in which a channel would be idle, and under `count` no time passes",
            "set `run.executor = \"timed\"`, or `ftl.gc_schedule = \"threshold\"`",
        );
    }
    Ok(())
}
