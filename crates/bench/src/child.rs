//! Measurements as processes: what the whole process used, beside what it says of itself.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::cases::Case;

/// The report of a measurement on itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// Figures by name, in the order in which they are reported.
    pub(crate) values: Vec<(String, f64)>,
    /// Most memory that the process held, in MB of 10^6 bytes.
    pub(crate) peak_rss_mb: Option<f64>,
}

impl Measurement {
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }

    pub(crate) fn set(&mut self, name: impl Into<String>, value: f64) {
        self.values.push((name.into(), value));
    }
}

/// One execution of a measurement.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) figures: Measurement,
    /// User CPU time of the whole process, in seconds.
    pub(crate) user_s: f64,
    /// Time on the wall, in seconds.
    pub(crate) wall_s: f64,
}

/// Runs a measurement in a process of its own, after what it needs was made.
pub(crate) fn run(case: &Case, scratch: &Path) -> Result<Execution, Failure> {
    provide(case, scratch)?;
    execute(&case.name(), scratch)
}

/// Makes what a measurement needs (a device state, a trace), in another process, unless it is there already.
pub(crate) fn provide(case: &Case, scratch: &Path) -> Result<(), Failure> {
    if let Some(needed) = case.needs()
        && !needed.file(scratch).exists()
    {
        execute(&needed.name(), scratch)?;
    }
    Ok(())
}

fn execute(name: &str, scratch: &Path) -> Result<Execution, Failure> {
    let program = own_path()?;
    let started = std::time::Instant::now();
    let mut child = Command::new(program)
        .args(["--one", name, "--scratch"])
        .arg(scratch)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure(format!("{name} cannot be started: {error}")))?;
    let mut text = String::new();
    let read = child.stdout.take().map(|mut output| output.read_to_string(&mut text));
    let (success, user_s) = wait(&child);
    if !success || !matches!(read, Some(Ok(_))) {
        return Err(Failure(format!("the measurement {name} failed")));
    }
    let figures = serde_json::from_str(&text).map_err(|error| Failure(format!("{name} answered {text:?}: {error}")))?;
    Ok(Execution { figures, user_s, wall_s: started.elapsed().as_secs_f64() })
}

/// The path of this program.
pub(crate) fn own_path() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure(format!("the program's own path: {error}")))
}

/// Waits for a process: whether it succeeded, and its user CPU time in seconds.
fn wait(child: &Child) -> (bool, f64) {
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid `rusage`, which holds integers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for writes and not kept; the process is our own child, not waited for yet.
    let waited = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) };
    let user_s = usage.ru_utime.tv_sec as f64 + usage.ru_utime.tv_usec as f64 * 1e-6;
    (waited > 0 && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, user_s)
}
