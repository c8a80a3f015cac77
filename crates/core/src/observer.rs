//! The interface for observing a run.

use crate::{DropReason, LinkId, NodeId, Packet, PortId, Report, Time};

/// Receives the events of a run, on the thread that started the run.
///
/// A call may come some time after its event. The simulators make the calls in order of time. A live rack makes them in
/// the order in which its threads report the events, which may differ from the order of time.
pub trait Observer {
    /// True if the observer wants every packet that a port accepts, which slows the run down. Otherwise
    /// [`forwarded`](Self::forwarded) is never called.
    const FORWARDED: bool = false;

    /// A host has made a report, or a node has made a report about its host's program.
    fn report(&mut self, _now: Time, _node: NodeId, _report: Report) {}

    /// A packet was accepted by a port at `now`. Its last bit leaves at `sent`. For a port with a
    /// [`Queue`](crate::Queue) or a [`PortAgent`](crate::PortAgent), `now` is the time at which the port begins to send
    /// the packet.
    fn forwarded(&mut self, _now: Time, _sent: Time, _link: LinkId, _packet: &Packet) {}

    /// Like [`forwarded`](Self::forwarded), for a packet that carries the payload of another system. `bytes` are the
    /// whole packet as [encoded](Packet::encode_with) with that payload.
    fn forwarded_whole(&mut self, now: Time, sent: Time, link: LinkId, packet: &Packet, _bytes: &[u8]) {
        self.forwarded(now, sent, link, packet);
    }

    /// A packet was lost at a node, or on the link behind an egress port. The port is given if the packet had an egress
    /// port.
    fn dropped(
        &mut self,
        _now: Time,
        _node: NodeId,
        _port: Option<PortId>,
        _packet: &Packet,
        _why: DropReason,
    ) {
    }

    /// A port accepted a packet with these bytes at `now`. Its last bit leaves at `sent`. Only lockstep calls this. The
    /// observer may change the bytes, as a bad link does, but not the number of bytes.
    fn transmitted(&mut self, _now: Time, _sent: Time, _link: LinkId, _bytes: &mut [u8]) {}

    /// Bytes that are not a valid packet have arrived by a link. Only runtimes that move bytes call this. A live rack
    /// leaves `bytes` empty.
    fn malformed(&mut self, _now: Time, _link: LinkId, _bytes: &[u8], _error: raddle_wire::Error) {}
}

impl Observer for () {}
