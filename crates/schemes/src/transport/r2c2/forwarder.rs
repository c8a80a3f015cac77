//! Relays (R2C2 §3.5). A relay forwards a packet to the next hop in the packet's source route.

use raddle_core::{DropReason, Forwarder, Header, Packet, PortId, Ports, Time, Verdict};

/// Forwards packets by source route. Broadcasts are delivered to the node itself, which forwards copies.
#[derive(Debug, Clone, Copy)]
pub struct SourceRoute {
    hop_bits: u32,
}

impl SourceRoute {
    /// A relay for routes of `hop_bits` bits per hop.
    #[must_use]
    pub fn new(hop_bits: u32) -> Self {
        Self { hop_bits }
    }
}

impl Forwarder for SourceRoute {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, ports: &Ports<'_>) -> Verdict {
        let Some(data) = packet.header.routed_mut() else { return Verdict::Deliver };
        if data.ridx == data.rlen {
            return Verdict::Deliver;
        }
        let port = PortId(data.route.port(data.ridx, self.hop_bits));
        data.ridx += 1;
        if port.index() < ports.0.len() { Verdict::Forward(port) } else { Verdict::Drop(DropReason::NoRoute) }
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        match &packet.header {
            Header::R2c2Data(data) if data.ridx < data.rlen => {
                Some(PortId(data.route.port(data.ridx, self.hop_bits)))
            }
            _ => None,
        }
    }
}
