//! The waits of the host's pages: latencies in parts, where that is asked for.
//!
//! A die is always doing one thing: having no command, having one of some kind and cause, or waiting with one for the
//! channel. It is kept how long each of them took in all. A page that begins to wait takes note of these times; when its wait
//! is over, what was added to them is what it waited for, to the nanosecond. A page of a dynamic allocation waits for
//! whichever die of its queue comes free: its wait is divided as the time of all these dies was.
//!
//! A request that waits for a place, or for room in the write buffer, waits for those that hold it: see [`super::holders`].

use base::{Die, Geometry, Instant, Lpn, Queue, RequestKind};
use ftl::allocation::Allocation;
use metrics::split::{Completed, Held, Served};
use metrics::{LatencyPart, LatencyParts};

use super::holders::{Clock, History, Holders, OF_REQUEST, Reading, Readings, Role};
use super::neighbours::{Neighbours, place_of};
use super::queues::{RequestId, TransactionId, Work};

/// How long dies did each thing that pages may wait for, in nanoseconds of a die.
type Times = [u64; LatencyPart::OF_DIES];

/// The work of some dies, and how long each kind took.
#[derive(Clone, Copy)]
struct Doing {
    /// By what they may do: how many dies do it now.
    dies: [u32; LatencyPart::OF_DIES],
    /// Up to `since`.
    times: Times,
    since: Instant,
}

impl Doing {
    /// The work of so many dies that have no command.
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

/// The thing that a page waits for.
#[derive(Clone, Copy)]
enum For {
    /// Its turn on a die.
    Die(Die),
    /// Whichever die of a shared queue.
    AnyDie(Queue),
    /// The end of its command, which its die counts as that.
    Command(Die, LatencyPart),
    /// A cause whose wait is one part as a whole.
    Part(LatencyPart),
}

/// The thing that a page holds and others may wait for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeldPlace {
    Nothing,
    /// A part of a place in the device.
    Place,
    /// Room in the write buffer.
    Room,
}

/// A page in the device.
#[derive(Clone, Copy)]
struct PageWait {
    waits_for: For,
    since: Instant,
    /// The times of the dies that it waits for when the wait began.
    times: Times,
    /// True if its map entry was not known when it began to wait.
    lacks_entry: bool,
    parts: LatencyParts,
    /// The die of its command.
    die: Option<Die>,
    /// The part of a latency that this was for the host: see [`place_of`].
    served_as: Option<usize>,
    holds: HeldPlace,
    /// Its weight among those that hold the same.
    weight: u32,
}

impl PageWait {
    const NONE: PageWait = PageWait {
        waits_for: For::Part(LatencyPart::Queue),
        since: Instant::ZERO,
        times: [0; LatencyPart::OF_DIES],
        lacks_entry: false,
        parts: LatencyParts::NONE,
        die: None,
        served_as: None,
        holds: HeldPlace::Nothing,
        weight: 0,
    };
}

/// A request in the device.
#[derive(Clone)]
struct Entered {
    at: Instant,
    offset: u64,
    /// How long the controller had its command.
    controller_ns: u64,
    /// How long its data were on the host's link before the device had them.
    link_ns: u64,
    /// How long it waited behind writes that waited for room in the write buffer, if it is a read.
    room_ns: u64,
    /// Of its page that was done last, as far as pages are done.
    last: LatencyParts,
    die: Option<Die>,
    /// The weight of each of its pages.
    weight: u32,
    /// The thing that it waits for as a whole, if not for its pages.
    waits_for: Option<LatencyPart>,
    /// While it waited for its place, if it did.
    held: Option<Box<Held>>,
}

impl Entered {
    const NONE: Entered = Entered {
        at: Instant::ZERO,
        offset: 0,
        controller_ns: 0,
        link_ns: 0,
        room_ns: 0,
        last: LatencyParts::NONE,
        die: None,
        weight: 0,
        waits_for: None,
        held: None,
    };
}

