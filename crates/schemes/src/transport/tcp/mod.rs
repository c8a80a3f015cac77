//! TCP with selective acknowledgements, as simulators of data-center networks use it: Reno, NewReno, CUBIC and DCTCP.
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
//! billion flows. The internal sequence numbers of a flow are 64 bits wide: 0 is the SYN, `1..=size` are the data, and
//! `size + 1` is the FIN, which the last data segment carries. On the wire they start at [`Params::initial_sequence`]
//! and wrap. The bytes of a stream are sent as soon as the windows allow. A segment carries whatever the application
//! has appended, up to a full segment (no Nagle algorithm). If all bytes are sent when the application closes the
//! stream, a separate segment carries the FIN.
//!
//! Cost: most packets belong to the same flow as the packet before, and need no look-up. Other packets take a hash-map
//! look-up. While SACK blocks are outstanding, each block costs a binary search. Timers cost one heap operation per
//! retransmission timeout, not one per packet. A flow takes two cache lines at its sender and one at its receiver. It
//! allocates memory only while packets are missing or out of order.
//!
//! # Differs from real TCP
//! - Flows go one way: the receiver's half of a connection is never used and never closed. The FIN on the last data
//!   segment ends the flow. The first data segment completes the handshake.
//! - By default there is no handshake: both ends start as if it had taken place (as in the comparison with R2C2).
//! - Both ends know the MSS, the window scale and whether SACK is in use without options, so a SYN takes 40 bytes.
//! - The receiving application reads at once, so the offered window never shrinks and there is no silly-window
//!   syndrome.
//! - A sender gives up only if no SYN is answered. It does not slow-start again after an idle period (RFC 5681 §4.1).
//! - A sender notices packets lost in its host's own queue only in the same way as packets lost elsewhere.

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
#[expect(clippy::struct_excessive_bools, reason = "each is a parameter of its own")]
pub(crate) struct Params {
    /// Payload bytes of a full segment, at least 1.
    pub mss: u16,
    /// Segments that may be sent before the first acknowledgement, at least 1.
    pub initial_window: u16,
    /// The first slow-start threshold, in bytes.
    pub initial_ssthresh: u32,
    /// True to use selective acknowledgements for loss recovery.
    pub sack: bool,
    /// True to send a new segment at each of the first two duplicate acknowledgements (RFC 3042). With
    /// [`sack`](Self::sack) this always happens, because SACKed data is not outstanding any more.
    pub limited_transmit: bool,
    /// True to open each flow with SYN and SYN-ACK instead of with data.
    pub handshake: bool,
    /// The receiver acknowledges every second segment, and a single segment after this time. With `None` it
    /// acknowledges each segment at once.
    pub delayed_ack: Option<Duration>,
    /// Least retransmission timeout.
    pub min_rto: Duration,
    /// Retransmission timeout of data before the first round trip has been measured.
    pub initial_rto: Duration,
    /// Initial timeout of the SYN. It doubles with each retransmission of the SYN.
    pub syn_timeout: Duration,
    /// Number of SYNs sent before the flow is given up, at least 1.
    pub syn_tries: u8,
    /// Greatest timeout after back-off.
    pub max_rto: Duration,
    /// Window that the receiver offers, in whole KiB: at least one segment and less than 64 MiB.
    pub receive_window: Bytes,
    /// The SYN's sequence number on the wire. Both ends know it in advance, because there may be no SYN.
    pub initial_sequence: u32,
    /// True to accept streams and to report the progress of flows:
    /// [`Host::carries_streams`](raddle_core::Host::carries_streams).
    pub streams: bool,
}

impl Params {
    /// The offered window as a header field.
    fn window_field(&self) -> u16 {
        u16::try_from(self.receive_window.0 >> WINDOW_SCALE).expect("a window less than 64 MiB")
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

/// The packet of a segment.
fn packet(segment: Segment) -> Packet {
    let headers = u32::try_from(segment.wire_len()).expect("headers of at most 68 bytes");
    Packet::new(headers + u32::from(segment.plen), Header::Tcp(segment))
}

/// The 64-bit sequence number nearest to `near` that has the wire value `wire`; `None` if it would be negative.
fn unwrap_sequence(wire: u32, near: u64, initial: u32) -> Option<u64> {
    let ahead = wire.wrapping_sub(wrap_sequence(near, initial)) as i32;
    near.checked_add_signed(ahead.into())
}

/// The wire value of a 64-bit sequence number.
#[allow(clippy::cast_possible_truncation, reason = "sequence numbers are modulo 2^32")]
fn wrap_sequence(sequence: u64, initial: u32) -> u32 {
    (sequence as u32).wrapping_add(initial)
}

#[cfg(test)]
mod tests;
