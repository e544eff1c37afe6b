//! Recordings of the tools of Linux.

use base::RequestKind::{Flush, Read, Trim, Write as Put};
use workload::TraceOptions;

use super::{check, refused};

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
