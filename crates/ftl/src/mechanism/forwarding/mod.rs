//! When garbage collection runs: the choices, and what each asks for.
//!
//! *Foreground GC* begins when the domain needs its room before it takes another page, by itself and under every schedule
//! (Wen and Chang call it mandatory). *Forward GC* is begun ahead of need, and suspended, by the executor with time, which
//! knows who is idle ([`crate::Ftl::begin_forward`], [`crate::Ftl::suspend`]).

use base::scope::{Area, Scope};
use base::{Choice, Duration, Param, ParamKind, Seam, Selection};

const FREE_BLOCKS: Param = Param {
    name: "free_blocks",
    kind: ParamKind::Integer { default: 2, min: 1, max: 65_536 },
    doc: "Blocks held free in every plane while garbage collection keeps up.",
};

const fn spare_blocks(default: u32) -> Param {
    Param {
        name: "spare_blocks",
        kind: ParamKind::Integer { default, min: 1, max: 16_777_216 },
        doc: "Forward GC begins only in a plane with at most so many spare blocks (N_s of GC forwarding): free ones or, \
              under hybrid mapping, log blocks that are not in use.",
    }
}

const fn window(name: &'static str, doc: &'static str) -> Param {
    Param {
        name,
        kind: ParamKind::Time { default: Duration(100_000_000), min: Duration(1000), max: Duration(3_600_000_000_000) },
        doc,
    }
}

const PREEMPT: Param = Param::word(
    "preempt",
    &["on", "off"],
    "`on`: forward GC is suspended between two page copies or, under hybrid mapping, between two logical blocks of a full \
     merge; `off`: it goes on to its end.",
);

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "gc_schedule",
    doc: "When garbage collection runs.",
    choices: &[
        Choice {
            name: "threshold",
            doc: "Foreground GC only: when a plane's frontier is full and at most `free_blocks` of its blocks are free.",
            params: &[FREE_BLOCKS],
        },
        Choice {
            name: "forwarding",
            doc: "Also forward GC when a channel has nothing to write and would be idle (GC forwarding, section 3.2); \
                  suspended when pages arrive.",
            params: &[
                FREE_BLOCKS,
                spare_blocks(200),
                Param::word(
                    "trigger",
                    &["congestion", "empty"],
                    "`congestion`: only while another channel is in foreground GC, which is what fills the write buffer; \
                     `empty`: whenever there is nothing to write.",
                ),
                Param::word(
                    "scope",
                    &["channel", "die"],
                    "`channel`: forward GC starts when a whole channel has nothing to write while another channel is in foreground \
                     GC; `die`: when a die has nothing to write while another die is.",
                ),
                PREEMPT,
            ],
        },
        Choice {
            name: "cycle-filling",
            doc: "Also forward GC in all other planes while one is in foreground GC (GC forwarding, section 3.4); suspended \
                  when that one ends.",
            params: &[
                FREE_BLOCKS,
                spare_blocks(200),
                Param::word(
                    "pace",
                    &["initiator", "own", "kind"],
                    "`initiator`: step by step along with that one, so that planes of a die share their commands; `own`: as \
                     fast as each can; `kind`: copies, and updates of a map in flash, as fast as each can, and an erase with \
                     that one's or when no page can be copied before it; steps of a kind share a command whatever they are \
                     for, and a plane that is busy with its map when that one begins follows when it is done.",
                ),
                PREEMPT,
            ],
        },
        Choice {
            name: "paced",
            doc: "In step with the host's writes: from `low` blocks above `free_blocks` on a few pages of a victim move after \
                  each write of the host, so many that the victim is empty when its room is needed; no write waits for a whole \
                  collection.",
            params: &[
                FREE_BLOCKS,
                Param {
                    name: "low",
                    kind: ParamKind::Integer { default: 2, min: 1, max: 65_536 },
                    doc: "Blocks above `free_blocks` at which it begins, free ones and what is free of active blocks together.",
                },
            ],
        },
        Choice {
            name: "windows",
            doc: "In turns with NVMe's Predictable Latency Mode: in a deterministic window (DTWIN) no collection and no erase begins; \
                  the non-deterministic one (NDWIN) before it collects ahead of need. A drive that has to collect leaves the window.",
            params: &[
                FREE_BLOCKS,
                Param {
                    name: "stock",
                    kind: ParamKind::Integer { default: 1, min: 1, max: 65_536 },
                    doc: "Blocks of every plane above `free_blocks` that are free before a deterministic window: as many can be written \
                          in it.",
                },
                window("deterministic", "How long a deterministic window is, unless the drive leaves it."),
                window("nondeterministic", "How long lies between two of them; a run begins with that."),
            ],
        },
        Choice {
            name: "background",
            doc: "Also forward GC when a die has been idle for a while; suspended when the host writes.",
            params: &[
                FREE_BLOCKS,
                spare_blocks(16),
                Param {
                    name: "idle",
                    kind: ParamKind::Time {
                        default: Duration(1_000_000),
                        min: Duration(0),
                        max: Duration(3_600_000_000_000),
                    },
                    doc: "How long a die has to be idle first.",
                },
                PREEMPT,
            ],
        },
    ],
};

