//! Unmodified programs (ping, iperf3, curl) run at the hosts of a switched fabric while a link fails.
//!
//! Needs root, TAP interfaces, `ping`, `iperf3`, `curl`, `tshark`, `python3`, `clang` and `bpftool` (`make setup`). If
//! one of them is missing, the tests fail and say so. If `RADDLE_NO_NAMESPACES` is set, the tests that need namespaces
//! do nothing and say so. The BPF test also does this if the kernel has no BTF.

#![expect(clippy::print_stderr, reason = "tests that may say that they cannot run")]

use crate::shell::command_of;
use raddle_records::Table;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

const HOSTS: u32 = 4;

/// Two leaves and two spines. The link between leaf 4 and spine 6 is down from second 4 to second 7.
const LEAF_SPINE: &str = r#"[topology]
kind = "folded_clos"
leaves = 2
spines = 2
hosts_per_leaf = 2
link_rate = "100 Mbps"
link_delay = "10 us"

[scheme]
transport = "tcp-cubic"
queue = { kind = "fifo", packets = 100 }

[engine]
hosts = "namespaces"

[[failure]]
link = [4, 6]
at = "4 s"
repair = "7 s"
"#;

/// Only one rack runs at a time, because the threads of a rack poll without pause, and the test's programs need the
/// other cores.
static MACHINE: Mutex<()> = Mutex::new(());

fn cannot_run() -> bool {
    let cannot = std::env::var_os("RADDLE_NO_NAMESPACES").is_some();
    if cannot {
        eprintln!("NOT RUN: RADDLE_NO_NAMESPACES is set");
    }
    cannot
}

/// A live run. Dropping this value kills the run, so that a failed test leaves no run behind.
struct Run {
    process: Child,
    folder: TempDir,
    _machine: MutexGuard<'static, ()>,
}

