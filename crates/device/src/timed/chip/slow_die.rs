//! A die whose array is slower than the others.

use base::scope::{Area, Scope, Scoped};
use base::slow_die::slow_die;
use base::{Die, Duration};
use config::Config;

use crate::errors::Refusal;
use crate::timed::context::Context;
use crate::timed::plan::{Any, Chip, Feature};
use crate::timed::timing::{Delay, Line, Timing};

/// The slow die, if there is one.
pub(in crate::timed) struct SlowDie {
    /// The die, and how many times as long its array takes.
    slow: Option<(Die, f64)>,
    /// Where it waits: among those of other dies its times are out of order.
    line: Line,
}

impl Feature for SlowDie {
    fn is_configured(config: &Config) -> bool {
        slow_die(&config.device.features).is_some()
    }

    /// Refuses a slow die that there is not.
    fn check(config: &Config) -> Result<(), Refusal> {
        let Some((die, _)) = slow_die(&config.device.features) else { return Ok(()) };
        let refuse = |message: String, help: String| Err(Refusal { key: "device.slow_die", message, help });
        let dies = config.device.channels * config.device.chips_per_channel * config.device.dies_per_chip;
        if die.number() >= dies {
            return refuse(
                format!("the slow die is number {}, and the device has {dies} dies", die.number()),
                format!("`device.slow_die.one.die` can be at most {}", dies - 1),
            );
        }
        if config.in_step().parts() > 1 {
            return refuse(
                "one die is slow, and dies or planes in step do the same at the same time".into(),
                "use `ftl.reclaim_unit` = \"block\" or \"twin\", or `device.slow_die` = \"none\"".into(),
            );
        }
        Ok(())
    }

    fn new(config: &Config, _: u32, timing: &mut Timing) -> SlowDie {
        let slow = slow_die(&config.device.features);
        let erase = |(_, factor)| timing.delay(times(factor, config.device.timing.erase));
        SlowDie { slow, line: slow.map_or(Delay::NONE, erase).line }
    }
}

impl Chip<Any> for SlowDie {
    fn slows(context: &Context<'_>, die: Die, time: Duration) -> Option<Delay> {
        let SlowDie { slow, line } = context.chip.slow_die;
        slow.filter(|(slow, _)| *slow == die).map(|(_, factor)| Delay { time: times(factor, time), line })
    }
}

fn times(factor: f64, time: Duration) -> Duration {
    Duration((time.ns() as f64 * factor).round() as u64)
}

impl Scoped for SlowDie {
    const SCOPE: Scope = Scope {
        area: Area::Time,
        name: "Slow die",
        keys: &["device.slow_die"],
        modelled: "The array of one die is slower than the others.",
        not_modelled: &["No channel is slow, and no second die."],
    };
}
