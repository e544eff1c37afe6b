//! Formats of binary records, and the texts of vscsi beside them.

use base::RequestKind::{Flush, Read, Trim, Write as Put};
use workload::TraceOptions;

use super::{Scratch, check, lines, read, refused};

/// A record of vscsi: command, size, lbn and time, as versions 1 and 2 have them.
fn vscsi_record(version: u16, command: u16, size: u32, lbn: u64, time_us: u64) -> Vec<u8> {
    let [head, tail] = [command.to_le_bytes(), (version << 8).to_le_bytes()];
    let numbers = |n: &[u32]| n.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let places = [lbn.to_le_bytes(), time_us.to_le_bytes()].concat();
    match version {
        1 => [numbers(&[7, size, 1]), head.to_vec(), tail.to_vec(), places].concat(),
        _ => [head.to_vec(), tail.to_vec(), numbers(&[7, size, 1]), places, vec![9; 8]].concat(),
    }
}

#[test]
fn binary_vscsi() {
    for version in [1, 2] {
        let records = [(0x2a, 512, 42_932_745, 0u64), (0x28, 4096, 8, 1500), (0x12, 36, 0, 1600), (0x35, 0, 0, 2000)];
        let record = |(command, size, lbn, time)| vscsi_record(version, command, size, lbn, 5_633_898_368_802 + time);
        let content: Vec<u8> = records.into_iter().flat_map(record).collect();
        let scratch = Scratch::new("vscsi", &content);
        let (trace, found) = read(&scratch.0, &TraceOptions::default()).unwrap();
        assert_eq!(trace.format().name, "vscsi-binary");
        assert_eq!(
            lines(&found),
            [
                (0, Put, 42_932_745 * 512, 512, 0, false),
                (1_500_000, Read, 4096, 4096, 0, false),
                (2_000_000, Flush, 0, 0, 0, false),
            ]
        );
        assert_eq!(trace.counts().other_rows, 1);
        let cut = refused("vscsi-cut", &content[..content.len() - 1], &TraceOptions::default());
        assert!(cut.contains("FILE:4: bad vscsi-binary record: the last record is cut short"), "{cut}");
    }
}

#[test]
fn vscsi_in_seconds() {
    let seconds = "version,time,op,size,lbn\n1,5633898,2a,512,8\n1,5635000,28,4096,16\n1,5641098,2a,512,8\n";
    check(
        "vscsi-s",
        "vscsi-s",
        seconds,
        &[
            (0, Put, 4096, 512, 0, false),
            (1_102_000_000_000, Read, 8192, 4096, 0, false),
            (7_200_000_000_000, Put, 4096, 512, 0, false),
        ],
    );
    // As microseconds there were 50 requests in each.
    let crowded: String = (0..500u64).map(|i| format!("1,{},2a,512,8\n", 1_700_000_000 + i / 50)).collect();
    let scratch = Scratch::new("vscsi-crowded", crowded.as_bytes());
    let (trace, found) = read(&scratch.0, &TraceOptions::default()).unwrap();
    assert_eq!((trace.format().name, found[499].time_ns), ("vscsi-s", 9_000_000_000));
    // A clock that was set to zero, in microseconds.
    check(
        "vscsi-zero",
        "vscsi",
        "1,0,2a,512,8\n1,242639,28,4096,16\n",
        &[(0, Put, 4096, 512, 0, false), (242_639_000, Read, 8192, 4096, 0, false)],
    );
    let options = TraceOptions { format: Some("vscsi".into()), ..TraceOptions::default() };
    let scratch = Scratch::new("vscsi-named", seconds.as_bytes());
    assert_eq!(read(&scratch.0, &options).unwrap().1[2].time_ns, 7_200_000);
}

/// A file of lcs: the header of a version, and records of (time, object, size, operation, tenant).
fn lcs(version: u64, records: &[(u32, u64, u32, u8, u32)]) -> Vec<u8> {
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    let mut content = [magic, version.to_le_bytes()].concat();
    content.resize(8184, 0);
    content.extend(magic);
    for &(time, object, size, op, tenant) in records {
        content.extend([&time.to_le_bytes()[..], &object.to_le_bytes()].concat());
        content.extend(size.to_le_bytes());
        if version >= 3 {
            content.extend([0; 4]);
        }
        if version >= 2 {
            content.extend((u32::from(op) | tenant << 8).to_le_bytes());
        }
        if version >= 3 {
            content.extend([1; 4]);
        }
        content.extend((-1i64).to_le_bytes());
        content.extend(vec![2; [0, 0, 0, 0, 4, 8, 16, 32, 64][version as usize]]);
    }
    content
}

