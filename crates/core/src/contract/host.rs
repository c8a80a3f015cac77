//! The contract of a host: the inputs that it takes, and the outputs that it asks for.

use crate::{Bytes, DropReason, Flow, FlowId, FlowKey, LinkId, NodeId, Packet, PortId, Ports, Rate, Time};

/// What happens to a host.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// An application hands over a flow to send.
    Flow(&'a Flow),
    /// An application hands over more bytes of a [stream](Flow::is_stream). The host ignores them if the stream is closed, or
    /// if there is no such stream.
    Append {
        /// The stream.
        flow: FlowId,
        /// How many bytes; 0 changes nothing.
        bytes: Bytes,
    },
    /// An application has no more bytes for a stream: the flow ends behind the last byte. The host ignores it if the stream is
    /// closed, or if there is no such stream.
    Close {
        /// The stream.
        flow: FlowId,
    },
    /// A packet for this node has arrived by a port.
    Packet {
        /// The packet.
        packet: &'a Packet,
        /// The port it came in by.
        port: PortId,
    },
    /// A packet that this host sent has left its port; only from ports that have a [`Queue`](crate::Queue) of their own.
    Sent(&'a Packet),
    /// This node dropped a packet, its own or one it relayed.
    Dropped {
        /// The packet.
        packet: &'a Packet,
        /// The egress port it was bound for.
        port: PortId,
        /// Why.
        reason: DropReason,
    },
    /// Bytes have come in by a port that are no packet. Nothing they say can be trusted.
    Corrupted {
        /// The port they came in by.
        port: PortId,
    },
    /// Topology discovery reports that a link, anywhere, went down or came up.
    Link {
        /// The directed link.
        link: LinkId,
        /// Its new state.
        up: bool,
    },
}

/// What a host wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send a packet, by the port named, or by the one that this node's forwarder picks.
    Send {
        /// The packet.
        packet: Packet,
        /// The egress port, if the host itself decides.
        port: Option<PortId>,
    },
    /// Tell the observer something.
    Report(Report),
    /// Nothing now; poll again at this time, which replaces every earlier wish. [`Time::NEVER`] is [`Output::Idle`].
    WakeAt(Time),
    /// Nothing until the next input.
    Idle,
}

/// What hosts, and nodes of the programs on them, tell the observer. Flows are named by their key on the wire, which the sender ties to a [`FlowId`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Report {
    /// The sender took up a flow and calls it `key` on the wire.
    Opened {
        /// The flow.
        flow: FlowId,
        /// Its name on the wire.
        key: FlowKey,
    },
    /// The receiver has delivered the flow's last byte in order.
    Delivered {
        /// The flow's name on the wire.
        key: FlowKey,
        /// Most packets that waited for an earlier one.
        reorder_peak: u32,
    },
    /// The sender knows that the flow is done, or has sent its last byte if it will never know.
    Closed {
        /// The flow's name on the wire.
        key: FlowKey,
        /// Packets sent more than once.
        retransmissions: u32,
    },
    /// The sender set the flow's rate.
    Paced {
        /// The flow's name on the wire.
        key: FlowKey,
        /// The new rate.
        rate: Rate,
    },
    /// The sender needs the flow's bytes before `to` no more: the receiver has acknowledged them, or the transport repeats
    /// nothing. Said of hosts that were built to [carry streams](Host::carries_streams), at every advance.
    Acked {
        /// The flow's name on the wire.
        key: FlowKey,
        /// How many of the flow's first bytes.
        to: Bytes,
    },
    /// The receiver has the flow's bytes before `to`, and the application may have them in order. Said of hosts that were
    /// built to [carry streams](Host::carries_streams), at every advance, and before [`Delivered`](Self::Delivered).
    InOrder {
        /// The flow's name on the wire.
        key: FlowKey,
        /// How many of the flow's first bytes.
        to: Bytes,
    },
    /// How far the receiver of a flow had come at the last multiple of the interval at which it was asked to tell. Said
    /// when more of the flow arrives, so the last such word may be missing.
    Progress {
        /// The flow's name on the wire.
        key: FlowKey,
        /// Bytes delivered in order.
        in_order: Bytes,
        /// Packets that arrived after one sent later.
        late: u32,
    },
    /// The program on this host begins a flow, which is not of the workload's list. The node says so in place of
    /// [`Opened`](Self::Opened).
    Began {
        /// The flow's name on the wire.
        key: FlowKey,
        /// Receiver.
        dst: NodeId,
        /// Application bytes.
        size: Bytes,
    },
    /// The program on this host has come to its end, said by the node.
    Finished,
}

/// One per host: opens flows, sends, receives, paces, times out.
pub trait Host: Send {
    /// Takes in what happened. The engine then calls [`poll`](Self::poll).
    fn handle(&mut self, now: Time, input: Input<'_>);

    /// A packet is about to be delivered to this host, which may ask for what it will read first: [`prefetch`](crate::prefetch).
    /// A hint: nothing depends on it but speed, and an engine need not call it.
    fn foresee(&self, _packet: &Packet) {}

    /// Says what the host wants. The engine calls it after every input and at every wake-up, again and again until
    /// it answers [`Output::WakeAt`] or [`Output::Idle`].
    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output;

    /// Whether the host takes [streams](Flow::is_stream). Such a host also reports how far each flow has come, of whichever
    /// kind: [`Report::Acked`] and [`Report::InOrder`]. Asked now and then, but not in the packets' path.
    fn carries_streams(&self) -> bool {
        false
    }

    /// Of the flows from here that were not [closed](Report::Closed), by their keys on the wire, how many packets were sent
    /// more than once: for the records of flows that a run leaves unfinished. In order of key; flows without such packets
    /// may be left out.
    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        Vec::new()
    }
}
