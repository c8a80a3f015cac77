//! GraphML (Brandes et al., "GraphML Progress Report", GD 2001), limited to the elements that NetworkX and most tools
//! write: one graph of nodes and edges with data by key, and default values of keys. Nested graphs and hyperedges are
//! not supported.

use super::assemble::{Attributes, Edge, Element, Graph, Node, assemble};
use super::{Place, Problem, ReadError, WriteError, edges, kind, relay};
use crate::Topology;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Reads a fabric from GraphML.
///
/// # Errors
/// If the text is not GraphML or not a fabric. The error has the line and column of the problem.
#[expect(clippy::missing_panics_doc, reason = "positions in a text fit a `usize`")]
pub fn read_graphml(text: &str) -> Result<Topology, ReadError> {
    let mut document = Document::default();
    let mut reader = quick_xml::Reader::from_str(text);
    loop {
        let at = usize::try_from(reader.buffer_position()).expect("a position must fit a `usize`");
        let event = reader.read_event().map_err(|error| {
            let at = usize::try_from(reader.error_position()).expect("a position must fit a `usize`");
            ReadError { place: place(text, at), problem: Problem::Syntax(error.to_string()) }
        })?;
        if document.take(event, at).map_err(|problem| ReadError { place: place(text, at), problem })? {
            break;
        }
    }
    document.fill_in_defaults();
    assemble(&document.graph).map_err(|(element, problem)| {
        let at = match element {
            Element::Graph => document.graph_at.unwrap_or(0),
            Element::Node(i) => document.nodes_at[i],
            Element::Edge(i) => document.edges_at[i],
        };
        ReadError { place: place(text, at), problem }
    })
}

/// Returns the line and column of the byte at `at`.
#[expect(clippy::naive_bytecount, reason = "lines are counted only for an error message")]
fn place(text: &str, at: usize) -> Place {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
    Place::Position { line, column }
}

struct Key {
    name: String,
    /// The kind of elements to which the default value of this key applies: `node`, `edge` or `all`. Default values for
    /// other kinds are ignored.
    of: String,
    default: Option<String>,
}

