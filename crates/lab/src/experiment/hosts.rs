//! `hosts` in `[engine]`: what is at the hosts of a live run.

use super::problem::Problem;
use super::section::Section;
use super::workload::kinded;

/// Hosts of a live run that are network namespaces of this machine, whose kernel sends and receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespaces {
    /// The congestion control of the kernel's TCP, by the name that Linux has for it; if it is left out, that which resembles
    /// the transport.
    pub congestion_control: Option<String>,
    /// Frames that a host's interface holds: `txqueuelen`.
    pub queue: u32,
}

/// As many frames as Linux lets an Ethernet interface hold if nobody says otherwise.
const QUEUE: u32 = 1_000;

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
        Some(Namespaces { congestion_control: hosts.optional("congestion_control")?, queue })
    } else {
        None
    };
    section.resolve("hosts", hosts.finish()?);
    Ok(namespaces)
}
