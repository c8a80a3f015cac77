//! `hosts` in `[engine]`: what is at the hosts of a live run.

use super::problem::Problem;
use super::section::Section;
use super::workload::kinded;
use raddle_core::Duration;
use std::ops::RangeInclusive;

/// Hosts of a live run that are network namespaces of this machine, whose kernel sends and receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespaces {
    /// The congestion control of the kernel's TCP, by the name that Linux has for it; if it is left out, that which resembles
    /// the transport.
    pub congestion_control: Option<String>,
    /// The smallest retransmission timeout of the kernel's TCP, in real time; if it is left out, the kernel's own.
    pub rto_min: Option<Duration>,
    /// Frames that a host's interface holds: `txqueuelen`.
    pub queue: u32,
}

/// As many frames as Linux lets an Ethernet interface hold if nobody says otherwise.
const QUEUE: u32 = 1_000;

/// The kernel's least and greatest retransmission timeouts (`net/tcp.h`).
const RTO_MIN: RangeInclusive<Duration> = Duration::from_ms(1)..=Duration::from_ms(120_000);

/// Reads `hosts = "namespaces"`, or `hosts = { kind = "namespaces", congestion_control = "bbr" }`; `None` if hosts are the
/// scheme's own.
pub(super) fn read(section: &mut Section<'_>) -> Result<Option<Namespaces>, Problem> {
    let Some(table) = section.item("hosts").map(kinded).transpose()? else { return Ok(None) };
    let mut hosts = Section::new(&table, "engine.hosts");
    let is_of_namespaces =
        hosts.choice("kind", "kind of hosts", &[("scheme", false), ("namespaces", true)], None)?;
    let namespaces = if is_of_namespaces {
        let queue = hosts.or("queue", QUEUE)?;
        let hint = "1 to 10000 frames, for example: queue = 1000";
        hosts.ensure((1..=10_000).contains(&queue), "queue", "`queue` must be 1 to 10000", hint)?;
        let rto_min = hosts.optional("rto_min")?;
        let fits = |rto_min: Duration| {
            RTO_MIN.contains(&rto_min) && rto_min.as_ps().is_multiple_of(Duration::from_ms(1).as_ps())
        };
        let hint = "the kernel counts in milliseconds, for example: rto_min = \"200 ms\"";
        let what = "`rto_min` must be 1 ms to 120 s, in whole milliseconds";
        hosts.ensure(rto_min.is_none_or(fits), "rto_min", what, hint)?;
        Some(Namespaces { congestion_control: hosts.optional("congestion_control")?, rto_min, queue })
    } else {
        None
    };
    section.resolve("hosts", hosts.finish()?);
    Ok(namespaces)
}
