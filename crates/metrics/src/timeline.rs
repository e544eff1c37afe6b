//! The work of channels, dies and planes, as a Chrome trace that the Perfetto UI opens.
//!
//! A process per channel; in it a thread for the bus, and for each die one for the die and one for each
//! plane. The file is written as the run goes and is closed whatever way the run ends; then it has its name. Time stamps are
//! simulated microseconds with three decimals, so that nothing below the nanosecond is lost.

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use base::{Cause, Die, Geometry, InStep, Instant};
use files::{Interrupt, Output};
use serde_json::Value;

/// Spans after which a timeline stops to record: about 300 MB of file, and near what a browser can show.
pub const MAX_SPANS: u64 = 2_000_000;

/// The beginning of every timeline.
pub const BEGINNING: &[u8] = b"{\"displayTimeUnit\"";

/// A row of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// A channel's bus.
    Channel(u32),
    /// A die, counted over the device.
    Die(Die),
    /// A plane, counted over the device.
    Plane(u32),
}

/// The outcome of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineEnd {
    /// Spans in the file.
    pub spans: u64,
    /// Spans in the window that came after the limit and were left out.
    pub dropped: u64,
}

/// A timeline being written.
pub struct Timeline {
    out: BufWriter<Output>,
    window: Range<Instant>,
    channels: u32,
    planes_per_die: u32,
    dies_per_channel: u32,
    limit: u64,
    spans: u64,
    dropped: u64,
    /// The first failure to write; reported at the end, since a span has nobody to tell.
    failed: Option<io::Error>,
    closed: bool,
}

impl Timeline {
    /// Creates the file. Only spans that touch `window`, in simulated time, are recorded, and of those the
    /// first [`MAX_SPANS`]. What is in step has one track, with the name of all of it.
    ///
    /// # Errors
    /// If the file cannot be created, or `interrupt` stops that.
    pub fn create(
        path: &Path,
        geometry: &Geometry,
        in_step: InStep,
        window: Range<Instant>,
        interrupt: &Interrupt,
    ) -> io::Result<Timeline> {
        Timeline::with_limit(path, geometry, in_step, window, interrupt, MAX_SPANS)
    }

    /// As [`Timeline::create`], with a limit on the number of spans.
    ///
    /// # Errors
    /// As those of [`Timeline::create`].
    pub fn with_limit(
        path: &Path,
        geometry: &Geometry,
        in_step: InStep,
        window: Range<Instant>,
        interrupt: &Interrupt,
        limit: u64,
    ) -> io::Result<Timeline> {
        let mut timeline = Timeline {
            out: BufWriter::with_capacity(1 << 18, Output::create(path, interrupt)?),
            window,
            channels: geometry.channels,
            planes_per_die: geometry.planes_per_die,
            dies_per_channel: geometry.chips_per_channel * geometry.dies_per_chip,
            limit,
            spans: 0,
            dropped: 0,
            failed: None,
            closed: false,
        };
        let named = timeline.name_tracks(geometry, in_step);
        timeline.note(named);
        Ok(timeline)
    }

    /// The simulated time that it shows.
    pub fn window(&self) -> Range<Instant> {
        self.window.clone()
    }

    /// True if a span from `from` to `to` would be recorded, for callers that prepare arguments.
    #[inline]
    pub fn wants(&self, from: Instant, to: Instant) -> bool {
        from < self.window.end && to > self.window.start
    }

