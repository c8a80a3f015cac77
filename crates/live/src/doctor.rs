//! Checks of this machine: which live runs it supports, and how to enable the other live runs.

use crate::rack::{Clock, MOST_SLIPS, Steal};
use std::fs;
use std::path::Path;

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The subject of the check.
    pub what: &'static str,
    /// A description of what the check found on this machine.
    pub found: String,
    /// `None` if the check passes. Otherwise a text that says what is affected, such as runs that are not supported,
    /// and gives the remedy if there is one.
    pub lacks: Option<String>,
}

impl Finding {
    fn new(what: &'static str, will_do: bool, found: impl Into<String>, lacks: &str) -> Self {
        Self { what, found: found.into(), lacks: (!will_do).then(|| lacks.to_owned()) }
    }
}

/// Checks this machine. Takes less than two seconds.
#[must_use]
pub fn examine() -> Vec<Finding> {
    let [one, all] = interruptions();
    vec![cores(), steal(), one, all, counter(), memory(), namespaces(), tap(), dctcp(), libfabric()]
}

fn cores() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let lacks = "the polling thread and all other programs share one core: set `engine.dilation`, or use a \
                 machine with at least two cores";
    Finding::new("processors", cores > 1, format!("{cores}"), lacks)
}

/// Checks the share of this machine's CPU time that other virtual machines take, measured over a fifth of a second.
fn steal() -> Finding {
    let before = Steal::now();
    std::thread::park_timeout(std::time::Duration::from_millis(200));
    let Some((before, after)) = before.zip(Steal::now()) else {
        return Finding::new("steal time", true, "unknown: the system does not report steal time", "");
    };
    let share = before.share_until(after);
    let lacks =
        "live runs are faithful only if other virtual machines take at most 1% of this machine's CPU time";
    Finding::new("steal time", share <= 0.01, format!("{:.1}% at this moment", share * 100.0), lacks)
}

/// The serialization delay of four packets of 8 KB on a link of 5 Gbps, in ns. At dilation 1, a packet slips if it is
/// late by more than this time.
const PATIENCE_NS: u64 = 4 * 13_164;

/// Measures the interruptions of threads that only read the clock, on one core and on all cores at once. No rack can
/// compensate for these interruptions.
fn interruptions() -> [Finding; 2] {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    [("one polling thread", 1), ("one polling thread per core", cores)].map(|(what, threads)| {
        let looks = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(look_at_the_clock)).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<_>>()
        });
        let slips = |dilation| {
            let shares = looks.iter().map(|(gaps, ns)| share_that_slips(gaps, *ns, dilation));
            shares.fold(0.0, f64::max)
        };
        let least = (1..1_000).find(|&dilation| slips(dilation) <= MOST_SLIPS).unwrap_or(1_000);
        let found = format!("{:.2}% of packets would come too late at dilation 1", slips(1) * 100.0);
        let lacks = format!(
            "the system interrupts threads too often: set `engine.dilation` to at least {least} for links of \
             5 Gbps and packets of 8 KB"
        );
        Finding::new(what, least == 1, found, &lacks)
    })
}

/// Reads the clock repeatedly for half a second. Returns the gaps between consecutive readings that are long enough for
/// a packet to slip, and the elapsed time, all in ns.
fn look_at_the_clock() -> (Vec<u64>, u64) {
    const LOOKS_NS: u64 = 500_000_000;
    let clock = Clock::new(1, None);
    let (mut last, mut gaps) = (clock.real_ns(), Vec::new());
    while last < LOOKS_NS {
        let now = clock.real_ns();
        if now - last > PATIENCE_NS {
            gaps.push(now - last);
        }
        last = now;
    }
    (gaps, last)
}

/// The share of packets that would slip in a run of `ns` ns, if packets arrived evenly and only these gaps made them
/// late.
fn share_that_slips(gaps: &[u64], ns: u64, dilation: u64) -> f64 {
    let too_late: u64 = gaps.iter().map(|gap| gap.saturating_sub(PATIENCE_NS * dilation)).sum();
    too_late as f64 / ns as f64
}

/// Checks that the processor's time-stamp counter is steady.
fn counter() -> Finding {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let is_steady = ["constant_tsc", "nonstop_tsc"].iter().all(|flag| flags.contains(flag));
    let found =
        if is_steady { "the processor's invariant time-stamp counter (TSC)" } else { "the system's clock" };
    let lacks = "the processor has no invariant time-stamp counter (TSC), so a clock reading takes more than \
                 twice as long; use a machine whose processor has an invariant TSC";
    Finding::new("clock", is_steady, found, lacks)
}

