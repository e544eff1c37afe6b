//! A trace that is replayed in rounds, until an end is reached.

use std::collections::VecDeque;

use base::{Instant, Request, RequestKind};
use config::model::{self, BackwardsTime, Discards};
use files::Interrupt;

use crate::error::WorkloadError;
use crate::placing::{Bounds, Outside, scaled};
use crate::tally::Tally;
use crate::trace::{COLUMNS, Record, Rounds, Trace, TraceOptions};

/// Requests read at a time.
const BATCH: usize = 1024;

/// A trace, replayed in rounds and cut to the device.
pub(crate) struct TraceReplay {
    pub(crate) trace: Rounds,
    path: String,
    bounds: Bounds,
    ignores_discards: bool,
    time_scale: f64,
    /// Time at which this round began, unscaled.
    round_start_ns: u64,
    /// Time of the last request of this round, from its beginning.
    last_ns: u64,
    /// Requests read in this round.
    round_records: u64,
    /// Where the lowest of them begins on the device.
    lowest: u64,
    /// Requests handed on in this round, and whether one of them wrote.
    round_requests: u64,
    round_wrote: bool,
    /// Bytes written over all rounds, and how many are wanted.
    written: u64,
    volume: u64,
    batch: Vec<Record>,
    /// Requests that did not fit the caller's batch.
    carried: VecDeque<Request>,
    over: bool,
}

impl TraceReplay {
    pub(crate) fn open(
        path: &str,
        config: &model::Workload,
        end: &model::End,
        host: &model::Host,
        capacity: u64,
        interrupt: &Interrupt,
    ) -> Result<TraceReplay, WorkloadError> {
        let options = TraceOptions {
            format: match &config.trace_columns {
                Some(columns) => Some(format!("{COLUMNS}{columns}")),
                None => config.trace_format.map(str::to_owned),
            },
            skip_bad: config.skip_bad,
            reject_backwards: config.backwards_time == BackwardsTime::Reject,
            interrupt: interrupt.clone(),
            ..TraceOptions::default()
        };
        Ok(TraceReplay {
            trace: Rounds::new(Trace::open(path, &options)?, end.rounds != Some(1)),
            path: path.to_owned(),
            bounds: Bounds::of(config, capacity),
            ignores_discards: config.discards == Discards::Ignore,
            time_scale: host.time_scale,
            round_start_ns: 0,
            last_ns: 0,
            round_records: 0,
            lowest: u64::MAX,
            round_requests: 0,
            round_wrote: false,
            written: 0,
            volume: end.volume.unwrap_or(u64::MAX),
            batch: Vec::with_capacity(BATCH),
            carried: VecDeque::new(),
            over: false,
        })
    }

    pub(crate) fn fill(
        &mut self,
        out: &mut Vec<Request>,
        wanted: usize,
        end: &model::End,
        tally: &mut Tally,
    ) -> Result<(), WorkloadError> {
        if tally.rounds == 0 {
            tally.rounds = 1;
        }
        let full = out.len() + wanted;
        while out.len() < full {
            if let Some(request) = self.carried.pop_front() {
                out.push(request);
                continue;
            }
            if self.over || end.rounds == Some(0) {
                break;
            }
            self.batch.clear();
            self.trace.fill(&mut self.batch, (full - out.len()).min(BATCH))?;
            if self.batch.is_empty() {
                self.next_round(end, tally)?;
                continue;
            }
            let batch = std::mem::take(&mut self.batch);
            let result = batch.iter().try_for_each(|record| match self.over {
                true => Ok(()),
                false => self.accept(record, full, out, tally),
            });
            self.batch = batch;
            result?;
        }
        Ok(())
    }

    /// Goes to the beginning of the trace, or ends.
    fn next_round(&mut self, end: &model::End, tally: &mut Tally) -> Result<(), WorkloadError> {
        let path = || self.path.clone();
        if self.round_requests == 0 {
            return Err(WorkloadError::NothingLeft {
                path: path(),
                dropped: self.round_records,
                lowest: self.lowest,
                address_offset: self.bounds.offset,
                capacity: self.bounds.capacity,
            });
        }
        if end.rounds.is_some_and(|rounds| tally.rounds >= rounds) {
            self.over = true;
            return Ok(());
        }
        if let (Some(volume), None, None, false) = (end.volume, end.requests, end.rounds, self.round_wrote) {
            return Err(WorkloadError::NoWrites { path: path(), volume });
        }
        // The round is over after one more gap of mean length.
        let gap = self.last_ns / (self.round_records - 1).max(1);
        self.round_start_ns = self.round_start_ns.saturating_add(self.last_ns).saturating_add(gap);
        let counts = self.trace.counts();
        self.trace.rewind()?;
        tally.add(&counts);
        tally.rounds += 1;
        (self.last_ns, self.round_records, self.round_requests, self.round_wrote) = (0, 0, 0, false);
        Ok(())
    }

    /// Cuts a request to the device and hands it on.
    fn accept(
        &mut self,
        record: &Record,
        full: usize,
        out: &mut Vec<Request>,
        tally: &mut Tally,
    ) -> Result<(), WorkloadError> {
        self.round_records += 1;
        self.last_ns = record.time_ns;
        if self.ignores_discards && record.kind == RequestKind::Trim {
            tally.discards_ignored += 1;
            return Ok(());
        }
        let at = self.time(record)?;
        let request = Request {
            at,
            offset: record.offset,
            size: record.size,
            kind: record.kind,
            fua: record.fua,
            hint: record.hint,
        };
        let bounds = self.bounds;
        self.lowest = self.lowest.min(record.offset + bounds.offset);
        let placed = bounds.place(request, tally, &mut |request| self.push(request, full, out));
        placed.map_err(|Outside(request)| WorkloadError::OutOfRange {
            path: self.path.clone(),
            line: record.line,
            offset: request.offset,
            size: request.size,
            capacity: bounds.capacity,
        })
    }

    fn push(&mut self, request: Request, full: usize, out: &mut Vec<Request>) {
        self.round_requests += 1;
        if request.kind == RequestKind::Write {
            self.round_wrote = true;
            self.written += request.size;
            self.over |= self.written >= self.volume;
        }
        if out.len() < full {
            out.push(request);
        } else {
            self.carried.push_back(request);
        }
    }

    fn time(&self, record: &Record) -> Result<Instant, WorkloadError> {
        let at = Instant(scaled(self.round_start_ns.saturating_add(record.time_ns), self.time_scale));
        if at <= Instant::LAST {
            return Ok(at);
        }
        Err(WorkloadError::TimeOverflow {
            place: format!("{}:{}", self.path, record.line),
            expected: "times that lie closer together, fewer rounds",
        })
    }
}