    /// Records an activity of a track from `from` to `to`. `args` are numbers to show with it (`lpn`, `ppn`, `pages`).
    pub fn span(
        &mut self,
        track: Track,
        name: &'static str,
        cause: Cause,
        from: Instant,
        to: Instant,
        args: &[(&'static str, u64)],
    ) {
        if !self.wants(from, to) || self.failed.is_some() {
            return;
        }
        if self.spans >= self.limit {
            self.dropped += 1;
            if self.dropped == 1 {
                let result = self.write_full_mark(from);
                self.note(result);
            }
            return;
        }
        self.spans += 1;
        let result = self.write_span(track, name, cause, from, to, args);
        self.note(result);
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The first failure to write, whenever it was.
    pub fn finish(mut self) -> io::Result<TimelineEnd> {
        self.close()?;
        Ok(TimelineEnd { spans: self.spans, dropped: self.dropped })
    }

    fn close(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        self.closed = true;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let (spans, dropped) = (self.spans, self.dropped);
        write!(self.out, "\n],\"otherData\":{{\"time\":\"simulated\",\"spans\":{spans},\"dropped\":{dropped}}}}}\n")?;
        self.out.flush()?;
        self.out.get_mut().finish()
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    /// Process of a channel. From 1, since 0 is the idle process to some viewers.
    fn pid(&self, channel: u32) -> u32 {
        channel + 1
    }

    /// Process and thread of a track. Thread numbers are unique over the file and differ from those of
    /// processes, because viewers take a thread of its process's number for the main thread.
    fn place(&self, track: Track) -> (u32, u32) {
        let (channel, thread) = match track {
            Track::Channel(channel) => (channel, channel),
            Track::Die(die) => {
                (die.number() / self.dies_per_channel, self.channels + die.number() * (self.planes_per_die + 1))
            }
            Track::Plane(plane) => {
                let die = plane / self.planes_per_die;
                let row = 1 + plane % self.planes_per_die;
                (die / self.dies_per_channel, self.channels + die * (self.planes_per_die + 1) + row)
            }
        };
        (self.pid(channel), self.channels + 1 + thread)
    }

    fn name_tracks(&mut self, g: &Geometry, in_step: InStep) -> io::Result<()> {
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        for channel in 0..g.channels {
            let pid = self.pid(channel);
            let comma = if channel > 0 { "," } else { "" };
            let name = in_words("channel", channel, in_step.channels);
            write!(
                self.out,
                "{comma}\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":\"{name}\"}}}},\
                 \n{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{pid},\"args\":{{\"sort_index\":{channel}}}}}"
            )?;
            self.name_thread(Track::Channel(channel), "bus")?;
        }
        for die in 0..g.dies() {
            let chip = die / g.dies_per_chip % g.chips_per_channel;
            let name = format!("chip {chip} die {}", die % g.dies_per_chip);
            self.name_thread(Track::Die(Die::new(die)), &name)?;
            for plane in 0..g.planes_per_die {
                let name = format!("{name} {}", in_words("plane", plane, in_step.planes));
                self.name_thread(Track::Plane(die * g.planes_per_die + plane), &name)?;
            }
        }
        Ok(())
    }

    fn name_thread(&mut self, track: Track, name: &str) -> io::Result<()> {
        let (pid, tid) = self.place(track);
        write!(
            self.out,
            ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":\"{name}\"}}}},\
             \n{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"sort_index\":{tid}}}}}"
        )
    }

    fn write_span(
        &mut self,
        track: Track,
        name: &'static str,
        cause: Cause,
        from: Instant,
        to: Instant,
        args: &[(&'static str, u64)],
    ) -> io::Result<()> {
        let (pid, tid) = self.place(track);
        let (ts, dur) = (Us(from.0), Us(to.0.saturating_sub(from.0)));
        let category = cause.name();
        let colour = colour(name, cause);
        // Perfetto gives each name a colour of its own, so work of other causes gets a name of its own.
        let prefix = if cause == Cause::Host { "" } else { category };
        let space = if cause == Cause::Host { "" } else { " " };
        write!(
            self.out,
            ",\n{{\"ph\":\"X\",\"name\":\"{prefix}{space}{name}\",\"cat\":\"{category}\",\"cname\":\"{colour}\",\
             \"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"dur\":{dur},\"args\":{{"
        )?;
        for (i, (key, value)) in args.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(self.out, "{comma}\"{key}\":{value}")?;
        }
        write!(self.out, "}}}}")
    }

    /// Says in the picture itself where it ends.
    fn write_full_mark(&mut self, at: Instant) -> io::Result<()> {
        let (ts, limit) = (Us(at.0), self.limit);
        let pid = self.pid(0);
        write!(
            self.out,
            ",\n{{\"ph\":\"i\",\"s\":\"g\",\"name\":\"timeline full: {limit} spans\",\"pid\":{pid},\"tid\":{pid},\"ts\":{ts}}}"
        )
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // A run that was cut short, or stopped, has nobody left to report a failed write to.
        self.out.get_mut().go_on_regardless();
        let _ = self.close();
    }
}

/// Checks a timeline's text: it is JSON, and no two spans of a track overlap. Returns the number of spans.
///
/// # Errors
/// The fault, with the track and the times in nanoseconds.
pub fn check(text: &str) -> Result<u64, String> {
    let trace: Value = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    let events = trace["traceEvents"].as_array().ok_or("no array `traceEvents`")?;
    let mut spans = Vec::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let number = |key: &str| event[key].as_f64().ok_or_else(|| format!("span without number `{key}`: {event}"));
        let ns = |key: &str| number(key).map(|us| (us * 1e3).round() as u64);
        let start = ns("ts")?;
        spans.push((number("pid")? as u64, number("tid")? as u64, start, start + ns("dur")?));
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        let [(pid, tid, start, end), (next_pid, next_tid, next_start, next_end)] = [pair[0], pair[1]];
        if (pid, tid) == (next_pid, next_tid) && next_start < end {
            return Err(format!("track {pid}/{tid}: {start}..{end} overlaps {next_start}..{next_end}"));
        }
    }
    Ok(spans.len() as u64)
}

/// A part by its number, or as many of them as are in step.
fn in_words(part: &str, number: u32, in_step: u32) -> String {
    match in_step {
        1 => format!("{part} {number}"),
        _ => format!("{part}s {} to {} in step", number * in_step, (number + 1) * in_step - 1),
    }
}

/// Nanoseconds, shown as microseconds with three decimals.
struct Us(u64);

impl std::fmt::Display for Us {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A colour by name, for viewers that know the names of the Chrome trace viewer.
fn colour(name: &str, cause: Cause) -> &'static str {
    match (name, cause) {
        ("erase", _) => "terrible",
        (_, Cause::Host | Cause::Rmw | Cause::Pad) => "good",
        (_, Cause::Gc) => "bad",
        _ => "grey",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Dimensions;
    use serde_json::json;
    use std::path::PathBuf;

    /// A file name of this test's own, removed at the end.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(test: &str) -> Temporary {
            Temporary(std::env::temp_dir().join(format!("ftlab-timeline-{test}-{}.json", std::process::id())))
        }

        fn text(&self) -> String {
            std::fs::read_to_string(&self.0).unwrap()
        }

        fn json(&self) -> Value {
            serde_json::from_str(&self.text()).unwrap()
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    /// 2 channels, 2 chips each, 1 die, 2 planes.
    fn geometry() -> Geometry {
        Geometry::new(Dimensions {
            channels: 2,
            chips_per_channel: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 4,
            ..Dimensions::ONE_PAGE
        })
    }

    fn never() -> Interrupt {
        Interrupt::default()
    }

    const ALWAYS: Range<Instant> = Instant::ZERO..Instant::NEVER;

    fn of_phase<'a>(trace: &'a Value, phase: &str) -> Vec<&'a Value> {
        trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == phase).collect()
    }

    #[test]
    fn what_is_in_step_has_one_track_with_the_name_of_all() {
        let names = |geometry: &Geometry, in_step| {
            let file = Temporary::new("step");
            Timeline::create(&file.0, geometry, in_step, ALWAYS, &never()).unwrap().finish().unwrap();
            let trace = file.json();
            let names = of_phase(&trace, "M").into_iter().filter_map(|meta| meta["args"]["name"].as_str());
            names.map(str::to_string).collect::<Vec<String>>()
        };
        let both = names(
            &Geometry::new(Dimensions {
                dies_per_chip: 2,
                blocks_per_plane: 4,
                pages_per_block: 4,
                page_size: 32768,
                ..Dimensions::ONE_PAGE
            }),
            InStep { channels: 4, planes: 2 },
        );
        let (die, planes) = ("chip 0 die", "planes 0 to 1 in step");
        let dies = [0, 1].map(|n| [format!("{die} {n}"), format!("{die} {n} {planes}")]);
        assert_eq!(both[..2], ["channels 0 to 3 in step", "bus"]);
        assert_eq!(both[2..], dies.concat());
        let channels = names(
            &Geometry::new(Dimensions {
                planes_per_die: 2,
                blocks_per_plane: 4,
                pages_per_block: 4,
                page_size: 8192,
                ..Dimensions::ONE_PAGE
            }),
            InStep { channels: 2, planes: 1 },
        );
        assert_eq!(channels[0], "channels 0 to 1 in step");
        assert_eq!(channels[3..], ["chip 0 die 0 plane 0", "chip 0 die 0 plane 1"]);
    }

    #[test]
    fn spans_land_on_named_tracks_with_exact_times() {
        let file = Temporary::new("spans");
        let mut timeline = Timeline::create(&file.0, &geometry(), InStep::NONE, ALWAYS, &never()).unwrap();
        let args = [("ppn", 7), ("pages", 1)];
        timeline.span(Track::Plane(5), "program", Cause::Gc, Instant(1_234_567), Instant(2_000_000), &args);
        timeline.span(Track::Channel(1), "data in", Cause::Host, Instant(5), Instant(30), &[]);
        assert_eq!(timeline.finish().unwrap(), TimelineEnd { spans: 2, dropped: 0 });

        let trace = file.json();
        let spans = of_phase(&trace, "X");
        assert_eq!(spans[0]["name"], "gc program");
        assert_eq!(spans[0]["cat"], "gc");
        assert_eq!(spans[0]["cname"], "bad");
        assert_eq!((&spans[0]["ts"], &spans[0]["dur"]), (&json!(1234.567), &json!(765.433)));
        assert_eq!(spans[0]["args"], json!({"ppn": 7, "pages": 1}));
        assert_eq!(spans[1]["name"], "data in");
        assert_eq!((&spans[1]["ts"], &spans[1]["dur"]), (&json!(0.005), &json!(0.025)));

        let name_of = |span: &Value, key: &str, ids: &[&str]| {
            let mut named = of_phase(&trace, "M")
                .into_iter()
                .filter(|meta| meta["name"] == key && ids.iter().all(|id| meta[*id] == span[*id]));
            let name = named.next().unwrap()["args"]["name"].clone();
            assert!(named.next().is_none(), "one name each");
            name
        };
        // Plane 5 is plane 1 of die 2, which is the first chip of channel 1.
        assert_eq!(name_of(spans[0], "process_name", &["pid"]), "channel 1");
        assert_eq!(name_of(spans[0], "thread_name", &["pid", "tid"]), "chip 0 die 0 plane 1");
        assert_eq!(name_of(spans[1], "thread_name", &["pid", "tid"]), "bus");
    }

    #[test]
    fn every_track_has_a_thread_of_its_own() {
        let file = Temporary::new("tracks");
        let g = geometry();
        let mut timeline = Timeline::create(&file.0, &g, InStep::NONE, ALWAYS, &never()).unwrap();
        let tracks = (0..g.channels)
            .map(Track::Channel)
            .chain(g.all_dies().map(Track::Die))
            .chain((0..g.planes()).map(Track::Plane));
        let mut expected = 0;
        for track in tracks {
            timeline.span(track, "read", Cause::Host, Instant(0), Instant(10), &[]);
            expected += 1;
        }
        timeline.finish().unwrap();
        assert_eq!(check(&file.text()), Ok(expected), "they would overlap on a shared track");
        let trace = file.json();
        let threads = of_phase(&trace, "M").iter().filter(|meta| meta["name"] == "thread_name").count();
        assert_eq!(threads as u64, expected);
        let spans = of_phase(&trace, "X");
        let main_threads = spans.iter().any(|span| spans.iter().any(|other| span["tid"] == other["pid"]));
        assert!(!main_threads, "a viewer would take such a track for a process's main thread");
    }

    #[test]
    fn a_cut_run_leaves_valid_json() {
        let file = Temporary::new("cut");
        let mut timeline = Timeline::create(&file.0, &geometry(), InStep::NONE, ALWAYS, &never()).unwrap();
        timeline.span(Track::Die(Die::new(0)), "erase", Cause::Gc, Instant(0), Instant(10), &[]);
        drop(timeline);
        assert_eq!(check(&file.text()), Ok(1));
        assert_eq!(file.json()["otherData"]["spans"], 1);
    }

    #[test]
    fn a_full_timeline_says_so() {
        let file = Temporary::new("full");
        let mut timeline = Timeline::with_limit(&file.0, &geometry(), InStep::NONE, ALWAYS, &never(), 3).unwrap();
        for i in 0..5 {
            timeline.span(Track::Die(Die::new(0)), "read", Cause::Host, Instant(10 * i), Instant(10 * i + 10), &[]);
        }
        assert_eq!(timeline.finish().unwrap(), TimelineEnd { spans: 3, dropped: 2 });
        let trace = file.json();
        assert_eq!(check(&file.text()), Ok(3));
        assert_eq!(trace["otherData"], json!({"time": "simulated", "spans": 3, "dropped": 2}));
        let marks = of_phase(&trace, "i");
        assert_eq!(marks.len(), 1);
        assert_eq!((&marks[0]["name"], &marks[0]["ts"]), (&json!("timeline full: 3 spans"), &json!(0.030)));
    }

    #[test]
    fn only_the_window_is_recorded() {
        let file = Temporary::new("window");
        let window = Instant(100)..Instant(200);
        let mut timeline = Timeline::create(&file.0, &geometry(), InStep::NONE, window, &never()).unwrap();
        for (from, to) in [(50, 100), (90, 101), (150, 160), (199, 300), (200, 210)] {
            timeline.span(Track::Die(Die::new(0)), "read", Cause::Host, Instant(from), Instant(to), &[]);
        }
        assert_eq!(timeline.finish().unwrap().spans, 3, "those that touch 100..200");
    }

    #[test]
    fn the_check_finds_overlaps() {
        let file = Temporary::new("overlap");
        let mut timeline = Timeline::create(&file.0, &geometry(), InStep::NONE, ALWAYS, &never()).unwrap();
        timeline.span(Track::Die(Die::new(1)), "read", Cause::Host, Instant(20), Instant(30), &[]);
        timeline.span(Track::Die(Die::new(1)), "read", Cause::Host, Instant(10), Instant(21), &[]);
        timeline.finish().unwrap();
        let error = check(&file.text()).unwrap_err();
        assert!(error.ends_with("10..21 overlaps 20..30"), "{error}");
        assert!(check("[").unwrap_err().starts_with("not JSON"));
    }

    #[test]
    fn a_file_that_cannot_be_created_is_an_error() {
        let path = Path::new("no-such-directory").join("timeline.json");
        assert!(Timeline::create(&path, &geometry(), InStep::NONE, ALWAYS, &never()).is_err());
    }
}
