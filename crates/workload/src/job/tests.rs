use super::*;

const MIB: u64 = 1 << 20;

/// The requests of a job on a device of 64 MiB, at most so many.
fn requests(text: &str, most: usize) -> Vec<Request> {
    let mut job = Job::new(text, 64 * MIB, 7).unwrap_or_else(|problem| panic!("{}", problem.what));
    let mut found = Vec::new();
    while found.len() < most {
        let before = found.len();
        job.fill(&mut found, 64.min(most - before), None);
        if found.len() == before {
            break;
        }
    }
    found
}

fn offsets(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.offset).collect()
}

fn of_kind(requests: &[Request], kind: RequestKind) -> Vec<Request> {
    requests.iter().filter(|request| request.kind == kind).copied().collect()
}

#[test]
fn a_pass_has_every_block_once_and_repeats_where_it_is_asked_to() {
    for (text, same) in [("", true), (" randrepeat=0", false)] {
        let found = offsets(&requests(&format!("rw=randwrite size=1m loops=2{text}"), 10_000));
        assert_eq!(found.len(), 512);
        let (one, other) = found.split_at(256);
        let mut sorted = one.to_vec();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq((0..256).map(|block| block * 4096)));
        assert_eq!(one == other, same);
    }
}

#[test]
fn reads_and_writes_in_order_have_a_sequence_each() {
    let found = requests("rw=rw bs=4k,8k,4k size=4m rwmixread=70", 10_000);
    for (kind, size) in [(RequestKind::Read, 4096), (RequestKind::Write, 8192)] {
        let mine = of_kind(&found, kind);
        assert!(mine.len() > 50 && offsets(&mine).into_iter().eq((0..mine.len() as u64).map(|number| number * size)));
    }
    let bytes: u64 = found.iter().map(|request| request.size).sum();
    assert!((4 * MIB..4 * MIB + 8192).contains(&bytes));
}

#[test]
fn sizes_have_their_shares() {
    let found =
        requests("rw=randread bs=4k/20:64k/80 size=32m norandommap=1 randrepeat=0 number_ios=20000 io_size=1t", 20_000);
    let small = found.iter().filter(|request| request.size == 4096).count() as f64 / found.len() as f64;
    assert!((small - 0.2).abs() < 0.01, "{small}");
    assert!(found.iter().all(|request| request.offset + request.size <= 32 * MIB));
}

#[test]
fn a_map_is_kept_for_sizes_that_vary() {
    let found = requests("rw=randwrite bs=4k/50:16k/50 size=4m", 10_000);
    let mut blocks = vec![0; 1024];
    for request in &found {
        for block in request.offset / 4096..(request.offset + request.size) / 4096 {
            blocks[block as usize] += 1;
        }
    }
    assert!(blocks.iter().all(|&times| times <= 1) && blocks.iter().sum::<i32>() > 1000);
}

#[test]
fn a_part_is_random_by_kind() {
    let found = requests("rw=randrw percentage_random=0,100,0 size=4m norandommap=1", 10_000);
    let reads = offsets(&of_kind(&found, RequestKind::Read));
    assert!(reads.windows(2).all(|two| two[1] == two[0] + 4096));
    let writes = offsets(&of_kind(&found, RequestKind::Write));
    assert!(writes.windows(2).filter(|two| two[1] == two[0] + 4096).count() < writes.len() / 20);
}

#[test]
fn each_trim_is_followed_by_its_write() {
    for name in ["trimwrite", "randtrimwrite"] {
        let found = requests(&format!("rw={name} size=1m"), 10_000);
        assert_eq!(found.len(), 512);
        for two in found.chunks(2) {
            assert_eq!([two[0].kind, two[1].kind], [RequestKind::Trim, RequestKind::Write]);
            assert_eq!((two[0].offset, two[0].size), (two[1].offset, two[1].size));
        }
    }
}

#[test]
fn flushes_come_after_so_many_writes_and_at_the_end() {
    let kinds: Vec<RequestKind> =
        requests("rw=write size=32k fsync=3 end_fsync=1", 100).iter().map(|request| request.kind).collect();
    let [w, f] = [RequestKind::Write, RequestKind::Flush];
    assert_eq!(kinds, [w, w, w, f, w, w, w, f, w, w, f]);
}

#[test]
fn what_was_written_is_read_again() {
    let found = requests("rw=randrw size=1m verify=1", 10_000);
    let writes = offsets(&of_kind(&found, RequestKind::Write));
    let last = &found[256..];
    assert!(last.iter().all(|request| request.kind == RequestKind::Read));
    assert_eq!(offsets(last), writes);
    let found = requests("rw=write size=64k verify=1 verify_backlog=4", 100);
    let expected = [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7];
    assert_eq!(offsets(&found)[..16], expected.map(|block| block * 4096));
}

#[test]
fn a_job_by_time_goes_on() {
    for name in ["read", "randwrite", "randtrimwrite", "rw"] {
        let found = requests(&format!("rw={name} size=64k time_based=1"), 5000);
        assert_eq!(found.len(), 5000, "{name}");
        assert!(found.iter().all(|request| request.offset + request.size <= 65536));
    }
}

#[test]
fn more_bytes_than_the_range_are_written_around_its_end() {
    let found = requests("rw=write size=64k io_size=160k", 100);
    assert_eq!(offsets(&found), (0..40).map(|number| number % 16 * 4096).collect::<Vec<u64>>());
}

