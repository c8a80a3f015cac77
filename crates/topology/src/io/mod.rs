//! Fabrics as files: reads and writes NetworkX's node-link JSON and GraphML, and reads the topology files of HPCC's
//! simulator.
//!
//! A graph file holds an undirected multigraph. Each edge is a link in each direction, and parallel edges are parallel
//! links. Nodes are numbered in the file's order, whatever their names. Only these attributes are read:
//!
//! | of | attribute | meaning |
//! |---|---|---|
//! | node | `kind` | `host` or `switch` |
//! | node | `relay` | optional: `true` if paths of other nodes may lead through the node, else `false`. By default switches relay, and hosts relay only if the graph has no switches |
//! | node | `ports` | optional: least number of ports, with or without a link |
//! | edge | `rate_bps` | bits per second of each direction, above 0 |
//! | edge | `delay_ps` | propagation delay in picoseconds |
//! | edge | `source_port`, `target_port` | optional: ports at the ends; by default the lowest free ports |
//!
//! Written edges lead from the node with the lower id to the node with the higher id. NetworkX does not preserve which
//! end of an undirected edge was the source, but writes each edge from the node that comes first in its list of nodes.
//! With this order, each port therefore still belongs to the correct end. A file records neither the shape of a fabric,
//! such as a torus, nor its link layer. A fabric that is written and read again has
//! [`Shape::General`](crate::Shape::General) and [`LinkLayer::BARE`](crate::LinkLayer::BARE). Its nodes, ports and
//! links are the same as before.

mod assemble;
mod graphml;
mod hpcc;
mod node_link;

pub use graphml::{read_graphml, write_graphml};
pub use hpcc::read_hpcc;
pub use node_link::{read_node_link, write_node_link};

use crate::{Link, Topology};
use raddle_core::NodeId;
use std::fmt;

/// The reason why a file is not a fabric, and the location of the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ReadError {
    /// The location of the problem in the file.
    pub place: Place,
    /// The problem.
    pub problem: Problem,
}

/// A location in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A line and a column, both from 1; columns count bytes.
    Position {
        /// The line.
        line: usize,
        /// The byte's number in the line.
        column: usize,
    },
    /// An element, such as `edges[3]`.
    Path(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Position { line, column } => write!(f, "line {line}, column {column}"),
            Self::Path(path) => f.write_str(path),
        }
    }
}

/// A problem in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file violates its format, or uses a feature of the format that is not supported.
    #[error("{0}")]
    Syntax(String),
    /// The graph is directed.
    #[error("the graph must be undirected: each edge is a link in both directions")]
    Directed,
    /// There are no nodes.
    #[error("the graph has no nodes")]
    Empty,
    /// An element lacks a required attribute.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// An attribute's value is invalid.
    #[error("`{attribute}` is `{text}`, but must be {expected}")]
    Invalid {
        /// The attribute.
        attribute: &'static str,
        /// The attribute's value in the file.
        text: String,
        /// The valid values.
        expected: &'static str,
    },
    /// Two nodes have the same name.
    #[error("two nodes have the name {0}")]
    DuplicateNode(String),
    /// An edge ends at a node that does not exist.
    #[error("the graph has no node {0}")]
    UnknownNode(String),
    /// An edge joins a node to itself.
    #[error("node {0} has an edge to itself")]
    Loop(String),
    /// Two edges end at the same port.
    #[error("two edges end at port {port} of node {node}")]
    PortTaken {
        /// The node.
        node: String,
        /// The node's port.
        port: u16,
    },
    /// A node has more than 65,536 ports, or all nodes together have more than 2^24.
    #[error("{0}")]
    TooMany(&'static str),
}

/// The reason why a fabric cannot be written as an undirected graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A link has no reverse direction.
    #[error(
        "the link from node {from} to node {to} has no reverse link; an undirected graph \
         cannot represent a one-way link"
    )]
    OneWay {
        /// The node at the sending end.
        from: NodeId,
        /// The node at the receiving end.
        to: NodeId,
    },
    /// A link is [slowed](Topology::slowed).
    #[error(
        "the link from node {from} to node {to} runs below its line rate; the file format cannot \
         represent a slowed link"
    )]
    Slowed {
        /// The node at the sending end.
        from: NodeId,
        /// The node at the receiving end.
        to: NodeId,
    },
}

/// Returns each duplex link once, in the direction with the lower id. This direction leaves the node with the
/// lower id.
fn edges(topology: &Topology) -> Result<Vec<&Link>, WriteError> {
    let mut edges = Vec::new();
    for (id, link) in topology.links() {
        let &Link { from, to, .. } = link;
        let back = topology.reverse(id);
        if topology.link(back).is_none() {
            return Err(WriteError::OneWay { from, to });
        }
        if link.rate < link.line_rate {
            return Err(WriteError::Slowed { from, to });
        }
        if id < back {
            edges.push(link);
        }
    }
    Ok(edges)
}

/// Returns the `relay` attribute to write for a node; `None` for a switch that relays, and for a host with at most one
/// link.
fn relay(topology: &Topology, node: NodeId) -> Option<bool> {
    let has_to_say = if topology.is_host(node) {
        topology.links_from(node).nth(1).is_some()
    } else {
        !topology.relays(node)
    };
    has_to_say.then(|| topology.relays(node))
}

fn kind(topology: &Topology, node: NodeId) -> &'static str {
    if topology.is_host(node) { HOST } else { SWITCH }
}

const HOST: &str = "host";
const SWITCH: &str = "switch";

#[cfg(test)]
mod tests;
