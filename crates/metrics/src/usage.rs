//! The cost of a run for the machine: the only figures of a report that differ from one run to the next.

use std::time::Instant as WallInstant;

use serde::Serialize;

/// Cost of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Usage {
    /// Wall time in seconds.
    pub wall_s: f64,
    /// CPU time of the thread, user and system, in seconds: several runs may share a process.
    pub cpu_s: f64,
    /// Most memory that the whole process ever held, in MB of 10^6 bytes; `None` where the system does not say.
    pub peak_rss_mb: Option<f64>,
}

/// Measures from its start, on the thread that started it.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    wall: WallInstant,
    cpu_s: f64,
}

impl Stopwatch {
    /// Begins now.
    pub fn start() -> Stopwatch {
        Stopwatch { wall: WallInstant::now(), cpu_s: thread_cpu_s() }
    }

    /// The cost so far. Call it on the thread that called [`Stopwatch::start`].
    pub fn usage(&self) -> Usage {
        Usage {
            wall_s: self.wall.elapsed().as_secs_f64(),
            cpu_s: (thread_cpu_s() - self.cpu_s).max(0.0),
            peak_rss_mb: peak_rss_mb(),
        }
    }
}

/// CPU time of the calling thread in seconds.
fn thread_cpu_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes; the call keeps no pointer to it.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } != 0;
    if failed { 0.0 } else { time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9 }
}

/// The process's largest resident set. Linux keeps `getrusage`'s figure across `exec`, so that a small
/// program shows the size of whoever started it; the high-water mark of `/proc` belongs to the program alone.
fn peak_rss_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok();
    status.as_deref().and_then(high_water_mb).or_else(peak_rss_of_rusage)
}

/// `VmHWM` of a `/proc` status text.
fn high_water_mb(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

/// The figure of `getrusage`, for systems without `/proc`.
fn peak_rss_of_rusage() -> Option<f64> {
    // SAFETY: all-zero is a valid `rusage`, which the call overwrites; it keeps no pointer to it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        if libc::getrusage(libc::RUSAGE_SELF, &mut usage) != 0 {
            return None;
        }
        usage
    };
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1.0 } else { 1024.0 };
    Some(usage.ru_maxrss as f64 * unit / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn work_costs_time_and_memory() {
        let watch = Stopwatch::start();
        let mut data = vec![1u64; 4 << 20];
        while watch.usage().cpu_s < 0.01 {
            data.iter_mut().for_each(|x| *x = black_box(*x).wrapping_mul(3));
        }
        let usage = watch.usage();
        assert!(usage.wall_s > 0.0);
        assert!(usage.peak_rss_mb.is_some_and(|mb| mb > 33.0), "32 MiB were touched: {usage:?}");
    }

    #[test]
    fn the_high_water_mark_is_in_megabytes() {
        let status = "Name:\tftlab\nVmPeak:\t  99999 kB\nVmHWM:\t    2000 kB\nVmRSS:\t    1000 kB\n";
        assert_eq!(high_water_mb(status), Some(2.048));
        assert_eq!(high_water_mb("VmRSS:\t 1 kB\n"), None);
        assert!(peak_rss_of_rusage().is_some_and(|mb| mb > 0.5));
    }

    #[test]
    fn the_work_of_other_threads_is_theirs() {
        let watch = Stopwatch::start();
        let other = std::thread::spawn(|| {
            let watch = Stopwatch::start();
            while watch.usage().cpu_s < 0.2 {
                black_box(0);
            }
        });
        other.join().unwrap();
        assert!(watch.usage().cpu_s < 0.1);
    }
}
