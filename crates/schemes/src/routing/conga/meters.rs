//! Measures the load of a switch's links to other switches, in the direction away from the switch (CONGA §3.2).

use raddle_core::{Dre, DreRegister, Packet, PortId, Ports, Time};
use raddle_topology::{LinkLayer, Topology};
use std::ops::Range;
use std::sync::Arc;

/// One rate register per metered egress port.
#[derive(Debug)]
pub(super) struct Meters {
    dre: Arc<Dre>,
    layer: LinkLayer,
    /// The first metered port.
    first: u16,
    registers: Box<[DreRegister]>,
}

impl Meters {
    /// Meters for these ports of a switch.
    pub(super) fn new(topology: &Topology, ports: Range<u16>, dre: &Arc<Dre>) -> Self {
        Self {
            dre: Arc::clone(dre),
            layer: topology.link_layer(),
            first: ports.start,
            registers: vec![DreRegister::default(); ports.len()].into(),
        }
    }

    /// The index of a port's register.
    #[inline]
    pub(super) fn place(&self, port: PortId) -> usize {
        usize::from(port.0 - self.first)
    }

    /// Counts a packet that leaves by `port`.
    #[inline]
    pub(super) fn count(&mut self, now: Time, port: PortId, packet: &Packet) {
        self.dre.count(&mut self.registers[self.place(port)], now, self.layer.frame_of(packet));
    }

    /// The load of the link at `port`.
    #[inline]
    pub(super) fn load(&self, now: Time, port: PortId, ports: &Ports<'_>) -> u8 {
        self.dre.load(&self.registers[self.place(port)], now, ports.get(port).rate)
    }
}
