//! The shared memory segments of endpoints of the provider `shm`. libfabric creates one segment for each endpoint, and
//! removes it with the endpoint. A killed process leaves its segments behind. The next process that opens a domain
//! removes them.
//!
//! A segment's name is `raddle-NAMESPACE-PROCESS:…`. The name contains the PID namespace, because processes of another
//! PID namespace may share the folder, and their process numbers mean nothing in this namespace. Only segments of the
//! process's own namespace are removed.

use std::fs;
use std::path::Path;

/// The folder of the system's segments (shm_overview(7)).
const FOLDER: &str = "/dev/shm";

/// Returns the prefix of the names of this PID namespace's segments, or `None` if the system has no namespaces.
fn own() -> Option<String> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let number: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    Some(format!("raddle-{number}-"))
}

/// Returns the name of this process's segments, without the suffix that libfabric adds.
pub(super) fn name() -> String {
    format!("{}{}", own().unwrap_or_else(|| "raddle-0-".to_owned()), std::process::id())
}

/// Removes the segments of processes that no longer run.
pub(super) fn forget_the_dead() {
    let (Some(own), Ok(segments)) = (own(), fs::read_dir(FOLDER)) else { return };
    for segment in segments.filter_map(Result::ok) {
        let name = segment.file_name().into_string().unwrap_or_default();
        if process_of(&name, &own).is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_file(segment.path());
        }
    }
}

/// Returns the number of the process that created a segment, if the segment's name has the prefix `own`.
fn process_of<'a>(segment: &'a str, own: &str) -> Option<&'a str> {
    let (process, _) = segment.strip_prefix(own)?.split_once(':')?;
    process.parse::<u32>().is_ok().then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Domain, Options, Provider};

    #[test]
    fn segments_go_with_their_process() {
        let own = own().expect("a namespace");
        // No process has this number: the kernel's process numbers are less than 2^22 = 4,194,304.
        let dead = Path::new(FOLDER).join(format!("{own}4194999:0:0"));
        let others = ["raddle-1-4194998:0:0".to_owned(), format!("{own}x:0:0"), "4194997:0:0".to_owned()];
        let others = others.map(|name| Path::new(FOLDER).join(name));
        for path in others.iter().chain([&dead]) {
            fs::write(path, "").expect("a file");
        }
        let domain =
            Domain::open(&Options { provider: Provider::Shm, ..Options::default() }).expect("a domain");
        assert!(!dead.exists(), "of a process that is dead");
        let is_ours = |name: &str| process_of(name, &own) == Some(&std::process::id().to_string());
        let ours = || {
            let names = fs::read_dir(FOLDER)
                .expect("the folder")
                .filter_map(|file| file.ok()?.file_name().into_string().ok());
            names.filter(|name| is_ours(name)).count()
        };
        assert_eq!(ours(), 1, "that of the domain stays");
        drop(domain);
        assert_eq!(ours(), 0);
        for path in others {
            fs::remove_file(path).expect("others' files are left alone");
        }
    }
}
