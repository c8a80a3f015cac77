//! Chooses the egress ports of packets by credits.

use super::ledger::Ledger;
use super::queue::flow_of;
use raddle_core::{
    Credit, DropReason, Duration, Forwarder, Header, HoldKey, LinkId, NodeId, Packet, PortId, Ports, Stream,
    Time, Verdict,
};
use raddle_topology::routing::Routing;
use std::sync::Arc;

/// Interval between ticks. At each tick, the forwarder checks for unacknowledged credits.
const TICK: Duration = Duration::from_us(200);

/// The rule that chooses the egress ports of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Each hop draws a port uniformly from the ports that have credit and are on shortest paths to the destination.
    Adaptive,
    /// The packet follows a path drawn at its source.
    Strict {
        /// Bits per hop in the source route.
        hop_bits: u32,
    },
}

/// The node's state of one of its links.
struct Port {
    /// Number of packet buffers per flow at the far end of the link.
    buffers: u32,
    /// Each flow that uses buffers at the far end, with the number of these buffers. The list is short, because it
    /// covers the packets of about one round trip.
    in_use: Vec<(u32, u32)>,
    /// The credits sent to the neighbour, and the credits received from the neighbour.
    ledger: Ledger,
}

impl Port {
    fn has_credit(&self, flow: u32) -> bool {
        let used = self.in_use.iter().find(|of| of.0 == flow);
        used.is_none_or(|&(_, used)| used < self.buffers)
    }

    /// Records that one of the flow's buffers at the far end is free again. Returns true if the flow had no credit
    /// left, so that a packet of the flow may be waiting.
    #[inline]
    fn free(&mut self, flow: u32) -> bool {
        let Some(place) = self.in_use.iter().position(|of| of.0 == flow) else { return false };
        let used = &mut self.in_use[place].1;
        let was_full = *used == self.buffers;
        *used -= 1;
        if *used == 0 {
            self.in_use.swap_remove(place);
        }
        was_full
    }
}

/// The forwarder of one node: chooses ports, and keeps the node's credits for the buffers at the far ends of its links.
pub(crate) struct PfqForwarder {
    id: NodeId,
    routing: Arc<Routing>,
    mode: Mode,
    ports: Vec<Port>,
    /// Time of the next tick; [`Time::NEVER`] while the ledgers of all ports are settled (`Ledger::is_settled`).
    tick: Time,
    /// Credits and acknowledgements to send after a tick, with the port of each.
    again: Vec<(PortId, Credit)>,
    choices: Stream,
    productive: Vec<PortId>,
}

impl PfqForwarder {
    /// The forwarder of node `id`, for packets of at most `packet_bytes` bytes.
    #[must_use]
    pub(crate) fn new(id: NodeId, routing: &Arc<Routing>, mode: Mode, packet_bytes: u32, seed: u64) -> Self {
        let topology = routing.topology();
        let ports = (0..topology.port_count(id))
            .map(|port| {
                let buffers = topology.link_at(id, PortId::of(port)).map_or(0, |link| {
                    let round_trip = link.rate.bytes_in(link.delay * 2).0;
                    let packets = round_trip.div_ceil(packet_bytes.into()) + 2;
                    u32::try_from(packets.max(4)).expect("a link must hold fewer than 2^32 packets")
                });
                Port { buffers, in_use: Vec::new(), ledger: Ledger::default() }
            })
            .collect();
        Self {
            id,
            routing: Arc::clone(routing),
            mode,
            ports,
            tick: Time::NEVER,
            again: Vec::new(),
            choices: Stream::new(seed, id.0.into(), "pfq/choices"),
            productive: Vec::new(),
        }
    }

    /// Number of buffers at all neighbours, over all flows, that are occupied by or reserved for packets that this node
    /// has forwarded.
    #[cfg(test)]
    pub(super) fn credits_in_use(&self) -> u32 {
        self.ports.iter().flat_map(|port| &port.in_use).map(|&(_, used)| used).sum()
    }

    /// Schedules a tick, unless a tick is already scheduled.
    #[inline]
    fn expect_tick(&mut self, now: Time) {
        if self.tick == Time::NEVER {
            self.tick = now + TICK;
        }
    }

    /// Draws the egress port of a packet that is not at its destination; `None` if no port on a shortest path to `dst`
    /// is up and has credit.
    fn adaptive(&mut self, flow: u32, dst: NodeId, ports: &Ports<'_>) -> Option<PortId> {
        let mut productive = std::mem::take(&mut self.productive);
        self.routing.productive(self.id, dst, &mut productive);
        productive.retain(|&port| ports.get(port).up && self.ports[port.index()].has_credit(flow));
        let chosen = match productive.len() {
            0 => None,
            1 => Some(productive[0]),
            count => Some(productive[self.choices.index(count)]),
        };
        self.productive = productive;
        chosen
    }
}

impl Forwarder for PfqForwarder {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, ports: &Ports<'_>) -> Verdict {
        let Header::R2c2Data(data) = &mut packet.header else { return Verdict::Drop(DropReason::NoRoute) };
        let port = match self.mode {
            Mode::Adaptive if NodeId(data.dst.into()) == self.id => return Verdict::Deliver,
            Mode::Adaptive => match self.adaptive(data.flow, NodeId(data.dst.into()), ports) {
                Some(port) => port,
                None => return Verdict::Hold(HoldKey(data.flow.into())),
            },
            Mode::Strict { .. } if data.ridx == data.rlen => return Verdict::Deliver,
            Mode::Strict { hop_bits } => {
                let port = PortId(data.route.port(data.ridx, hop_bits));
                if port.index() >= ports.0.len() {
                    return Verdict::Drop(DropReason::NoRoute);
                }
                if !ports.get(port).up || !self.ports[port.index()].has_credit(data.flow) {
                    return Verdict::Hold(HoldKey(data.flow.into()));
                }
                data.ridx += 1;
                port
            }
        };
        let in_use = &mut self.ports[port.index()].in_use;
        match in_use.iter_mut().find(|of| of.0 == data.flow) {
            Some((_, used)) => *used += 1,
            None => in_use.push((data.flow, 1)),
        }
        Verdict::Forward(port)
    }

    fn hears_of_departures(&self) -> bool {
        true
    }

    fn departed(&mut self, now: Time, packet: &Packet, arrival: PortId) -> Option<Credit> {
        let flow = flow_of(packet)?;
        self.expect_tick(now);
        Some(self.ports[arrival.index()].ledger.give(flow))
    }

    fn credited(&mut self, now: Time, port: PortId, credit: &Credit, freed: &mut Vec<HoldKey>) {
        self.expect_tick(now);
        let port = &mut self.ports[port.index()];
        for &flow in port.ledger.take(credit) {
            if port.free(flow) {
                freed.push(HoldKey(flow.into()));
            }
        }
    }

    fn next_credit(&mut self) -> Option<(PortId, Credit)> {
        self.again.pop()
    }

    fn next_tick(&self) -> Time {
        self.tick
    }

    fn tick(&mut self, now: Time, _: &Ports<'_>) {
        let mut all_settled = true;
        for (port, Port { ledger, .. }) in self.ports.iter_mut().enumerate() {
            ledger.tick(|credit| self.again.push((PortId::of(port), credit)));
            all_settled &= ledger.is_settled();
        }
        self.again.reverse();
        self.tick = if all_settled { Time::NEVER } else { now + TICK };
    }

    /// PFQ does not handle failures: a packet that can leave only through a failed link waits until the link is
    /// repaired.
    fn link(&mut self, _: LinkId, _: bool) {}
}
