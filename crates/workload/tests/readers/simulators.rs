//! Traces in the formats of simulators, told apart by their lines.

use base::RequestKind::{Read, Write as Put};
use workload::{TraceOptions, info};

use super::{Scratch, check, read, refused};

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
fn a_unit_of_time_that_cannot_be_is_told() {
    let doubtful = |gap: u64| {
        let text: String = (0..100u64).map(|i| format!("{},h,0,Write,{i},4096,0\n", i * gap)).collect();
        let scratch = Scratch::new("unit", text.as_bytes());
        info(&scratch.0, &TraceOptions::default()).unwrap().unit_doubtful
    };
    // Of 100 ns each; without any times there is no unit.
    assert_eq!([9, 10, 0].map(doubtful), [true, false, false]);
}
