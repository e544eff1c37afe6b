//! No bytes make a reader panic, loop, or break its promises. Cases come from one seed, so that a failure
//! can be run again.

use base::RequestKind;
use config::model::{self, BackwardsTime, Discards, HintSelect, OutOfRange};
use engine::Chance;
use files::Interrupt;
use workload::{FORMATS, Trace, TraceError, TraceOptions, Workload, WorkloadError};

/// A few valid lines of each format.
const VALID: &[&str] = &[
    "128166391024154329,prxy,0,Write,1105182720,1024,1514\n134396733288653914,v,0,Flush,0,0,780,POSTFUA\n",
    "0,20941264,8192,W,0.551706\n1,3436288,15872,r,1.011732,9\n",
    "BeginHeader\n DiskRead, TimeStamp, P, T, I, ByteOffset, IOSize, E, DiskNum\nDiskRead, 1107, System (4), 120, 0xff, 0x4e54000, 0x2000, 17, 2, 0x43\n",
    "0 0 280605840 2 1\n979 0 287641400 128 1\n",
    "7961.833 0 20228336 8 0\n8346.206 0 6397360 496 3\n",
    "26.214000\t0\t303574\t1\t0\n26.214000\t0\t240840\t2\t1\n",
    "0.000 0 200626176 4096 0\n223.412 0 3159347200 36864 1\n",
    "4043872 96 49152 5 1398396860.168065791 1398396860.168307510 1.5 1.6\n",
    "  8,33  21  2 0.001003911 6742 D WS 4202624 + 8 [(null)]\n  8,33 6 8 0.0002 6742 D FN [k]\n 0.5 1 2 3 Q FWFS 8 + 8 [x]\n",
    "fio version 2 iolog\na add\na write 0 4096\na wait 15\na sync 0 0\n",
    "fio version 3 iolog\n1 a open\n2 a trim 0 4096\n",
    "version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n1,5633898745540,35,0,0\n",
    "419,W,8792731648,16384,1577808144360767\n",
    "1538323200,12910952128,128,0,1063\n",
    "8,0 1 1 0.0 6 D W 8 + 8 [a]\n8,0 1 2 0.1 6 R W 8 + 8 [0]\n8,0 1 3 0.2 6 D W 8 + 8 [a]\n8,0 1 4 0.3 6 D N 8 + 8 [a]\n",
    "a-1 [0] .... 1.5: block_rq_issue: 8,0 WS 4096 () 8 + 8 [a]\nb-1 [0] .... 1.6: block_rq_requeue: 8,0 WS () 8 + 8 [0]\n",
    "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n0.5 a b 1 sda W 8 4096 0.10 0.20\n",
];

/// What mutations like to insert.
const TOKENS: &[&str] = &[
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "NaN",
    "inf",
    "1e300",
    "0x",
    ",",
    ",,,,,,,,",
    "\t",
    " ",
    "\n",
    "\r\n",
    "\0",
    "0",
    ".",
    "9223372036854775808",
    "+",
    "F",
    "#",
    "\u{fffd}",
    "99999999999.999999999",
    "4294967296",
];

/// Changes bytes, cuts, doubles and inserts.
fn mutate(text: &mut Vec<u8>, stream: &mut Chance) {
    for _ in 0..1 + stream.below(6) {
        let at = stream.below(text.len() as u64 + 1) as usize;
        match stream.below(5) {
            0 if at < text.len() => text[at] = stream.next() as u8,
            1 => {
                let token = TOKENS[stream.below(TOKENS.len() as u64) as usize];
                text.splice(at..at, token.bytes());
            }
            2 => text.truncate(at.max(1)),
            3 => {
                let copy = text[at..].to_vec();
                text.extend(copy);
            }
            _ if at < text.len() => {
                text.remove(at);
            }
            _ => {}
        }
    }
}

/// Reads a file in a format, and checks what every reader promises.
fn read(path: &std::path::Path, format: Option<&str>, skip_bad: bool, window: usize) -> Result<u64, TraceError> {
    let options =
        TraceOptions { format: format.map(str::to_owned), skip_bad, window: Some(window), ..TraceOptions::default() };
    let mut trace = Trace::open(path, &options)?;
    let mut records = Vec::new();
    let (mut latest, mut seen) = (0, 0);
    loop {
        records.clear();
        if trace.fill(&mut records, 100)? == 0 {
            break;
        }
        for record in &records {
            assert!(seen > 0 || record.time_ns == 0, "the first request is at zero");
            assert!(record.time_ns >= latest, "times are in order");
            assert_eq!(record.size == 0, record.kind == RequestKind::Flush, "only a flush has no bytes");
            assert!(record.offset.checked_add(record.size).is_some());
            assert!(record.line > 0 && record.line <= trace.counts().lines);
            latest = record.time_ns;
            seen += 1;
        }
    }
    let counts = trace.counts();
    assert_eq!(counts.requests, seen);
    assert!(skip_bad || counts.bad_lines == 0);
    Ok(seen)
}

