//! A run ends when its caller wants it to, whatever it is doing; and what cannot be written is told, not lost.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration as RealTime, Instant as RealInstant};

use crate::common::*;
use base::ParamValue;
use config::Config;
use config::model::*;
use device::{Options, RunError, TimelineSpec};
use files::Interrupt;
use metrics::deterministic;

/// A device of 256 MiB under a workload without end, in requests of that many bytes.
fn endless(executor: Executor, request_size: u64) -> Config {
    let mut config = plain(2, 1, 2, 2, 64, 128);
    config.run.executor = executor;
    config.run.checks = Checks::Fast;
    config.run.payload = Payload::None;
    config.host.queue_depth = Some(4);
    let capacity = config.device.user_capacity;
    config.workload.source = Source::Generator(generator("uniform", request_size, 0.0, capacity));
    config.workload.end = End { volume: Some(u64::MAX), ..End::default() };
    config
}

/// Asks for an end after 0.1 s; the run is over soon after.
fn stopped(what: &str, config: &Config) {
    let begun = RealInstant::now();
    let interrupt = Interrupt::new(move || begun.elapsed() < RealTime::from_millis(100));
    let result = device::simulate(config, &mut Options { interrupt, ..Options::default() });
    assert!(matches!(result, Err(RunError::Stopped)), "{what}: {result:?}");
    assert!(begun.elapsed() < RealTime::from_secs(5), "{what}: {:?}", begun.elapsed());
}

#[test]
fn a_run_stops_whatever_it_is_doing() {
    for (name, executor) in [("count", Executor::Count), ("timed", Executor::Timed)] {
        for request_size in [8192, 64 << 20] {
            let config = endless(executor, request_size);
            stopped(&format!("{name} in requests of {request_size} bytes"), &config);
            for precondition in [Precondition::Random { volume: 1 << 50 }, Precondition::Sequential { volume: 1 << 50 }]
            {
                let mut config = config.clone();
                config.run.precondition = precondition;
                stopped(&format!("{:?}", config.run.precondition), &config);
            }
        }
    }
}

#[test]
fn a_run_stops_inside_one_request() {
    for (executor, allocation) in [(Executor::Count, "CWDP"), (Executor::Timed, "CWDP"), (Executor::Timed, "F")] {
        for (buffer, kind) in [
            ("none", "Write"),
            ("none", "Read"),
            ("none", "Discard"),
            ("fifo", "Write"),
            ("fifo", "Read"),
            ("fifo", "Discard"),
        ] {
            let mut config = endless(executor, 8192);
            choose(&mut config.ftl, "allocation", allocation, &[]);
            if buffer == "fifo" {
                choose(&mut config.ftl, "write_buffer", buffer, &[("size", ParamValue::Size(192 << 20))]);
            }
            config.host.replay = Replay::Closed;
            let trace = TraceFile::new(&[(0, kind, 0, config.device.user_capacity)]);
            config.workload.source = trace.source();
            config.workload.end = End { requests: Some(1), ..End::default() };
            let what = format!("{executor:?}, {allocation}, {buffer}, {kind}");
            // So often it is asked, and at half of that it answers no.
            let asked = Arc::new(AtomicU64::new(0));
            let simulated = |most: u64| {
                asked.store(0, Ordering::Relaxed);
                let count = asked.clone();
                let interrupt = Interrupt::every(RealTime::ZERO, move || count.fetch_add(1, Ordering::Relaxed) < most);
                device::simulate(&config, &mut Options { interrupt, ..Options::default() })
            };
            simulated(u64::MAX).expect(&what);
            let often = asked.load(Ordering::Relaxed);
            assert!(often > 10, "{what}: asked {often} times");
            let stopped = simulated(often / 2);
            assert!(matches!(stopped, Err(RunError::Stopped)), "{what}: {stopped:?}");
        }
    }
}

#[test]
fn a_run_stops_while_it_waits_for_a_pipe() {
    let pipe = temporary("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let path = pipe.display().to_string();
    let mut trace = endless(Executor::Count, 8192);
    trace.workload.source = Source::Trace { path: path.clone() };
    stopped("a trace", &trace);
    let mut state = endless(Executor::Count, 8192);
    state.run.precondition = Precondition::State { path };
    stopped("a state", &state);
    std::fs::remove_file(&pipe).unwrap();
}

/// A short run with outputs.
fn short() -> Config {
    let mut config = endless(Executor::Timed, 8192);
    config.workload.end = End { requests: Some(500), ..End::default() };
    config
}

fn with(state: Option<&Path>, timeline: Option<&Path>) -> Options<'static> {
    let window = base::Instant::ZERO..base::Instant::NEVER;
    let timeline = timeline.map(|path| TimelineSpec { path: path.to_owned(), window });
    Options { save_state: state.map(Path::to_owned), timeline, ..Options::default() }
}

#[test]
fn what_cannot_be_written_does_not_cost_the_result() {
    let config = short();
    let alone = device::simulate(&config, &mut Options::default()).unwrap();
    assert!(alone.unwritten.is_empty());
    // By a link, so that no fault can take the device's place.
    let full = temporary("full");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let outcome = device::simulate(&config, &mut with(Some(&full), Some(&full))).unwrap();
    std::fs::remove_file(&full).unwrap();
    assert_eq!(deterministic(&outcome.summary), deterministic(&alone.summary));
    let text = |what: &str| {
        format!(
            "the {what} {} cannot be written: No space left on device (os error 28)\n\
             hint: free some space on that disk, or name a place on another one",
            full.display()
        )
    };
    assert_eq!(outcome.unwritten, [text("device state"), text("timeline")]);
}

#[test]
fn another_file_is_not_overwritten() {
    let config = short();
    let mine = temporary("mine");
    std::fs::write(&mine, "time,device,offset\n").unwrap();
    for (options, kind) in [(with(Some(&mine), None), "device state"), (with(None, Some(&mine)), "timeline")] {
        let mut options = options;
        let error = device::simulate(&config, &mut options).expect_err("refused");
        assert!(matches!(&error, RunError::Input(text) if text.contains(&format!("is no {kind}"))), "{error}");
        assert_eq!(std::fs::read_to_string(&mine).unwrap(), "time,device,offset\n");
    }
    std::fs::remove_file(&mine).unwrap();
    // What an earlier run wrote is, and so is an empty file.
    let (state, timeline): (PathBuf, PathBuf) = (temporary("state"), temporary("timeline"));
    std::fs::write(&state, "").unwrap();
    for _ in 0..2 {
        device::simulate(&config, &mut with(Some(&state), Some(&timeline))).unwrap();
    }
    let error = device::simulate(&config, &mut with(Some(&timeline), Some(&state))).expect_err("exchanged");
    assert!(error.to_string().contains("is no device state"), "{error}");
    for path in [state, timeline] {
        std::fs::remove_file(path).unwrap();
    }
}
