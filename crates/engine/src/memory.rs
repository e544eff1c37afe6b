//! How much memory a process may still take, and what limits it: the machine, a control group, or the process's own
//! limits (`ulimit`). Linux says so in text files; where there are none nothing is known, and nothing is refused.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The memory that a process can still take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes.
    pub bytes: u64,
    /// The limit that leaves no more.
    pub limit: Limit,
}

/// The limits of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The memory that the machine has available.
    Machine,
    /// The limit of a control group, as a container has one.
    ControlGroup(PathBuf),
    /// `ulimit -v`: the address space.
    AddressSpace,
    /// `ulimit -d`: the data segment.
    Data,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Machine => f.write_str("the memory that the machine has available"),
            Limit::ControlGroup(file) => write!(f, "the control group's {}", file.display()),
            Limit::AddressSpace => f.write_str("`ulimit -v`, the address space"),
            Limit::Data => f.write_str("`ulimit -d`, the data segment"),
        }
    }
}

/// The memory that this process can still take; `None` where the system does not say.
pub fn room() -> Option<Room> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let status = read("/proc/self/status").unwrap_or_default();
    let mut rooms = Vec::new();
    if let Some(bytes) = read("/proc/meminfo").and_then(|text| kib(&text, "MemAvailable:")) {
        rooms.push(Room { bytes, limit: Limit::Machine });
    }
    if let Some(limits) = read("/proc/self/limits") {
        let own = [("Max address space", "VmSize:", Limit::AddressSpace), ("Max data size", "VmData:", Limit::Data)];
        rooms.extend(own.into_iter().filter_map(|(name, used, limit)| {
            let bytes = soft_limit(&limits, name)?.saturating_sub(kib(&status, used)?);
            Some(Room { bytes, limit })
        }));
    }
    if let Some(groups) = read("/proc/self/cgroup") {
        rooms.extend(of_groups(&groups, Path::new("/sys/fs/cgroup")));
    }
    rooms.into_iter().min_by_key(|room| room.bytes)
}

/// Bytes in words: `1.5 GB`.
pub fn in_words(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{:.1} GB", bytes as f64 / 1e9),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// The figure of a line such as `MemAvailable:  123 kB`, in bytes.
fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The soft limit in a line of `/proc/self/limits`; `None` where it is unlimited.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The room that the memory limits of the process's control groups leave, and those of the groups above them, in both versions
/// of control groups.
fn of_groups(groups: &str, root: &Path) -> Vec<Room> {
    let mut rooms = Vec::new();
    for line in groups.lines() {
        // `hierarchy:controllers:path`; the second version has hierarchy 0 and names no controllers.
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, files) = match controllers {
            "" => (root.to_owned(), ["memory.max", "memory.current", "inactive_file "]),
            names if names.split(',').any(|name| name == "memory") => {
                (root.join("memory"), ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "])
            }
            _ => continue,
        };
        // In a container the path may be one that only the machine outside sees; the group at the root is then ours.
        let below = root.join(path.trim_start_matches('/'));
        let above = below.ancestors().take_while(|directory| directory.starts_with(&root));
        rooms.extend(above.filter_map(|directory| of_group(directory, files)));
    }
    rooms
}

/// The room that one group's limit leaves. Cached files that are not in use make way.
fn of_group(directory: &Path, [limit, used, cached]: [&str; 3]) -> Option<Room> {
    let number = |name: &str| fs::read_to_string(directory.join(name)).ok()?.trim().parse::<u64>().ok();
    let file = directory.join(limit);
    let most = number(limit)?;
    let statistics = fs::read_to_string(directory.join("memory.stat")).unwrap_or_default();
    let cached = statistics.lines().find_map(|line| line.strip_prefix(cached)?.trim().parse::<u64>().ok());
    let used = number(used)?.saturating_sub(cached.unwrap_or(0));
    Some(Room { bytes: most.saturating_sub(used), limit: Limit::ControlGroup(file) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_proc() {
        let meminfo = "MemTotal:       24627572 kB\nMemFree:        20885884 kB\nMemAvailable:   23500352 kB\n";
        assert_eq!(kib(meminfo, "MemAvailable:"), Some(23_500_352 * 1024));
        assert_eq!(kib("MemTotal: 5 kB\n", "MemAvailable:"), None);
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max data size             unlimited            unlimited            bytes     \n\
                      Max address space         2147483648           unlimited            bytes     \n";
        assert_eq!(soft_limit(limits, "Max address space"), Some(1 << 31));
        assert_eq!(soft_limit(limits, "Max data size"), None);
    }

    /// A tree of control groups; removed when dropped.
    struct Groups(PathBuf);

    impl Groups {
        fn new(name: &str, files: &[(&str, &str)]) -> Groups {
            let root = std::env::temp_dir().join(format!("ftlab-groups-{}-{name}", std::process::id()));
            for (file, text) in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Groups(root)
        }

        fn least(&self, groups: &str) -> Option<(u64, PathBuf)> {
            let least = of_groups(groups, &self.0).into_iter().min_by_key(|room| room.bytes)?;
            let Limit::ControlGroup(file) = least.limit else { panic!("{least:?}") };
            Some((least.bytes, file.strip_prefix(&self.0).unwrap().to_owned()))
        }
    }

    impl Drop for Groups {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_tightest_group_on_the_way_up_counts() {
        let groups = Groups::new(
            "v2",
            &[
                ("a/memory.max", "1000000\n"),
                ("a/memory.current", "900000\n"),
                ("a/memory.stat", "anon 1\ninactive_file 500000\nactive_file 7\n"),
                ("a/b/memory.max", "700000\n"),
                ("a/b/memory.current", "50000\n"),
                ("a/c/memory.max", "max\n"),
                ("a/c/memory.current", "50000\n"),
            ],
        );
        assert_eq!(groups.least("0::/a/b\n"), Some((600_000, "a/memory.max".into())));
        assert_eq!(groups.least("0::/a/c\n"), Some((600_000, "a/memory.max".into())));
        assert_eq!(groups.least("0::/elsewhere\n"), None);
        assert_eq!(groups.least("no such line"), None);
    }

    #[test]
    fn the_first_version_has_a_tree_for_memory() {
        let groups = Groups::new(
            "v1",
            &[
                ("memory/memory.limit_in_bytes", "5000\n"),
                ("memory/memory.usage_in_bytes", "7000\n"),
                ("memory/x/memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory/x/memory.usage_in_bytes", "100\n"),
                ("cpu/memory.limit_in_bytes", "1\n"),
            ],
        );
        let lines = "3:cpu,cpuacct:/x\n2:memory:/x\n";
        assert_eq!(groups.least(lines), Some((0, "memory/memory.limit_in_bytes".into())));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_room() {
        let room = room().expect("Linux says");
        assert!(room.bytes > 1 << 20, "{room:?}");
    }
}
