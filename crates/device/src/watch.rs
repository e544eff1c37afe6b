//! Who watches a run: how far it is, and whether it goes on.

use base::{Instant, Request};
use files::Interrupt;
use metrics::{Counters, Progress};

use crate::errors::RunError;

/// Tells the caller how far the run is, and hears whether to go on.
pub(crate) struct Watch<'a> {
    progress: Option<&'a mut dyn FnMut(&Progress) -> bool>,
    pub(crate) interrupt: Interrupt,
    phase: &'static str,
    /// Work since the last report.
    work: u64,
}

/// Work between two reports: pages or events, some 0.1 ms.
const REPORT_EVERY: u64 = 1024;

/// About how much work a request is, beside the page or event that everything is.
#[inline]
pub(crate) fn work_of(request: &Request) -> u64 {
    1 + (request.size >> 12)
}

impl<'a> Watch<'a> {
    pub(crate) fn new(progress: Option<&'a mut dyn FnMut(&Progress) -> bool>, interrupt: Interrupt) -> Watch<'a> {
        Watch { progress, interrupt, phase: "run", work: 0 }
    }

    pub(crate) fn phase(&mut self, phase: &'static str) {
        self.phase = phase;
        self.work = 0;
    }

    /// Reports after so much work; otherwise it costs a comparison. Returns whether it did.
    #[inline]
    pub(crate) fn report(
        &mut self,
        work: u64,
        now: Instant,
        counters: &Counters,
        fraction: impl FnOnce() -> Option<f64>,
    ) -> Result<bool, RunError> {
        self.work += work;
        if self.work < REPORT_EVERY {
            return Ok(false);
        }
        self.work = 0;
        self.report_now(now, counters, fraction())?;
        Ok(true)
    }

    #[cold]
    fn report_now(&mut self, now: Instant, counters: &Counters, fraction: Option<f64>) -> Result<(), RunError> {
        self.interrupt.check().map_err(|_| RunError::Stopped)?;
        let Some(progress) = &mut self.progress else { return Ok(()) };
        let moment = Progress {
            phase: self.phase,
            simulated: now,
            requests: counters.requests(),
            bytes_written: counters.bytes_written,
            fraction,
            erases: counters.block_erases(),
        };
        if progress(&moment) { Ok(()) } else { Err(RunError::Stopped) }
    }
}
