//! Each format by a handful of lines, and what happens to what is not as it should be.

use std::io::Write;
use std::path::PathBuf;

use base::RequestKind::{self, Flush, Read, Trim, Write as Put};
use workload::{Record, Trace, TraceError, TraceOptions, convert, head, info};

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

#[test]
fn msr() {
    let trace = check(
        "msr",
        "msr",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n\
         128166391024154329,prxy,0,Write,1105182720,1024,1514\r\n\
         128166391024310068,prxy,1,Read,512,4096,2024\r\n",
        &[(0, Put, 1_105_182_720, 1024, 0, false), (15_573_900, Read, 512, 4096, 1, false)],
    );
    assert_eq!(trace.counts().other_rows, 1);
}

#[test]
fn captured() {
    let trace = check(
        "captured",
        "msr",
        "134396733288653904,v,0,Flush,0,0,780,-\n\
         134396733288653914,v,0,Write,4096,8192,780,PREFLUSH+FUA+SYNC+META\n\
         134396733288653924,v,0,Flush,0,0,780,POSTFUA\n\
         134396733288653934,v,0,Discard,1048576,65536,780,-\n\
         134396733288653944,v,0,Read,0,512,780,RA\n",
        &[
            (0, Flush, 0, 0, 0, false),
            (1000, Put, 4096, 8192, 0, true),
            (3000, Trim, 1_048_576, 65_536, 0, false),
            (4000, Read, 0, 512, 0, false),
        ],
    );
    assert_eq!(trace.counts().postfua_dropped, 1);
}

#[test]
fn spc() {
    check(
        "spc",
        "spc",
        "0,20941264,8192,W,0.551706\n0,20939840,8192,W,0.554041\n1,3436288,15872,r,1.011732,9\n",
        &[
            (0, Put, 20_941_264 * 512, 8192, 0, false),
            (2_335_000, Put, 20_939_840 * 512, 8192, 0, false),
            (460_026_000, Read, 3_436_288 * 512, 15_872, 1, false),
        ],
    );
}

#[test]
fn systor() {
    let trace = check(
        "systor",
        "systor",
        "Timestamp,Response,IOType,LUN,Offset,Size\n\
         1455592980.008744001,0.000212,W,4,42949672960,4096\n\
         1455592980.108744001,,,4,0,0\n\
         1455592980.208744002,,R,0,2018839552,65536\n",
        &[(0, Put, 42_949_672_960, 4096, 4, false), (200_000_001, Read, 2_018_839_552, 65_536, 0, false)],
    );
    assert_eq!(trace.counts().other_rows, 2, "names, and a type without a name");
}

/// A table in no known format.
const TABLE: &str = "id;When;what;where;\"how much\";disk\n\
     7;10.5;R;3;8;2\n\
     8;11.25;write;5;16;0\n\
     9;12;Discard;0;1;0\n\
     10;13;F;;;1\n";

#[test]
fn columns_by_name_and_by_number() {
    let scratch = Scratch::new("columns", TABLE.as_bytes());
    let expected = [
        (0, Read, 3 * 512, 4096, 2, false),
        (750_000, Put, 5 * 512, 8192, 0, false),
        (1_500_000, Trim, 0, 512, 0, false),
        (2_500_000, Flush, 0, 0, 1, false),
    ];
    for columns in [
        "time=when:ms,op=What,offset=where:sector,size=how much:sector,device=disk",
        "device=6, size=5:sector, offset=4:sector, op=3, time=2:ms",
    ] {
        let format = Some(format!("columns:{columns}"));
        let (mut trace, records) = read(&scratch.0, &TraceOptions { format, ..TraceOptions::default() }).unwrap();
        assert_eq!(lines(&records), expected, "{columns}");
        assert_eq!((trace.format().name, trace.counts().other_rows), ("columns", 1));
        trace.rewind().unwrap();
        let mut again = Vec::new();
        while trace.fill(&mut again, 100).unwrap() > 0 {}
        assert_eq!(again, records, "{columns}");
    }
    let numbers = Scratch::new("numbers", b"1 0 8 512\n2  1 16 1024\n");
    let of = |op: &str| {
        let format = Some(format!("columns:op={op},offset=3,size=4"));
        let (_, records) = read(&numbers.0, &TraceOptions { format, ..TraceOptions::default() }).unwrap();
        records.iter().map(|record| (record.time_ns, record.kind, record.size)).collect::<Vec<_>>()
    };
    assert_eq!(of("2:r0w1"), [(0, Read, 512), (0, Put, 1024)]);
    assert_eq!(of("2:r1w0"), [(0, Put, 512), (0, Read, 1024)]);
    // One operation for all; a column of that name goes before it.
    assert_eq!(of("W"), [(0, Put, 512), (0, Put, 1024)]);
    assert_eq!(of("read"), [(0, Read, 512), (0, Read, 1024)]);
    for (content, columns) in [
        ("w,lba,n\nR,1,512\n", "op=W,offset=lba,size=n"),
        ("1|a,b|512\n", "separator=pipe,op=R,offset=1,size=3"),
        ("0:1:512\n", "op=R, offset=2, size=3, separator=colon, time=1"),
        ("x,1 512\n", "separator=blank,op=R,offset=2,size=2"),
    ] {
        let scratch = Scratch::new("constants", content.as_bytes());
        let format = Some(format!("columns:{columns}"));
        let (_, records) = read(&scratch.0, &TraceOptions { format, ..TraceOptions::default() }).unwrap();
        assert_eq!((records.len(), records[0].kind, records[0].size), (1, Read, 512), "{columns}");
    }
}

