//! Discards that last.
//!
//! The drive has logical pages of its own behind those of the host: for each page of the host they hold the number of the newest write
//! that a discard made void, 0 for none. They are written, collected and found again as all pages are. A restart finds the newest
//! version of each page in the array; one whose number is not above that of the discard is not there any more.
//!
//! A discard is *pending* until the next flush: it reads as discarded, and the FTL keeps its page.

use std::collections::{BTreeMap, BTreeSet};

use base::Lpn;

/// Bytes of a number.
const NUMBER: u64 = 8;

/// The discards.
#[derive(Clone)]
pub(super) struct Trims {
    page_size: usize,
    /// Pages of the host.
    pages: u32,
    /// By own page: the numbers of its pages. Those that hold nothing are not there.
    numbers: BTreeMap<u32, Vec<u64>>,
    pending: BTreeSet<u32>,
    /// Pages that the FTL forgot already, and that are not written down.
    forgotten: BTreeSet<u32>,
}

impl Trims {
    pub(super) fn new(pages: u32, page_size: u64) -> Trims {
        Trims {
            page_size: page_size as usize,
            pages,
            numbers: BTreeMap::new(),
            pending: BTreeSet::new(),
            forgotten: BTreeSet::new(),
        }
    }

    /// Own pages of a drive of so many pages of the host.
    pub(super) fn own_pages(pages: u64, page_size: u64) -> u64 {
        (pages * NUMBER).div_ceil(page_size)
    }

    fn per_page(&self) -> u32 {
        (self.page_size as u64 / NUMBER) as u32
    }

    pub(super) fn add(&mut self, lpn: Lpn) {
        self.pending.insert(lpn.0);
    }

    /// A page is discarded at once.
    pub(super) fn forget(&mut self, lpn: Lpn) {
        self.forgotten.insert(lpn.0);
    }

    /// Discards that were carried out at once are pending from now on.
    pub(super) fn hurry(&mut self) {
        self.pending.append(&mut self.forgotten);
    }

    /// The number of the last discard of a page that lasts; 0 for none.
    pub(super) fn number_of(&self, lpn: Lpn) -> u64 {
        self.numbers.get(&(lpn.0 / self.per_page())).map_or(0, |numbers| numbers[(lpn.0 % self.per_page()) as usize])
    }

    /// The pages whose numbers are in an own page.
    pub(super) fn pages_of(&self, own: u32) -> std::ops::Range<u32> {
        own * self.per_page()..((own + 1) * self.per_page()).min(self.pages)
    }

    pub(super) fn is_pending(&self, lpn: Lpn) -> bool {
        !self.pending.is_empty() && self.pending.contains(&lpn.0)
    }

    pub(super) fn are_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// A page is written. Returns whether it was discarded before, so that the rest of it is as it was never written.
    pub(super) fn write(&mut self, lpn: Lpn) -> bool {
        if !self.forgotten.is_empty() {
            self.forgotten.remove(&lpn.0);
        }
        !self.pending.is_empty() && self.pending.remove(&lpn.0)
    }

    /// The own pages that say what is pending, with `newest` for the number of the newest write.
    pub(super) fn pages_to_write(&mut self, newest: u64) -> Vec<(Lpn, Vec<u8>)> {
        let per_page = self.per_page();
        let mut changed = BTreeSet::new();
        for &lpn in &self.pending {
            let numbers = self.numbers.entry(lpn / per_page).or_insert_with(|| vec![0; per_page as usize]);
            numbers[(lpn % per_page) as usize] = newest;
            changed.insert(lpn / per_page);
        }
        changed.into_iter().map(|own| self.page_of(own)).collect()
    }

    /// All own pages that were written, as they were.
    pub(super) fn written(&self) -> Vec<(Lpn, Vec<u8>)> {
        self.numbers.keys().map(|&own| self.page_of(own)).collect()
    }

    fn page_of(&self, own: u32) -> (Lpn, Vec<u8>) {
        let mut page: Vec<u8> = self.numbers[&own].iter().flat_map(|number| number.to_le_bytes()).collect();
        page.resize(self.page_size, 0);
        (Lpn(self.pages + own), page)
    }

    /// Pending discards last from now on. Returns their pages.
    pub(super) fn settle(&mut self) -> Vec<Lpn> {
        std::mem::take(&mut self.pending).into_iter().map(Lpn).collect()
    }

    /// Takes over an own page that was found. Returns pages with the numbers of their discards.
    pub(super) fn adopt(&mut self, own: u32, page: &[u8]) -> Vec<(Lpn, u64)> {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let numbers: Vec<u64> = page.chunks_exact(NUMBER as usize).map(number).collect();
        let first = own * self.per_page();
        let discarded = (first..self.pages).zip(&numbers).filter(|(_, number)| **number > 0);
        let discarded = discarded.map(|(lpn, &number)| (Lpn(lpn), number)).collect();
        self.numbers.insert(own, numbers);
        discarded
    }
}
