//! With which reference voltages a page is read first, and next.

/// A policy of read levels. Steps of the retry table are numbered from the default voltages, 0, towards lower ones.
#[derive(Clone, Copy)]
pub struct ReadLevels {
    /// The name in a configuration.
    pub name: &'static str,
    /// One line for listings.
    pub doc: &'static str,
    first: fn(u32, u32) -> u32,
}

/// The policies of read levels; the first is the default.
pub static LEVELS: [ReadLevels; 3] = [
    ReadLevels {
        name: "last-good",
        doc: "a read begins with the step that was good for the block last, as drives do that remember it",
        first: |last_good, _| last_good,
    },
    ReadLevels { name: "default", doc: "every read begins with the default voltages", first: |_, _| 0 },
    ReadLevels {
        name: "matched",
        doc: "a read begins with the step that fits the age of the page, as if the drive knew it: the fewest retries",
        first: |_, fitting| fitting,
    },
];

impl ReadLevels {
    /// The policy of that name.
    pub(super) fn of(name: &str) -> ReadLevels {
        *LEVELS.iter().find(|level| level.name == name).expect("a registered policy of read levels")
    }

    /// The step with which a page is read first, where `last_good` was good for the block last, and `fitting` is nearest to what the
    /// levels of the page are.
    #[inline]
    pub(super) fn first(&self, last_good: u32, fitting: u32) -> u32 {
        (self.first)(last_good, fitting)
    }
}

/// The steps 0 to `last` from one on, outward: the nearest first, and of two the higher one.
pub(super) fn outward(from: u32, last: u32) -> impl Iterator<Item = u32> {
    let both = (1..=last.max(1)).flat_map(move |away| [from.checked_add(away), from.checked_sub(away)]);
    std::iter::once(from).chain(both.flatten().filter(move |&at| at <= last))
}