#[test]
fn columns_that_are_none() {
    let said = |columns: &str| {
        let format = Some(format!("columns:{columns}"));
        refused("columns-bad", TABLE.as_bytes(), &TraceOptions { format, ..TraceOptions::default() })
    };
    for (columns, what) in [
        ("op", "`op` names no column"),
        ("op=3,offset=4", "there is no column for `size`"),
        ("op=3,offset=4,size=0", "columns are counted from 1"),
        ("op=3,lba:sectors,size=5", "`offset=lba:sectors`?"),
        ("op=3,offset=4:pages,size=5", "`pages` in `offset=4:pages` is none of `B`, `sector`, `KiB`, `4KiB`"),
        ("op=3,offset=4,size=much", "no column of the first row is called `much`"),
        ("op=3,offset=4,size=5,length=6", "`length=6` is none of `time`, `op`, `offset`, `size`, `device`"),
        ("op=3,offset=4,size=5:pages", "`pages` in `size=5:pages` is none of `B`, `sector`, `KiB`, `4KiB`"),
        ("offset=4,size=5", "there is no column for `op`; `op=W` or `op=R` stands for all requests"),
        ("op=F,offset=4,size=5", "no column of the first row is called `F`"),
        ("op=W:r0w1,offset=4,size=5", "no column of the first row is called `W`"),
        (
            "separator=;,op=3,offset=4,size=5",
            "`separator=;` is none of `comma`, `semicolon`, `tab`, `pipe`, `colon`, `blank`",
        ),
        ("op=1,offset=4,size=5", "FILE:2: bad columns line: op is none"),
        ("op=3,offset=4,size=50", "too few columns"),
        ("op=3,offset=4,size=5,time=3", "time is not a number"),
    ] {
        let message = said(columns);
        assert!(message.contains(what) && message.contains("expected"), "{columns}: {message}");
    }
}

#[test]
fn fiu() {
    check(
        "fiu",
        "fiu",
        "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n\
         89968195792562 20782 Web Content 283193192 16 W 6 1 56f11b711d91a065a2b6458eca924523\n",
        &[(0, Read, 283_193_184 * 512, 4096, 6 << 20, false), (100, Put, 283_193_192 * 512, 8192, 6 << 20 | 1, false)],
    );
}

#[test]
fn etw() {
    let trace = check(
        "etw",
        "etw",
        "BeginHeader\n\
         \x20           DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName\n\
         \x20          DiskFlush,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,  ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri\n\
         EndHeader\n\
         OS Version: 6.0.6001,Trace Size: 1 KB\n\
         \x20      DiskReadInit,       1090,     System (   4),        120, 0xfffffa800e0dbc10\n\
         \x20           DiskRead,       1107,     System (   4),        120, 0xfffffa800e0dbc10, 0x0004e54000, 0x00002000,          17,       2, 0x000043,          17,      Normal, Original, 0xfffff8a0, \"C:\\a, b\"\n\
         \x20          DiskWrite,       2107,     store.exe (4488),        120, 0xfffffa800e0dbc10, 0x00109e8000, 0x00001000,          17,       1, 0x000043,          17,      Normal, Original, 0xfffff8a0, \"D:\\x\"\n\
         \x20          DiskFlush,       2200,     System (   4),        120, 0xfffffa800e0dbc10,   17,       1, 0x000043,          17,      Normal\n",
        &[
            (0, Read, 0x4e5_4000, 8192, 2, false),
            (1_000_000, Put, 0x109e_8000, 4096, 1, false),
            (1_093_000, Flush, 0, 0, 1, false),
        ],
    );
    assert_eq!(trace.counts().other_rows, 6);
}

