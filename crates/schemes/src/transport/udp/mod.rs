//! UDP at a constant rate: what fills links without asking, as cross traffic of load balancers and bursts of queues do.
//!
//! A [`UdpHost`] sends each flow once, in full packets: at the rate of its application, else at [`Params::rate`], else
//! as fast as its ports take it, one packet of each such flow after the other. Nothing is acknowledged and nothing sent
//! again, so a flow of which a packet is lost never finishes. Rates count payload.
//!
//! A stream's bytes are sent as they come, in packets as full as what has been appended. If all of them are sent when the
//! application closes the stream, a packet without payload says where it ends. Bytes count as acknowledged when they are sent.
//!
//! Cost: a heap operation a packet sent at a rate; a look-up by flow and mostly an extended range a packet received.

mod host;
mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use host::UdpHost;
pub(crate) use scheme::{Params, TRANSPORT};