#[test]
fn lcs_of_all_versions() {
    let records = [(100, 8, 4096, 0, 0), (101, 16, 512, 13, 3), (103, 8, 4096, 12, 3), (103, 8, 4096, 9, 3)];
    for version in 1..=8 {
        let scratch = Scratch::new("lcs", &lcs(version, &records));
        let (trace, found) = read(&scratch.0, &TraceOptions::default()).unwrap();
        assert_eq!(trace.format().name, "lcs");
        let (kinds, tenant) = if version == 1 { ([Read; 4], 0) } else { ([Read, Put, Read, Trim], 3) };
        assert_eq!(
            lines(&found),
            [
                (0, kinds[0], 4096, 4096, 0, false),
                (1_000_000_000, kinds[1], 8192, 512, tenant, false),
                (3_000_000_000, kinds[2], 4096, 4096, tenant, false),
                (3_000_000_000, kinds[3], 4096, 4096, tenant, false),
            ],
            "{version}"
        );
    }
    // An operation that says neither is taken as the user says.
    let format = Some("columns:op=W,offset=obj_id:4KiB".into());
    let scratch = Scratch::new("lcs-columns", &lcs(3, &records));
    let (_, found) = read(&scratch.0, &TraceOptions { format, ..TraceOptions::default() }).unwrap();
    assert_eq!(lines(&found)[0], (0, Put, 8 * 4096, 4096, 0, false));
    assert_eq!(lines(&found)[2].1, Read);
    let named = TraceOptions { format: Some("lcs".into()), ..TraceOptions::default() };
    let error = refused("lcs-none", &[7; 10_000], &named);
    assert!(error.contains("bad lcs record: the file has no header of lcs"), "{error}");
    assert!(refused("lcs-9", &lcs(9, &[]), &TraceOptions::default()).contains("not a trace in a known format"));
}

fn oracle(records: &[(u32, u64, u32, i64)]) -> Vec<u8> {
    let bytes = |&(time, object, size, next): &(u32, u64, u32, i64)| {
        [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
    };
    records.iter().flat_map(bytes).collect()
}

const OBJECTS: [(u32, u64, u32, i64); 3] = [(7, 10, 4096, 2), (7, 2570, 512, -1), (9, 10, 4096, i64::MAX)];

#[test]
fn oracle_general() {
    let packed = zstd::encode_all(&oracle(&OBJECTS)[..], 3).unwrap();
    for (name, content) in [("plain.oracleGeneral", oracle(&OBJECTS)), ("packed.oracleGeneral.zst", packed)] {
        let scratch = Scratch::new(name, &content);
        let (trace, records) = read(&scratch.0, &TraceOptions::default()).unwrap();
        assert_eq!((trace.format().name, trace.counts().lines), ("oracle-general", 3));
        let second = 1_000_000_000;
        assert_eq!(
            lines(&records),
            [
                (0, Read, 5120, 4096, 0, false),
                // 0x0a0a is a number, not two ends of lines.
                (0, Read, 0x0a0a * 512, 512, 0, false),
                (2 * second, Read, 5120, 4096, 0, false)
            ]
        );
        let options =
            TraceOptions { format: Some("columns:op=W,offset=obj_id:4KiB".into()), ..TraceOptions::default() };
        let (trace, records) = read(&scratch.0, &options).unwrap();
        assert_eq!((trace.format().name, lines(&records)[0]), ("oracle-general", (0, Put, 40_960, 4096, 0, false)));
    }
}

#[test]
fn oracle_general_over_many_buffers() {
    let many: Vec<_> = (0..200_000u32).map(|i| (i / 1000, u64::from(i), 512, -1)).collect();
    let scratch = Scratch::new("many.oracleGeneral", &oracle(&many));
    let (_, records) = read(&scratch.0, &TraceOptions::default()).unwrap();
    assert_eq!(records.len(), many.len());
    assert!(records.iter().zip(&many).all(|(record, one)| record.offset == one.1 * 512));
}

#[test]
fn damaged_oracle_general() {
    let whole = oracle(&OBJECTS);
    let cut = refused("cut.oracle", &whole[..whole.len() - 5], &TraceOptions::default());
    assert!(cut.contains("FILE:3: bad oracle-general record: the last record is cut short, found `09000000"), "{cut}");
    let skip = TraceOptions { skip_bad: true, ..TraceOptions::default() };
    let scratch = Scratch::new("cut-skipped.oracle", &whole[..whole.len() - 5]);
    let (trace, records) = read(&scratch.0, &skip).unwrap();
    assert_eq!((trace.counts().bad_lines, records.len()), (1, 2));
    let hashed = oracle(&[(1, 1 << 60, 512, -1), (1, 5, 512, -1)]);
    let hashed = refused("hashed.oracle", &hashed, &TraceOptions::default());
    assert!(hashed.contains("FILE:1: bad oracle-general record: the object is beyond any address"), "{hashed}");
    for columns in ["op=X", "time=1", "offset=obj_id:pages", "offset=3"] {
        let options = TraceOptions { format: Some(format!("columns:{columns}")), ..TraceOptions::default() };
        let error = refused("columns.oracle", &whole, &options);
        assert!(error.contains("is none of"), "{error}");
    }
    // Bytes that are none.
    let noise: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert!(refused("noise.oracle", &noise, &TraceOptions::default()).contains("not a trace in a known format"));
}
