//! Topologies for tests.

use raddle_core::{Duration, NodeId, PortId, Rate};
use raddle_topology::builders::{ClosRates, clos as build};
use raddle_topology::{Builder, ClosSize, Shape, Topology};

/// Returns a torus with 10 Gbps links and a propagation delay of 100 ns. The size of every dimension must be at least
/// 3.
pub(crate) fn torus(dims: &[u32]) -> Topology {
    let mut fabric = Builder::default();
    for _ in 0..dims.iter().product() {
        fabric.host(2 * dims.len());
    }
    for node in 0..dims.iter().product::<u32>() {
        let mut stride = 1;
        for (i, &k) in dims.iter().enumerate() {
            let x = node / stride % k;
            let next = node - x * stride + (x + 1) % k * stride;
            let ends = ((NodeId(node), PortId::of(2 * i)), (NodeId(next), PortId::of(2 * i + 1)));
            fabric.link(ends.0, ends.1, Rate::from_gbps(10), Duration::from_ns(100));
            stride *= k;
        }
    }
    fabric.build(Shape::Torus(dims.to_vec()))
}

/// Returns a topology in which `hosts` hosts (ids from 0) are connected to one switch.
pub(crate) fn star(hosts: usize) -> Topology {
    let mut fabric = Builder::default();
    let hosts: Vec<_> = (0..hosts).map(|_| fabric.host(0)).collect();
    let switch = fabric.switch(0);
    for host in hosts {
        fabric.join(host, switch, Rate::from_gbps(10), Duration::from_ns(100));
    }
    fabric.build(Shape::General)
}

/// Returns a Clos network. The sizes are: pods, racks per pod, aggregation switches per pod, cores per plane, hosts per
/// rack. The rates in Mbps are those of host links, of uplinks of racks, and of core links.
pub(crate) fn clos([pods, edges, aggregations, cores, hosts]: [u32; 5], mbps: [u64; 3]) -> Topology {
    let size = ClosSize { pods, edges, aggregations, cores, hosts };
    let [host, uplink, core] = mbps.map(|mbps| Rate::from_bps(mbps * 1_000_000));
    build(size, ClosRates { host, uplink, core }, Duration::from_us(2)).unwrap()
}

/// The sizes of the baseline topology (specifications/expeditus.md §1.3), in the order of [`clos`]. The topology has 12
/// pods of 36 hosts and 2:1 oversubscription at the cores.
pub(crate) const BASELINE: [u32; 5] = [12, 6, 6, 3, 6];
