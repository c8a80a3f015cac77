//! Go-back-N, the loss recovery of RoCE network adapters. The receiver discards packets that arrive out of order and
//! names the packet that it expects. The sender goes back to that packet, and sends it and all later packets again.
//!
//! Source: InfiniBand Architecture Specification, volume 1, §9.7 (reliable connections: packet sequence numbers, ACK,
//! NAK for a sequence error, the transport timer and the retry counter); intervals and the duplicate rule from the
//! authors' ns-3 models of DCQCN and HPCC (`bobzhuyb/ns3-rdma`, `alibaba-edu/High-Precision-Congestion-Control`:
//! `ReceiverCheckSeq`); why it matters: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, §2
//! (transports.md §7).
//!
//! [`Sender`] and [`Receiver`] are the two ends of one flow. Packet numbers have 64 bits here and 24 bits on the wire
//! ([`on_wire`]).
//!
//! # Differs from the source
//! - The transport timer runs from the flow's last progress. After a timeout it stays stopped until the flow sends
//!   again. Time in which the port is paused or down therefore costs no retries.
//! - The retry counter counts only timeouts; InfiniBand's also counts NAKs. Progress resets the counter, as in
//!   InfiniBand.
//! - An out-of-order packet causes no congestion notification; in the ns-3 models of HPCC this is an option.

mod receiver;
mod sender;

pub(crate) use receiver::{Answer, Receiver};
pub(crate) use sender::{Expiry, Sender};

use raddle_core::Duration;

/// The constants of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    /// Time without progress after which a sender goes back to the first unacknowledged packet.
    pub(crate) rto: Duration,
    /// Number of such timeouts without progress before the sender gives the flow up.
    pub(crate) retries: u32,
    /// A flow requests an acknowledgement once in this number of packets, and always with its last packet.
    pub(crate) ack_interval: u32,
    /// Least time between two NAKs of a flow for the same expected packet.
    pub(crate) nak_interval: Duration,
}

/// Number of different packet numbers on the wire (24 bits).
pub(crate) const NUMBERS: u64 = 1 << 24;

/// Greatest number of unacknowledged packets of a flow: half of the packet numbers, so that old numbers differ from new
/// ones (InfiniBand Architecture Specification, volume 1, §9.7.1).
pub(crate) const MOST_OUTSTANDING: u64 = NUMBERS / 2;

/// A packet's number on the wire.
pub(crate) const fn on_wire(number: u64) -> u32 {
    (number % NUMBERS) as u32
}
