//! Recordings that are no trace yet: the tool that makes a readable one of each.

use std::path::Path;

use super::detect::FirstLines;
use super::fields::Words;

/// A kind of recording.
pub(super) struct Foreign {
    is: fn(&FirstLines<'_>) -> bool,
    /// The recording, for messages.
    pub what: &'static str,
    /// A command or a tool that helps.
    pub remedy: fn(&Path) -> String,
}

static KINDS: [Foreign; 4] = [
    Foreign {
        // blk_io_trace (the kernel's include/uapi/linux/blktrace_api.h) begins with 0x656174 and a version.
        is: |sample| matches!(sample.bytes, [1..=15, b't', b'a', b'e', ..] | [b'e', b'a', b't', 1..=15, ..]),
        what: "binary blktrace data, of one processor or of several",
        remedy: |path| {
            format!(
                "`blkparse -i {} -o trace.txt` makes of the files of all processors a text that is read here",
                device(path)
            )
        },
    },
    Foreign {
        is: |sample| sample.bytes.starts_with(b"PERFILE2") || sample.bytes.starts_with(b"2ELIFREP"),
        what: "a recording of perf",
        remedy: |path| format!("`perf script -i {} > trace.txt` makes a text of its block events", path.display()),
    },
    Foreign {
        is: |sample| sample.bytes.starts_with(b"\x17\x08\x44tracing"),
        what: "a recording of trace-cmd",
        remedy: |path| format!("`trace-cmd report -i {} > trace.txt` makes a text of its block events", path.display()),
    },
    Foreign {
        is: |sample| {
            let names = |line: &&&[u8]| line.starts_with(b"TIME(ms)");
            let without = |line: &&[u8]| !Words::new(line).any(|name| name == b"SECTOR");
            sample.lines.iter().take(3).find(names).is_some_and(without)
        },
        what: "output of bpftrace's biosnoop.bt, which says neither sector nor size",
        remedy: |_| "`biosnoop` of bcc or of libbpf-tools says both".to_owned(),
    },
];

/// The kind of recording that a file is.
pub(super) fn find(sample: &FirstLines<'_>) -> Option<&'static Foreign> {
    KINDS.iter().find(|kind| (kind.is)(sample))
}

/// The name by which blkparse knows the files of a device: without `.blktrace.` and the processor.
fn device(path: &Path) -> String {
    let name = path.display().to_string();
    match name.rsplit_once(".blktrace.") {
        Some((device, processor)) if processor.bytes().all(|byte| byte.is_ascii_digit()) => device.to_owned(),
        _ => name,
    }
}
