//! The server: it accepts clients, gives each a thread, and ends them in good order.
//!
//! Memory is bounded: a connection takes half a megabyte, and while it carries out a request the length of that; there
//! are at most [`Limits::connections`]. A client that fails, or is no client at all, ends its own connection and no
//! other. A panic of the device ends the server: what is broken should not go on acknowledging writes.

use std::collections::{BTreeMap, VecDeque};
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::blocks::{Blocks, Error, LiveFigures};
use crate::connection::{self, Gone, Shared};
use crate::counters::{RequestCounters, RequestCounts};
use crate::listener::{Listener, Peer};
use crate::pace::Pacer;
use crate::replies::{self, PacedReplies};

/// Bounds that clients are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. One more takes the place of one that has been silent; if there is none, it is closed at once.
    pub connections: usize,
    /// How long a client may take for its first request before another may take its place.
    pub silence: Duration,
    /// How long a client may stop in the middle of a message, or leave its replies lying. Between requests it may take
    /// its time.
    pub stall: Duration,
    /// How long clients have for their last replies when the server stops.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            silence: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(2),
        }
    }
}

/// Why a server ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEnd {
    /// The device has lost its power. Nothing was flushed or closed.
    PowerCut,
    /// The device broke: the text of its panic. Nothing was flushed or closed.
    Broken(String),
}

/// Lines for the user that are kept until they are taken; older ones give way.
const LINES_MAX: usize = 100;

/// An NBD server with its threads. [`Server::stop`] ends it in good order; if it is dropped without that, all
/// connections break off and nothing is flushed, as in a loss of power.
pub struct Server {
    inner: Arc<Running>,
    acceptor: Option<JoinHandle<()>>,
}

struct Running {
    blocks: Arc<dyn Blocks>,
    listener: Listener,
    limits: Limits,
    /// The times of answers, where requests are not answered as soon as they are carried out.
    pace: Option<Arc<Pacer>>,
    counters: RequestCounters,
    stopping: AtomicBool,
    state: Mutex<Connections>,
    /// Told when a connection ends, and when the server ends.
    changed: Condvar,
}

#[derive(Default)]
struct Connections {
    open: BTreeMap<u64, OpenConnection>,
    end: Option<ServerEnd>,
    lines: VecDeque<String>,
    forgotten: u64,
}

/// A client that is connected.
struct OpenConnection {
    stream: Peer,
    since: Instant,
    /// It has sent a request.
    asks: Arc<AtomicBool>,
}

impl Server {
    /// Starts to serve `blocks` to those who connect to `listener`.
    pub fn start(blocks: Arc<dyn Blocks>, listener: Listener, limits: Limits) -> Self {
        Self::start_paced(blocks, listener, limits, None)
    }

    /// Starts to serve `blocks`; requests are answered no earlier than the model behind `pace` says.
    pub fn start_paced(blocks: Arc<dyn Blocks>, listener: Listener, limits: Limits, pace: Option<Arc<Pacer>>) -> Self {
        let (counters, state, changed) = (RequestCounters::default(), Mutex::default(), Condvar::new());
        let stopping = AtomicBool::new(false);
        let inner = Arc::new(Running { blocks, listener, limits, pace, counters, stopping, state, changed });
        let acceptor = thread::spawn({
            let inner = Arc::clone(&inner);
            move || inner.accept()
        });
        Self { inner, acceptor: Some(acceptor) }
    }

    /// The address as clients take it.
    pub fn uri(&self) -> String {
        self.inner.listener.uri()
    }

    /// Waits until the server ends by itself, at most `timeout`; `None` if it goes on.
    pub fn wait(&self, timeout: Duration) -> Option<ServerEnd> {
        let state = self.inner.state();
        let waited = self.inner.changed.wait_timeout_while(state, timeout, |state| state.end.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.end.clone()
    }

    /// Requests of clients so far.
    pub fn counts(&self) -> RequestCounts {
        self.inner.counters.counts()
    }

    /// Connections that are open now.
    pub fn connected(&self) -> usize {
        self.inner.state().open.len()
    }

    /// LiveFigures of the device.
    pub fn figures(&self) -> LiveFigures {
        self.inner.blocks.figures()
    }

    /// Lines for the user since the last call: clients that broke off, sent nonsense, or were too many.
    pub fn lines(&self) -> Vec<String> {
        let mut state = self.inner.state();
        let forgotten = std::mem::take(&mut state.forgotten);
        let more = (forgotten > 0).then(|| format!("{forgotten} earlier lines on clients are not shown"));
        more.into_iter().chain(state.lines.drain(..)).collect()
    }

    /// Ends in good order: takes no more clients, lets requests that have begun finish, and closes the device. If the
    /// power is gone or the device is broken, it only ends.
    ///
    /// # Errors
    /// See [`Blocks::close`].
    pub fn stop(mut self) -> Result<(), Error> {
        self.inner.stopping.store(true, Ordering::Relaxed);
        self.inner.listener.close();
        // No connection is added any more once the acceptor has ended.
        self.join();
        let mut state = self.inner.state();
        state.open.values().for_each(|client| client.stream.shutdown(Shutdown::Read));
        let until = Instant::now() + self.inner.limits.grace;
        while !state.open.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                state.open.values().for_each(|client| client.stream.shutdown(Shutdown::Both));
                state = self.inner.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                let waited = self.inner.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        let ended = state.end.is_some();
        drop(state);
        if ended { Ok(()) } else { self.inner.blocks.close() }
    }

    fn join(&mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().expect("the thread that accepts does not panic");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.inner.stopping.store(true, Ordering::Relaxed);
        self.inner.listener.close();
        self.join();
        self.inner.state().open.values().for_each(|client| client.stream.shutdown(Shutdown::Both));
    }
}

impl Running {
    fn state(&self) -> MutexGuard<'_, Connections> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, line: String) {
        let mut state = self.state();
        if state.lines.len() == LINES_MAX {
            state.lines.pop_front();
            state.forgotten += 1;
        }
        state.lines.push_back(line);
    }

