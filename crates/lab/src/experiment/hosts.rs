//! `hosts` in `[engine]`: the kind of hosts of a live run.

use super::keys::{Key, Kind, Name, key, keys};
use super::problem::Problem;
use super::section::Section;
use raddle_core::Duration;
use std::ops::RangeInclusive;

/// Hosts of a live run that are Linux network namespaces on this machine. The kernel sends and receives their packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespaces {
    /// The congestion control of the kernel's TCP, by its name in Linux; `None` for the kernel's congestion control
    /// that is most like the transport.
    pub congestion_control: Option<String>,
    /// The smallest retransmission timeout of the kernel's TCP, in real time; `None` for the kernel's default.
    pub rto_min: Option<Duration>,
    /// Length of the send queue of a host's interface, in frames: `txqueuelen`.
    pub queue: u32,
}

/// The range of values of `rto_min`. The upper end is the largest retransmission timeout of the kernel's TCP
/// (`net/tcp.h`).
const RTO_MINS: RangeInclusive<Duration> = Duration::from_ms(1)..=Duration::from_ms(120_000);

keys! {
    /// The hosts of a live run. A string stands for a table with that `kind` and no other keys: `hosts = "namespaces"`.
    pub(super) HOSTS = "engine.hosts" {
        /// The kind of hosts.
        KIND: Name = Key::new("kind").required().of("kind of hosts", &[
            Kind { name: "scheme", words: "virtual hosts that run the transport of [scheme]", keys: &[] },
            Kind {
                name: "namespaces",
                words: "Linux network namespaces; the kernel of this machine sends and receives their packets",
                keys: &[&CONGESTION_CONTROL, &RTO_MIN, &QUEUE],
            },
        ]);
    }
}

key! {
    /// Congestion control of the kernel's TCP, by its name in Linux. If left out, the congestion control that is most
    /// like the transport.
    CONGESTION_CONTROL: String = Key::new("congestion_control").example("\"bbr\"");
    /// Least retransmission timeout of the kernel's TCP, in real time. If left out, the kernel's default.
    RTO_MIN: Duration = Key::new("rto_min").example("\"200 ms\"").such(
        "from 1 ms to 120 s, in whole milliseconds",
        |rto_min| RTO_MINS.contains(rto_min) && rto_min.as_ps().is_multiple_of(Duration::from_ms(1).as_ps()),
    );
    /// Length of the send queue of a host's interface, in frames (`txqueuelen`).
    QUEUE: u32 = Key::new("queue").or("1000").within(1.0, 10_000.0);
}

/// Reads `hosts = "namespaces"`, or `hosts = { kind = "namespaces", congestion_control = "bbr" }`; `None` for the
/// scheme's own hosts.
pub(super) fn read(section: &mut Section<'_>) -> Result<Option<Namespaces>, Problem> {
    let Some(table) = section.kinded(&super::engine::HOSTS)? else { return Ok(None) };
    let mut hosts = Section::new(&table, &HOSTS);
    let namespaces = match hosts.kind(&KIND)? {
        "namespaces" => Some(Namespaces {
            queue: hosts.read(&QUEUE)?,
            rto_min: hosts.get(&RTO_MIN)?,
            congestion_control: hosts.get(&CONGESTION_CONTROL)?,
        }),
        _ => None,
    };
    section.resolve(&super::engine::HOSTS, hosts.finish()?);
    Ok(namespaces)
}
