//! A registry with the shape of the real one, so that these tests need no policy.

use base::{Choice, Duration, Param, ParamKind, Seam};
use base::{cache, programming, slc, slow_die, suspend, transfer};
use config::Registry;

const fn plain(name: &'static str) -> Choice {
    Choice { name, doc: "A choice without parameters.", params: &[] }
}

const fn whole(name: &'static str, default: u32, min: u32, max: u32) -> Param {
    Param { name, kind: ParamKind::Integer { default, min, max }, doc: "A whole number." }
}

const fn fraction(name: &'static str, default: f64, max: f64) -> Param {
    Param { name, kind: ParamKind::Number { default, min: 0.0, max }, doc: "A fraction." }
}

macro_rules! seam {
    ($name:ident, $key:literal, [$($choice:expr),+ $(,)?]) => {
        static $name: Seam = Seam { key: $key, doc: "A seam.", choices: &[$($choice),+] };
    };
}

seam!(
    MAPPING,
    "mapping",
    [
        plain("page"),
        Choice {
            name: "fast",
            doc: "Hybrid.",
            params: &[
                whole("log_blocks", 0, 0, 16_777_216),
                Param::word("broken", &["merge", "fill", "waste"], "What becomes of it."),
                Param::word("start", &["always", "if-spare", "bounded"], "When it begins."),
                whole("reused_blocks", 4, 1, 16_777_216),
                Param::word("gather", &["all", "victim"], "What is merged."),
            ],
        },
    ]
);
seam!(BINDING, "binding", [plain("static"), plain("dynamic")]);
seam!(ALLOCATION, "allocation", [plain("CWDP"), plain("PDWC"), plain("F"), plain("D"), plain("F2")]);
seam!(BLOCK_ALLOCATION, "block_allocation", [plain("first-fit"), plain("least-worn")]);
seam!(
    RECLAIM_UNIT,
    "reclaim_unit",
    [
        plain("block"),
        Choice { name: "twin", doc: "In pairs.", params: &[fraction("neighbours", 0.1, 1.0)] },
        Choice {
            name: "superblock",
            doc: "In step.",
            params: &[Param::word("over", &["channels", "planes", "channels-and-planes"], "What is.")],
        },
    ]
);
seam!(
    VICTIM,
    "victim",
    [
        plain("greedy"),
        Choice { name: "rga", doc: "d drawn at random.", params: &[whole("d", 10, 1, 65_536)] },
        plain("cost-benefit"),
        plain("fifo"),
        plain("random"),
        Choice { name: "stable-greedy", doc: "Greedy among the settled.", params: &[fraction("settle", 0.01, 1.0)] },
    ]
);
seam!(
    GC_SCHEDULE,
    "gc_schedule",
    [
        Choice { name: "threshold", doc: "Mandatory only.", params: &[whole("free_blocks", 2, 1, 65_536)] },
        Choice {
            name: "forwarding",
            doc: "When a channel is out of pages.",
            params: &[
                whole("free_blocks", 2, 1, 65_536),
                whole("spare_blocks", 200, 1, 16_777_216),
                Param::word("trigger", &["congestion", "empty"], "When."),
                Param::word("scope", &["channel", "die"], "What."),
                Param::word("preempt", &["on", "off"], "Whether it can be suspended."),
            ],
        },
        Choice {
            name: "cycle-filling",
            doc: "When another channel collects.",
            params: &[
                whole("free_blocks", 2, 1, 65_536),
                whole("spare_blocks", 200, 1, 16_777_216),
                Param::word("pace", &["initiator", "own", "kind"], "How fast."),
                Param::word("preempt", &["on", "off"], "Whether it can be suspended."),
            ],
        },
        Choice {
            name: "paced",
            doc: "In step with the host.",
            params: &[whole("free_blocks", 2, 1, 65_536), whole("low", 2, 1, 65_536)],
        },
        Choice {
            name: "background",
            doc: "In idle time.",
            params: &[
                whole("free_blocks", 2, 1, 65_536),
                Param {
                    name: "idle",
                    kind: ParamKind::Time {
                        default: Duration(1_000_000),
                        min: Duration(0),
                        max: Duration(3_600_000_000_000)
                    },
                    doc: "How long.",
                },
            ],
        },
    ]
);
seam!(
    MIGRATION,
    "migration",
    [
        plain("off-chip"),
        Choice {
            name: "rcpb",
            doc: "Copybacks.",
            params: &[
                Param::word("quota", &["block", "page"], "By what."),
                Param::word("aware", &["quality", "worst"], "Of what."),
                Param {
                    name: "selector",
                    kind: ParamKind::Flag { default: false },
                    doc: "Whether it looks at the buffer.",
                },
                fraction("fill", 0.5, 1.0),
            ],
        },
    ]
);
seam!(
    MAP_UNIT,
    "map_unit",
    [
        plain("page"),
        Choice {
            name: "4KiB",
            doc: "A part of a page.",
            params: &[Param {
                name: "pad_after",
                kind: ParamKind::Time { default: Duration(1_000_000), min: Duration(1), max: Duration(1_000_000_000) },
                doc: "How long.",
            }],
        },
        plain("64KiB"),
    ]
);
seam!(RECLAIM_ACROSS, "reclaim_across", [plain("none"), plain("dies")]);
seam!(
    SEPARATION,
    "separation",
    [plain("none"), plain("host-gc"), Choice { name: "dac", doc: "Regions.", params: &[whole("regions", 4, 2, 8)] }]
);
seam!(
    PAIRED_PAGE,
    "paired_page",
    [
        plain("none"),
        plain("lsb-backup"),
        Choice { name: "gcmix", doc: "Mixed.", params: MIXING },
        Choice { name: "gcmix-adaptive", doc: "Mixed, by a threshold.", params: ADAPTIVE },
    ]
);