#[test]
fn runs_and_strides() {
    let found = offsets(&requests("rw=randread:4 size=4m norandommap=1", 1000));
    let steps = found.windows(2).filter(|two| two[1] == two[0] + 4096).count();
    assert!((700..=760).contains(&steps), "{steps}");
    assert_eq!(offsets(&requests("rw=read:4k size=32k", 4)), [0, 8192, 16384, 24576]);
    let reads = offsets(&requests("rw=randread:3 rw_sequencer=identical size=1m norandommap=1", 300));
    assert!(reads[2..].chunks_exact(3).all(|three| three[0] == three[1] && three[1] == three[2]));
}

#[test]
fn zones_have_their_shares_and_places() {
    let found = requests(
        "rw=randread size=10m random_distribution=zoned:80/0-1m:20/1m-10m number_ios=10000 io_size=1t",
        10_000,
    );
    let inside = found.iter().filter(|request| request.offset < MIB).count();
    assert!((7800..8200).contains(&inside), "{inside}");
}

#[test]
fn each_kind_has_its_pace() {
    let mut job = Job::new("rw=randrw size=1m rate_iops=1000,250,0 time_based=1", 64 * MIB, 7).map_err(|_| ()).unwrap();
    let (mut found, mut now) = (Vec::new(), 0);
    while now < 1_000_000_000 {
        job.fill(&mut found, 64, Some(now));
        now = now.max(found.last().unwrap().at.0);
    }
    let reads = of_kind(&found, RequestKind::Read).len();
    assert!(
        (990..=1010).contains(&reads) && (245..=255).contains(&(found.len() - reads)),
        "{reads} of {}",
        found.len()
    );
}

#[test]
fn a_bad_text_says_what_would_be_right() {
    for text in [
        "rw",
        "rw=up",
        "speed=1",
        "rw=read rw=write",
        "bs=0",
        "bs=4k/50",
        "bs=8k-4k",
        "bs=4k,8k",
        "size=x",
        "offset=1t",
        "size=1k",
        "rw=randread:0",
        "percentage_random=101",
        "random_distribution=zipf:9",
        "random_distribution=zoned:50/0-1m",
        "rw_sequencer=odd",
        "loops=0",
        "randrepeat=2",
        "verify_backlog=0",
        "ba=x rw=randread",
    ] {
        let problem = Job::new(text, 64 * MIB, 1).err().unwrap_or_else(|| panic!("{text}"));
        assert!(!problem.what.is_empty() && !problem.expected.is_empty());
    }
}

#[test]
fn files_lie_one_behind_the_other_and_take_turns() {
    let blocks = |text: &str| {
        let found = requests(&format!("size=64k files=4 {text}"), 1000);
        found.iter().map(|request| request.offset / 4096).collect::<Vec<_>>()
    };
    let turns = |of: u64| (0..16u64).map(move |at| at % of * (16 / of) + at / of).collect::<Vec<_>>();
    assert_eq!(blocks("rw=write"), turns(4));
    assert_eq!(blocks("rw=write file_service=sequential"), turns(1));
    assert_eq!(blocks("rw=write file_service=roundrobin:2")[..6], [0, 1, 4, 5, 8, 9]);
    for text in ["rw=randread", "rw=randwrite file_service=random", "rw=randread file_service=sequential"] {
        let (found, mut sorted) = (blocks(text), blocks(text));
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..16) && !found.is_sorted(), "{text}: {found:?}");
    }
    // Blocks that are left over are in none of them; a flush for each file ends a pass.
    assert_eq!(requests("rw=write size=100k files=3", 1000).len(), 24);
    let flushed = requests("rw=write size=64k files=4 end_fsync=1", 1000);
    assert!(flushed[16..].iter().all(|request| request.kind == RequestKind::Flush) && flushed.len() == 20);
    for wrong in ["files=0", "files=9999", "files=2 file_service=odd", "files=2 file_service=roundrobin:0", "files=64"]
    {
        assert!(Job::new(&format!("rw=write size=64k {wrong}"), 64 * MIB, 7).is_err(), "{wrong}");
    }
}

#[test]
fn a_job_writes_where_it_says() {
    for (text, written) in [
        ("rw=read size=1m", None),
        ("rw=randwrite offset=1m size=1m", Some((MIB, 2 * MIB))),
        ("rw=randrw bs=4k/50:16k/50 offset=1m size=1m", Some((MIB, 2 * MIB))),
        ("rw=write offset=1m size=1m files=4", Some((MIB, 2 * MIB))),
        // Its last request may go on behind the range.
        ("rw=write bs=48k offset=1m size=1m", Some((MIB, 2 * MIB + (48 << 10)))),
        ("rw=trim size=1m", None),
    ] {
        let job = Job::new(text, 64 * MIB, 7).unwrap_or_else(|problem| panic!("{}", problem.what));
        assert_eq!(job.written().map(|range| (range.start, range.end)), written, "{text}");
        let (first, end) = written.unwrap_or((0, 0));
        let writes = of_kind(&requests(text, 10_000), RequestKind::Write);
        assert!(writes.iter().all(|request| request.offset >= first && request.offset + request.size <= end), "{text}");
    }
}
