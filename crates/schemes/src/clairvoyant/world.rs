//! What is known of all links and flows, wherever they are.

use crate::expeditus::flow_id::FlowId;
use crate::expeditus::path_table::PathTable;
use raddle_core::{Dre, DreRegister, LinkId, NodeId, Packet, PortId, Time};
use raddle_topology::{ClosSize, Topology};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The loads of all links between switches, and the tables of all switches.
pub(super) struct World {
    topology: Arc<Topology>,
    size: ClosSize,
    dre: Dre,
    /// Of every link, upwards or downwards, by its id.
    registers: Box<[DreRegister]>,
    /// Of every node, by its id; those of hosts and cores stay empty.
    pub(super) tables: Box<[PathTable]>,
}

/// A path upwards: the uplink of the edge switch, the aggregation switch there, and between pods the uplink of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ascent {
    pub(super) edge: PortId,
    pub(super) aggregation: NodeId,
    pub(super) core: Option<PortId>,
}

impl World {
    /// In which nothing has happened yet.
    pub(super) fn new(
        topology: &Arc<Topology>,
        size: ClosSize,
        dre: Dre,
        table: impl Fn() -> PathTable,
    ) -> Self {
        Self {
            topology: Arc::clone(topology),
            size,
            dre,
            registers: vec![DreRegister::default(); topology.link_slots()].into(),
            tables: topology.nodes().map(|_| table()).collect(),
        }
    }

    /// Counts a packet that leaves by a link.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, link: LinkId, packet: &Packet) {
        let bytes = self.topology.link_layer().frame(packet.size);
        self.dre.count(&mut self.registers[link.index()], now, bytes);
    }

    /// The paths from an edge switch to a host of another that are least loaded, all of them equally, over links that are not
    /// `down` and ports of the switch that are `up`.
    pub(super) fn least_loaded(
        &self,
        now: Time,
        edge: NodeId,
        to: NodeId,
        down: &BTreeSet<LinkId>,
        up: impl Fn(PortId) -> bool,
    ) -> Vec<Ascent> {
        let ClosSize { edges, aggregations, cores, hosts, .. } = self.size;
        // Ports southwards, by the host's place.
        let to_edge = PortId::of((to.0 / hosts % edges) as usize);
        let to_pod = PortId::of((to.0 / (hosts * edges)) as usize);
        let uplinks = |first: u32, count: u32| (first..first + count).map(|port| PortId::of(port as usize));
        let mut best = (u8::MAX, Vec::new());
        let mut consider = |ascent: Ascent, loads: &[Option<u8>]| {
            let Some(load) = loads.iter().copied().try_fold(0, |most, load| load.map(|load| most.max(load)))
            else {
                return;
            };
            if load < best.0 {
                best = (load, Vec::new());
            }
            if load == best.0 {
                best.1.push(ascent);
            }
        };
        let step = |from: NodeId, port: PortId| {
            let id = self.topology.link_id(from, port);
            let link = self.topology.link(id).expect("a Clos network has all its links");
            let load = || self.dre.load(&self.registers[id.index()], now, link.rate);
            (link.to, (!down.contains(&id)).then(load))
        };
        for first in uplinks(hosts, aggregations).filter(|&port| up(port)) {
            let (aggregation, ascending) = step(edge, first);
            if self.pod_of(edge) == u32::from(to_pod.0) {
                let ascent = Ascent { edge: first, aggregation, core: None };
                consider(ascent, &[ascending, step(aggregation, to_edge).1]);
                continue;
            }
            for second in uplinks(edges, cores) {
                let (core, crossing) = step(aggregation, second);
                let (there, descending) = step(core, to_pod);
                let ascent = Ascent { edge: first, aggregation, core: Some(second) };
                consider(ascent, &[ascending, crossing, descending, step(there, to_edge).1]);
            }
        }
        best.1
    }

    /// The pod of an edge switch.
    fn pod_of(&self, edge: NodeId) -> u32 {
        let ClosSize { pods, edges, hosts, .. } = self.size;
        (edge.0 - pods * edges * hosts) / edges
    }

    /// Gives a flow its path.
    pub(super) fn install(&mut self, now: Time, edge: NodeId, flow: FlowId, path: Ascent) {
        self.tables[edge.index()].install(now, flow, path.edge);
        if let Some(core) = path.core {
            self.tables[path.aggregation.index()].install(now, flow, core);
        }
    }
}
