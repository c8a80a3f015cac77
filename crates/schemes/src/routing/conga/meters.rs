//! How busy a switch's links into the fabric are, outwards (CONGA §3.2).

use raddle_core::{Dre, DreRegister, Packet, PortId, Ports, Time};
use raddle_topology::{LinkLayer, Topology};
use std::ops::Range;
use std::sync::Arc;

/// A register an egress port.
#[derive(Debug)]
pub(super) struct Meters {
    dre: Arc<Dre>,
    layer: LinkLayer,
    /// The first port that has one.
    first: u16,
    registers: Box<[DreRegister]>,
}

impl Meters {
    /// Of these ports of a switch.
    pub(super) fn new(topology: &Topology, ports: Range<u16>, dre: &Arc<Dre>) -> Self {
        Self {
            dre: Arc::clone(dre),
            layer: topology.link_layer(),
            first: ports.start,
            registers: vec![DreRegister::default(); ports.len()].into(),
        }
    }

    /// The place of a port among those measured.
    #[inline]
    pub(super) fn place(&self, port: PortId) -> usize {
        usize::from(port.0 - self.first)
    }

    /// Counts a packet that leaves by that port.
    #[inline]
    pub(super) fn count(&mut self, now: Time, port: PortId, packet: &Packet) {
        self.dre.count(&mut self.registers[self.place(port)], now, self.layer.frame(packet.size));
    }

    /// The load of that port's link.
    #[inline]
    pub(super) fn load(&self, now: Time, port: PortId, ports: &Ports<'_>) -> u8 {
        self.dre.load(&self.registers[self.place(port)], now, ports.get(port).rate)
    }
}
