//! Latencies of reads and writes, split by what the requests waited for.
//!
//! The sums are kept by classes of latency, so that the parts of the requests around any percentile are known in the end,
//! in memory that does not grow with the run. The parts of a request add up to its latency to the nanosecond. What it waited
//! for a place in the device, or for room in the write buffer, is divided once more: by what those waited for that held them.

mod parts;
mod rows;

use std::collections::BTreeMap;
use std::ops::Range;

use base::{Die, Instant, RequestKind};
use serde_json::{Map, Value, json};

use self::parts::NAMES;
pub use self::parts::{LatencyPart, LatencyParts};
use self::rows::{RequestRow, RequestRows, divided};
use crate::latency::us;
use crate::table::{Column, Table};

/// The waits of a request where others held what it needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Its part [`LatencyPart::Admission`], by what the requests in the device waited for meanwhile.
    /// [`LatencyPart::Admission`] in it: they were trims and flushes.
    pub places: LatencyParts,
    /// Its part [`LatencyPart::Buffer`], and that of `places`, by what the buffered pages waited for meanwhile.
    /// [`LatencyPart::Buffer`] in it: there were none.
    pub room: LatencyParts,
    /// The time of these waits in which dies had nothing to do: the mean of all dies.
    pub idle: u64,
    /// The dies that it waited for most, with the time: for its own page, and for those that held places and room.
    pub dies: [Option<(Die, u64)>; 3],
}

/// By whom a wait is divided: the request itself, the holders of places, those of room.
const WAYS: usize = 3;

/// A read or write that is complete.
#[derive(Clone, Copy, Debug)]
pub struct Completed {
    /// A read or a write.
    pub kind: RequestKind,
    /// When its latency begins.
    pub arrived: Instant,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The die of the page that was done last, if that came from a die.
    pub die: Option<Die>,
    /// Its parts, which add up to its latency.
    pub parts: LatencyParts,
    /// Its waits where others held what it needed.
    pub held: Held,
    /// Whose it is, where several hosts share the device.
    pub tenant: Option<u16>,
    /// The tenant that the page which was done last waited for most, with the time.
    pub neighbour: Option<(u16, u64)>,
}

impl Completed {
    fn latency(&self) -> u64 {
        self.parts.sum()
    }

    fn ways(&self) -> [&LatencyParts; WAYS] {
        [&self.parts, &self.held.places, &self.held.room]
    }

    /// True if the parts of a wait add up to it.
    fn adds_up(&self) -> bool {
        let [parts, places, room] = self.ways();
        let buffer = parts.get(LatencyPart::Buffer) + places.get(LatencyPart::Buffer);
        places.sum() == parts.get(LatencyPart::Admission) && room.sum() == buffer
    }

    fn to_json(self) -> Value {
        json!({
            "arrival_s": self.arrived.seconds(),
            "latency_us": us(self.latency()),
            "offset": self.offset,
            "size": self.size,
            "die": self.die.map(Die::number),
            "parts_us": self.parts.to_json(),
            "admission_us": self.held.places.taken_to_json(),
            "buffer_us": self.held.room.taken_to_json(),
        })
    }
}

/// Classes of an octave of latencies: one is 3 % wide.
const CLASSES_PER_OCTAVE: u32 = 32;

/// Classes there are: latencies below 32 ns have one each.
pub(crate) const CLASSES: usize = ((64 - CLASSES_PER_OCTAVE.ilog2() + 1) * CLASSES_PER_OCTAVE) as usize;

/// The class of a latency.
pub(crate) fn class_of(ns: u64) -> usize {
    let bits = CLASSES_PER_OCTAVE.ilog2();
    let shift = (ns | 1).ilog2().saturating_sub(bits);
    ((shift << bits) as u64 + (ns >> shift)) as usize
}

/// The longest latency of a class.
fn longest(class: usize) -> u64 {
    let bits = CLASSES_PER_OCTAVE.ilog2();
    let shift = (class as u64 >> bits).saturating_sub(1);
    let first = class as u64 - (shift << bits);
    ((u128::from(first + 1) << shift) - 1) as u64
}

