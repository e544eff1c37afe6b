//! The text of a job: words of fio with their values, `rw=randrw bs=4k/60:64k/40 size=1g`.

use super::map::Map;

pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;
pub(super) const TRIM: usize = 2;

/// A job that cannot be carried out.
#[derive(Debug)]
pub(crate) struct JobProblem {
    pub what: String,
    pub expected: String,
}

/// Kinds of requests that a job sends.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    pub reads: bool,
    pub writes: bool,
    pub trims: bool,
}

impl Kinds {
    /// The kind of a job with one; of one that mixes, reads; of one that trims and writes, writes.
    pub fn first(self) -> usize {
        match self {
            Kinds { reads: true, .. } => READ,
            Kinds { writes: true, .. } => WRITE,
            _ => TRIM,
        }
    }

    fn has(self, kind: usize) -> bool {
        [self.reads, self.writes, self.trims][kind]
    }
}

/// Bytes of requests.
#[derive(Clone)]
pub(super) enum Sizes {
    One(u64),
    /// From the first to the second, in steps of the first.
    Range(u64, u64),
    /// Bytes, and per cent of the requests.
    Split(Vec<(u64, u64)>),
}

impl Sizes {
    /// The least and the most.
    pub fn bounds(&self) -> (u64, u64) {
        match self {
            Sizes::One(bytes) => (*bytes, *bytes),
            Sizes::Range(least, most) => (*least, *most),
            Sizes::Split(parts) => {
                let bytes = || parts.iter().map(|(bytes, _)| *bytes);
                (bytes().min().unwrap_or(0), bytes().max().unwrap_or(0))
            }
        }
    }
}

/// Where requests of a run go but the first.
#[derive(Clone, Copy)]
pub(super) enum Order {
    /// Behind the one before.
    Sequential,
    /// To the place of the one before.
    Identical,
}

/// How fast requests of a kind may be sent.
#[derive(Clone, Copy)]
pub(super) enum Pace {
    None,
    /// Bytes a second.
    Bytes(u64),
    /// Requests a second.
    Requests(u64),
}

/// Part of a range: draws of 1 to 100 up to `until` go to its bytes.
#[derive(Clone)]
pub(super) struct Zone {
    pub until: u64,
    pub first: u64,
    pub end: u64,
}

/// Whose turn it is among the files of a job.
#[derive(Clone, Copy)]
pub(super) enum Service {
    /// One after the other, so many requests each.
    RoundRobin(u64),
    /// The next one when one is done.
    Sequential,
    Random,
}

/// Popularity that follows a law.
#[derive(Clone, Copy)]
pub(crate) enum Law {
    Zipf(f64),
    Pareto(f64),
}

/// A job that was read.
pub(crate) struct Spec {
    pub(super) kinds: Kinds,
    pub(super) is_random: bool,
    /// It trims, and writes the same place.
    pub(super) is_pair: bool,
    pub(super) capacity: u64,
    pub(super) offset: u64,
    /// Equal parts of its addresses, one behind the other, each with an order of its own.
    pub(super) files: u64,
    pub(super) service: Service,
    /// Bytes of the addresses of a file; the first begins at the offset.
    pub(super) range: u64,
    /// Bytes of a pass.
    pub(super) size: u64,
    pub(super) io_size: Option<u64>,
    pub(super) number: Option<u64>,
    pub(super) loops: u64,
    pub(super) time_based: bool,
    pub(super) repeats: bool,
    pub(super) sizes: [Sizes; 3],
    pub(super) align: [u64; 3],
    pub(super) percent_random: [u64; 3],
    /// Per cent of reads.
    pub(super) mix: u64,
    /// Requests from one random place on.
    pub(super) run: u64,
    pub(super) skip: i64,
    pub(super) order: Order,
    pub(super) has_map: bool,
    pub(super) distribution: Option<Law>,
    pub(super) zones: [Option<Vec<Zone>>; 3],
    pub(super) flush_every: [u64; 2],
    pub(super) flushes_at_the_end: bool,
    pub(super) writes_through: bool,
    pub(super) paces: [Pace; 3],
    pub(super) is_poisson: bool,
    pub(super) reads_back: bool,
    pub(super) backlog: Option<u64>,
    pub(super) backlog_batch: u64,
    pub(super) by_order: bool,
    pub(super) is_unaligned: bool,
    /// Its passes go on to the end of the addresses, or of the job: fio counts their bytes where requests are queued alone.
    pub(super) is_sync: bool,
}

