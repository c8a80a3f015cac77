//! Quantized congestion notification (QCN): queues sample frames and tell their sources, which limit their rates.
//!
//! Source: IEEE 802.1Qau (IEEE 802.1Q clauses 30 to 33), in the version 2.2 of the pseudo-code of R. Pan and B. Prabhakar,
//! as Crisan et al. use it (specs/cee.md §3). A *congestion point* watches the queue of an egress port; now and then it
//! looks how far the queue is above its equilibrium and how fast it grows, and tells the source of the frame that it
//! sampled with a number of 6 bits. The *reaction point* in the source's adapter, one per destination, cuts the rate by
//! that, and raises it again by bytes sent and by time.

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

/// The greatest feedback: it has 6 bits.
pub(crate) const MOST_FEEDBACK: u8 = 63;

/// A whole number uniform within 15% around `mean` (802.1Q 32.9.2: samples and timers are spread lest flows keep step).
fn around(mean: u64, random: &mut Stream) -> u64 {
    mean * 17 / 20 + random.below(mean * 3 / 10 + 1)
}