/// Every format by name and by detection; returns how many reads went through.
fn read_all(content: &[u8], path: &std::path::Path) -> u32 {
    std::fs::write(path, content).unwrap();
    let names = FORMATS.iter().map(|format| Some(format.name)).chain([None]);
    let mut through = 0;
    for name in names {
        for (skip_bad, window) in [(false, 0), (true, 2)] {
            match read(path, name, skip_bad, window) {
                Ok(_) => through += 1,
                Err(error) => assert!(error.to_string().len() < 900, "{error}"),
            }
        }
    }
    through
}

fn scratch(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("ftlab-fuzz-{}-{name}", std::process::id()))
}

/// A replay of all of a trace on a device of so many bytes; `None` where the trace lasts longer than a run may.
fn replay(path: &std::path::Path, out_of_range: OutOfRange, capacity: u64) -> Option<workload::Tally> {
    let config = model::Workload {
        source: model::Source::Trace { path: path.display().to_string() },
        end: model::End::default(),
        trace_format: None,
        trace_columns: None,
        address_offset: 0,
        out_of_range,
        backwards_time: BackwardsTime::Clamp,
        discards: Discards::Trim,
        skip_bad: true,
        hint: vec![0],
        hint_select: HintSelect::RoundRobin,
        hint_parts: 1,
        share: None,
    };
    let host = model::Host::new(model::Replay::Open, Some(1));
    let mut workload = Workload::open(&config, &host, capacity, 1, &Interrupt::default()).unwrap();
    let mut requests = Vec::new();
    while {
        requests.clear();
        match workload.fill(&mut requests, 100) {
            Err(WorkloadError::TimeOverflow { .. }) => return None,
            // All of it may lie past the end.
            filled => filled.is_ok() && !requests.is_empty(),
        }
    } {}
    Some(workload.tally())
}

#[test]
fn a_replay_counts_as_info_does_but_for_what_it_says() {
    let path = scratch("counts");
    let mut stream = Chance::new(3, "counts");
    let (mut split, mut dropped, mut too_long) = (0, 0, 0);
    for case in 0..2000 {
        let mut text = VALID[case % VALID.len()].repeat(20).into_bytes();
        mutate(&mut text, &mut stream);
        std::fs::write(&path, &text).unwrap();
        let options = TraceOptions { skip_bad: true, ..TraceOptions::default() };
        let Ok(info) = workload::info(&path, &options) else { continue };
        let capacity = 4096 * (1 + stream.below(1 << 20));
        let Some(wrapped) = replay(&path, OutOfRange::Wrap, capacity) else {
            too_long += 1;
            continue;
        };
        assert_eq!(wrapped.requests, info.requests + wrapped.split, "case {case}");
        let clamped = replay(&path, OutOfRange::Clamp, capacity).expect("as long as the other");
        assert_eq!(clamped.requests, info.requests - clamped.dropped_past_end, "case {case}");
        (split, dropped) = (split + wrapped.split, dropped + clamped.dropped_past_end);
    }
    std::fs::remove_file(&path).unwrap();
    assert!(split > 20 && dropped > 1000 && too_long < 100, "{split} {dropped} {too_long}");
}

#[test]
fn mutated_lines_never_panic() {
    let path = scratch("mutated");
    let mut stream = Chance::new(1, "mutated lines");
    let mut through = 0;
    for case in 0..3000 {
        let mut text = VALID[case % VALID.len()].as_bytes().to_vec();
        mutate(&mut text, &mut stream);
        through += read_all(&text, &path);
    }
    std::fs::remove_file(&path).unwrap();
    // The test would be empty if nearly every case were refused.
    assert!(through > 3000, "{through} reads went through");
}

#[test]
fn random_bytes_never_panic() {
    let path = scratch("random");
    let mut stream = Chance::new(2, "random bytes");
    let alphabet = b"0123456789,. \t\n\r-RWDFQxXabcdef+\0\xff";
    for case in 0..1000 {
        let length = stream.below(400) as usize;
        let content: Vec<u8> = (0..length)
            .map(|_| match case % 3 {
                0 => stream.next() as u8,
                _ => alphabet[stream.below(alphabet.len() as u64) as usize],
            })
            .collect();
        read_all(&content, &path);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn random_packed_bytes_never_panic() {
    let path = scratch("packed");
    let mut stream = Chance::new(3, "packed bytes");
    let heads: [&[u8]; 3] = [&[0x1f, 0x8b, 8, 0], &[0x28, 0xb5, 0x2f, 0xfd], &[0xfd, b'7', b'z', b'X', b'Z', 0]];
    let text = VALID.concat().repeat(20);
    let whole = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for case in 0..300 {
        let mut content = match case % 4 {
            3 => whole.clone(),
            kind => heads[kind].to_vec(),
        };
        content.extend((0..stream.below(300)).map(|_| stream.next() as u8));
        mutate(&mut content, &mut stream);
        read_all(&content, &path);
    }
    std::fs::remove_file(&path).unwrap();
}