type Outcome<T> = Result<T, JobProblem>;

/// No request is larger.
const LARGEST: u64 = (1 << 32) - 1;

/// The words that are known, and what stands behind them.
const WORDS: &[&str] = &[
    "rw",
    "bs",
    "ba",
    "size",
    "range",
    "offset",
    "io_size",
    "number_ios",
    "loops",
    "time_based",
    "randrepeat",
    "norandommap",
    "percentage_random",
    "rwmixread",
    "rw_sequencer",
    "random_distribution",
    "fsync",
    "fdatasync",
    "end_fsync",
    "sync",
    "rate",
    "rate_iops",
    "rate_process",
    "ioengine",
    "verify",
    "verify_backlog",
    "verify_backlog_batch",
    "bs_is_seq_rand",
    "bs_unaligned",
    "files",
    "file_service",
];

/// Files of a job at most.
const FILES_MAX: u64 = 4096;

fn problem<T>(what: String, expected: &str) -> Outcome<T> {
    Err(JobProblem { what, expected: expected.into() })
}

/// The values of a text, by word.
struct Words<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Words<'a> {
    fn read(text: &'a str) -> Outcome<Words<'a>> {
        let mut found: Vec<(&str, &str)> = Vec::new();
        for part in text.split_whitespace() {
            let Some((word, value)) = part.split_once('=') else {
                return problem(format!("`{part}` has no value"), "`WORD=VALUE`");
            };
            if !WORDS.contains(&word) {
                return problem(format!("there is no word `{word}`"), &format!("one of {}", WORDS.join(", ")));
            }
            if found.iter().any(|(other, _)| *other == word) {
                return problem(format!("`{word}` is there twice"), "each word once");
            }
            found.push((word, value));
        }
        Ok(Words(found))
    }

    fn get(&self, word: &str) -> Option<&'a str> {
        self.0.iter().find(|(other, _)| *other == word).map(|(_, value)| *value)
    }

    fn number(&self, word: &str, least: u64, most: u64) -> Outcome<Option<u64>> {
        let Some(value) = self.get(word) else { return Ok(None) };
        match bytes(value) {
            Some(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => problem(format!("`{word}` cannot be `{value}`"), &format!("a whole number from {least} to {most}")),
        }
    }

    fn flag(&self, word: &str) -> Outcome<bool> {
        Ok(self.number(word, 0, 1)? == Some(1))
    }

    /// A value for each kind of request, or one for all.
    fn by_kind<T: Clone>(&self, word: &str, default: T, read: impl Fn(&str) -> Outcome<T>) -> Outcome<[T; 3]> {
        let Some(value) = self.get(word) else { return Ok([default.clone(), default.clone(), default]) };
        let parts: Vec<T> = value.split(',').map(read).collect::<Outcome<_>>()?;
        match &parts[..] {
            [one] => Ok([one.clone(), one.clone(), one.clone()]),
            [reads, writes, trims] => Ok([reads.clone(), writes.clone(), trims.clone()]),
            _ => problem(format!("`{word}` cannot be `{value}`"), "one value, or those of reads, writes and trims"),
        }
    }
}

/// A whole number, with `k`, `m`, `g` or `t` behind it for powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['k', 'm', 'g', 't']);
    let power = match &text[digits.len()..] {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(1 << power)
}

fn size(text: &str) -> Outcome<u64> {
    match bytes(text) {
        Some(size) if (1..=LARGEST).contains(&size) => Ok(size),
        _ => problem(format!("a request cannot have `{text}` bytes"), "1 byte or more, less than 4g"),
    }
}

