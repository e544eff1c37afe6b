//! The future of the host's pages, where a separation wants to know it: the workload is gone through once before it runs.

use std::path::Path;

use base::RequestKind;
use config::Config;
use config::model::Source;
use files::Interrupt;
use ftl::Policies;
use ftl::separation::HostPage;
use workload::Workload;

use crate::device::{Device, policies};
use crate::errors::{Refusal, RunError};
use crate::pages::Span;

/// Requests that are looked at together.
const BATCH: usize = 1024;

/// Refuses what has no future that is known before.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let because = match &config.workload.source {
        _ if config.ftl.get("separation").name != "future" => return Ok(()),
        _ if config.ftl.get("write_buffer").name != "none" => {
            "a write buffer takes several writes of a page together, and which is known when they come"
        }
        Source::Tenants(_) => "the order of several tenants' requests depends on their latencies",
        Source::Trace { path } if Path::new(path).exists() && !Path::new(path).is_file() => {
            "this trace can be read but once, and is read a first time for what it writes"
        }
        Source::Trace { .. } | Source::Generator(_) | Source::Job { .. } => return Ok(()),
    };
    Err(refusal(because))
}

/// Refuses it for a drive of real bytes.
pub(crate) fn check_drive(config: &Config) -> Result<(), Refusal> {
    let foresees = config.ftl.get("separation").name == "future";
    if foresees { Err(refusal("a host writes to a drive of real bytes as it likes")) } else { Ok(()) }
}

fn refusal(because: &str) -> Refusal {
    Refusal {
        key: "ftl.separation",
        message: format!("`future` places pages by when they will be written next, and {because}"),
        help: "set `ftl.separation = \"sepbit\"`, which infers it, or change that".into(),
    }
}

/// Has the FTL of an aged device make its policies with all that the workload will do with pages, if it wants to know.
pub(crate) fn tell(device: &mut Device, config: &Config, interrupt: &Interrupt) -> Result<(), RunError> {
    if config.ftl.get("separation").name != "future" {
        return Ok(());
    }
    let (capacity, seed) = (config.device.user_capacity, config.run.seed);
    let mut workload = Workload::open(&config.workload, &config.host, capacity, seed, interrupt)?;
    let (mut batch, mut pages) = (Vec::with_capacity(BATCH), Vec::new());
    loop {
        batch.clear();
        workload.fill(&mut batch, BATCH)?;
        if batch.is_empty() {
            let knowing = Policies { future: &pages, ..policies(config) };
            device.ftl.renew_policies(&knowing, config.run.seed);
            return Ok(());
        }
        for request in &batch {
            let span = Span::of(request, device.page_size);
            match request.kind {
                RequestKind::Write => pages.extend(span.pages().map(|(lpn, _)| HostPage::Write(lpn))),
                RequestKind::Trim => pages.extend(span.whole().pages().map(|(lpn, _)| HostPage::Trim(lpn))),
                RequestKind::Read | RequestKind::Flush => {}
            }
        }
    }
}
