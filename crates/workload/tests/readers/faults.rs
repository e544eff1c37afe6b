//! Lines that are not as they should be, and files that are no trace.

use std::io::Write;
use std::path::PathBuf;

use base::RequestKind::Write as Put;
use workload::{Trace, TraceError, TraceOptions, convert, head, info};

use super::{Scratch, check, read, refused};

#[test]
fn bad_lines_say_where_and_what() {
    let text = b"0,20941264,8192,W,0.551706\n0,20939840,8192,W,0.554041\n0,1,2\n0,20939840,8192,W,0.6\n";
    assert_eq!(
        refused("bad", text, &TraceOptions::default()),
        "FILE:3: bad spc line: too few columns, found `0,1,2`; expected `ASU,LBA,size,R|W,timestamp[,…]`"
    );
    let scratch = Scratch::new("skip", text);
    let (trace, records) = read(&scratch.0, &TraceOptions { skip_bad: true, ..TraceOptions::default() }).unwrap();
    assert_eq!((records.len(), trace.counts().bad_lines, trace.counts().lines), (3, 1, 4));
    // What stands before the bad line is given out first.
    assert_eq!(head(&scratch.0, &TraceOptions::default(), 2).unwrap().len(), 2);
    let bad = Scratch::new("head-bad", b"0,8,512,W,0.5\n0,8,512,W,0.6\nnonsense\n");
    assert_eq!(head(&bad.0, &TraceOptions::default(), 2).unwrap().len(), 2);
    let error = head(&bad.0, &TraceOptions::default(), 3).unwrap_err().to_string();
    assert!(error.contains(":3: bad spc line"), "{error}");
}

