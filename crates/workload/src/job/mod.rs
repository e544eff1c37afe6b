//! The requests of a job of fio: several sizes, two or three kinds of requests, each with a sequence of its own, passes that repeat,
//! flushes and reads that follow writes. The words and what they do to a stream of requests are those of fio
//! (<https://fio.readthedocs.io>); the random numbers are others.

mod map;
mod spec;

use std::ops::Range;

use base::{Instant, Request, RequestKind};
use engine::Chance;

use crate::synthetic::Places;
use map::Map;
pub(crate) use spec::{JobProblem, Law, Spec};
use spec::{Kinds, Order, Pace, READ, Service, Sizes, TRIM, WRITE};

/// A job's requests, one after the other.
pub(crate) struct Job {
    spec: Spec,
    seed: u64,
    state: State,
    /// A copy that is behind, of which writes are read again.
    checks: Option<Box<State>>,
    /// Writes of this pass that are not read again, and reads of them that come next.
    unchecked: u64,
    to_check: u64,
    /// Flushes that come next: one for each file at the end of a pass.
    flushes_next: u64,
    paces: Paces,
}

/// The place in a job from which its next request follows.
#[derive(Clone)]
struct State {
    random: Random,
    places: Option<Places>,
    /// Of several files, the one whose turn it is, the requests that are left of the turn, and where each is but that one.
    file: usize,
    turn_left: u64,
    files: Vec<FilePlace>,
    map: Option<Map>,
    in_pass: bool,
    is_over: bool,
    loops_left: u64,
    /// Of this pass: bytes, and requests.
    pass_bytes: u64,
    pass_requests: u64,
    /// Of all passes, by kind.
    requests: [u64; 3],
    bytes: [u64; 3],
    /// Where the last request of a kind began, and where it ended.
    last_start: [Option<u64>; 3],
    last_end: [u64; 3],
    mix_kind: usize,
    mix_until: u64,
    run_left: u64,
    last_was_write: bool,
}

/// The place in a file from which its next request follows.
#[derive(Clone)]
struct FilePlace {
    map: Option<Map>,
    last_start: [Option<u64>; 3],
    last_end: [u64; 3],
    is_done: bool,
}

#[derive(Clone)]
struct Random {
    addresses: Chance,
    kinds: Chance,
    sizes: Chance,
    choices: Chance,
    zones: Chance,
    files: Chance,
}

impl Random {
    fn new(seed: u64) -> Random {
        let stream = |name| Chance::new(seed, name);
        Random {
            addresses: stream("job.addresses"),
            kinds: stream("job.kinds"),
            sizes: stream("job.sizes"),
            choices: stream("job.choices"),
            zones: stream("job.zones"),
            files: stream("job.files"),
        }
    }
}

/// When the next request of each kind may be sent.
struct Paces {
    next_ns: [u64; 3],
    sent: [u64; 3],
    bytes: [u64; 3],
    /// The time of the last request, where nobody says what time it is.
    last_ns: u64,
    gaps: Chance,
}

impl Job {
    /// A job of that text on a device of so many bytes.
    pub(crate) fn new(text: &str, capacity: u64, seed: u64) -> Result<Job, JobProblem> {
        let spec = Spec::read(text, capacity)?;
        let state = State::new(&spec, seed);
        let gaps = Chance::new(seed, "job.gaps");
        let paces = Paces { next_ns: [0; 3], sent: [0; 3], bytes: [0; 3], last_ns: 0, gaps };
        let checks = None;
        Ok(Job { spec, seed, state, checks, unchecked: 0, to_check: 0, flushes_next: 0, paces })
    }

    /// True if the job goes on until somebody ends it.
    pub(crate) fn is_endless(&self) -> bool {
        self.spec.time_based
    }

    /// The addresses to which it may write; `None`: it does not write.
    pub(crate) fn written(&self) -> Option<Range<u64>> {
        self.spec.kinds.writes.then(|| self.spec.offset..self.spec.offset + self.spec.reach())
    }

    /// The part of it that is done, where requests or bytes end it.
    pub(crate) fn progress(&self) -> Option<f64> {
        if self.spec.time_based {
            return None;
        }
        let (spec, state) = (&self.spec, &self.state);
        let all = spec.limit().saturating_mul(spec.loops).max(1);
        let by_bytes = state.counted_bytes(spec) as f64 / all as f64;
        let by_requests = spec
            .number
            .map_or(0.0, |number| state.all_requests() as f64 / number.saturating_mul(spec.loops).max(1) as f64);
        Some(by_bytes.max(by_requests).min(1.0))
    }

