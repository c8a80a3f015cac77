//! TCP, as simulators of data-center networks use it: Reno, NewReno, CUBIC and DCTCP. By default, all but Reno use
//! selective acknowledgements.
//!
//! Sources:
//! - Congestion control: RFC 5681, RFC 9438 and RFC 8257. Limited transmit: RFC 3042. Initial window: RFC 6928.
//! - Loss recovery: RFC 6675 with the SACK scoreboard; without SACK, RFC 6582 (NewReno) or Reno. SACK blocks: RFC 2018.
//! - Retransmission timer: RFC 6298. It times one segment per round trip and never a retransmitted segment (Karn), so
//!   timestamps are not needed.
//!
//! A [`control::CongestionControl`] decides how losses, marks and acknowledgements change the window. All other code is
//! common to the algorithms.
//!
//! A [`TcpHost`] holds the flows that it sends (`sender.rs`) and the flows that it receives (`receiver.rs`). It numbers
//! the flows that it sends, and derives both ports from the number. A flow key is therefore reused only after 3.9
//! billion flows of the host (64,512 source ports times 60,535 destination ports). The internal sequence numbers of a
//! flow are 64 bits wide. Number 0 is the SYN, `1..=size` are the data, and `size + 1` is the FIN, which the last data
//! segment carries. In packets, they start at [`Params::initial_sequence`] and wrap at 2^32. The bytes of a stream are
//! sent as soon as the windows allow. A segment carries whatever the application has appended, up to a full segment (no
//! Nagle algorithm). If all bytes have already been sent when the application closes the stream, a separate segment
//! carries the FIN.
//!
//! Cost: most packets belong to the same flow as the previous packet, and need no look-up. Other packets need one
//! hash-map look-up. Each SACK block in a packet costs a binary search. While data is in flight, a timer costs about
//! one heap entry in each span of the retransmission timeout, not one per packet. A flow takes two or three cache lines
//! at its sender and one cache line at its receiver. It allocates further memory only for an application with a rate
//! limit, and while packets are missing or out of order.
//!
//! # Differs from real TCP
//! - Flows are one-way: the receiver's half of a connection is never used and never closed. The FIN on the last data
//!   segment ends the flow. The first data segment also completes the handshake.
//! - By default, only Reno has a handshake. Without it, both ends start in the state after a handshake (as in the
//!   comparison of R2C2 with TCP).
//! - Both ends know the MSS, the window scale and the use of SACK in advance. TCP options are therefore not needed, and
//!   a SYN takes 40 bytes.
//! - The receiving application reads at once, so the advertised window never shrinks and there is no silly-window
//!   syndrome.
//! - A sender gives up a flow only if no SYN is answered. It does not return to slow start after an idle period (RFC
//!   5681 §4.1).
//! - A sender detects the loss of packets in its own host's queue only in the same way as other losses.

pub(crate) mod control;
mod finished;
mod host;
mod loss;
mod receiver;
mod scheme;
mod scoreboard;
mod sender;
mod table;

pub(crate) use host::TcpHost;

use crate::transport::rtt::TimeoutBounds;
use raddle_core::{Bytes, Duration, Header, HeaderInfo, Packet};
use raddle_wire::tcp::Segment;

/// TCP's parameters. Both ends of a flow have the same parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is a separate parameter")]
pub(crate) struct Params {
    /// Payload bytes of a full segment, at least 1.
    pub mss: u16,
    /// Number of segments that may be sent before the first acknowledgement, at least 1.
    pub initial_window: u16,
    /// The initial slow-start threshold, in bytes.
    pub initial_ssthresh: u32,
    /// True if receivers send selective acknowledgements and loss recovery uses them.
    pub sack: bool,
    /// True if a sender sends a new segment at each of the first two duplicate acknowledgements (RFC 3042). With
    /// [`sack`](Self::sack), senders always do this, because SACKed data no longer counts as outstanding.
    pub limited_transmit: bool,
    /// True if each flow opens with a SYN and a SYN-ACK. Otherwise a flow begins with data.
    pub handshake: bool,
    /// Delay of acknowledgements. The receiver acknowledges every second segment at once, and a single segment after
    /// this delay. With `None`, it acknowledges each segment at once.
    pub delayed_ack: Option<Duration>,
    /// Least retransmission timeout.
    pub min_rto: Duration,
    /// Retransmission timeout of data before the first round trip has been measured.
    pub initial_rto: Duration,
    /// Initial timeout of the SYN. The timeout doubles with each retransmission of the SYN.
    pub syn_timeout: Duration,
    /// Number of unanswered SYNs after which the flow is given up, at least 1.
    pub syn_tries: u8,
    /// Greatest retransmission timeout, after back-off.
    pub max_rto: Duration,
    /// Receive window that the receiver advertises. The window is rounded down to whole KiB. It must be at least one
    /// segment and less than 64 MiB.
    pub receive_window: Bytes,
    /// The SYN's sequence number in packets. Both ends know this number in advance, because a flow may begin without a
    /// SYN.
    pub initial_sequence: u32,
    /// True if hosts accept streams and report the progress of flows:
    /// [`Host::carries_streams`](raddle_core::Host::carries_streams).
    pub streams: bool,
}

impl Params {
    /// The advertised window as a header field.
    fn window_field(&self) -> u16 {
        u16::try_from(self.receive_window.0 >> WINDOW_SCALE)
            .expect("the receive window must be less than 64 MiB")
    }

    /// Bounds of the retransmission timeout, for a SYN or for data.
    fn timeouts(&self, is_syn: bool) -> TimeoutBounds {
        let initial = if is_syn { self.syn_timeout } else { self.initial_rto };
        TimeoutBounds { initial, least: self.min_rto, greatest: self.max_rto }
    }
}

/// The header counts windows in units of 1,024 bytes (RFC 7323).
const WINDOW_SCALE: u32 = 10;

/// Sequence number of the first data byte, which follows the SYN.
const DATA: u64 = 1;

/// The packet that carries a segment.
fn packet(segment: Segment) -> Packet {
    let headers = u32::try_from(segment.wire_len()).expect("headers must have at most 68 bytes");
    Packet::new(headers + u32::from(segment.plen), Header::Tcp(segment))
}

/// Converts the 32-bit sequence number `wire` of a packet to 64 bits. The result is the matching number nearest to
/// `near`; `None` if this number would be negative.
fn unwrap_sequence(wire: u32, near: u64, initial: u32) -> Option<u64> {
    let ahead = wire.wrapping_sub(wrap_sequence(near, initial)) as i32;
    near.checked_add_signed(ahead.into())
}

/// The 32-bit value that represents a 64-bit sequence number in packets.
#[allow(clippy::cast_possible_truncation, reason = "sequence numbers are modulo 2^32")]
fn wrap_sequence(sequence: u64, initial: u32) -> u32 {
    (sequence as u32).wrapping_add(initial)
}

#[cfg(test)]
mod tests;