/// A wait for room in the write buffer begins.
#[derive(Clone, Copy)]
struct RoomFrom {
    at: Instant,
    room: Reading,
    idle: u128,
}

impl RoomFrom {
    const NONE: RoomFrom = RoomFrom { at: Instant::ZERO, room: Reading::NONE, idle: 0 };
}

/// The waits of pages, and the work of dies.
pub(super) struct Waits {
    /// By die, what it does now.
    now: Vec<LatencyPart>,
    dies: Vec<Doing>,
    /// By queue of a dynamic allocation, its dies together, and how many they are.
    shared: Vec<(Doing, u32)>,
    /// By die, its queue of a dynamic allocation.
    queues: Vec<Queue>,
    /// By number of the transaction.
    pages: Vec<PageWait>,
    requests: Vec<Entered>,
    /// Requests that have a place in the device.
    places: Holders,
    /// Pages that take room in the write buffer. Their clock runs while requests wait for room.
    room: Holders,
    room_clock: Clock,
    has_buffer: bool,
    /// By request, where there is a write buffer.
    room_from: Vec<RoomFrom>,
    /// All dies together.
    all: Doing,
    /// Dies that a page of a dynamic allocation waits for; otherwise 1.
    dies_of_queue: u64,
    history: History,
    /// By die.
    served: Vec<Served>,
    /// Where several hosts share the device.
    neighbours: Option<Box<Neighbours>>,
}

impl Waits {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<LatencyPart>()
        + 2 * size_of::<Doing>()
        + size_of::<Queue>()
        + 2 * Holders::BYTES_OF_DIE
        + size_of::<Served>();

    /// Bytes for each request.
    pub(super) const BYTES_OF_REQUEST: usize = size_of::<Entered>() + size_of::<Held>() + size_of::<RoomFrom>();

    /// Bytes of the rest.
    pub(super) const BYTES: usize = size_of::<Waits>() + History::BYTES;

    /// Bytes for each page of a request in the device. A vector grows to twice its length.
    pub(super) const BYTES_OF_PAGE: usize = 2 * size_of::<PageWait>();

    /// All dies idle, and no request in the device.
    pub(super) fn new(geometry: &Geometry, allocation: &Allocation, queue_depth: u32, has_buffer: bool) -> Waits {
        let dies = geometry.dies() as usize;
        let queues = allocation.dynamic().map_or(0, |_| allocation.queues() as usize);
        let mut waits = Waits {
            now: vec![LatencyPart::Queue; dies],
            dies: vec![Doing::nothing(1); dies],
            shared: Vec::new(),
            queues: Vec::new(),
            pages: Vec::new(),
            requests: vec![Entered::NONE; queue_depth as usize],
            has_buffer,
            places: Holders::new(dies, queues),
            room: Holders::new(dies, queues),
            room_clock: Clock::default(),
            room_from: Vec::new(),
            all: Doing::nothing(dies as u32),
            dies_of_queue: 1,
            history: History::new(),
            served: vec![Served::default(); dies],
            neighbours: None,
        };
        if let Some(dynamic) = allocation.dynamic() {
            let count = |queue| dynamic.dies(queue).len() as u32;
            waits.shared = allocation.all_queues().map(|queue| (Doing::nothing(count(queue)), count(queue))).collect();
            waits.queues = geometry.all_dies().map(|die| dynamic.queue_of_die(die)).collect();
            // They are all of one length.
            waits.dies_of_queue = waits.shared.first().map_or(1, |(_, dies)| u64::from(*dies));
        }
        waits
    }

    /// Several hosts share the device; by tenant, the first of its logical pages, if they are its own.
    pub(super) fn tell_tenants(&mut self, first: &[Option<Lpn>]) {
        self.neighbours = Some(Box::new(Neighbours::new(self.now.len(), first)));
    }

