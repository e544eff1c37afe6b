//! Requests that are answered in the time of a model: no earlier than it says, side by side, and without it when it has ended.

mod common;

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::{Client, READ, Request, WRITE, scratch};
use serve::memory::Memory;
use serve::pace::{PaceClock, PacedKind, PacedRequest, Pacer, pace};
use serve::{Address, Limits, Listener, Server};

const READS: Duration = Duration::from_millis(40);
const WRITES: Duration = Duration::from_millis(10);

/// A model: a read and a write take their time, and all go side by side. Returns how many requests it has seen.
fn model(mut clock: PaceClock, most: u64) -> JoinHandle<u64> {
    thread::spawn(move || {
        let mut due: VecDeque<(u64, u64)> = VecDeque::new();
        let (mut now, mut seen) = (0, 0);
        while seen < most || !due.is_empty() {
            let Some(then) = clock.wait(due.front().map(|first| first.0)) else { break };
            now = now.max(then);
            let new: Vec<_> = clock.take().collect();
            for (at, request, ticket) in new {
                seen += 1;
                let takes = if request.kind == PacedKind::Read { READS } else { WRITES };
                due.push_back((at + takes.as_nanos() as u64, ticket));
            }
            due.make_contiguous().sort_unstable();
            while let Some(&(at, ticket)) = due.front().filter(|first| first.0 <= now) {
                clock.completed(ticket, at);
                due.pop_front();
            }
        }
        seen
    })
}

fn served(pace: Arc<Pacer>) -> (Server, PathBuf) {
    let path = scratch("sock");
    let listener = Listener::bind(&Address::Unix(path.clone())).expect("a socket");
    (Server::start_paced(Arc::new(Memory::new(1 << 20)), listener, Limits::default(), Some(pace)), path)
}

#[test]
fn answers_come_when_the_model_says() {
    let (pace, clock) = pace();
    let (pace, model) = (Arc::new(pace), model(clock, u64::MAX));
    let (server, path) = served(Arc::clone(&pace));
    let mut client = Client::<UnixStream>::unix(&path);
    let began = Instant::now();
    assert_eq!(client.write(0, &[7; 4096]), 0);
    assert!(began.elapsed() >= WRITES, "a write took {:?}", began.elapsed());
    // A read that was sent first is answered last, and many take no longer than one.
    let began = Instant::now();
    let read = client.send(Request::new(READ, 0, 4096), &[]).expect("sent");
    let writes: Vec<u64> = (1..=16)
        .map(|at| client.send(Request::new(WRITE, at * 4096, 4096), &[at as u8; 4096]).expect("sent"))
        .collect();
    for write in writes {
        assert_eq!(client.receive(0, 0).expect("a reply"), (write, 0, Vec::new()));
    }
    assert!(began.elapsed() >= WRITES && began.elapsed() < WRITES * 16, "writes took {:?}", began.elapsed());
    assert_eq!(client.receive(0, 4096).expect("a reply"), (read, 0, vec![7; 4096]));
    assert!(began.elapsed() >= READS, "a read took {:?}", began.elapsed());
    // What is refused does not reach the model.
    assert_eq!(client.ask(Request::new(READ, 1 << 20, 4096), &[]).expect("a reply").0, 22);
    assert_eq!(pace.figures().completed, 18);
    server.stop().expect("a clean stop");
    drop((client, pace));
    assert_eq!(model.join().expect("the model ends with its clients"), 18);
}

#[test]
fn without_its_model_a_server_answers_at_once() {
    let (pace, clock) = pace();
    let (pace, model) = (Arc::new(pace), model(clock, 3));
    let (server, path) = served(Arc::clone(&pace));
    let mut client = Client::<UnixStream>::unix(&path);
    (0..3).for_each(|at| assert_eq!(client.write(at * 4096, &[9; 4096]), 0));
    assert_eq!(model.join().expect("it ends"), 3);
    let began = Instant::now();
    assert_eq!(client.read(4096, 4096), [9; 4096]);
    assert!(began.elapsed() < READS, "a read took {:?}", began.elapsed());
    pace.begin_waited(PacedRequest { kind: PacedKind::Flush, offset: 0, length: 0 })();
    server.stop().expect("a clean stop");
}

#[test]
fn a_late_model_is_counted() {
    let (pace, mut clock) = pace();
    let request = PacedRequest { kind: PacedKind::Read, offset: 0, length: 512 };
    let wait = pace.begin_waited(request);
    let at = clock.wait(Some(u64::MAX / 2)).expect("a request");
    let (came, found, ticket) = clock.take().next().expect("it has come");
    assert_eq!((came, found), (at, request));
    thread::sleep(Duration::from_millis(3));
    clock.completed(ticket, at + 1000);
    wait();
    let figures = pace.figures();
    assert_eq!((figures.completed, figures.late), (1, 1));
    assert!(figures.behind_max_ns >= 2_900_000, "{figures:?}");
    // A client that waits is let go when the model ends.
    let wait = pace.begin_waited(request);
    drop(clock);
    wait();
}