/// The parts of a document that have been read so far.
#[derive(Default)]
struct Document {
    /// Names of the open elements, outermost first.
    open: Vec<String>,
    keys: BTreeMap<String, Key>,
    /// The id of the key that the latest `key` or `data` element names.
    key: String,
    /// Text since the latest tag.
    text: String,
    graph: Graph,
    /// Byte offset at which the graph begins; `None` before it has been read.
    graph_at: Option<usize>,
    /// Byte offset at which each node begins.
    nodes_at: Vec<usize>,
    /// Byte offset at which each edge begins.
    edges_at: Vec<usize>,
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes the error by value")]
fn syntax(error: impl ToString) -> Problem {
    Problem::Syntax(error.to_string())
}

impl Document {
    /// Processes the next event, which began at byte `at`. Returns true at the end of the document.
    fn take(&mut self, event: Event<'_>, at: usize) -> Result<bool, Problem> {
        match event {
            Event::Start(tag) => self.start(&tag, at)?,
            Event::Empty(tag) => {
                self.start(&tag, at)?;
                self.end();
            }
            Event::End(_) => self.end(),
            Event::Text(text) => self.text.push_str(&text.into_inner()),
            Event::CData(text) => self.text.push_str(&text.into_inner()),
            Event::GeneralRef(entity) => self.reference(&entity)?,
            Event::Eof => {
                if let Some(open) = self.open.last() {
                    return Err(Problem::Syntax(format!("the file ends inside the element `{open}`")));
                }
                if self.graph_at.is_none() {
                    return Err(Problem::Syntax(
                        "the file contains no element `graph` inside an element `graphml`".to_owned(),
                    ));
                }
                return Ok(true);
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
        Ok(false)
    }

    fn start(&mut self, tag: &BytesStart<'_>, at: usize) -> Result<(), Problem> {
        self.text.clear();
        let parent = self.open.last().map_or("", String::as_str);
        let name = tag.local_name().into_inner();
        match (parent, name) {
            ("graphml", "key") => {
                self.key = needed(tag, "id")?;
                let of = attribute(tag, "for")?.unwrap_or_else(|| "all".to_owned());
                let name = attribute(tag, "attr.name")?.unwrap_or_else(|| self.key.clone());
                self.keys.insert(self.key.clone(), Key { name, of, default: None });
            }
            ("graphml", "graph") => {
                if self.graph_at.replace(at).is_some() {
                    return Err(Problem::Syntax(
                        "the file has more than one `graph` element, which is not supported".to_owned(),
                    ));
                }
                if needed(tag, "edgedefault")? == "directed" {
                    return Err(Problem::Directed);
                }
            }
            ("graph", "node") => {
                self.nodes_at.push(at);
                self.graph.nodes.push(Node { name: needed(tag, "id")?, attributes: Attributes::new() });
            }
            ("graph", "edge") => {
                if attribute(tag, "directed")?.as_deref() == Some("true") {
                    return Err(Problem::Directed);
                }
                self.edges_at.push(at);
                let (source, target) = (needed(tag, "source")?, needed(tag, "target")?);
                self.graph.edges.push(Edge { source, target, attributes: Attributes::new() });
            }
            ("node" | "edge", "data") => {
                self.key = needed(tag, "key")?;
                if !self.keys.contains_key(&self.key) {
                    return Err(Problem::Syntax(format!(
                        "the file declares no key `{}` before this element",
                        self.key
                    )));
                }
            }
            ("node" | "edge", "graph") => {
                return Err(Problem::Syntax("a nested `graph` is not supported".to_owned()));
            }
            ("graph", "hyperedge") => {
                return Err(Problem::Syntax("a `hyperedge` is not supported".to_owned()));
            }
            _ => {}
        }
        self.open.push(name.to_owned());
        Ok(())
    }

    fn end(&mut self) {
        let name = self.open.pop().unwrap_or_default();
        let parent = self.open.last().map_or("", String::as_str);
        let text = std::mem::take(&mut self.text).trim().to_owned();
        let attributes = match (parent, name.as_str()) {
            ("key", "default") => {
                if let Some(key) = self.keys.get_mut(&self.key) {
                    key.default = Some(text);
                }
                return;
            }
            ("node", "data") => self.graph.nodes.last_mut().map(|node| &mut node.attributes),
            ("edge", "data") => self.graph.edges.last_mut().map(|edge| &mut edge.attributes),
            _ => None,
        };
        if let (Some(attributes), Some(key)) = (attributes, self.keys.get(&self.key)) {
            attributes.insert(key.name.clone(), text);
        }
    }

    fn reference(&mut self, entity: &BytesRef<'_>) -> Result<(), Problem> {
        if let Some(character) = entity.resolve_char_ref().map_err(syntax)? {
            self.text.push(character);
        } else {
            let name: &str = entity;
            let known = resolve_predefined_entity(name);
            self.text.push_str(known.ok_or_else(|| Problem::Syntax(format!("unknown XML entity `{name}`")))?);
        }
        Ok(())
    }

    fn fill_in_defaults(&mut self) {
        for key in self.keys.values() {
            let Some(default) = &key.default else { continue };
            let fill = |attributes: &mut Attributes| {
                attributes.entry(key.name.clone()).or_insert_with(|| default.clone());
            };
            if matches!(key.of.as_str(), "node" | "all") {
                self.graph.nodes.iter_mut().map(|node| &mut node.attributes).for_each(fill);
            }
            if matches!(key.of.as_str(), "edge" | "all") {
                self.graph.edges.iter_mut().map(|edge| &mut edge.attributes).for_each(fill);
            }
        }
    }
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, Problem> {
    let found = tag.try_get_attribute(name).map_err(syntax)?;
    let value =
        found.map(|found| found.normalized_value(XmlVersion::Implicit1_0).map(std::borrow::Cow::into_owned));
    value.transpose().map_err(syntax)
}

fn needed(tag: &BytesStart<'_>, name: &'static str) -> Result<String, Problem> {
    attribute(tag, name)?.ok_or(Problem::Missing(name))
}

/// Writes a fabric as GraphML.
///
/// # Errors
/// If a link has no reverse direction, or if a link is slowed.
#[expect(clippy::missing_panics_doc, reason = "writing to a string always succeeds")]
pub fn write_graphml(topology: &Topology) -> Result<String, WriteError> {
    const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="kind" for="node" attr.name="kind" attr.type="string"/>
  <key id="relay" for="node" attr.name="relay" attr.type="boolean"/>
  <key id="ports" for="node" attr.name="ports" attr.type="long"/>
  <key id="source_port" for="edge" attr.name="source_port" attr.type="long"/>
  <key id="target_port" for="edge" attr.name="target_port" attr.type="long"/>
  <key id="rate_bps" for="edge" attr.name="rate_bps" attr.type="long"/>
  <key id="delay_ps" for="edge" attr.name="delay_ps" attr.type="long"/>
  <graph edgedefault="undirected">
"#;
    let mut out = HEAD.to_owned();
    let mut line = |line: std::fmt::Arguments<'_>| {
        out.write_fmt(line).expect("writing to a string must succeed");
        out.push('\n');
    };
    for node in topology.nodes() {
        let (kind, ports) = (kind(topology, node), topology.port_count(node));
        let relay = relay(topology, node).map(|relay| format!(r#"<data key="relay">{relay}</data>"#));
        let relay = relay.unwrap_or_default();
        line(format_args!(
            r#"    <node id="{node}"><data key="kind">{kind}</data>{relay}<data key="ports">{ports}</data></node>"#
        ));
    }
    for (id, link) in edges(topology)?.into_iter().enumerate() {
        line(format_args!(r#"    <edge id="{id}" source="{}" target="{}">"#, link.from, link.to));
        let (rate, delay) = (link.rate.as_bps(), link.delay.as_ps());
        line(format_args!(
            r#"      <data key="source_port">{}</data><data key="target_port">{}</data>"#,
            link.from_port, link.to_port
        ));
        line(format_args!(r#"      <data key="rate_bps">{rate}</data><data key="delay_ps">{delay}</data>"#));
        line(format_args!("    </edge>"));
    }
    line(format_args!("  </graph>\n</graphml>"));
    Ok(out)
}