    /// Bytes of a die, of a page in the device and of a request, for each tenant.
    pub(super) const BYTES_OF_TENANT: usize = Neighbours::BYTES;

    /// The request that has just come is a tenant's.
    pub(super) fn request_is_of(&mut self, request: RequestId, tenant: usize) {
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.request_comes(request, tenant);
        }
    }
}

// Dies.
impl Waits {
    /// From now on a die does something else, or goes on with what it did.
    pub(super) fn die_does(&mut self, now: Instant, die: Die, what: LatencyPart) {
        let before = std::mem::replace(&mut self.now[die.index()], what);
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.die_does(now, die, what);
        }
        if before != what {
            self.dies[die.index()].change(now, before, what);
            self.all.change(now, before, what);
            let queue = self.queues.get(die.index()).copied();
            if let Some(queue) = queue {
                self.shared[queue.index()].0.change(now, before, what);
            }
            self.places.die_changes(now.ns(), die, queue, before, what);
            self.room.die_changes(self.room_clock.at(now), die, queue, before, what);
        }
    }

    /// Work of each die for pages of the host.
    pub(super) fn take_served(&mut self) -> Vec<Served> {
        std::mem::take(&mut self.served)
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
    /// A page comes into the device, for that work.
    pub(super) fn page_comes(&mut self, now: Instant, page: TransactionId, lpn: Lpn, work: Work) {
        let at = page.number() as usize;
        if self.pages.len() <= at {
            self.pages.resize(at + 1, PageWait::NONE);
        }
        let (holds, weight) = match work {
            Work::Read(request) | Work::Write(request) => (HeldPlace::Place, self.requests[request.0 as usize].weight),
            Work::WriteBuffered(_) => (HeldPlace::Room, 1),
            // A write waits for it, which holds what there is to hold.
            Work::ReadOld(_) | Work::Trim { .. } => (HeldPlace::Nothing, 0),
        };
        self.pages[at] = PageWait { since: now, holds, weight, ..PageWait::NONE };
        if let Some(neighbours) = &mut self.neighbours {
            let request = match work {
                Work::Read(request) | Work::Write(request) => Some(request),
                Work::WriteBuffered(_) | Work::ReadOld(_) | Work::Trim { .. } => None,
            };
            neighbours.page_comes(at, request, lpn);
        }
        self.shift(now, page, true);
    }

    /// A page waits for its turn on a die; `lacks_entry`: before that for its map entry.
    pub(super) fn wait_for_die(&mut self, now: Instant, page: TransactionId, die: Die, lacks_entry: bool) {
        self.wait(now, page, For::Die(die), lacks_entry);
    }

    /// A page waits for whichever die of a shared queue.
    pub(super) fn wait_for_any_die(&mut self, now: Instant, page: TransactionId, queue: Queue, lacks_entry: bool) {
        self.wait(now, page, For::AnyDie(queue), lacks_entry);
    }

    /// A die takes a page into its command.
    pub(super) fn command_begins(&mut self, now: Instant, page: TransactionId, die: Die, what: LatencyPart) {
        let lacks_entry = self.page(page).lacks_entry;
        self.wait(now, page, For::Command(die, what), lacks_entry);
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.command_begins(now, die, page.number() as usize);
        }
        let page = self.page(page);
        (page.die, page.served_as) = (Some(die), place_of(what));
    }

    /// A page waits for something that is one part as a whole: that it is corrected, that the read of its old version is done, or that
    /// its data are with the host.
    pub(super) fn wait_for_part(&mut self, now: Instant, page: TransactionId, part: LatencyPart) {
        let lacks_entry = self.page(page).lacks_entry;
        self.wait(now, page, For::Part(part), lacks_entry);
    }

    /// The read of a write's old version is done. The write waited for what the read waited for.
    pub(super) fn old_version_came(&mut self, now: Instant, read: TransactionId, write: TransactionId) {
        self.end_wait(now, read);
        let parts = self.page(read).parts;
        let of_write = self.page(write);
        let waited = (now - of_write.since).ns();
        // Otherwise a request took the write over when the read was under way.
        if parts.sum() == waited {
            of_write.parts.add_all(&parts, LatencyPart::OldVersion);
            of_write.since = now;
            if let Some(neighbours) = &mut self.neighbours {
                neighbours.passes_on(read.number() as usize, write.number() as usize);
            }
        }
    }

    /// The request joins a page already in the device; only time from now on counts for it.
    pub(super) fn page_is_taken_over(&mut self, now: Instant, page: TransactionId) {
        self.end_wait(now, page);
        self.page(page).parts = LatencyParts::NONE;
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.forget(page.number() as usize);
        }
    }

    /// A page of a request is done.
    pub(super) fn page_is_done(&mut self, now: Instant, page: TransactionId, request: RequestId) {
        self.end_wait(now, page);
        self.page_ends(now, page);
        let PageWait { parts, die, .. } = *self.page(page);
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.page_is_done(page.number() as usize, request);
        }
        let request = &mut self.requests[request.0 as usize];
        (request.last, request.die) = (parts, die);
    }

    /// A page no longer holds what others may wait for.
    pub(super) fn page_leaves(&mut self, now: Instant, page: TransactionId) {
        self.shift(now, page, false);
        self.page(page).holds = HeldPlace::Nothing;
    }

    /// A page of the write buffer is done, whoever waits for it.
    pub(super) fn buffered_page_is_done(&mut self, now: Instant, page: TransactionId) {
        self.end_wait(now, page);
        self.page_ends(now, page);
    }

    /// A page holds nothing any more, and its die has done what it did for it.
    fn page_ends(&mut self, now: Instant, page: TransactionId) {
        self.page_leaves(now, page);
        let PageWait { die, served_as, parts, .. } = *self.page(page);
        // It may end more than once: for each write with FUA that waits for it.
        if let (Some(die), Some(at)) = (die, served_as) {
            self.page(page).served_as = None;
            let served = &mut self.served[die.index()];
            served.pages[at] += 1;
            served.ns[at] += parts.get(LatencyPart::Service);
        }
    }

    fn page(&mut self, page: TransactionId) -> &mut PageWait {
        &mut self.pages[page.number() as usize]
    }

    /// Ends what a page waits for, and begins with something else.
    fn wait(&mut self, now: Instant, page: TransactionId, waits_for: For, lacks_entry: bool) {
        self.end_wait(now, page);
        self.shift(now, page, false);
        let times = self.times(now, waits_for);
        let entry = self.page(page);
        (entry.waits_for, entry.times, entry.lacks_entry) = (waits_for, times, lacks_entry);
        if let Some(neighbours) = &mut self.neighbours {
            neighbours.wait_begins(now, page.number() as usize, dies_of(&self.queues, waits_for));
        }
        self.shift(now, page, true);
    }

    /// Counts a page among those that hold what it holds, as one that waits for what it waits for, or no longer does.
    fn shift(&mut self, now: Instant, page: TransactionId, begins: bool) {
        let PageWait { waits_for, lacks_entry, holds, weight, .. } = *self.page(page);
        let (holders, clock) = match holds {
            HeldPlace::Nothing => return,
            HeldPlace::Place => (&mut self.places, now.ns()),
            HeldPlace::Room => (&mut self.room, self.room_clock.at(now)),
        };
        let (of_die, weight) = (u64::from(weight), u64::from(weight) * self.dies_of_queue);
        let role = if lacks_entry { Role::Entry } else { Role::Turn };
        let now_on = |die: Die| (die, self.now[die.index()]);
        match waits_for {
            For::Part(part) => holders.shift(clock, part, weight, begins),
            For::Die(die) => holders.shift_on_die(clock, now_on(die), role, weight, begins),
            For::Command(die, what) => holders.shift_on_die(clock, now_on(die), role_in(what), weight, begins),
            For::AnyDie(queue) => {
                let dies = &self.shared[queue.index()].0.dies;
                holders.shift_on_queue(clock, (queue, dies), role, of_die, begins);
            }
        }
    }

    /// Splits the time since a page began to wait; it may wait on for the same.
    fn end_wait(&mut self, now: Instant, page: TransactionId) {
        let PageWait { waits_for, since, times, lacks_entry, .. } = *self.page(page);
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
        let of_others = self.neighbours.as_mut().map_or([0; 2], |neighbours| {
            let counts = [LatencyPart::HostRead, LatencyPart::HostProgram].map(|part| own != Some(part));
            neighbours.wait_ends(now, page.number() as usize, (dies_of(&self.queues, waits_for), dies), counts)
        });
        let page = self.page(page);
        let mut rest = waited;
        for (at, &part) in LatencyPart::ALL[..LatencyPart::OF_DIES].iter().enumerate() {
            let ns = (until[at] - times[at]) / dies;
            rest -= ns;
            let of_others = place_of(part).map_or(0, |what| of_others[what]);
            page.parts.add(counts_as(part, own, lacks_entry), ns - of_others);
            page.parts.add(LatencyPart::OtherTenant, of_others);
        }
        // What divisions left: fewer nanoseconds than there are parts.
        page.parts.add(counts_as(LatencyPart::Queue, own, lacks_entry), rest);
        (page.since, page.times) = (now, until);
    }
}

