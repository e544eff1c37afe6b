//! Every trace of the shared collection, against the figures that its README gives.
//!
//! The collection is not part of the repository; where it is absent the tests say so and pass.

use std::path::PathBuf;

use workload::{Info, Trace, TraceOptions, info};

/// The collection, if it is there.
fn shared(file: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces")).join(file);
    if !path.exists() {
        eprintln!("NOT CHECKED: {} is absent", path.display());
        return None;
    }
    Some(path)
}

/// A row of the README: file, format, requests, write %, mean KiB read and written, GB read and written,
/// footprint MiB, mean gap ms, duration s; and lines out of order.
type Row = (&'static str, &'static str, u64, f64, [f64; 2], [f64; 2], f64, f64, f64, u64);

#[rustfmt::skip]
const COLLECTED: [Row; 14] = [
    ("snia-msps-dtrs-300s.trace", "ssdsim-us", 127_043, 11.0, [55.6, 53.4], [6.437, 0.761], 4970.0, 2.361, 300.0, 0),
    ("umass-financial1-10k.ascii", "ssdsim", 10_000, 59.2, [6.1, 4.9], [0.025, 0.030], 29.0, 25.963, 259.6, 0),
    ("umass-financial1-50k-flashsim.trace", "flashsim", 50_000, 41.6, [7.5, 6.4], [0.223, 0.135], 122.0, 17.068, 853.4, 0),
    ("umass-websearch1-50k-flashsim.trace", "flashsim", 50_000, 0.0, [15.1, 8.0], [0.775, 0.000], 724.0, 2.573, 128.7, 0),
    ("umass-websearch1-25k-mqsim.trace", "ssdsim", 24_783, 0.0, [15.1, 8.0], [0.382, 0.000], 363.0, 2.423, 60.1, 0),
    ("postmark-msr-ssdmodel.trace", "disksim", 62_257, 16.8, [98.8, 833.0], [5.236, 8.937], 5990.0, 7.878, 490.4, 0),
    ("cloudphysics-2h-vscsi.csv", "vscsi", 113_872, 58.7, [37.4, 35.2], [1.797, 2.409], 1052.0, 63.230, 7200.1, 0),
    ("msr-rsrch_1.csv", "msr", 13_780, 99.7, [13.2, 12.2], [0.001, 0.171], 112.0, 41_843.214, 576_557.6, 0),
    ("msr-wdev_1.csv", "msr", 1_055, 100.0, [0.0, 5.1], [0.000, 0.006], 1.0, 564_519.178, 595_003.2, 0),
    ("msr-prxy_0-20k.csv", "msr", 20_000, 98.3, [17.7, 2.3], [0.006, 0.047], 12.0, 46.944, 938.8, 0),
    ("msr-cut-10k-rw20_80-105.trace", "ms-bytes", 10_000, 79.8, [1.8, 6.2], [0.004, 0.051], 29.0, 24.293, 242.9, 0),
    ("hadoop-eternity9-sdb.blkparse", "blkparse", 105_634, 0.8, [288.5, 33.6], [30.948, 0.030], 29_528.0, 1.627, 171.9, 0),
    ("leveldb-fillrandom-10m.blkparse", "blkparse", 51_681, 100.0, [5.0, 165.5], [0.000, 8.756], 2022.0, 1.569, 81.1, 23_008),
    ("nexus5-installing.txt", "biotracer", 17_952, 98.3, [22.2, 93.5], [0.007, 1.688], 1042.0, 54.472, 977.8, 697),
];

/// Whether `measured` is `stated` as printed with so many decimals. Half a unit of the last place, and a
/// rounding error of the binary fraction.
fn rounds(measured: f64, stated: f64, decimals: i32) -> bool {
    (measured - stated).abs() <= 0.5 * 10f64.powi(-decimals) + 1e-9
}

#[track_caller]
fn check(file: &str, figures: &[(&str, f64, f64, i32)]) {
    for (what, measured, stated, decimals) in figures {
        assert!(rounds(*measured, *stated, *decimals), "{file}: {what} is {measured}, README says {stated}");
    }
}

#[test]
fn collected_traces_agree_with_their_readme() {
    for (file, format, requests, write, kib, gb, footprint, gap, duration, out_of_order) in COLLECTED {
        let Some(path) = shared(&format!("{file}.zst")) else { continue };
        let info = info(&path, &TraceOptions::default()).unwrap();
        assert_eq!((info.format, info.reads + info.writes), (format, requests), "{file}");
        check(
            file,
            &[
                ("write percent", info.write_fraction_requests * 100.0, write, 1),
                ("read KiB", info.read_kib_mean, kib[0], 1),
                ("write KiB", info.write_kib_mean, kib[1], 1),
                ("GB read", info.bytes_read as f64 * 1e-9, gb[0], 3),
                ("GB written", info.bytes_written as f64 * 1e-9, gb[1], 3),
                ("footprint MiB", info.footprint_mib, footprint, 0),
                ("gap ms", info.inter_arrival_ms_mean, gap, 3),
                ("duration s", info.duration_s, duration, 1),
            ],
        );
        assert_eq!(info.counts.out_of_order, out_of_order, "{file}");
        assert_eq!(info.counts.backwards_times, 0, "{file}: the window puts every shared file in order");
        assert_eq!(info.counts.bad_lines, 0, "{file}");
    }
}

