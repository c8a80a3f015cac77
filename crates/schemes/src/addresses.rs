//! The Ethernet addresses of a fabric's ports (specs/cee.md §4.1).

use raddle_core::{NodeId, PortId};
use raddle_topology::{Shape, Topology, Xgft};
use raddle_wire::Mac;
use std::sync::Arc;

/// The addresses of a fabric.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    topology: Arc<Topology>,
    tree: Option<Xgft>,
}

impl Addresses {
    /// Of this fabric.
    pub(crate) fn of(topology: &Arc<Topology>) -> Self {
        let tree = match topology.shape() {
            Shape::Xgft(size) => Some(Xgft::new(size.clone())),
            _ => None,
        };
        Self { topology: Arc::clone(topology), tree }
    }

    /// Of a port of a node: a host has one for all of its ports. In a tree a switch is named by its level and its index there,
    /// elsewhere by its number, the upper bits of which stand where the level would.
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
