//! Counts in flash: FastGC keeps how often each page of a block was copied in a page of the block itself.
//!
//! That page is the last one, which is programmed when the other counts are known. It costs space and a program; nobody reads
//! it, since the controller has the counts at hand too.

use base::{Domain, Slot};

use crate::kernel::{Kernel, Stream};

/// Active blocks whose next page is for counts.
#[derive(Clone, Debug)]
pub(super) struct Metadata {
    /// By domain: a bit for each stream.
    due: Vec<u64>,
}

impl Metadata {
    pub(super) fn new(domains: u32) -> Metadata {
        Metadata { due: vec![0; domains as usize] }
    }

    /// True if a domain has to program counts before anything else.
    #[inline]
    pub(super) fn is_due(&self, domain: Domain) -> bool {
        self.due[domain.index()] != 0
    }

    /// The stream whose counts a domain programs next.
    pub(super) fn next(&self, domain: Domain) -> Option<Stream> {
        self.is_due(domain).then(|| Stream::new(self.due[domain.index()].trailing_zeros() as usize))
    }

    /// A stream of a domain stands elsewhere. Blocks of the map, and those of LSB pages, have no counts.
    pub(super) fn note(&mut self, kernel: &Kernel, domain: Domain, stream: Stream) {
        let geometry = kernel.geometry();
        // The last flash page of each block.
        let first = Slot::new(geometry.unit_slots() - geometry.row_slots());
        let is_due = kernel.frontier(domain, stream).is_some_and(|frontier| {
            frontier.slot >= first && !kernel.streams().is_map(stream) && !kernel.is_lsb_only(frontier.unit)
        });
        let bit = 1 << stream.index();
        let due = &mut self.due[domain.index()];
        *due = if is_due { *due | bit } else { *due & !bit };
    }

    /// Streams may stand anywhere.
    pub(super) fn note_all(&mut self, kernel: &Kernel) {
        for domain in kernel.geometry().all_domains() {
            kernel.streams().all().for_each(|stream| self.note(kernel, domain, stream));
        }
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, Dimensions, Geometry};

    use super::*;
    use crate::sample::{self, FIRST};

    /// Of both blocks of a unit, the last page.
    #[test]
    fn counts_are_due_where_the_last_pages_are_next() {
        let geometry = Geometry::new(Dimensions {
            planes_per_die: 2,
            blocks_per_plane: 8,
            pages_per_block: 4,
            unit_width: 2,
            ..Dimensions::ONE_PAGE
        });
        let policies = sample::policies(&[("reclaim_unit", "twin", &[])], Cell::Slc);
        let (mut kernel, _) = sample::kernel(geometry, 16, &policies);
        let mut metadata = Metadata::new(kernel.geometry().domains());
        let mut due = Vec::new();
        for lpn in 0..8 {
            sample::write(&mut kernel, Stream::FIRST, [lpn]);
            metadata.note(&kernel, FIRST, Stream::FIRST);
            due.push(metadata.next(FIRST));
        }
        assert_eq!(
            due,
            [None, None, None, None, None, Some(Stream::FIRST), Some(Stream::FIRST), None],
            "and none is open then"
        );
    }
}
