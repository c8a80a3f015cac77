//! Two choices (Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing", 2001). For each packet the
//! switch draws two next hops at random and takes the next hop with the shorter expected wait. The expected wait is the
//! wait in the switch's egress queue plus the wait in the next hop's longest queue, which the next hop reports.
//!
//! This is the routing of the book's chapter on adding a scheme. It is in a separate crate, and no crate in `crates/`
//! depends on it. It shows parts that a scheme can have: a header ([`report`]), a parameter, a timer, state, and random
//! numbers.

pub mod report;

use raddle_core::{
    DropReason, Duration, Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Stream, Time, Verdict,
};
use raddle_schemes::fluid::Spread;
use raddle_schemes::parameters;
use raddle_schemes::registry::Registry;
use raddle_schemes::routing::next_hops::{NextHops, ShortestPaths};
use raddle_schemes::routing::reordering::{HOLD, Hold};
use raddle_schemes::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View, forwarders_where_needed};
use raddle_topology::Topology;
use report::Report;
use std::sync::Arc;

// ANCHOR: declaration
/// The routing "two choices".
pub const ROUTING: Routing = Routing {
    info: Info {
        name: "two-choices",
        summary: "Draws two random next hops for each packet, and takes the next hop with the shorter \
                  expected wait",
        source: "Mitzenmacher, IEEE Transactions on Parallel and Distributed Systems 12(10), 2001",
        differs: &[
            "the expected wait is the wait in this switch's queue plus the wait that the next hop reports",
        ],
        view: View::Local,
        parameters: &Parameters::LIST,
    },
    build: Build::Compiled(build),
    spread: |_| Spread::Evenly,
    hold: |settings| Hold::new(Parameters::of(settings).hold, None),
};

parameters! {
    struct Parameters {
        /// how often a switch reports its longest queue to its neighbours
        interval: Duration = Duration::from_us(20), 1e6..=1e12;
        hold: Duration = HOLD;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let (topology, paths, seed) = (Arc::clone(plan.topology), ShortestPaths::new(plan.topology), plan.seed);
    let Parameters { interval, .. } = Parameters::of(plan.settings);
    let forwarder = move |node| TwoChoices::new(node, &topology, &paths, interval, seed);
    Ok(forwarders_where_needed(plan.topology, forwarder))
}
// ANCHOR_END: declaration

// ANCHOR: registry
/// The built-in schemes and the routing of this crate.
#[must_use]
pub fn registry() -> Registry {
    Registry::builtin().with(ROUTING).with_header::<Report>()
}
// ANCHOR_END: registry

/// The arrival time of the latest report of the neighbour at a port, and the wait in this report.
#[derive(Debug, Clone, Copy)]
struct Heard {
    at: Time,
    wait: Duration,
}

/// The forwarder of one node.
#[derive(Debug)]
struct TwoChoices {
    next_hops: NextHops,
    random: Stream,
    interval: Duration,
    /// Time of the forwarder's next report; [`Time::NEVER`] while no packets pass.
    due: Time,
    /// True if packets have passed since the previous report.
    has_passed: bool,
    /// Ports to other switches.
    neighbours: Vec<PortId>,
    /// The neighbours' latest reports, indexed by port.
    heard: Vec<Option<Heard>>,
    /// The current report. `leaving` holds the ports by which it must still be sent.
    report: Report,
    leaving: Vec<PortId>,
}

impl TwoChoices {
    fn new(
        node: NodeId,
        topology: &Topology,
        paths: &Arc<ShortestPaths>,
        interval: Duration,
        seed: u64,
    ) -> Self {
        let to_switches = topology.links_from(node).filter(|(_, link)| !topology.is_host(link.to));
        let neighbours: Vec<PortId> = to_switches.map(|(_, link)| link.from_port).collect();
        Self {
            next_hops: NextHops::new(node, paths),
            random: Stream::new(seed, node.0.into(), "two-choices"),
            interval,
            due: Time::NEVER,
            has_passed: false,
            leaving: Vec::with_capacity(neighbours.len()),
            neighbours,
            heard: vec![None; topology.port_count(node)],
            report: Report::new(node, Duration::ZERO),
        }
    }

    /// Estimates how long a packet that leaves by this port would wait here and at the next hop. A report is used for
    /// two intervals after its arrival.
    fn wait(&self, now: Time, port: PortId, ports: &Ports<'_>) -> Duration {
        let fresh = |heard: &Heard| now.since(heard.at) <= self.interval * 2;
        let behind = self.heard[port.index()].filter(fresh).map_or(Duration::ZERO, |heard| heard.wait);
        ports.get(port).backlog(now) + behind
    }
}

impl TwoChoices {
    /// Forwards a packet by a port. The first packet after an idle period starts the timer.
    fn pass(&mut self, now: Time, port: PortId) -> Verdict {
        self.has_passed = true;
        if self.due < Time::NEVER || self.neighbours.is_empty() {
            return Verdict::Forward(port);
        }
        self.due = now + self.interval;
        Verdict::Answer(port)
    }
}

// ANCHOR: forward
impl Forwarder for TwoChoices {
    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        if let (Some(report), Some(port)) = (packet.header.extension::<Report>(), arrival) {
            self.heard[port.index()] = Some(Heard { at: now, wait: report.wait() });
            return Verdict::Absorb;
        }
        if packet.dst() == self.next_hops.node() {
            return Verdict::Deliver;
        }
        let (one, other) = match self.next_hops.ports(packet.dst()) {
            [] => return Verdict::Drop(DropReason::NoRoute),
            &[only] => return self.pass(now, only),
            several => {
                let count = several.len() as u64;
                let one = self.random.below(count);
                let other = (one + 1 + self.random.below(count - 1)) % count;
                (several[one as usize], several[other as usize])
            }
        };
        let better = self.wait(now, one, ports) <= self.wait(now, other, ports);
        self.pass(now, if better { one } else { other })
    }
    // ANCHOR_END: forward

    // ANCHOR: timer
    fn next_tick(&self) -> Time {
        self.due
    }

    fn tick(&mut self, now: Time, ports: &Ports<'_>) {
        // If a forwarder ticked forever, the fabric would never become idle and the run would not end.
        self.due = if self.has_passed { now + self.interval } else { Time::NEVER };
        self.has_passed = false;
        let longest = ports.0.iter().map(|port| port.backlog(now)).max().unwrap_or(Duration::ZERO);
        self.report = Report::new(self.next_hops.node(), longest);
        self.leaving.extend(self.neighbours.iter().filter(|&&port| ports.get(port).up));
    }

    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    fn originate(&mut self) -> Option<(Packet, PortId)> {
        let port = self.leaving.pop()?;
        Some((Packet::new(Report::LEN as u32, Header::from(self.report)), port))
    }
    // ANCHOR_END: timer

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}

#[cfg(test)]
mod tests;
