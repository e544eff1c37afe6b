//! The text of `blkparse`: one line per event of a request's way through the block layer.
//!
//! The default layout is `major,minor cpu sequence time pid action rwbs sector + nsectors [command]`; a
//! layout without the device, which begins with the time, is read as well. One action is taken: dispatch
//! (`D`) if the sample has any, else queueing (`Q`), else completion (`C`). A request that is dispatched, given back
//! (`R`, a requeue) and dispatched again is one request.
//!
//! Files are written buffer by buffer, one per processor, so lines are out of order by whole buffers: hence
//! the large window. Now and then a line carries the wall clock instead of the time since the start; a line
//! on the other side of 10^9 s (September 2001) from the median of the sample is dropped and counted.

use super::detect::FirstLines;
use super::fields::{SECOND, Words, integer, scaled, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_LARGE};
use super::rwbs::{Rwbs, device_number};

pub(super) const FORMAT: Format = Format {
    name: "blkparse",
    doc: "blkparse text: [major,minor] cpu sequence time (s) pid action rwbs sector + nsectors (512 B) [command]",
    expected: "`major,minor cpu sequence time pid action rwbs sector + nsectors [command]`, or \
               `time cpu sequence pid action rwbs sector + nsectors [command]`",
    window: WINDOW_LARGE,
    layout: Layout::Lines,
    detect: |sample| sample.percent(|line| TraceEvent::parse(line).is_ok_and(|event| event.is_some())),
    parser: |sample: &FirstLines| Box::new(Blkparse::new(sample)),
};

/// Times on either side of this are of different clocks.
const WALL_CLOCK: u64 = 1_000_000_000 * SECOND;

struct Blkparse {
    action: u8,
    wall_clock: bool,
}

/// The columns that every event has.
struct TraceEvent<'a> {
    device: u32,
    time: u64,
    action: &'a [u8],
    rest: Words<'a>,
}

/// The words that lines of the summary at the end begin with.
const SUMMARY: [&[u8]; 12] = [
    b"CPU",
    b"Total",
    b"Reads",
    b"Read",
    b"Writes",
    b"Write",
    b"IO",
    b"Throughput",
    b"Events",
    b"Skips:",
    b"Timer",
    b"Input",
];

impl<'a> TraceEvent<'a> {
    /// The event of a line; `None` for a line of the summary.
    fn parse(line: &'a [u8]) -> Result<Option<TraceEvent<'a>>, Bad> {
        let mut words = Words::new(line);
        let first = words.column()?;
        if !first[0].is_ascii_digit() {
            let summary = SUMMARY.contains(&first) || first.starts_with(b"CPU");
            return if summary { Ok(None) } else { Err(Bad("line is neither an event nor of the summary")) };
        }
        let event = if first.contains(&b',') {
            words.column()?;
            words.column()?;
            let at = time(words.column()?, SECOND)?;
            let device = device_number(first)?;
            integer(words.column()?).ok_or(Bad("pid is not a number"))?;
            TraceEvent { device, time: at, action: words.column()?, rest: words }
        } else if first.contains(&b'.') {
            let at = time(first, SECOND)?;
            words.column()?;
            words.column()?;
            integer(words.column()?).ok_or(Bad("pid is not a number"))?;
            TraceEvent { device: 0, time: at, action: words.column()?, rest: words }
        } else {
            return Err(Bad("line begins neither with a device nor with a time"));
        };
        if event.action.len() > 2 || !event.action[0].is_ascii_alphabetic() {
            return Err(Bad("action is not a letter"));
        }
        Ok(Some(event))
    }
}

impl Blkparse {
    fn new(sample: &FirstLines) -> Blkparse {
        let events = || sample.lines.iter().filter_map(|line| TraceEvent::parse(line).ok().flatten());
        let has = |action: u8| events().any(|event| event.action == [action]);
        let action = [b'D', b'Q', b'C'].into_iter().find(|&action| has(action)).unwrap_or(b'D');
        let mut times: Vec<u64> = events().map(|event| event.time).collect();
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or(0);
        Blkparse { action, wall_clock: median >= WALL_CLOCK }
    }
}

impl LineParser for Blkparse {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        // Only what is dispatched may be given back, and is then dispatched once more.
        let given_back = |event: &TraceEvent<'_>| self.action == b'D' && event.action == b"R";
        let wanted = |event: &TraceEvent<'_>| event.action == [self.action] || given_back(event);
        let Some(mut event) = TraceEvent::parse(line)?.filter(wanted) else {
            sink.other();
            return Ok(());
        };
        let rwbs = Rwbs::parse(event.rest.column()?)?;
        if (event.time >= WALL_CLOCK) != self.wall_clock {
            sink.counts.stray_times += 1;
            return Ok(());
        }
        let range = match range(&mut event.rest) {
            Err(_) if rwbs.goes_without_range() => None,
            range => Some(range?),
        };
        if given_back(&event) {
            rwbs.give_back(event.time, event.device, range, sink);
            return Ok(());
        }
        rwbs.put(event.time, event.device, range, sink)
    }
}

/// `sector + nsectors` in bytes.
fn range(words: &mut Words) -> Result<(u64, u64), Bad> {
    let sector = words.column()?;
    if words.column()? != b"+" {
        return Err(Bad("no `sector + nsectors`"));
    }
    let offset = scaled(sector, 512, "sector is not a sector number")?;
    Ok((offset, scaled(words.column()?, 512, "nsectors is not a number of sectors")?))
}
