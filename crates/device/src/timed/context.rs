//! What every part of the executor works on.

use base::Instant;

use super::queues::Queues;
use super::suspension::Suspensions;
use super::wordlines::Wordlines;
use crate::device::Device;

/// The FTL and the array, what waits for a die, the time, and what is in force.
pub(super) struct Context<'a, P> {
    pub(super) device: &'a mut Device,
    pub(super) queues: Queues,
    /// Programs and erases that are suspended for reads.
    pub(super) suspensions: Suspensions,
    /// Wordlines that are programmed in one shot, and are not complete.
    pub(super) wordlines: Wordlines,
    pub(super) now: Instant,
    /// The host is done; what remains is collections that were under way, and what is buffered.
    pub(super) draining: bool,
    pub(super) plan: P,
}