fn sizes(text: &str) -> Outcome<Sizes> {
    if let Some((least, most)) = text.split_once('-') {
        let (least, most) = (size(least)?, size(most)?);
        if least > most {
            return problem(format!("`{text}` is no range of sizes"), "`LEAST-MOST`");
        }
        return Ok(Sizes::Range(least, most));
    }
    if !text.contains('/') {
        return Ok(Sizes::One(size(text)?));
    }
    let mut parts = Vec::new();
    for part in text.split(':') {
        let (bytes, percent) = part.split_once('/').unwrap_or((part, ""));
        match percent.parse() {
            Ok(percent) if percent <= 100 => parts.push((size(bytes)?, percent)),
            _ => return problem(format!("`{part}` is no share of the requests"), "`BYTES/PERCENT`"),
        }
    }
    if parts.iter().map(|(_, percent)| percent).sum::<u64>() != 100 {
        return problem(format!("the shares of `{text}` are not 100 %"), "`BYTES/PERCENT:BYTES/PERCENT`, 100 in all");
    }
    Ok(Sizes::Split(parts))
}

/// `PERCENT/FIRST-END`, one behind the other.
fn zones(text: &str) -> Outcome<Option<Vec<Zone>>> {
    let mut until = 0;
    let mut found = Vec::new();
    for part in text.split(':') {
        let zone = part.split_once('/').and_then(|(percent, place)| {
            let (first, end) = place.split_once('-')?;
            Some((percent.parse::<u64>().ok().filter(|percent| *percent <= 100)?, bytes(first)?, bytes(end)?))
        });
        let Some((percent, first, end)) = zone.filter(|(_, first, end)| first <= end) else {
            return problem(format!("`{part}` is no zone"), "`PERCENT/FIRST-END`");
        };
        until += percent;
        found.push(Zone { until, first, end });
    }
    if until != 100 {
        return problem(format!("the zones of `{text}` have {until} % of the requests"), "100 in all");
    }
    Ok(Some(found))
}