#[test]
fn broken_values_are_named() {
    let good = "0,8,8192,W,0.5\n".repeat(5);
    for (line, what) in [
        ("0,8,8192,W,-0.5", "time is negative"),
        ("0,8,8192,W,NaN", "time is not a number"),
        ("0,8,8192,W,99999999999999999999", "time is not a number"),
        ("0,8,8192,W,18446744074", "time is beyond 64 bits of nanoseconds"),
        ("0,36028797018963968,8192,W,0.5", "LBA (column 2) is not a block number"),
        ("0,9223372036854775807,512,R,0.5", "LBA (column 2) is not a block number"),
        ("0,36028797018963967,8192,W,0.5", "offset is beyond any device's"),
        ("0,8,18446744073709551615,W,0.5", "size is beyond any request's"),
        ("4294967296,8,512,W,0.5", "device is not a number below 2^32"),
        ("0,8,8192,X,0.5", "opcode (column 4) is not R or W"),
        ("\u{0}\u{1}\u{7f}", "device is not a number below 2^32"),
        ("", ""),
    ] {
        if line.is_empty() {
            continue;
        }
        let error = refused("value", format!("{good}{line}\n").as_bytes(), &TraceOptions::default());
        assert!(error.starts_with(&format!("FILE:6: bad spc line: {what}, found `")), "{line}: {error}");
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    let default = TraceOptions::default();
    assert_eq!(refused("empty", b"", &default), "FILE: the file is empty; expected a trace with at least one request");
    for (name, content) in [
        ("junk", (0..50_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect::<Vec<u8>>()),
        ("prose", b"It was a dark and stormy night;\nthe rain fell in torrents.\n".to_vec()),
        ("blank", b"\n\n\n   \n".to_vec()),
        ("zeros", vec![0; 100_000]),
        ("long", vec![b'7'; 3 << 20]),
        ("header", b"version,time,op,size,lbn\n".to_vec()),
    ] {
        let error = refused(name, &content, &default);
        assert!(error.starts_with("FILE: not a trace in a known format: it begins with `"), "{name}: {error}");
        assert!(error.contains("`msr`") && error.len() < 900, "{name}: {error}");
        assert!(error.contains("hint: of any other table, `--columns"), "{name}: {error}");
    }
}

#[test]
fn missing_files_and_directories() {
    let error = Trace::open("/no/such/trace.csv", &TraceOptions::default()).err().unwrap().to_string();
    assert_eq!(error, "/no/such/trace.csv: cannot be opened: No such file or directory (os error 2)");
    let directory = std::env::temp_dir();
    let error = Trace::open(&directory, &TraceOptions::default()).err().unwrap().to_string();
    assert_eq!(error, format!("{}: is a directory; expected a trace file", directory.display()));
}

#[test]
fn with_skip_bad_a_file_of_bad_lines_is_no_trace() {
    let options = TraceOptions { format: Some("msr".into()), skip_bad: true, ..TraceOptions::default() };
    let error = refused("all-bad", "nonsense\n".repeat(5000).as_bytes(), &options);
    assert_eq!(
        error,
        "FILE: not a trace in the format `msr`: 1000 bad lines and no request among the first 1001 lines; expected \
         `timestamp,host,disk,Read|Write|Flush|Discard,offset,size,response[,flags]`"
    );
    let error = refused("few-bad", b"x\n1\n2\n", &options);
    assert!(error.contains("2 bad lines and no request among the first 3 lines; expected"), "{error}");
    let error = refused("zero", b"1,h,0,Read,0,0,0\n", &TraceOptions::default());
    assert_eq!(error, "FILE: no request among its 1 lines (msr); expected at least one read, write, discard or flush");
}

#[test]
fn lines_longer_than_any_trace_has() {
    let mut text = b"0,8,8192,W,0.5\n".repeat(10);
    text.extend(vec![b'9'; 3 << 20]);
    text.extend(b"\n0,8,8192,W,0.6\n");
    let error = refused("over-long", &text, &TraceOptions::default());
    assert!(error.starts_with("FILE:11: bad spc line: line is longer than 65536 bytes, found `9999"), "{error}");
    let scratch = Scratch::new("over-long-skip", &text);
    let (trace, records) = read(&scratch.0, &TraceOptions { skip_bad: true, ..TraceOptions::default() }).unwrap();
    assert_eq!((records.len(), trace.counts().bad_lines, trace.counts().lines), (11, 1, 12));
    assert_eq!(records[10].time_ns, 100_000_000);
}

#[test]
fn what_has_no_end_is_no_trace() {
    let options = TraceOptions { format: Some("msr".into()), skip_bad: true, ..TraceOptions::default() };
    let error = read(&"/dev/zero".into(), &options).err().unwrap().to_string();
    assert_eq!(error, "/dev/zero:1: a line of more than 64 MiB (msr); expected a text of lines");
    let after_a_request = [b"0,8,8192,W,0.5\n".repeat(3), vec![b'9'; 70 << 20]].concat();
    let error = refused("no-line-end", &after_a_request, &TraceOptions { skip_bad: true, ..TraceOptions::default() });
    assert_eq!(error, "FILE:4: a line of more than 64 MiB (spc); expected a text of lines");
    let error = refused("comments", &squeezed(comments(5 << 30)), &options);
    assert_eq!(error, "FILE: no request in the first 4 GiB (msr); expected a trace");
}

/// That many bytes of comments.
fn comments(bytes: u64) -> impl std::io::Read {
    let line = [vec![b'#'; 60_000], vec![b'\n']].concat();
    let mut at = 0;
    let endless = Generated(move |buffer: &mut [u8]| {
        let n = buffer.len().min(line.len() - at);
        buffer[..n].copy_from_slice(&line[at..at + n]);
        at = (at + n) % line.len();
        n
    });
    std::io::Read::take(endless, bytes)
}

struct Generated<F>(F);

impl<F: FnMut(&mut [u8]) -> usize> std::io::Read for Generated<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok((self.0)(buffer))
    }
}

fn squeezed(source: impl std::io::Read) -> Vec<u8> {
    zstd::stream::encode_all(source, 1).unwrap()
}