#[test]
fn etw_with_a_processor_column() {
    check(
        "etw-cpu",
        "etw",
        "DiskRead,  TimeStamp, Process Name ( PID), ThreadID, CPU, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum\n\
         DiskRead, 8612, xperf.exe (3984), 11844, 1, 0xffffe288b23f1b20, 0x018f0b8000, 0x00001000, 283, 0\n",
        &[(0, Read, 0x1_8f0b_8000, 4096, 0, false)],
    );
}

#[test]
fn simulators_ascii() {
    check(
        "ssdsim",
        "ssdsim",
        "11413000 0 657728 16 1\n11565000 1 31244784 64 0\n",
        &[(0, Read, 657_728 * 512, 8192, 0, false), (152_000, Put, 31_244_784 * 512, 32_768, 1, false)],
    );
    check(
        "ssdsim-us",
        "ssdsim-us",
        "0 0 280605840 2 1\n979 0 287641400 128 1\n3976 0 8347504 8 0\n",
        &[
            (0, Read, 280_605_840 * 512, 1024, 0, false),
            (979_000, Read, 287_641_400 * 512, 65_536, 0, false),
            (3_976_000, Put, 8_347_504 * 512, 4096, 0, false),
        ],
    );
    check(
        "disksim",
        "disksim",
        "7961.833 0 20228336 8 0\n8346.206 0 6397360 496 3\n",
        &[(0, Put, 20_228_336 * 512, 4096, 0, false), (384_373_000, Read, 6_397_360 * 512, 496 * 512, 0, false)],
    );
    check(
        "flashsim",
        "flashsim",
        "26.214000\t0\t303574\t1\t0\n26.214000\t0\t240840\t2\t1\n",
        &[(0, Put, 303_574 * 512, 4096, 0, false), (0, Read, 240_840 * 512, 8192, 0, false)],
    );
    check(
        "ms-bytes",
        "ms-bytes",
        "0.000 0 200626176 4096 0\n223.412 0 3159347200 36864 1\n",
        &[(0, Put, 200_626_176, 4096, 0, false), (223_412_000, Read, 3_159_347_200, 36_864, 0, false)],
    );
}

#[test]
fn a_name_overrides_detection() {
    let scratch = Scratch::new("named", b"0 0 8 2 1\n979 0 16 128 1\n");
    let options = TraceOptions { format: Some("ssdsim".into()), ..TraceOptions::default() };
    let (_, records) = read(&scratch.0, &options).unwrap();
    assert_eq!(records[1].time_ns, 979);
    let options = TraceOptions { format: Some("ssdsin".into()), ..TraceOptions::default() };
    let error = refused("named-wrong", b"0 0 8 2 1\n", &options);
    assert!(error.starts_with("unknown trace format `ssdsin`; expected one of `iolog`"), "{error}");
}

#[test]
fn biotracer() {
    check(
        "biotracer",
        "biotracer",
        "4043872\t\t96\t\t49152\t\t5\t\t1398396860.168065791\t\t1398396860.168307510\t\t1.5\t\t1.6\n\
         4043968 8 4096 4 1398396860.171915740 1 1 1\n\
         52432368 8 4096 1 1398396860.170000000 1 1 1\n",
        &[
            (0, Put, 4_043_872 * 512, 49_152, 0, false),
            (1_934_209, Put, 52_432_368 * 512, 4096, 0, false),
            (3_849_949, Read, 4_043_968 * 512, 4096, 0, false),
        ],
    );
}

