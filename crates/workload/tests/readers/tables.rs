//! Tables whose columns are told.

use base::RequestKind::{Flush, Read, Trim, Write as Put};
use workload::TraceOptions;

use super::{Scratch, lines, read, refused};

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
