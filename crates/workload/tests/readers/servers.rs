//! Traces of servers, desktops and clouds, in the formats of their collections.

use base::RequestKind::{Flush, Read, Trim, Write as Put};
use workload::TraceOptions;

use super::{Scratch, check, lines, read};

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
