//! Pending events, and dies that wait for one.

use super::{LEAVES, NEVER};

/// Pending events: a tournament over times, with the leaf in the low bits.
pub(super) struct Events([u64; 2 * LEAVES as usize]);

impl Events {
    /// None.
    pub(super) const NONE: Events = Events([NEVER; 2 * LEAVES as usize]);

    #[inline(always)]
    pub(super) fn set(&mut self, leaf: u32, at: u64) {
        let mut node = (LEAVES + leaf) as usize;
        self.0[node] = if at == NEVER { NEVER } else { at * u64::from(LEAVES) + u64::from(leaf) };
        while node > 1 {
            self.0[node / 2] = self.0[node].min(self.0[node ^ 1]);
            node /= 2;
        }
    }

    #[inline(always)]
    pub(super) fn first(&self) -> (u64, u32) {
        (self.0[1] / u64::from(LEAVES), (self.0[1] % u64::from(LEAVES)) as u32)
    }
}

/// Dies that wait for a channel, in the order of asking.
#[derive(Clone, Default)]
pub(super) struct Asking {
    dies: u32,
    pub(super) count: u32,
}

impl Asking {
    pub(super) fn push(&mut self, die: u32) {
        self.dies |= die << (8 * self.count);
        self.count += 1;
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        let die = self.dies & 0xff;
        self.count = self.count.checked_sub(1)?;
        self.dies >>= 8;
        Some(die)
    }
}