#[test]
fn blkparse() {
    let trace = check(
        "blkparse",
        "blkparse",
        "  8,33  21        1     0.000500000  6742  Q  WS 4194352 + 8 [(null)]\n\
         \x20 8,33  21        2     0.001003911  6742  D  WS 4202624 + 8 [(null)]\n\
         \x20 8,33  21        3     0.001003912  6742  m   N cfq6742 insert\n\
         \x20 8,33   6        5     0.000094763  6742  D  WFSM 4202600 + 24 [db_bench]\n\
         \x20 8,33   6        6     0.000099731  6742  D   R 8 + 8 [db_bench]\n\
         \x20 8,33   6        7     0.000100000  6742  D   D 4206640 + 2048 [db_bench]\n\
         \x20 8,33   6        8     0.000200000  6742  D  FN [kworker/0:1H]\n\
         \x20 8,33   6        9     0.000300000  6742  D   N 36 (12 00 00 00 24 00 ..) [udev]\n\
         \x20 8,33   6       10  1266874889.700543943  6742  D  RS 4206592 + 8 [db_bench]\n\
         CPU0 (8,33):\n Reads Queued:           0,        0KiB\t Writes Queued:          52,      208KiB\n\n\
         Total (8,33):\n Throughput (R/W): 0KiB/s / 1KiB/s\nEvents (8,33): 10 entries\nSkips: 0 forward (0 -   0.0%)\n",
        &[
            (0, Put, 4_202_600 * 512, 24 * 512, 8 << 20 | 33, true),
            (4_968, Read, 4096, 4096, 8 << 20 | 33, false),
            (5_237, Trim, 4_206_640 * 512, 1 << 20, 8 << 20 | 33, false),
            (105_237, Flush, 0, 0, 8 << 20 | 33, false),
            (909_148, Put, 4_202_624 * 512, 4096, 8 << 20 | 33, false),
        ],
    );
    let counts = trace.counts();
    assert_eq!((counts.stray_times, counts.out_of_order, counts.other_rows), (1, 4, 10));
}

#[test]
fn blkparse_without_device_and_without_dispatch() {
    check(
        "blkparse-q",
        "blkparse",
        "0.000011560   5       6 18046   Q  FWFS 1024 + 8 [jbd2]\n0.000011960   5       7 18046   I  WS 1024 + 8 [jbd2]\n\
         0.000021560   5       6 18046   Q  FWS 0 + 0 [jbd2]\n",
        &[(0, Flush, 0, 0, 0, false), (0, Put, 524_288, 4096, 0, true), (10_000, Flush, 0, 0, 0, false)],
    );
}

#[test]
fn a_request_that_was_given_back_is_one_request() {
    // The second dispatch stands before the line that says why there is one, as it does where another processor wrote it.
    let text = "8,0 1 1 0.000000000 697 D W 1000 + 8 [a]\n\
                8,0 2 9 0.000500000 697 D W 1000 + 8 [b]\n\
                8,0 1 2 0.000002000 697 R W 1000 + 8 [0]\n\
                8,0 1 3 0.000600000 697 D R 1000 + 8 [b]\n\
                8,0 1 4 0.000900000 0 C W 1000 + 8 [0]\n\
                8,0 1 5 0.001000000 697 D W 1000 + 8 [a]\n\
                8,0 1 6 0.002000000 697 D FN [a]\n8,0 1 7 0.003000000 697 R FN [0]\n8,0 1 8 0.004000000 697 D FN [a]\n";
    let device = 8 << 20;
    let trace = check(
        "requeue",
        "blkparse",
        text,
        &[
            (0, Put, 512_000, 4096, device, false),
            (600_000, Read, 512_000, 4096, device, false),
            (1_000_000, Put, 512_000, 4096, device, false),
            (2_000_000, Flush, 0, 0, device, false),
        ],
    );
    assert_eq!((trace.counts().requeued, trace.counts().requests), (2, 4));
}

#[test]
fn zeroes_of_a_range_are_a_write() {
    let device = 259 << 20;
    let trace = check(
        "zeroes",
        "blkparse",
        "259,0 1 1 0.000000000 10 Q WS 0 + 8 [a]\n259,0 1 2 0.000100000 10 Q N 4096 + 2048 [mkfs.ext4]\n\
         259,0 1 3 0.000200000 10 Q N 36 (12 00 00 ..) [udev]\n259,0 1 4 0.000300000 10 Q NS 0 + 0 [a]\n",
        &[(0, Put, 0, 4096, device, false), (100_000, Put, 4096 * 512, 1 << 20, device, false)],
    );
    assert_eq!((trace.counts().other_rows, trace.counts().zero_length), (2, 0));
}

