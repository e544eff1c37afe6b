//! Blocks in SLC mode, which have times of their own.

use base::scope::{Area, Scope, Scoped};
use base::slc::times;
use config::Config;

use crate::timed::command::Command;
use crate::timed::context::Context;
use crate::timed::plan::{Any, Chip, Feature};
use crate::timed::timing::{Delay, Timing};

/// The times of blocks in SLC mode, if the chip has it: read, program, erase.
pub(in crate::timed) struct SlcMode {
    times: Option<[Delay; 3]>,
}

impl Feature for SlcMode {
    fn is_configured(config: &Config) -> bool {
        times(&config.device.features).is_some()
    }

    fn new(config: &Config, _: u32, timing: &mut Timing) -> SlcMode {
        let times = times(&config.device.features);
        SlcMode { times: times.map(|times| times.map(|time| timing.delay(time))) }
    }
}

impl Chip<Any> for SlcMode {
    /// All blocks of a command are in one mode.
    #[inline]
    fn delay(context: &Context<'_>, command: &Command) -> Option<Delay> {
        let times = context.chip.slc.times.as_ref()?;
        let is_in_mode = command.sources().is_empty() && context.device.flash.is_in_slc_mode(command.lead());
        is_in_mode.then(|| times[command.kind() as usize])
    }
}

impl Scoped for SlcMode {
    const SCOPE: Scope = Scope {
        area: Area::Media,
        name: "Times in SLC mode",
        keys: &["device.slc_mode"],
        modelled: "Blocks of one bit a cell have read, program and erase times of their own, and wear less.",
        not_modelled: &["The change of a block to SLC mode and back takes no time."],
    };
}
