//! Which bytes of their pages reads want, where that makes a difference: data pass a link, or a chip sends parts of pages.

use base::transfer::codeword;
use config::Config;

use crate::timed::queues::TransactionId;

/// By number of the transaction, the first byte that a read wants of its page, and the one behind the last; nothing: no part of it.
pub(in crate::timed) struct ReadRanges(Vec<(u32, u32)>);

impl ReadRanges {
    /// Bytes for each page of a request in the device. A vector grows to twice its length.
    pub(super) const BYTES_OF_PAGE: usize = 2 * size_of::<(u32, u32)>();

    /// True if it makes a difference.
    pub(in crate::timed) fn is_configured(config: &Config) -> bool {
        config.host.link.is_some() || codeword(&config.device.features).is_some()
    }

    pub(in crate::timed) fn new() -> ReadRanges {
        ReadRanges(Vec::new())
    }

    /// A page comes into the device: the whole of it, until something else is said.
    pub(in crate::timed) fn page_comes(&mut self, page: TransactionId) {
        let at = page.number() as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, (0, 0));
        }
        self.0[at] = (0, 0);
    }

    /// A read wants the bytes of its page from `from` up to `to`.
    pub(in crate::timed) fn note(&mut self, read: TransactionId, (from, to): (u64, u64)) {
        self.0[read.number() as usize] = (from as u32, to as u32);
    }

    /// The number of bytes that a read wants.
    pub(in crate::timed) fn bytes(&self, read: TransactionId) -> u64 {
        let (from, to) = self.0[read.number() as usize];
        u64::from(to - from)
    }

    /// The bytes that a read wants; `None`: of its page as a whole, which nobody said.
    pub(in crate::timed) fn range(&self, read: TransactionId) -> Option<(u32, u32)> {
        Some(self.0[read.number() as usize]).filter(|(from, to)| from < to)
    }
}
