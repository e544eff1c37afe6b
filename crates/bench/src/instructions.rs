//! Instructions per flash operation, or of a drive per request of its host, counted by valgrind.
//!
//! A row runs twice, the second time with twice the requests. The difference of the instructions over the difference of
//! the operations is what the measured part costs: start, preconditioning and report are the same in both, and drop out.
//! Unlike times, the figure does not depend on what else the machine does.
//!
//! A drive first fills its write buffer, so it runs once, and valgrind counts in a part of the run alone ([`crate::callgrind`]). So it does
//! where a state is read.

use std::path::Path;
use std::process::Command;

use crate::cases::Case;
use crate::child::{self, Measurement};
use crate::features::STEP;
use crate::{Failure, Scratch};

/// The shorter run sends this part of the row's requests: valgrind makes a program some fifty times slower.
const PART: u64 = 64;

/// Prints the figure of a row.
pub(crate) fn count(name: &str) -> Result<(), Failure> {
    let case = crate::find(name)?;
    let scratch = Scratch::new()?;
    // Not under valgrind, which would take many minutes for it.
    child::provide(&case, &scratch.0)?;
    match case {
        Case::Drive(run) => of_requests(&case, &scratch.0, run.step()),
        Case::DriveFloor(_) => of_requests(&case, &scratch.0, STEP),
        Case::LoadState => of_units(&case, &scratch.0),
        _ => of_operations(&case, &scratch.0),
    }
}

fn of_operations(case: &Case, scratch: &Path) -> Result<(), Failure> {
    let name = case.name();
    let Some(requests) = case.requests() else {
        return Err(Failure(format!("`{name}` is no row of the engine: it has no flash operations")));
    };
    let requests = requests / PART;
    eprintln!("{name} under valgrind, with {requests} and with {} requests", 2 * requests);
    let short = under_valgrind(case, scratch, requests)?;
    let long = under_valgrind(case, scratch, 2 * requests)?;
    let operations = long.operations - short.operations;
    let per_operation = (long.instructions - short.instructions) / operations;
    println!("{name}: {per_operation:.1} instructions per flash operation, over {operations} operations");
    Ok(())
}

/// The figure of a row whose requests are counted, so many of them.
fn of_requests(case: &Case, scratch: &Path, requests: u64) -> Result<(), Failure> {
    let name = case.name();
    let beside = case.measure(scratch, Some(requests))?;
    let get = |name: &str| beside.get(name).unwrap_or(f64::NAN);
    let from = get("from");
    eprintln!("{name} under valgrind, {requests} requests behind {from}");
    let options = ["--requests", &requests.to_string(), "--count-from", &format!("{from:.0}")].map(String::from);
    let (instructions, figures) = valgrind(case, scratch, "--instr-atstart=no", &options)?;
    let counted = figures.get("requests").unwrap_or(f64::NAN);
    println!("{name}: {:.0} instructions per request of the host, over {counted} requests", instructions / counted);
    let named = [
        ("events_per_request", "events"),
        ("turns_per_request", "turns of the loop"),
        ("units_per_request", "units of 4 KiB programmed"),
        ("operations_per_request", "flash operations"),
    ];
    let found = named.iter().filter_map(|(figure, name)| Some(format!("{:.2} {name}", beside.get(figure)?)));
    println!("a request: {}; WAF {:.3}, {:.0} IOPS", found.collect::<Vec<_>>().join(", "), get("waf"), get("iops"));
    Ok(())
}

/// The figure of reading a state, with what a request takes behind that.
fn of_units(case: &Case, scratch: &Path) -> Result<(), Failure> {
    let options = ["--requests", "1", "--count-from", "0"].map(String::from);
    let (instructions, figures) = valgrind(case, scratch, "--instr-atstart=no", &options)?;
    let get = |name: &str| figures.get(name).unwrap_or(f64::NAN);
    let (units, bytes) = (get("units"), get("bytes_per_unit"));
    println!(
        "{}: {:.1} instructions per unit, over {units} units of {bytes:.2} bytes",
        case.name(),
        instructions / units
    );
    Ok(())
}

/// The work of a process.
struct ProcessWork {
    instructions: f64,
    operations: f64,
}

fn under_valgrind(case: &Case, scratch: &Path, requests: u64) -> Result<ProcessWork, Failure> {
    let options = ["--requests".into(), requests.to_string()];
    let (instructions, figures) = valgrind(case, scratch, "--instr-atstart=yes", &options)?;
    let operations = figures.get("operations");
    let operations = operations.ok_or_else(|| Failure(format!("{} counts no flash operations", case.name())))?;
    Ok(ProcessWork { instructions, operations })
}

/// Makes a measurement under callgrind. Returns the instructions that this counted, and what the measurement says of itself.
fn valgrind(case: &Case, scratch: &Path, at_start: &str, options: &[String]) -> Result<(f64, Measurement), Failure> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", at_start])
        .arg(format!("--callgrind-out-file={}", scratch.join("callgrind.out").display()))
        .arg(child::own_path()?)
        .args(["--one", &case.name()])
        .args(options)
        .arg("--scratch")
        .arg(scratch)
        .output()
        .map_err(|error| Failure(format!("valgrind cannot be started: {error}; it has to be installed")))?;
    let (told, heard) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    match (collected(&heard), serde_json::from_str(&told)) {
        (Some(instructions), Ok(figures)) if output.status.success() => Ok((instructions, figures)),
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
