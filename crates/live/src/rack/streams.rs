//! The streams of programs at a polling thread: bytes that wait at their source, and bytes that have come to their
//! destination.

use super::endpoint::{Received, Request, Window};
use crate::content::{Inbound, Outbound};
use raddle_core::{FlowId, FlowKey, NodeId, Packet, Report};
use raddle_wire::FlowRange;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// The streams that begin or end at the nodes of a thread.
pub(super) struct Streams {
    /// Those that begin here, by number.
    sources: BTreeMap<FlowId, Source>,
    /// Their numbers by the name that packets have.
    named: BTreeMap<FlowKey, FlowId>,
    /// Those that end here.
    sinks: BTreeMap<FlowKey, Sink>,
    /// By node, where its program hears of what has come; nothing if it has none.
    programs: Vec<Option<Sender<Received>>>,
    /// What programs ask.
    pub(super) requests: Receiver<(NodeId, Request)>,
}

struct Source {
    outbound: Outbound,
    window: Arc<Window>,
}

struct Sink {
    from: NodeId,
    inbound: Inbound,
}

impl Streams {
    /// None yet, of so many nodes, whose programs ask by `requests`.
    pub(super) fn new(nodes: usize, requests: Receiver<(NodeId, Request)>) -> Self {
        let programs = (0..nodes).map(|_| None).collect();
        let (sources, named, sinks) = Default::default();
        Self { sources, named, sinks, programs, requests }
    }

    /// A program at a node hears of what comes from now on.
    pub(super) fn listen(&mut self, node: NodeId, program: Sender<Received>) {
        self.programs[node.index()] = Some(program);
    }

    /// A program opens a stream.
    pub(super) fn open(&mut self, flow: FlowId, window: Arc<Window>) {
        self.sources.insert(flow, Source { outbound: Outbound::default(), window });
    }

    /// A program hands over bytes. Returns whether the stream is open.
    pub(super) fn append(&mut self, flow: FlowId, bytes: &[u8]) -> bool {
        let source = self.sources.get_mut(&flow);
        source.map(|source| source.outbound.append(bytes)).is_some()
    }

    /// The host of a stream's source sends a packet.
    pub(super) fn sends(&mut self, packet: &Packet) {
        if let Some(range) = packet.range()
            && let Some(source) = self.named.get(&range.key).and_then(|flow| self.sources.get_mut(flow))
        {
            source.outbound.sends(range.position, range.len);
        }
    }

    /// Appends to `out` the bytes that the host of a stream's source sends.
    pub(super) fn fill(&mut self, range: &FlowRange, out: &mut Vec<u8>) {
        let source = self.named.get(&range.key).and_then(|flow| self.sources.get_mut(flow));
        if let Some(source) = source {
            source.outbound.fill(range.position, range.len, out);
        }
    }

    /// A packet has come in at its destination.
    pub(super) fn arrived(&mut self, packet: &Packet, range: &FlowRange, body: &[u8]) {
        let new = || Sink { from: packet.src(), inbound: Inbound::default() };
        self.sinks.entry(range.key).or_insert_with(new).inbound.arrived(range.position, body);
    }

    /// The host of a node reports.
    pub(super) fn reported(&mut self, node: NodeId, report: &Report) {
        match *report {
            Report::Opened { flow, key } if self.sources.contains_key(&flow) => {
                self.named.insert(key, flow);
            }
            Report::Acked { key, to } => {
                let source = self.named.get(&key).and_then(|flow| self.sources.get_mut(flow));
                if let Some(source) = source {
                    source.outbound.acked(to);
                    source.window.forget(to.0);
                }
            }
            Report::Closed { key, .. } => {
                let source = self.named.remove(&key).and_then(|flow| self.sources.remove(&flow));
                if let Some(source) = source {
                    source.window.end();
                }
            }
            Report::InOrder { key, to } => {
                if let Some(sink) = self.sinks.get_mut(&key) {
                    sink.inbound.in_order(to);
                    let (bytes, from) = (sink.inbound.read(), sink.from);
                    self.tell(node, Received { from, stream: key, bytes, is_end: false });
                }
            }
            Report::Delivered { key, .. } => {
                if let Some(Sink { from, .. }) = self.sinks.remove(&key) {
                    self.tell(node, Received { from, stream: key, bytes: Vec::new(), is_end: true });
                }
            }
            _ => {}
        }
    }

    /// Tells the program at a node. Nobody may listen there, or any more.
    fn tell(&self, node: NodeId, received: Received) {
        if let Some(program) = &self.programs[node.index()] {
            let _ = program.send(received);
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.sources.values().for_each(|source| source.window.end());
    }
}
