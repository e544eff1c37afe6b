//! What the pages of the host wait for: latencies in parts, where that is asked for.
//!
//! A die is always doing one thing: having no command, having one of some kind and cause, or waiting with one for the
//! channel. It is kept how long each of them took in all. A page that begins to wait takes note of these times; when its wait
//! is over, what was added to them is what it waited for, to the nanosecond. A page of a dynamic allocation waits for
//! whichever die of its queue comes free: its wait is divided as the time of all these dies was.

use base::{Die, Geometry, Instant, Queue, RequestKind};
use ftl::allocation::Allocation;
use metrics::split::Completed;
use metrics::{LatencyPart, LatencyParts};

use super::queues::{RequestId, TransactionId};

/// How long dies did each thing that pages may wait for, in nanoseconds of a die.
type Times = [u64; LatencyPart::OF_DIES];

/// What some dies are doing, and how long they did what.
#[derive(Clone, Copy)]
struct Doing {
    /// By what they may do: how many dies do it now.
    dies: [u32; LatencyPart::OF_DIES],
    /// Up to `since`.
    times: Times,
    since: Instant,
}

impl Doing {
    /// So many dies without a command.
    fn nothing(dies: u32) -> Doing {
        let mut doing =
            Doing { dies: [0; LatencyPart::OF_DIES], times: [0; LatencyPart::OF_DIES], since: Instant::ZERO };
        doing.dies[LatencyPart::Queue as usize] = dies;
        doing
    }

    /// A die does something else from now on.
    fn change(&mut self, now: Instant, from: LatencyPart, to: LatencyPart) {
        self.times = self.times_until(now);
        self.since = now;
        self.dies[from as usize] -= 1;
        self.dies[to as usize] += 1;
    }

    fn times_until(&self, now: Instant) -> Times {
        let passed = (now - self.since).ns();
        std::array::from_fn(|at| self.times[at] + u64::from(self.dies[at]) * passed)
    }
}

/// What a page waits for.
#[derive(Clone, Copy)]
enum For {
    /// Its turn on a die.
    Die(Die),
    /// Whichever die of a shared queue.
    AnyDie(Queue),
    /// The end of its command, which its die counts as that.
    Command(Die, LatencyPart),
    /// Something that is one part as a whole.
    Part(LatencyPart),
}

/// A page in the device.
#[derive(Clone, Copy)]
struct Page {
    waits_for: For,
    since: Instant,
    /// The times of the dies that it waits for when the wait began.
    times: Times,
    /// Whether its map entry was not known when it began to wait.
    lacks_entry: bool,
    parts: LatencyParts,
    /// The die of its command.
    die: Option<Die>,
}

impl Page {
    const NONE: Page = Page {
        waits_for: For::Part(LatencyPart::Queue),
        since: Instant::ZERO,
        times: [0; LatencyPart::OF_DIES],
        lacks_entry: false,
        parts: LatencyParts::NONE,
        die: None,
    };
}

/// A request in the device.
#[derive(Clone, Copy)]
struct Entered {
    at: Instant,
    offset: u64,
    /// How long the controller had its command.
    controller_ns: u64,
    /// How long its data were on the host's link before the device had them.
    link_ns: u64,
    /// Of its page that was done last, as far as pages are done.
    last: LatencyParts,
    die: Option<Die>,
}

impl Entered {
    const NONE: Entered =
        Entered { at: Instant::ZERO, offset: 0, controller_ns: 0, link_ns: 0, last: LatencyParts::NONE, die: None };
}

/// What pages wait for, and what dies do.
pub(super) struct Waits {
    /// By die, what it does now.
    now: Vec<LatencyPart>,
    dies: Vec<Doing>,
    /// By queue of a dynamic allocation, its dies together, and how many they are.
    shared: Vec<(Doing, u32)>,
    /// By die, its queue of a dynamic allocation.
    queues: Vec<Queue>,
    /// By number of the transaction.
    pages: Vec<Page>,
    requests: Vec<Entered>,
    has_buffer: bool,
}

impl Waits {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<LatencyPart>() + 2 * size_of::<Doing>() + size_of::<Queue>();

    /// Bytes for each request.
    pub(super) const BYTES_OF_REQUEST: usize = size_of::<Entered>();

    /// Bytes for each page of a request in the device. A vector grows to twice its length.
    pub(super) const BYTES_OF_PAGE: usize = 2 * size_of::<Page>();