#[test]
fn reading_and_converting_can_be_stopped() {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, Instant};
    let bomb = Scratch::new("stop-bomb", &squeezed(comments(2 << 30)));
    let mut members = Vec::new();
    for _ in 0..2_000_000 {
        members.extend_from_slice(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0");
    }
    let members = Scratch::new("stop-members", &members);
    let line = |i: u64| format!("{i},h,0,Write,{},4096,0\n", i * 7919 % 1_000_000);
    let long = Scratch::new("stop-long", (0..1_000_000).map(line).collect::<String>().as_bytes());
    let directory = Scratch(std::env::temp_dir().join(format!("ftlab-{}-stop", std::process::id())));
    std::fs::create_dir(&directory.0).unwrap();
    let to = directory.0.join("to.xz");
    std::fs::write(&to, "old").unwrap();
    let stopped = |what: &str, path: &PathBuf, work: &dyn Fn(&TraceOptions) -> Result<(), TraceError>| {
        let begun = Instant::now();
        let questions = AtomicU32::new(0);
        // By count and not by the clock: a fast machine is through before any time that one could name.
        let interrupt = files::Interrupt::every(Duration::ZERO, move || questions.fetch_add(1, Ordering::Relaxed) < 5);
        let options = TraceOptions { format: Some("msr".into()), interrupt, ..TraceOptions::default() };
        let error = work(&options).expect_err(what);
        assert!(
            matches!(&error, TraceError::Stopped { path: at } if *at == path.display().to_string()),
            "{what}: {error}"
        );
        assert!(begun.elapsed() < Duration::from_secs(5), "{what}: {:?}", begun.elapsed());
    };
    stopped("a bomb", &bomb.0, &|options| info(&bomb.0, options).map(|_| ()));
    stopped("empty members", &members.0, &|options| info(&members.0, options).map(|_| ()));
    stopped("head", &long.0, &|options| head(&long.0, options, usize::MAX).map(|_| ()));
    stopped("packing", &to, &|options| convert(&long.0, options, &to, "msr").map(|_| ()));
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "old");
    assert_eq!(std::fs::read_dir(&directory.0).unwrap().count(), 1);
    std::fs::remove_dir_all(&directory.0).unwrap();
}

#[test]
fn zero_length_requests_are_dropped_and_counted() {
    let trace =
        check("zero-length", "spc", "0,8,0,W,0.5\n0,8,512,W,0.5\n0,8,0,R,0.7\n", &[(0, Put, 4096, 512, 0, false)]);
    assert_eq!(trace.counts().zero_length, 2);
}

#[test]
fn times_that_run_backwards() {
    let text = b"0,8,512,W,1.0\n0,8,512,W,5.0\n0,8,512,W,2.0\n0,8,512,W,6.0\n";
    let times = |options: &TraceOptions| {
        let scratch = Scratch::new("backwards", text);
        let (trace, records) = read(&scratch.0, options).unwrap();
        let seconds: Vec<u64> = records.iter().map(|record| record.time_ns / 1_000_000_000).collect();
        (seconds, trace.counts().out_of_order, trace.counts().backwards_times)
    };
    // Inside the window they are put in order; beyond it they get the latest time so far.
    assert_eq!(times(&TraceOptions::default()), (vec![0, 1, 4, 5], 1, 0));
    let narrow = TraceOptions { window: Some(0), ..TraceOptions::default() };
    // Without a window of requests, order still holds inside one batch of the reader: 1024 requests.
    assert_eq!(times(&narrow).2, 0);
    let mut long = Vec::new();
    for n in 0..3000 {
        writeln!(long, "0,8,512,W,{}.0", 10 + n).unwrap();
    }
    writeln!(long, "0,8,512,W,5.0").unwrap();
    let scratch = Scratch::new("backwards-far", &long);
    let (trace, records) = read(&scratch.0, &TraceOptions::default()).unwrap();
    assert_eq!((trace.counts().backwards_times, records[3000].time_ns), (1, 2999 * 1_000_000_000));
    let error = refused("backwards-reject", &long, &TraceOptions { reject_backwards: true, ..TraceOptions::default() });
    assert_eq!(
        error,
        "FILE:3001: time runs backwards by 1028000000000 ns, beyond the reordering window of 1024 requests; expected times in \
         order, or `backwards_time = \"clamp\"`"
    );
}

#[test]
fn a_shuffled_buffer_inside_the_window_comes_out_in_order() {
    // Blocks of 1000 lines, in pairs the wrong way round: each line is at most 1000 places late.
    let mut text = Vec::new();
    for block in [1, 0, 3, 2, 5, 4, 7, 6] {
        for n in block * 1000..block * 1000 + 1000u64 {
            writeln!(text, "0,{n},512,W,{n}.0").unwrap();
        }
    }
    let scratch = Scratch::new("shuffled", &text);
    let (trace, records) = read(&scratch.0, &TraceOptions::default()).unwrap();
    assert!(records.iter().enumerate().all(|(n, record)| record.offset == n as u64 * 512));
    assert_eq!((trace.counts().out_of_order, trace.counts().backwards_times), (4000, 0));
}

#[test]
fn discards_beyond_64_bits_of_bytes_do_not_wrap() {
    let text = "1000,h,0,Discard,0,4611686018427387904,0,-\n".repeat(5);
    let scratch = Scratch::new("discards", text.as_bytes());
    let info = info(&scratch.0, &TraceOptions::default()).unwrap();
    assert_eq!((info.discards, info.bytes_discarded), (5, u64::MAX));
}
