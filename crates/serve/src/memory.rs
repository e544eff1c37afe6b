//! A device in memory, with a volatile buffer and power cuts: the model that tests compare real devices with.
//!
//! It keeps two copies: the bytes as a reader sees them, and those that would outlive a loss of power. So a test can
//! ask after a cut for what was lost. An operation of its flash is one request that changes bytes, or one flush.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::blocks::{BlockSizes, Blocks, Error};

/// Memory as a block device. A cut keeps nothing that was not flushed.
pub struct Memory {
    sizes: BlockSizes,
    size: u64,
    state: Mutex<Copies>,
}

struct Copies {
    seen: Vec<u8>,
    kept: Vec<u8>,
    /// Operations until the power goes, or `None` if it stays.
    left: Option<u64>,
}

impl Memory {
    /// A device of `size` bytes of zeros, a multiple of 512.
    pub fn new(size: u64) -> Self {
        assert!(size > 0 && size.is_multiple_of(512), "{size} bytes are no whole sectors");
        let bytes = vec![0; usize::try_from(size).expect("memory for it")];
        let sizes = BlockSizes { minimum: 512, preferred: 4096, maximum: 32 << 20 };
        Self { sizes, size, state: Mutex::new(Copies { seen: bytes.clone(), kept: bytes, left: None }) }
    }

    /// The bytes that a loss of power would leave.
    pub fn kept(&self) -> Vec<u8> {
        self.state().kept.clone()
    }

    /// Power comes back: what was kept is what is read.
    pub fn restart(&self) {
        let mut state = self.state();
        state.left = None;
        state.seen = state.kept.clone();
    }

    fn state(&self) -> MutexGuard<'_, Copies> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, if there is power for one more operation.
    fn operate(&self) -> Result<MutexGuard<'_, Copies>, Error> {
        let mut state = self.state();
        if let Some(left) = &mut state.left {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return Err(Error::PowerCut);
            }
        }
        Ok(state)
    }

    fn fill(&self, offset: u64, length: u64, fua: bool, change: impl Fn(&mut [u8])) -> Result<(), Error> {
        let mut state = self.operate()?;
        let range = offset as usize..(offset + length) as usize;
        change(&mut state.seen[range.clone()]);
        if fua {
            change(&mut state.kept[range]);
        }
        Ok(())
    }
}

impl Blocks for Memory {
    fn size(&self) -> u64 {
        self.size
    }

    fn block_sizes(&self) -> BlockSizes {
        self.sizes
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        let state = self.state();
        if state.left == Some(0) {
            return Err(Error::PowerCut);
        }
        data.copy_from_slice(&state.seen[offset as usize..][..data.len()]);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Error> {
        self.fill(offset, data.len() as u64, fua, |bytes| bytes.copy_from_slice(data))
    }

    fn flush(&self) -> Result<(), Error> {
        let mut state = self.operate()?;
        let Copies { seen, kept, .. } = &mut *state;
        kept.copy_from_slice(seen);
        Ok(())
    }

    fn trim(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.zero(offset, length, true, false)
    }

    fn zero(&self, offset: u64, length: u64, _may_trim: bool, fua: bool) -> Result<(), Error> {
        self.fill(offset, length, fua, |bytes| bytes.fill(0))
    }

    fn cut_after(&self, operations: u64) {
        self.state().left = Some(operations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_keeps_what_was_flushed_and_fua() {
        let memory = Memory::new(4096);
        memory.write(0, &[1; 512], false).expect("a write");
        memory.flush().expect("a flush");
        memory.write(512, &[2; 512], true).expect("a write through");
        memory.write(1024, &[3; 512], false).expect("a write");
        memory.trim(0, 512).expect("a discard");
        memory.cut_after(0);
        assert_eq!(memory.read(0, &mut [0; 512]), Err(Error::PowerCut));
        memory.restart();
        let mut data = [9; 2048];
        memory.read(0, &mut data).expect("a read");
        let sectors: Vec<u8> = data.chunks(512).map(|sector| sector[0]).collect();
        assert_eq!(sectors, [1, 2, 0, 0], "the flushed discard only would have lasted");
    }

    #[test]
    fn the_operation_that_the_cut_falls_on_is_not_done() {
        let memory = Memory::new(4096);
        memory.cut_after(2);
        memory.write(0, &[1; 512], true).expect("the first has power");
        assert_eq!(memory.write(512, &[1; 512], true), Err(Error::PowerCut));
        assert_eq!(memory.flush(), Err(Error::PowerCut), "and it does not come back");
        assert_eq!(memory.kept()[..1024], [[1; 512], [0; 512]].concat());
    }

    #[test]
    fn requests_that_do_not_fit_are_named() {
        let memory = Memory::new(4096);
        let text = |offset, length| crate::blocks::check(&memory, "read", offset, length).map_err(|e| e.to_string());
        assert_eq!(text(3584, 512), Ok(()));
        assert_eq!(text(0, 0), Err("a read of 0 bytes at byte 0 is empty".into()));
        let unaligned = "a read of 512 bytes at byte 1 is not aligned to the sector of 512 bytes";
        assert_eq!(text(1, 512), Err(unaligned.into()));
        let over = |offset: u64| {
            format!("a read of 1024 bytes at byte {offset} reaches over the end of the device, which has 4096 bytes")
        };
        assert_eq!(text(3584, 1024), Err(over(3584)));
        assert_eq!(text(u64::MAX - 511, 1024), Err(over(u64::MAX - 511)));
    }
}
