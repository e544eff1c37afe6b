//! The host's link: data pass it one after the other, in each direction by itself.
//!
//! Requests that carry data to the device, and those that have to keep their order with them, pass it before the device
//! knows of them. Data of reads pass it page by page, as the pages come.

use base::{Instant, RequestKind};

use super::lane::IncomingRequest;
use crate::timed::queues::{RequestId, TransactionId};
use crate::timed::timing::passing;

/// Data on their way to the host.
#[derive(Clone, Copy)]
pub(super) enum OutgoingData {
    /// The part of a page that was read for which a request asked.
    Page(TransactionId),
    /// Data that the device had without flash.
    Rest(RequestId),
}

/// Both directions.
pub(super) struct Link {
    /// Bytes per second.
    rate: u64,
    /// When all that is under way to the device has passed, and when all that is under way to the host.
    inbound: Instant,
    outbound: Instant,
}

impl Link {
    /// Bytes for each request in the device, and for each of its pages. A queue grows to twice its length.
    pub(super) const BYTES_OF_REQUEST: usize = 2 * size_of::<(Instant, IncomingRequest)>();
    pub(super) const BYTES_OF_PAGE: usize = 2 * size_of::<(Instant, OutgoingData)>();

    pub(super) fn new(rate: u64) -> Link {
        Link { rate, inbound: Instant::ZERO, outbound: Instant::ZERO }
    }

    /// A request of so many bytes comes to the link at an instant, not before the last one. Returns when the device has it. Only writes
    /// have data.
    pub(super) fn receive(&mut self, at: Instant, kind: RequestKind, bytes: u64) -> Instant {
        let bytes = if kind == RequestKind::Write { bytes } else { 0 };
        self.inbound = self.inbound.max(at) + passing(bytes, self.rate);
        self.inbound
    }

    /// Data begin their way to the host at an instant, not before the last ones. Returns when it has them.
    pub(super) fn send(&mut self, at: Instant, bytes: u64) -> Instant {
        self.outbound = self.passes(at, bytes);
        self.outbound
    }

    /// When the host would have data that begin their way next.
    pub(super) fn passes(&self, at: Instant, bytes: u64) -> Instant {
        self.outbound.max(at) + passing(bytes, self.rate)
    }
}
