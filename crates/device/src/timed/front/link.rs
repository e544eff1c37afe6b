//! The host's link: data pass it one after the other, in each direction by itself.
//!
//! Requests that carry data to the device, and those that have to keep their order with them, pass it before the device
//! knows of them. Data of reads pass it page by page, as the pages come.

use base::{Instant, RequestKind};

use super::lane::{IncomingRequest, Lane};
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
    pub(super) inbound: Lane<IncomingRequest>,
    pub(super) outbound: Lane<OutgoingData>,
    /// Pages of the requests on their way to the device.
    pages_coming: u32,
}

impl Link {
    /// Bytes for each request in the device, and for each of its pages. A queue grows to twice its length.
    pub(super) const BYTES_OF_REQUEST: usize = 2 * size_of::<(Instant, IncomingRequest)>();
    pub(super) const BYTES_OF_PAGE: usize = 2 * size_of::<(Instant, OutgoingData)>();

    pub(super) fn new(rate: u64) -> Link {
        Link { rate, inbound: Lane::new(), outbound: Lane::new(), pages_coming: 0 }
    }

    /// True if requests are on their way to the device.
    pub(super) fn is_receiving(&self) -> bool {
        !self.inbound.is_empty()
    }

    /// Pages that will come with them.
    pub(super) fn pages_coming(&self) -> u32 {
        self.pages_coming
    }

    /// A request of so many bytes begins its way to the device. Only writes have data.
    pub(super) fn receive(&mut self, now: Instant, bytes: u64, coming: IncomingRequest) {
        let bytes = if coming.kind == RequestKind::Write { bytes } else { 0 };
        self.pages_coming += coming.pages;
        self.inbound.send(now, passing(bytes, self.rate), coming);
    }

    /// Data begin their way to the host.
    pub(super) fn send(&mut self, now: Instant, bytes: u64, going: OutgoingData) {
        self.outbound.send(now, passing(bytes, self.rate), going);
    }

    /// A request that has come by now.
    pub(super) fn came(&mut self, now: Instant) -> Option<IncomingRequest> {
        let coming = self.inbound.passed(now)?;
        self.pages_coming -= coming.pages;
        Some(coming)
    }

    /// Data that have gone by now.
    pub(super) fn went(&mut self, now: Instant) -> Option<OutgoingData> {
        self.outbound.passed(now)
    }
}