/// Examples kept of a class.
const EXAMPLES: usize = 3;

/// Requests of about the same latency.
#[derive(Clone, Debug, Default)]
struct LatencyClass {
    count: u64,
    sums: [[u128; LatencyPart::ALL.len()]; WAYS],
    /// See [`Held::idle`].
    idle: u128,
    /// How long they waited for dies, in order of these.
    dies: Vec<(Die, u64)>,
    /// How long they waited for other tenants, in order of these.
    neighbours: Vec<(u16, u64)>,
    examples: Vec<Completed>,
    /// Requests that the examples were drawn from.
    drawn_from: u64,
    /// They are of the window that examples are preferred from.
    are_preferred: bool,
}

impl LatencyClass {
    fn add(&mut self, request: &Completed, is_preferred: bool) {
        self.count += 1;
        for (sums, parts) in self.sums.iter_mut().zip(request.ways()) {
            for (sum, ns) in sums.iter_mut().zip(parts.0) {
                *sum += u128::from(ns);
            }
        }
        self.idle += u128::from(request.held.idle);
        request.held.dies.into_iter().flatten().for_each(|waited| add_to(&mut self.dies, waited));
        request.neighbour.into_iter().for_each(|waited| add_to(&mut self.neighbours, waited));
        if is_preferred && !self.are_preferred {
            (self.are_preferred, self.drawn_from) = (true, 0);
            self.examples.clear();
        }
        if is_preferred == self.are_preferred {
            self.draw(request);
        }
    }

    /// Keeps each request as an example with the same probability. What is drawn follows from its number alone, so
    /// that the same run has the same examples.
    fn draw(&mut self, request: &Completed) {
        self.drawn_from += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(*request);
            return;
        }
        let place = scrambled(self.drawn_from) % self.drawn_from;
        if let Some(example) = self.examples.get_mut(place as usize) {
            *example = *request;
        }
    }
}

/// Times of several lists together, the longest first.
fn most_first<'a, T: Ord + Copy + 'a>(times: impl Iterator<Item = &'a (T, u64)>) -> Vec<(T, u128)> {
    let mut all = BTreeMap::new();
    for &(of, ns) in times {
        *all.entry(of).or_insert(0u128) += u128::from(ns);
    }
    let mut all: Vec<(T, u128)> = all.into_iter().collect();
    all.sort_by_key(|&(of, ns)| (std::cmp::Reverse(ns), of));
    all
}

/// Adds a time to those of a list in order.
fn add_to<T: Ord + Copy>(times: &mut Vec<(T, u64)>, (of, ns): (T, u64)) {
    match times.binary_search_by_key(&of, |&(of, _)| of) {
        Ok(at) => times[at].1 += ns,
        Err(at) => times.insert(at, (of, ns)),
    }
}

/// A number that looks like chance (SplitMix64).
fn scrambled(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Requests that the parts at a percentile rest on, at least; there may not be as many of about that latency.
const REQUESTS_AROUND: u64 = 10;

/// Classes to each side that are looked at for them: a quarter of an octave.
const CLASSES_AROUND: usize = 8;

/// Dies that are named at a percentile.
const DIES_NAMED: usize = 3;

/// Reads and programs of a die for pages of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Pages.
    pub pages: [u64; 2],
    /// The time of their own commands.
    pub ns: [u64; 2],
}

impl Served {
    fn to_json(self) -> Map<String, Value> {
        let mut figures = Map::new();
        for (at, (pages, time)) in [("reads", "read_us"), ("programs", "program_us")].into_iter().enumerate() {
            let count = self.pages[at];
            figures.insert(pages.into(), json!(count));
            figures.insert(time.into(), if count == 0 { Value::Null } else { json!(us(self.ns[at]) / count as f64) });
        }
        figures
    }
}

/// One kind of request.
#[derive(Clone, Debug)]
struct OfKind {
    classes: Vec<LatencyClass>,
    count: u64,
}