    /// Appends up to `most` requests; none when it is over. `now`: nanoseconds since the job began, which a pace of two kinds looks at.
    pub(crate) fn fill(&mut self, out: &mut Vec<Request>, most: usize, now: Option<u64>) {
        // Of paced kinds the next one is known when it is sent.
        let most = if self.spec.is_paced() && now.is_some() { most.min(1) } else { most };
        for _ in 0..most {
            let Some(request) = self.next(now.unwrap_or(self.paces.last_ns)) else { return };
            self.paces.last_ns = request.at.0;
            out.push(request);
        }
    }

    fn next(&mut self, now: u64) -> Option<Request> {
        loop {
            if self.to_check > 0 {
                if let Some(request) = self.check() {
                    return Some(Request { at: Instant(self.paces.last_ns), ..request });
                }
                (self.to_check, self.unchecked) = (0, 0);
            }
            if self.flushes_next > 0 {
                self.flushes_next -= 1;
                return Some(flush(self.paces.last_ns));
            }
            if self.state.is_over {
                return None;
            }
            if !self.state.in_pass {
                self.state.begin_pass(&self.spec, self.seed);
                if self.spec.reads_back && self.state.in_pass {
                    self.checks = Some(Box::new(self.state.clone()));
                    self.unchecked = 0;
                }
                continue;
            }
            if let Some(backlog) = self.spec.backlog
                && self.unchecked >= backlog
            {
                self.to_check = self.spec.backlog_batch.min(self.unchecked);
                continue;
            }
            let (spec, paces) = (&self.spec, &mut self.paces);
            let mut at = paces.last_ns;
            let choose = |kind: usize| {
                let (kind, then) = if spec.is_paced() { paces.choose(spec, kind, now) } else { (kind, 0) };
                at = then;
                kind
            };
            let Some((kind, offset, size)) = self.state.next(spec, choose) else {
                self.state.end_pass(spec);
                self.to_check = self.unchecked;
                self.flushes_next = if spec.flushes_at_the_end && spec.kinds.writes { spec.files } else { 0 };
                continue;
            };
            let Some(kind) = kind else { return Some(flush(self.paces.last_ns)) };
            self.paces.note(&self.spec, kind, size);
            self.unchecked += u64::from(self.spec.reads_back && kind == WRITE);
            return Some(self.request(kind, offset, size, at));
        }
    }

    /// The next write of those that are behind, as a read.
    fn check(&mut self) -> Option<Request> {
        let checks = self.checks.as_mut()?;
        loop {
            let (kind, offset, size) = checks.next(&self.spec, |kind| kind)?;
            if kind == Some(WRITE) {
                self.to_check -= 1;
                self.unchecked -= 1;
                return Some(self.request(READ, offset, size, 0));
            }
        }
    }

    fn request(&self, kind: usize, offset: u64, size: u64, at: u64) -> Request {
        let kind = [RequestKind::Read, RequestKind::Write, RequestKind::Trim][kind];
        let fua = kind == RequestKind::Write && self.spec.writes_through;
        Request { at: Instant(at), offset: self.spec.offset + offset, size, kind, fua, hint: 0 }
    }
}

fn flush(at: u64) -> Request {
    Request { at: Instant(at), offset: 0, size: 0, kind: RequestKind::Flush, fua: false, hint: 0 }
}

impl State {
    fn new(spec: &Spec, seed: u64) -> State {
        let align = spec.align[spec.kinds.first()];
        State {
            random: Random::new(seed),
            places: spec.distribution.map(|law| Places::new(law, spec.blocks(align, spec.kinds.first()).max(1))),
            file: 0,
            turn_left: 0,
            files: Vec::new(),
            map: None,
            in_pass: false,
            is_over: false,
            loops_left: spec.loops,
            pass_bytes: 0,
            pass_requests: 0,
            requests: [0; 3],
            bytes: [0; 3],
            last_start: [None; 3],
            last_end: [0; 3],
            mix_kind: READ,
            mix_until: 0,
            run_left: spec.run,
            last_was_write: false,
        }
    }