/// The event that begins forward GC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No event: GC runs in the foreground alone.
    Threshold,
    /// Having run out of pages to write.
    Forwarding {
        /// Only while another channel or die is in foreground GC.
        congestion: bool,
        /// True if dies run out of pages, not channels.
        by_die: bool,
    },
    /// Foreground GC elsewhere.
    CycleFilling(Pace),
    /// The host's writes, from so many units above the reserve on.
    Paced {
        /// Units above the reserve.
        low: u32,
    },
    /// A non-deterministic window.
    Windows {
        /// Units above the reserve that it makes free.
        stock: u32,
        /// How long the others are.
        deterministic: Duration,
        /// How long it is.
        nondeterministic: Duration,
    },
    /// Having been idle.
    Background {
        /// For how long.
        idle: Duration,
    },
}

/// How collections that fill the time of another one keep step with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// With each page or logical block, and with its erase.
    Initiator,
    /// Not at all.
    Own,
    /// With the kind of its operations: copies while it copies or updates its map, and erases with its own.
    Kind,
}

/// The schedule that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The event that begins forward GC.
    pub kind: Kind,
    /// With more spare units in a domain none begins there.
    pub spare_units: u32,
    /// True if one that was begun can be suspended.
    pub preempts: bool,
}

impl Schedule {
    /// The schedule of a selection of this seam.
    pub fn new(selection: &Selection) -> Schedule {
        let kind = match selection.name {
            "forwarding" => Kind::Forwarding {
                congestion: selection.word("trigger") == "congestion",
                by_die: selection.word("scope") == "die",
            },
            "cycle-filling" => Kind::CycleFilling(match selection.word("pace") {
                "initiator" => Pace::Initiator,
                "own" => Pace::Own,
                _ => Pace::Kind,
            }),
            "background" => Kind::Background { idle: selection.time("idle") },
            // Free space says when it begins, and it always gives way to the host.
            "paced" => {
                let kind = Kind::Paced { low: selection.integer("low") };
                return Schedule { kind, spare_units: u32::MAX, preempts: true };
            }
            "windows" => {
                let kind = Kind::Windows {
                    stock: selection.integer("stock"),
                    deterministic: selection.time("deterministic"),
                    nondeterministic: selection.time("nondeterministic"),
                };
                return Schedule { kind, spare_units: u32::MAX, preempts: true };
            }
            _ => return Schedule { kind: Kind::Threshold, spare_units: 0, preempts: false },
        };
        Schedule { kind, spare_units: selection.integer("spare_blocks"), preempts: selection.word("preempt") == "on" }
    }

    /// Where collections keep step with the host: so many units above the reserve they begin.
    pub fn paced(self) -> Option<u32> {
        if let Kind::Paced { low } = self.kind { Some(low) } else { None }
    }

    /// Units above the reserve that are to be free before a deterministic window; none under other schedules.
    pub fn stock(self) -> u32 {
        if let Kind::Windows { stock, .. } = self.kind { stock } else { 0 }
    }

    /// True if there is no forward GC.
    #[inline]
    pub fn is_threshold(self) -> bool {
        self.kind == Kind::Threshold
    }
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Ftl,
    name: "Schedule of GC",
    keys: &["ftl.gc_schedule"],
    modelled: "Collections run when room is short, ahead of need in idle time, in step with the host, or outside deterministic windows.",
    not_modelled: &[
        "Without time nothing is idle: only `threshold` and `paced` run there.",
        "Hybrid mapping refuses `paced` and `windows`.",
    ],
};

#[cfg(test)]
mod tests {
    use base::ParamValue;

    use super::*;

    #[test]
    fn a_choice_says_what_begins_a_collection_ahead_of_need() {
        let schedule = |name: &str, params: &[(&str, ParamValue)]| {
            let mut selection = Selection::default_of(SEAM.find(name).expect("a schedule"));
            for (param, value) in params {
                selection.set(param, *value);
            }
            Schedule::new(&selection)
        };
        assert!(schedule("threshold", &[]).is_threshold() && !schedule("threshold", &[]).preempts);
        let forwarding =
            schedule("forwarding", &[("trigger", "empty".into()), ("scope", "die".into()), ("spare_blocks", 7.into())]);
        assert_eq!(forwarding.kind, Kind::Forwarding { congestion: false, by_die: true });
        assert!(forwarding.preempts && forwarding.spare_units == 7);
        let by_channel = schedule("forwarding", &[("scope", "channel".into()), ("preempt", "off".into())]);
        assert_eq!(by_channel.kind, Kind::Forwarding { congestion: true, by_die: false });
        assert!(!by_channel.preempts);
        for (word, pace) in [("initiator", Pace::Initiator), ("own", Pace::Own), ("kind", Pace::Kind)] {
            assert_eq!(schedule("cycle-filling", &[("pace", word.into())]).kind, Kind::CycleFilling(pace));
        }
        assert_eq!(schedule("paced", &[("low", 5.into())]).kind, Kind::Paced { low: 5 });
        let windows = schedule("windows", &[("stock", 7.into()), ("deterministic", Duration(5000).into())]);
        assert!((windows.stock(), schedule("paced", &[]).stock()) == (7, 0) && windows.preempts);
        let idle = Kind::Background { idle: Duration(5) };
        assert_eq!(schedule("background", &[("idle", Duration(5).into())]).kind, idle);
    }
}