impl OfKind {
    fn new() -> OfKind {
        OfKind { classes: vec![LatencyClass::default(); CLASSES], count: 0 }
    }

    fn add(&mut self, request: &Completed, is_preferred: bool) {
        self.count += 1;
        self.classes[class_of(request.latency())].add(request, is_preferred);
    }

    /// The class in which the requests reach the fraction `q` of all.
    fn class_at(&self, q: f64) -> usize {
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut below = 0;
        let reaches = |class: &LatencyClass| {
            below += class.count;
            below >= rank
        };
        self.classes.iter().position(reaches).expect("all requests are in classes")
    }

    /// The classes around a percentile, with as many requests as there should be or as there are.
    fn around(&self, q: f64) -> (usize, Range<usize>) {
        let middle = self.class_at(q);
        let widened = |by: usize| middle.saturating_sub(by)..(middle + by + 1).min(CLASSES);
        let count = |range: Range<usize>| self.classes[range].iter().map(|class| class.count).sum::<u64>();
        let by = (0..CLASSES_AROUND).find(|&by| count(widened(by)) >= REQUESTS_AROUND).unwrap_or(CLASSES_AROUND);
        (middle, widened(by))
    }

    fn to_json(&self, served: &[Served], tenants: &[String]) -> Value {
        if self.count == 0 {
            return Value::Null;
        }
        let mut all = Map::new();
        all.insert("mean".into(), self.figures(0..CLASSES, &[], (served, tenants)));
        for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)] {
            let (middle, range) = self.around(q);
            // From the window first, then from the percentile's own class.
            let mut classes: Vec<usize> = range.clone().collect();
            classes.sort_by_key(|&at| (!self.classes[at].are_preferred, at.abs_diff(middle)));
            let examples = classes.iter().flat_map(|&at| &self.classes[at].examples);
            let examples: Vec<&Completed> = examples.take(EXAMPLES).collect();
            all.insert(name.into(), self.figures(range, &examples, (served, tenants)));
        }
        Value::Object(all)
    }

    /// The mean of the requests of some classes. What dies served is by die, names are by tenant.
    fn figures(
        &self,
        range: Range<usize>,
        examples: &[&Completed],
        (served, tenants): (&[Served], &[String]),
    ) -> Value {
        let classes = &self.classes[range];
        let count: u64 = classes.iter().map(|class| class.count).sum();
        let sum =
            |way: usize, part: LatencyPart| classes.iter().map(|class| class.sums[way][part as usize]).sum::<u128>();
        let mean = |sum: u128| sum as f64 / count as f64 / 1e3;
        let total = LatencyPart::ALL.map(|part| sum(0, part)).into_iter().sum::<u128>();
        let parts = LatencyPart::ALL.iter().map(|&part| (part.name().to_owned(), json!(mean(sum(0, part)))));
        let taken = |way: usize| {
            let sums = LatencyPart::ALL.iter().map(|&part| (part, sum(way, part))).filter(|(_, sum)| *sum > 0);
            Value::Object(sums.map(|(part, sum)| (part.name().to_owned(), json!(mean(sum)))).collect())
        };
        let waited = sum(0, LatencyPart::Admission) + sum(0, LatencyPart::Buffer);
        let idle = classes.iter().map(|class| class.idle).sum::<u128>();
        let dies = most_first(classes.iter().flat_map(|class| &class.dies));
        let named = dies.iter().take(DIES_NAMED).map(|&(die, ns)| {
            let mut figures = served.get(die.index()).copied().unwrap_or_default().to_json();
            figures.insert("die".into(), json!(die.number()));
            figures.insert("us".into(), json!(mean(ns)));
            Value::Object(figures)
        });
        let mut figures = json!({
            "requests": count,
            "latency_us": mean(total),
            "parts_us": Value::Object(parts.collect()),
            "admission_us": taken(1),
            "buffer_us": taken(2),
            "idle_dies": if waited == 0 { Value::Null } else { json!(idle as f64 / waited as f64) },
            "dies": named.collect::<Vec<_>>(),
            "examples": examples.iter().map(|example| example.to_json()).collect::<Vec<_>>(),
        });
        if !tenants.is_empty() {
            let neighbours = most_first(classes.iter().flat_map(|class| &class.neighbours));
            figures["neighbours"] = neighbours
                .into_iter()
                .map(|(tenant, ns)| json!({ "name": tenants[usize::from(tenant)], "us": mean(ns) }))
                .collect();
        }
        figures
    }

    /// Rows of the table: the longest latency of a class in ns, its requests, and the mean of each part in µs.
    fn rows(&self) -> impl Iterator<Item = (u64, &LatencyClass)> {
        self.classes.iter().enumerate().filter(|(_, class)| class.count > 0).map(|(at, class)| (longest(at), class))
    }
}

