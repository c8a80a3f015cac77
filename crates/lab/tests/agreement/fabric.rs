//! Parts of simulations that several comparisons use: nodes with a registered transport and ECMP routing, flow control
//! by PFC, and a queue that drops chosen packets.

use raddle_core::{Admit, Bytes, Packet, Paused, Queue, Time};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::{Built, FlowControls, Plan};
use raddle_testkit::{registry, settings};
use raddle_topology::Topology;
use std::collections::VecDeque;
use std::sync::Arc;

/// Builds the nodes of a topology for a registered transport. A parameter that `values` does not set has its
/// default.
pub(crate) fn hosts(
    topology: &Arc<Topology>,
    transport: &str,
    values: &[(&'static str, Value)],
    congestion_points: Option<(&str, &Settings)>,
) -> Built {
    let transport = registry().transport(transport).expect("a transport of the registry");
    let of_transport = settings(transport.info.parameters, values);
    let plan = Plan { congestion_points, ..Plan::new(topology, "ecmp", &of_transport, 1) };
    registry().build(transport, &plan, &Settings::defaults(&[])).expect("a fabric that fits")
}

/// Makes PFC with the given buffer size and thresholds (XOFF, XON), in bytes. The largest packet has `packet` bytes.
pub(crate) fn pfc(topology: &Arc<Topology>, packet: u32, [buffer, xoff, xon]: [u64; 3]) -> FlowControls {
    let pfc = registry().flow_control("pfc").expect("built in");
    let thresholds = [("buffer", buffer), ("xoff", xoff), ("xon", xon)];
    let of_pfc = settings(pfc.info.parameters, &thresholds.map(|(name, bytes)| (name, Value::Bytes(bytes))));
    (pfc.build)(&Plan::new(topology, "ecmp", &of_pfc, 1), packet).expect("enough headroom")
}

/// A FIFO that numbers arriving packets from 0, and drops a packet if `drops` is true for the packet's
/// number.
pub(crate) struct Dropping<F> {
    drops: F,
    seen: u64,
    waiting: VecDeque<(u32, u32)>,
}

impl<F> Dropping<F> {
    pub(crate) fn new(drops: F) -> Self {
        Self { drops, seen: 0, waiting: VecDeque::new() }
    }
}

impl<F: Fn(u64) -> bool + Send> Queue for Dropping<F> {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        let number = self.seen;
        self.seen += 1;
        if (self.drops)(number) {
            return Admit::Drop;
        }
        self.waiting.push_back((slot, packet.size));
        Admit::Take
    }

    fn pop(&mut self, _: Time, _: Paused) -> Option<u32> {
        self.waiting.pop_front().map(|(slot, _)| slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.waiting.iter().map(|&(_, size)| u64::from(size)).sum())
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.waiting.iter_mut().for_each(|(slot, _)| visit(slot));
    }
}