#[test]
fn block_events() {
    let device = 259 << 20;
    let trace = check(
        "trace-pipe",
        "block-events",
        "# tracer: nop\n#\n\
         \x20       sync-4844    [001] .... 343996.918805: block_rq_issue: 259,0 WS 4096 () 2048 + 8 [sync]\n\
         \x20  Web Cont-9   (    9) [001] d..2. 343996.918806: block_rq_complete: 259,0 WS () 2048 + 8 [0]\n\
         CPU:1 [LOST 3 EVENTS]\n\
         \x20 a b-c-4844    [001] d..2. 343996.918808: block_rq_issue: 259,0 WFSM 4096 () 10560 + 8 none,0,0 [sync]\n\
         \x20       sync-4844    [001] .... 343996.918810: block_rq_requeue: 259,0 WFSM () 10560 + 8 none,0,0 [0]\n\
         \x20       sync-4844    [001] .... 343996.918811: block_rq_issue: 259,0 WFSM 4096 () 10560 + 8 none,0,0 [sync]\n\
         \x20       sync-4844    [001] .... 343996.918812: block_rq_issue: 259,0 FF 0 () 18446744073709551615 + 0 [k]\n\
         \x20       udev-4845    [001] .... 343996.918813: block_rq_issue: 259,0 N 36 (12 00 00 00 24 00) 0 + 0 [udev]\n\
         \x20       mkfs-4846    [001] .... 343996.918815: block_rq_issue: 259,0 N 1048576 () 4096 + 2048 [mkfs]\n",
        &[
            (0, Put, 2048 * 512, 4096, device, false),
            (3000, Put, 10_560 * 512, 4096, device, true),
            (7000, Flush, 0, 0, device, false),
            (10_000, Put, 4096 * 512, 1 << 20, device, false),
        ],
    );
    assert_eq!((trace.counts().requeued, trace.counts().other_rows), (1, 6));
    // perf, with events of other kinds and stacks between; only completions were recorded.
    check(
        "perf-script",
        "block-events",
        "swapper     0 [006] 205791.409875: block:block_rq_complete: 8,16 RM () 390439208 + 8 [0]\n\
         \tffffffff8144 blk_update_request+0x1 ([kernel.kallsyms])\n\n\
         chrome  9526 [006] 205791.409876: sched:sched_switch: prev_comm=chrome prev_pid=9526\n\
         chrome  9526 [006] 205791.409885: block:block_rq_complete: 8,16 W () 424979920 + 16 [0]\n",
        &[
            (0, Read, 390_439_208 * 512, 4096, 8 << 20 | 16, false),
            (10_000, Put, 424_979_920 * 512, 8192, 8 << 20 | 16, false),
        ],
    );
    let clock = "a-1 [001] .... 343996918805: block_rq_issue: 259,0 WS 4096 () 2048 + 8 [a]\n";
    let options = TraceOptions { format: Some("block-events".into()), ..TraceOptions::default() };
    let error = refused("trace-clock", clock.as_bytes(), &options);
    assert!(error.contains("time is not in seconds with a decimal point; another trace clock"), "{error}");
}

#[test]
fn biosnoop() {
    // Requests are taken at their arrival: times less latencies.
    let trace = check(
        "biosnoop",
        "biosnoop",
        "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n\
         0.000000    jbd2           345     nvme0n1   WS 1092656   24576     0.09\n\
         0.500000    Two Words      3312    nvme0n1   R 8847360    16384   501.00\n\
         0.600000    fio            3313    sdb       RA 8847392   16384     0.21\n\
         0.700000    jbd2           345     nvme0n1   FF 0          0        0.50\n",
        &[
            (0, Read, 8_847_360 * 512, 16_384, 0, false),
            (910_000, Put, 1_092_656 * 512, 24_576, 0, false),
            (600_790_000, Read, 8_847_392 * 512, 16_384, 1, false),
            (700_500_000, Flush, 0, 0, 0, false),
        ],
    );
    assert_eq!(trace.counts().other_rows, 1);
    // libbpf-tools with the time in the queue, which comes before the latency; and bcc with the pattern.
    check(
        "biosnoop-queue",
        "biosnoop",
        "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
         5.000000    a              1       vda     W    8          4096      1.000   2.000\n\
         5.010000    a              1       vda     R    16         4096     -1.000   1.000\n",
        &[(0, Put, 4096, 4096, 0, false), (12_000_000, Read, 8192, 4096, 0, false)],
    );
    check(
        "biosnoop-without-names",
        "biosnoop",
        "0.000004    supervise      1950   xvda1   W 13092560   4096       0.74\n\
         0.000178    supervise      1950   xvda1   W 13092432   4096       0.61\n",
        &[(0, Put, 13_092_560 * 512, 4096, 0, false), (304_000, Put, 13_092_432 * 512, 4096, 0, false)],
    );
}

