//! Where the power goes: `--cut-at`.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::blocks::{BlockSizes, Blocks, Error, Extent, LiveFigures};

/// Largest operation that `random:SEED` cuts at, as a power of two.
const RANDOM_BITS: u32 = 20;

/// A moment at which the power goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutAt {
    /// During this operation of the flash, counted from 1 when the device is opened.
    Operation(u64),
    /// When the host's flush of this number comes, before it has done anything; the first is 1.
    Flush(u64),
}

impl FromStr for CutAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let counted = |number: &str| number.parse().ok().filter(|number| *number > 0);
        let cut = match text.split_once(':') {
            None if text == "on-flush" => Some(Self::Flush(1)),
            None => counted(text).map(Self::Operation),
            Some(("on-flush", number)) => counted(number).map(Self::Flush),
            Some(("random", seed)) => seed.parse().ok().map(Self::random),
            Some(_) => None,
        };
        cut.ok_or_else(|| {
            let expected = "a number of flash operations from 1 on, `random:SEED`, `on-flush` or `on-flush:N`";
            format!("`{}` is no moment to cut the power; expected {expected}", text.escape_debug())
        })
    }
}

impl CutAt {
    /// An operation that depends on the seed alone. Each power of two up to 2^20 is as likely, so that early operations
    /// get their share.
    pub fn random(seed: u64) -> Self {
        let drawn = mixed(seed);
        let bits = drawn % u64::from(RANDOM_BITS);
        let low = 1 << bits;
        Self::Operation(low + (drawn >> 32) % low)
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
fn mixed(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A device whose power goes at a given moment.
pub struct Cut {
    inner: Arc<dyn Blocks>,
    /// Flushes until the power goes; 0 where it does not go by them.
    flushes: AtomicU64,
}

impl Cut {
    /// Arms the cut on a device that was just opened.
    pub fn new(inner: Arc<dyn Blocks>, at: CutAt) -> Self {
        let flushes = match at {
            CutAt::Flush(number) => number,
            CutAt::Operation(number) => {
                inner.cut_after(number);
                0
            }
        };
        Self { inner, flushes: AtomicU64::new(flushes) }
    }
}

impl Blocks for Cut {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn block_sizes(&self) -> BlockSizes {
        self.inner.block_sizes()
    }

    fn read_only(&self) -> bool {
        self.inner.read_only()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        self.inner.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Error> {
        self.inner.write(offset, data, fua)
    }

    fn flush(&self) -> Result<(), Error> {
        let counted = |left: u64| left.checked_sub(1);
        if self.flushes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted) == Ok(1) {
            self.inner.cut_after(0);
        }
        self.inner.flush()
    }

    fn trim(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.inner.trim(offset, length)
    }

    fn zero(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<(), Error> {
        self.inner.zero(offset, length, may_trim, fua)
    }

    fn extents(&self, offset: u64, length: u64, most: usize) -> Result<Vec<Extent>, Error> {
        self.inner.extents(offset, length, most)
    }

    fn cut_after(&self, operations: u64) {
        self.inner.cut_after(operations);
    }

    fn figures(&self) -> LiveFigures {
        self.inner.figures()
    }

    fn close(&self) -> Result<(), Error> {
        self.inner.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[test]
    fn moments_are_read() {
        assert_eq!("7".parse(), Ok(CutAt::Operation(7)));
        assert_eq!("on-flush".parse(), Ok(CutAt::Flush(1)));
        assert_eq!("on-flush:3".parse(), Ok(CutAt::Flush(3)));
        assert_eq!("random:7".parse(), Ok(CutAt::random(7)));
        for wrong in ["", "0", "-1", "on-flush:0", "random:", "random", "now", "7:7"] {
            let text = wrong.parse::<CutAt>().expect_err("no moment");
            assert!(text.starts_with(&format!("`{wrong}` is no moment")), "{text}");
        }
    }

    #[test]
    fn random_moments_cover_all_sizes_and_stay_what_they_were() {
        let operation = |seed| match CutAt::random(seed) {
            CutAt::Operation(number) => number,
            CutAt::Flush(_) => unreachable!("random cuts are operations"),
        };
        let mut seen = [0; RANDOM_BITS as usize];
        (0..2000).for_each(|seed| seen[operation(seed).ilog2() as usize] += 1);
        assert!(seen.iter().all(|&times| (60..140).contains(&times)), "{seen:?}");
        assert_eq!([0, 1, 2].map(operation), [43_065, 44, 1502]);
    }

    #[test]
    fn the_power_goes_at_the_second_flush() {
        let memory = Arc::new(Memory::new(4096));
        let device = Cut::new(memory.clone(), CutAt::Flush(2));
        device.write(0, &[1; 512], false).expect("power");
        device.flush().expect("the first flush has power");
        device.write(0, &[2; 512], false).expect("power");
        assert_eq!(device.flush(), Err(Error::PowerCut));
        assert_eq!(memory.kept()[0], 1, "the second flush kept nothing");
        assert_eq!(device.close(), Err(Error::PowerCut), "and the power does not come back");
    }
}
