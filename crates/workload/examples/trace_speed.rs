//! How fast traces are read: millions of requests per second of each file given, best of five passes.
//!
//! `cargo run --release -p ftlab-workload --example trace_speed -- FILE…`; plain files in the page cache
//! measure the parsers, packed ones the decoders as well.

use std::process::ExitCode;
use std::time::Instant;

use workload::{Trace, TraceError, TraceOptions};

fn pass(path: &str) -> Result<(&'static str, u64), TraceError> {
    let mut trace = Trace::open(path, &TraceOptions { skip_bad: true, ..TraceOptions::default() })?;
    let mut batch = Vec::with_capacity(1024);
    let mut requests = 0;
    while trace.fill(&mut batch, 1024)? > 0 {
        requests += batch.len() as u64;
        std::hint::black_box(&batch);
        batch.clear();
    }
    Ok((trace.format().name, requests))
}

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        let mut best = f64::INFINITY;
        let mut found = ("", 0);
        for _ in 0..5 {
            let begin = Instant::now();
            match pass(&path) {
                Ok(result) => found = result,
                Err(error) => {
                    eprintln!("error: {error}");
                    return ExitCode::FAILURE;
                }
            }
            best = best.min(begin.elapsed().as_secs_f64());
        }
        let (format, requests) = found;
        println!("{:8.2} M requests/s  {format:10} {requests:>9} requests  {path}", requests as f64 / best * 1e-6);
    }
    ExitCode::SUCCESS
}
