//! Builds a fabric from the nodes and edges of a graph that was read from a file, whatever the file's format (JSON,
//! GraphML or HPCC's).

use super::{HOST, Problem, SWITCH};
use crate::{Builder, Relay, Shape, Topology};
use raddle_core::{Duration, NodeId, PortId, Rate};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The attributes of an element: values by name, as text.
pub(super) type Attributes = BTreeMap<String, String>;

/// The contents of a file: nodes, and the edges between them.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

pub(super) struct Node {
    pub(super) name: String,
    pub(super) attributes: Attributes,
}

pub(super) struct Edge {
    pub(super) source: String,
    pub(super) target: String,
    pub(super) attributes: Attributes,
}

/// The element that a problem is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Element {
    Graph,
    Node(usize),
    Edge(usize),
}

/// Greatest number of ports of a fabric. Without this limit, a short file could use up all memory.
const MOST_PORTS: usize = 1 << 24;

/// The ports of a node: the ports in use, and the least number of ports that the file asks for.
#[derive(Default)]
struct Ports {
    chosen: BTreeSet<u16>,
    /// All ports below this number are in use. The number advances when [`Ports::take`] assigns a port because the
    /// file does not choose one.
    next: usize,
    least: usize,
}

impl Ports {
    /// Takes the lowest free port.
    fn take(&mut self) -> Result<u16, Problem> {
        loop {
            let port =
                u16::try_from(self.next).map_err(|_| Problem::TooMany("a node has more than 65536 ports"))?;
            self.next += 1;
            if !self.chosen.contains(&port) {
                return Ok(port);
            }
        }
    }

    fn count(&self) -> usize {
        let chosen = self.chosen.last().map_or(0, |&port| usize::from(port) + 1);
        self.least.max(chosen).max(self.next)
    }
}

struct Duplex {
    ends: [(usize, Option<u16>); 2],
    rate: Rate,
    delay: Duration,
}

/// Builds the fabric of `graph`.
pub(super) fn assemble(graph: &Graph) -> Result<Topology, (Element, Problem)> {
    if graph.nodes.is_empty() {
        return Err((Element::Graph, Problem::Empty));
    }
    let mut ids = FxHashMap::default();
    let (mut hosts, mut relays, mut ports) = (Vec::new(), Vec::new(), Vec::new());
    for (i, node) in graph.nodes.iter().enumerate() {
        let mut read = || {
            if ids.insert(node.name.as_str(), i).is_some() {
                return Err(Problem::DuplicateNode(node.name.clone()));
            }
            hosts.push(host(&node.attributes)?);
            relays.push(relay(&node.attributes)?);
            let least = port(&node.attributes, "ports")?.map_or(0, usize::from);
            ports.push(Ports { least, ..Ports::default() });
            Ok(())
        };
        read().map_err(|problem| (Element::Node(i), problem))?;
    }
    let mut links = Vec::with_capacity(graph.edges.len());
    for (i, edge) in graph.edges.iter().enumerate() {
        let link = duplex(edge, &ids, &mut ports).map_err(|problem| (Element::Edge(i), problem))?;
        links.push(link);
    }
    // The free ports are known only after all ports that the file chooses have been read.
    let mut ended = Vec::with_capacity(links.len());
    for (i, link) in links.iter().enumerate() {
        let mut end = |(node, port): (usize, Option<u16>)| {
            let port = port.map_or_else(|| ports[node].take(), Ok);
            port.map(|port| (NodeId::of(node), PortId(port))).map_err(|problem| (Element::Edge(i), problem))
        };
        ended.push((end(link.ends[0])?, end(link.ends[1])?));
    }
    if ports.iter().map(Ports::count).sum::<usize>() > MOST_PORTS {
        return Err((Element::Graph, Problem::TooMany("all nodes together have more than 2^24 ports")));
    }
    let mut builder = Builder::default();
    for (&host, ports) in hosts.iter().zip(&ports) {
        if host {
            builder.host(ports.count())
        } else {
            builder.switch(ports.count())
        };
    }
    for (link, (a, b)) in links.iter().zip(ended) {
        builder.link(a, b, link.rate, link.delay);
    }
    // If the file does not say whether a host forwards packets: in a graph with switches, the host does not forward
    // packets; in a graph without switches, it does.
    let has_switches = hosts.contains(&false);
    let relays = hosts.iter().zip(relays).map(|(&host, relay)| match relay {
        Some(true) => Relay::Yes,
        Some(false) => Relay::No,
        None if !host => Relay::Yes,
        None if has_switches => Relay::No,
        None => Relay::Unasked,
    });
    Ok(builder.build(Shape::General).with_relays(relays.collect()))
}

