//! Erases take longer by a fixed time. To begin a feature of the chip with: docs/adding-a-policy.md.

use base::scope::{Area, Scope, Scoped};
use base::{Choice, Die, Duration, FeatureKey, OpKind, Param, ParamKind};
use config::Config;

use crate::errors::Refusal;
use crate::timed::command::Command;
use crate::timed::context::Context;
use crate::timed::plan::{Any, Chip, Feature};
use crate::timed::timing::{Delay, Timing};

/// The key in `[device]` and its choices, the default first.
static BLANK: FeatureKey = FeatureKey {
    key: "blank",
    noun: "longer erase",
    doc: "Longer erases (executor `timed`).",
    choices: &[
        Choice { name: "off", doc: "They do not.", params: &[] },
        Choice {
            name: "on",
            doc: "They do.",
            params: &[Param {
                name: "time",
                kind: ParamKind::Time { default: Duration(1_000_000), min: Duration(1), max: Duration(1_000_000_000) },
                doc: "How much longer.",
            }],
        },
    ],
};

/// The feature, with its state.
pub(in crate::timed) struct Blank {
    longer: Option<Delay>,
}

/// The time that was chosen; `None`: the feature is off.
fn longer(config: &Config) -> Option<Duration> {
    let (_, selection) = config.device.features.made.iter().find(|(key, _)| *key == BLANK.key)?;
    (selection.name == "on").then(|| selection.time("time"))
}

impl Scoped for Blank {
    const SCOPE: Scope = Scope {
        area: Area::Time,
        name: "Longer erases",
        keys: &["device.blank"],
        modelled: "Erases take longer by a fixed time.",
        not_modelled: &["Programs take no longer."],
    };
}

impl Feature for Blank {
    fn is_configured(config: &Config) -> bool {
        longer(config).is_some()
    }

    fn check(_config: &Config) -> Result<(), Refusal> {
        Ok(())
    }

    fn new(config: &Config, _dies: u32, timing: &mut Timing) -> Blank {
        Blank { longer: longer(config).map(|time| timing.delay(time)) }
    }
}

impl Chip<Any> for Blank {
    fn prolongs(context: &mut Context<'_>, _: Die, command: &Command) -> Option<Delay> {
        context.chip.blank.longer.filter(|_| command.kind() == OpKind::Erase)
    }
}