/// One of several hosts: its reads and its writes.
#[derive(Clone, Debug)]
struct OfTenant {
    name: String,
    /// Its requests count from here on.
    from: Instant,
    kinds: [OfKind; 2],
}

/// Latencies of reads and writes with their parts.
#[derive(Clone, Debug)]
pub struct SplitLatencies {
    reads: OfKind,
    writes: OfKind,
    /// Requests inside it are preferred as examples: a timeline shows it.
    window: Option<Range<Instant>>,
    rows: Option<RequestRows>,
    /// By die.
    served: Vec<Served>,
    /// Where several hosts share the device.
    tenants: Vec<OfTenant>,
}

impl SplitLatencies {
    /// Bytes of it, without the rows of requests; as many for each tenant.
    pub const BYTES: u64 = (2 * CLASSES * (size_of::<LatencyClass>() + EXAMPLES * size_of::<Completed>())) as u64;

    /// Bytes of a request's row, about, with the tables that are made of it.
    pub const BYTES_OF_ROW: u64 =
        (size_of::<RequestRow>() + 4 * 8 + 4 * 8 * (6 + WAYS * LatencyPart::ALL.len())) as u64;

    /// Latencies before the first request. Examples are preferred from `window`; `keeps_rows`: every request is kept.
    pub fn new(window: Option<Range<Instant>>, keeps_rows: bool) -> SplitLatencies {
        let rows = keeps_rows.then(RequestRows::default);
        let (reads, writes) = (OfKind::new(), OfKind::new());
        SplitLatencies { reads, writes, window, rows, served: Vec::new(), tenants: Vec::new() }
    }

    /// Several hosts share the device; by tenant, its name and from when on its requests count.
    pub fn tell_tenants(&mut self, tenants: impl Iterator<Item = (String, Instant)>) {
        let of_tenant = |(name, from)| OfTenant { name, from, kinds: [OfKind::new(), OfKind::new()] };
        self.tenants = tenants.map(of_tenant).collect();
    }

    /// The requests of a tenant count from then on.
    pub(crate) fn tenant_begins(&mut self, tenant: usize, from: Instant) {
        if let Some(tenant) = self.tenants.get_mut(tenant) {
            tenant.from = from;
        }
    }

    /// Work of each die for pages of the host.
    pub fn tell_served(&mut self, served: Vec<Served>) {
        self.served = served;
    }

    /// Adds a request that completed `now`.
    ///
    /// # Panics
    /// If its parts do not add up to its latency.
    pub fn add(&mut self, request: &Completed, now: Instant) {
        assert_eq!(request.latency(), (now - request.arrived).ns(), "parts add up to the latency: {request:?}");
        assert!(request.adds_up(), "waits for places and room are divided without a rest: {request:?}");
        let is_preferred =
            self.window.as_ref().is_some_and(|window| window.start <= request.arrived && now <= window.end);
        let of_kind = if request.kind == RequestKind::Read { &mut self.reads } else { &mut self.writes };
        of_kind.add(request, is_preferred);
        if let Some(tenant) = request.tenant.and_then(|tenant| self.tenants.get_mut(usize::from(tenant)))
            && request.arrived >= tenant.from
        {
            tenant.kinds[usize::from(request.kind != RequestKind::Read)].add(request, is_preferred);
        }
        if let Some(rows) = &mut self.rows {
            rows.add(request);
        }
    }

