//! What a request of each generator costs: nanoseconds, best of five, over a footprint of 30 million pages.
//!
//! `cargo run --release -p ftlab-workload --example generator_speed`

use std::time::Instant;

use base::{Duration, Selection};
use config::model::Generator;
use workload::{GENERATORS, Workload};

const FOOTPRINT: u64 = 30_000_000 * 8192;
const REQUESTS: usize = 20_000_000;

/// Nanoseconds per request, as the device pulls them.
fn measure(pattern: Selection) -> f64 {
    let generator = Generator {
        pattern,
        request_size: 8192,
        read_fraction: 0.0,
        footprint: FOOTPRINT,
        interval: Duration::ZERO,
        poisson: false,
        idle_every: 0,
        idle_for: Duration::ZERO,
    };
    let mut workload = Workload::aging(&generator, FOOTPRINT, 1).expect("the footprint fits the device");
    let mut batch = Vec::with_capacity(256);
    let begin = Instant::now();
    for _ in 0..REQUESTS / 256 {
        batch.clear();
        workload.fill(&mut batch, 256).expect("generators do not fail");
        std::hint::black_box(&batch);
    }
    begin.elapsed().as_secs_f64() * 1e9 / REQUESTS as f64
}

fn main() {
    for choice in GENERATORS {
        let best = (0..5).map(|_| measure(Selection::default_of(choice))).fold(f64::INFINITY, f64::min);
        println!("{best:6.2} ns  {}", choice.name);
    }
}
