//! Unmodified programs run in the namespaces of a rack's nodes. The packets of ping, iperf3 and curl cross a 4x4 torus
//! of reliable R2C2. After the run, no namespace is left.
//!
//! Needs root, `ping`, `iperf3`, `curl` and `python3` (`make setup`). If one of these is missing, the test fails and
//! says so. If `RADDLE_NO_NAMESPACES` is set, the test does nothing and says so.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test that may say that it cannot run")]

use raddle_core::{Duration, NodeId, Rate};
use raddle_live::rack::ip::{Interface, IpHost, address};
use raddle_live::rack::{Config, Rack};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::builders;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn rack() -> Rack {
    let topology = builders::torus(&[4, 4], Rate::from_gbps(5), Duration::from_ns(100));
    let topology = Arc::new(topology.unwrap());
    let scheme = registry().transport("r2c2").unwrap();
    let mut settings = Settings::defaults(scheme.info.parameters);
    settings.set("reliable", Value::Flag(true));
    let plan = Plan { streams: true, ..Plan::new(&topology, "rps", &settings, 1) };
    let mut parts = registry().build(scheme, &plan, &registry().routing_defaults("rps")).unwrap();
    Rack::new(&topology, |id| (parts.node)(id), &[], &Config::default()).unwrap()
}

/// The longest time that a program may run, in seconds. A program over a rack that has failed would otherwise wait for
/// many minutes.
const TIME_LIMIT: &str = "60";

fn start(host: &IpHost, program: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", TIME_LIMIT, program]).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    host.namespace().spawn(command).unwrap_or_else(|why| panic!("{program} does not start: {why}"))
}

/// Runs a program, which must succeed. Returns its text on stdout.
fn run(host: &IpHost, program: &str, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = start(host, program, arguments).wait_with_output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(status.success(), "{program} {arguments:?}: {status}\n{stdout}\n{stderr}");
    stdout
}

#[test]
fn unmodified_programs_run_across_a_rack() {
    if std::env::var_os("RADDLE_NO_NAMESPACES").is_some() {
        eprintln!("not run: RADDLE_NO_NAMESPACES is set");
        return;
    }
    // Creates the file that a killed process would leave behind for a namespace. No process has an id as large as the
    // one in the file's name.
    let left = Path::new("/run/netns/raddle-4294967294-0");
    std::fs::create_dir_all("/run/netns").unwrap();
    std::fs::write(left, "").unwrap();
    let mut rack = rack();
    let nodes = [0, 5, 10, 15].map(NodeId);
    let hosts = nodes.map(|node| IpHost::new(rack.endpoint(node).unwrap(), &Interface::default()).unwrap());
    let paths: Vec<PathBuf> =
        hosts.iter().map(|host| Path::new("/run/netns").join(host.namespace().name())).collect();
    assert!(paths.iter().all(|path| path.exists()));
    assert!(!left.exists(), "what the dead have left is taken away");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let rack = &mut rack;
        let done = &done;
        scope.spawn(move || {
            rack.run(&mut (), |_| {
                if done.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        });
        // The rack's run must end even if a program fails.
        let finished = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| programs(&hosts, nodes)));
        done.store(true, Ordering::Relaxed);
        if let Err(failure) = finished {
            std::panic::resume_unwind(failure);
        }
    });
    drop(hosts);
    assert!(paths.iter().all(|path| !path.exists()), "nothing stays behind");
}

fn programs(hosts: &[IpHost; 4], nodes: [NodeId; 4]) {
    let [near, far, web, other] = hosts;
    let far_address = address(nodes[1]).to_string();
    // With `-w`, ping waits for all five answers even if the machine is busy.
    let ping = run(near, "ping", &["-c", "5", "-i", "0.05", "-w", "20", &far_address]);
    assert!(ping.contains("5 received"), "{ping}");

    let server = start(far, "iperf3", &["-s", "-1"]);
    // The client tries up to 100 times, because the server may not listen yet.
    let asks =
        format!("for i in $(seq 100); do iperf3 -c {far_address} -t 2 -J && exit 0; sleep 0.1; done; exit 1");
    let report = run(near, "bash", &["-c", &asks]);
    server.wait_with_output().unwrap();
    let bits = report.rsplit("\"bits_per_second\":").next().unwrap();
    let bits: f64 = bits.split(',').next().unwrap().trim().parse().unwrap();
    eprintln!("iperf3: {:.0} Mbit/s", bits / 1e6);
    assert!(bits > 1e6, "{report}");

    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(folder.path().join("file"), &content).unwrap();
    let at = folder.path().to_str().unwrap();
    let mut server = start(web, "python3", &["-m", "http.server", "8000", "--directory", at]);
    let url = format!("http://{}:8000/file", address(nodes[2]));
    let got = folder.path().join("got");
    run(
        other,
        "curl",
        &[
            "-sS",
            "--max-time",
            "20",
            "--retry",
            "20",
            "--retry-connrefused",
            "--retry-delay",
            "1",
            "-o",
            got.to_str().unwrap(),
            &url,
        ],
    );
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(std::fs::read(got).unwrap() == content, "what curl got is what the server has");
}
