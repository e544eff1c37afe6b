//! The bytes of the write buffer: of each buffered page, the sectors that were written.

/// Bytes of a sector: what a host reads and writes is made of them.
pub const SECTOR: u64 = 512;

/// The bytes of a buffered page.
#[derive(Clone)]
struct BufferedBytes {
    bytes: Vec<u8>,
    /// By sector.
    is_written: Vec<bool>,
}

/// Bytes by the buffer's number of the page.
#[derive(Clone)]
pub(super) struct BufferBytes {
    page_size: usize,
    /// The byte that fills what was never written, or was discarded.
    deallocated: u8,
    entries: Vec<Option<BufferedBytes>>,
}

impl BufferBytes {
    pub(super) fn new(page_size: u64, deallocated: u8) -> BufferBytes {
        BufferBytes { page_size: page_size as usize, deallocated, entries: Vec::new() }
    }

    /// A page enters the buffer; what is not written of it is deallocated, or lies in the array.
    pub(super) fn begin(&mut self, slot: u32, over_discard: bool) {
        let slot = slot as usize;
        if slot >= self.entries.len() {
            self.entries.resize_with(slot + 1, || None);
        }
        let is_written = vec![over_discard; self.page_size / SECTOR as usize];
        self.entries[slot] = Some(BufferedBytes { bytes: vec![self.deallocated; self.page_size], is_written });
    }

    fn entry(&self, slot: u32) -> &BufferedBytes {
        self.entries[slot as usize].as_ref().expect("a buffered page has bytes")
    }

    pub(super) fn write(&mut self, slot: u32, from: usize, to: usize, data: Option<&[u8]>) {
        let entry = self.entries[slot as usize].as_mut().expect("a buffered page has bytes");
        put(&mut entry.bytes[from..to], data);
        entry.is_written[from / SECTOR as usize..to / SECTOR as usize].fill(true);
    }

    /// True if bytes of a page are all here.
    pub(super) fn has(&self, slot: u32, from: usize, to: usize) -> bool {
        self.entry(slot).is_written[from / SECTOR as usize..to / SECTOR as usize].iter().all(|&is| is)
    }

    pub(super) fn is_whole(&self, slot: u32) -> bool {
        self.has(slot, 0, self.page_size)
    }

    pub(super) fn read(&self, slot: u32, from: usize, data: &mut [u8]) {
        data.copy_from_slice(&self.entry(slot).bytes[from..][..data.len()]);
    }

    /// The bytes of a page, and by sector whether they were written.
    pub(super) fn content(&self, slot: u32) -> (&[u8], &[bool]) {
        let entry = self.entry(slot);
        (&entry.bytes, &entry.is_written)
    }

    /// Puts what was written of a page over its old version.
    pub(super) fn overlay(&self, slot: u32, page: &mut [u8]) {
        let entry = self.entry(slot);
        let sectors = page.chunks_mut(SECTOR as usize).zip(entry.bytes.chunks(SECTOR as usize));
        for ((old, new), _) in sectors.zip(&entry.is_written).filter(|(_, is_written)| **is_written) {
            old.copy_from_slice(new);
        }
    }

    /// A page left the buffer.
    pub(super) fn end(&mut self, slot: u32) {
        self.entries[slot as usize] = None;
    }
}

/// Puts data, or zeros, into a part of a page.
pub(super) fn put(part: &mut [u8], data: Option<&[u8]>) {
    match data {
        Some(data) => part.copy_from_slice(data),
        None => part.fill(0),
    }
}