/// The dies that a page waits for. `queues`: by die, its queue of a dynamic allocation.
fn dies_of(queues: &[Queue], waits_for: For) -> impl Iterator<Item = Die> + Clone {
    let (one, all) = match waits_for {
        For::Die(die) | For::Command(die, _) => (Some(die), None),
        For::AnyDie(queue) => (None, Some(queue)),
        For::Part(_) => (None, None),
    };
    let all = queues.iter().enumerate().filter(move |(_, queue)| Some(**queue) == all);
    one.into_iter().chain(all.map(|(die, _)| Die::new(die as u32)))
}

/// The share of a page in its die's command. A command that pages of the host share with collections counts as the collections'.
fn role_in(what: LatencyPart) -> Role {
    match what {
        LatencyPart::HostRead => Role::Read,
        LatencyPart::HostProgram => Role::Program,
        _ => Role::Turn,
    }
}

/// The part of a latency that a page's time counts as in which its die did `part`. `own`: that of its own command; `lacks_entry`: it
/// waited for its map entry, so for all that is done for the map, and for nothing else.
fn counts_as(part: LatencyPart, own: Option<LatencyPart>, lacks_entry: bool) -> LatencyPart {
    match part {
        // Its own retries are no service.
        LatencyPart::Retry => LatencyPart::Retry,
        part if own == Some(part) => LatencyPart::Service,
        LatencyPart::Queue | LatencyPart::GcWait | LatencyPart::Mapping if lacks_entry => LatencyPart::Map,
        part => part,
    }
}

