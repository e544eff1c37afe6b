//! The counts of a workload: requests handed on, and all that was cut, dropped or moved.

use crate::trace::Counts;

/// The counts of a workload so far. Nothing is cut, dropped or moved without a count here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Requests handed to the device.
    pub requests: u64,
    /// Bytes of its writes.
    pub bytes_written: u64,
    /// Passes of the trace that were begun.
    pub rounds: u64,
    /// Lines read, over all rounds; the reader is ahead of the requests by its window. A round that is replayed
    /// from memory counts whole from its beginning, here and below.
    pub lines: u64,
    /// Lines skipped because they could not be read.
    pub bad_lines: u64,
    /// Requests of no bytes, dropped.
    pub zero_length: u64,
    /// Requests in the wrong place; those within the reordering window were put in order.
    pub out_of_order: u64,
    /// Requests in the wrong place beyond the reordering window, given the latest time so far.
    pub backwards_times: u64,
    /// Flushes that only completed a FUA write, dropped.
    pub postfua_dropped: u64,
    /// Rows of another clock than the rest, dropped.
    pub stray_times: u64,
    /// Dispatches of a request that its device had given back, dropped.
    pub requeued: u64,
    /// Discards left out by `discards = "ignore"`.
    pub discards_ignored: u64,
    /// Requests moved by `out_of_range = "wrap"`.
    pub wrapped: u64,
    /// Wrapped requests that straddled the end: two requests each.
    pub split: u64,
    /// Requests cut short by `out_of_range = "clamp"`.
    pub clamped: u64,
    /// Requests wholly past the end, dropped by `out_of_range = "clamp"`.
    pub dropped_past_end: u64,
}

impl Tally {
    /// Adds what was counted of another workload.
    pub(crate) fn join(&mut self, other: &Tally) {
        let Tally {
            requests,
            bytes_written,
            rounds,
            lines,
            bad_lines,
            zero_length,
            out_of_order,
            backwards_times,
            postfua_dropped,
            stray_times,
            requeued,
            discards_ignored,
            wrapped,
            split,
            clamped,
            dropped_past_end,
        } = self;
        *requests += other.requests;
        *bytes_written += other.bytes_written;
        *rounds += other.rounds;
        *lines += other.lines;
        *bad_lines += other.bad_lines;
        *zero_length += other.zero_length;
        *out_of_order += other.out_of_order;
        *backwards_times += other.backwards_times;
        *postfua_dropped += other.postfua_dropped;
        *stray_times += other.stray_times;
        *requeued += other.requeued;
        *discards_ignored += other.discards_ignored;
        *wrapped += other.wrapped;
        *split += other.split;
        *clamped += other.clamped;
        *dropped_past_end += other.dropped_past_end;
    }

    /// Adds what a reader counted in a round.
    pub(crate) fn add(&mut self, counts: &Counts) {
        self.lines += counts.lines;
        self.bad_lines += counts.bad_lines;
        self.zero_length += counts.zero_length;
        self.out_of_order += counts.out_of_order;
        self.backwards_times += counts.backwards_times;
        self.postfua_dropped += counts.postfua_dropped;
        self.stray_times += counts.stray_times;
        self.requeued += counts.requeued;
    }
}
