//! Block events as text: ftrace's `trace_pipe`, `trace-cmd report` and `perf script`.
//!
//! A line is `task-pid [cpu] flags time: event: major,minor rwbs bytes (command) sector + nsectors [task]` (the kernel's
//! include/trace/events/block.h); `perf script` puts `block:` before the event. Kernels from 6.11 on have an I/O priority
//! before the last word. One event is taken: `block_rq_issue` if the sample has any, else `block_bio_queue`, else
//! `block_rq_complete`. A request that is issued, given back (`block_rq_requeue`) and issued again is one request. All other
//! lines, such as events of other kinds and stack traces, are no requests.

use super::detect::FirstLines;
use super::fields::{SECOND, Words, scaled, time, trim};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_LARGE};
use super::rwbs::{Rwbs, device_number};

pub(super) const FORMAT: Format = Format {
    name: "block-events",
    doc: "trace_pipe, trace-cmd report and perf script: task-pid [cpu] flags time (s): block_rq_issue: major,minor rwbs bytes () sector + nsectors (512 B) [task]",
    expected: "`task-pid [cpu] flags time: block_rq_issue: major,minor rwbs bytes () sector + nsectors [task]`",
    window: WINDOW_LARGE,
    layout: Layout::Lines,
    detect: |sample| if EVENTS.iter().any(|event| has(sample, event)) { 100 } else { 0 },
    parser: |sample: &FirstLines<'_>| {
        let event = EVENTS.iter().find(|event| has(sample, event)).unwrap_or(&EVENTS[0]);
        Box::new(BlockEvents { event })
    },
};

/// Events that stand for a request, the better ones first.
const EVENTS: [&str; 3] = ["block_rq_issue", "block_bio_queue", "block_rq_complete"];
const REQUEUE: &str = "block_rq_requeue";

struct BlockEvents {
    event: &'static str,
}

/// Time and arguments of an event of that name.
fn find<'a>(line: &'a [u8], event: &str) -> Option<(&'a [u8], &'a [u8])> {
    let at = memchr::memmem::find(line, event.as_bytes())?;
    let arguments = line[at + event.len()..].strip_prefix(b":")?;
    let before = &line[..at];
    let before = trim(before.strip_suffix(b"block:").unwrap_or(before)).strip_suffix(b":")?;
    Some((Words::new(before).last()?, arguments))
}

fn has(sample: &FirstLines<'_>, event: &str) -> bool {
    let sound = |(at, arguments)| parse(at, arguments).is_ok();
    sample.lines.iter().any(|line| find(line, event).is_some_and(sound))
}

/// A request: time, device, letters, and first byte and bytes where it has any.
type BlockEvent = (u64, u32, Rwbs, Option<(u64, u64)>);

fn parse(at: &[u8], arguments: &[u8]) -> Result<BlockEvent, Bad> {
    if !at.contains(&b'.') {
        return Err(Bad("time is not in seconds with a decimal point; another trace clock counts in other units"));
    }
    let at = time(at, SECOND)?;
    let mut words = Words::new(arguments);
    let device = device_number(words.column()?)?;
    let rwbs = Rwbs::parse(words.column()?)?;
    let range = match range(words) {
        Err(_) if rwbs.goes_without_range() => None,
        range => Some(range?),
    };
    Ok((at, device, rwbs, range))
}

/// `sector + nsectors` in bytes, behind bytes and command.
fn range(words: Words<'_>) -> Result<(u64, u64), Bad> {
    let mut before: &[u8] = b"";
    let mut words = words;
    while let Some(word) = words.next() {
        if word == b"+" {
            let offset = scaled(before, 512, "sector is not a sector number")?;
            return Ok((offset, scaled(words.column()?, 512, "nsectors is not a number of sectors")?));
        }
        before = word;
    }
    Err(Bad("no `sector + nsectors`"))
}

impl LineParser for BlockEvents {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if let Some((at, arguments)) = find(line, self.event) {
            let (at, device, rwbs, range) = parse(at, arguments)?;
            return rwbs.put(at, device, range, sink);
        }
        match find(line, REQUEUE) {
            Some((at, arguments)) if self.event == EVENTS[0] => {
                let (at, device, rwbs, range) = parse(at, arguments)?;
                rwbs.give_back(at, device, range, sink);
            }
            _ => sink.other(),
        }
        Ok(())
    }
}
