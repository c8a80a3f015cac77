//! UDP at a constant rate: traffic without congestion control. Examples are the cross traffic in tests of load
//! balancers, and bursts that fill queues.
//!
//! A [`UdpHost`] sends each flow once. If the flow's application sets no rate, the flow has the rate [`Params::rate`].
//! If this parameter is 0, such a flow has no rate. Flows without a rate take turns, one packet each, and send as fast
//! as the host's ports allow. All packets of a flow but the last are full. There are no acknowledgements and no
//! retransmissions, so a flow that loses a packet never finishes. Rates count only payload, without headers.
//!
//! The host sends a stream's bytes as the application appends them, in packets that may be shorter than full packets.
//! If all bytes have already been sent when the application closes the stream, an empty packet marks the stream's end.
//! Bytes count as acknowledged when they are sent.
//!
//! Cost per packet sent at a rate: two heap operations. Cost per packet received: one look-up by flow, and usually the
//! extension of one range of received bytes.

mod host;
mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use host::UdpHost;
pub(crate) use scheme::{Params, TRANSPORT};
