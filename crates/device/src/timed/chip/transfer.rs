//! Reads that send only the codewords of a page which hold what the host asked for.

use base::Duration;
use base::scope::{Area, Scope, Scoped};
use base::transfer::codeword;
use config::Config;

use crate::errors::Refusal;
use crate::timed::command::Carried;
use crate::timed::context::Context;
use crate::timed::plan::{Any, Chip, Feature};
use crate::timed::timing::{Delay, PartTimes, Timing, passing};

/// Transfers in part.
pub(in crate::timed) struct Transfer {
    /// Bytes of a codeword; 0 where reads send whole pages.
    codeword: u32,
    /// By codewords of a page that are sent without the rest, less one.
    parts: Vec<PartTimes>,
}

impl Feature for Transfer {
    fn is_configured(config: &Config) -> bool {
        codeword(&config.device.features).is_some()
    }

    /// Refuses codewords that no page can have.
    fn check(config: &Config) -> Result<(), Refusal> {
        let Some(size) = codeword(&config.device.features) else { return Ok(()) };
        let refuse = |message: String, help: &str| {
            Err(Refusal { key: "device.read_transfer", message: format!("`sectors` {message}"), help: help.into() })
        };
        let page = crate::gang::page_size(config) / u64::from(config.in_step().parts());
        if !page.is_multiple_of(size) {
            let (name, whole) = match config.ftl.get("map_unit").name {
                "page" => ("page", "device.page_size"),
                _ => ("map unit", "ftl.map_unit"),
            };
            let (page, size) = (config::print_size(page), config::print_size(size));
            return refuse(
                format!("sends codewords of {size}, and a {name} of {page} is not a whole number of them"),
                &format!("set a `codeword` that divides `{whole}`, or use `page`"),
            );
        }
        let in_step = config.in_step();
        if in_step.channels > 1 || in_step.planes > 1 && crate::gang::parts(config) > 1 {
            return refuse(
                "sends a part of a page, and channels in step, or map units on several planes, send their parts together".into(),
                "use `page`, or `ftl.reclaim_unit` = \"block\" or \"twin\"",
            );
        }
        Ok(())
    }

    /// The parts share the line of whole pages, which need not be in order.
    fn new(config: &Config, _: u32, timing: &mut Timing) -> Transfer {
        let (device, line) = (&config.device, timing.data_out(1).line);
        let Some(codeword) = codeword(&device.features) else {
            return Transfer { codeword: 0, parts: Vec::new() };
        };
        let of_bytes = |bytes| {
            let limited = |rate: Option<u64>| rate.map_or(Duration::ZERO, |rate| passing(bytes, rate));
            let out = Delay { time: passing(bytes, device.timing.channel_rate), line };
            let (dram, ecc) = (limited(device.timing.dram_bandwidth), limited(device.timing.ecc_bandwidth));
            PartTimes { out, dram, ecc }
        };
        let codewords = 1..=crate::gang::page_size(config) / codeword;
        Transfer { codeword: codeword as u32, parts: codewords.map(|count| of_bytes(count * codeword)).collect() }
    }
}

impl Chip<Any> for Transfer {
    fn part(context: &Context<'_>, carried: Carried) -> Option<PartTimes> {
        let Transfer { codeword, parts } = &context.chip.transfer;
        let (Carried::Transaction(read), Some(wanted), 1..) = (carried, &context.wanted, *codeword) else {
            return None;
        };
        let (from, to) = wanted.range(read)?;
        parts.get((to.div_ceil(*codeword) - from / codeword) as usize - 1).copied()
    }
}

impl Scoped for Transfer {
    const SCOPE: Scope = Scope {
        area: Area::Time,
        name: "Parts of pages",
        keys: &["device.read_transfer"],
        modelled: "A read sends only the codewords that the host asked for.",
        not_modelled: &["The change to another column takes no time."],
    };
}