fn duplex(edge: &Edge, ids: &FxHashMap<&str, usize>, ports: &mut [Ports]) -> Result<Duplex, Problem> {
    if edge.source == edge.target {
        return Err(Problem::Loop(edge.source.clone()));
    }
    let mut end = |name: &String, attribute| {
        let &node = ids.get(name.as_str()).ok_or_else(|| Problem::UnknownNode(name.clone()))?;
        let port = port(&edge.attributes, attribute)?;
        match port {
            Some(port) if !ports[node].chosen.insert(port) => {
                Err(Problem::PortTaken { node: name.clone(), port })
            }
            _ => Ok((node, port)),
        }
    };
    let ends = [end(&edge.source, "source_port")?, end(&edge.target, "target_port")?];
    let number = |attribute, expected, least| {
        let text = edge.attributes.get(attribute).ok_or(Problem::Missing(attribute))?;
        let number = whole(text).filter(|&number| number >= least);
        number.ok_or_else(|| Problem::Invalid { attribute, text: text.clone(), expected })
    };
    let rate = Rate::from_bps(number("rate_bps", "a whole number of bits per second above 0", 1)?);
    let delay = Duration::from_ps(number("delay_ps", "a whole number of picoseconds", 0)?);
    Ok(Duplex { ends, rate, delay })
}

fn host(attributes: &Attributes) -> Result<bool, Problem> {
    match attributes.get("kind").ok_or(Problem::Missing("kind"))?.as_str() {
        HOST => Ok(true),
        SWITCH => Ok(false),
        text => {
            Err(Problem::Invalid { attribute: "kind", text: text.to_owned(), expected: "`host` or `switch`" })
        }
    }
}

/// Returns the node's `relay` attribute, if it has one.
fn relay(attributes: &Attributes) -> Result<Option<bool>, Problem> {
    let Some(text) = attributes.get("relay") else { return Ok(None) };
    match text.as_str() {
        // JSON writes `true`, and Python writes `True`.
        "true" | "True" | "1" => Ok(Some(true)),
        "false" | "False" | "0" => Ok(Some(false)),
        _ => {
            let (attribute, text) = ("relay", text.clone());
            Err(Problem::Invalid { attribute, text, expected: "`true` or `false`" })
        }
    }
}

fn port(attributes: &Attributes, attribute: &'static str) -> Result<Option<u16>, Problem> {
    let Some(text) = attributes.get(attribute) else { return Ok(None) };
    match whole(text).map(u16::try_from) {
        Some(Ok(port)) => Ok(Some(port)),
        _ => Err(Problem::Invalid { attribute, text: text.clone(), expected: "a whole number below 65536" }),
    }
}

/// Parses a whole number. Also accepts the format of floats, because Python writes `10e9` as `10000000000.0`.
#[allow(clippy::cast_possible_truncation, reason = "the number is whole and from 0 to 2^53")]
fn whole(text: &str) -> Option<u64> {
    /// 2^53; above it, floats cannot represent every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = |text: &str| {
        let number: f64 = text.parse().ok()?;
        let exact = (0.0..=EXACT).contains(&number) && number.trunc().total_cmp(&number).is_eq();
        exact.then_some(number as u64)
    };
    text.parse().ok().or_else(|| float(text))
}
