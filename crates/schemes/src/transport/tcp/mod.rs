//! TCP with selective acknowledgements, as simulators of data-center networks use it: Reno, NewReno, CUBIC and DCTCP.
//!
//! Sources: congestion control RFC 5681, 9438 and 8257, limited transmit RFC 3042, initial window RFC 6928; loss recovery from the
//! SACK scoreboard RFC 6675, or without SACK NewReno's, RFC 6582, or Reno's; SACK blocks RFC 2018; retransmission timer RFC
//! 6298, timing one segment a round trip and none that was repeated (Karn), so that no timestamps are needed.
//!
//! What loss, marks and acknowledgements make of the window is a [`control::CongestionControl`]; all else is common.
//!
//! A [`TcpHost`] holds the flows that it sends (`sender.rs`) and those that it receives (`receiver.rs`). It numbers the
//! flows it sends, and the number becomes the two ports, so a name is used again only after 3.9 billion flows.
//! Inside, the sequence numbers of a flow are 64 bits wide: 0 is the SYN, `1..=size` are the data, `size + 1` is the
//! FIN, which the last data segment carries. On the wire they start at [`Params::initial_sequence`] and wrap.
//! A stream's bytes are sent as soon as the windows allow, in segments as full as what the application has appended (no
//! Nagle algorithm). If all of them are sent when the application closes the stream, a segment of its own carries the FIN.
//!
//! Cost: a packet of the flow that the last one was of, as most are, is found without a look-up, others by a hash map;
//! while SACK blocks are outstanding, each costs a binary search. Timers cost a heap operation about once a
//! retransmission timeout, not once a packet. A flow takes two cache lines where it is sent and one where it is
//! received, and allocates only while packets of it are missing or out of order.
//!
//! # Differs from real TCP
//! - Flows go one way, so the receiver's half of a connection is never used and never closed; the FIN on the last
//!   data segment is the end. The receiver's part of a handshake is confirmed by the first data segment.
//! - By default there is no handshake: both ends start as if it had taken place (as in the comparison with R2C2).
//! - Both ends know MSS, window scale and whether SACK is in use without options, so a SYN takes 40 bytes.
//! - The receiving application reads at once: the window offered never shrinks, and there is no silly window.
//! - A sender gives up only if no SYN is answered, and does not slow-start again after an idle period (RFC 5681 §4.1).
//! - Packets lost in the host's own queue are not noticed in any other way than those lost elsewhere.

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

/// TCP's parameters; both ends of a flow have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    /// Payload bytes of a full segment, at least 1.
    pub mss: u16,
    /// Segments that may be sent before the first acknowledgement, at least 1.
    pub initial_window: u16,
    /// The first slow-start threshold, in bytes.
    pub initial_ssthresh: u32,
    /// Selective acknowledgements, and recovery by them.
    pub sack: bool,
    /// Send a new segment at each of the first two duplicate acknowledgements (RFC 3042). With [`sack`](Self::sack) it is
    /// always so, since what is SACKed is no longer outstanding.
    pub limited_transmit: bool,
    /// Open each flow with SYN and SYN-ACK, rather than with data.
    pub handshake: bool,
    /// Acknowledge every second segment, and a lone one after this time; `None` acknowledges each at once.
    pub delayed_ack: Option<Duration>,
    /// Least retransmission timeout.
    pub min_rto: Duration,
    /// Retransmission timeout of data before the first round trip has been measured.
    pub initial_rto: Duration,
    /// The SYN's timeout, which doubles with each that is repeated.
    pub syn_timeout: Duration,
    /// SYNs sent, at least 1, before the flow is given up.
    pub syn_tries: u8,
    /// Most that a timeout grows to by back-off.
    pub max_rto: Duration,
    /// Window that the receiver offers, in whole KiB, at least a segment and less than 64 MiB.
    pub receive_window: Bytes,
    /// The SYN's sequence number on the wire. Both ends know it, since there may be no SYN.
    pub initial_sequence: u32,
    /// Take streams, and report how far flows have come: [`Host::carries_streams`](raddle_core::Host::carries_streams).
    pub streams: bool,
}

impl Params {
    /// The offered window as the header has it.
    fn window_field(&self) -> u16 {
        u16::try_from(self.receive_window.0 >> WINDOW_SCALE).expect("a window less than 64 MiB")
    }

    /// What the retransmission timer goes by, of a SYN or of data.
    fn timeouts(&self, is_syn: bool) -> TimeoutBounds {
        let initial = if is_syn { self.syn_timeout } else { self.initial_rto };
        TimeoutBounds { initial, least: self.min_rto, greatest: self.max_rto }
    }
}

/// The header counts windows in units of 1,024 bytes (RFC 7323).
const WINDOW_SCALE: u32 = 10;

/// The first data byte's sequence number, after the SYN's.
const DATA: u64 = 1;

/// The packet of a segment.
fn packet(segment: Segment) -> Packet {
    let headers = u32::try_from(segment.wire_len()).expect("headers of at most 68 bytes");
    Packet::new(headers + u32::from(segment.plen), Header::Tcp(segment))
}

/// The 64-bit sequence number nearest to `near` that the wire shows as `wire`, or `None` if that is negative.
fn unwrap_sequence(wire: u32, near: u64, initial: u32) -> Option<u64> {
    let ahead = wire.wrapping_sub(wrap_sequence(near, initial)) as i32;
    near.checked_add_signed(ahead.into())
}

/// A 64-bit sequence number as the wire shows it.
fn wrap_sequence(sequence: u64, initial: u32) -> u32 {
    (sequence as u32).wrapping_add(initial)
}

#[cfg(test)]
mod tests;
