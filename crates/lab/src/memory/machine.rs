//! The memory limit of an experiment. If the user sets no limit, it is the lowest of these: the memory available on the
//! machine, and the limits of this process's control group and of its ancestors (cgroup version 1 or 2).

use raddle_core::Bytes;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A memory limit, and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The limit.
    pub bytes: Bytes,
    /// The origin of the limit.
    pub origin: Origin,
}

/// The origin of a memory limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The memory available on the machine.
    Machine,
    /// The control group of this process, or an ancestor of this control group.
    ControlGroup,
    /// The user's `--memory`.
    User,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = match self.origin {
            Origin::Machine => "available on this machine",
            Origin::ControlGroup => "the limit of the cgroup",
            Origin::User => "the limit set by --memory",
        };
        write!(f, "{} ({origin})", super::estimate::show(self.bytes.0))
    }
}

impl Limit {
    /// The user's limit.
    #[must_use]
    pub const fn of_user(bytes: Bytes) -> Self {
        Self { bytes, origin: Origin::User }
    }

    /// The system's limit; `None` if it is unknown.
    #[must_use]
    pub fn of_system() -> Option<Self> {
        Self::read(Path::new("/proc"), Path::new("/sys/fs/cgroup"))
    }

    /// The lowest limit that the system's files give; `None` if they give none. `proc` is the folder `/proc`, and
    /// `groups` is the folder of control groups.
    fn read(proc: &Path, groups: &Path) -> Option<Self> {
        let machine = fs::read_to_string(proc.join("meminfo")).ok().and_then(|text| available(&text));
        let memberships = fs::read_to_string(proc.join("self/cgroup")).unwrap_or_default();
        let group = limits_of_groups(&memberships, groups).min();
        let limit = |origin| move |bytes| Self { bytes: Bytes(bytes), origin };
        let limits = machine.map(limit(Origin::Machine)).into_iter();
        limits.chain(group.map(limit(Origin::ControlGroup))).min_by_key(|limit| limit.bytes)
    }
}

/// `MemAvailable` in bytes: the memory that can be allocated without swapping (proc_meminfo(5)).
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// The limits of a process's control groups and of all their ancestors (cgroups(7)).
fn limits_of_groups(memberships: &str, root: &Path) -> impl Iterator<Item = u64> {
    let files = memberships.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or(""), fields.next().unwrap_or("/"));
        let (hierarchy, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            all if all.split(',').any(|one| one == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let group = hierarchy.join(path.trim_start_matches('/'));
        let around = group.ancestors().take_while(|group| group.starts_with(&hierarchy));
        around.map(|group| group.join(file)).collect::<Vec<PathBuf>>()
    });
    // `max`, or an invalid number, means no limit.
    let limit = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    files.collect::<Vec<_>>().into_iter().filter_map(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(files: &[(&str, &str)]) -> Option<Limit> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a file");
        }
        Limit::read(&folder.path().join("proc"), &folder.path().join("cgroup"))
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    2000 kB\n");

    fn limit(bytes: u64, origin: Origin) -> Option<Limit> {
        Some(Limit { bytes: Bytes(bytes), origin })
    }

    #[test]
    fn the_least_limit_holds_in_both_versions_of_control_groups() {
        assert_eq!(system(&[]), None);
        assert_eq!(system(&[MEMINFO]), limit(2_048_000, Origin::Machine));
        let member = ("proc/self/cgroup", "0::/user/run\n");
        let outer = ("cgroup/user/memory.max", "1000000\n");
        let inner = ("cgroup/user/run/memory.max", "max\n");
        assert_eq!(system(&[MEMINFO, member, outer, inner]), limit(1_000_000, Origin::ControlGroup));
        let member = ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/job\n");
        let first = ("cgroup/memory/job/memory.limit_in_bytes", "300000\n");
        let root = ("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(system(&[MEMINFO, member, first, root]), limit(300_000, Origin::ControlGroup));
        let other = ("cgroup/cpu,cpuacct/a/memory.limit_in_bytes", "1\n");
        assert_eq!(system(&[MEMINFO, member, other, root]), limit(2_048_000, Origin::Machine));
    }
}
