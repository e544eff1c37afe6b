//! Instructions per flash operation, counted by valgrind.
//!
//! A row runs twice, the second time with twice the requests. The difference of the instructions over the difference of
//! the operations is what the measured part costs: start, preconditioning and report are the same in both, and drop out.
//! Unlike times, the figure does not depend on what else the machine does.

use std::path::Path;
use std::process::Command;

use crate::cases::Case;
use crate::child::{self, Measurement};
use crate::{Failure, Scratch};

/// The shorter run sends this part of the row's requests: valgrind makes a program some fifty times slower.
const PART: u64 = 64;

/// Prints the figure of a row.
pub(crate) fn count(name: &str) -> Result<(), Failure> {
    let case = crate::find(name)?;
    let Some(requests) = case.requests() else {
        return Err(Failure(format!("`{name}` is no row of the engine: it has no flash operations")));
    };
    let scratch = Scratch::new()?;
    // Not under valgrind, which would take many minutes for it.
    child::provide(&case, &scratch.0)?;
    let requests = requests / PART;
    eprintln!("{name} under valgrind, with {requests} and with {} requests", 2 * requests);
    let short = under_valgrind(&case, &scratch.0, requests)?;
    let long = under_valgrind(&case, &scratch.0, 2 * requests)?;
    let operations = long.operations - short.operations;
    let per_operation = (long.instructions - short.instructions) / operations;
    println!("{name}: {per_operation:.1} instructions per flash operation, over {operations} operations");
    Ok(())
}

/// The work of a process.
struct ProcessWork {
    instructions: f64,
    operations: f64,
}

fn under_valgrind(case: &Case, scratch: &Path, requests: u64) -> Result<ProcessWork, Failure> {
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", scratch.join("callgrind.out").display()))
        .arg(child::own_path()?)
        .args(["--one", &case.name(), "--requests", &requests.to_string(), "--scratch"])
        .arg(scratch)
        .output()
        .map_err(|error| Failure(format!("valgrind cannot be started: {error}; it has to be installed")))?;
    let (told, heard) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let figures: Option<Measurement> = serde_json::from_str(&told).ok();
    let operations = figures.and_then(|figures| figures.get("operations"));
    match (collected(&heard), operations) {
        (Some(instructions), Some(operations)) if output.status.success() => {
            Ok(ProcessWork { instructions, operations })
        }
        _ => Err(Failure(format!("{} failed under valgrind:\n{heard}", case.name()))),
    }
}

/// The instructions that callgrind counted, from what it says at its end.
fn collected(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrind_says_what_it_counted() {
        let text = "==7== Callgrind, a call-graph generating cache profiler\n==7== \n==7== Events    : Ir\n\
                    ==7== Collected : 5193837\n==7== \n==7== I   refs:      5,193,837\n";
        assert_eq!(collected(text), Some(5_193_837.0));
        assert_eq!(collected("valgrind: no such file"), None);
    }
}
