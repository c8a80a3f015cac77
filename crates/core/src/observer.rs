//! Listening to a run.

use crate::{DropReason, LinkId, NodeId, Packet, PortId, Report, Time};

/// Receives the events of a run, on the thread that runs it.
///
/// It is told of events in their order, but may be told a little after they have happened.
pub trait Observer {
    /// True to be told of every packet that a port accepts, which is costly. Otherwise [`forwarded`](Self::forwarded) is
    /// never called.
    const FORWARDED: bool = false;

    /// A host reports.
    fn report(&mut self, _now: Time, _node: NodeId, _report: Report) {}

    /// A packet was accepted by a port at `now`; its last bit leaves at `sent`.
    fn forwarded(&mut self, _now: Time, _sent: Time, _link: LinkId, _packet: &Packet) {}

    /// As [`forwarded`](Self::forwarded), of a packet that carries the payload of another system: `bytes` are the whole packet as it
    /// [is encoded](Packet::encode_with) with that payload.
    fn forwarded_whole(&mut self, now: Time, sent: Time, link: LinkId, packet: &Packet, _bytes: &[u8]) {
        self.forwarded(now, sent, link, packet);
    }

    /// A packet was lost at a node, on its way to a port if it had one; or on the link behind that port.
    fn dropped(
        &mut self,
        _now: Time,
        _node: NodeId,
        _port: Option<PortId>,
        _packet: &Packet,
        _why: DropReason,
    ) {
    }

    /// The bytes of a packet that a port accepted at `now`, whose last bit leaves at `sent`; only from runtimes that move
    /// bytes. The bytes may be damaged here, as by a bad link, but not their number.
    fn transmitted(&mut self, _now: Time, _sent: Time, _link: LinkId, _bytes: &mut [u8]) {}

    /// Bytes came in by a link that are no packet; only from runtimes that move bytes.
    fn malformed(&mut self, _now: Time, _link: LinkId, _bytes: &[u8], _error: raddle_wire::Error) {}
}

impl Observer for () {}
