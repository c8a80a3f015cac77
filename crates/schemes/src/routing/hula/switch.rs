//! The forwarder of a switch. The forwarder sends flowlets by the best next hop, and receives, forwards and originates
//! probes.

use super::Parameters;
use super::best::BestHops;
use super::utilisation::Utilisation;
use crate::routing::flow_hash::{flow_hash, pick, salt};
use crate::routing::flowlets::{Expiry, Flowlets};
use crate::routing::next_hops::{NextHops, ShortestPaths};
use raddle_core::{
    DropReason, Duration, Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict,
};
use raddle_topology::{Clos, LinkLayer};
use raddle_wire::hula::Probe;
use std::sync::Arc;

/// The forwarder of a switch.
#[derive(Debug)]
pub(super) struct Switch {
    next_hops: NextHops,
    salt: u64,
    flowlets: Flowlets,
    hosts: u32,
    hosts_per_tor: u32,
    pub(super) best: BestHops,
    pub(super) utilisation: Utilisation,
    layer: LinkLayer,
    /// The first port to another switch. At an edge switch, this is the first port to a switch above.
    below: u16,
    /// The first port to a switch above. At a core, which has no such port, this equals `end`.
    above: u16,
    /// The number of the last port, plus 1.
    end: u16,
    /// The probe timer; only edge switches have one.
    clock: Option<Clock>,
    /// The probe that the switch sends next.
    probe: Probe,
    /// The ports by which the probe must still leave.
    leaving: Vec<PortId>,
}

/// The probe timer of an edge switch.
#[derive(Debug)]
struct Clock {
    period: Duration,
    /// The switch stops probing when it has forwarded only probes for this long.
    patience: Duration,
    /// Time at which the switch probes next; [`Time::NEVER`] while the switch does not probe.
    due: Time,
    /// Time at which the switch last forwarded a packet that is not a probe.
    passed: Time,
}

impl Clock {
    /// Records that the switch forwards a packet that is not a probe. Returns true if the switch starts to probe.
    fn pass(&mut self, now: Time) -> bool {
        self.passed = now;
        let begins = self.due == Time::NEVER;
        if begins {
            self.due = now + self.period;
        }
        begins
    }

    /// Handles the timer's expiry. Returns true if the switch sends probes now.
    fn tick(&mut self, now: Time) -> bool {
        let probes = now.since(self.passed) < self.patience;
        self.due = if probes { now + self.period } else { Time::NEVER };
        probes
    }
}

impl Switch {
    pub(super) fn new(
        node: NodeId,
        clos: &Clos,
        hosts_per_tor: u32,
        paths: &Arc<ShortestPaths>,
        parameters: &Parameters,
        seed: u64,
    ) -> Self {
        let &Parameters { probe_period, tau, ageing, t_fl, flowlets } = parameters;
        let is_tor = clos.level(node) == 1;
        let above = clos.uplinks(clos.level(node));
        let tors = (clos.hosts() / hosts_per_tor) as usize;
        Self {
            next_hops: NextHops::new(node, paths),
            salt: salt(seed, node),
            flowlets: Flowlets::new(flowlets, t_fl, Expiry::Exact),
            hosts: clos.hosts(),
            hosts_per_tor,
            best: BestHops::new(tors, ageing),
            utilisation: Utilisation::new(above.end.into(), tau),
            layer: paths.topology().link_layer(),
            below: if is_tor { above.start } else { 0 },
            above: above.start,
            end: above.end,
            clock: is_tor.then_some(Clock {
                period: probe_period,
                patience: ageing,
                due: Time::NEVER,
                passed: Time::ZERO,
            }),
            probe: Probe { tor: node.0, utilisation: 0 },
            leaving: Vec::with_capacity(above.end.into()),
        }
    }

    /// The index of the edge switch to which a host is attached; `None` for a switch.
    fn tor_of(&self, node: NodeId) -> Option<usize> {
        (node.0 < self.hosts).then(|| (node.0 / self.hosts_per_tor) as usize)
    }

    /// Handles a probe. Drops the probe if it did not come from another switch, or if its field `tor` does not name an
    /// edge switch.
    fn take(&mut self, now: Time, probe: Probe, arrival: PortId, ports: &Ports<'_>) -> Verdict {
        let tor = probe.tor.checked_sub(self.hosts).filter(|&tor| tor < self.hosts / self.hosts_per_tor);
        let (Some(tor), true) = (tor, (self.below..self.end).contains(&arrival.0)) else {
            return Verdict::Drop(DropReason::Malformed);
        };
        let link = self.utilisation.of(now, arrival, ports.get(arrival).rate);
        let utilisation = self.best.probed(now, tor as usize, arrival, probe.utilisation.max(link));
        let end = if arrival.0 < self.above { self.end } else { self.above };
        self.send(now, Probe { utilisation, ..probe }, self.below..end, Some(arrival), ports);
        Verdict::Absorb
    }

    /// Prepares a probe for every port in `by` that is up, except the port at which the probe arrived.
    /// [`Forwarder::originate`] then sends the probes.
    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    fn send(
        &mut self,
        now: Time,
        probe: Probe,
        by: std::ops::Range<u16>,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) {
        self.probe = probe;
        let by = by.rev().map(PortId).filter(|&port| Some(port) != arrival && ports.get(port).up);
        self.leaving.extend(by);
        for &port in &self.leaving {
            self.utilisation.count(now, port, self.layer.frame(Probe::LEN as u32));
        }
    }

    /// The port for a transport packet; `None` if there is no path.
    fn port(&mut self, now: Time, packet: &Packet) -> Option<PortId> {
        let tor = self.tor_of(packet.dst());
        let usable = match self.next_hops.ports(packet.dst()) {
            [] => return None,
            &[only] => return Some(only),
            several => several,
        };
        let hash = flow_hash(packet, self.salt);
        let best = &self.best;
        let choose = |_| {
            let told = tor.and_then(|tor| best.port(now, tor)).filter(|port| usable.contains(port));
            told.unwrap_or_else(|| usable[pick(hash, usable.len())])
        };
        Some(self.flowlets.port(now, hash, usable, choose))
    }

    /// Sends probes that originate at this edge switch.
    fn probe(&mut self, now: Time, ports: &Ports<'_>) {
        let own = Probe { tor: self.next_hops.node().0, utilisation: 0 };
        self.send(now, own, self.above..self.end, None, ports);
    }
}

impl Forwarder for Switch {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        if let (&Header::HulaProbe(probe), Some(arrival)) = (&packet.header, arrival) {
            return self.take(now, probe, arrival, ports);
        }
        let Some(port) = self.port(now, packet) else { return Verdict::Drop(DropReason::NoRoute) };
        self.utilisation.count(now, port, self.layer.frame_of(packet));
        if !self.clock.as_mut().is_some_and(|clock| clock.pass(now)) {
            return Verdict::Forward(port);
        }
        self.probe(now, ports);
        Verdict::Answer(port)
    }

    fn next_tick(&self) -> Time {
        self.clock.as_ref().map_or(Time::NEVER, |clock| clock.due)
    }

    fn tick(&mut self, now: Time, ports: &Ports<'_>) {
        if self.clock.as_mut().is_some_and(|clock| clock.tick(now)) {
            self.probe(now, ports);
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    fn originate(&mut self) -> Option<(Packet, PortId)> {
        let port = self.leaving.pop()?;
        Some((Packet::new(Probe::LEN as u32, Header::HulaProbe(self.probe)), port))
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}