    /// Rows of requests that the next one would make memory be asked for, if it would.
    pub fn rows_to_come(&self) -> Option<u64> {
        let rows = &self.rows.as_ref()?.rows;
        (rows.len() == rows.capacity()).then_some(2 * rows.len() as u64 + 1)
    }

    /// `{read, write, dies}`: the first two each `{mean, p50, p90, p99, p999, p9999}`, or `null` without such a request. With several
    /// hosts also `tenants`, the same of each with its name.
    pub fn to_json(&self) -> Value {
        let all = self.served.iter().fold(Served::default(), |all, die| Served {
            pages: [0, 1].map(|at| all.pages[at] + die.pages[at]),
            ns: [0, 1].map(|at| all.ns[at] + die.ns[at]),
        });
        let mut dies = all.to_json();
        dies.insert("count".into(), json!(self.served.len()));
        let names: Vec<String> = self.tenants.iter().map(|tenant| tenant.name.clone()).collect();
        let of = |of_kind: &OfKind| of_kind.to_json(&self.served, &names);
        let mut all = json!({ "read": of(&self.reads), "write": of(&self.writes), "dies": dies });
        if !self.tenants.is_empty() {
            let of_each = self
                .tenants
                .iter()
                .map(|OfTenant { name, kinds: [reads, writes], .. }| json!({ "name": name, "read": of(reads), "write": of(writes) }));
            all["tenants"] = of_each.collect();
        }
        all
    }

    /// The table `latency_parts`, by class of latency, and `requests`, if they are kept.
    pub fn tables(&self) -> Vec<Table> {
        let kinds = [("read", &self.reads), ("write", &self.writes)];
        let rows: Vec<(&str, u64, &LatencyClass)> = kinds
            .iter()
            .flat_map(|(kind, of_kind)| of_kind.rows().map(|(longest, class)| (*kind, longest, class)))
            .collect();
        let mut columns = vec![
            ("kind", Column::Text(kinds_of(&rows))),
            ("latency_us", Column::F64(rows.iter().map(|(_, longest, _)| us(*longest)).collect())),
            ("requests", Column::U64(rows.iter().map(|(.., class)| class.count).collect())),
        ];
        for (way, part) in divided() {
            let mean = |class: &LatencyClass| class.sums[way][part as usize] as f64 / class.count as f64 / 1e3;
            let values = rows.iter().map(|(.., class)| mean(class)).collect();
            columns.push((NAMES[part as usize].columns[way].0, Column::F64(values)));
        }
        let mut tables = vec![Table { name: "latency_parts", columns }];
        tables.extend(self.rows.as_ref().map(RequestRows::table));
        tables
    }
}

