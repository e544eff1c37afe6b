//! The model that a served drive is paced by, in a thread of its own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use base::{Instant, Request, RequestKind};
use device::drive::pace::PacedModel;
use device::{LiveHost, RunError};
use serde_json::{Value, json};
use serve::pace::{PaceClock, PacedKind, PacedRequest, Pacer, pace};

/// The clients of the server, as the model sees them.
struct Clients(PaceClock);

impl LiveHost for Clients {
    fn wait(&mut self, next: Option<Instant>) -> Option<Instant> {
        self.0.wait(next.map(Instant::ns)).map(Instant)
    }

    fn take(&mut self, into: &mut VecDeque<(Request, u64)>) {
        into.extend(self.0.take().map(|(at, request, number)| (of_device(at, request), number)));
    }

    fn completed(&mut self, number: u64, now: Instant) {
        self.0.completed(number, now.ns());
    }
}

fn of_device(at: u64, request: PacedRequest) -> Request {
    let PacedRequest { kind, offset, length } = request;
    let (kind, fua) = match kind {
        PacedKind::Read => (RequestKind::Read, false),
        PacedKind::Write { fua } => (RequestKind::Write, fua),
        PacedKind::Flush => (RequestKind::Flush, false),
        PacedKind::Trim => (RequestKind::Trim, false),
    };
    Request { at: Instant(at), kind, offset, size: length, fua, hint: 0 }
}

/// A model that lives, until its clients are gone.
pub struct RunningModel {
    pace: Arc<Pacer>,
    thread: JoinHandle<Result<Value, RunError>>,
}

impl RunningModel {
    /// Begins now.
    pub fn start(model: PacedModel) -> RunningModel {
        let (pace, clock) = pace();
        let thread = thread::spawn(move || model.run(Box::new(Clients(clock))));
        RunningModel { pace: Arc::new(pace), thread }
    }

    /// The clock that requests go by.
    pub fn pace(&self) -> &Arc<Pacer> {
        &self.pace
    }

    /// How far it kept up.
    pub fn to_json(&self) -> Value {
        let figures = self.pace.figures();
        json!({
            "completed": figures.completed,
            "late": figures.late,
            "behind_max_s": figures.behind_max_ns as f64 * 1e-9,
            "has_ended": self.thread.is_finished(),
        })
    }

    /// Its latencies, once nobody else has a hand in its clock; or why it ended before.
    pub fn end(self) -> Value {
        drop(self.pace);
        match self.thread.join() {
            Ok(Ok(latencies)) => latencies,
            Ok(Err(error)) => json!({ "ended": error.to_string() }),
            Err(_) => json!({ "ended": "the model broke" }),
        }
    }
}