impl Run {
    /// Starts a run, and waits until its hosts exist.
    fn start(arguments: &str) -> Self {
        let machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("fabric.toml"), LEAF_SPINE).unwrap();
        let arguments = format!("live fabric.toml --quiet {arguments}");
        let mut command = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), &arguments, "400");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut run = Self { process: command.spawn().unwrap(), folder, _machine: machine };
        for _ in 0..100 {
            if run.at(HOSTS - 1, "true", &[]).output().unwrap().status.success() {
                return run;
            }
            assert!(run.process.try_wait().unwrap().is_none(), "the run has ended");
            std::thread::park_timeout(Duration::from_millis(100));
        }
        panic!(
            "no namespaces after ten seconds: {}",
            said(&run.at(HOSTS - 1, "true", &[]).output().unwrap())
        );
    }

    /// The command that runs a program at a host.
    fn at(&self, host: u32, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        let run = self.process.id().to_string();
        command.args(["live", "exec", "--host", &host.to_string(), "--run", &run, "--", program]);
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Runs a program at a host. It must succeed within 30 s. Returns its text on stdout.
    fn output(&self, host: u32, program: &str, arguments: &[&str]) -> String {
        let limited = [&["30", program], arguments].concat();
        let output = self.at(host, "timeout", &limited).output().unwrap();
        assert!(output.status.success(), "{program} {arguments:?}: {}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts a program that keeps running at a host.
    fn spawn(&self, host: u32, program: &str, arguments: &[&str]) -> Running {
        let mut command = self.at(host, program, arguments);
        Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Waits until a program at a host listens at a TCP port.
    fn wait_for(&self, host: u32, port: u16) {
        let listens =
            format!("until grep -q ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done");
        self.output(host, "bash", &["-c", &listens]);
    }

    fn names(&self) -> Vec<PathBuf> {
        let of = |host| PathBuf::from(format!("/run/netns/raddle-{}-{host}", self.process.id()));
        (0..HOSTS).map(of).collect()
    }

    /// Ends the run as Ctrl-C does. Returns its output.
    fn end(mut self) -> String {
        let names = self.names();
        assert!(names.iter().all(|name| name.exists()));
        let interrupted = Command::new("kill").args(["-INT", &self.process.id().to_string()]).status();
        assert!(interrupted.unwrap().success());
        let status = self.process.wait().unwrap();
        let mut text = String::new();
        let pipes: [Box<dyn std::io::Read>; 2] =
            [Box::new(self.process.stdout.take().unwrap()), Box::new(self.process.stderr.take().unwrap())];
        for mut pipe in pipes {
            pipe.read_to_string(&mut text).unwrap();
        }
        assert_eq!(status.code(), Some(130), "{text}");
        assert!(!names.iter().any(|name| name.exists()), "no namespace may be left");
        text
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A program that is killed when this value is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Number of bytes in each interval of an iperf3 report.
fn intervals(report: &str) -> Vec<f64> {
    let report: Value = serde_json::from_str(report).unwrap_or_else(|why| panic!("{why}: {report}"));
    let intervals = report["intervals"].as_array().cloned().unwrap_or_default();
    intervals.iter().map(|interval| interval["sum"]["bytes"].as_f64().unwrap()).collect()
}

/// Runs programs at the hosts while a link fails and is repaired.
fn programs_run_across(routing: &str) {
    if cannot_run() {
        return;
    }
    let run = Run::start(&format!("--set scheme.routing={routing}"));
    for address in ["10.0.0.4", "fd00::4"] {
        let ping = run.output(0, "ping", &["-c", "4", "-i", "0.05", "-w", "20", address]);
        assert!(ping.contains("4 received"), "{ping}");
    }
    fetch(&run);

    let _server = run.spawn(3, "iperf3", &["-s"]);
    run.wait_for(3, 5_201);
    let client = ["-c", "10.0.0.4", "-P", "4", "-t", "6", "-i", "0.5", "-J"];
    let report = run.output(0, "iperf3", &client);
    let bytes = intervals(&report);
    eprintln!(
        "{routing}: {:.0?} MB in each half second",
        bytes.iter().map(|bytes| bytes / 1e6).collect::<Vec<_>>()
    );
    assert!(bytes.len() >= 11, "{report}");
    // A rate of 100 Mbit/s is 6.25 MB per interval of half a second.
    let after: f64 = bytes[8..].iter().sum::<f64>() / (bytes.len() - 8) as f64;
    assert!(after > 2e6, "TCP goes on after the failure: {bytes:?}");
    let standing = bytes.iter().filter(|&&bytes| bytes < 1e5).count();
    assert!(standing <= 2, "TCP does not stand still for more than a second: {bytes:?}");
    let text = run.end();
    assert!(text.contains("0 payloads wrong"), "{text}");
}

/// Fetches a file with curl, over IPv4 and IPv6, from a web server on the other leaf.
fn fetch(run: &Run) {
    let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let folder: &Path = run.folder.path();
    fs::write(folder.join("file"), &content).unwrap();
    let at = folder.to_str().unwrap();
    let _server = run.spawn(2, "python3", &["-m", "http.server", "8000", "--bind", "::", "--directory", at]);
    run.wait_for(2, 8_000);
    for address in ["10.0.0.3", "[fd00::3]"] {
        let got = folder.join(address);
        let url = format!("http://{address}:8000/file");
        run.output(1, "curl", &["-sS", "-o", got.to_str().unwrap(), &url]);
        assert!(fs::read(got).unwrap() == content, "curl gets what the server has, from {address}");
    }
}

#[test]
fn programs_run_across_ecmp() {
    programs_run_across("ecmp");
}

#[test]
fn programs_run_across_expeditus() {
    programs_run_across("expeditus");
}

#[test]
fn programs_run_across_conga() {
    programs_run_across("conga");
}

#[test]
fn links_fail_and_work_again_by_command() {
    if cannot_run() {
        return;
    }
    let run = Run::start("--set scheme.routing=ecmp");
    let order = |order: &str| {
        let arguments = format!("live ctl --run {} {order}", run.process.id());
        command_of(env!("CARGO_BIN_EXE_raddle"), run.folder.path(), &arguments, "400").output().unwrap()
    };
    let pings = || {
        let ping = ["-c", "3", "-i", "0.05", "-W", "1", "10.0.0.4"];
        run.at(0, "ping", &ping).output().unwrap().status.success()
    };
    assert!(pings());
    let down = order("link down 4 7");
    assert!(down.status.success() && said(&down).contains("link 4-7 down"), "{}", said(&down));
    assert!(pings(), "packets must cross the other spine");
    assert!(order("link down 4 6").status.success());
    assert!(!pings(), "no path must be left");
    assert!(order("link up 7 4").status.success());
    assert!(pings(), "repaired");
    for (wrong, why) in
        [("link up 7 4", "no request has taken it down"), ("link down 0 1", "there is no link between")]
    {
        let refused = order(wrong);
        assert_eq!(refused.status.code(), Some(2));
        assert!(said(&refused).contains(why), "{}", said(&refused));
    }
    let socket = format!("/tmp/raddle-0/{}.control", run.process.id());
    assert!(Path::new(&socket).exists());
    run.end();
    assert!(!Path::new(&socket).exists());
}

#[test]
fn a_run_that_was_killed_leaves_nothing_to_the_next() {
    if cannot_run() {
        return;
    }
    let killed = Run::start("");
    let names = killed.names();
    drop(killed);
    assert!(names.iter().all(|name| name.exists()), "a killed run cannot remove its namespaces");
    let next =
        Run::start("--set engine.hosts={kind=\"namespaces\",congestion_control=\"reno\",rto_min=\"2s\"}");
    assert!(!names.iter().any(|name| name.exists()));
    let listens =
        "import socket; server = socket.create_server(('', 8000)); [server.accept() for _ in range(9)]";
    let _server = next.spawn(3, "python3", &["-c", listens]);
    next.wait_for(3, 8_000);
    let asks = "import socket; connection = socket.create_connection(('10.0.0.4', 8000)); \
                print(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)); \
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 12); \
                print('rto', int.from_bytes(info[8:12], 'little'))";
    let said = next.output(0, "python3", &["-c", asks]);
    assert!(said.contains("b'reno"), "{said}");
    // The RTO in microseconds (`tcpi_rto`, tcp(7)) is the smallest timeout plus the round-trip time.
    let rto = said.split("rto ").nth(1).and_then(|rto| rto.trim().parse::<u64>().ok());
    assert!(rto.is_some_and(|rto| (2_000_000..2_500_000).contains(&rto)), "{said}");
    next.end();
}

#[test]
fn the_flows_of_a_workload_cross_by_the_kernels_tcp() {
    if cannot_run() {
        return;
    }
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let workload = "[workload]\narrivals = { kind = \"poisson\", mean_gap = \"20 ms\" }\n\
                    sizes = { kind = \"fixed\", size = \"50 KB\" }\npairs = \"uniform\"\nflows = 50\n";
    fs::write(folder.path().join("fabric.toml"), [LEAF_SPINE, workload].concat()).unwrap();
    let arguments = "live fabric.toml --quiet --set scheme.routing=ecmp --set engine.time_limit=20s";
    let output = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), arguments, "400").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("50 of 50 flows delivered"), "{}", said(&output));
    assert!(folder.path().join("out/fabric/flows.parquet").exists());
    let simulated = "run fabric.toml --quiet --set scheme.routing=ecmp --set scheme.tcp-cubic.handshake=true \
                     --set scheme.tcp-cubic.min_rto=200ms --set engine.hosts=scheme --out out/simulated";
    let output = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), simulated, "400").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let compared = "compare out/simulated out/fabric";
    let output = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), compared, "400").output().unwrap();
    assert!(output.status.success() && !said(&output).contains("same flows"), "{}", said(&output));
    // Each flow has 35 segments in both runs: 1,448 B from the kernel, 1,460 B in simulation. The ports of a flow are
    // the same in both runs, so switches that hash ports choose the same links. On a busy machine the kernel may
    // retransmit a segment whose acknowledgement is late.
    let column = |run: &str, table: &str, column: &str| -> Vec<u64> {
        let table = Table::read(&folder.path().join(format!("out/{run}/{table}.parquet"))).unwrap();
        table.integers(column).unwrap().iter().flatten().copied().collect()
    };
    let [live, simulated] = ["fabric", "simulated"].map(|run| column(run, "links", "data_packets"));
    let repeated: u64 = column("fabric", "flows", "retransmissions").iter().sum();
    assert!(simulated.iter().all(|packets| packets.is_multiple_of(35)), "{simulated:?}");
    let is_same =
        |(live, simulated): (&u64, &u64)| live.checked_sub(*simulated).is_some_and(|more| more <= repeated);
    assert!(
        live.len() == simulated.len() && live.iter().zip(&simulated).all(is_same),
        "{repeated} {live:?} {simulated:?}"
    );
}