// Requests.
impl Waits {
    /// A request of so many pages comes into the device; its latency began at `arrived`.
    pub(super) fn request_comes(
        &mut self,
        now: Instant,
        request: RequestId,
        offset: u64,
        pages: u32,
        arrived: Instant,
    ) {
        let at = request.0 as usize;
        if self.requests.len() <= at {
            self.requests.resize(at + 1, Entered::NONE);
        }
        let held = (arrived < now).then(|| Box::new(self.held_place(now, arrived)));
        let weight = (OF_REQUEST / pages.max(1)).max(1);
        self.requests[at] = Entered { at: now, offset, weight, held, ..Entered::NONE };
    }

    /// A request waits for something as a whole, and not for its pages.
    pub(super) fn request_waits(&mut self, now: Instant, request: RequestId, part: LatencyPart) {
        self.request_goes_on(now, request);
        self.requests[request.0 as usize].waits_for = Some(part);
        self.shift_request(now, part, true);
        if part == LatencyPart::Buffer {
            let at = request.0 as usize;
            if self.room_from.len() <= at {
                self.room_from.resize(at + 1, RoomFrom::NONE);
            }
            let (room, idle) = (self.room.reading(self.room_clock.at(now)), self.idle(now));
            self.room_from[at] = RoomFrom { at: now, room, idle };
        }
    }

