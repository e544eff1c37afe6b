//! Packed files, conversions and what a trace holds.

use std::io::Write;

use base::RequestKind::{Read, Write as Put};
use workload::{TraceOptions, convert, info};

use super::{Line, Scratch, lines, read, refused};

fn packed(kind: &str, text: &[u8]) -> Vec<u8> {
    match kind {
        "gz" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        "zst" => zstd::encode_all(text, 1).unwrap(),
        "bz2" => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        _ => {
            let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
    }
}

#[test]
fn packed_files_by_content_whole_joined_and_cut_short() {
    let text: Vec<u8> =
        (0..20_000u64).flat_map(|n| format!("0,{},512,W,{n}.0\n", n * n * 7919 % 1_000_003).into_bytes()).collect();
    for kind in ["gz", "zst", "xz", "bz2"] {
        let whole = packed(kind, &text);
        let mut twice = whole.clone();
        twice.extend(&whole);
        for (content, requests) in [(&whole, 20_000), (&twice, 40_000)] {
            let scratch = Scratch::new("packed", content);
            let (trace, records) = read(&scratch.0, &TraceOptions::default()).unwrap();
            assert_eq!((records.len(), trace.position()), (requests, Some(1.0)), "{kind}");
        }
        for length in [whole.len() - 1, whole.len() / 2, 100] {
            let error = refused("cut", &whole[..length], &TraceOptions::default());
            assert!(error.contains("cut short"), "{kind} {length}: {error}");
        }
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 40].fill(0x55);
        let error = refused("damaged", &damaged, &TraceOptions::default());
        assert!(error.starts_with("FILE"), "{kind}: {error}");
        let error = refused("magic", &whole[..6], &TraceOptions::default());
        assert!(error.contains("cut short"), "{kind}: {error}");
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let texts = [
        "134396733288653904,v,0,Write,4096,8192,780\n134396733288653914,v,0,Read,0,512,780\n",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n134396733288653904,v,0,Write,4096,8192,780\n",
        "fio version 3 iolog\n0 /dev/sda write 4096 8192\n",
        "0,20,512,W,1.0\n0,21,512,R,2.0\n",
    ];
    for text in texts {
        let plain = Scratch::new("unmarked", text.as_bytes());
        let (_, expected) = read(&plain.0, &TraceOptions::default()).unwrap();
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for content in [marked.clone(), packed("gz", &marked)] {
            let scratch = Scratch::new("marked", &content);
            let (trace, records) = read(&scratch.0, &TraceOptions::default()).unwrap();
            assert_eq!((lines(&records), trace.counts().bad_lines), (lines(&expected), 0), "{text}");
        }
    }
    let columns = TraceOptions { format: Some("columns:op=op,offset=lba:sectors,size=2".into()), ..Default::default() };
    let scratch = Scratch::new("marked-columns", b"\xef\xbb\xbflba,size,op\n8,4096,W\n");
    let (_, records) = read(&scratch.0, &columns).unwrap();
    assert_eq!((records[0].offset, records[0].size), (4096, 4096));
    let error = refused("only-a-mark", b"\xef\xbb\xbf", &TraceOptions::default());
    assert_eq!(error, "FILE: the file is empty; expected a trace with at least one request");
}

#[test]
fn conversions_come_back_as_they_went() {
    let text = "134396733288653904,v,0,Flush,0,0,780,-\n\
                134396733288653914,v,0,Write,4096,8192,780,FUA\n\
                134396733288653934,v,0,Discard,1048576,65536,780,-\n\
                134396733288663944,v,0,Read,0,512,780,RA\n";
    let from = Scratch::new("convert", text.as_bytes());
    let (_, original) = read(&from.0, &TraceOptions::default()).unwrap();
    for (target, extension) in
        [("msr", "csv"), ("msr", "gz"), ("msr", "zst"), ("msr", "xz"), ("msr", "bz2"), ("iolog", "log")]
    {
        let to = Scratch(from.0.with_extension(format!("{target}.{extension}")));
        let done = convert(&from.0, &TraceOptions::default(), &to.0, target).unwrap();
        assert_eq!((done.requests, done.left_out), (4, 0));
        let (trace, back) = read(&to.0, &TraceOptions::default()).unwrap();
        assert_eq!(trace.format().name, target);
        let expected: Vec<Line> =
            lines(&original).into_iter().map(|l| (l.0, l.1, l.2, l.3, l.4, l.5 && target == "msr")).collect();
        assert_eq!(lines(&back), expected, "{target}.{extension}");
    }
    let data: Vec<Line> = lines(&original)
        .into_iter()
        .filter(|l| matches!(l.1, Read | Put))
        .map(|l| (l.0 - 1000, l.1, l.2, l.3, l.4, false))
        .collect();
    for target in ["ssdsim", "disksim"] {
        let to = Scratch(from.0.with_extension(target));
        let done = convert(&from.0, &TraceOptions::default(), &to.0, target).unwrap();
        assert_eq!((done.requests, done.left_out), (2, 2));
        let options = TraceOptions { format: Some(target.into()), ..TraceOptions::default() };
        assert_eq!(lines(&read(&to.0, &options).unwrap().1), data, "{target}");
    }
}

#[test]
fn a_conversion_that_fails_leaves_nothing() {
    let from = Scratch::new("convert-bad", b"0,8,512,W,0.5\n0,8,512,W,0.6\nnonsense\n");
    let directory = from.0.with_extension("directory");
    std::fs::create_dir(&directory).unwrap();
    let to = directory.join("never");
    let error = convert(&from.0, &TraceOptions::default(), &to, "msr").unwrap_err().to_string();
    assert!(error.contains(":3: bad spc line"), "{error}");
    let error = convert(&from.0, &TraceOptions::default(), &to, "csv").unwrap_err().to_string();
    assert_eq!(error, "cannot write trace format `csv`; expected one of `msr`, `ssdsim`, `disksim`, `iolog`");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    std::fs::remove_dir(&directory).unwrap();
    // By a link, so that no fault can take the device's place.
    let full = Scratch(from.0.with_extension("full"));
    std::os::unix::fs::symlink("/dev/full", &full.0).unwrap();
    let options = TraceOptions { skip_bad: true, ..TraceOptions::default() };
    let error = convert(&from.0, &options, &full.0, "msr").unwrap_err().to_string();
    assert_eq!(
        error.replace(&full.0.display().to_string(), "FILE"),
        "FILE cannot be written: No space left on device (os error 28)\n\
         hint: free some space on that disk, or name a place on another one"
    );
}

#[test]
fn info_adds_up() {
    let text = "1000,h,0,Read,0,4096,0\n1010,h,0,Write,2048,4096,0\n1030,h,1,Write,2048,1024,0\n1040,h,0,Discard,0,1048576,0,-\n";
    let scratch = Scratch::new("info", text.as_bytes());
    let info = info(&scratch.0, &TraceOptions::default()).unwrap();
    assert_eq!((info.requests, info.reads, info.writes, info.discards, info.devices), (4, 1, 2, 1, 2));
    assert_eq!((info.bytes_read, info.bytes_written, info.bytes_discarded), (4096, 5120, 1_048_576));
    assert_eq!((info.footprint_mib * 256.0, info.footprint_written_mib * 256.0), (3.0, 3.0));
    assert_eq!((info.read_kib_mean, info.write_kib_mean), (4.0, 2.5));
    assert_eq!((info.duration_s, info.inter_arrival_ms_mean), (3e-6, 1.5e-3));
    assert_eq!(info.highest_offset_bytes, 1_048_576);
    let json = serde_json::to_value(&info).unwrap();
    assert_eq!(
        (json["format"].as_str(), json["compression"].as_str(), json["bad_lines"].as_u64()),
        (Some("msr"), Some("none"), Some(0))
    );
}