/// Runs `papers/expeditus/fig8.toml` with a dozen flows per run. The sizes of the flows come from a distribution of two
/// narrow ranges.
#[test]
fn a_short_figure_8_runs_live_and_in_the_packet_engine() {
    if cannot_run() {
        return;
    }
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let figure = include_str!("../../../../papers/expeditus/fig8.toml");
    let short = figure
        .replace("{ kind = \"web_search\" }", "{ kind = \"cdf\", file = \"sizes.txt\" }")
        .replace("\"workload.flows\" = 150", "\"workload.flows\" = 12");
    assert!(short.contains("sizes.txt") && short.contains("flows\" = 12\n"), "{short}");
    fs::write(folder.path().join("short.toml"), short).unwrap();
    // About half of the flows are short, the others long.
    fs::write(folder.path().join("sizes.txt"), "20000 0\n21000 50\n1200000 51\n1210000 100\n").unwrap();
    let raddle = |arguments: &str| {
        command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), arguments, "400").output().unwrap()
    };
    let output = raddle("reproduce short.toml --quiet");
    assert!(output.status.success(), "{}", said(&output));
    let figure = folder.path().join("out/reproduce/own/short");
    let runs = figure.join("runs");
    for load in ["0.4", "0.5", "0.6", "0.7"] {
        let delivered = ["live-ecmp", "live-expeditus", "packet-ecmp", "packet-expeditus"].map(|of| {
            let summary = fs::read_to_string(runs.join(format!("{load}-{of}/summary.json"))).unwrap();
            let summary: Value = serde_json::from_str(&summary).unwrap();
            let load = summary["workload"]["network_load"].to_string();
            (summary["delivered"].to_string(), load.get(..3).map(str::to_owned))
        });
        assert_eq!(delivered, [(); 4].map(|()| ("12".to_owned(), Some(load.to_owned()))));
        let compared = raddle(&format!(
            "compare out/reproduce/own/short/runs/{load}-live-ecmp out/reproduce/own/short/runs/{load}-live-expeditus \
             out/reproduce/own/short/runs/{load}-packet-ecmp"
        ));
        assert!(compared.status.success() && !said(&compared).contains("same flows"), "{}", said(&compared));
    }
    let claims: Value =
        serde_json::from_str(&fs::read_to_string(figure.join("claims.json")).unwrap()).unwrap();
    let claims = claims["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 12, "{claims:?}");
    for claim in claims {
        // No claim has a verdict: with one seed there is no confidence interval, and on a busy machine a run may not be
        // faithful.
        assert!(claim["ok"].is_null(), "{claim}");
        let live = &claim["live"];
        let others = live["others"].as_array().unwrap().len() as u64;
        assert_eq!(live["faithful"].as_u64().unwrap() + others, 8, "{claim}");
        assert_eq!(claim["measured"].is_null(), others > 0, "{claim}");
    }
}