#[test]
fn recordings_of_which_a_tool_makes_a_trace() {
    let default = TraceOptions::default();
    for (name, content, what, remedy) in [
        ("sda.blktrace.0", &b"\x07tae\x01\0\0\0"[..], "binary blktrace data", "`blkparse -i FILE -o trace.txt`"),
        ("perf.data", b"PERFILE2\0\0", "a recording of perf", "`perf script -i FILE > trace.txt`"),
        ("trace.dat", b"\x17\x08\x44tracing6\0", "a recording of trace-cmd", "`trace-cmd report -i FILE > trace.txt`"),
        (
            "bt",
            b"Attached 4 probes\nTIME(ms)     DISK    COMM             PID    LAT(ms)\n611          nvme0n1 bash             4179        10\n",
            "bpftrace's biosnoop.bt, which says neither sector nor size",
            "`biosnoop` of bcc",
        ),
    ] {
        let stem = name.replace(".blktrace.0", "");
        let error = refused(name, content, &default).replace(
            &std::env::temp_dir().join(format!("ftlab-{}-{stem}", std::process::id())).display().to_string(),
            "FILE",
        );
        assert!(error.contains(what) && error.contains("hint: ") && error.contains(remedy), "{error}");
    }
}

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

#[test]
fn a_unit_of_time_that_cannot_be_is_told() {
    let doubtful = |gap: u64| {
        let text: String = (0..100u64).map(|i| format!("{},h,0,Write,{i},4096,0\n", i * gap)).collect();
        let scratch = Scratch::new("unit", text.as_bytes());
        info(&scratch.0, &TraceOptions::default()).unwrap().unit_doubtful
    };
    // Of 100 ns each; without any times there is no unit.
    assert_eq!([9, 10, 0].map(doubtful), [true, false, false]);
}

#[test]
fn fio_iologs() {
    check(
        "iolog2",
        "iolog",
        "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 0 4096\n/dev/sdb wait 1500 0\n/dev/sdb read 8192 512\n\
         /dev/sdb sync 0 0\n/dev/sdb trim 4096 4096\n/dev/sdb close\n",
        &[
            (0, Put, 0, 4096, 0, false),
            (1_500_000, Read, 8192, 512, 0, false),
            (1_500_000, Flush, 0, 0, 0, false),
            (1_500_000, Trim, 4096, 4096, 0, false),
        ],
    );
    check(
        "iolog3",
        "iolog",
        "fio version 3 iolog\n5 a add\n5 a open\n10 a write 0 4096\n20 b write 0 4096\n25 a datasync 0 0\n30 a close\n",
        &[(0, Put, 0, 4096, 0, false), (10_000, Put, 0, 4096, 1, false), (15_000, Flush, 0, 0, 0, false)],
    );
}

#[test]
fn cloud_block_stores() {
    check(
        "vscsi",
        "vscsi",
        "version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n1,5633898611441,28,4096,42932746\n1,5633898745540,35,0,0\n\
         1,5633898745541,12,36,0\n",
        &[
            (0, Put, 42_932_745 * 512, 512, 0, false),
            (242_639_000, Read, 42_932_746 * 512, 4096, 0, false),
            (376_738_000, Flush, 0, 0, 0, false),
        ],
    );
    check(
        "alibaba",
        "alibaba",
        "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n",
        &[(0, Put, 8_792_731_648, 16_384, 419, false), (46_000, Read, 59_110_326_272, 360_448, 725, false)],
    );
    check(
        "tencent",
        "tencent",
        "1538323200,12910952128,128,0,1063\n1538323201,6265984,8,1,1071\n",
        &[
            (0, Read, 12_910_952_128 * 512, 65_536, 1063, false),
            (1_000_000_000, Put, 6_265_984 * 512, 4096, 1071, false),
        ],
    );
}

#[test]
fn one_device_of_several() {
    let scratch = Scratch::new("device", b"419,W,0,16384,10\n725,R,4096,512,11\n419,R,0,16384,12\n");
    let options = TraceOptions { device: Some(725), ..TraceOptions::default() };
    let (trace, records) = read(&scratch.0, &options).unwrap();
    assert_eq!(lines(&records), [(0, Read, 4096, 512, 725, false)]);
    assert_eq!(trace.counts().other_devices, 2);
}

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
fn discards_beyond_64_bits_of_bytes_do_not_wrap() {
    let text = "1000,h,0,Discard,0,4611686018427387904,0,-\n".repeat(5);
    let scratch = Scratch::new("discards", text.as_bytes());
    let info = info(&scratch.0, &TraceOptions::default()).unwrap();
    assert_eq!((info.discards, info.bytes_discarded), (5, u64::MAX));
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
