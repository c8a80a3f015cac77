//! The Ethernet addresses of a fabric's ports (specifications/cee.md §4.1).

use crate::scheme::Unfit;
use raddle_core::{NodeId, PortId};
use raddle_topology::{Shape, Topology, Xgft};
use raddle_wire::Mac;
use std::sync::Arc;

/// Greatest number of ports per switch that [`Mac::switch_port`] can encode.
const MOST_PORTS: usize = 1 << 15;

/// Greatest number of switches on one level of a tree that [`Mac::switch_port`] can encode.
const MOST_OF_A_LEVEL: usize = 1 << 16;
/// Greatest number of nodes in a fabric other than a tree that [`Mac::switch_port`] can encode.
const MOST_NODES: usize = 1 << 23;

/// Greatest number of hosts that [`Mac::host`] can encode.
const MOST_HOSTS: usize = 1 << 24;

/// The Ethernet addresses of a fabric.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    topology: Arc<Topology>,
    tree: Option<Xgft>,
}

impl Addresses {
    /// The addresses of this topology.
    ///
    /// # Errors
    /// [`Unfit`] if the addresses have too few bits for the hosts, for the switches or for the ports of a switch.
    pub(crate) fn of(topology: &Arc<Topology>) -> Result<Self, Unfit> {
        let switches = topology.nodes().filter(|&node| !topology.is_host(node));
        let most_ports = switches.map(|switch| topology.port_count(switch)).max().unwrap_or(0);
        if most_ports > MOST_PORTS {
            return Err(Unfit {
                key: "topology".to_owned(),
                problem: format!(
                    "a switch has {most_ports} ports, and the format of MAC addresses allows at most {MOST_PORTS}"
                ),
                hint: "choose a topology with fewer ports per switch".to_owned(),
            });
        }
        let tree = match topology.shape() {
            Shape::Xgft(size) => Some(Xgft::new(size.clone())),
            _ => None,
        };
        let named = match &tree {
            Some(tree) => {
                let widest = (1..=tree.levels()).map(|level| tree.nodes_of(level).len()).max();
                (widest.unwrap_or(0), MOST_OF_A_LEVEL, "switches on one level")
            }
            None => (topology.node_count(), MOST_NODES, "hosts and switches"),
        };
        let hosts = (topology.hosts().count(), MOST_HOSTS, "hosts");
        for (count, most, what) in [named, hosts] {
            if count > most {
                let problem = format!(
                    "the topology has {count} {what}, and the format of MAC addresses allows at \
                                       most {most}"
                );
                let hint = "choose a smaller topology".to_owned();
                return Err(Unfit { key: "topology".to_owned(), problem, hint });
            }
        }
        Ok(Self { topology: Arc::clone(topology), tree })
    }

    /// The address of a node's port. All ports of a host share one address. In a tree a switch is identified by its
    /// level and its index on that level. In other fabrics a switch is identified by its node number, whose upper bits
    /// are stored in the field for the level.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "in a tree, a level has at most 2^16 switches; in other fabrics, `level` holds the upper \
                  bits of the node number"
    )]
    pub(crate) fn port(&self, node: NodeId, port: PortId) -> Mac {
        if self.topology.is_host(node) {
            return Mac::host(node.0);
        }
        let (level, index) = match &self.tree {
            Some(tree) => {
                let level = tree.level(node);
                (level as u32, node.0 - tree.nodes_of(level).start)
            }
            None => (0x80 | node.0 >> 16, node.0),
        };
        Mac::switch_port(level as u8, index as u16, port.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Duration, Rate};
    use raddle_topology::{XgftSize, builders};
    use std::collections::BTreeSet;

    fn star(hosts: u32) -> Arc<Topology> {
        Arc::new(builders::single_switch(hosts, Rate::from_gbps(10), Duration::ZERO).expect("a star"))
    }

    #[test]
    fn a_switch_has_no_more_ports_than_addresses_tell_apart() {
        let most = star(1 << 15);
        let switch = NodeId(1 << 15);
        let addresses = Addresses::of(&most).expect("just enough");
        assert_eq!(addresses.port(switch, PortId(0x7FFF)), Mac::switch_port(1, 0, 0x7FFF));
        let unfit = Addresses::of(&star((1 << 15) + 1)).expect_err("one too many");
        assert_eq!(unfit.key, "topology");
        assert!(unfit.problem.contains("32769 ports"), "{}", unfit.problem);
    }
    #[test]
    fn a_level_has_no_more_switches_than_addresses_tell_apart() {
        // Each switch of the lowest level has one host, and each switch of the middle level has 256 switches below it.
        let tree = |width: u32| {
            let size = XgftSize { children: vec![1, 256, width], parents: vec![1, 1, 1] };
            Arc::new(builders::xgft(size, Rate::from_gbps(10), Duration::ZERO).expect("a tree"))
        };
        let most = tree(256);
        let addresses = Addresses::of(&most).expect("just enough");
        let lowest: BTreeSet<Mac> =
            (0..1 << 16).map(|i| addresses.port(NodeId((1 << 16) + i), PortId(0))).collect();
        assert_eq!(lowest.len(), 1 << 16, "each has its own");
        let unfit = Addresses::of(&tree(257)).expect_err("too many");
        assert_eq!(unfit.key, "topology");
        assert!(unfit.problem.contains("65792 switches on one level"), "{}", unfit.problem);
    }
}
