//! The content of flows. A [`Packet`](raddle_core::Packet) has a header and a size, but no payload bytes. A runtime
//! keeps the payload bytes here, at a flow's source ([`Outbound`]) and at its destination ([`Inbound`]).
//!
//! Each header gives the flow and the range of bytes that its packet holds ([`FlowRange`](raddle_wire::FlowRange)), by
//! byte position or by packet number. Hosts report the bytes that the source no longer needs
//! ([`Acked`](raddle_core::Report::Acked)), and the bytes that the application at the destination may read
//! ([`InOrder`](raddle_core::Report::InOrder)). So this module does not depend on how a transport restores the order of
//! packets.
//!
//! Cost: two copies of each byte at the source, usually two at the destination, and one tree entry per packet with new
//! bytes.

#![allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]

use raddle_core::Bytes;
use raddle_wire::Position;
use std::collections::{BTreeMap, VecDeque};

/// The bytes that the source of a flow may still have to send or to send again.
#[derive(Debug, Default)]
pub(crate) struct Outbound {
    /// Offset in the flow of the first byte in `bytes`.
    from: u64,
    bytes: VecDeque<u8>,
    numbered: Numbered,
}

/// The offsets at which packets begin, for flows whose headers contain packet numbers. The offsets are stored because
/// such packets need not be full.
#[derive(Debug, Default)]
struct Numbered {
    /// The number of the first packet in `begins`.
    first: u64,
    begins: VecDeque<u64>,
    /// The offset at which the next new packet will begin.
    next: u64,
}

impl Outbound {
    /// Adds bytes that the application has handed over.
    pub(crate) fn append(&mut self, content: &[u8]) {
        self.bytes.extend(content);
    }

    /// Appends the bytes of a packet to `out`: `len` bytes from `position` on.
    ///
    /// # Panics
    /// If the application has not handed over these bytes yet, the source has already discarded them, or the host
    /// skipped a packet number.
    pub(crate) fn fill(&mut self, position: Position, len: u32, out: &mut Vec<u8>) {
        let begin = match position {
            Position::Byte(_) | Position::WrappedByte(_) => position.unwrapped(self.from),
            Position::Packet(_) => self.numbered.begin(position, len),
        };
        let from = begin.checked_sub(self.from).expect("a host must not resend acknowledged bytes") as usize;
        let to = from + len as usize;
        assert!(to <= self.bytes.len(), "a host must send only bytes that its application has handed over");
        out.extend(self.bytes.range(from..to));
    }

    /// Records that the host sends a packet of `len` bytes from `position` on. Must be called for every packet, even if
    /// the packet is lost before [`fill`](Self::fill).
    pub(crate) fn sends(&mut self, position: Position, len: u32) {
        if matches!(position, Position::Packet(_)) {
            self.numbered.begin(position, len);
        }
    }

    /// Discards the first `to` bytes of the flow, which the source no longer needs.
    pub(crate) fn acked(&mut self, Bytes(to): Bytes) {
        let gone = to.saturating_sub(self.from).min(self.bytes.len() as u64);
        self.bytes.drain(..gone as usize);
        self.from += gone;
        self.numbered.forget_before(self.from);
    }

    /// Number of the flow's bytes that are kept at its source.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl Numbered {
    /// Returns the offset at which the packet with the number `position` begins. If the packet is new, first stores its
    /// offset. A host sends the packets of a flow for the first time in the order of their numbers.
    fn begin(&mut self, position: Position, len: u32) -> u64 {
        let next = self.first + self.begins.len() as u64;
        let number = position.unwrapped(next);
        if number == next {
            self.begins.push_back(self.next);
            self.next += u64::from(len);
        }
        let place = number.checked_sub(self.first).and_then(|place| self.begins.get(place as usize));
        *place.expect("a host must number packets one by one, and must not resend acknowledged packets")
    }

    /// Discards the offsets of packets whose bytes all precede byte `from` of the flow.
    fn forget_before(&mut self, from: u64) {
        while !self.begins.is_empty() && self.begins.get(1).copied().unwrap_or(self.next) <= from {
            self.begins.pop_front();
            self.first += 1;
        }
    }
}

/// The bytes that the destination of a flow has received.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    /// Bytes that the application may read but has not read.
    ready: Vec<u8>,
    /// Number of the flow's bytes that the application may read or has read.
    to: u64,
    /// Number of packets that held the flow's first `to` bytes, if the flow's packets are numbered.
    packets: u64,
    /// Pieces that have arrived but are not yet reported as in order, keyed by the offset of their first byte or by
    /// packet number.
    early: BTreeMap<u64, Vec<u8>>,
    is_numbered: bool,
}

impl Inbound {
    /// Adds a packet with the payload `body`, which begins at `position`.
    pub(crate) fn arrived(&mut self, position: Position, body: &[u8]) {
        self.is_numbered = matches!(position, Position::Packet(_));
        let near = if self.is_numbered { self.packets } else { self.to };
        let at = position.unwrapped(near);
        let is_new = if self.is_numbered { at >= near } else { at + body.len() as u64 > near };
        if is_new {
            self.keep(at, body);
        }
    }

    /// Keeps a piece whose offset or packet number is `at`, unless a piece of at least the same length is already kept
    /// there. A retransmitted segment may begin at the same byte as an earlier segment, and be longer.
    fn keep(&mut self, at: u64, body: &[u8]) {
        if self.early.get(&at).is_none_or(|other| other.len() < body.len()) {
            self.early.insert(at, body.to_vec());
        }
    }

