//! Builders of the field's topologies.

use crate::{Builder, Grid, Shape, Topology};
use raddle_core::{Duration, NodeId, PortId, Rate};

/// Why a topology cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A size is zero, or there is none.
    #[error("`{0}` must be at least 1")]
    Empty(&'static str),
    /// More nodes or ports than ids.
    #[error("{what} comes to {count}, more than {most}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        count: u64,
        /// The most that is possible.
        most: u64,
    },
    /// A rate of zero.
    #[error("a link's rate must not be zero")]
    ZeroRate,
}

/// Most nodes of any topology.
const MOST_NODES: u64 = 1 << 24;

fn check(nodes: &[(&'static str, u64)], rates: &[Rate]) -> Result<(), BuildError> {
    if let Some((what, _)) = nodes.iter().find(|(_, n)| *n == 0) {
        return Err(BuildError::Empty(what));
    }
    if rates.contains(&Rate::ZERO) {
        return Err(BuildError::ZeroRate);
    }
    Ok(())
}

fn at_most(what: &'static str, count: u64, most: u64) -> Result<usize, BuildError> {
    if count > most {
        return Err(BuildError::TooLarge { what, count, most });
    }
    Ok(usize::try_from(count).expect("far below the address space"))
}

/// A wrap-around grid of hosts; port `2i` leads up in dimension i, port `2i + 1` down.
///
/// # Errors
/// If a size or the rate is zero, or there are too many nodes.
pub fn torus(dims: &[u32], rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    grid(&Grid::new(dims, true), Shape::Torus(dims.to_vec()), rate, delay)
}

/// A grid of hosts without wrap-around, with the ports of [`torus`].
///
/// # Errors
/// If a size or the rate is zero, or there are too many nodes.
pub fn mesh(dims: &[u32], rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    grid(&Grid::new(dims, false), Shape::Mesh(dims.to_vec()), rate, delay)
}

/// A hypercube of `2^order` hosts: a torus of that many dimensions of two, its links at the even ports.
///
/// # Errors
/// If the order or the rate is zero, or there are too many nodes.
pub fn hypercube(order: u32, rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    at_most("the order", order.into(), 24)?;
    torus(&vec![2; order as usize], rate, delay)
}

fn grid(grid: &Grid, shape: Shape, rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    let sizes: Vec<_> = grid.dims().iter().map(|&k| ("dims", u64::from(k))).collect();
    check(&sizes, &[rate])?;
    let nodes = grid.dims().iter().fold(1_u64, |nodes, &k| nodes.saturating_mul(k.into()));
    at_most("the number of nodes", nodes, MOST_NODES)?;
    if grid.dims().is_empty() {
        return Err(BuildError::Empty("dims"));
    }
    let ports = 2 * grid.dims().len();
    let mut builder = Builder::default();
    for _ in 0..nodes {
        builder.host(ports);
    }
    for node in (0..grid.nodes()).map(NodeId) {
        for port in (0..ports).map(PortId::of) {
            if let Some(neighbour) = grid.neighbour(node, port) {
                let there = grid.opposite(port);
                // Each duplex link once: from the end whose (node, port) is smaller.
                if (node, port) < (neighbour, there) {
                    builder.link((node, port), (neighbour, there), rate, delay);
                }
            }
        }
    }
    Ok(builder.build(shape))
}

/// A two-level folded Clos: hosts, then leaves, then spines. A leaf's first ports lead to its hosts, the others to the
/// spines in order; a spine's port is the leaf's number.
///
/// # Errors
/// If a number or a rate is zero, or there are too many nodes.
pub fn folded_clos(
    leaves: u32,
    hosts_per_leaf: u32,
    spines: u32,
    host_rate: Rate,
    uplink_rate: Rate,
    delay: Duration,
) -> Result<Topology, BuildError> {
    let (leaf_count, per_leaf, spine_count) =
        (u64::from(leaves), u64::from(hosts_per_leaf), u64::from(spines));
    check(
        &[("leaves", leaf_count), ("hosts_per_leaf", per_leaf), ("spines", spine_count)],
        &[host_rate, uplink_rate],
    )?;
    at_most("the number of nodes", leaf_count.saturating_mul(per_leaf + 1) + spine_count, MOST_NODES)?;
    let leaf_ports = at_most("the ports of a leaf", per_leaf + spine_count, u16::MAX.into())?;
    let spine_ports = at_most("the ports of a spine", leaf_count, u16::MAX.into())?;
    let mut builder = Builder::default();
    let hosts: Vec<NodeId> = (0..leaves * hosts_per_leaf).map(|_| builder.host(1)).collect();
    let leaves: Vec<NodeId> = (0..leaves).map(|_| builder.switch(leaf_ports)).collect();
    let spines: Vec<NodeId> = (0..spines).map(|_| builder.switch(spine_ports)).collect();
    let per_leaf = hosts_per_leaf as usize;
    for (i, &host) in hosts.iter().enumerate() {
        builder.link((host, PortId(0)), (leaves[i / per_leaf], PortId::of(i % per_leaf)), host_rate, delay);
    }
    for (l, &leaf) in leaves.iter().enumerate() {
        for (s, &spine) in spines.iter().enumerate() {
            builder.link((leaf, PortId::of(per_leaf + s)), (spine, PortId::of(l)), uplink_rate, delay);
        }
    }
    Ok(builder.build(Shape::General))
}

/// Hosts on two switches that one link joins: hosts on the left, hosts on the right, the left switch, the right one.
/// A switch's last port leads to the other switch.
///
/// # Errors
/// If a number or a rate is zero, or there are too many ports.
pub fn dumbbell(
    left: u32,
    right: u32,
    edge_rate: Rate,
    bottleneck_rate: Rate,
    delay: Duration,
) -> Result<Topology, BuildError> {
    check(&[("left", left.into()), ("right", right.into())], &[edge_rate, bottleneck_rate])?;
    let most = u64::from(u16::MAX) - 1;
    let sides = [at_most("left", left.into(), most)?, at_most("right", right.into(), most)?];
    let mut builder = Builder::default();
    let hosts = sides.map(|count| (0..count).map(|_| builder.host(1)).collect::<Vec<_>>());
    let switches = sides.map(|count| builder.switch(count + 1));
    for (hosts, &switch) in hosts.iter().zip(&switches) {
        for (i, &host) in hosts.iter().enumerate() {
            builder.link((host, PortId(0)), (switch, PortId::of(i)), edge_rate, delay);
        }
    }
    let across = |side: usize| (switches[side], PortId::of(sides[side]));
    builder.link(across(0), across(1), bottleneck_rate, delay);
    Ok(builder.build(Shape::General))
}

/// Hosts on one switch, the last node; its port is the host's number.
///
/// # Errors
/// If there are no or too many hosts, or the rate is zero.
pub fn single_switch(hosts: u32, rate: Rate, delay: Duration) -> Result<Topology, BuildError> {
    check(&[("hosts", hosts.into())], &[rate])?;
    let count = at_most("the ports of the switch", hosts.into(), u16::MAX.into())?;
    let mut builder = Builder::default();
    let hosts: Vec<NodeId> = (0..count).map(|_| builder.host(1)).collect();
    let switch = builder.switch(count);
    for (i, &host) in hosts.iter().enumerate() {
        builder.link((host, PortId(0)), (switch, PortId::of(i)), rate, delay);
    }
    Ok(builder.build(Shape::General))
}
