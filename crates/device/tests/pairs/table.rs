//! The table of pairs as text: a cell for each, and the reasons of those that are refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{EXECUTORS, Mechanism, Outcome, Pair};

/// Numbers of reasons. A reason that the table has already keeps its number, so that a lifted refusal changes its own cells.
pub struct Reasons(BTreeMap<String, usize>);

impl Reasons {
    pub fn of(table: &str) -> Reasons {
        let entry = |line: &str| {
            let (number, text) = line.trim_start().split_once("  ")?;
            Some((text.to_string(), number.parse().ok()?))
        };
        Reasons(table.lines().skip_while(|line| *line != LEGEND).filter_map(entry).collect())
    }

    /// The number of a reason; the next one for a new reason.
    pub fn number(&mut self, reason: &str) -> usize {
        let next = self.0.values().max().map_or(1, |last| last + 1);
        *self.0.entry(reason.to_string()).or_insert(next)
    }
}

const LEGEND: &str = "refused";

/// A pair that is accepted, and that nobody ran: not a cell of the table that lies beside the tests.
const ACCEPTED: &str = "?";

/// Lines in which a table differs from what was found, both of them; a pair that nobody ran may be anything, and so may reasons that no
/// pair was refused for.
pub fn differences(table: &str, found: &str) -> Vec<String> {
    let alike = |line: &str, found: &str| {
        let cells = |line: &str| {
            line.chars().skip(NAMES).collect::<Vec<char>>().chunks(3).map(String::from_iter).collect::<Vec<_>>()
        };
        let (cells, found_cells) = (cells(line), cells(found));
        line.chars().take(NAMES).eq(found.chars().take(NAMES))
            && cells.len() == found_cells.len()
            && cells.iter().zip(&found_cells).all(|(cell, found)| cell == found || found.trim_start() == ACCEPTED)
    };
    let [(rows, reasons), (found_rows, found_reasons)] =
        [table, found].map(|text| text.split_once(&format!("\n{LEGEND}\n")).unwrap_or((text, "")));
    let both = (0..rows.lines().count().max(found_rows.lines().count()))
        .map(|at| (rows.lines().nth(at).unwrap_or_default(), found_rows.lines().nth(at).unwrap_or_default()));
    let moved = both.filter(|(line, found)| !alike(line, found)).map(|(line, found)| format!("- {line}\n+ {found}"));
    let is_new = |reason: &&str| !reasons.lines().any(|known| known == *reason);
    let all_ran = !found_rows.contains(ACCEPTED);
    let gone = reasons.lines().filter(|known| all_ran && !found_reasons.lines().any(|reason| reason == *known));
    let added = found_reasons.lines().filter(is_new).map(|reason| format!("+ {reason}"));
    moved.chain(added).chain(gone.map(|reason| format!("- {reason}"))).collect()
}

/// Characters before the first cell of a line.
const NAMES: usize = 24;

const HEAD: &str = "\
Which mechanisms and features of the chip work together. Each cell is a small device that was run with both; on the diagonal with one alone.

+  runs
o  accepted, and not run: no time passes, and without time the feature of the chip changes no figure of a device
~  runs, and the protection of paired pages is none against this fault
.  no device has both: two choices of one key, or two kinds of fault in one life
n  refused, for the reason of this number below

Lives with faults pass without time under both executors, but for those of tenants, which pass in time.
";

/// Letters of the columns.
fn letter(place: usize) -> char {
    ('A'..='Z').chain('a'..='z').chain('0'..='9').chain('α'..='ω').nth(place).expect("no more mechanisms than letters")
}

pub fn table(pairs: &[Pair], outcomes: &[Outcome], reasons: &mut Reasons) -> String {
    let all = Mechanism::all();
    let mut text = HEAD.to_string();
    let mut used = BTreeMap::new();
    let mut cells = outcomes.iter().map(|outcome| {
        let mut numbered = |reason: String| {
            let number = reasons.number(&reason);
            used.insert(number, reason);
            number.to_string()
        };
        match outcome {
            Outcome::Runs => "+".into(),
            Outcome::Accepted => ACCEPTED.into(),
            Outcome::Timeless => "o".into(),
            Outcome::Unprotected => "~".into(),
            Outcome::Excluded => ".".into(),
            Outcome::Refused(reason) => numbered(reason.clone()),
            Outcome::Fault(text) => numbered(format!("FAULT: {}", text.lines().next().unwrap_or_default())),
        }
    });
    for block in pairs.chunks(all.len() * (all.len() + 1) / 2) {
        let executor = EXECUTORS.iter().find(|(_, executor)| *executor == block[0].executor).expect("one of both").0;
        write!(text, "\n{:<24}", format!("{}, {executor}", block[0].mapping)).expect("a string");
        (0..all.len()).for_each(|column| write!(text, "{:>3}", letter(column)).expect("a string"));
        text.push('\n');
        for (row, mechanism) in all.iter().enumerate() {
            write!(text, "{:<24}", format!("{} {}", letter(row), mechanism.name())).expect("a string");
            cells.by_ref().take(row + 1).for_each(|cell| write!(text, "{cell:>3}").expect("a string"));
            text.push('\n');
        }
    }
    drop(cells);
    writeln!(text, "\n{LEGEND}").expect("a string");
    used.iter().for_each(|(number, reason)| writeln!(text, "{number:>3}  {reason}").expect("a string"));
    text
}
