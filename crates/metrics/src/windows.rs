//! Deterministic windows: when they were, how they ended, and how long reads took inside and outside them.

use std::collections::VecDeque;

use base::{Duration, Instant, RequestKind};
use serde_json::{Value, json};

use crate::latency::Latency;
use crate::table::{Column, Table};

/// Windows that are kept at most; the last ones count.
const KEPT: usize = 1 << 16;

/// The end of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowEnd {
    /// Its time was over, or the run was.
    Time,
    /// The drive left it: it had to collect, or to erase.
    Excursion,
}

impl WindowEnd {
    fn name(self) -> &'static str {
        match self {
            WindowEnd::Time => "time",
            WindowEnd::Excursion => "excursion",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct PastWindow {
    from: Instant,
    to: Instant,
    end: WindowEnd,
}

/// The figures of deterministic windows.
#[derive(Clone, Debug)]
pub struct WindowFigures {
    /// The last ones, in order.
    kept: VecDeque<PastWindow>,
    /// The one in which the device is: since when, and bytes written in it.
    open: Option<(Instant, u64)>,
    begun: u64,
    missed: u64,
    excursions: u64,
    inside: Duration,
    /// The most bytes that were written in one.
    written_max: u64,
    /// Of reads sent outside and inside.
    reads: [Latency; 2],
}

impl Default for WindowFigures {
    fn default() -> WindowFigures {
        WindowFigures::new()
    }
}

impl WindowFigures {
    /// Figures before the first window.
    pub fn new() -> WindowFigures {
        WindowFigures {
            kept: VecDeque::new(),
            open: None,
            begun: 0,
            missed: 0,
            excursions: 0,
            inside: Duration::ZERO,
            written_max: 0,
            reads: [Latency::new(), Latency::new()],
        }
    }

    /// A window begins.
    pub fn begins(&mut self, now: Instant) {
        self.begun += 1;
        self.open = Some((now, 0));
    }

    /// The window ends, if there is one.
    pub fn ends(&mut self, now: Instant, end: WindowEnd) {
        let Some((from, written)) = self.open.take() else { return };
        self.inside += now - from;
        self.written_max = self.written_max.max(written);
        self.excursions += u64::from(end == WindowEnd::Excursion);
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(PastWindow { from, to: now, end });
    }

    /// A window's time was over before it could begin.
    pub fn misses(&mut self) {
        self.missed += 1;
    }

    /// A request is complete. It was inside if it was sent inside.
    pub fn completed(&mut self, kind: RequestKind, sent: Instant, now: Instant, bytes: u64) {
        match kind {
            RequestKind::Read => {
                let is_inside = self.was_inside(sent);
                self.reads[usize::from(is_inside)].record(now.0.saturating_sub(sent.0));
            }
            RequestKind::Write => {
                if let Some((_, written)) = &mut self.open {
                    *written += bytes;
                }
            }
            RequestKind::Trim | RequestKind::Flush => {}
        }
    }

    fn was_inside(&self, at: Instant) -> bool {
        if self.open.is_some_and(|(from, _)| from <= at) {
            return true;
        }
        let behind = self.kept.partition_point(|window| window.from <= at);
        behind.checked_sub(1).is_some_and(|last| at < self.kept[last].to)
    }

    /// `share` is that of the time of the run.
    pub fn to_json(&self, elapsed_ns: u64) -> Value {
        let [outside, inside] = &self.reads;
        json!({
            "begun": self.begun,
            "missed": self.missed,
            "excursions": self.excursions,
            "deterministic_s": self.inside.seconds(),
            "share": (elapsed_ns > 0).then(|| self.inside.ns() as f64 / elapsed_ns as f64),
            "bytes_written_max": self.written_max,
            "inside": { "reads": inside.count(), "read_latency_us": inside.to_json() },
            "outside": { "reads": outside.count(), "read_latency_us": outside.to_json() },
        })
    }

    /// The table `windows`: the last 65,536 of them.
    pub fn table(&self) -> Table {
        let seconds =
            |of: fn(&PastWindow) -> Instant| Column::F64(self.kept.iter().map(|each| of(each).seconds()).collect());
        let ends = Column::Text(self.kept.iter().map(|window| window.end.name()).collect());
        let columns =
            vec![("from_s", seconds(|window| window.from)), ("to_s", seconds(|window| window.to)), ("end", ends)];
        Table { name: "windows", columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_inside_if_it_was_sent_inside() {
        let mut figures = WindowFigures::new();
        let read = |figures: &mut WindowFigures, sent, now| {
            figures.completed(RequestKind::Read, Instant(sent), Instant(now), 4096);
        };
        read(&mut figures, 5, 7);
        figures.begins(Instant(10));
        read(&mut figures, 9, 11);
        read(&mut figures, 10, 12);
        figures.completed(RequestKind::Write, Instant(1), Instant(15), 100);
        figures.ends(Instant(20), WindowEnd::Excursion);
        read(&mut figures, 19, 25);
        read(&mut figures, 20, 26);
        figures.ends(Instant(27), WindowEnd::Time);
        figures.misses();
        figures.begins(Instant(40));
        figures.ends(Instant(50), WindowEnd::Time);
        read(&mut figures, 15, 60);
        read(&mut figures, 45, 60);
        let told = figures.to_json(100);
        assert_eq!((&told["inside"]["reads"], &told["outside"]["reads"]), (&json!(4), &json!(3)));
        assert_eq!((&told["begun"], &told["missed"], &told["excursions"]), (&json!(2), &json!(1), &json!(1)));
        assert_eq!((&told["share"], &told["bytes_written_max"]), (&json!(0.2), &json!(100)));
        let table = figures.table();
        assert_eq!(table.column("end"), Some(&Column::Text(vec!["excursion", "time"])));
        assert_eq!(table.rows(), 2);
    }
}
