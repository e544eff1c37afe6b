//! Data in the controller's memory, on their way to a page: a frame each, by number.

/// The frames.
#[derive(Clone)]
pub(super) struct Frames {
    page_size: usize,
    bytes: Vec<u8>,
    /// Frames that hold nothing.
    free: Vec<u32>,
    is_used: Vec<bool>,
}

impl Frames {
    pub(super) fn new(page_size: usize) -> Frames {
        Frames { page_size, bytes: Vec::new(), free: Vec::new(), is_used: Vec::new() }
    }

    /// Takes data in. Returns the number of their frame, above 0.
    pub(super) fn take(&mut self, bytes: &[u8]) -> u64 {
        assert_eq!(bytes.len(), self.page_size, "a frame holds a page");
        let frame = self.free.pop().unwrap_or_else(|| {
            self.bytes.resize(self.bytes.len() + self.page_size, 0);
            self.is_used.push(false);
            self.is_used.len() as u32 - 1
        });
        self.is_used[frame as usize] = true;
        self.bytes[frame as usize * self.page_size..][..self.page_size].copy_from_slice(bytes);
        u64::from(frame) + 1
    }

    /// The data in a frame.
    pub(super) fn get(&self, data: u64) -> &[u8] {
        let frame = data as usize - 1;
        assert!(self.is_used[frame], "data are asked for that nobody holds any more");
        &self.bytes[frame * self.page_size..][..self.page_size]
    }

    pub(super) fn release(&mut self, data: u64) {
        let frame = data as usize - 1;
        assert!(std::mem::take(&mut self.is_used[frame]), "a frame is let go of once");
        self.free.push(frame as u32);
    }

    pub(super) fn release_all(&mut self) {
        for frame in 0..self.is_used.len() {
            if std::mem::take(&mut self.is_used[frame]) {
                self.free.push(frame as u32);
            }
        }
    }
}
