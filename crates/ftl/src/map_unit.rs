//! Map units: how much of the host's space has one map entry.

use base::scope::{Area, Scope};
use base::{Choice, Duration, Param, ParamKind, Seam, Selection};

use crate::{FtlSetup, MAX_PAGES, Refusal};

/// Bytes of a unit, by its name.
const SIZES: [(&str, u32); 8] = [
    ("512B", 512),
    ("1KiB", 1 << 10),
    ("2KiB", 2 << 10),
    ("4KiB", 4 << 10),
    ("8KiB", 8 << 10),
    ("16KiB", 16 << 10),
    ("32KiB", 32 << 10),
    ("64KiB", 64 << 10),
];

/// Units of a device at most: the last number means "none".
const MOST: u64 = u32::MAX as u64 - 1;

const PAD_AFTER: Param = Param {
    name: "pad_after",
    kind: ParamKind::Time {
        default: Duration::from_us(1_000),
        min: Duration(1),
        max: Duration::from_us(1_000_000_000),
    },
    doc: "Without a write buffer: a flash page with a unit that the host waits for is filled up with dummy units after so long (executor `timed`).",
};

const fn of(name: &'static str) -> Choice {
    Choice {
        name,
        doc: "A part of a flash page, the units of which are programmed together; a flash page; or one of each plane of a die, \
              which then work in step.",
        params: &[PAD_AFTER],
    }
}

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "map_unit",
    doc: "How much of the host's space has one map entry: a flash page, an equal part of one, or a flash page of each plane of a die.",
    choices: &[
        Choice { name: "page", doc: "A flash page.", params: &[] },
        of("512B"),
        of("1KiB"),
        of("2KiB"),
        of("4KiB"),
        of("8KiB"),
        of("16KiB"),
        of("32KiB"),
        of("64KiB"),
    ],
};

/// Bytes of a unit. `None`: it is a flash page.
pub fn size(selection: &Selection) -> Option<u32> {
    SIZES.iter().find(|(name, _)| *name == selection.name).map(|(_, size)| *size)
}

/// Refuses more units than can be numbered, on a device of so many flash pages of that size: before it has a geometry.
///
/// # Errors
/// If there are.
pub fn check_number(unit: &Selection, page: u32, pages: u64) -> Result<(), Refusal> {
    let number = |size: u32| pages * u64::from(page / size);
    let fits = |size: u32| number(size) <= MOST;
    let Some(size) = size(unit).filter(|&size| size < page && !fits(size)) else { return Ok(()) };
    let larger = SIZES.iter().find(|&&(_, size)| size < page && page.is_multiple_of(size) && fits(size));
    Err(Refusal {
        key: "ftl.map_unit",
        message: format!(
            "{pages} flash pages have {} map units of {}, and units are numbered with 32 bits: there can be {MOST}",
            number(size),
            unit.name
        ),
        help: match larger {
            Some((name, _)) => format!("use `{name}` or a larger part of a page, or a smaller device"),
            None => "use `page`, or a smaller device".into(),
        },
    })
}

/// Refuses a unit that the device cannot have, and what is not modelled with units below the flash page.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let (policies, parts) = (setup.policies, setup.geometry.parts);
    let Some(size) = size(policies.map_unit) else { return Ok(()) };
    let refuse = |message: String, help: String| Err(Refusal { key: "ftl.map_unit", message, help });
    let page = setup.geometry.page_size * parts;
    let print = |bytes: u32| (setup.print_size)(bytes.into());
    let is_in_step = policies.reclaim_unit.name == "superblock";
    if size == page {
        // Also where planes in step make it so large: to the FTL it is a page.
        return Ok(());
    }
    if size > page || !page.is_multiple_of(size) {
        let row = page * setup.geometry.planes_per_die;
        let fits = |name: &str| {
            let is_row = |size| !is_in_step && size == row;
            SIZES.iter().any(|&(other, size)| other == name && (page.is_multiple_of(size) || is_row(size)))
        };
        let fits: Vec<&str> = SEAM.choices.iter().skip(1).map(|choice| choice.name).filter(|name| fits(name)).collect();
        let fits = if fits.is_empty() { String::new() } else { format!(", or one of {}", fits.join(", ")) };
        let name = if is_in_step { "superpage" } else { "flash page" };
        let above = if is_in_step {
            String::new()
        } else {
            format!(", and no flash page of each plane of a die, which are {} together", print(row))
        };
        return refuse(
            format!("a map unit of {} is no part of a {name} of {}{above}", print(size), print(page)),
            format!("use `page`{fits}"),
        );
    }
    if setup.geometry.row_slots() > MAX_PAGES as u32 {
        return refuse(
            format!(
                "{} units would be programmed with one command, and that takes at most {MAX_PAGES}",
                setup.geometry.row_slots()
            ),
            "use larger units, or `ftl.reclaim_unit = \"block\"`".into(),
        );
    }
    if setup.geometry.unit_slots() > u32::from(u16::MAX) {
        return refuse(
            format!(
                "a reclaim unit would have {} map units, and it has at most {}",
                setup.geometry.unit_slots(),
                u16::MAX
            ),
            "use larger units, or fewer pages in a block".into(),
        );
    }
    let is_in_flash = policies.mapping.name == "dftl";
    let others: [(&Selection, &str, &[&str], &str); 2] = [
        (
            policies.mapping,
            "mapping",
            &["page", "dftl"],
            "page mapping, its map in DRAM or in flash: the merges of hybrid mapping put each page at an offset of its own",
        ),
        (
            policies.paired_page,
            "paired_page",
            if is_in_flash { &["none", "page-buffer", "supercap"] } else { &[] },
            "no copies of lower pages where the map is in flash: a translation page is as long as what a copy covers",
        ),
    ];
    for (chosen, seam, only, reason) in others {
        if !only.is_empty() && !only.contains(&chosen.name) {
            let choices: Vec<String> = only.iter().map(|only| format!("`ftl.{seam} = \"{only}\"`")).collect();
            return refuse(
                format!("a unit below the flash page goes with {reason}; `ftl.{seam}` is `{}`", chosen.name),
                format!("set {}, or use `page`", choices.join(" or ")),
            );
        }
    }
    Ok(())
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Ftl,
    name: "Map units",
    keys: &["ftl.map_unit"],
    modelled: "A map entry is of a flash page, of an equal part of one, or of one page of each plane of a die.",
    not_modelled: &[
        "There are no units of some planes of a die, or of several pages of a plane.",
        "Hybrid mapping maps flash pages alone.",
    ],
};