    /// It no longer does.
    fn request_goes_on(&mut self, now: Instant, request: RequestId) {
        if let Some(part) = self.requests[request.0 as usize].waits_for.take() {
            self.shift_request(now, part, false);
        }
    }

    fn shift_request(&mut self, now: Instant, part: LatencyPart, begins: bool) {
        self.places.shift(now.ns(), part, u64::from(OF_REQUEST) * self.dies_of_queue, begins);
        self.room_clock.run(now, self.places.any(LatencyPart::Buffer));
    }

    /// The controller has dealt with the command of a request.
    pub(super) fn command_is_dealt_with(&mut self, now: Instant, request: RequestId) {
        self.request_goes_on(now, request);
        let request = &mut self.requests[request.0 as usize];
        request.controller_ns = (now - request.at).ns();
    }

    /// The data of a request have passed the host's link: the device has them.
    pub(super) fn request_has_passed(&mut self, now: Instant, request: RequestId) {
        self.request_goes_on(now, request);
        let request = &mut self.requests[request.0 as usize];
        request.link_ns = (now - request.at).ns() - request.controller_ns;
    }

    /// A read that waited behind writes for room in the write buffer waits no more.
    pub(super) fn read_has_its_turn(&mut self, now: Instant, request: RequestId) {
        self.request_goes_on(now, request);
        let ns = (now - self.room_from[request.0 as usize].at).ns();
        if ns > 0 {
            let mut held = self.requests[request.0 as usize].held.take().unwrap_or_default();
            self.add_held_room(now, request, ns, &mut held);
            let entered = &mut self.requests[request.0 as usize];
            (entered.room_ns, entered.held) = (ns, Some(held));
        }
    }

    /// The data of a read that the device had without flash have passed the host's link. It waited for nothing else.
    pub(super) fn rest_is_done(&mut self, now: Instant, request: RequestId) {
        self.request_goes_on(now, request);
        let request = &mut self.requests[request.0 as usize];
        (request.last, request.die) = (LatencyParts::NONE, None);
        request.last.add(LatencyPart::Link, (now - request.at).ns() - request.controller_ns - request.room_ns);
    }

    /// A request is complete. A read or write: with the split of its page that was done last.
    ///
    /// # Panics
    /// If there is time in which it waited for nothing. A write waits for room in a write buffer, of which no page tells.
    pub(super) fn request_is_complete(
        &mut self,
        now: Instant,
        request: RequestId,
        kind: RequestKind,
        arrived: Instant,
        size: u64,
    ) -> Option<Completed> {
        self.request_goes_on(now, request);
        if !matches!(kind, RequestKind::Read | RequestKind::Write) {
            return None;
        }
        let entered = &mut self.requests[request.0 as usize];
        let Entered { at, offset, controller_ns, link_ns, room_ns, last, die, .. } = *entered;
        let mut held = entered.held.take().map_or_else(Held::default, |held| *held);
        let mut parts = last;
        parts.add(LatencyPart::Link, link_ns);
        let own = parts.sum();
        parts.add(LatencyPart::Controller, controller_ns);
        parts.add(LatencyPart::Admission, (at - arrived).ns());
        parts.add(LatencyPart::Buffer, room_ns);
        let rest = (now - arrived).ns() - parts.sum();
        assert!(rest == 0 || self.has_buffer && kind == RequestKind::Write, "{rest} ns of nothing");
        parts.add(LatencyPart::Buffer, rest);
        if rest > 0 {
            self.add_held_room(now, request, rest, &mut held);
        }
        let elsewhere = [LatencyPart::Link, LatencyPart::Correction].map(|part| parts.get(part)).iter().sum::<u64>();
        held.dies[0] = die.map(|die| (die, own - elsewhere));
        let (tenant, neighbour) = self.neighbours.as_ref().map_or((None, None), |all| all.of_request(request));
        Some(Completed { kind, arrived, offset, size, die, parts, held, tenant, neighbour })
    }
}

