//! Node-link JSON: the format of NetworkX's `node_link_data` and `node_link_graph`. The list of edges is named `edges`,
//! as in NetworkX 3.4 and later. The older name `links` is read too.

use super::assemble::{Attributes, Edge, Element, Graph, Node, assemble};
use super::{Place, Problem, ReadError, WriteError, edges, kind, relay};
use crate::Topology;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    directed: bool,
    nodes: Vec<Map<String, Value>>,
    #[serde(alias = "links")]
    edges: Vec<Map<String, Value>>,
}

#[derive(Serialize)]
struct Written {
    directed: bool,
    multigraph: bool,
    graph: Map<String, Value>,
    nodes: Vec<WrittenNode>,
    edges: Vec<WrittenEdge>,
}

#[derive(Serialize)]
struct WrittenNode {
    id: u32,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    relay: Option<bool>,
    ports: usize,
}

#[derive(Serialize)]
struct WrittenEdge {
    source: u32,
    target: u32,
    /// NetworkX distinguishes parallel edges by this key.
    key: usize,
    source_port: u16,
    target_port: u16,
    rate_bps: u64,
    delay_ps: u64,
}

/// Reads a fabric from node-link JSON.
///
/// # Errors
/// Returns an error with line and column if the text is not such a document. Returns an error with the
/// element if the document is not a fabric.
pub fn read_node_link(text: &str) -> Result<Topology, ReadError> {
    let document: Document = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        let place = Place::Position { line: error.line(), column: error.column() };
        ReadError { place, problem: Problem::Syntax(what.to_owned()) }
    })?;
    if document.directed {
        let place = Place::Path("directed".to_owned());
        return Err(ReadError { place, problem: Problem::Directed });
    }
    graph(&document).and_then(|graph| assemble(&graph)).map_err(|(element, problem)| {
        let place = Place::Path(match element {
            Element::Graph => "nodes".to_owned(),
            Element::Node(i) => format!("nodes[{i}]"),
            Element::Edge(i) => format!("edges[{i}]"),
        });
        ReadError { place, problem }
    })
}

fn graph(document: &Document) -> Result<Graph, (Element, Problem)> {
    let mut graph = Graph::default();
    for (i, node) in document.nodes.iter().enumerate() {
        let name = name(node, "id").map_err(|problem| (Element::Node(i), problem))?;
        graph.nodes.push(Node { name, attributes: attributes(node) });
    }
    for (i, edge) in document.edges.iter().enumerate() {
        let end = |key| name(edge, key).map_err(|problem| (Element::Edge(i), problem));
        let (source, target) = (end("source")?, end("target")?);
        graph.edges.push(Edge { source, target, attributes: attributes(edge) });
    }
    Ok(graph)
}

/// Returns a node's name as JSON. NetworkX distinguishes 1 from "1", and names the nodes of its grids by
/// lists of coordinates.
fn name(element: &Map<String, Value>, key: &'static str) -> Result<String, Problem> {
    element.get(key).map(Value::to_string).ok_or(Problem::Missing(key))
}

fn attributes(element: &Map<String, Value>) -> Attributes {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    element.iter().map(|(key, value)| (key.clone(), text(value))).collect()
}

/// Writes a fabric as node-link JSON.
///
/// # Errors
/// If a link has no reverse direction, or if a link is slowed.
#[expect(clippy::missing_panics_doc, reason = "numbers and constant strings always convert to JSON")]
pub fn write_node_link(topology: &Topology) -> Result<String, WriteError> {
    let nodes = topology.nodes().map(|node| WrittenNode {
        id: node.0,
        kind: kind(topology, node),
        relay: relay(topology, node),
        ports: topology.port_count(node),
    });
    let edges = edges(topology)?.into_iter().enumerate().map(|(key, link)| WrittenEdge {
        source: link.from.0,
        target: link.to.0,
        key,
        source_port: link.from_port.0,
        target_port: link.to_port.0,
        rate_bps: link.rate.as_bps(),
        delay_ps: link.delay.as_ps(),
    });
    let written = Written {
        directed: false,
        multigraph: true,
        graph: Map::new(),
        nodes: nodes.collect(),
        edges: edges.collect(),
    };
    Ok(serde_json::to_string_pretty(&written).expect("numbers and constant strings must convert to JSON"))
}
