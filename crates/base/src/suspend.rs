//! Programs and erases of the array that are suspended for reads, erases for programs too: what can be chosen, and the limits that follow.

use crate::choice::{Choice, Choices, FeatureKey, Param, ParamKind, Selection};
use crate::units::{Duration, Instant};

/// Longer than any chip takes.
const LONGEST: Duration = Duration::from_us(1_000_000);

/// Suspends of programs.
pub static PROGRAM: FeatureKey = FeatureKey {
    key: "program_suspend",
    noun: "suspend of programs",
    doc: "Suspends of programs, where reads of the host wait for the die (executor `timed`).",
    choices: &[
        OFF,
        Choice {
            name: "reads",
            doc: "A program is suspended for reads of the host, those of read-modify-writes included; not for those of GC. The default \
                  times and number are our assumption: data sheets of today's chips are not public.",
            params: &[latency(20), resume(5), interval(50), STEP, most(8)],
        },
    ],
};

/// Suspends of erases.
pub static ERASE: FeatureKey = FeatureKey {
    key: "erase_suspend",
    noun: "suspend of erases",
    doc: "Suspends of erases, where reads of the host wait for the die, or writes too, if that is chosen (executor \
          `timed`).",
    choices: &[
        OFF,
        Choice {
            name: "reads",
            doc: "An erase is suspended for reads of the host, those of read-modify-writes included; not for those of GC. The default \
                  times and number are our assumption: data sheets of today's chips are not public.",
            params: &[latency(60), resume(20), interval(250), STEP, most(16)],
        },
        Choice {
            name: "reads-and-writes",
            doc: "An erase is suspended for pages of the host that are to be programmed too, of domains with queues of their own that are \
                  not being collected. A program never is: while one is suspended a chip takes no other. The default times and \
                  numbers are our assumption.",
            params: &[latency(60), resume(20), interval(250), STEP, most(16), PROGRAMS],
        },
    ],
};

const OFF: Choice = Choice { name: "off", doc: "It runs to its end, and reads of the die wait.", params: &[] };

const fn time(name: &'static str, us: u64, doc: &'static str) -> Param {
    let kind = ParamKind::Time { default: Duration::from_us(us), min: Duration::ZERO, max: LONGEST };
    Param { name, kind, doc }
}

const fn latency(us: u64) -> Param {
    time("latency", us, "From the suspend until the array takes reads.")
}

const fn resume(us: u64) -> Param {
    time("resume", us, "Time of the array that a resume costs, besides what is left to do.")
}

const fn interval(us: u64) -> Param {
    time(
        "interval",
        us,
        "How long the array works at least from its start, or from the end of a resume, to the next suspend.",
    )
}

const STEP: Param = time(
    "step",
    0,
    "The array stops only where a whole number of these is left to do: pulses, each with its verify. `0ns`: anywhere.",
);

const fn most(default: u32) -> Param {
    let kind = ParamKind::Integer { default, min: 1, max: 65_535 };
    Param { name: "most", kind, doc: "Suspends of one operation at most." }
}

const PROGRAMS: Param = Param {
    name: "programs",
    kind: ParamKind::Integer { default: 1, min: 1, max: 65_535 },
    doc: "Programs that go before the erase at most, each time that it is suspended.",
};

/// The limits of chips for operations that are suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspendLimits {
    /// From the suspend until the array takes reads.
    pub latency: Duration,
    /// Time of the array that a resume costs, besides what is left to do.
    pub resume: Duration,
    /// How long the array works at least between two suspends.
    pub interval: Duration,
    /// It stops only where a whole number of these is left to do; zero: anywhere.
    pub step: Duration,
    /// Suspends of one operation at most.
    pub most: u32,
    /// Programs of the host at most, of each suspend.
    pub programs: u32,
}

impl SuspendLimits {
    /// The limits for programs and for erases; `None`: they are not suspended.
    pub fn of(made: &Choices) -> [Option<SuspendLimits>; 2] {
        [PROGRAM, ERASE].map(|feature| SuspendLimits::new(feature.of(made)))
    }

    /// When an operation that ends at `until` can stop, from `at` on.
    #[inline]
    pub fn between_steps(&self, at: Instant, until: Instant) -> Instant {
        if self.step == Duration::ZERO || at >= until {
            return at;
        }
        Instant(until.0 - (until.0 - at.0) / self.step.0 * self.step.0)
    }

    fn new(selection: &Selection) -> Option<SuspendLimits> {
        (selection.name != "off").then(|| SuspendLimits {
            latency: selection.time("latency"),
            resume: selection.time("resume"),
            interval: selection.time("interval"),
            step: selection.time("step"),
            most: selection.integer("most"),
            programs: if selection.name == "reads-and-writes" { selection.integer("programs") } else { 0 },
        })
    }
}