/// Runs the experiment `file`, whose hosts are namespaces, to its end. Returns the output.
fn run_workload(folder: &TempDir, file: &str, arguments: &str) -> String {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let arguments = format!("live {file} --quiet {arguments}");
    let output = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), &arguments, "400").output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

/// Runs `docs/examples/linux-hosts-under-faults.toml` for ten seconds. The whole example takes ten minutes.
#[test]
fn no_flow_is_stuck_while_links_fail_at_random() {
    if cannot_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/linux-hosts-under-faults.toml");
    let short = "--set workload.flows=200 --set faults.until=10s --set faults.link_failures=0.5/s";
    let said = run_workload(&folder, example, short);
    assert!(said.contains("200 of 200 flows delivered"), "{said}");
    let summary =
        fs::read_to_string(folder.path().join("out/linux-hosts-under-faults/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let drops = &summary["totals"]["drops"];
    assert!(drops["link_down"].as_u64() > Some(0), "links have failed under packets: {summary}");
}

/// Returns these fields of the frames that pass `filter`, as tshark prints them with Raddle's dissector, one line per
/// frame. tshark verifies checksums.
fn tshark(path: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    let script = concat!("lua_script:", env!("CARGO_MANIFEST_DIR"), "/../../docs/wireshark/raddle.lua");
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-X", script, "-o", "ip.check_checksum:TRUE"]);
    command.args(["-o", "tcp.check_checksum:TRUE", "-Y", filter, "-T", "fields", "-E", "separator=;"]);
    fields.iter().for_each(|field| _ = command.args(["-e", field]));
    let output = command.output().expect("tshark is there (`make setup` installs it)");
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Two hosts send to a third host through a queue that marks packets.
#[test]
fn a_capture_of_a_live_run_has_whole_frames_that_queues_have_marked() {
    if cannot_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let flow = |src: u32| format!("{{ src = {src}, dst = 3, size = \"1 MB\", start = \"100 ms\" }}");
    let workload = format!("[workload]\nlist = [{}, {}]\n", flow(0), flow(1));
    fs::write(folder.path().join("fabric.toml"), [LEAF_SPINE, &workload].concat()).unwrap();
    let said = run_workload(
        &folder,
        "fabric.toml",
        "--set scheme.routing=expeditus --set scheme.queue={kind=\"fifo\",packets=100,mark_packets=5} \
         --pcap 0->4,1->4,5->3,4->6,4->7 --set record.pcap_snap=2KB --set engine.time_limit=20s",
    );
    assert!(said.contains("2 of 2 flows delivered"), "{said}");
    let capture = folder.path().join("out/fabric/packets.pcapng");
    let frames = |filter: &str, fields: &[&str]| tshark(&capture, filter, fields);
    let (sent, received) = (
        "(frame.interface_name == \"0->4\" || frame.interface_name == \"1->4\")",
        "frame.interface_name == \"5->3\"",
    );
    let with = |filter: &str, more: &str| format!("{filter} && {more}");
    assert!(frames("_ws.malformed", &["frame.number"]).is_empty());
    assert!(!frames("expeditus", &["expeditus.load"]).is_empty(), "packets must have tags");
    assert!(frames("ip.checksum.status == 0 || tcp.checksum.status == 0", &["frame.number"]).is_empty());
    let data = frames(&with(sent, "tcp.len > 1000"), &["tcp.checksum.status"]);
    assert!(data.len() > 1_000 && data.iter().all(|status| status == "1"), "{} whole frames", data.len());
    assert!(frames(&with(sent, "ip.dsfield.ecn == 3"), &["frame.number"]).is_empty(), "hosts mark nothing");
    let marked = frames(&with(received, "ip.dsfield.ecn == 3"), &["ip.checksum.status"]);
    assert!(!marked.is_empty() && marked.iter().all(|status| status == "1"), "{} marks", marked.len());
    let answers = frames("tcp.flags.cwr == 1 && tcp.len > 0", &["frame.number"]);
    assert!(!answers.is_empty(), "senders must react to the marks");

    // Frames arrive unchanged except for the ECN field and the checksum that covers it.
    let fields =
        ["eth.src", "eth.dst", "ip.id", "ip.len", "ip.ttl", "tcp.checksum", "tcp.seq_raw", "tcp.payload"];
    let mut came = frames(&with(received, "tcp"), &fields);
    let mut went = frames(&with(sent, "tcp && ip.dst == 10.0.0.4"), &fields);
    assert!(came.len() > 1_000);
    came.sort();
    went.sort();
    assert!(came.iter().all(|frame| went.binary_search(frame).is_ok()));
}

/// Reproduces `papers/expeditus/TABLE.toml`, where TABLE is `table`. In this file, the first text of each pair in
/// `shorter` is replaced by the second text, which makes the runs shorter. Returns the name and the measured value of
/// each claim; the value is `None` if nothing was measured. Measured times depend on the load of this machine, so
/// callers do not compare them with the paper's.
fn measured(table: &str, shorter: &[(&str, &str)]) -> Vec<(String, Option<f64>)> {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let path = format!("{}/../../papers/expeditus/{table}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut text = fs::read_to_string(path).unwrap();
    for (long, short) in shorter {
        assert!(text.contains(long), "{table} has no {long}");
        text = text.replace(long, short);
    }
    fs::write(folder.path().join("table.toml"), text).unwrap();
    let arguments = "reproduce table.toml --quiet --out out";
    let output = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), arguments, "400").output().unwrap();
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", said(&output));
    let text = said(&output);
    eprintln!("{text}");
    let drawn = text.lines().find_map(|line| line.strip_prefix("figure   ")).expect("a figure").trim();
    let claims = fs::read_to_string(folder.path().join(drawn).with_file_name("claims.json")).unwrap();
    let claims: Value = serde_json::from_str(&claims).unwrap();
    let claims = claims["claims"].as_array().cloned().unwrap_or_default();
    let of = |claim: &Value| (claim["claim"].as_str().unwrap().to_owned(), claim["measured"].as_f64());
    claims.iter().map(of).collect()
}

#[test]
fn decisions_of_forwarders_are_timed_under_kernel_tcp() {
    if cannot_run() {
        return;
    }
    let measured = measured("table1", &[("15 MB", "1 MB")]);
    assert_eq!(measured.len(), 5);
    for (claim, value) in &measured[..4] {
        assert!(value.is_some_and(|ns| ns > 0.0 && ns < 1e5), "{claim}: {value:?}");
    }
}

#[test]
fn connections_are_timed_from_syn_to_first_data_packet() {
    if cannot_run() {
        return;
    }
    let measured = measured(
        "table2",
        &[("flows = 100", "flows = 20"), ("\"figure.seeds\" = 3", "\"figure.seeds\" = 2")],
    );
    assert_eq!(measured.len(), 2, "medians and means");
}

/// DCTCP as a BPF program. It is unloaded when this value is dropped.
struct Dctcp;

impl Dctcp {
    fn make(target: &str) -> Output {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        Command::new("make").args(["-s", "-C", root, target]).output().unwrap()
    }
}

impl Drop for Dctcp {
    fn drop(&mut self) {
        let _gone = Self::make("no-dctcp");
    }
}

#[test]
fn dctcp_by_bpf_keeps_the_queue_of_a_switch_short() {
    if cannot_run() {
        return;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        eprintln!(
            "NOT RUN: this kernel does not describe its types (CONFIG_DEBUG_INFO_BTF), which BPF needs"
        );
        return;
    }
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let _dctcp = (!available.split_whitespace().any(|name| name == "dctcp")).then(|| {
        let made = Dctcp::make("dctcp");
        assert!(made.status.success(), "{}", said(&made));
        Dctcp
    });
    let folder = tempfile::tempdir().unwrap();
    let flow = |src| format!("{{ src = {src}, dst = 3, size = \"2 MB\" }}");
    let list = [0, 1, 2].map(flow).join(", ");
    let engine = LEAF_SPINE.find("[[failure]]").unwrap();
    let experiment = format!("{}\n[workload]\nlist = [{list}]\n", &LEAF_SPINE[..engine])
        .replace("tcp-cubic", "dctcp")
        .replace("packets = 100", "packets = 600, mark_packets = 20");
    fs::write(folder.path().join("fabric.toml"), experiment).unwrap();
    let output =
        command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), "live fabric.toml --quiet --out out", "400")
            .output()
            .unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let text = fs::read_to_string(folder.path().join("out/summary.json")).unwrap();
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&summary["delivered"], &summary["drops"]), (&3.into(), &0.into()), "{text}");
    // The rack copies each packet that it marks, so the count of copies shows that packets were marked. A sender that
    // ignores marks would fill the queue of 900 KB. At the start, and when the kernel does not run the BPF programs for
    // some milliseconds, the queue grows to 80 to 220 KB.
    assert!(summary["fidelity"]["copies"].as_u64().unwrap() > 100, "{text}");
    assert!(summary["peak_queue_max_bytes"].as_f64().unwrap() < 450_000.0, "{text}");
}

#[test]
fn what_looks_at_nodes_elsewhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fabric.toml"), LEAF_SPINE).unwrap();
    let arguments = "live fabric.toml --quiet --set scheme.routing=clairvoyant";
    let output = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), arguments, "400").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("this scheme reads the state of other nodes"), "{}", said(&output));
}

#[test]
fn what_is_not_there_is_said() {
    if cannot_run() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fabric.toml"), LEAF_SPINE).unwrap();
    let arguments =
        "live fabric.toml --quiet --set engine.hosts={kind=\"namespaces\",congestion_control=\"vogon\"}";
    let output = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), arguments, "400").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(
        said(&output).contains("does not support the congestion control")
            && said(&output).contains("`vogon`"),
        "{}",
        said(&output)
    );
    let stranger = "live exec --host 0 --run 4294967294 -- true";
    let output = command_of(env!("CARGO_BIN_EXE_raddle"), folder.path(), stranger, "400").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("process 4294967294 is not a live run with namespaces"),
        "{}",
        said(&output)
    );
}
