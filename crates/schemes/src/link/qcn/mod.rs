//! Quantized congestion notification (QCN): egress queues sample frames and notify the sources, which limit their
//! rates.
//!
//! Source: IEEE 802.1Qau (IEEE 802.1Q clauses 30 to 33), version 2.2 of the pseudo-code of R. Pan and B. Prabhakar, as
//! used by Crisan et al. (specifications/cee.md §3). A *congestion point* watches the queue of an egress port. It
//! occasionally samples a frame, and computes how far the queue is above its equilibrium and how fast the queue grows.
//! From both it computes the feedback, a number of 6 bits. If the feedback is not 0, the congestion point sends it to
//! the frame's source. The source's adapter has one *reaction point* per destination. The reaction point cuts the rate
//! according to the feedback, and raises the rate again as bytes are sent and as time passes.

mod congestion_point;
mod params;
mod port;
mod reaction_point;
mod scheme;

pub(crate) use params::Params;
pub(crate) use port::CongestionPoints;
pub(crate) use reaction_point::ReactionPoint;
pub(crate) use scheme::CONGESTION_POINT;

use raddle_core::Stream;

/// The greatest feedback that 6 bits can hold.
pub(crate) const MOST_FEEDBACK: u8 = 63;

/// A random whole number, uniform within 15% of `mean`. IEEE 802.1Q §32.9.2 spreads samples and timers in this way so
/// that flows do not synchronise.
fn around(mean: u64, random: &mut Stream) -> u64 {
    mean * 17 / 20 + random.below(mean * 3 / 10 + 1)
}
