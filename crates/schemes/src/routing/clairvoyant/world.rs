//! The network's state that all switches share: the loads of the links between switches, and the path tables.

use crate::routing::expeditus::flow_id::FlowId;
use crate::routing::expeditus::path_table::PathTable;
use raddle_core::{Dre, DreRegister, LinkId, NodeId, Packet, PortId, Time};
use raddle_topology::{ClosSize, Topology};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The loads of all links between switches, and the path tables of all switches.
pub(super) struct World {
    topology: Arc<Topology>,
    size: ClosSize,
    dre: Dre,
    /// One register per link, indexed by link id.
    registers: Box<[DreRegister]>,
    /// One table per node, indexed by node id. The tables of hosts and cores stay empty.
    pub(super) tables: Box<[PathTable]>,
}

/// The upward part of a path: the edge switch's uplink, the aggregation switch, and, between pods, the uplink of the
/// aggregation switch to a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ascent {
    pub(super) edge: PortId,
    pub(super) aggregation: NodeId,
    pub(super) core: Option<PortId>,
}

impl World {
    /// A network without traffic or selected paths.
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

    /// Adds a packet to the load of the link by which the packet leaves.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, link: LinkId, packet: &Packet) {
        let bytes = self.topology.link_layer().frame_of(packet);
        self.dre.count(&mut self.registers[link.index()], now, bytes);
    }

    /// The least loaded paths from an edge switch to a host of another edge switch. There are several if their loads
    /// are equal, and none if no path is left. Links in `down`, and ports of the edge switch that are not `up`, are
    /// excluded.
    pub(super) fn least_loaded(
        &self,
        now: Time,
        edge: NodeId,
        to: NodeId,
        down: &BTreeSet<LinkId>,
        up: impl Fn(PortId) -> bool,
    ) -> Vec<Ascent> {
        let ClosSize { edges, aggregations, cores, hosts, .. } = self.size;
        // The ports of the path down: from the aggregation switch to the host's edge switch, and from the core to the
        // host's pod.
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
            let link = self.topology.link(id).expect("a Clos network must have all its links");
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

    /// The number of the pod of an edge switch.
    fn pod_of(&self, edge: NodeId) -> u32 {
        let ClosSize { pods, edges, hosts, .. } = self.size;
        (edge.0 - pods * edges * hosts) / edges
    }

    /// Installs a flow's path. Returns false if the edge switch's table is full.
    pub(super) fn install(&mut self, now: Time, edge: NodeId, flow: FlowId, path: Ascent) -> bool {
        let has_room = self.tables[edge.index()].install(now, flow, path.edge);
        if let Some(core) = path.core.filter(|_| has_room) {
            self.tables[path.aggregation.index()].install(now, flow, core);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::expeditus::path_table::{Clock, Lookup};
    use raddle_core::{Duration, Header, Rate};
    use raddle_topology::builders::{ClosRates, clos};
    use raddle_wire::tcp::Segment;

    const PODS: ClosSize = ClosSize { pods: 2, edges: 2, aggregations: 2, cores: 2, hosts: 2 };
    /// The first edge switch.
    const EDGE: NodeId = NodeId(8);
    /// The aggregation switches, in order of node number.
    const AGGREGATIONS: [NodeId; 4] = [NodeId(12), NodeId(13), NodeId(14), NodeId(15)];
    /// The cores, in order of node number.
    const CORES: [NodeId; 4] = [NodeId(16), NodeId(17), NodeId(18), NodeId(19)];

    /// The network `PODS` with the given load on each given link. One of the 8 levels of load is 31,250 bytes: 1/8 of
    /// what a link of 10 Gb/s carries in 200 us.
    fn world(loads: &[(NodeId, NodeId, u32)]) -> World {
        let topology = clos(PODS, ClosRates::all(Rate::from_gbps(10)), Duration::from_us(2)).expect("a Clos");
        let topology = Arc::new(topology);
        let dre = Dre::new(Duration::from_us(20), 0.1, 3);
        let timeout = Duration::from_ms(100);
        let table = || PathTable::new(65_536, timeout, Clock::Exact, Lookup::Exact, &Arc::default());
        let mut world = World::new(&topology, PODS, dre, table);
        for &(from, to, load) in loads {
            let (link, _) = topology.links_from(from).find(|(_, link)| link.to == to).expect("neighbours");
            world.sent(Time::ZERO, link, &Packet::new(31_250 * load, Header::Tcp(Segment::default())));
        }
        world
    }

    fn least_loaded(world: &World, to: u32, down: &[LinkId]) -> Vec<(u16, Option<u16>)> {
        let down = down.iter().copied().collect();
        let paths = world.least_loaded(Time::ZERO, EDGE, NodeId(to), &down, |_| true);
        paths.iter().map(|path| (path.edge.0 - 2, path.core.map(|core| core.0 - 2))).collect()
    }

    /// Oracle S5 of specifications/expeditus.md §11.2: Expeditus selects a path of load 6. Clairvoyant sees all loads
    /// and finds the two paths of load 3.
    #[test]
    fn oracle_s5_clairvoyant_sees_both_stages() {
        let world = world(&[
            (EDGE, AGGREGATIONS[0], 2),
            (EDGE, AGGREGATIONS[1], 3),
            (AGGREGATIONS[2], NodeId(11), 1),
            (AGGREGATIONS[3], NodeId(11), 2),
            (AGGREGATIONS[0], CORES[0], 7),
            (AGGREGATIONS[0], CORES[1], 6),
            (CORES[0], AGGREGATIONS[2], 5),
            (CORES[1], AGGREGATIONS[2], 6),
            (AGGREGATIONS[1], CORES[3], 1),
        ]);
        assert_eq!(least_loaded(&world, 7, &[]), [(1, Some(0)), (1, Some(1))]);
        // Within the pod, the first uplink has less load than the second.
        assert_eq!(least_loaded(&world, 2, &[]), [(0, None)]);
    }

    /// specifications/expeditus.md §6.2: the load of a path is the greatest load of its links between switches. A path
    /// between pods has four such links, and a path within a pod has two.
    #[test]
    fn oracle_6_2_every_link_of_a_path_counts() {
        for (from, to, left) in [
            (EDGE, AGGREGATIONS[0], 2),
            (AGGREGATIONS[0], CORES[0], 3),
            (CORES[0], AGGREGATIONS[2], 3),
            (AGGREGATIONS[2], NodeId(11), 2),
        ] {
            let paths = least_loaded(&world(&[(from, to, 1)]), 7, &[]);
            assert!(paths.len() == left && !paths.contains(&(0, Some(0))), "{from:?} to {to:?}: {paths:?}");
        }
        for (from, to) in [(EDGE, AGGREGATIONS[0]), (AGGREGATIONS[0], NodeId(9))] {
            assert_eq!(least_loaded(&world(&[(from, to, 1)]), 2, &[]), [(1, None)]);
        }
    }

    #[test]
    fn all_paths_tie_when_nothing_moves_and_those_that_failed_do_not() {
        let world = world(&[]);
        assert_eq!(least_loaded(&world, 7, &[]).len(), 4);
        let last = world.topology.link_id(AGGREGATIONS[2], PortId(1));
        assert_eq!(least_loaded(&world, 7, &[last]), [(1, Some(0)), (1, Some(1))]);
        let crossing = world.topology.link_id(CORES[3], PortId(1));
        assert_eq!(least_loaded(&world, 7, &[last, crossing]), [(1, Some(0))]);
    }
}