#[test]
fn leveldb_drops_the_lines_of_another_clock() {
    let Some(path) = shared("leveldb-fillrandom-10m.blkparse.zst") else { return };
    let info = info(&path, &TraceOptions::default()).unwrap();
    assert_eq!(info.counts.stray_times, 20);
}

/// A row of the captured traces' README: name; rows, reads, writes; flushes, POSTFUA, FUA writes, discards;
/// GiB discarded, MiB read and written; write share by requests and bytes; mean KiB; footprint GiB and that
/// written; highest offset GiB; seconds.
type Captured = (&'static str, [u64; 3], [u64; 4], [f64; 3], [f64; 2], [f64; 2], [f64; 2], f64, f64);

#[rustfmt::skip]
const CAPTURED: [Captured; 4] = [
    ("oltp", [445_775, 314_441, 116_102], [15_219, 104, 104, 13], [0.0, 3887.0, 1984.0], [0.270, 0.338], [12.7, 17.5], [2.39, 1.00], 8.58, 75.3),
    ("ntrx", [384_188, 26_065, 306_104], [52_010, 211, 211, 9], [0.0, 254.0, 4354.0], [0.922, 0.945], [10.0, 14.6], [2.16, 2.11], 8.80, 75.2),
    ("varmail", [992_670, 269_031, 540_316], [65_903, 29_839, 29_902, 117_420], [2.8, 3781.0, 7060.0], [0.668, 0.651], [14.4, 13.4], [3.47, 2.30], 16.00, 60.0),
    ("fileserver", [652_220, 250_229, 291_522], [42, 21, 21, 110_427], [16.4, 13_501.0, 14_353.0], [0.538, 0.515], [55.2, 50.4], [10.24, 9.22], 16.00, 60.0),
];

#[test]
fn captured_traces_agree_with_their_readme() {
    const MIB: f64 = 1024.0 * 1024.0;
    for (name, rows, syncs, volumes, shares, kib, footprint, highest, seconds) in CAPTURED {
        let Some(path) = shared(&format!("captured/{name}.csv.zst")) else { continue };
        let info: Info = info(&path, &TraceOptions::default()).unwrap();
        assert_eq!([info.counts.lines, info.reads, info.writes], rows, "{name}");
        assert_eq!([info.flushes, info.flushes_postfua_dropped, info.fua_writes, info.discards], syncs, "{name}");
        assert_eq!(info.requests, rows[0] - syncs[1], "{name}: every row but the POSTFUA flushes is replayed");
        check(
            name,
            &[
                ("GiB discarded", info.bytes_discarded as f64 / MIB / 1024.0, volumes[0], 1),
                ("MiB read", info.bytes_read as f64 / MIB, volumes[1], 0),
                ("MiB written", info.bytes_written as f64 / MIB, volumes[2], 0),
                ("write share of requests", info.write_fraction_requests, shares[0], 3),
                ("write share of bytes", info.write_fraction_bytes, shares[1], 3),
                ("read KiB", info.read_kib_mean, kib[0], 1),
                ("write KiB", info.write_kib_mean, kib[1], 1),
                ("footprint GiB", info.footprint_mib / 1024.0, footprint[0], 2),
                ("footprint written GiB", info.footprint_written_mib / 1024.0, footprint[1], 2),
                ("highest offset GiB", info.highest_offset_bytes as f64 / MIB / 1024.0, highest, 2),
                ("seconds", info.duration_s, seconds, 1),
            ],
        );
    }
}

#[test]
fn memory_does_not_grow_with_the_trace() {
    // Two windows of the largest format, and what a batch holds: nothing else is kept of 992,670 rows.
    let Some(path) = shared("captured/varmail.csv.zst") else { return };
    let mut trace = Trace::open(&path, &TraceOptions::default()).unwrap();
    let mut batch = Vec::new();
    let mut latest = 0;
    while trace.fill(&mut batch, 1000).unwrap() > 0 {
        assert!(batch.len() <= 1000 && batch.capacity() <= 2048);
        assert!(batch.iter().all(|record| {
            let ordered = record.time_ns >= latest;
            latest = record.time_ns;
            ordered
        }));
        batch.clear();
    }
    assert_eq!(trace.counts().requests, 992_670 - 29_839);
}
