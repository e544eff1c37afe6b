//! The figures of each trace given, as JSON lines: `cargo run --release -p ftlab-workload --example trace_info -- FILE…`.

use std::process::ExitCode;

use workload::{TraceOptions, info};

fn main() -> ExitCode {
    for path in std::env::args().skip(1) {
        match info(&path, &TraceOptions::default()) {
            Ok(info) => println!("{}", serde_json::to_string(&info).expect("figures are serialisable")),
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
