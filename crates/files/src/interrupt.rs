//! The question of a long job: may it go on?

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Time between two questions, unless it is chosen.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Asks now and then whether to go on; by default nobody is asked.
///
/// Copies share the answer: after one "no" everything stops.
#[derive(Clone, Default)]
pub struct Interrupt(Option<Arc<Asker>>);

struct Asker {
    go_on: Box<dyn Fn() -> bool + Send + Sync>,
    every: Duration,
    begun: Instant,
    /// When to ask next, in nanoseconds since `begun`.
    due_ns: AtomicU64,
    stopped: AtomicBool,
}

/// The error inside the `io::Error` of [`Interrupt::check`].
#[derive(Debug)]
struct Stopped;

impl Interrupt {
    /// Asks `go_on`, at most twenty times a second.
    pub fn new(go_on: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt::every(ASK_EVERY, go_on)
    }

    /// Asks `go_on` with at least this time between two questions; with none, at every [`Interrupt::check`].
    pub fn every(time: Duration, go_on: impl Fn() -> bool + Send + Sync + 'static) -> Interrupt {
        Interrupt(Some(Arc::new(Asker {
            go_on: Box::new(go_on),
            every: time,
            begun: Instant::now(),
            due_ns: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        })))
    }

    /// Goes on, or says that somebody wants to stop.
    ///
    /// # Errors
    /// When the answer is "no", now or before.
    pub fn check(&self) -> io::Result<()> {
        match &self.0 {
            Some(asker) if !asker.answer() => Err(io::Error::other(Stopped)),
            _ => Ok(()),
        }
    }

    /// True for an error of [`Interrupt::check`], as a decoder may have passed it on.
    pub fn is_behind(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
    }
}

impl Asker {
    fn answer(&self) -> bool {
        if self.stopped.load(Ordering::Relaxed) {
            return false;
        }
        let now = self.begun.elapsed();
        if (now.as_nanos() as u64) < self.due_ns.load(Ordering::Relaxed) {
            return true;
        }
        let go_on = (self.go_on)();
        if !go_on {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.due_ns.store((self.begun.elapsed() + self.every).as_nanos() as u64, Ordering::Relaxed);
        go_on
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt(asks)" } else { "Interrupt(never)" })
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped before the end")
    }
}

impl std::error::Error for Stopped {}
