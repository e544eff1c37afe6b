//! What channels, dies and planes did, as a Chrome trace that the Perfetto UI opens.
//!
//! A process per channel; in it a thread for the bus, and for each die one for the die and one for each
//! plane. The file is written as the run goes and is closed whatever way the run ends. Time stamps are
//! simulated microseconds with three decimals, so that nothing below the nanosecond is lost.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use base::{Cause, Geometry, Instant};

/// Spans after which a timeline stops to record: about 300 MB of file, and near what a browser can show.
pub const MAX_SPANS: u64 = 2_000_000;

/// A row of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// A channel's bus.
    Channel(u32),
    /// A die, counted over the device.
    Die(u32),
    /// A plane, counted over the device.
    Plane(u32),
}

/// What became of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineEnd {
    /// Spans in the file.
    pub spans: u64,
    /// Spans in the window that came after the limit and were left out.
    pub dropped: u64,
}

/// A timeline being written.
pub struct Timeline {
    out: BufWriter<File>,
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
    /// first [`MAX_SPANS`].
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn create(path: &Path, geometry: &Geometry, window: Range<Instant>) -> io::Result<Timeline> {
        Timeline::with_limit(path, geometry, window, MAX_SPANS)
    }

    /// As [`Timeline::create`], with a limit on the number of spans.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn with_limit(path: &Path, geometry: &Geometry, window: Range<Instant>, limit: u64) -> io::Result<Timeline> {
        let mut timeline = Timeline {
            out: BufWriter::with_capacity(1 << 18, File::create(path)?),
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
        timeline.name_tracks(geometry)?;
        Ok(timeline)
    }

    /// Whether a span from `from` to `to` would be recorded, for callers that prepare arguments.
    #[inline]
    pub fn wants(&self, from: Instant, to: Instant) -> bool {
        from < self.window.end && to > self.window.start
    }

    /// Something that a track did from `from` to `to`. `args` are numbers to show with it (`lpn`, `ppn`, `pages`).
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
        self.out.flush()
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
            Track::Die(die) => (die / self.dies_per_channel, self.channels + die * (self.planes_per_die + 1)),
            Track::Plane(plane) => {
                let die = plane / self.planes_per_die;
                let row = 1 + plane % self.planes_per_die;
                (die / self.dies_per_channel, self.channels + die * (self.planes_per_die + 1) + row)
            }
        };
        (self.pid(channel), self.channels + 1 + thread)
    }

    fn name_tracks(&mut self, g: &Geometry) -> io::Result<()> {
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        for channel in 0..g.channels {
            let pid = self.pid(channel);
            let comma = if channel > 0 { "," } else { "" };
            write!(
                self.out,
                "{comma}\n{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":\"channel {channel}\"}}}},\
                 \n{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{pid},\"args\":{{\"sort_index\":{channel}}}}}"
            )?;
            self.name_thread(Track::Channel(channel), "bus")?;
        }
        for die in 0..g.dies() {
            let chip = die / g.dies_per_chip % g.chips_per_channel;
            let name = format!("chip {chip} die {}", die % g.dies_per_chip);
            self.name_thread(Track::Die(die), &name)?;
            for plane in 0..g.planes_per_die {
                self.name_thread(Track::Plane(die * g.planes_per_die + plane), &format!("{name} plane {plane}"))?;
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
        // A run that was cut short has nobody left to report a failed write to.
        let _ = self.close();
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
        (_, Cause::Host | Cause::Rmw) => "good",
        (_, Cause::Gc) => "bad",
        _ => "grey",
    }
}
