//! The host's link: data pass it one after the other, in each direction by itself.
//!
//! Requests that carry data to the device, and those that have to keep their order with them, pass it before the device
//! knows of them. Data of reads pass it page by page, as the pages come.

use std::collections::VecDeque;

use base::transfer::codeword;
use base::{Duration, Instant, Request, RequestKind};
use config::Config;

use super::queues::{RequestId, TransactionId};
use super::timing::passing;
use crate::errors::Refusal;
use crate::pages::Span;

/// A request on its way to the device.
#[derive(Clone, Copy)]
pub(super) struct Coming {
    pub(super) id: RequestId,
    pub(super) request: Request,
    pub(super) span: Span,
}

/// Data on their way to the host.
#[derive(Clone, Copy)]
pub(super) enum Going {
    /// What a request asked for of a page that was read.
    Page(TransactionId),
    /// What the device had without flash.
    Rest(RequestId),
}

/// What passes one after the other: one direction of the link, for one.
pub(super) struct Lane<T> {
    /// When all that is under way has passed.
    until: Instant,
    /// In order, with the instants at which they have passed.
    under_way: VecDeque<(Instant, T)>,
    /// Whether a timer runs for the first of them.
    is_timed: bool,
}

impl<T> Lane<T> {
    pub(super) fn new() -> Lane<T> {
        Lane { until: Instant::ZERO, under_way: VecDeque::new(), is_timed: false }
    }

    fn send(&mut self, now: Instant, takes: Duration, what: T) {
        self.join(self.until.max(now) + takes, what);
    }

    /// The next one will have passed at an instant, not before the last one.
    pub(super) fn join(&mut self, until: Instant, what: T) {
        self.until = until;
        self.under_way.push_back((until, what));
    }

    /// When the first one will have passed, if that is to be timed.
    pub(super) fn due(&mut self) -> Option<Instant> {
        let &(at, _) = self.under_way.front().filter(|_| !self.is_timed)?;
        self.is_timed = true;
        Some(at)
    }

    /// What has passed by now, if there is anything. Its timer, if it had one, is over.
    pub(super) fn passed(&mut self, now: Instant) -> Option<T> {
        let (_, what) = self.under_way.pop_front_if(|(at, _)| *at <= now)?;
        self.is_timed = false;
        Some(what)
    }
}

/// Both directions.
pub(super) struct Link {
    /// Bytes per second.
    rate: u64,
    inbound: Lane<Coming>,
    outbound: Lane<Going>,
    /// Pages of the requests on their way to the device.
    pages_coming: u32,
}

impl Link {
    /// Bytes for each request in the device, and for each of its pages. A queue grows to twice its length.
    pub(super) const BYTES_OF_REQUEST: usize = 2 * size_of::<(Instant, Coming)>();
    pub(super) const BYTES_OF_PAGE: usize = 2 * size_of::<(Instant, Going)>();

    pub(super) fn new(rate: u64) -> Link {
        Link { rate, inbound: Lane::new(), outbound: Lane::new(), pages_coming: 0 }
    }

    /// Whether requests are on their way to the device.
    pub(super) fn is_receiving(&self) -> bool {
        !self.inbound.under_way.is_empty()
    }

    /// Pages that will come with them.
    pub(super) fn pages_coming(&self) -> u32 {
        self.pages_coming
    }

    /// A request begins its way to the device. Only writes have data.
    pub(super) fn receive(&mut self, now: Instant, coming: Coming) {
        let Coming { request, span, .. } = coming;
        let bytes = if request.kind == RequestKind::Write { request.size } else { 0 };
        self.pages_coming += span.len();
        self.inbound.send(now, passing(bytes, self.rate), coming);
    }

    /// Data begin their way to the host.
    pub(super) fn send(&mut self, now: Instant, bytes: u64, going: Going) {
        self.outbound.send(now, passing(bytes, self.rate), going);
    }

    /// When the next request and the next data will have passed, where that is to be timed.
    pub(super) fn due(&mut self) -> [Option<Instant>; 2] {
        [self.inbound.due(), self.outbound.due()]
    }

    /// A request that has come by now.
    pub(super) fn came(&mut self, now: Instant) -> Option<Coming> {
        let coming = self.inbound.passed(now)?;
        self.pages_coming -= coming.span.len();
        Some(coming)
    }

    /// Data that have gone by now.
    pub(super) fn went(&mut self, now: Instant) -> Option<Going> {
        self.outbound.passed(now)
    }
}

/// What reads want of their pages, where that makes a difference.
pub(super) struct Wanted {
    /// Bytes of a codeword, where only those asked for are sent.
    codeword: Option<u64>,
    /// By number of the transaction.
    pages: Vec<OfPage>,
}

/// What is wanted of a page.
#[derive(Clone, Copy, Default)]
struct OfPage {
    bytes: u32,
    /// The codewords that hold it; 0: the whole page is sent.
    codewords: u16,
}

impl Wanted {
    /// Bytes for each page of a request in the device. A vector grows to twice its length.
    pub(super) const BYTES_OF_PAGE: usize = 2 * size_of::<OfPage>();

    pub(super) fn new(codeword: Option<u64>) -> Wanted {
        Wanted { codeword, pages: Vec::new() }
    }

    /// A page comes into the device: the whole of it, until something else is said.
    pub(super) fn page_comes(&mut self, page: TransactionId) {
        let at = page.number() as usize;
        if self.pages.len() <= at {
            self.pages.resize(at + 1, OfPage::default());
        }
        self.pages[at] = OfPage::default();
    }

    /// A read wants the bytes of its page from `from` up to `to`.
    pub(super) fn note(&mut self, read: TransactionId, (from, to): (u64, u64)) {
        let codewords = self.codeword.map_or(0, |size| to.div_ceil(size) - from / size);
        self.pages[read.number() as usize] = OfPage { bytes: (to - from) as u32, codewords: codewords as u16 };
    }

    /// The bytes that a read wants.
    pub(super) fn bytes(&self, read: TransactionId) -> u64 {
        self.pages[read.number() as usize].bytes.into()
    }

    /// The codewords that a read has sent; `None`: its whole page.
    pub(super) fn codewords(&self, read: TransactionId) -> Option<usize> {
        Some(usize::from(self.pages[read.number() as usize].codewords)).filter(|count| *count > 0)
    }
}

/// Whether data pass a link, or reads send parts of pages.
pub(super) fn is_configured(config: &Config) -> bool {
    config.host.link.is_some() || codeword(&config.device.features).is_some()
}

/// Refuses codewords that no page can have, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let Some(size) = codeword(&config.device.features) else { return Ok(()) };
    let refuse = |message: String, help: &str| {
        Err(Refusal { key: "device.read_transfer", message: format!("`sectors` {message}"), help: help.into() })
    };
    let page = u64::from(config.device.page_size);
    if !page.is_multiple_of(size) {
        let (page, size) = (config::print_size(page), config::print_size(size));
        return refuse(
            format!("sends codewords of {size}, and a page of {page} is not a whole number of them"),
            "set a `codeword` that divides `device.page_size`, or use `page`",
        );
    }
    if config.in_step().parts() > 1 {
        return refuse(
            "sends a part of a page, and channels or planes in step send their parts of a superpage together".into(),
            "use `page`, or `ftl.reclaim_unit` = \"block\" or \"twin\"",
        );
    }
    Ok(())
}
