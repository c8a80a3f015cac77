//! UDP at a constant rate: traffic without congestion control, such as the cross traffic of load balancers and bursts
//! that fill queues.
//!
//! A [`UdpHost`] sends each flow once, in full packets, at the rate of its application or else at [`Params::rate`].
//! Flows without either rate take turns, one packet each, as fast as the host's ports send. There are no
//! acknowledgements and no retransmissions, so a flow that loses a packet never finishes. Rates count payload.
//!
//! A stream's bytes are sent as the application appends them, in packets that may be shorter than full ones. If all
//! bytes have been sent when the application closes the stream, an empty packet marks its end. Bytes count as
//! acknowledged when they are sent.
//!
//! Cost per packet sent at a rate: one heap operation. Cost per packet received: one look-up by flow, and mostly the
//! extension of one range.

mod host;
mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use host::UdpHost;
pub(crate) use scheme::{Params, TRANSPORT};
