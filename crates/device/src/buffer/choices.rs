//! The write buffers that can be chosen, their parameters, and those that no device can have.

use base::scope::{Area, Scope};
use base::{Choice, Param, ParamKind, Seam, Selection};
use config::Config;

use crate::errors::Refusal;

const PARAMS: &[Param] = &[
    Param {
        name: "size",
        kind: ParamKind::Size { default: 2_097_152, min: 512, max: 1_099_511_627_776 },
        doc: "Bytes of the buffer; whole pages, and no more than the user capacity.",
    },
    Param::word(
        "order",
        &["channel", "global"],
        "`channel`: a channel that is free takes the oldest of its own pages; `global`: pages leave in one order over \
         all channels, so the oldest page holds up the others while its channel is busy or collects.",
    ),
    Param::word(
        "release",
        &["programmed", "transferred"],
        "When the room of a page is free again: when it is `programmed`, so that a program that fails can be repeated, \
         or when its data were `transferred` into the chip's register. Without time they are the same.",
    ),
    Param::word(
        "flush",
        &["full", "free"],
        "When pages leave: while the buffer is `full` or a write waits for room, or whenever a die is `free` to take them and there \
         are as many as it programs together. How full the buffer is then tells how much the host asks for. Without time, that is under `count` and `device`, `free` is `full`.",
    ),
    Param::word(
        "reads",
        &["pass", "wait"],
        "Reads that come while writes wait for room. `pass`: they go first. `wait`: they take their turn behind these writes, as on a \
         drive that begins commands in their order. Without time they are the same.",
    ),
    Param::word(
        "power_loss",
        &["volatile", "protected"],
        "Fate of the buffer when the power goes off. `volatile`: it is lost, so a FLUSH waits until all that is \
         buffered is programmed, and a write with FUA until it is; `protected`: capacitors give the time to save it, \
         and both are done at once.",
    ),
    Param {
        name: "atomic_write",
        kind: ParamKind::Size { default: 0, min: 0, max: 1_099_511_627_776 },
        doc: "Writes of at most so many bytes are not torn by a power cut (AWUPF, NAWUPF). They enter a protected buffer as a whole. Up to a \
              page, in one page, no write is ever torn. Executors without bytes only say so.",
    },
];

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "A write completes when it is programmed.", params: &[] },
    Choice {
        name: "fifo",
        doc: "Shared by all channels; a write completes when it is buffered; flushed when full, in order of arrival \
              (GC forwarding, section 3.1).",
        params: PARAMS,
    },
    Choice {
        name: "lru",
        doc: "As `fifo`, but a page that is written again or read moves to the young end.",
        params: PARAMS,
    },
];

/// The seam, for the configuration reader.
pub(crate) static SEAM: Seam = Seam { key: "write_buffer", doc: "Write buffer in DRAM.", choices: CHOICES };

/// Refuses a buffer that no device can have.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let selection = config.ftl.get("write_buffer");
    if selection.name == "none" {
        return Ok(());
    }
    let refuse = |message: String, help: String| Err(Refusal { key: "ftl.write_buffer", message, help });
    let (size, page) = (selection.size("size"), crate::gang::page_size(config));
    let (print, pages) = (config::print_size, crate::gang::pages_in_words(config));
    if size % page != 0 || size == 0 {
        let below = size / page * page;
        let near = if below == 0 { String::new() } else { format!("{} and ", print(below)) };
        return refuse(
            format!("a write buffer of {} is not a whole number of {pages}", print(size)),
            format!("the nearest: {near}{}", print(below + page)),
        );
    }
    if size > config.device.user_capacity {
        return refuse(
            format!("a write buffer of {} is larger than the user capacity", print(size)),
            format!("`size` can be at most {}", print(config.device.user_capacity)),
        );
    }
    check_units(config, size / page, page)
}

/// Refuses units that a buffer of so many pages cannot keep together.
fn check_units(config: &Config, pages: u64, page: u64) -> Result<(), Refusal> {
    let selection = config.ftl.get("write_buffer");
    let (unit, sector) = (selection.size("atomic_write"), u64::from(crate::gang::SECTOR));
    let print = config::print_size;
    let refuse = |message: String, help: String| Err(Refusal { key: "ftl.write_buffer", message, help });
    if unit % sector != 0 {
        let message =
            format!("writes of {} at most, of which none is torn, are not made of sectors of 512", print(unit));
        return refuse(message, format!("set `atomic_write` to {}", print(unit / sector * sector)));
    }
    if unit > page && !is_protected(selection) {
        return refuse(
            format!(
                "a power cut takes a volatile write buffer along, and pages of a write of {} that were programmed before cannot be taken back",
                print(unit)
            ),
            format!("set `power_loss = \"protected\"`, or `atomic_write` to {} at most", print(page)),
        );
    }
    // It may begin and end within pages.
    if unit > page && unit.div_ceil(page) + 1 > pages {
        return refuse(
            format!("a write buffer of {} does not hold all pages of a write of {}", print(pages * page), print(unit)),
            format!("`atomic_write` can be at most {}", print((pages.max(2) - 1) * page)),
        );
    }
    Ok(())
}

/// The largest write that a protected buffer takes as a whole, if it is more than a page may be.
pub(crate) fn largest_unit(selection: &Selection) -> Option<u64> {
    if is_protected(selection) { Some(selection.size("atomic_write")).filter(|&unit| unit > 0) } else { None }
}

/// True if a buffer keeps its pages when the power goes off.
pub(crate) fn is_protected(selection: &Selection) -> bool {
    selection.name != "none" && selection.word("power_loss") == "protected"
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Time,
    name: "Write buffer",
    keys: &["ftl.write_buffer"],
    modelled: "Pages in DRAM, volatile or protected, merge writes and answer reads.",
    not_modelled: &[
        "Its transfers to and from DRAM take no time.",
        "It holds no data that were only read, and there is no read-ahead.",
        "Units leave when there are enough for a row, whatever their hints: rows of several hints are begun side by side.",
        "Without time a FLUSH fills up every row that was begun, those of copies too.",
    ],
};
