//! The benchmark of record: how fast the engine is, beside the limit that memory sets on this machine.
//!
//! Every measurement is a process of its own, which this program starts, so that its CPU time and its
//! memory are whole-process figures. `docs/performance.md` says what is measured and holds the last results.

mod callgrind;
mod cases;
mod child;
mod drive_floor;
mod features;
mod floor;
mod instructions;
mod limit;
mod mechanisms;
mod probe;
mod report;
mod run;
mod traces;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use crate::cases::Case;
use crate::child::Execution;
use crate::run::RunPart;

/// The ways to fail; the text is for the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Failure(pub(crate) String);

impl Failure {
    /// A failure to read or write a file.
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Failure {
        Failure(format!("{}: {error}", path.display()))
    }
}

/// Measures the engine and says whether it meets its targets (exit code 1 when one is missed).
#[derive(Parser)]
#[command(name = "ftlab-bench")]
struct Arguments {
    /// The 24 GB device only.
    #[arg(long)]
    quick: bool,
    /// Print the results as JSON.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print the results as Markdown tables.
    #[arg(long)]
    markdown: bool,
    /// How often everything is measured; medians are reported.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    repeat: u32,
    /// Only measurements whose name contains this (and those they are compared with, if they match too). `2t` and `16t` are
    /// measured only so: a repetition takes one and twelve minutes or more, and 2.5 and 19 GB of memory.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Count the instructions per flash operation of one row of the engine, or of a drive or its floor per request, with valgrind.
    #[arg(long, value_name = "ROW", conflicts_with_all = ["quick", "json", "markdown", "only", "one"])]
    instructions: Option<String>,
    /// Make one measurement in this process and print it as JSON; how the program calls itself.
    #[arg(long, value_name = "NAME")]
    one: Option<String>,
    /// Requests that the host sends in that measurement of the engine, in place of the row's own number.
    #[arg(long, value_name = "N", requires = "one", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Have valgrind count the instructions of that measurement from so many requests on, and nothing else.
    #[arg(long, value_name = "N", requires = "requests", hide = true)]
    count_from: Option<u64>,
    /// Where device states and traces are kept while the program runs.
    #[arg(long, value_name = "DIR", hide = true)]
    scratch: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match (&arguments.one, &arguments.instructions) {
        (Some(name), _) => measure(name, &arguments).map(|()| true),
        (None, Some(name)) => instructions::count(name).map(|()| true),
        (None, None) => benchmark(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}

/// One measurement, in this process.
fn measure(name: &str, arguments: &Arguments) -> Result<(), Failure> {
    let case = find(name)?;
    if arguments.requests.is_some() && case.requests().is_none() {
        return Err(Failure(format!(
            "`--requests` is for rows of the engine and floors of drives, and `{name}` is none"
        )));
    }
    let own = arguments.scratch.is_none().then(Scratch::new).transpose()?;
    let scratch = match (&own, &arguments.scratch) {
        (Some(own), _) => &own.0,
        (None, given) => given.as_deref().unwrap_or(Path::new(".")),
    };
    child::provide(&case, scratch)?;
    let figures = match (arguments.count_from, arguments.requests) {
        (Some(from), Some(requests)) => case.count(scratch, RunPart { from, requests })?,
        _ => case.measure(scratch, arguments.requests)?,
    };
    println!("{}", serde_json::to_string(&figures).map_err(|error| Failure(error.to_string()))?);
    Ok(())
}

/// The measurement of that name.
fn find(name: &str) -> Result<Case, Failure> {
    Case::named(name)
        .ok_or_else(|| Failure(format!("no measurement is called `{name}`; the table of results names all")))
}

/// The whole benchmark. Returns whether every target was met.
fn benchmark(arguments: &Arguments) -> Result<bool, Failure> {
    let scratch = Scratch::new()?;
    let wanted = |case: &Case| arguments.only.as_ref().is_none_or(|part| case.name().contains(part.as_str()));
    let mut known = cases::all(arguments.quick);
    if arguments.only.is_some() && !arguments.quick {
        known.extend(cases::on_request().into_iter().filter(|case| is_asked_for(case, arguments)));
    }
    let cases: Vec<Case> = known.into_iter().filter(wanted).collect();
    if cases.is_empty() {
        let names: Vec<String> =
            cases::all(arguments.quick).iter().chain(&cases::on_request()).map(Case::name).collect();
        return Err(Failure(format!("no measurement has that in its name; there are: {}", names.join(", "))));
    }
    let mut samples: Vec<Vec<Execution>> = vec![Vec::new(); cases.len()];
    // Repetitions outside, measurements inside: what disturbs the machine for a while then disturbs all alike.
    for repetition in 1..=arguments.repeat {
        for (case, samples) in cases.iter().zip(&mut samples) {
            eprintln!("{repetition}/{} {}", arguments.repeat, case.name());
            samples.push(child::run(case, &scratch.0)?);
        }
    }
    let report = report::BenchReport::new(&cases, &samples);
    if arguments.json {
        println!("{}", report.json());
    } else if arguments.markdown {
        print!("{}", report.markdown());
    } else {
        print!("{}", report.text());
    }
    Ok(report.all_met())
}

/// True if a case that takes many minutes is asked for by its size.
fn is_asked_for(case: &Case, arguments: &Arguments) -> bool {
    let size = case.size().map_or("", cases::Size::name);
    arguments.only.as_ref().is_some_and(|part| part.contains(size))
}

/// A directory that goes away with its owner.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Failure> {
        let path = std::env::temp_dir().join(format!("ftlab-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| Failure::file(&path, &error))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that cannot be removed is left to whoever cleans the place of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
