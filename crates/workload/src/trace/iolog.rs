//! fio's iolog, versions 2 and 3.
//!
//! Version 2 is `file action [offset length]` and has no times but `wait` lines: microseconds from the wait
//! before. Version 3 puts the time in microseconds before each line and has no `wait`. `add`, `open` and
//! `close` are no requests; `sync` and `datasync` are flushes. Files are numbered as devices in the order in
//! which they appear.

use base::RequestKind;

use super::detect::FirstLines;
use super::fields::{MICROSECOND, Words, integer, time};
use super::names::Names;
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "iolog",
    doc: "fio iolog v2 or v3: [time (us)] file action [offset (B) length (B)]",
    expected: "v2 `file action [offset length]` or v3 `time file action [offset length]`, with action one of add, open, close, \
               read, write, trim, sync, datasync (v2: also wait)",
    window: WINDOW_SMALL,
    layout: Layout::Lines,
    detect: |sample| if version(sample.lines.first().copied()).is_some() { 100 } else { 0 },
    parser: |sample: &FirstLines| {
        let version = version(sample.lines.first().copied()).unwrap_or(3);
        Box::new(Iolog { version, clock_ns: 0, files: Names::default() })
    },
};

struct Iolog {
    version: u64,
    /// Version 2: the time of the last `wait`.
    clock_ns: u64,
    files: Names,
}

/// The version in the first line.
fn version(line: Option<&[u8]>) -> Option<u64> {
    match line? {
        b"fio version 2 iolog" => Some(2),
        b"fio version 3 iolog" => Some(3),
        _ => None,
    }
}

impl Iolog {
    /// `wait` of version 2: the clock goes on.
    fn wait(&mut self, microseconds: &[u8]) -> Result<(), Bad> {
        let gap = time(microseconds, MICROSECOND)?;
        self.clock_ns = self.clock_ns.checked_add(gap).ok_or(Bad("waits add up beyond 64 bits of nanoseconds"))?;
        Ok(())
    }
}

impl LineParser for Iolog {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if version(Some(line.trim_ascii())).is_some() {
            sink.other();
            return Ok(());
        }
        let mut words = Words::new(line);
        let at = if self.version == 3 { time(words.column()?, MICROSECOND)? } else { self.clock_ns };
        let name = words.column()?;
        let action = words.column()?;
        let kind = match action {
            b"add" | b"open" | b"close" | b"unlink" => {
                sink.other();
                return Ok(());
            }
            b"wait" if self.version == 2 => {
                sink.other();
                return self.wait(words.column()?);
            }
            b"sync" | b"datasync" => {
                let file = self.files.number(name);
                sink.flush(at, file);
                return Ok(());
            }
            b"read" => RequestKind::Read,
            b"write" => RequestKind::Write,
            b"trim" => RequestKind::Trim,
            _ => return Err(Bad("unknown action")),
        };
        let offset = integer(words.column()?).ok_or(Bad("offset is not a whole number"))?;
        let size = integer(words.column()?).ok_or(Bad("length is not a whole number"))?;
        let file = self.files.number(name);
        sink.data(kind, at, file, offset, size, false)
    }
}