fn kinds_of(rows: &[(&'static str, u64, &LatencyClass)]) -> Vec<&'static str> {
    rows.iter().map(|(kind, ..)| *kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: RequestKind, arrived: u64, parts: &[(LatencyPart, u64)]) -> (Completed, Instant) {
        let mut all = LatencyParts::NONE;
        parts.iter().for_each(|&(part, ns)| all.add(part, ns));
        let held = Held::default();
        let (arrived_at, die) = (Instant(arrived), Some(Die::new(3)));
        let request = Completed {
            kind,
            arrived: arrived_at,
            offset: 8192,
            size: 4096,
            die,
            parts: all,
            held,
            tenant: None,
            neighbour: None,
        };
        (request, Instant(arrived + all.sum()))
    }

    fn column<'a>(table: &'a Table, name: &str) -> &'a [u64] {
        match table.column(name) {
            Some(Column::U64(values)) => values,
            _ => panic!("no numbers in {name}"),
        }
    }

    #[test]
    fn classes_hold_every_latency_within_three_per_cent() {
        for ns in (0..70_000).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX - 1, u64::MAX]) {
            let class = class_of(ns);
            let below = if class == 0 { None } else { Some(longest(class - 1)) };
            assert!(longest(class) >= ns && below.is_none_or(|below| below < ns), "{ns} is in class {class}");
            assert!(longest(class) as f64 <= ns as f64 * (1.0 + 1.0 / 32.0), "{ns}");
        }
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn parts_of_a_percentile_are_those_of_requests_around_it() {
        let mut split = SplitLatencies::new(None, false);
        for at in 0..990 {
            let (quick, now) = request(RequestKind::Read, at, &[(LatencyPart::Service, 50_000)]);
            split.add(&quick, now);
        }
        for at in 0..10 {
            let slow = [(LatencyPart::Erase, 4_000_000 + 1000 * at), (LatencyPart::Service, 50_000)];
            let (slow, now) = request(RequestKind::Read, at, &slow);
            split.add(&slow, now);
        }
        let found = split.to_json();
        let at = |name: &str| found["read"][name].clone();
        assert_eq!((&at("p50")["requests"], &at("p50")["latency_us"]), (&json!(990), &json!(50.0)));
        assert_eq!(at("p99")["parts_us"]["erase"], 0.0, "the 990th is quick");
        assert_eq!((&at("p999")["requests"], &at("p999")["parts_us"]["erase"]), (&json!(10), &json!(4004.5)));
        assert_eq!(at("p9999")["parts_us"]["service"], 50.0);
        assert_eq!(at("mean")["requests"], 1000);
        assert_eq!(at("mean")["parts_us"]["erase"], 40.045);
        assert_eq!(found["write"], Value::Null);
        let examples = at("p999")["examples"].as_array().unwrap().clone();
        assert_eq!(examples.len(), 3);
        assert!(examples.iter().all(|example| example["parts_us"]["erase"].as_f64().unwrap() >= 4000.0));
        assert_eq!((&examples[0]["offset"], &examples[0]["die"]), (&json!(8192), &json!(3)));
    }

    #[test]
    fn few_requests_of_a_latency_are_joined_by_those_next_to_it() {
        let mut split = SplitLatencies::new(None, false);
        for at in 0..20 {
            let (one, now) = request(
                RequestKind::Write,
                at,
                &[(LatencyPart::Service, 1_000_000 * 105u64.pow(at as u32 % 5) / 100u64.pow(at as u32 % 5))],
            );
            split.add(&one, now);
        }
        assert_eq!(split.to_json()["write"]["p50"]["requests"], 12, "four of each, 5 % apart");
    }

    #[test]
    fn examples_come_from_the_window_and_from_the_whole_of_it() {
        let window = Instant(1_000_000)..Instant(2_000_000);
        let mut split = SplitLatencies::new(Some(window), false);
        for at in 0..3000 {
            let (one, now) = request(RequestKind::Read, at * 1000, &[(LatencyPart::Service, 50_000)]);
            split.add(&one, now);
        }
        let found = split.to_json();
        let arrivals: Vec<f64> = found["read"]["p50"]["examples"]
            .as_array()
            .unwrap()
            .iter()
            .map(|example| example["arrival_s"].as_f64().unwrap() * 1e6)
            .collect();
        assert_eq!(arrivals.len(), 3);
        assert!(arrivals.iter().all(|us| (1000.0..=1950.0).contains(us)), "{arrivals:?}");
        assert!(arrivals.iter().any(|us| *us > 1100.0), "not the first of it: {arrivals:?}");
        // A request of about the same latency outside of it comes behind, also where it is nearer to the percentile.
        let mut split = SplitLatencies::new(Some(Instant(0)..Instant(1_000_000)), false);
        for (at, ns) in [(0, 50_000), (2_000_000, 51_500), (2_000_001, 51_500)] {
            let (one, now) = request(RequestKind::Read, at, &[(LatencyPart::Service, ns)]);
            split.add(&one, now);
        }
        assert_eq!(split.to_json()["read"]["p50"]["examples"][0]["latency_us"], 50.0);
    }

    #[test]
    fn rows_hold_every_request_exactly() {
        let mut split = SplitLatencies::new(None, true);
        let all = [
            request(RequestKind::Read, 5, &[(LatencyPart::Queue, 1), (LatencyPart::Service, 2)]),
            request(RequestKind::Write, 6, &[]),
            request(RequestKind::Write, 7, &[(LatencyPart::Gc, 1 << 40), (LatencyPart::Service, 3)]),
        ];
        all.iter().for_each(|(one, now)| split.add(one, *now));
        let tables = split.tables();
        let rows = &tables[1];
        assert_eq!((rows.name, rows.rows()), ("requests", 3));
        assert_eq!(column(rows, "latency_ns"), [3, 0, (1 << 40) + 3]);
        assert_eq!(column(rows, "queue_ns"), [1, 0, 0]);
        assert_eq!(column(rows, "gc_ns"), [0, 0, 1 << 40]);
        assert_eq!(column(rows, "service_ns"), [2, 0, 3]);
        assert_eq!(column(rows, "arrival_ns"), [5, 6, 7]);
        assert_eq!(column(&tables[0], "requests"), [1, 1, 1]);
    }

    /// A request that waited for a place: most of it for one die that collected, the rest because writes waited for room.
    fn held() -> (Completed, Instant) {
        let waits = [(LatencyPart::Admission, 900), (LatencyPart::Service, 100)];
        let (mut request, now) = request(RequestKind::Read, 5, &waits);
        request.held.places.add(LatencyPart::Gc, 600);
        request.held.places.add(LatencyPart::Buffer, 300);
        request.held.room.add(LatencyPart::Erase, 300);
        (request.held.idle, request.held.dies) =
            (450, [Some((Die::new(3), 100)), Some((Die::new(1), 500)), Some((Die::new(1), 300))]);
        (request, now)
    }

    #[test]
    fn what_was_held_is_divided_by_what_its_holders_waited_for() {
        let mut split = SplitLatencies::new(None, true);
        let (request, now) = held();
        split.add(&request, now);
        split.tell_served(vec![Served::default(), Served { pages: [2, 1], ns: [3000, 4000] }]);
        let found = split.to_json();
        let p50 = &found["read"]["p50"];
        assert_eq!(p50["admission_us"], json!({ "gc": 0.6, "buffer": 0.3 }));
        assert_eq!(p50["buffer_us"], json!({ "erase": 0.3 }));
        assert_eq!(p50["idle_dies"], 0.5);
        let first = json!({ "die": 1, "us": 0.8, "reads": 2, "read_us": 1.5, "programs": 1, "program_us": 4.0 });
        let second = json!({ "die": 3, "us": 0.1, "reads": 0, "read_us": null, "programs": 0, "program_us": null });
        assert_eq!(p50["dies"], json!([first, second]));
        assert_eq!(p50["examples"][0]["admission_us"], json!({ "gc": 0.6, "buffer": 0.3 }));
        let dies = json!({ "count": 2, "reads": 2, "read_us": 1.5, "programs": 1, "program_us": 4.0 });
        assert_eq!(found["dies"], dies);
        let tables = split.tables();
        assert_eq!(column(&tables[1], "admission_gc_ns"), [600]);
        assert_eq!(column(&tables[1], "admission_buffer_ns"), [300]);
        assert_eq!(column(&tables[1], "buffer_erase_ns"), [300]);
        assert_eq!(column(&tables[1], "latency_ns"), [1000]);
        assert_eq!(tables[0].column("admission_gc_us"), Some(&Column::F64(vec![0.6])));
    }

    #[test]
    #[should_panic(expected = "divided without a rest")]
    fn a_wait_that_is_divided_with_a_rest_is_a_fault() {
        let (mut request, now) = held();
        request.held.room = LatencyParts::NONE;
        SplitLatencies::new(None, false).add(&request, now);
    }

    #[test]
    #[should_panic(expected = "parts add up to the latency")]
    fn parts_that_do_not_add_up_are_a_fault() {
        let (one, now) = request(RequestKind::Read, 5, &[(LatencyPart::Queue, 1)]);
        SplitLatencies::new(None, false).add(&one, Instant(now.0 + 1));
    }
}
