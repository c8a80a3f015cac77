//! Tests in which several machines run one rack. Each machine is a process here.

use crate::party::{folder, said, start};
use std::fs;

#[test]
fn an_address_without_a_secret_is_refused() {
    let folder = folder();
    fs::write(folder.path().join("empty"), "").unwrap();
    for arguments in ["--listen 127.0.0.1:7", "--join 127.0.0.1:7", "--join 127.0.0.1:7 --secret empty"] {
        let output = start(folder.path(), &format!("--nodes 0-7 {arguments}")).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let reason = if cfg!(feature = "libfabric") { "needs a secret" } else { "built without libfabric" };
        assert!(said(&output).contains(reason), "{}", said(&output));
        assert!(said(&output).contains("--secret FILE") == cfg!(feature = "libfabric"), "{}", said(&output));
    }
}

#[test]
fn what_is_neither_an_address_nor_a_path_is_refused() {
    let folder = folder();
    let output = start(folder.path(), "--nodes 0-7 --listen 127.0.0.1:port").wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("is not an address with a port"), "{}", said(&output));
}

#[cfg(feature = "libfabric")]
mod with_libfabric {
    use super::*;
    use crate::shell::names;
    use std::net::TcpListener;
    use std::path::Path;
    use std::time::Duration;

    /// A free address of this machine, at which no process listens.
    fn address() -> String {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().to_string()
    }

    fn secret(folder: &Path) {
        fs::write(folder.join("secret"), "known to all").unwrap();
    }

    /// Names of the shared-memory segments that Raddle processes on this machine have made.
    fn segments() -> Vec<String> {
        names(Path::new("/dev/shm")).into_iter().filter(|name| name.starts_with("raddle-")).collect()
    }

    fn run_to_success(provider: &str) {
        let folder = folder();
        secret(folder.path());
        let at = address();
        let both = format!("--secret secret --set engine.provider={provider}");
        let joins = ["--nodes 0-4", "--nodes 12-15"]
            .map(|nodes| start(folder.path(), &format!("{nodes} --join {at} {both}")));
        let host = start(folder.path(), &format!("--nodes 5-11 --listen {at} {both} --out done"));
        let own = [host.id(), joins[0].id(), joins[1].id()];
        let output = host.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert!(said(&output).contains("50 of 50 flows delivered"), "{}", said(&output));
        assert!(said(&output).contains(" 0 payloads wrong"), "{}", said(&output));
        for join in joins {
            let output = join.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
            assert!(
                said(&output).contains("the process started with --listen has the results"),
                "{}",
                said(&output)
            );
        }
        assert_eq!(names(folder.path()), ["done", "rack.toml", "secret"]);
        let is_own = |name: &String| own.iter().any(|id| name.contains(&format!("-{id}:")));
        assert_eq!(segments().into_iter().filter(is_own).count(), 0, "no shared memory is left");
    }

    #[test]
    fn three_machines_run_one_rack_over_tcp() {
        run_to_success("tcp");
    }

    #[test]
    fn three_machines_run_one_rack_over_shared_memory() {
        run_to_success("shm");
    }

    #[test]
    fn whoever_does_not_know_the_secret_is_sent_away() {
        let folder = folder();
        secret(folder.path());
        fs::write(folder.path().join("guess"), "a guess").unwrap();
        let at = address();
        let host = start(folder.path(), &format!("--nodes 0-7 --listen {at} --secret secret --out none"));
        let stranger = start(folder.path(), &format!("--nodes 8-15 --join {at} --secret guess"));
        let output = stranger.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        let refusal = "the listening process does not know the secret";
        assert!(said(&output).contains(refusal), "{}", said(&output));
        let fitting = start(folder.path(), &format!("--nodes 8-15 --join {at} --secret secret"));
        assert!(fitting.wait_with_output().unwrap().status.success());
        assert!(host.wait_with_output().unwrap().status.success());
    }

    /// Within seconds, the other machines report which nodes they have lost. The next process that opens an endpoint
    /// removes the shared memory of the killed process.
    #[test]
    fn a_machine_that_is_killed_ends_the_run_of_the_others() {
        for provider in ["tcp", "shm"] {
            let folder = folder();
            secret(folder.path());
            let at = address();
            let both =
                format!("--secret secret --set engine.provider={provider} --set engine.dilation=10000");
            let mut guest = start(folder.path(), &format!("{both} --nodes 8-15 --join {at}"));
            let other = start(folder.path(), &format!("{both} --nodes 4-7 --join {at}"));
            let host = start(folder.path(), &format!("{both} --nodes 0-3 --listen {at} --out none"));
            std::thread::park_timeout(Duration::from_millis(2_500));
            guest.kill().unwrap();
            let killed = guest.id();
            guest.wait().unwrap();
            let (told, waits) = std::sync::mpsc::channel();
            let waiting = std::thread::spawn(move || {
                for left in [host, other] {
                    told.send(left.wait_with_output().unwrap()).unwrap();
                }
            });
            for _ in 0..2 {
                let output = waits.recv_timeout(Duration::from_secs(8)).expect("the others must end in 8 s");
                assert_eq!(output.status.code(), Some(3), "{}", said(&output));
                assert!(said(&output).contains("lost the process of nodes 8-15"), "{}", said(&output));
            }
            waiting.join().unwrap();
            assert_eq!(names(folder.path()), ["rack.toml", "secret"]);
            // `raddle doctor` opens an endpoint.
            let doctor =
                std::process::Command::new(env!("CARGO_BIN_EXE_raddle")).arg("doctor").output().unwrap();
            assert!(doctor.status.success());
            let left = segments().into_iter().find(|name| name.contains(&format!("-{killed}:")));
            assert!(provider == "tcp" || left.is_none(), "{left:?}");
        }
    }
}
