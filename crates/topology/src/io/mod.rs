//! Fabrics as files: NetworkX's node-link JSON and GraphML, in and out, and the topology files of HPCC's simulator, in.
//!
//! A graph file holds an undirected multigraph. An edge is a link in each direction; parallel edges are parallel links. Nodes
//! are numbered in the file's order, whatever they are called in it. Other attributes than these are ignored:
//!
//! | of | attribute | meaning |
//! |---|---|---|
//! | node | `kind` | `host` or `switch` |
//! | node | `relay` | optional: whether paths of others lead through it, `true` or `false`. Switches relay; hosts do not, unless the graph has no switches |
//! | node | `ports` | optional: at least so many ports, with or without a link |
//! | edge | `rate_bps` | bits per second of each direction, above 0 |
//! | edge | `delay_ps` | propagation delay in picoseconds |
//! | edge | `source_port`, `target_port` | optional: ports at the ends; else the lowest that are free |
//!
//! What is written leads from the lower node to the higher, so that NetworkX, which forgets which end of an undirected
//! edge was the source, keeps the ports at their ends. A file does not say that a fabric is a torus: what is read back
//! has [`Shape::General`](crate::Shape::General), and otherwise equals what was written.

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

/// Why a file is not a fabric, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ReadError {
    /// Where.
    pub place: Place,
    /// What is wrong there.
    pub problem: Problem,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A line and a column, both from 1; columns count bytes.
    Position {
        /// The line.
        line: usize,
        /// The byte in it.
        column: usize,
    },
    /// An element, as `edges[3]`.
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

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file is not of its format.
    #[error("{0}")]
    Syntax(String),
    /// The graph is directed.
    #[error("a fabric is an undirected graph: each edge is a link in both directions")]
    Directed,
    /// There are no nodes.
    #[error("the graph has no nodes")]
    Empty,
    /// An element lacks what it needs.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// An attribute's value makes no sense.
    #[error("`{attribute}` is `{text}`, but must be {expected}")]
    Invalid {
        /// The attribute.
        attribute: &'static str,
        /// Its value in the file.
        text: String,
        /// What it may be.
        expected: &'static str,
    },
    /// Two nodes have one name.
    #[error("a node {0} came before")]
    DuplicateNode(String),
    /// An edge ends at a node that is not there.
    #[error("there is no node {0}")]
    UnknownNode(String),
    /// An edge joins a node to itself.
    #[error("node {0} is joined to itself")]
    Loop(String),
    /// Two edges end at one port.
    #[error("port {port} of node {node} has another edge")]
    PortTaken {
        /// The node.
        node: String,
        /// Its port.
        port: u16,
    },
    /// More ports than ids.
    #[error("{0}")]
    TooMany(&'static str),
}

/// Why a fabric cannot be written as an undirected graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// A link has no way back.
    #[error("the link from node {from} to node {to} has no way back, which an undirected graph cannot say")]
    OneWay {
        /// Where the link starts.
        from: NodeId,
        /// Where it ends.
        to: NodeId,
    },
    /// A link is [slowed](Topology::slowed).
    #[error("the link from node {from} to node {to} is slowed, which the file could not say")]
    Slowed {
        /// Where the link starts.
        from: NodeId,
        /// Where it ends.
        to: NodeId,
    },
}

/// Each duplex link once: its direction of the lower id, which leaves the lower node.
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

/// Whether a host passes on packets of others, where the file has to say so.
fn relay(topology: &Topology, node: NodeId) -> Option<bool> {
    let has_to_say = topology.is_host(node) && topology.links_from(node).nth(1).is_some();
    has_to_say.then(|| topology.relays(node))
}

fn kind(topology: &Topology, node: NodeId) -> &'static str {
    if topology.is_host(node) { HOST } else { SWITCH }
}

const HOST: &str = "host";
const SWITCH: &str = "switch";

#[cfg(test)]
mod tests;