    fn all_requests(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// The bytes that are held against the size of a job: those that it reads and writes, or of a job that only trims, trims.
    fn counted_bytes(&self, spec: &Spec) -> u64 {
        match spec.kinds {
            Kinds { reads: true, writes: true, .. } => self.bytes[READ] + self.bytes[WRITE],
            Kinds { writes: true, .. } => self.bytes[WRITE],
            Kinds { reads: true, .. } => self.bytes[READ],
            _ => self.bytes[TRIM],
        }
    }

    fn is_enough(&self, spec: &Spec) -> bool {
        let number = spec.number.map(|number| number.saturating_mul(spec.loops));
        let number = if spec.is_pair { number.map(|number| number.saturating_mul(2)) } else { number };
        number.is_some_and(|number| self.all_requests() >= number)
    }

    /// Begins the next pass, or is over.
    fn begin_pass(&mut self, spec: &Spec, seed: u64) {
        let goes_on = if spec.time_based {
            true
        } else if self.loops_left > 0 {
            self.loops_left -= 1;
            true
        } else if self.is_enough(spec) {
            false
        } else {
            // What is left of the bytes is done in further passes, if there is room for a request.
            let limit = spec.limit();
            let done: u64 = self.bytes.iter().sum();
            done < limit && limit - done >= spec.largest() && spec.io_size.is_some()
        };
        if !goes_on {
            self.is_over = true;
            return;
        }
        if spec.repeats {
            self.random = Random::new(seed);
        }
        self.map = spec.has_map.then(|| Map::new(spec.range / spec.unit().max(1)));
        (self.last_start, self.last_end) = ([None; 3], [0; 3]);
        if spec.files > 1 {
            let file = FilePlace { map: self.map.clone(), last_start: [None; 3], last_end: [0; 3], is_done: false };
            self.files = vec![file; spec.files as usize];
            (self.file, self.turn_left) = (0, if let Service::RoundRobin(turn) = spec.service { turn + 1 } else { 0 });
        }
        (self.pass_bytes, self.pass_requests, self.mix_until) = (0, 0, 0);
        self.in_pass = true;
    }

    fn end_pass(&mut self, _: &Spec) {
        self.in_pass = false;
        // A pass that sends nothing would be followed by others.
        self.is_over |= self.pass_requests == 0;
    }

    /// The next request of the pass: kind, first byte in the range, and bytes; no kind: a flush. `None`: the pass is over.
    fn next(&mut self, spec: &Spec, mut choose: impl FnMut(usize) -> usize) -> Option<(Option<usize>, u64, u64)> {
        let is_full = !spec.is_sync && self.pass_bytes >= spec.bytes_of_pass();
        if spec.time_based {
            // A job by time that reads back does so pass by pass.
            if is_full && spec.reads_back {
                return None;
            }
        } else if is_full || self.counted_bytes(spec) >= spec.limit().saturating_mul(spec.loops) || self.is_enough(spec)
        {
            return None;
        }
        while self.take_turn(spec) {
            // As in fio, a flush takes the turn of a file.
            if self.last_was_write
                && spec.flush_every.iter().any(|&every| every > 0 && self.requests[WRITE].is_multiple_of(every))
            {
                self.last_was_write = false;
                return Some((None, 0, 0));
            }
            let kind = self.kind(spec, &mut choose);
            if let Some((offset, size)) = self.of_file(spec, kind) {
                self.requests[kind] += 1;
                self.bytes[kind] += size;
                self.pass_bytes += size;
                self.pass_requests += 1;
                self.last_was_write = kind == WRITE;
                return Some((Some(kind), self.file as u64 * spec.range + offset, size));
            }
            match self.files.get_mut(self.file) {
                Some(file) => file.is_done = true,
                None => return None,
            }
        }
        None
    }

    /// Goes to the file whose turn it is; `false`: all are done.
    fn take_turn(&mut self, spec: &Spec) -> bool {
        let Some(of_now) = self.files.get(self.file) else { return true };
        let is_done = of_now.is_done;
        let count = self.files.len();
        let open = |file: &usize| !self.files[*file].is_done;
        let behind = || (1..=count).map(|step| (self.file + step) % count).find(open);
        let next = match spec.service {
            Service::RoundRobin(turn) => {
                self.turn_left = self.turn_left.saturating_sub(1);
                let next = if self.turn_left > 0 && !is_done { Some(self.file) } else { behind() };
                if self.turn_left == 0 || is_done {
                    self.turn_left = turn;
                }
                next
            }
            Service::Sequential => Some(self.file).filter(open).or_else(behind),
            Service::Random => {
                let left = (0..count).filter(open).count() as u64;
                let drawn = if left > 0 { self.random.files.below(left) as usize } else { 0 };
                (0..count).filter(open).nth(drawn)
            }
        };
        let Some(next) = next else { return false };
        for file in [self.file, next] {
            let place = &mut self.files[file];
            std::mem::swap(&mut self.map, &mut place.map);
            std::mem::swap(&mut self.last_start, &mut place.last_start);
            std::mem::swap(&mut self.last_end, &mut place.last_end);
        }
        self.file = next;
        true
    }

    /// The next request in the file: its first byte there, and bytes. `None`: the file is done.
    fn of_file(&mut self, spec: &Spec, kind: usize) -> Option<(u64, u64)> {
        let (offset, is_random) = self.place(spec, kind)?;
        if offset >= spec.range {
            return None;
        }
        let mut size = self.size(spec, kind, offset, is_random)?;
        if spec.offset + self.file as u64 * spec.range + offset + size > spec.capacity {
            return None;
        }
        if let (Some(map), true) = (&mut self.map, is_random) {
            let unit = spec.unit();
            size = size.min(map.take(offset / unit, size.div_ceil(unit)) * unit);
        }
        (self.last_start[kind], self.last_end[kind]) = (Some(offset), offset + size);
        Some((offset, size))
    }

    fn kind(&mut self, spec: &Spec, choose: impl FnOnce(usize) -> usize) -> usize {
        let Kinds { reads, writes, .. } = spec.kinds;
        if spec.is_pair {
            let kind = if self.last_start[WRITE] == self.last_start[TRIM] { TRIM } else { WRITE };
            return choose(kind);
        }
        if !(reads && writes) {
            return choose(spec.kinds.first());
        }
        if self.requests[self.mix_kind] >= self.mix_until {
            let drawn = if self.random.kinds.below(100) < spec.mix { READ } else { WRITE };
            if drawn != self.mix_kind {
                let share = if self.mix_kind == READ { 100 - spec.mix } else { spec.mix };
                self.mix_until = self.requests[self.mix_kind] * share / 100;
            }
            self.mix_kind = drawn;
        }
        self.mix_kind = choose(self.mix_kind);
        self.mix_kind
    }

    /// Where the next request begins, and whether at random.
    fn place(&mut self, spec: &Spec, kind: usize) -> Option<(u64, bool)> {
        let ends_run = {
            self.run_left -= 1;
            self.run_left == 0
        };
        if ends_run {
            self.run_left = spec.run;
        }
        if spec.is_pair && spec.is_random && kind == WRITE {
            return Some((self.last_start[TRIM]?, false));
        }
        if !ends_run {
            return match spec.order {
                Order::Sequential => {
                    self.sequential(spec, kind).or_else(|| self.drawn(spec, kind)).map(|offset| (offset, false))
                }
                Order::Identical => Some((self.last_start[kind].unwrap_or(0), false)),
            };
        }
        if !spec.is_random {
            return self.sequential(spec, kind).map(|offset| (offset, false));
        }
        let percent = spec.percent_random[kind];
        if percent == 100 || self.random.choices.below(100) < percent {
            let offset = self.drawn(spec, kind)?;
            if spec.is_pair && kind == TRIM && self.last_start[TRIM] == Some(offset) {
                // The same place twice: a write has to follow all the same.
                self.last_start[WRITE] = None;
            }
            return Some((offset, true));
        }
        match self.sequential(spec, kind) {
            Some(offset) => Some((offset, false)),
            None => self.drawn(spec, kind).map(|offset| (offset, true)),
        }
    }

    /// Behind the last request of the kind.
    fn sequential(&mut self, spec: &Spec, kind: usize) -> Option<u64> {
        let wraps = spec.time_based || spec.kinds.writes && spec.io_size.is_some_and(|bytes| bytes > spec.size);
        if wraps && self.last_end[kind] >= spec.range {
            self.last_end[kind] = 0;
        }
        let end = self.last_end[kind];
        if spec.offset + end >= spec.capacity {
            return None;
        }
        if end == 0 || spec.skip == 0 {
            return Some(end);
        }
        match end.checked_add_signed(spec.skip) {
            // Behind the end of the range it is over; behind that of the device it begins anew; backwards, from the end.
            Some(next) if next < spec.capacity => Some(next),
            _ if spec.skip > 0 => Some(0),
            _ => spec.range.checked_add_signed(spec.skip),
        }
    }

    /// At random.
    fn drawn(&mut self, spec: &Spec, kind: usize) -> Option<u64> {
        let align = spec.align[kind];
        let blocks = spec.blocks(align, kind);
        if blocks == 0 {
            return None;
        }
        if let Some(places) = &self.places {
            return Some(places.next(&mut self.random.addresses).min(blocks - 1) * align);
        }
        if let Some(zones) = &spec.zones[kind] {
            let drawn = 1 + self.random.zones.below(100);
            let zone = zones.iter().find(|zone| drawn <= zone.until).or(zones.last())?;
            let [first, end] = [zone.first, zone.end].map(|bytes| bytes / align);
            let blocks = end.min(blocks).saturating_sub(first).max(1);
            return Some((first + self.random.addresses.below(blocks)) * align);
        }
        let block = self.random.addresses.below(blocks);
        let Some(map) = &mut self.map else { return Some(block * align) };
        // In units of the map, from the drawn block on.
        let unit = spec.unit();
        let free = map.next_free(block * align / unit).or_else(|| {
            if !spec.time_based {
                return None;
            }
            // A job that goes on begins with a new map.
            *map = Map::new(spec.range / unit);
            (self.last_start, self.last_end) = ([None; 3], [0; 3]);
            map.next_free(block * align / unit)
        })?;
        Some(free * unit)
    }

    fn size(&mut self, spec: &Spec, kind: usize, offset: u64, is_random: bool) -> Option<u64> {
        if spec.is_pair && spec.is_random && kind == WRITE {
            return Some(self.last_end[TRIM] - self.last_start[TRIM]?);
        }
        let of = if spec.by_order { if is_random { WRITE } else { READ } } else { kind };
        let room = spec.range - offset;
        let (least, most) = spec.sizes[of].bounds();
        if least == most {
            return Some(least);
        }
        if least > room {
            return None;
        }
        loop {
            let drawn = self.random.sizes.fraction();
            let size = match &spec.sizes[of] {
                Sizes::Range(least, most) => least + (*most as f64 * drawn) as u64,
                Sizes::Split(parts) => {
                    let mut sum = 0;
                    let mut size = least;
                    for &(bytes, percent) in parts.iter().filter(|(_, percent)| *percent > 0) {
                        size = bytes;
                        sum += percent;
                        if drawn * 100.0 <= sum as f64 && bytes <= room {
                            break;
                        }
                    }
                    size
                }
                Sizes::One(bytes) => *bytes,
            };
            let whole = if spec.is_unaligned { size } else { size - size % least };
            let size = whole.min(most);
            if size <= room {
                return Some(size.max(1));
            }
        }
    }
}

impl Paces {
    /// The kind that is sent next, and when: as fio has it, that which is drawn, or the other one while the first is ahead of its pace.
    fn choose(&self, spec: &Spec, kind: usize, now: u64) -> (usize, u64) {
        let next = self.next_ns[kind];
        let is_mixed = spec.kinds.reads && spec.kinds.writes;
        if next <= now || !is_mixed {
            return (kind, next);
        }
        let other = if kind == READ { WRITE } else { READ };
        let has_other = if other == READ { spec.mix > 0 } else { spec.mix < 100 };
        if has_other && self.next_ns[other] < next { (other, self.next_ns[other]) } else { (kind, next) }
    }

    fn note(&mut self, spec: &Spec, kind: usize, size: u64) {
        self.sent[kind] += 1;
        self.bytes[kind] += size;
        let per_second = |count: u64, rate: u64| (u128::from(count) * 1_000_000_000 / u128::from(rate)) as u64;
        let of_size = spec.sizes[kind].bounds().0;
        self.next_ns[kind] = match spec.paces[kind] {
            Pace::None => 0,
            pace if spec.is_poisson => {
                let mean = match pace {
                    Pace::Bytes(rate) => of_size as f64 * 1e9 / rate as f64,
                    Pace::Requests(rate) => 1e9 / rate as f64,
                    Pace::None => unreachable!("it has a pace"),
                };
                self.next_ns[kind].saturating_add((-libm::log(1.0 - self.gaps.fraction()) * mean + 0.5) as u64)
            }
            Pace::Bytes(rate) => per_second(self.bytes[kind], rate),
            Pace::Requests(rate) => per_second(self.sent[kind], rate),
        };
    }
}

#[cfg(test)]
mod tests;
