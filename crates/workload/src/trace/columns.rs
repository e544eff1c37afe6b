//! Columns of the user's own: `time=2:us,op=3,offset=5,size=6` says which column is what, and in which unit.
//!
//! A column is a number, from 1, or its name in the first row. Where no column says the operation, `op=W` or `op=R` stands
//! for all requests. Columns stand between commas, semicolons, tabs or blanks, as the first line has them, or as
//! `separator=pipe` says.

use base::RequestKind;

use super::detect::FirstLines;
use super::fields::{MICROSECOND, MILLISECOND, SECOND, device, integer, time, trim};
use super::parser::{Bad, BlockParser, Format, Layout, LineParser, Record, Sink, WINDOW_LARGE};

/// The beginning of the name of a format that is a list of columns.
pub(crate) const PREFIX: &str = "columns:";

pub(super) static FORMAT: Format = Format {
    name: "columns",
    doc: "columns as they are named",
    expected: "the columns that were named, numbers in their units, and an op such as R, W, read, write",
    window: WINDOW_LARGE,
    layout: Layout::Headed,
    detect: |_| 0,
    parser: |_| unreachable!("made by `parser`, of what the user says"),
};

const PARTS: [&str; 6] = ["time", "op", "offset", "size", "device", "hint"];
const TIME: usize = 0;
const OP: usize = 1;
const OFFSET: usize = 2;
const SIZE: usize = 3;
const DEVICE: usize = 4;
const HINT: usize = 5;

const TIMES: &[(&str, u64)] = &[("s", SECOND), ("ms", MILLISECOND), ("us", MICROSECOND), ("ns", 1), ("100ns", 100)];
const SIZES: &[(&str, u64)] = &[("B", 1), ("sector", 512), ("KiB", 1024), ("4KiB", 4096)];
/// Which number is a read and which a write; 0: a word says it.
const OPS: &[(&str, u64)] = &[("word", 0), ("r0w1", 1), ("r1w0", 2)];

/// Separators by name, since a comma stands between parts.
const SEPARATORS: &[(&str, Between)] = &[
    ("comma", Between::Letter(b',')),
    ("semicolon", Between::Letter(b';')),
    ("tab", Between::Letter(b'\t')),
    ("pipe", Between::Letter(b'|')),
    ("colon", Between::Letter(b':')),
    ("blank", Between::Blanks),
];

#[derive(Clone, Copy)]
enum Between {
    Letter(u8),
    Blanks,
}

struct Columns {
    /// The column of each part, from 0; `None` where there is none.
    at: [Option<usize>; 6],
    units: [u64; 6],
    /// The operation of all requests, where no column says it.
    all: Option<RequestKind>,
    between: Between,
}

/// A parser of the columns that `text` names, for a file that begins with `sample`.
pub(super) fn parser(text: &str, sample: &FirstLines<'_>) -> Result<Box<dyn BlockParser>, String> {
    let first = sample.lines.first().copied().unwrap_or_default();
    let letter = [b',', b';', b'\t'].into_iter().find(|letter| first.contains(letter));
    let between = separator(text)?.unwrap_or(letter.map_or(Between::Blanks, Between::Letter));
    let names: Vec<&[u8]> = split(first, between).collect();
    let mut columns = Columns { at: [None; 6], units: [SECOND, 0, 1, 1, 1, 1], all: None, between };
    for word in text.split(',').map(str::trim).filter(|word| !word.starts_with(SEPARATOR)) {
        let (part, place) = word.split_once('=').ok_or_else(|| no_part(word))?;
        let known = PARTS.iter().position(|known| *known == part.trim());
        let part =
            known.ok_or_else(|| format!("`{word}` is none of {}, `separator`", listed(PARTS.iter().copied())))?;
        let (place, unit) = place.split_once(':').map_or((place, None), |(place, unit)| (place, Some(unit.trim())));
        match (column(place.trim(), &names), operation(place.trim().as_bytes())) {
            (Err(_), Some(all)) if part == OP && all != RequestKind::Flush && unit.is_none() => columns.all = Some(all),
            (found, _) => columns.at[part] = Some(found?),
        }
        if let Some(unit) = unit {
            columns.units[part] = factor([TIMES, OPS, SIZES, SIZES, &[], &[]][part], unit, word)?;
        }
    }
    let is_missing = |part: &usize| columns.at[*part].is_none() && (*part != OP || columns.all.is_none());
    match [OP, OFFSET, SIZE].into_iter().find(is_missing) {
        Some(OP) => Err("there is no column for `op`; `op=W` or `op=R` stands for all requests".to_owned()),
        Some(missing) => Err(format!("there is no column for `{}`", PARTS[missing])),
        None => Ok(Box::new(columns)),
    }
}

/// The part that is no column.
const SEPARATOR: &str = "separator=";

