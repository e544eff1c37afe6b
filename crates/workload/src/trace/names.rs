//! Numbers for devices that a trace calls by names.

/// More names than this are not told apart.
const NAMES: usize = 65_536;

/// Names in the order in which they appeared.
#[derive(Default)]
pub(super) struct Names(Vec<Box<[u8]>>);

impl Names {
    /// The number of a name, from 0.
    pub fn number(&mut self, name: &[u8]) -> u32 {
        // A trace names one or a few devices; the last one used is nearly always the next.
        let found = self.0.iter().rposition(|known| **known == *name);
        let index = found.unwrap_or_else(|| {
            if self.0.len() < NAMES {
                self.0.push(name.into());
            }
            self.0.len() - 1
        });
        index as u32
    }
}
