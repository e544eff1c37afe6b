//! A device that lives in the time of a host outside does what it does with the same requests from a trace.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::common::drives::{BUFFER, PROTECTED, config};
use base::{Instant, Request, RequestKind};
use config::model::{End, Executor, Precondition, Replay, Source};
use device::LiveHost;
use device::drive::Drive;
use engine::Chance;

const PAGE: u64 = 2048;
/// Flash pages of the drive's user space.
const PAGES: u64 = 200;
/// The unit of time in traces, in nanoseconds.
const TICK: u64 = 100;

/// A host that sends requests at given times, and notes when they are complete.
struct Scripted {
    /// In order of time.
    requests: VecDeque<Request>,
    came: Vec<(Request, u64)>,
    sent: u64,
    completed: Rc<RefCell<Vec<(u64, Instant)>>>,
    /// Requests that are not complete.
    waiting: u64,
}

impl LiveHost for Scripted {
    fn wait(&mut self, next: Option<Instant>) -> Option<Instant> {
        match self.requests.front() {
            Some(first) if next.is_none_or(|next| first.at < next) => {
                let request = self.requests.pop_front()?;
                self.sent += 1;
                self.waiting += 1;
                self.came.push((request, self.sent));
                Some(request.at)
            }
            // What the device does when nobody waits is of no interest here.
            None if self.waiting == 0 => None,
            _ => next,
        }
    }

    fn take(&mut self, into: &mut VecDeque<(Request, u64)>) {
        into.extend(self.came.drain(..));
    }

    fn completed(&mut self, number: u64, now: Instant) {
        self.waiting -= 1;
        self.completed.borrow_mut().push((number, now));
    }
}

fn requests(seed: u64, count: u64) -> Vec<Request> {
    let mut chance = Chance::new(seed, "requests");
    let mut at = 0;
    let any = |_| {
        // Two requests never come in one instant: then they could come in either order.
        at += (1 + chance.below(2000)) * TICK;
        let kind = if chance.below(3) == 0 { RequestKind::Read } else { RequestKind::Write };
        let (offset, size) = (chance.below(PAGES - 3) * PAGE, (1 + chance.below(3)) * PAGE);
        Request { at: Instant(at), offset, size, kind, fua: false, hint: 0 }
    };
    (0..count).map(any).collect()
}

const KINDS: &[&[&str]] = &[
    &[],
    &[BUFFER],
    &[BUFFER, PROTECTED],
    &["ftl.map_unit=\"1KiB\"", BUFFER],
    &["device.program_suspend=\"reads\""],
    &["host.link=\"1GB/s\""],
];

#[test]
fn a_live_host_gets_the_latencies_of_a_trace() {
    for (seed, kind) in (0..).zip(KINDS) {
        let config = config(kind);
        let requests = requests(seed, 900);
        let mut of_trace = config.clone();
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("live-{seed}.csv"));
        let line = |request: &Request| {
            let (at, kind) = (128_166_372_000_000_000 + request.at.ns() / TICK, request.kind);
            format!("{at},test,0,{kind:?},{},{},0\n", request.offset, request.size)
        };
        std::fs::write(&path, requests.iter().map(line).collect::<String>()).expect("a trace");
        of_trace.workload.source = Source::Trace { path: path.display().to_string() };
        of_trace.workload.end = End { rounds: Some(1), ..End::default() };
        (of_trace.host.replay, of_trace.host.queue_depth) = (Replay::Open, None);
        (of_trace.run.executor, of_trace.run.precondition) = (Executor::Timed, Precondition::None);
        let summary = device::simulate(&of_trace, &mut device::Options::default()).expect("a run").summary;

        let completed = Rc::default();
        let host = Scripted {
            requests: requests.into(),
            came: Vec::new(),
            sent: 0,
            completed: Rc::clone(&completed),
            waiting: 0,
        };
        let drive = Drive::in_memory(&config).expect("a drive");
        let told = drive.paced_model().expect("a model").run(Box::new(host)).expect("a life");
        for (key, own) in [("read_latency_us", "read"), ("write_latency_us", "write")] {
            assert_eq!(told[own], summary["host"][key], "{kind:?}: {key}");
            assert!(told[own]["max"].as_f64() > Some(0.0), "{kind:?}: {told}");
        }
        let mut numbers: Vec<u64> = completed.borrow().iter().map(|one| one.0).collect();
        assert!(completed.borrow().windows(2).all(|pair| pair[0].1 <= pair[1].1), "{kind:?}: in order of time");
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=900).collect::<Vec<u64>>(), "{kind:?}: each is told once");
    }
}

/// The model begins with the map of the drive: a page that the drive has takes a read of the flash, and one that it has not takes none.
#[test]
fn the_model_begins_where_the_drive_is() {
    for sets in [&[][..], &[BUFFER], &["ftl.mapping=\"dftl\"", "device.user_capacity=\"256KiB\""]] {
        let config = config(sets);
        let mut drive = Drive::in_memory(&config).expect("a drive");
        for round in 0..6 {
            for page in (0..PAGES / 2).filter(|page| page % 2 == 0) {
                drive.write(page * PAGE, &[round; PAGE as usize], false).expect("a write");
            }
        }
        drive.flush().expect("a flush");
        let latency = |page: u64| {
            let request = Request {
                at: Instant(0),
                offset: page * PAGE,
                size: PAGE,
                kind: RequestKind::Read,
                fua: false,
                hint: 0,
            };
            let completed = Rc::default();
            let host = Scripted {
                requests: [request].into(),
                came: Vec::new(),
                sent: 0,
                completed: Rc::clone(&completed),
                waiting: 0,
            };
            drive.paced_model().expect("a model").run(Box::new(host)).expect("a life");
            let at = completed.borrow()[0].1;
            at.ns()
        };
        let of_flash = config.device.timing.read[0].ns();
        assert!(latency(4) >= of_flash, "{sets:?}: {}", latency(4));
        assert!(latency(5) < of_flash || sets.len() == 2, "{sets:?}: {}", latency(5));
    }
}