/// Checks that enough memory is available for a rack of usual size, most of it for packets.
fn memory() -> Finding {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = available.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    let is_enough = kib.is_none_or(|kib| kib >= 300 << 10);
    let found = match kib {
        None => "unknown: the system does not report the available memory",
        Some(_) if is_enough => "enough for a typical rack",
        Some(_) => "not enough for a typical rack",
    };
    let lacks = "a typical rack needs 300 MiB, including 200 MiB for packets: free some memory";
    Finding::new("memory", is_enough, found, lacks)
}

/// Checks that this process may make network namespaces.
fn namespaces() -> Finding {
    const CAP_NET_ADMIN: u32 = 12;
    const CAP_SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let may = [CAP_NET_ADMIN, CAP_SYS_ADMIN].iter().all(|bit| bits >> bit & 1 == 1);
    let found = if may {
        "this process may create network namespaces"
    } else {
        "this process may not create network namespaces"
    };
    let lacks = "`hosts = \"namespaces\"` in [engine] needs root, or the capabilities CAP_NET_ADMIN and \
                 CAP_SYS_ADMIN; all other live runs need no privileges";
    Finding::new("network namespaces", may, found, lacks)
}

/// Checks that the kernel provides TAP interfaces.
fn tap() -> Finding {
    let is_there = Path::new("/dev/net/tun").exists();
    let found = if is_there { "/dev/net/tun exists" } else { "/dev/net/tun does not exist" };
    let lacks =
        "`hosts = \"namespaces\"` in [engine] needs the kernel module `tun`: run `modprobe tun` as root";
    Finding::new("TAP interfaces", is_there, found, lacks)
}

/// Checks that the kernel supports DCTCP.
fn dctcp() -> Finding {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let available = read("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let release = read("/proc/sys/kernel/osrelease");
    let modules = read(&format!("/lib/modules/{}/modules.dep", release.trim()));
    let is_there =
        available.split_whitespace().any(|name| name == "dctcp") || modules.contains("/tcp_dctcp.ko");
    let found = if is_there {
        "the kernel supports DCTCP".to_owned()
    } else {
        format!("the kernel supports only {}", available.split_whitespace().collect::<Vec<_>>().join(", "))
    };
    let lacks = "`transport = \"dctcp\"` with `hosts = \"namespaces\"` needs DCTCP in the kernel: use a \
                 kernel with CONFIG_TCP_CONG_DCTCP, install the module tcp_dctcp, or load DCTCP as a BPF \
                 program (run `make dctcp` in Raddle's source directory)";
    Finding::new("congestion control", is_there, found, lacks)
}

/// Checks which libfabric providers this machine has. A rack over several machines needs one of them.
fn libfabric() -> Finding {
    let here = crate::rack::providers();
    let found = match &here[..] {
        _ if !crate::HAS_LIBFABRIC => "Raddle was built without libfabric".to_owned(),
        [] => "libfabric has no provider that Raddle supports".to_owned(),
        here => format!("providers {}", here.join(", ")),
    };
    let lacks = if crate::HAS_LIBFABRIC {
        "racks over several machines need the libfabric provider tcp, shm or verbs; the command `fi_info` \
         lists the installed providers"
    } else {
        "racks over several machines need libfabric: install libfabric-dev and a C compiler, then run `cargo \
         build --release --features libfabric`"
    };
    Finding::new("libfabric", !here.is_empty(), found, lacks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_describes_the_machine_and_a_remedy() {
        let findings = examine();
        assert_eq!(findings.len(), 10);
        for Finding { what, found, lacks } in findings {
            assert!(!found.is_empty(), "{what}");
            assert!(lacks.is_none_or(|lacks| lacks.len() > 20), "{what}");
        }
    }

    #[test]
    fn libfabric_is_found_with_its_providers_or_said_to_be_missing() {
        let Finding { found, lacks, .. } = libfabric();
        if crate::HAS_LIBFABRIC {
            assert!(found.contains("tcp") && found.contains("shm") && lacks.is_none(), "{found}");
        } else {
            assert!(lacks.is_some_and(|lacks| lacks.contains("--features libfabric")));
        }
    }

    #[test]
    fn packets_slip_that_come_in_a_gap_long_before_its_end() {
        let gaps = [PATIENCE_NS + 1_000, 3 * PATIENCE_NS];
        let share = |dilation| share_that_slips(&gaps, 10 * PATIENCE_NS, dilation);
        assert!((share(1) - 0.2).abs() < 0.01 && (share(2) - 0.1).abs() < 1e-9 && share(3) == 0.0);
    }

    #[test]
    fn a_remedy_is_shown_only_for_findings_that_lack_something() {
        assert_eq!(Finding::new("a", true, "b", "c").lacks, None);
        assert_eq!(Finding::new("a", false, "b", "c").lacks.as_deref(), Some("c"));
    }
}