impl Spec {
    pub(crate) fn read(text: &str, capacity: u64) -> Outcome<Spec> {
        let words = Words::read(text)?;
        let rw = words.get("rw").unwrap_or("read");
        let (name, behind) = rw.split_once(':').map_or((rw, None), |(name, behind)| (name, Some(behind)));
        let kinds = |reads, writes, trims| Kinds { reads, writes, trims };
        let (kinds, is_random) = match name {
            "read" => (kinds(true, false, false), false),
            "write" => (kinds(false, true, false), false),
            "trim" => (kinds(false, false, true), false),
            "rw" => (kinds(true, true, false), false),
            "trimwrite" => (kinds(false, true, true), false),
            "randread" => (kinds(true, false, false), true),
            "randwrite" => (kinds(false, true, false), true),
            "randtrim" => (kinds(false, false, true), true),
            "randrw" => (kinds(true, true, false), true),
            "randtrimwrite" => (kinds(false, true, true), true),
            _ => return problem(format!("`rw` cannot be `{rw}`"), "such as `read`, `randrw` or `trimwrite`"),
        };
        let (mut run, mut skip) = (1, 0);
        if let Some(behind) = behind {
            let (sign, digits) = behind.strip_prefix('-').map_or((1, behind), |digits| (-1, digits));
            let number = bytes(digits).and_then(|number| i64::try_from(number).ok());
            match number {
                Some(number) if is_random && sign > 0 && number > 0 => run = number as u64,
                Some(number) if !is_random => skip = sign * number,
                _ => return problem(format!("`rw` cannot be `{rw}`"), "requests of a run, or bytes to leave out"),
            }
        }
        let by_kind = words.by_kind("bs", Sizes::One(4096), sizes)?;
        let least = [0, 1, 2].map(|kind| by_kind[kind].bounds().0);
        let align = match words.get("ba") {
            Some(_) if is_random => words.by_kind("ba", 0, size)?,
            _ => least,
        };
        let whole = |word| words.number(word, 0, u64::MAX);
        let offset = whole("offset")?.unwrap_or(0);
        let Some(room) = capacity.checked_sub(offset).filter(|room| *room > 0) else {
            return problem(format!("`offset` is {offset}"), &format!("less than the {capacity} bytes of the device"));
        };
        let size = whole("size")?.unwrap_or(room);
        let files = words.number("files", 1, FILES_MAX)?.unwrap_or(1);
        let range = whole("range")?.unwrap_or(size).min(room);
        let smallest = [READ, WRITE, TRIM].into_iter().filter(|kind| kinds.has(*kind)).map(|kind| least[kind]).min();
        let part = range / files;
        let range = if files > 1 { part - part % smallest.unwrap_or(1) } else { range };
        let largest = [READ, WRITE, TRIM].into_iter().filter(|kind| kinds.has(*kind)).map(|kind| least[kind]).max();
        let largest = largest.unwrap_or(0);
        if range < largest || size < largest {
            return problem(format!("{} bytes hold no request of {largest}", range.min(size)), "a larger `size`");
        }
        let time_based = words.flag("time_based")?;
        let percent = |text: &str| match text.parse() {
            Ok(percent) if percent <= 100 => Ok(percent),
            _ => problem(format!("`percentage_random` cannot be `{text}`"), "0 to 100"),
        };
        let zones_of = |text: &str| if text == "random" { Ok(None) } else { zones(text) };
        let (distribution, zones) = match words.get("random_distribution").and_then(|text| text.split_once(':')) {
            Some(("zoned", _)) => {
                let text = words.get("random_distribution").unwrap_or("").trim_start_matches("zoned:");
                let parts = Words(vec![("zones", text)]);
                (None, parts.by_kind("zones", None, zones_of)?)
            }
            Some((law @ ("zipf" | "pareto"), number)) => {
                let most = if law == "zipf" { 4.0 } else { 0.999 };
                match number.parse::<f64>() {
                    Ok(number) if number > 0.0 && number <= most => {
                        (Some(if law == "zipf" { Law::Zipf(number) } else { Law::Pareto(number) }), [None, None, None])
                    }
                    _ => return problem(format!("`{law}` cannot have `{number}`"), &format!("above 0, up to {most}")),
                }
            }
            Some((other, _)) => {
                return problem(format!("there is no distribution `{other}`"), "`zipf:`, `pareto:` or `zoned:`");
            }
            None => (None, [None, None, None]),
        };
        let has_zones = zones.iter().any(Option::is_some);
        let aligned = [READ, WRITE, TRIM].into_iter().all(|kind| !kinds.has(kind) || align[kind] == least[kind]);
        let has_map = is_random && aligned && distribution.is_none() && !has_zones && !words.flag("norandommap")?;
        let rate = |word| {
            words.by_kind(word, 0, |text| match bytes(text) {
                Some(rate) => Ok(rate),
                None => problem(format!("`{word}` cannot be `{text}`"), "a whole number"),
            })
        };
        let (of_bytes, of_requests) = (rate("rate")?, rate("rate_iops")?);
        let pace = |kind: usize| match (of_bytes[kind], of_requests[kind]) {
            (0, 0) => Pace::None,
            (0, requests) => Pace::Requests(requests),
            (bytes, _) => Pace::Bytes(bytes),
        };
        let order = match words.get("rw_sequencer") {
            None | Some("sequential") => Order::Sequential,
            Some("identical") => Order::Identical,
            Some(other) => {
                return problem(format!("`rw_sequencer` cannot be `{other}`"), "`sequential` or `identical`");
            }
        };
        let service = match words.get("file_service").unwrap_or("roundrobin:1").split_once(':') {
            Some(("roundrobin", turn)) if bytes(turn).is_some_and(|turn| turn > 0) => {
                Service::RoundRobin(bytes(turn).unwrap_or(1))
            }
            None if words.get("file_service") == Some("sequential") => Service::Sequential,
            None if words.get("file_service") == Some("random") => Service::Random,
            _ => {
                return problem(
                    format!("`file_service` cannot be `{}`", words.get("file_service").unwrap_or("")),
                    "`roundrobin:N`, `sequential` or `random`",
                );
            }
        };
        let backlog = words.number("verify_backlog", 1, u64::MAX)?;
        let spec = Spec {
            kinds,
            is_random,
            is_pair: kinds.trims && kinds.writes,
            capacity,
            offset,
            files,
            service,
            range,
            size,
            io_size: words.number("io_size", 1, u64::MAX)?,
            number: words.number("number_ios", 1, u64::MAX)?,
            loops: words.number("loops", 1, u64::MAX)?.unwrap_or(1),
            time_based,
            repeats: words.number("randrepeat", 0, 1)? != Some(0),
            sizes: by_kind,
            align,
            percent_random: words.by_kind("percentage_random", 100, percent)?,
            mix: words.number("rwmixread", 0, 100)?.unwrap_or(50),
            run,
            skip,
            order,
            has_map,
            distribution: distribution.filter(|_| is_random),
            zones: if is_random { zones } else { [None, None, None] },
            flush_every: [whole("fsync")?.unwrap_or(0), whole("fdatasync")?.unwrap_or(0)],
            flushes_at_the_end: words.flag("end_fsync")?,
            writes_through: words.flag("sync")?,
            paces: [pace(READ), pace(WRITE), pace(TRIM)],
            is_poisson: words.get("rate_process") == Some("poisson"),
            reads_back: words.flag("verify")? && kinds.writes,
            backlog,
            backlog_batch: words.number("verify_backlog_batch", 1, u64::MAX)?.or(backlog).unwrap_or(u64::MAX),
            by_order: words.flag("bs_is_seq_rand")?,
            is_unaligned: words.flag("bs_unaligned")?,
            is_sync: match words.get("ioengine") {
                None | Some("libaio") => false,
                Some("psync") => true,
                Some(other) => return problem(format!("`ioengine` cannot be `{other}`"), "`psync` or `libaio`"),
            },
        };
        if spec.has_map && spec.range / spec.unit() > Map::MOST {
            return problem(
                format!(
                    "{} blocks of {} bytes are too many to be asked for once each",
                    spec.range / spec.unit(),
                    spec.unit()
                ),
                "`norandommap=1`",
            );
        }
        Ok(spec)
    }