const HOLD: Param = Param { name: "hold", kind: ParamKind::Flag { default: true }, doc: "Yes or no." };
const MIXING: &[Param] = &[whole("low", 1, 0, 65_536), whole("high", 10, 2, 65_536), HOLD];
const ADAPTIVE: &[Param] = &[MIXING[0], MIXING[1], MIXING[2], fraction("tau", 10.0, 1e12)];
seam!(
    READ_DISTURB,
    "read_disturb",
    [
        plain("ignore"),
        Choice {
            name: "ipr",
            doc: "In place.",
            params: &[
                fraction("low_density", 0.15, 0.5),
                fraction("monitor", 0.1, 0.5),
                fraction("pool", 0.2, 1.0),
                Param::word("pool_victims", &["any", "gaining"], "Of the pool."),
                fraction("recent", 0.0625, 1000.0),
                whole("at_once", 1, 1, 3),
            ],
        },
    ]
);
const fn days(name: &'static str, days: u64) -> Param {
    const DAY: u64 = 86_400_000_000_000;
    let kind = ParamKind::Time { default: Duration(DAY * days), min: Duration(1_000_000), max: Duration(DAY * 3650) };
    Param { name, kind, doc: "How long." }
}
const RETRIES: Param = whole("retries", 3, 0, 63);
seam!(
    REFRESH,
    "refresh",
    [
        plain("none"),
        Choice { name: "age", doc: "By age.", params: &[days("age", 30)] },
        Choice { name: "errors", doc: "By errors.", params: &[RETRIES, days("least_age", 1)] },
        Choice { name: "patrol", doc: "By a patrol.", params: &[days("period", 14), RETRIES, days("least_age", 1)] },
    ]
);
seam!(
    WEAR_LEVELING,
    "wear_leveling",
    [
        plain("none"),
        Choice { name: "static", doc: "By a threshold.", params: &[whole("threshold", 20, 1, 1_000_000)] },
        Choice { name: "swap", doc: "Into worn ones.", params: &[whole("threshold", 20, 1, 1_000_000)] },
    ]
);
const SHARE: Param = fraction("share", 1.0, 1.0);
const WHEN_FULL: Param = Param::word("when_full", &["direct", "fold-through"], "What a write does.");
const FOLD: Param = Param::word("fold", &["mark", "need", "idle"], "When.");
const FOLD_LENT: Param = Param::word("fold", &["need", "mark", "idle"], "When.");
const LOW_MARK: Param = fraction("low_mark", 0.25, 1.0);
seam!(
    SLC_CACHE,
    "slc_cache",
    [
        plain("off"),
        Choice {
            name: "static",
            doc: "Blocks set apart.",
            params: &[whole("blocks", 4, 1, 65_536), WHEN_FULL, FOLD, LOW_MARK]
        },
        Choice {
            name: "dynamic",
            doc: "Free blocks.",
            params: &[SHARE, whole("leave", 2, 1, 65_536), WHEN_FULL, FOLD_LENT, LOW_MARK]
        },
        Choice {
            name: "both",
            doc: "Both.",
            params: &[whole("blocks", 4, 1, 65_536), SHARE, whole("leave", 2, 1, 65_536), WHEN_FULL, FOLD, LOW_MARK]
        },
    ]
);
seam!(
    WRITE_BUFFER,
    "write_buffer",
    [
        plain("none"),
        Choice {
            name: "fifo",
            doc: "A buffer.",
            params: &[
                Param {
                    name: "size",
                    kind: ParamKind::Size { default: 32_768, min: 512, max: 1_099_511_627_776 },
                    doc: "Its size.",
                },
                Param::word("order", &["channel", "global"], "Whose turn it is."),
                Param::word("release", &["programmed", "transferred"], "When its room is free."),
                Param::word("flush", &["full", "free"], "When pages leave."),
                Param::word("reads", &["pass", "wait"], "Whether they wait."),
                Param::word("power_loss", &["volatile", "protected"], "Whether it is saved."),
            ],
        },
    ]
);
seam!(
    SCHEDULER,
    "scheduler",
    [
        plain("fifo"),
        Choice {
            name: "paq",
            doc: "Reads first.",
            params: &[Param {
                name: "max_wait",
                kind: ParamKind::Time { default: Duration(0), min: Duration(0), max: Duration(3_600_000_000_000) },
                doc: "For how long.",
            }],
        },
    ]
);

