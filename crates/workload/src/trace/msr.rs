//! MSR Cambridge: `timestamp,host,disk,type,offset,size,response[,flags]`, time in ticks of 100 ns.
//!
//! The optional eighth column is that of captured traces: `-` or words joined by `+`, of which `FUA` and
//! `POSTFUA` matter here; with it `type` may also be `Flush` or `Discard`. A `POSTFUA` flush is what a
//! drive without FUA gets after a FUA write; the modelled drive honours FUA, so it is dropped and counted.

use base::RequestKind;

use super::detect::FirstLines;
use super::fields::{Commas, device, integer};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "msr",
    doc: "MSR Cambridge CSV: timestamp (100 ns),host,disk,type,offset (B),size (B),response[,flags]",
    expected: "`timestamp,host,disk,Read|Write|Flush|Discard,offset,size,response[,flags]`",
    window: WINDOW_SMALL,
    layout: Layout::Headed,
    detect: |sample| sample.percent(|line| Msr.line(line, &mut Sink::new(None)).is_ok()),
    parser: |_: &FirstLines| Box::new(Msr),
};

struct Msr;

/// The words of the flags column that matter.
fn flags(column: &[u8]) -> (bool, bool) {
    let has = |flag: &[u8]| column.split(|&byte| byte == b'+').any(|word| word == flag);
    if column == b"-" { (false, false) } else { (has(b"FUA"), has(b"POSTFUA")) }
}

fn kind(word: &[u8]) -> Option<RequestKind> {
    match word {
        b"Read" => Some(RequestKind::Read),
        b"Write" => Some(RequestKind::Write),
        b"Flush" => Some(RequestKind::Flush),
        b"Discard" => Some(RequestKind::Trim),
        _ if word.eq_ignore_ascii_case(b"read") => Some(RequestKind::Read),
        _ if word.eq_ignore_ascii_case(b"write") => Some(RequestKind::Write),
        _ if word.eq_ignore_ascii_case(b"flush") => Some(RequestKind::Flush),
        _ if word.eq_ignore_ascii_case(b"discard") || word.eq_ignore_ascii_case(b"trim") => Some(RequestKind::Trim),
        _ => None,
    }
}

impl LineParser for Msr {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut columns = Commas::new(line);
        let ticks = integer(columns.column()?).ok_or(Bad("timestamp (column 1) is not a whole number"))?;
        let time = ticks.checked_mul(100).ok_or(Bad("timestamp (column 1) is beyond 64 bits of nanoseconds"))?;
        columns.column()?;
        let disk = device(columns.column()?)?;
        let kind = kind(columns.column()?).ok_or(Bad("type (column 4) is not Read, Write, Flush or Discard"))?;
        let offset = integer(columns.column()?).ok_or(Bad("offset (column 5) is not a whole number"))?;
        let size = integer(columns.column()?).ok_or(Bad("size (column 6) is not a whole number"))?;
        columns.next();
        let (fua, post) = columns.next().map_or((false, false), flags);
        match kind {
            RequestKind::Flush if post => sink.counts.postfua_dropped += 1,
            RequestKind::Flush => sink.flush(time, disk),
            _ => return sink.data(kind, time, disk, offset, size, fua && kind == RequestKind::Write),
        }
        Ok(())
    }
}
