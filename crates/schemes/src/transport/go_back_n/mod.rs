//! Go-back-N, by which RoCE's network adapters recover from losses: the receiver discards packets that do not come in
//! order and says which packet it expects; the sender goes back to that packet and sends it and all after it again.
//!
//! Source: InfiniBand Architecture Specification, volume 1, §9.7 (reliable connections: packet sequence numbers, ACK, NAK for a
//! sequence error, the transport timer and the retry counter); intervals and the duplicate rule from the authors' ns-3 models
//! of DCQCN and HPCC (`bobzhuyb/ns3-rdma`, `alibaba-edu/High-Precision-Congestion-Control`: `ReceiverCheckSeq`); why it
//! matters: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, §2 (transports.md §7).
//!
//! [`Sender`] and [`Receiver`] are the two ends of one flow. Numbers of packets have 64 bits here and 24 on the wire
//! ([`on_wire`]).
//!
//! # Differs from the source
//! - The transport timer runs since the last progress of the flow. Where its host is not let to send, as its port is paused or
//!   down, it does not run between going back and sending again: such time costs no retries.
//! - The retry counter counts timeouts alone; InfiniBand's counts NAKs as well. Progress sets it back, as there.
//! - An out-of-order packet causes no congestion notification, which the ns-3 models of HPCC offer as a switch.

mod receiver;
mod sender;

pub(crate) use receiver::{Answer, Receiver};
pub(crate) use sender::{Expiry, Sender};

use raddle_core::Duration;

/// The constants of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    /// Time without progress after which a sender goes back to what is not acknowledged.
    pub(crate) rto: Duration,
    /// How often it does so without progress before it gives the flow up.
    pub(crate) retries: u32,
    /// Packets of a flow between two that ask for an acknowledgement; the last one always asks.
    pub(crate) ack_interval: u32,
    /// Least time between two refusals of a flow in favour of the same packet.
    pub(crate) nak_interval: Duration,
}

/// Numbers of packets on the wire (24 bits).
pub(crate) const NUMBERS: u64 = 1 << 24;

/// Most packets of a flow that may be sent and not acknowledged: by half of the numbers, old ones can be told from new ones
/// (InfiniBand Architecture Specification, volume 1, §9.7.1).
pub(crate) const MOST_OUTSTANDING: u64 = NUMBERS / 2;

/// A packet's number on the wire.
pub(crate) const fn on_wire(number: u64) -> u32 {
    (number % NUMBERS) as u32
}
