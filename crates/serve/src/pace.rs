//! Answers in the time of a model: a request is answered when the device has done it, and no earlier than a model says.
//!
//! The model lives in a thread of its own. It sees each request as it comes, and waits until its next event is due on the clock, so that
//! its time is that of the clients. Here is the clock between both sides: [`Pacer`] for those who take requests, [`PaceClock`] for the model.
//! The model does as it likes until an event is due; an event with which it comes late is counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// An answer that goes out so much later than the model has it is late: threads of Linux sleep that inexactly.
const LATE: Duration = Duration::from_micros(500);

/// An event that is due so soon is not waited for: to sleep and to wake takes as long. If it completes a request, that is.
const AHEAD: Duration = Duration::from_micros(10);

/// The kind of a request, for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacedKind {
    /// A read.
    Read,
    /// A write, with FUA or without.
    Write {
        /// It is complete when it would outlive a loss of power.
        fua: bool,
    },
    /// A flush.
    Flush,
    /// A discard.
    Trim,
}

/// A request, without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacedRequest {
    /// Its kind.
    pub kind: PacedKind,
    /// The first byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// The rest of a request, to be done when the model has completed it. It is told when the answer was due: the model's time for the
/// request after it came. Where there is no model any more it is not.
pub type Due = Box<dyn FnOnce(Option<Instant>) + Send>;

/// A request on its way to the model.
struct PacedArrival {
    at_ns: u64,
    request: PacedRequest,
    due: Due,
}

/// How far the model kept up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PaceFigures {
    /// Requests that the model completed.
    pub completed: u64,
    /// Requests that were answered late, by more than half a millisecond, counted from when they came.
    pub late: u64,
    /// The most that an answer was late.
    pub behind_max_ns: u64,
}

#[derive(Default)]
struct PaceCounts {
    completed: AtomicU64,
    late: AtomicU64,
    behind_max_ns: AtomicU64,
}

impl PaceCounts {
    /// An answer that was due then has gone out.
    fn answered(&self, due: Instant) {
        let behind = due.elapsed();
        self.late.fetch_add(u64::from(behind > LATE), Relaxed);
        self.behind_max_ns.fetch_max(behind.as_nanos() as u64, Relaxed);
    }
}

/// The side of those who take requests.
pub struct Pacer {
    arrivals: Sender<PacedArrival>,
    began: Instant,
    kept: Arc<PaceCounts>,
}

/// The side of the model.
pub struct PaceClock {
    arrivals: Receiver<PacedArrival>,
    began: Instant,
    /// Requests that have come, and were not taken.
    come: Vec<PacedArrival>,
    /// Requests that the model has, by ticket.
    in_model: BTreeMap<u64, Taken>,
    tickets: u64,
    is_exact: bool,
    kept: Arc<PaceCounts>,
}

/// A request that the model has.
struct Taken {
    /// How long before the model took it it had come.
    waited_ns: u64,
    due: Due,
}

/// Both sides of a clock that begins now.
pub fn pace() -> (Pacer, PaceClock) {
    let (sender, arrivals) = mpsc::channel();
    let (began, kept) = (Instant::now(), Arc::<PaceCounts>::default());
    let clock = PaceClock {
        arrivals,
        began,
        come: Vec::new(),
        in_model: BTreeMap::new(),
        tickets: 0,
        is_exact: false,
        kept: Arc::clone(&kept),
    };
    (Pacer { arrivals: sender, began, kept }, clock)
}

impl Pacer {
    /// A request came then; `due` is called when the model has completed it. Where there is no model any more that is at once.
    pub fn begin(&self, request: PacedRequest, arrived: Instant, due: Due) {
        let at_ns = arrived.saturating_duration_since(self.began).as_nanos() as u64;
        if let Err(mpsc::SendError(arrival)) = self.arrivals.send(PacedArrival { at_ns, request, due }) {
            (arrival.due)(None);
        }
    }

    /// An answer that was due then has gone out.
    pub(crate) fn answered(&self, due: Instant) {
        self.kept.answered(due);
    }

