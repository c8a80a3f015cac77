//! Go-back-N, the loss recovery of RoCE network adapters. The receiver discards packets that arrive out of order and
//! names the packet that it expects. The sender goes back to that packet, and sends it and all later packets again.
//!
//! Source: InfiniBand Architecture Specification, volume 1, §9.7 (reliable connections: packet sequence numbers, ACK,
//! NAK for a sequence error, the transport timer and the retry counter). The intervals and the rule for duplicates come
//! from the authors' ns-3 models of DCQCN and HPCC (`bobzhuyb/ns3-rdma`,
//! `alibaba-edu/High-Precision-Congestion-Control`: `ReceiverCheckSeq`). Mittal et al., "Revisiting Network Support for
//! RDMA", SIGCOMM 2018, §2, describe the effect of go-back-N on performance. See also specifications/transports.md §7.
//!
//! [`Sender`] and [`Receiver`] are the two ends of one flow. Packet numbers have 64 bits in these types, and 24 bits in
//! packet headers ([`on_wire`]).
//!
//! # Differs from the source
//! - The transport timer runs from the flow's last progress. After a timeout, the timer stays stopped until the flow
//!   sends again. A flow therefore uses at most one retry while its port is paused or down.
//! - The retry counter counts only timeouts, whereas InfiniBand's retry counter also counts NAKs. Progress resets the
//!   counter, as in InfiniBand.
//! - An out-of-order packet causes a congestion notification only if the packet is marked. In the ns-3 model of HPCC,
//!   notifications for other out-of-order packets are an option.

mod receiver;
mod sender;

pub(crate) use receiver::{Answer, Receiver};
pub(crate) use sender::{Expiry, Sender};

use raddle_core::Duration;

/// The constants of the sender and the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    /// Time without progress after which a sender goes back to the first unacknowledged packet.
    pub(crate) rto: Duration,
    /// Number of successive timeouts without progress at which the sender goes back. At the next timeout, the sender
    /// gives up the flow.
    pub(crate) retries: u32,
    /// Number of packets per requested acknowledgement. The last packet of a flow always requests an acknowledgement.
    pub(crate) ack_interval: u32,
    /// Least time between two NAKs of a flow that name the same expected packet.
    pub(crate) nak_interval: Duration,
}

/// Number of different packet numbers in packet headers (24 bits).
pub(crate) const NUMBERS: u64 = 1 << 24;

/// Greatest number of unacknowledged packets of a flow: half of the packet numbers. A delayed packet is then not
/// mistaken for a new packet (InfiniBand Architecture Specification, volume 1, §9.7.1).
pub(crate) const MOST_OUTSTANDING: u64 = NUMBERS / 2;

/// The lower 24 bits of a packet's number, which the header carries.
pub(crate) const fn on_wire(number: u64) -> u32 {
    (number % NUMBERS) as u32
}
