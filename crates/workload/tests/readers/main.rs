//! Each format by a handful of lines, and what happens to what is not as it should be.

mod faults;
mod files;
mod linux;
mod records;
mod servers;
mod simulators;
mod tables;

use std::path::PathBuf;

use base::RequestKind;
use workload::{Record, Trace, TraceError, TraceOptions};

/// A file that lives as long as the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &[u8]) -> Scratch {
        let path = std::env::temp_dir().join(format!("ftlab-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn read(path: &PathBuf, options: &TraceOptions) -> Result<(Trace, Vec<Record>), TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut records = Vec::new();
    while trace.fill(&mut records, 7)? > 0 {}
    Ok((trace, records))
}

/// (time ns, kind, offset, size, device, fua)
type Line = (u64, RequestKind, u64, u64, u32, bool);

fn lines(records: &[Record]) -> Vec<Line> {
    records.iter().map(|r| (r.time_ns, r.kind, r.offset, r.size, r.device, r.fua)).collect()
}

#[track_caller]
fn check(name: &str, format: &str, text: &str, expected: &[Line]) -> Trace {
    let scratch = Scratch::new(name, text.as_bytes());
    let (trace, records) = read(&scratch.0, &TraceOptions::default()).unwrap();
    assert_eq!(trace.format().name, format);
    assert_eq!(lines(&records), expected);
    trace
}

#[track_caller]
fn refused(name: &str, text: &[u8], options: &TraceOptions) -> String {
    let scratch = Scratch::new(name, text);
    let error = read(&scratch.0, options).err().expect("an error").to_string();
    error.replace(&scratch.0.display().to_string(), "FILE")
}
