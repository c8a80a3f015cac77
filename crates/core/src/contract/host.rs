//! The contract of a host: its inputs and outputs.

use crate::{Bytes, DropReason, Flow, FlowId, FlowKey, LinkId, NodeId, Packet, PortId, Ports, Rate, Time};

/// An input of a host.
#[derive(Debug, Clone, Copy)]
pub enum Input<'a> {
    /// An application hands over a flow to send.
    Flow(&'a Flow),
    /// An application appends bytes to a [stream](Flow::is_stream). The host ignores the bytes if the stream is closed
    /// or does not exist.
    Append {
        /// The stream.
        flow: FlowId,
        /// Number of bytes; 0 changes nothing.
        bytes: Bytes,
    },
    /// An application has no more bytes for a stream: the flow ends after the last byte. The host ignores this input if
    /// the stream is closed or does not exist.
    Close {
        /// The stream.
        flow: FlowId,
    },
    /// A packet for this node has arrived by a port.
    Packet {
        /// The packet.
        packet: &'a Packet,
        /// The ingress port; port 0 if this node itself sent the packet.
        port: PortId,
    },
    /// A packet that this node itself sent, usually a packet of this host, has left its port. Only ports with a
    /// [`Queue`](crate::Queue) or a [`PortAgent`](crate::PortAgent) give this input.
    Sent(&'a Packet),
    /// This node dropped a packet: a packet that the node itself sent, or a packet that the node was forwarding.
    Dropped {
        /// The packet.
        packet: &'a Packet,
        /// The egress port of the packet; port 0 if it had none.
        port: PortId,
        /// The reason.
        reason: DropReason,
    },
    /// Bytes that are not a valid packet have arrived by a port. No field in these bytes can be trusted.
    Corrupted {
        /// The ingress port.
        port: PortId,
    },
    /// Topology discovery reports that a link, anywhere in the fabric, went down or came up.
    Link {
        /// The directed link.
        link: LinkId,
        /// True if the link is now up.
        up: bool,
    },
}

/// A host's next request.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send a packet, by the given port or by the port that this node's forwarder chooses.
    Send {
        /// The packet.
        packet: Packet,
        /// The egress port, if the host chooses it.
        port: Option<PortId>,
    },
    /// Make a report to the observer.
    Report(Report),
    /// No request now. Poll again at this time. This time replaces every earlier wake-up time. [`Time::NEVER`] means
    /// the same as [`Output::Idle`].
    WakeAt(Time),
    /// No request until the next input.
    Idle,
}

/// A report to the observer. Hosts make most reports. The node makes the reports about the host's program. A report
/// identifies a flow by the flow's key on the wire. The sender's report [`Opened`](Self::Opened) maps this key to a
/// [`FlowId`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Report {
    /// The sender has opened a flow and identifies it on the wire by `key`.
    Opened {
        /// The flow.
        flow: FlowId,
        /// The flow's key on the wire.
        key: FlowKey,
    },
    /// The receiver has delivered the flow's last byte in order.
    Delivered {
        /// The flow's key on the wire.
        key: FlowKey,
        /// Maximum number of packets that waited at the receiver for an earlier packet.
        reorder_peak: u32,
    },
    /// The sender knows that the flow is complete. If the flow's transport has no acknowledgements, this report means
    /// that the sender has sent the last byte.
    Closed {
        /// The flow's key on the wire.
        key: FlowKey,
        /// Number of retransmissions.
        retransmissions: u32,
    },
    /// The sender set the flow's rate.
    Paced {
        /// The flow's key on the wire.
        key: FlowKey,
        /// The new rate.
        rate: Rate,
    },
    /// The sender no longer needs the flow's bytes before `to`: the receiver has acknowledged them, or the transport
    /// has no retransmissions. Hosts that [carry streams](Host::carries_streams) report this at every advance.
    Acked {
        /// The flow's key on the wire.
        key: FlowKey,
        /// Number of bytes from the start of the flow.
        to: Bytes,
    },
    /// The receiver has the flow's bytes before `to`, and the application may read them in order. Hosts that [carry
    /// streams](Host::carries_streams) report this at every advance, and before [`Delivered`](Self::Delivered).
    InOrder {
        /// The flow's key on the wire.
        key: FlowKey,
        /// Number of bytes from the start of the flow.
        to: Bytes,
    },
    /// The receiver's progress in a flow at the latest multiple of the reporting interval. The host makes this report
    /// when the first packet of the flow after that time arrives. If no packet arrives after that time, there is no
    /// report.
    Progress {
        /// The flow's key on the wire.
        key: FlowKey,
        /// Bytes delivered in order.
        in_order: Bytes,
        /// Number of packets that arrived after a packet that was sent later.
        late: u32,
    },
    /// The program on this host begins a flow that is not in the workload's list. The node reports this instead of
    /// [`Opened`](Self::Opened).
    Began {
        /// The flow's key on the wire.
        key: FlowKey,
        /// Receiver.
        dst: NodeId,
        /// Application bytes.
        size: Bytes,
    },
    /// The program on this host has ended. The node makes this report.
    Finished,
}

/// A transport at one host: opens flows, sends, paces and receives packets, and handles timeouts.
pub trait Host: Send {
    /// Handles an input. The engine then calls [`poll`](Self::poll).
    fn handle(&mut self, now: Time, input: Input<'_>);

    /// Announces a packet that will soon be delivered to this host. The host may [`prefetch`](crate::prefetch) the data
    /// that it will read first. The call is a hint that affects only speed, and an engine need not make it.
    fn foresee(&self, _packet: &Packet) {}

    /// Returns the host's next request. The engine calls this after every input and at every wake-up, repeatedly until
    /// the host returns [`Output::WakeAt`] or [`Output::Idle`].
    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output;

    /// True if the host supports [streams](Flow::is_stream). Such a host also reports the progress of every
    /// flow, stream or not, by [`Report::Acked`] and [`Report::InOrder`]. The engine queries this from time
    /// to time, but not for each packet.
    fn carries_streams(&self) -> bool {
        false
    }

    /// For each flow from this host that is not [closed](Report::Closed): the flow's key on the wire and the number of
    /// retransmitted packets. The list is in order of key. Flows without retransmissions may be left out. The list is
    /// used for the records of unfinished flows.
    fn retransmissions(&self) -> Vec<(FlowKey, u32)> {
        Vec::new()
    }
}
