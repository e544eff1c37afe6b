//! Which devices and policies collections ahead of need can be combined with.

use config::Config;

use crate::errors::Refusal;

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let schedule = config.ftl.get("gc_schedule").name;
    if schedule == "threshold" {
        return Ok(());
    }
    let refuse = |message: String, help: &str| {
        Err(Refusal { key: "ftl.gc_schedule", message: format!("`{schedule}` {message}"), help: help.into() })
    };
    if schedule == "paced" && config.ftl.get("mapping").name == "fast" {
        return refuse(
            "moves a few pages of a victim at a time, and under `fast` a logical block is merged as a whole".into(),
            "set `ftl.mapping = \"page\"`, or `ftl.gc_schedule = \"background\"`",
        );
    }
    if schedule == "windows" && config.ftl.get("mapping").name == "fast" {
        return refuse(
            "keeps blocks free for the writes of a window, and hybrid mapping merges log blocks whatever is free"
                .into(),
            "set `ftl.mapping = \"page\"`, or `ftl.gc_schedule = \"background\"`",
        );
    }
    let Some(executor) = config.run.timeless() else { return Ok(()) };
    if schedule == "windows" {
        return refuse(
            format!("lets collections wait until a window is over, and under `{executor}` no time passes"),
            "set `run.executor = \"timed\"`, or `ftl.gc_schedule = \"threshold\"`",
        );
    }
    if schedule == "paced" {
        // What keeps step with the host begins at the same mark without time.
        return Ok(());
    }
    refuse(
        format!("fills time in which a channel would be idle, and under `{executor}` no time passes"),
        "set `run.executor = \"timed\"`, or `ftl.gc_schedule = \"threshold\"`",
    )
}