// What is held, and who waits for it.
impl Waits {
    /// Requests have to wait for places from now on, or still.
    pub(super) fn places_are_waited_for(&mut self, now: Instant) {
        let readings = self.readings(now);
        self.history.push(now, readings);
    }

    /// They do not.
    pub(super) fn places_are_free(&mut self) {
        self.history.clear();
    }

    /// A page takes room in the write buffer, and waits there for a queue, or no longer does.
    pub(super) fn page_is_buffered(&mut self, now: Instant, queue: Queue, die: Die, begins: bool) {
        let clock = self.room_clock.at(now);
        match self.shared.get(queue.index()) {
            Some((dies, _)) => self.room.shift_on_queue(clock, (queue, &dies.dies), Role::Turn, 1, begins),
            None => self.room.shift_on_die(clock, (die, self.now[die.index()]), Role::Turn, 1, begins),
        }
    }

    /// How long dies had nothing to do, all together.
    fn idle(&self, now: Instant) -> u128 {
        self.all.times_until(now)[LatencyPart::Queue as usize].into()
    }

    fn readings(&self, now: Instant) -> Readings {
        let room = self.room.reading(self.room_clock.at(now));
        Readings { places: self.places.reading(now.ns()), room, idle: self.idle(now) }
    }

    /// The waits of the holders of places while a request waited for one.
    fn held_place(&mut self, now: Instant, arrived: Instant) -> Held {
        let (ns, then) = ((now - arrived).ns(), self.readings(now));
        let mut held = Held::default();
        let Some(before) = self.history.at(arrived, (now, &then)) else {
            held.places.add(LatencyPart::Admission, ns);
            return held;
        };
        let (places, nobody) = then.places.divide(&before.places, ns);
        held.places = places;
        held.places.add(LatencyPart::Admission, nobody);
        held.idle = self.mean_of_dies(then.idle - before.idle);
        held.dies[1] = self.places.most_on(ns);
        let for_room = held.places.get(LatencyPart::Buffer);
        if for_room > 0 {
            self.divide_room((&before.room, &then.room), for_room, &mut held);
        }
        held
    }

    /// The waits of buffered pages while a write waited `ns` for room.
    fn add_held_room(&self, now: Instant, request: RequestId, ns: u64, held: &mut Held) {
        let RoomFrom { at, room, idle } = self.room_from[request.0 as usize];
        self.divide_room((&room, &self.room.reading(self.room_clock.at(now))), ns, held);
        let (whole, passed) = (self.mean_of_dies(self.idle(now) - idle), (now - at).ns());
        held.idle += (u128::from(whole) * u128::from(ns)).checked_div(passed.into()).unwrap_or(0) as u64;
    }

    fn divide_room(&self, (before, then): (&Reading, &Reading), ns: u64, held: &mut Held) {
        let (parts, nobody) = then.divide(before, ns);
        // Their own commands are programs for the host.
        held.room.add_all(&parts, LatencyPart::HostProgram);
        held.room.add(LatencyPart::Buffer, nobody);
        if let Some((die, ns)) = self.room.most_on(ns) {
            let so_far = held.dies[2].filter(|(other, _)| *other == die).map_or(0, |(_, ns)| ns);
            held.dies[2] = Some((die, so_far + ns));
        }
    }

    /// The mean of dies of a time that they have together.
    fn mean_of_dies(&self, time: u128) -> u64 {
        (time / self.dies.len() as u128) as u64
    }
}
