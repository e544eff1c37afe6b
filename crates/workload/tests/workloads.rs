//! Rounds, ends, cutting to the device, generators and their distributions.

use std::path::PathBuf;

use base::{Duration, Instant, Request, RequestKind, Selection};
use config::model::{self, BackwardsTime, Discards, End, Generator, Host, OutOfRange, Replay, Source};
use files::Interrupt;
use workload::{GENERATORS, Tally, Workload, WorkloadError};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("ftlab-workload-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Scratch(path)
    }

    fn config(&self, end: End, out_of_range: OutOfRange) -> model::Workload {
        let source = Source::Trace { path: self.0.display().to_string() };
        model::Workload { end, out_of_range, ..model::Workload::of(source) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn host(time_scale: f64) -> Host {
    Host { time_scale, ..Host::new(Replay::Open, None) }
}

/// Everything a workload has, in batches of `batch`.
fn drain(workload: &mut Workload, batch: usize) -> Result<Vec<Request>, WorkloadError> {
    let mut all = Vec::new();
    loop {
        let before = all.len();
        workload.fill(&mut all, batch)?;
        assert!(all.len() - before <= batch);
        if all.len() == before {
            return Ok(all);
        }
    }
}

fn open(config: &model::Workload, time_scale: f64, capacity: u64, seed: u64) -> Result<Workload, WorkloadError> {
    Workload::open(config, &host(time_scale), capacity, seed, &Interrupt::default())
}

fn run(config: &model::Workload, capacity: u64) -> Result<(Vec<Request>, Tally), WorkloadError> {
    let mut workload = open(config, 1.0, capacity, 1)?;
    let requests = drain(&mut workload, 3)?;
    // The size of the batches makes no difference.
    let mut again = open(config, 1.0, capacity, 1)?;
    assert_eq!(drain(&mut again, 1000)?, requests);
    assert_eq!(again.tally(), workload.tally());
    Ok((requests, workload.tally()))
}

const TRACE: &str = "0,0,4096,W,1.0\n0,8,4096,R,2.0\n0,16,8192,W,5.0\n";

#[test]
fn a_trace_without_an_end_is_replayed_once() {
    let scratch = Scratch::new("once", TRACE);
    let (requests, tally) = run(&scratch.config(End::default(), OutOfRange::Reject), 1 << 20).unwrap();
    let times: Vec<u64> = requests.iter().map(|request| request.at.ns() / 1_000_000_000).collect();
    assert_eq!(times, [0, 1, 4]);
    assert_eq!((tally.rounds, tally.requests, tally.bytes_written, tally.lines), (1, 3, 12_288, 3));
}

#[test]
fn rounds_follow_each_other_after_a_mean_gap() {
    let scratch = Scratch::new("rounds", TRACE);
    let end = End { rounds: Some(3), ..End::default() };
    let (requests, tally) = run(&scratch.config(end.clone(), OutOfRange::Reject), 1 << 20).unwrap();
    let times: Vec<u64> = requests.iter().map(|request| request.at.ns() / 1_000_000_000).collect();
    assert_eq!(times, [0, 1, 4, 6, 7, 10, 12, 13, 16]);
    assert_eq!((tally.rounds, tally.lines), (3, 9));
    let mut halved = open(&scratch.config(end, OutOfRange::Reject), 0.5, 1 << 20, 1).unwrap();
    let halved = drain(&mut halved, 100).unwrap();
    assert!(requests.iter().zip(&halved).all(|(whole, half)| half.at.ns() * 2 == whole.at.ns()));
}

#[test]
fn times_that_leave_no_room_for_the_run_are_refused() {
    let last = Instant::LAST.ns();
    let trace = |ns: u64| {
        let text = format!("0,0,4096,W,0.0\n0,8,4096,R,{}.{:09}\n", ns / 1_000_000_000, ns % 1_000_000_000);
        Scratch::new(&format!("late-{ns}"), &text)
    };
    let (requests, _) = run(&trace(last).config(End::default(), OutOfRange::Reject), 1 << 20).unwrap();
    assert_eq!(requests[1].at, Instant::LAST);
    for late in [last + 1, u64::MAX - 1, u64::MAX] {
        let scratch = trace(late);
        let error = run(&scratch.config(End::default(), OutOfRange::Reject), 1 << 20).unwrap_err().to_string();
        let place = format!("{}:2: ", scratch.0.display());
        assert!(error.starts_with(&place) && error.contains("passes 292 years of simulated time"), "{error}");
    }
    // Two rounds of one that just fits.
    let rounds = End { rounds: Some(2), ..End::default() };
    let rounds_of = trace(last);
    assert!(run(&rounds_of.config(rounds, OutOfRange::Reject), 1 << 20).is_err());
    let slow = |requests| {
        let source =
            Source::Generator(Generator { interval: Duration(last / 2), ..generator(selection("uniform", &[]), 9) });
        let end = End { requests: Some(requests), ..End::default() };
        run(&model::Workload { source, ..rounds_of.config(end, OutOfRange::Wrap) }, 1 << 20)
    };
    assert_eq!(slow(3).unwrap().0[2].at.ns(), last / 2 * 2);
    let error = slow(4).unwrap_err().to_string();
    assert!(error.starts_with("workload.generator: ") && error.contains("passes 292 years"), "{error}");
}

#[test]
fn whichever_end_comes_first() {
    let scratch = Scratch::new("ends", TRACE);
    let count = |volume, requests, rounds| {
        let end = End { volume, requests, rounds };
        run(&scratch.config(end, OutOfRange::Reject), 1 << 20).unwrap().1
    };
    assert_eq!(count(Some(20_000), None, None).requests, 6);
    assert_eq!(count(Some(12_289), None, None).bytes_written, 16_384);
    assert_eq!(count(Some(4096), None, None).requests, 1);
    assert_eq!(count(None, Some(5), None).requests, 5);
    assert_eq!(count(Some(1 << 40), Some(100), Some(2)).requests, 6);
    assert_eq!(count(None, Some(0), None).requests, 0);
    assert_eq!(count(None, None, Some(0)).requests, 0);
}

#[test]
fn ends_that_are_never_reached_are_refused() {
    let scratch = Scratch::new("reads", "0,0,4096,R,1.0\n0,8,4096,R,2.0\n");
    let volume = End { volume: Some(1000), ..End::default() };
    let error = run(&scratch.config(volume, OutOfRange::Wrap), 1 << 20).unwrap_err().to_string();
    assert!(
        error.contains("wrote nothing inside the device, so the end by volume (1000 bytes) is never reached"),
        "{error}"
    );
    // With another end it is that one.
    let both = End { volume: Some(1000), rounds: Some(2), ..End::default() };
    assert_eq!(run(&scratch.config(both, OutOfRange::Wrap), 1 << 20).unwrap().1.requests, 4);
    let far = Scratch::new("far", "0,80000,4096,W,1.0\n");
    let rounds = End { requests: Some(10), ..End::default() };
    let error = run(&far.config(rounds, OutOfRange::Clamp), 1 << 20).unwrap_err().to_string();
    assert!(
        error.contains("no request of the trace lies inside the device (1 dropped past its end at 1048576 bytes"),
        "{error}"
    );
}

#[test]
fn what_would_bring_a_request_into_the_device_is_said_and_does() {
    let far = Scratch::new("near", "0,80000,4096,W,1.0\n0,2000,4096,W,1.0\n");
    let with = |capacity: u64, offset: u64, out_of_range| {
        let mut config = far.config(End { requests: Some(10), ..End::default() }, out_of_range);
        config.address_offset = offset;
        run(&config, capacity).map(|_| ()).map_err(|error| error.to_string())
    };
    let error = with(1 << 19, 0, OutOfRange::Clamp).unwrap_err();
    assert!(error.contains("the lowest begins at 1024000)\nhint: set `workload.out_of_range` to \"wrap\""), "{error}");
    assert!(error.ends_with("or `device.user_capacity` to more than 1024000 bytes"), "{error}");
    assert_eq!(with(1_024_000 + 512, 0, OutOfRange::Clamp), Ok(()));
    assert_eq!(with(1 << 19, 0, OutOfRange::Wrap), Ok(()));
    let error = with(2_000_384, 1 << 20, OutOfRange::Clamp).unwrap_err();
    assert!(error.ends_with("2072576 bytes, or `workload.address_offset` to less than 976384 bytes"), "{error}");
    assert!(with(2_000_384, 976_384, OutOfRange::Clamp).is_err());
    assert_eq!(with(2_000_384, 976_384 - 512, OutOfRange::Clamp), Ok(()));
}

#[test]
fn requests_past_the_end() {
    // Device of 16 sectors: inside, straddling, wholly past, straddling again after the modulo.
    let scratch = Scratch::new("past", "0,0,512,W,1\n0,12,4096,W,2\n0,20,512,R,3\n0,47,1024,W,4\n");
    let ranges = |out_of_range| {
        let (requests, tally) = run(&scratch.config(End::default(), out_of_range), 16 * 512).unwrap();
        let ranges: Vec<(u64, u64)> =
            requests.iter().map(|request| (request.offset / 512, request.size / 512)).collect();
        (ranges, [tally.wrapped, tally.split, tally.clamped, tally.dropped_past_end])
    };
    let (wrapped, counts) = ranges(OutOfRange::Wrap);
    assert_eq!(wrapped, [(0, 1), (12, 4), (0, 4), (4, 1), (15, 1), (0, 1)]);
    assert_eq!(counts, [3, 2, 0, 0]);
    let (clamped, counts) = ranges(OutOfRange::Clamp);
    assert_eq!(clamped, [(0, 1), (12, 4)]);
    assert_eq!(counts, [0, 0, 1, 2]);
    let error = run(&scratch.config(End::default(), OutOfRange::Reject), 16 * 512).unwrap_err().to_string();
    assert!(error.contains(":2: request of 4096 bytes at 6144 reaches past the end of the device at 8192"), "{error}");
}

#[test]
fn a_partition_moves_every_address_before_the_cut() {
    let scratch = Scratch::new("partition", "0,0,512,W,1\n0,12,512,W,2\n0,8,4096,R,3\n");
    let ranges = |out_of_range| {
        let config = model::Workload { address_offset: 3 * 512, ..scratch.config(End::default(), out_of_range) };
        let (requests, tally) = run(&config, 16 * 512)?;
        let ranges: Vec<(u64, u64)> =
            requests.iter().map(|request| (request.offset / 512, request.size / 512)).collect();
        Ok::<_, WorkloadError>((ranges, [tally.wrapped, tally.clamped, tally.dropped_past_end]))
    };
    assert_eq!(ranges(OutOfRange::Wrap).unwrap(), (vec![(3, 1), (15, 1), (11, 5), (0, 3)], [1, 0, 0]));
    assert_eq!(ranges(OutOfRange::Clamp).unwrap(), (vec![(3, 1), (15, 1), (11, 5)], [0, 1, 0]));
    // The message has the address on the device.
    let error = ranges(OutOfRange::Reject).unwrap_err().to_string();
    assert!(error.contains(":3: request of 4096 bytes at 5632 reaches past the end of the device at 8192"), "{error}");
}

#[test]
fn a_flush_has_no_address_to_move() {
    let scratch = Scratch::new("flush", "DiskWrite, 1, a, 0, 0, 0x0, 0x200, 0, 0\nDiskFlush, 2, a, 0, 0, 0, 0\n");
    let config = model::Workload { address_offset: 512, ..scratch.config(End::default(), OutOfRange::Clamp) };
    let (requests, _) = run(&config, 1024).unwrap();
    assert_eq!(requests.iter().map(|request| request.offset).collect::<Vec<_>>(), [512, 0]);
    assert_eq!(requests[1].kind, RequestKind::Flush);
}

#[test]
fn a_generator_in_a_partition() {
    const CAPACITY: u64 = 64 * 4096;
    let config = |address_offset: u64, end: End, out_of_range| model::Workload {
        end,
        address_offset,
        out_of_range,
        ..model::Workload::of(Source::Generator(generator(selection("uniform", &[]), 64)))
    };
    let requests = |n| End { requests: Some(n), ..End::default() };
    let (plain, _) = run(&config(0, requests(4000), OutOfRange::Wrap), CAPACITY).unwrap();
    let (wrapped, tally) = run(&config(63 * 512, requests(4000), OutOfRange::Wrap), CAPACITY).unwrap();
    // The same requests, and the parts that go on at address 0 behind those that straddle the end.
    let mut expected = Vec::new();
    for request in &plain {
        let at = (request.offset + 63 * 512) % CAPACITY;
        let first = request.size.min(CAPACITY - at);
        expected.push((at, first));
        expected.extend((first < request.size).then_some((0, request.size - first)));
    }
    assert!(expected.len() > plain.len());
    let ranges: Vec<(u64, u64)> = wrapped.iter().map(|request| (request.offset, request.size)).collect();
    assert_eq!(ranges, expected[..4000]);
    assert!(wrapped.iter().all(|request| request.offset % 4096 == 63 % 8 * 512 || request.offset == 0));
    assert!(tally.wrapped > 400, "{tally:?}");
    let (clamped, tally) = run(&config(63 * 512, requests(4000), OutOfRange::Clamp), CAPACITY).unwrap();
    assert_eq!(clamped.len(), 4000);
    assert!(clamped.iter().all(|request| request.offset + request.size <= CAPACITY));
    assert!(tally.clamped > 30 && tally.dropped_past_end > 300, "{tally:?}");
    // Ageing happens in the same partition.
    let mut aging = Workload::aging_for(&config(63 * 512, requests(1), OutOfRange::Wrap), CAPACITY, 4096, 1).unwrap();
    let mut aged = Vec::new();
    aging.fill(&mut aged, 100).unwrap();
    assert!(aged.iter().all(|request| request.offset % 4096 == 63 % 8 * 512 || request.offset == 0));
    // An end by volume, in the same place whatever the batches.
    let volume = End { volume: Some(1_000_000), ..End::default() };
    let (_, tally) = run(&config(63 * 512, volume, OutOfRange::Wrap), CAPACITY).unwrap();
    assert!((1_000_000..1_004_096).contains(&tally.bytes_written), "{tally:?}");
    let refused = |offset| run(&config(offset, requests(1), OutOfRange::Reject), CAPACITY).unwrap_err().to_string();
    assert!(refused(512).contains("footprint"), "{}", refused(512));
    assert!(refused(CAPACITY).contains("address_offset"), "{}", refused(CAPACITY));
}

#[test]
fn a_format_that_is_named_is_not_guessed() {
    // SSDSim's columns, in a time that content takes for nanoseconds.
    let scratch = Scratch::new("named", "0 0 8 8 0\n1000 0 16 8 0\n2500 0 24 8 1\n");
    let times = |trace_format| {
        let config = model::Workload { trace_format, ..scratch.config(End::default(), OutOfRange::Wrap) };
        let (requests, _) = run(&config, 1 << 20).unwrap();
        requests.iter().map(|request| request.at.ns()).collect::<Vec<u64>>()
    };
    assert_eq!(times(Some("ssdsim")), [0, 1000, 2500]);
    assert_eq!(times(Some("ssdsim-us")), [0, 1_000_000, 2_500_000]);
    assert!(workload::trace::names().contains(&"ssdsim-us"));
}

#[test]
fn a_request_larger_than_the_device_covers_it_once() {
    let scratch = Scratch::new("larger", "0,3,65536,W,1\n");
    let (requests, _) = run(&scratch.config(End::default(), OutOfRange::Wrap), 8192).unwrap();
    let ranges: Vec<(u64, u64)> = requests.iter().map(|request| (request.offset, request.size)).collect();
    assert_eq!(ranges, [(1536, 6656), (0, 1536)]);
}

#[test]
fn progress_goes_from_none_to_all() {
    let scratch = Scratch::new("progress", TRACE);
    let end = End { rounds: Some(4), volume: Some(1 << 30), ..End::default() };
    let mut workload = open(&scratch.config(end, OutOfRange::Reject), 1.0, 1 << 20, 1).unwrap();
    let mut last = 0.0;
    let mut out = Vec::new();
    for _ in 0..12 {
        workload.fill(&mut out, 1).unwrap();
        let now = workload.progress().unwrap();
        assert!((last..=1.0).contains(&now), "{last} then {now}");
        last = now;
    }
    assert_eq!((out.len(), last), (12, 1.0));
}

fn selection(name: &str, params: &[(&'static str, f64)]) -> Selection {
    let choice = GENERATORS.iter().find(|choice| choice.name == name).unwrap();
    let mut selection = Selection::default_of(choice);
    params.iter().for_each(|(name, value)| selection.set(name, (*value).into()));
    selection
}

fn generator(pattern: Selection, slots: u64) -> Generator {
    Generator {
        pattern,
        request_size: 4096,
        read_fraction: 0.0,
        footprint: slots * 4096,
        interval: Duration::ZERO,
        poisson: false,
        idle_every: 0,
        idle_for: Duration::ZERO,
    }
}

fn generated(generator: Generator, n: u64) -> Vec<Request> {
    let config = model::Workload {
        end: End { requests: Some(n), ..End::default() },
        out_of_range: OutOfRange::Reject,
        backwards_time: BackwardsTime::Reject,
        ..model::Workload::of(Source::Generator(generator))
    };
    let mut workload = open(&config, 1.0, 1 << 40, 7).unwrap();
    drain(&mut workload, 512).unwrap()
}

fn slots(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.offset / 4096).collect()
}

#[test]
fn first_values_are_the_same_everywhere() {
    let first = |name| slots(&generated(generator(selection(name, &[]), 1_000_000), 8));
    assert_eq!(first("uniform"), PINNED_UNIFORM);
    assert_eq!(first("sequential"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(first("zipf"), PINNED_ZIPF);
    assert_eq!(first("hot-cold"), PINNED_HOT_COLD);
    assert_eq!(first("mixed"), PINNED_MIXED);
    let mut timed = generator(selection("uniform", &[]), 1_000_000);
    timed.interval = Duration::from_us(100);
    timed.poisson = true;
    timed.read_fraction = 0.5;
    let timed = generated(timed, 6);
    // Kinds and times move no address.
    assert_eq!(slots(&timed), PINNED_UNIFORM[..6]);
    let times: Vec<u64> = timed.iter().map(|request| request.at.ns()).collect();
    assert_eq!(times, PINNED_TIMES);
    let reads: Vec<bool> = timed.iter().map(|request| request.kind == RequestKind::Read).collect();
    assert_eq!(reads, PINNED_READS);
}

const PINNED_UNIFORM: [u64; 8] = [578649, 365175, 959140, 917424, 979519, 914602, 13163, 490426];
const PINNED_ZIPF: [u64; 8] = [168111, 386325, 560097, 79638, 151647, 424145, 393200, 915216];
const PINNED_HOT_COLD: [u64; 8] = [36517, 925682, 923141, 49042, 51237, 29737, 14990, 57022];
const PINNED_MIXED: [u64; 8] = [365175, 917424, 914602, 490426, 736128, 490427, 490428, 942860];
const PINNED_TIMES: [u64; 6] = [0, 80991, 198961, 230408, 326217, 351081];
const PINNED_READS: [bool; 6] = [true, true, false, false, false, true];

/// Pearson's statistic of `counts` against equal expectations, and its limit: five standard deviations
/// above the mean.
fn uniformity(counts: &[u64]) -> (f64, f64) {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let statistic: f64 = counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    let freedom = counts.len() as f64 - 1.0;
    (statistic, freedom + 5.0 * (2.0 * freedom).sqrt())
}

fn histogram(requests: &[Request], slots: usize) -> Vec<u64> {
    let mut counts = vec![0; slots];
    requests.iter().for_each(|request| counts[(request.offset / 4096) as usize] += 1);
    counts
}

#[test]
fn uniform_is_uniform() {
    let (statistic, limit) =
        uniformity(&histogram(&generated(generator(selection("uniform", &[]), 1000), 1_000_000), 1000));
    assert!(statistic < limit, "{statistic} of {limit}");
    // And Zipf with exponent 0 is, over every slot of the footprint.
    let flat = generated(generator(selection("zipf", &[("z", 0.0)]), 1000), 1_000_000);
    let (statistic, limit) = uniformity(&histogram(&flat, 1000));
    assert!(statistic < limit, "{statistic} of {limit}");
}

#[test]
fn zipf_scatters_its_popular_addresses() {
    let requests = generated(generator(selection("zipf", &[("z", 0.99)]), 65_536), 500_000);
    let mut counts = histogram(&requests, 65_536);
    let halves = counts[..32_768].iter().sum::<u64>() as f64 / 500_000.0;
    assert!((0.35..0.65).contains(&halves), "{halves} of the requests in the lower half");
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let top: u64 = counts[..655].iter().sum();
    // Sum of r^-0.99 over the first 1 % of 65,536 ranks: 0.575 of the whole.
    let share = top as f64 / 500_000.0;
    assert!((share - expected_share(655, 65_536, 0.99)).abs() < 0.01, "{share}");
}

fn expected_share(top: u64, all: u64, z: f64) -> f64 {
    let sum = |n: u64| (1..=n).map(|rank| (rank as f64).powf(-z)).sum::<f64>();
    sum(top) / sum(all)
}

#[test]
fn hot_data_get_their_share() {
    let requests = generated(generator(selection("hot-cold", &[("data", 0.2), ("writes", 0.8)]), 1000), 1_000_000);
    let counts = histogram(&requests, 1000);
    let hot = counts[..200].iter().sum::<u64>() as f64 / 1e6;
    // Standard deviation 0.0004.
    assert!((hot - 0.8).abs() < 0.002, "{hot}");
    for class in [&counts[..200], &counts[200..]] {
        let (statistic, limit) = uniformity(class);
        assert!(statistic < limit, "{statistic} of {limit}");
    }
    // A class without data gets nothing.
    let all_cold = generated(generator(selection("hot-cold", &[("data", 0.0), ("writes", 1.0)]), 10), 1000);
    assert_eq!(all_cold.len(), 1000);
    let all_hot = generated(generator(selection("hot-cold", &[("data", 1.0), ("writes", 0.0)]), 10), 1000);
    assert_eq!(all_hot.len(), 1000);
}

#[test]
fn mixed_has_its_fraction_and_its_runs() {
    let pure =
        slots(&generated(generator(selection("mixed", &[("sequential", 1.0), ("run", 20.0)]), 1 << 27), 1_000_000));
    let breaks = pure.windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as f64;
    // Runs of mean 20: 50,000 breaks with a standard deviation of 218.
    assert!((breaks - 50_000.0).abs() < 1100.0, "{breaks}");
    let half = slots(&generated(generator(selection("mixed", &[("sequential", 0.5), ("run", 1e9)]), 1 << 27), 100_000));
    // Two neighbours are both of the stream, which never moves, a quarter of the time.
    let continued = half.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64;
    assert!((continued - 25_000.0).abs() < 700.0, "{continued}");
    let random = histogram(&generated(generator(selection("mixed", &[("sequential", 0.0)]), 1000), 1_000_000), 1000);
    let (statistic, limit) = uniformity(&random);
    assert!(statistic < limit, "{statistic} of {limit}");
}

#[test]
fn times_gaps_and_kinds() {
    let mut plain = generator(selection("sequential", &[]), 10);
    plain.interval = Duration::from_us(10);
    plain.idle_every = 3;
    plain.idle_for = Duration::from_us(1000);
    let times: Vec<u64> = generated(plain.clone(), 7).iter().map(|request| request.at.ns() / 1000).collect();
    assert_eq!(times, [0, 10, 20, 1030, 1040, 1050, 2060]);
    plain.poisson = true;
    plain.idle_every = 0;
    plain.read_fraction = 0.7;
    let requests = generated(plain, 1_000_000);
    let mean = requests.last().unwrap().at.ns() as f64 / 999_999.0;
    assert!((mean - 10_000.0).abs() < 50.0, "{mean}");
    let long = requests.windows(2).filter(|pair| (pair[1].at - pair[0].at).ns() > 30_000).count() as f64 / 1e6;
    assert!((long - (-3f64).exp()).abs() < 0.0012, "{long}");
    let reads = requests.iter().filter(|request| request.kind == RequestKind::Read).count() as f64 / 1e6;
    assert!((reads - 0.7).abs() < 0.0025, "{reads}");
}

#[test]
fn addresses_stay_inside_and_aligned() {
    for choice in GENERATORS {
        for size in [1u64, 2, 3, 1000] {
            let requests = generated(generator(Selection::default_of(choice), size), 5000);
            assert!(
                requests.iter().all(|r| r.offset % 4096 == 0 && r.offset / 4096 < size && r.size == 4096),
                "{}",
                choice.name
            );
        }
    }
}

#[test]
fn generators_that_do_not_fit_are_refused() {
    let mut wrong = generator(selection("uniform", &[]), 10);
    wrong.request_size = 0;
    let error = Workload::aging(&wrong, 1 << 20, 1).err().unwrap().to_string();
    assert_eq!(
        error,
        "generator `uniform`: request_size, found 0 bytes; expected 1 byte to the footprint of 40960 bytes"
    );
    wrong.request_size = 40_961;
    assert!(Workload::aging(&wrong, 1 << 20, 1).is_err());
    let error = Workload::aging(&generator(selection("zipf", &[]), 1000), 1 << 20, 1).err().unwrap().to_string();
    assert_eq!(
        error,
        "generator `zipf`: footprint, found 4096000 bytes; expected at most the user capacity, 1048576 bytes"
    );
}

#[test]
fn aging_writes_whole_pages_without_end() {
    let mut workload = Workload::aging_uniform(1 << 20, 8192, 1).unwrap();
    let mut out = Vec::new();
    for _ in 0..10 {
        workload.fill(&mut out, 1000).unwrap();
    }
    assert_eq!((out.len(), workload.progress()), (10_000, None));
    assert!(out.iter().all(|r| r.kind == RequestKind::Write && r.size == 8192 && r.at == Instant::ZERO && !r.fua));
    let mut mixed = generator(selection("uniform", &[]), 16);
    mixed.read_fraction = 0.9;
    let mut workload = Workload::aging(&mixed, 1 << 20, 1).unwrap();
    out.clear();
    workload.fill(&mut out, 100).unwrap();
    assert!(out.iter().all(|request| request.kind == RequestKind::Write));
}

#[test]
fn the_shipped_excerpt_is_what_its_page_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/varmail-220k.csv.zst");
    let info = workload::info(path, &workload::TraceOptions::default()).unwrap();
    assert_eq!((info.format, info.counts.lines, info.reads, info.writes), ("msr", 220_000, 51_992, 127_611));
    assert_eq!((info.flushes, info.flushes_postfua_dropped), (14_963, 6_524));
    assert_eq!((info.fua_writes, info.discards), (6_525, 25_434));
    assert_eq!((info.bytes_read, info.bytes_written), (963_317_760, 1_724_321_792));
    assert!(std::fs::metadata(path).unwrap().len() <= 2_000_000);
}

#[test]
fn discards_are_left_out_where_they_are_to_be() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime,Flags\n\
         1,h,0,Write,0,4096,0,-\n2,h,0,Discard,0,4096,0,-\n3,h,0,Read,4096,4096,0,-\n";
    let scratch = Scratch::new("ignored", text);
    let config = |discards| model::Workload { discards, ..scratch.config(End::default(), OutOfRange::Wrap) };
    let kinds = |discards| {
        let (requests, tally) = run(&config(discards), 1 << 20).unwrap();
        (requests.iter().map(|request| request.kind).collect::<Vec<_>>(), tally.discards_ignored)
    };
    assert_eq!(kinds(Discards::Trim), (vec![RequestKind::Write, RequestKind::Trim, RequestKind::Read], 0));
    assert_eq!(kinds(Discards::Ignore), (vec![RequestKind::Write, RequestKind::Read], 1));
}