    /// All dies idle, and no request in the device.
    pub(super) fn new(geometry: &Geometry, allocation: &Allocation, queue_depth: u32, has_buffer: bool) -> Waits {
        let dies = geometry.dies() as usize;
        let mut waits = Waits {
            now: vec![LatencyPart::Queue; dies],
            dies: vec![Doing::nothing(1); dies],
            shared: Vec::new(),
            queues: Vec::new(),
            pages: Vec::new(),
            requests: vec![Entered::NONE; queue_depth as usize],
            has_buffer,
        };
        if let Some(dynamic) = allocation.dynamic() {
            let count = |queue| dynamic.dies(queue).len() as u32;
            waits.shared = allocation.all_queues().map(|queue| (Doing::nothing(count(queue)), count(queue))).collect();
            waits.queues = geometry.all_dies().map(|die| dynamic.queue_of_die(die)).collect();
        }
        waits
    }
}

// Dies.
impl Waits {
    /// From now on a die does something else, or goes on with what it did.
    pub(super) fn die_does(&mut self, now: Instant, die: Die, what: LatencyPart) {
        let before = std::mem::replace(&mut self.now[die.index()], what);
        if before != what {
            self.dies[die.index()].change(now, before, what);
            if let Some(&queue) = self.queues.get(die.index()) {
                self.shared[queue.index()].0.change(now, before, what);
            }
        }
    }

    fn times(&self, now: Instant, waits_for: For) -> Times {
        match waits_for {
            For::Die(die) | For::Command(die, _) => self.dies[die.index()].times_until(now),
            For::AnyDie(queue) => self.shared[queue.index()].0.times_until(now),
            For::Part(_) => [0; LatencyPart::OF_DIES],
        }
    }
}

// Pages.
impl Waits {
    /// A page comes into the device.
    pub(super) fn page_comes(&mut self, now: Instant, page: TransactionId) {
        let at = page.number() as usize;
        if self.pages.len() <= at {
            self.pages.resize(at + 1, Page::NONE);
        }
        self.pages[at] = Page { since: now, ..Page::NONE };
    }

    /// A page waits for its turn on a die; `lacks_entry`: before that for its map entry.
    pub(super) fn wait_for_die(&mut self, now: Instant, page: TransactionId, die: Die, lacks_entry: bool) {
        self.wait(now, page, For::Die(die));
        self.page(page).lacks_entry = lacks_entry;
    }

    /// A page waits for whichever die of a shared queue.
    pub(super) fn wait_for_any_die(&mut self, now: Instant, page: TransactionId, queue: Queue, lacks_entry: bool) {
        self.wait(now, page, For::AnyDie(queue));
        self.page(page).lacks_entry = lacks_entry;
    }

    /// A die takes a page into its command.
    pub(super) fn command_begins(&mut self, now: Instant, page: TransactionId, die: Die, what: LatencyPart) {
        self.wait(now, page, For::Command(die, what));
        self.page(page).die = Some(die);
    }

    /// A page that was read has left its die, and is corrected.
    pub(super) fn correction_begins(&mut self, now: Instant, page: TransactionId) {
        self.wait(now, page, For::Part(LatencyPart::Correction));
    }

    /// What was read of a page is on its way to the host, or waits for the link.
    pub(super) fn leaves(&mut self, now: Instant, page: TransactionId) {
        self.wait(now, page, For::Part(LatencyPart::Link));
    }

    /// A write waits for the read of its old version, which comes into the device.
    pub(super) fn old_version_is_read(&mut self, now: Instant, write: TransactionId) {
        self.wait(now, write, For::Part(LatencyPart::OldVersion));
    }

    /// The read of a write's old version is done. The write waited for what the read waited for.
    pub(super) fn old_version_came(&mut self, now: Instant, read: TransactionId, write: TransactionId) {
        self.end_wait(now, read);
        let parts = self.page(read).parts;
        let write = self.page(write);
        let waited = (now - write.since).ns();
        // Otherwise a request took the write over when the read was under way.
        if parts.sum() == waited {
            write.parts.add_all(&parts, LatencyPart::OldVersion);
            write.since = now;
        }
    }

    /// Of a page in the device only what comes from now on concerns the request that it is for.
    pub(super) fn page_is_taken_over(&mut self, now: Instant, page: TransactionId) {
        self.end_wait(now, page);
        self.page(page).parts = LatencyParts::NONE;
    }

    /// A page of a request is done.
    pub(super) fn page_is_done(&mut self, now: Instant, page: TransactionId, request: RequestId) {
        self.end_wait(now, page);
        let Page { parts, die, .. } = *self.page(page);
        let request = &mut self.requests[request.0 as usize];
        (request.last, request.die) = (parts, die);
    }

