//! The streams of programs at a polling thread: bytes that wait at their source, and bytes that have arrived at their
//! destination.

use super::endpoint::{Polled, Received, Request};
use crate::content::{Inbound, Outbound};
use raddle_core::{Duration, FlowId, FlowKey, NodeId, Packet, Report, Time};
use raddle_wire::FlowRange;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender};

/// The streams that begin or end at the nodes of a thread.
pub(super) struct Streams {
    /// The streams that begin at this thread's nodes, by flow id.
    sources: BTreeMap<FlowId, Source>,
    /// The flow ids of the streams in `sources`, by the key in the streams' packets.
    named: BTreeMap<FlowKey, FlowId>,
    /// The streams that end at this thread's nodes, by the key in the streams' packets.
    sinks: BTreeMap<FlowKey, Sink>,
    /// The streams that have recently ended at this thread's nodes, in the order in which they ended. Each entry has
    /// the time of the end, and the stream's key. A retransmitted packet of such a stream does not start a new stream.
    ended: VecDeque<(Time, FlowKey)>,
    /// Indexed by node: the channel to the node's program. `None` if the node has no program.
    programs: Vec<Option<Sender<Received>>>,
    /// The requests of programs.
    pub(super) requests: Receiver<(NodeId, Request)>,
}

struct Source {
    outbound: Outbound,
    window: Polled,
}

struct Sink {
    from: NodeId,
    inbound: Inbound,
}

/// The time for which an ended stream is remembered. The stream's key is not used again within this time.
const MEMORY: Duration = Duration::from_ms(10);

impl Streams {
    /// Creates an empty set for `nodes` nodes. Programs send their requests through `requests`.
    pub(super) fn new(nodes: usize, requests: Receiver<(NodeId, Request)>) -> Self {
        let programs = (0..nodes).map(|_| None).collect();
        let (sources, named, sinks, ended) = Default::default();
        Self { sources, named, sinks, ended, programs, requests }
    }

    /// Registers the program at a node. From now on, the program receives the data that arrives at the node.
    pub(super) fn listen(&mut self, node: NodeId, program: Sender<Received>) {
        self.programs[node.index()] = Some(program);
    }

    /// Adds a stream that a program opens.
    pub(super) fn open(&mut self, flow: FlowId, window: Polled) {
        self.sources.insert(flow, Source { outbound: Outbound::default(), window });
    }

    /// Adds bytes that a program has handed over. Returns true if the stream is open.
    pub(super) fn append(&mut self, flow: FlowId, bytes: &[u8]) -> bool {
        let source = self.sources.get_mut(&flow);
        source.map(|source| source.outbound.append(bytes)).is_some()
    }

    /// Records that the host of a stream's source sends a packet.
    pub(super) fn sends(&mut self, packet: &Packet) {
        if let Some(range) = packet.range()
            && let Some(source) = self.named.get(&range.key).and_then(|flow| self.sources.get_mut(flow))
        {
            source.outbound.sends(range.position, range.len);
        }
    }

    /// Appends to `out` the bytes of a packet that the host of a stream's source sends. The packet carries `range` of
    /// the stream.
    pub(super) fn fill(&mut self, range: &FlowRange, out: &mut Vec<u8>) {
        let source = self.named.get(&range.key).and_then(|flow| self.sources.get_mut(flow));
        if let Some(source) = source {
            source.outbound.fill(range.position, range.len, out);
        }
    }

    /// Handles a packet that has arrived at a stream's destination.
    pub(super) fn arrived(&mut self, now: Time, packet: &Packet, range: &FlowRange, body: &[u8]) {
        while self.ended.pop_front_if(|&mut (at, _)| at + MEMORY <= now).is_some() {}
        if !self.sinks.contains_key(&range.key) && self.ended.iter().any(|&(_, key)| key == range.key) {
            return;
        }
        let new = || Sink { from: packet.src(), inbound: Inbound::default() };
        self.sinks.entry(range.key).or_insert_with(new).inbound.arrived(range.position, body);
    }

    /// Handles a report of a node's host.
    pub(super) fn reported(&mut self, now: Time, node: NodeId, report: &Report) {
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
                // Dropping the source's window ends the stream.
                self.named.remove(&key).and_then(|flow| self.sources.remove(&flow));
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
                    self.ended.push_back((now, key));
                    self.tell(node, Received { from, stream: key, bytes: Vec::new(), is_end: true });
                }
            }
            _ => {}
        }
    }

    /// Sends data to the program at a node. Does nothing if the node has no program, or the program has ended.
    fn tell(&self, node: NodeId, received: Received) {
        if let Some(program) = &self.programs[node.index()] {
            let _ = program.send(received);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Header, Shim};
    use raddle_wire::Position;
    use std::sync::mpsc;

    #[test]
    fn a_repeated_packet_of_a_stream_that_has_ended_takes_no_memory() {
        let (_, requests) = mpsc::channel();
        let mut streams = Streams::new(1, requests);
        let header = Header::Tcp(raddle_wire::tcp::Segment::default());
        let packet = Packet { size: 1_500, shim: Shim::None, header };
        let key = FlowKey(3);
        let range = FlowRange { key, position: Position::Byte(0), len: 4 };
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        streams.arrived(at(1), &packet, &range, b"abcd");
        streams.reported(at(1), NodeId(0), &Report::Delivered { key, reorder_peak: 0 });
        streams.arrived(at(2), &packet, &range, b"abcd");
        assert!(streams.sinks.is_empty());
        streams.arrived(at(11), &packet, &range, b"efgh");
        assert_eq!((streams.sinks.len(), streams.ended.len()), (1, 0), "another stream of that name");
    }
}