    fn accept(self: Arc<Self>) {
        loop {
            let accepted = self.listener.accept();
            if self.stopping.load(Ordering::Relaxed) || self.state().end.is_some() {
                return;
            }
            let admitted = accepted.and_then(|stream| self.admit(stream));
            if let Err(error) = admitted {
                self.say(format!("a client could not be accepted: {error}"));
                // Such errors tend to stay a while, as when no file descriptors are left.
                thread::sleep(Duration::from_millis(100));
            }
        }
    }

    /// Gives a client its thread, unless there are too many.
    fn admit(self: &Arc<Self>, stream: Peer) -> std::io::Result<()> {
        let number = self.counters.connection();
        if self.state().open.len() >= self.limits.connections && !self.end_silent() {
            self.say(format!("client {number} was sent away: {} are connected", self.limits.connections));
            return Ok(());
        }
        stream.set_timeouts(self.limits.stall)?;
        let asks = Arc::<AtomicBool>::default();
        let client = OpenConnection { stream: stream.again()?, since: Instant::now(), asks: Arc::clone(&asks) };
        self.state().open.insert(number, client);
        let inner = Arc::clone(self);
        let started = thread::Builder::new().name(format!("client {number}")).spawn(move || {
            inner.serve(number, stream, &asks);
        });
        if started.is_err() {
            self.state().open.remove(&number);
        }
        started.map(drop)
    }

    /// Ends the connection of the client that has been silent longest since it came, if one has been for too long.
    fn end_silent(&self) -> bool {
        let mut state = self.state();
        let is_silent = |client: &OpenConnection| {
            !client.asks.load(Ordering::Relaxed) && client.since.elapsed() > self.limits.silence
        };
        let Some(number) = state.open.iter().find(|(_, client)| is_silent(client)).map(|(&number, _)| number) else {
            return false;
        };
        if let Some(client) = state.open.remove(&number) {
            client.stream.shutdown(Shutdown::Both);
        }
        drop(state);
        self.say(format!("client {number} was sent away: it asked for nothing, and others wait"));
        true
    }

    fn serve(&self, number: u64, stream: Peer, asks: &AtomicBool) {
        let shared = Shared { blocks: &*self.blocks, counters: &self.counters, stopping: &self.stopping, asks };
        let served = catch_unwind(AssertUnwindSafe(|| match &self.pace {
            None => connection::serve(stream, &shared, None),
            Some(pace) => serve_paced(stream, &shared, pace),
        }));
        match served {
            Ok(Gone::Left) => {}
            Ok(Gone::Problem(_)) if self.stopping.load(Ordering::Relaxed) => {}
            // Which it was told of.
            Ok(Gone::Problem(_)) if !self.state().open.contains_key(&number) => {}
            Ok(Gone::Problem(problem)) => self.say(format!("client {number} is gone: {problem}")),
            Ok(Gone::PowerCut) => self.end(ServerEnd::PowerCut),
            Err(panic) => self.end(ServerEnd::Broken(text(&*panic))),
        }
        if let Some(client) = self.state().open.remove(&number) {
            client.stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    /// Breaks everything off: nobody gets a reply any more.
    fn end(&self, end: ServerEnd) {
        let mut state = self.state();
        state.end.get_or_insert(end);
        state.open.values().for_each(|client| client.stream.shutdown(Shutdown::Both));
        self.listener.close();
        self.changed.notify_all();
    }
}

/// Serves one client, with a thread that sends the replies when they are due.
fn serve_paced(stream: Peer, shared: &Shared<'_>, pace: &Pacer) -> Gone {
    let mut output = match stream.again() {
        Ok(output) => output,
        Err(error) => return error.into(),
    };
    let (news, due) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            if replies::send_when_due(&mut output, &due, pace).is_err() {
                output.shutdown(Shutdown::Both);
            }
        });
        connection::serve(stream, shared, Some(PacedReplies::new(pace, news)))
    })
}

fn text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text").to_string()
}