    /// Bytes of its addresses, from the offset on, that a request may touch.
    pub(super) fn reach(&self) -> u64 {
        let kinds = [READ, WRITE, TRIM].into_iter().filter(|kind| self.kinds.has(*kind));
        // Sizes of which one is drawn stay in the range.
        let is_inside = |kind: usize| match self.sizes[kind] {
            Sizes::One(bytes) => self.range.is_multiple_of(bytes) && self.align[kind].is_multiple_of(bytes),
            _ => true,
        };
        let inside = self.files * self.range;
        match self.skip == 0 && !self.by_order && kinds.into_iter().all(is_inside) {
            true => inside,
            false => inside.saturating_add(self.largest()).min(self.capacity - self.offset),
        }
    }

    /// Bytes of a block of the map: the least that a request has.
    pub(super) fn unit(&self) -> u64 {
        let kinds = [READ, WRITE, TRIM].into_iter().filter(|kind| self.kinds.has(*kind));
        kinds.map(|kind| self.sizes[kind].bounds().0).min().unwrap_or(1)
    }

    /// Bytes of the largest request.
    pub(super) fn largest(&self) -> u64 {
        let kinds = [READ, WRITE, TRIM].into_iter().filter(|kind| self.kinds.has(*kind));
        kinds.map(|kind| self.sizes[kind].bounds().1).max().unwrap_or(1)
    }

    /// Places in the range at which a request of the kind may begin.
    pub(super) fn blocks(&self, align: u64, kind: usize) -> u64 {
        let least = self.sizes[kind].bounds().0;
        self.range.saturating_sub(least.saturating_sub(align)) / align
    }

    /// Bytes that end the job, of each loop.
    pub(super) fn limit(&self) -> u64 {
        self.io_size.unwrap_or(self.size)
    }

    /// Bytes that end a pass.
    pub(super) fn bytes_of_pass(&self) -> u64 {
        let goes_on = self.kinds.writes && (!self.is_random || !self.has_map);
        let bytes = if goes_on { self.size.max(self.io_size.unwrap_or(0)) } else { self.size };
        if self.is_pair { bytes.saturating_add(self.limit().saturating_mul(self.loops)) } else { bytes }
    }

    pub(super) fn is_paced(&self) -> bool {
        self.paces.iter().any(|pace| !matches!(pace, Pace::None))
    }
}