/// The separator of columns that the user names, if any.
fn separator(text: &str) -> Result<Option<Between>, String> {
    let word = text.split(',').find_map(|word| word.trim().strip_prefix(SEPARATOR));
    let find = |word: &str| SEPARATORS.iter().find(|(name, _)| *name == word.trim()).map(|(_, between)| *between);
    word.map(|word| {
        find(word).ok_or_else(|| {
            format!("`{SEPARATOR}{word}` is none of {}", listed(SEPARATORS.iter().map(|(name, _)| *name)))
        })
    })
    .transpose()
}

/// The complaint about a column without its part.
fn no_part(word: &str) -> String {
    let column = word.split(':').next().unwrap_or(word).to_ascii_lowercase();
    let part = match &*column {
        "lba" | "lbn" | "sector" | "addr" | "address" => "offset",
        "length" | "len" | "sectors" | "bytes" => "size",
        "ts" | "timestamp" => "time",
        "rw" | "type" => "op",
        "stream" | "handle" | "lifetime" => "hint",
        column if PARTS.contains(&column) => return format!("`{word}` names no column"),
        _ => "offset",
    };
    format!("`{word}` does not say which part the column is: `{part}={word}`?")
}

/// Bytes of a unit of sizes and addresses.
pub(super) fn size_unit(unit: &str, word: &str) -> Result<u64, String> {
    factor(SIZES, unit, word)
}

fn factor(units: &[(&str, u64)], unit: &str, word: &str) -> Result<u64, String> {
    // What people also call them.
    let unit = match unit {
        "sectors" => "sector",
        "byte" | "bytes" => "B",
        unit => unit,
    };
    let found = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    found.ok_or_else(|| format!("`{unit}` in `{word}` is none of {}", listed(units.iter().map(|(name, _)| *name))))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A column's number from 0, by its number from 1 or its name in the first row.
fn column(place: &str, names: &[&[u8]]) -> Result<usize, String> {
    if let Ok(number) = place.parse::<usize>() {
        return number.checked_sub(1).ok_or_else(|| "columns are counted from 1".to_owned());
    }
    let same = |name: &&[u8]| bare(name).eq_ignore_ascii_case(place.as_bytes());
    names.iter().position(same).ok_or_else(|| format!("no column of the first row is called `{place}`"))
}

/// Without quotation marks.
fn bare(name: &[u8]) -> &[u8] {
    name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name)
}

fn split(line: &[u8], between: Between) -> impl Iterator<Item = &[u8]> {
    let is_end = move |byte: &u8| match between {
        Between::Letter(letter) => *byte == letter,
        Between::Blanks => *byte == b' ',
    };
    let is_column = move |column: &&[u8]| matches!(between, Between::Letter(_)) || !column.is_empty();
    line.split(is_end).map(trim).filter(is_column)
}

impl LineParser for Columns {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut parts = [None; 6];
        for (index, column) in split(line, self.between).enumerate() {
            for (part, at) in parts.iter_mut().zip(self.at) {
                if at == Some(index) {
                    *part = Some(bare(column));
                }
            }
        }
        if parts.iter().zip(self.at).any(|(part, at)| at.is_some() && part.is_none()) {
            return Err(Bad("too few columns"));
        }
        let at = parts[TIME].map_or(Ok(0), |text| time(text, self.units[TIME]))?;
        let device = parts[DEVICE].map_or(Ok(0), device)?;
        let kind = parts[OP].map_or(self.all, |op| self.kind(op)).ok_or(Bad("op is none"))?;
        if kind == RequestKind::Flush {
            sink.flush(at, device);
            return Ok(());
        }
        let bytes = |part: usize, what| {
            let number = parts[part].and_then(integer).and_then(|number| number.checked_mul(self.units[part]));
            number.ok_or(Bad(what))
        };
        let (offset, size) =
            (bytes(OFFSET, "offset is not a whole number")?, bytes(SIZE, "size is not a whole number")?);
        let hint = parts[HINT].map_or(Some(0), |text| u16::try_from(integer(text)?).ok());
        let hint = hint.ok_or(Bad("hint is no whole number below 65536"))?;
        sink.hinted(Record { time_ns: at, offset, size, line: sink.counts.lines, device, kind, fua: false, hint })
    }
}

impl Columns {
    fn kind(&self, op: &[u8]) -> Option<RequestKind> {
        match (self.units[OP], op) {
            (1, b"0") | (2, b"1") => return Some(RequestKind::Read),
            (1, b"1") | (2, b"0") => return Some(RequestKind::Write),
            _ => {}
        }
        operation(op)
    }
}

/// The operation that a word stands for.
fn operation(op: &[u8]) -> Option<RequestKind> {
    let is = |words: &[&str]| words.iter().any(|word| op.eq_ignore_ascii_case(word.as_bytes()));
    match () {
        () if is(&["r", "read", "rs"]) => Some(RequestKind::Read),
        () if is(&["w", "write", "ws"]) => Some(RequestKind::Write),
        () if is(&["d", "discard", "trim", "unmap"]) => Some(RequestKind::Trim),
        () if is(&["f", "flush"]) => Some(RequestKind::Flush),
        () => None,
    }
}