    /// Begins a request that came now. The closure returned waits until the model has completed it.
    pub fn begin_waited(&self, request: PacedRequest) -> impl FnOnce() + use<> {
        let (done, wait) = mpsc::sync_channel(1);
        // Who does not wait any more needs no word.
        let tell = move |due| {
            let _ = done.send(due);
        };
        self.begin(request, Instant::now(), Box::new(tell));
        // An end of the model is an end of waiting.
        let kept = Arc::clone(&self.kept);
        move || {
            if let Ok(Some(due)) = wait.recv() {
                kept.answered(due);
            }
        }
    }

    /// How far the model kept up.
    pub fn figures(&self) -> PaceFigures {
        let PaceCounts { completed, late, behind_max_ns } = &*self.kept;
        PaceFigures {
            completed: completed.load(Relaxed),
            late: late.load(Relaxed),
            behind_max_ns: behind_max_ns.load(Relaxed),
        }
    }
}

impl PaceClock {
    /// Waits until that time, in nanoseconds since the beginning, or until a request comes before it. Returns which time it is for the
    /// model; nothing when no request will come any more.
    pub fn wait(&mut self, until_ns: Option<u64>) -> Option<u64> {
        self.sleep_exactly();
        if let Some(first) = self.come.first() {
            return Some(until_ns.map_or(first.at_ns, |until| until.min(first.at_ns)));
        }
        let arrival = match until_ns {
            None => self.arrivals.recv().ok()?,
            Some(until) => {
                let left = (self.began + Duration::from_nanos(until)).saturating_duration_since(Instant::now());
                let found = match self.arrivals.try_recv() {
                    Err(TryRecvError::Empty) if left > AHEAD => self.arrivals.recv_timeout(left),
                    Err(TryRecvError::Empty) => return Some(until),
                    Err(TryRecvError::Disconnected) => return None,
                    Ok(arrival) => Ok(arrival),
                };
                match found {
                    Ok(arrival) => arrival,
                    Err(RecvTimeoutError::Timeout) => return Some(until),
                    Err(RecvTimeoutError::Disconnected) => return None,
                }
            }
        };
        let at_ns = arrival.at_ns;
        self.come.push(arrival);
        self.come.extend(self.arrivals.try_iter());
        Some(until_ns.map_or(at_ns, |until| until.min(at_ns)))
    }

    /// Has the thread of the model wake when it is time: by default Linux gathers what is due within 50 microseconds.
    fn sleep_exactly(&mut self) {
        if !std::mem::replace(&mut self.is_exact, true) {
            // Where that is not allowed, answers are some microseconds late.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
    }

    /// The requests that have come: when, what, and a number of each.
    pub fn take(&mut self) -> impl Iterator<Item = (u64, PacedRequest, u64)> + '_ {
        let now = self.began.elapsed().as_nanos() as u64;
        let PaceClock { come, in_model, tickets, .. } = self;
        come.drain(..).map(move |PacedArrival { at_ns, request, due }| {
            *tickets += 1;
            in_model.insert(*tickets, Taken { waited_ns: now.saturating_sub(at_ns), due });
            (at_ns, request, *tickets)
        })
    }

    /// The model has completed the request of that number, at that time.
    pub fn completed(&mut self, ticket: u64, at_ns: u64) {
        let Some(Taken { waited_ns, due }) = self.in_model.remove(&ticket) else { return };
        while (self.began.elapsed().as_nanos() as u64) < at_ns {
            std::hint::spin_loop();
        }
        self.kept.completed.fetch_add(1, Relaxed);
        due(Some(self.began + Duration::from_nanos(at_ns.saturating_sub(waited_ns))));
    }
}

impl Drop for PaceClock {
    /// Without a model nobody waits for it.
    fn drop(&mut self) {
        std::mem::take(&mut self.in_model).into_values().for_each(|taken| (taken.due)(None));
        self.come.drain(..).chain(self.arrivals.try_iter()).for_each(|arrival| (arrival.due)(None));
    }
}