    fn page(&mut self, page: TransactionId) -> &mut Page {
        &mut self.pages[page.number() as usize]
    }

    /// Ends what a page waits for, and begins with something else.
    fn wait(&mut self, now: Instant, page: TransactionId, waits_for: For) {
        self.end_wait(now, page);
        let times = self.times(now, waits_for);
        let page = self.page(page);
        (page.waits_for, page.times) = (waits_for, times);
    }

    /// Splits the time since a page began to wait; it may wait on for the same.
    fn end_wait(&mut self, now: Instant, page: TransactionId) {
        let Page { waits_for, since, times, lacks_entry, .. } = *self.page(page);
        let waited = (now - since).ns();
        let (dies, own) = match waits_for {
            For::Die(_) => (1, None),
            For::AnyDie(queue) => (u64::from(self.shared[queue.index()].1), None),
            For::Command(_, own) => (1, Some(own)),
            For::Part(part) => {
                let page = self.page(page);
                page.parts.add(part, waited);
                page.since = now;
                return;
            }
        };
        let until = self.times(now, waits_for);
        let page = self.page(page);
        let mut rest = waited;
        for (at, &part) in LatencyPart::ALL[..LatencyPart::OF_DIES].iter().enumerate() {
            let ns = (until[at] - times[at]) / dies;
            rest -= ns;
            page.parts.add(counts_as(part, own, lacks_entry), ns);
        }
        // What divisions left: fewer nanoseconds than there are parts.
        page.parts.add(counts_as(LatencyPart::Queue, own, lacks_entry), rest);
        (page.since, page.times) = (now, until);
    }
}

/// What a page's time counts as in which its die did `part`. `own`: that of its own command; `lacks_entry`: it waited for its
/// map entry, so for all that is done for the map, and for nothing else.
fn counts_as(part: LatencyPart, own: Option<LatencyPart>, lacks_entry: bool) -> LatencyPart {
    match part {
        part if own == Some(part) => LatencyPart::Service,
        LatencyPart::Queue | LatencyPart::GcWait | LatencyPart::Mapping if lacks_entry => LatencyPart::Map,
        part => part,
    }
}

// Requests.
impl Waits {
    /// A request comes into the device.
    pub(super) fn request_comes(&mut self, now: Instant, request: RequestId, offset: u64) {
        let at = request.0 as usize;
        if self.requests.len() <= at {
            self.requests.resize(at + 1, Entered::NONE);
        }
        self.requests[at] = Entered { at: now, offset, ..Entered::NONE };
    }

    /// The controller has dealt with the command of a request.
    pub(super) fn command_is_dealt_with(&mut self, now: Instant, request: RequestId) {
        let request = &mut self.requests[request.0 as usize];
        request.controller_ns = (now - request.at).ns();
    }

    /// The data of a request have passed the host's link: the device has them.
    pub(super) fn request_has_passed(&mut self, now: Instant, request: RequestId) {
        let request = &mut self.requests[request.0 as usize];
        request.link_ns = (now - request.at).ns() - request.controller_ns;
    }

    /// What a read asked for that the device had without flash has passed the host's link. It waited for nothing else.
    pub(super) fn rest_is_done(&mut self, now: Instant, request: RequestId) {
        let request = &mut self.requests[request.0 as usize];
        (request.last, request.die) = (LatencyParts::NONE, None);
        request.last.add(LatencyPart::Link, (now - request.at).ns() - request.controller_ns);
    }

    /// A read or write is complete: with the split of its page that was done last.
    ///
    /// # Panics
    /// If there is time in which it waited for nothing. A write waits for room in a write buffer, of which no page tells.
    pub(super) fn request_is_complete(
        &self,
        now: Instant,
        request: RequestId,
        kind: RequestKind,
        arrived: Instant,
        size: u64,
    ) -> Completed {
        let Entered { at, offset, controller_ns, link_ns, last, die } = self.requests[request.0 as usize];
        let mut parts = last;
        parts.add(LatencyPart::Admission, (at - arrived).ns());
        parts.add(LatencyPart::Controller, controller_ns);
        parts.add(LatencyPart::Link, link_ns);
        let rest = (now - arrived).ns() - parts.sum();
        assert!(rest == 0 || self.has_buffer && kind == RequestKind::Write, "{rest} ns of nothing");
        parts.add(LatencyPart::Buffer, rest);
        Completed { kind, arrived, offset, size, die, parts }
    }
}