seam!(DEALLOCATED_READS, "deallocated_reads", [plain("zeros"), plain("ones")]);

static GENERATORS: &[Choice] = &[
    plain("uniform"),
    plain("sequential"),
    Choice { name: "zipf", doc: "Zipf's law.", params: &[fraction("z", 0.9, 2.0)] },
    Choice {
        name: "hot-cold",
        doc: "Two classes.",
        params: &[fraction("data", 0.1, 1.0), fraction("writes", 0.9, 1.0)],
    },
];

/// The trace formats.
static TRACE_FORMATS: &[&str] = &[
    "iolog",
    "etw",
    "msr",
    "spc",
    "alibaba",
    "vscsi",
    "vscsi-s",
    "tencent",
    "ssdsim",
    "ssdsim-us",
    "disksim",
    "flashsim",
    "ms-bytes",
    "biotracer",
    "blkparse",
    "block-events",
    "biosnoop",
    "systor",
    "fiu",
    "lcs",
    "vscsi-binary",
    "oracle-general",
];

/// The registry of these tests.
pub fn registry() -> Registry {
    let seams = vec![
        &MAPPING,
        &MAP_UNIT,
        &BINDING,
        &ALLOCATION,
        &BLOCK_ALLOCATION,
        &RECLAIM_UNIT,
        &VICTIM,
        &RECLAIM_ACROSS,
        &GC_SCHEDULE,
        &MIGRATION,
        &SEPARATION,
        &PAIRED_PAGE,
        &READ_DISTURB,
        &REFRESH,
        &WEAR_LEVELING,
        &SLC_CACHE,
        &WRITE_BUFFER,
        &SCHEDULER,
        &DEALLOCATED_READS,
    ];
    let features = vec![
        &programming::PROGRAMMING,
        &cache::READ,
        &cache::PROGRAM,
        &suspend::PROGRAM,
        &suspend::ERASE,
        &transfer::READ_TRANSFER,
        &slow_die::SLOW_DIE,
        &slc::SLC_MODE,
        &nand::media::MEDIA,
        &nand::BAD_BLOCKS,
    ];
    Registry { features, seams, generators: GENERATORS, own: &["victim", "allocation"], trace_formats: TRACE_FORMATS }
}