    /// Lets the application read the first `to` bytes of the flow.
    ///
    /// # Panics
    /// If these bytes have not all arrived.
    pub(crate) fn in_order(&mut self, Bytes(to): Bytes) {
        while self.to < to {
            let (at, body) = self
                .early
                .pop_first()
                .expect("a host must report bytes as in order only after they have arrived");
            let known = if self.is_numbered {
                assert_eq!(
                    at, self.packets,
                    "a host must report bytes as in order only after they have arrived"
                );
                self.packets += 1;
                0
            } else {
                assert!(at <= self.to, "a host must report bytes as in order only after they have arrived");
                (self.to - at) as usize
            };
            let Some(news) = body.get(known..) else { continue };
            let (taken, beyond) = news.split_at(news.len().min((to - self.to) as usize));
            self.ready.extend_from_slice(taken);
            self.to += taken.len() as u64;
            if !beyond.is_empty() {
                self.keep(self.to, beyond);
            }
        }
        while !self.is_numbered
            && let Some(first) = self.early.first_entry()
            && first.key() + first.get().len() as u64 <= to
        {
            first.remove();
        }
    }

    /// Takes the bytes that the application may read but has not read.
    pub(crate) fn read(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ready)
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(outbound: &mut Outbound, position: Position, len: u32) -> Vec<u8> {
        let mut out = Vec::new();
        outbound.fill(position, len, &mut out);
        out
    }

    #[test]
    fn a_source_keeps_unacknowledged_bytes() {
        let mut outbound = Outbound::default();
        outbound.append(b"abc");
        outbound.append(b"");
        outbound.append(b"defg");
        assert_eq!(sent(&mut outbound, Position::Byte(1), 4), b"bcde");
        outbound.acked(Bytes(3));
        outbound.acked(Bytes(2));
        assert_eq!(sent(&mut outbound, Position::WrappedByte(3), 4), b"defg");
        outbound.acked(Bytes(7));
        assert_eq!(outbound.len(), 0);
    }

    #[test]
    #[should_panic(expected = "only bytes that its application has handed over")]
    fn a_host_that_sends_more_than_it_has_is_found_out() {
        let mut outbound = Outbound::default();
        outbound.append(b"abc");
        sent(&mut outbound, Position::Byte(2), 2);
    }

    #[test]
    fn numbered_packets_need_not_be_full() {
        let mut outbound = Outbound::default();
        outbound.append(b"abcdef");
        let first = [(0, 1), (1, 3), (2, 2)].map(|(n, len)| sent(&mut outbound, Position::Packet(n), len));
        assert_eq!(first, [&b"a"[..], b"bcd", b"ef"]);
        outbound.acked(Bytes(1));
        assert_eq!(sent(&mut outbound, Position::Packet(1), 3), b"bcd");
        outbound.acked(Bytes(6));
        outbound.append(b"g");
        assert_eq!(sent(&mut outbound, Position::Packet(3), 1), b"g");
        assert_eq!(outbound.numbered.begins.len(), 1);
    }

    #[test]
    fn a_repeat_may_be_cut_in_another_way() {
        let mut inbound = Inbound::default();
        inbound.arrived(Position::Byte(4), b"e");
        inbound.arrived(Position::Byte(4), b"efgh");
        inbound.arrived(Position::Byte(0), b"ab");
        inbound.in_order(Bytes(2));
        assert_eq!(inbound.read(), b"ab");
        inbound.arrived(Position::Byte(0), b"abcdef");
        inbound.in_order(Bytes(5));
        assert_eq!(inbound.read(), b"cde");
        inbound.in_order(Bytes(8));
        assert_eq!(inbound.read(), b"fgh");
        inbound.arrived(Position::Byte(3), b"def");
        assert!(inbound.early.is_empty(), "`early` must hold no bytes that were read");
    }

    proptest! {
        #[test]
        fn content_is_the_same_at_both_ends(
            content in prop::collection::vec(any::<u8>(), 1..400),
            cuts in prop::collection::vec(1_usize..50, 1..60),
            order in Just((0..60_usize).collect::<Vec<_>>()).prop_shuffle(),
            is_numbered in any::<bool>(),
        ) {
            let mut outbound = Outbound::default();
            let mut inbound = Inbound::default();
            outbound.append(&content);
            let (mut packets, mut from) = (Vec::new(), 0);
            for (number, cut) in cuts.into_iter().cycle().enumerate() {
                let len = cut.min(content.len() - from);
                if len == 0 || packets.len() == 60 {
                    break;
                }
                let position = if is_numbered { Position::Packet(number as u32) } else { Position::WrappedByte(from as u32) };
                packets.push((position, from..from + len, sent(&mut outbound, position, len as u32)));
                from += len;
            }
            let mut here = vec![false; packets.len()];
            let mut read = Vec::new();
            for place in order.into_iter().filter(|&place| place < packets.len()) {
                inbound.arrived(packets[place].0, &packets[place].2);
                here[place] = true;
                let in_order = here.iter().take_while(|&&is_here| is_here).count();
                if in_order > 0 {
                    let to = Bytes(packets[in_order - 1].1.end as u64);
                    inbound.in_order(to);
                    outbound.acked(to);
                }
                read.extend(inbound.read());
            }
            prop_assert_eq!(&read, &content[..from]);
            prop_assert_eq!(outbound.len(), content.len() - from);
            prop_assert!(outbound.numbered.begins.is_empty());
        }
    }
}
