//! Seeded generators. The same seed gives the same requests on every platform: whole-number arithmetic,
//! and `libm` where a logarithm or power is needed.
//!
//! A pattern says which slot of the footprint the next request goes to; a slot is `request_size` bytes.
//! To add one, write one file with a `Pattern` and add its line to [`GENERATORS`] and to `source`.

mod hot_cold;
mod mixed;
mod pareto;
mod sequential;
mod shuffled;
mod source;
mod uniform;
mod zipf;
mod zoned;

use base::{Choice, Selection};
use engine::Chance;

use crate::job::Law;

pub(crate) use source::{Batches, PatternSource, SourceParameters};

/// Addresses that are popular by a law, of which copies share a table.
#[derive(Clone)]
pub(crate) struct Places(std::sync::Arc<dyn PlacesByLaw>);

/// Addresses by a law that does not change as they are drawn.
pub(crate) trait PlacesByLaw: Send + Sync {
    /// The slot of the next request, below the number of slots.
    fn place(&self, stream: &mut Chance) -> u64;
}

impl Places {
    /// Of so many slots.
    pub fn new(law: Law, slots: u64) -> Places {
        Places(match law {
            Law::Zipf(z) => std::sync::Arc::new(zipf::Zipf::new(slots, z)),
            Law::Pareto(h) => std::sync::Arc::new(pareto::Pareto::new(slots, h)),
        })
    }

    /// The slot of the next request.
    pub fn next(&self, stream: &mut Chance) -> u64 {
        self.0.place(stream)
    }
}

/// Every generator.
pub static GENERATORS: &[Choice] = &[
    uniform::CHOICE,
    sequential::CHOICE,
    zipf::CHOICE,
    hot_cold::CHOICE,
    mixed::CHOICE,
    shuffled::CHOICE,
    pareto::CHOICE,
    zoned::CHOICE,
];

/// Where requests go.
pub(crate) trait Pattern: Send {
    /// The slot of the next request, below the number of slots.
    fn next(&mut self, stream: &mut Chance) -> u64;
}

/// The source with the named pattern inside its loop; each of its slots stands for `one_in` of a larger footprint. That changes Zipf's
/// law alone: the others are the same on any number of slots.
///
/// # Panics
/// If no generator has that name: the config reader takes names from [`GENERATORS`] only.
pub(crate) fn source(selection: &Selection, slots: u64, one_in: u64, parameters: SourceParameters) -> Box<dyn Batches> {
    match selection.name {
        "uniform" => Box::new(PatternSource::new(uniform::Uniform::new(slots), parameters)),
        "sequential" => Box::new(PatternSource::new(sequential::Sequential::new(slots), parameters)),
        "zipf" if one_in > 1 => {
            let folded = zipf::Folded::new(slots, one_in, selection.number("z"));
            Box::new(PatternSource::new(folded, parameters))
        }
        "zipf" => Box::new(PatternSource::new(zipf::Zipf::new(slots, selection.number("z")), parameters)),
        "hot-cold" => Box::new(PatternSource::new(
            hot_cold::HotCold::new(slots, selection.number("data"), selection.number("writes")),
            parameters,
        )),
        "mixed" => Box::new(PatternSource::new(
            mixed::Mixed::new(slots, selection.number("sequential"), selection.number("run")),
            parameters,
        )),
        "shuffled" => Box::new(PatternSource::new(shuffled::Shuffled::new(slots), parameters)),
        "pareto" => Box::new(PatternSource::new(pareto::Pareto::new(slots, selection.number("h")), parameters)),
        "zoned" => Box::new(PatternSource::new(zoned::Zoned::new(slots, |name| selection.number(name)), parameters)),
        name => panic!("no generator `{name}`"),
    }
}
