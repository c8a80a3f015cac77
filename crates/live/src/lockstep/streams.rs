//! Streams in lockstep: an outside application opens them, hands over bytes, and reads the received bytes at the
//! other end.

use super::{Fabric, Lockstep};
use crate::content::{Inbound, Outbound};
use raddle_core::{Bytes, Flow, FlowId, FlowKey, NodeId, Observer, Packet, Report};
use raddle_wire::FlowRange;
use std::collections::BTreeMap;

/// The reason why an operation on a stream failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The host of the stream's source does not support streams.
    #[error("the transport at node {0} does not support streams")]
    NotCarried(NodeId),
    /// Another stream already has this number.
    #[error("another stream already has the number {0}")]
    Taken(FlowId),
    /// No stream has this number.
    #[error("no stream has the number {0}")]
    Unknown(FlowId),
    /// The application has closed the stream.
    #[error("stream {0} is closed")]
    Closed(FlowId),
}

/// All streams that were opened.
#[derive(Default)]
pub(super) struct Streams {
    /// Streams by flow id.
    all: BTreeMap<FlowId, Stream>,
    /// The flow id of each stream, by the key of the stream's packets. An entry is removed when its stream is closed
    /// and delivered.
    by_key: BTreeMap<FlowKey, FlowId>,
}

/// The state of a stream at its source and at its destination.
struct Stream {
    src: NodeId,
    outbound: Outbound,
    inbound: Inbound,
    /// True until the application closes the stream.
    is_open: bool,
    /// Two flags. The first is true if the source has reported the stream as closed, and the second if the destination
    /// has reported it as delivered.
    is_done: [bool; 2],
}

impl Stream {
    fn new(src: NodeId) -> Self {
        let (outbound, inbound) = (Outbound::default(), Inbound::default());
        Self { src, outbound, inbound, is_open: true, is_done: [false; 2] }
    }
}

impl Streams {
    /// The range of a stream's bytes that a packet holds, if the packet belongs to a stream.
    pub(super) fn range(&self, packet: &Packet) -> Option<FlowRange> {
        if self.by_key.is_empty() {
            return None;
        }
        packet.range().filter(|range| self.by_key.contains_key(&range.key))
    }

    fn of(&mut self, key: FlowKey) -> Option<&mut Stream> {
        self.all.get_mut(self.by_key.get(&key)?)
    }

    /// Appends to `out` the payload of a packet that a stream's source sends.
    pub(super) fn fill(&mut self, range: &FlowRange, out: &mut Vec<u8>) {
        if let Some(stream) = self.of(range.key) {
            stream.outbound.fill(range.position, range.len, out);
        }
    }

    /// Handles a packet that has arrived at a stream's destination.
    pub(super) fn arrived(&mut self, range: &FlowRange, body: &[u8]) {
        if let Some(stream) = self.of(range.key) {
            stream.inbound.arrived(range.position, body);
        }
    }

    pub(super) fn reported(&mut self, report: &Report) {
        match *report {
            Report::Opened { flow, key } if self.all.contains_key(&flow) => {
                self.by_key.insert(key, flow);
            }
            Report::Acked { key, to } => {
                if let Some(stream) = self.of(key) {
                    stream.outbound.acked(to);
                }
            }
            Report::InOrder { key, to } => {
                if let Some(stream) = self.of(key) {
                    stream.inbound.in_order(to);
                }
            }
            Report::Closed { key, .. } => self.end(key, 0),
            Report::Delivered { key, .. } => self.end(key, 1),
            _ => {}
        }
    }

    /// Marks one end of a stream as done. When both ends are done, another flow may use the stream's key.
    fn end(&mut self, key: FlowKey, which: usize) {
        if let Some(stream) = self.of(key) {
            stream.is_done[which] = true;
            if stream.is_done == [true; 2] {
                self.by_key.remove(&key);
            }
        }
    }
}

impl<O: Observer> Lockstep<O> {
    /// Opens a stream now. The flow's [start](Flow::start) is ignored. The stream's number must differ from the numbers
    /// of the flows with which the runtime was created.
    ///
    /// # Errors
    /// [`StreamError`], if another stream has the number, or the source's host does not support streams.
    ///
    /// # Panics
    /// If the flow is not a stream, or its size is not 0. [`append`](Self::append) adds bytes to a stream.
    pub fn open(&mut self, flow: &Flow) -> Result<(), StreamError> {
        assert!(flow.is_stream && flow.size == Bytes(0), "the flow must be a stream, and its size must be 0");
        let node = &mut self.nodes[flow.src.index()];
        if !node.carries_streams() {
            return Err(StreamError::NotCarried(flow.src));
        }
        let streams = &mut self.fabric.streams.all;
        if streams.contains_key(&flow.id) {
            return Err(StreamError::Taken(flow.id));
        }
        streams.insert(flow.id, Stream::new(flow.src));
        node.start(&mut self.fabric, flow);
        Ok(())
    }

    /// Appends bytes to a stream now.
    ///
    /// # Errors
    /// [`StreamError`], if there is no such stream or the stream is closed. In these cases nothing is sent.
    pub fn append(&mut self, stream: FlowId, content: &[u8]) -> Result<(), StreamError> {
        let (state, src) = self.fabric.open_stream(stream)?;
        state.outbound.append(content);
        self.nodes[src.index()].append(&mut self.fabric, stream, Bytes(content.len() as u64));
        Ok(())
    }

    /// Closes a stream now. The bytes that were appended before are still sent.
    ///
    /// # Errors
    /// [`StreamError`], if there is no such stream or the stream is closed.
    pub fn close(&mut self, stream: FlowId) -> Result<(), StreamError> {
        let (state, src) = self.fabric.open_stream(stream)?;
        state.is_open = false;
        self.nodes[src.index()].close(&mut self.fabric, stream);
        Ok(())
    }

    /// Takes the unread bytes of a stream that its destination has received in order.
    ///
    /// # Errors
    /// [`StreamError`], if there is no such stream.
    pub fn read(&mut self, stream: FlowId) -> Result<Vec<u8>, StreamError> {
        let state = self.fabric.streams.all.get_mut(&stream);
        Ok(state.ok_or(StreamError::Unknown(stream))?.inbound.read())
    }

    /// Number of bytes of a stream that its source keeps because they are not acknowledged.
    ///
    /// # Errors
    /// [`StreamError`], if there is no such stream.
    pub fn unacknowledged(&self, stream: FlowId) -> Result<usize, StreamError> {
        let state = self.fabric.streams.all.get(&stream);
        Ok(state.ok_or(StreamError::Unknown(stream))?.outbound.len())
    }
}

impl<O> Fabric<O> {
    /// Returns an open stream, and the node of its source.
    fn open_stream(&mut self, stream: FlowId) -> Result<(&mut Stream, NodeId), StreamError> {
        let state = self.streams.all.get_mut(&stream).ok_or(StreamError::Unknown(stream))?;
        if !state.is_open {
            return Err(StreamError::Closed(stream));
        }
        let src = state.src;
        Ok((state, src))
    }
}
