//! The IPv4 header (RFC 791) of TCP segments, UDP datagrams and RoCEv2 packets.
//!
//! Node `n` has the address `10.0.0.0 + n`. The header has no options, forbids fragmentation and has a time to live of
//! 64 hops. Decoding is more tolerant: fields that an [`Ipv4`] does not store may have any value for which the checksum
//! is correct. As exceptions, options, fragments and wrong lengths are refused.

use crate::field::{first, get16, get32, part, put16, put32};
use crate::{Ecn, Error, checksum};

/// The first byte: version 4 and a header of 5 words.
pub(crate) const TYPE: u8 = 0x45;
/// Length of the header in bytes.
pub(crate) const LEN: usize = 20;

const NETWORK: u32 = 10 << 24;
const TIME_TO_LIVE: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS_AND_OFFSET: u16 = 0x3FFF;

/// Returns the protocol number of a packet that begins with [`TYPE`]; `None` if the packet is too short.
pub(crate) fn protocol(bytes: &[u8]) -> Option<u8> {
    bytes.get(9).copied()
}

/// The fields of an IPv4 header that nodes use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ipv4 {
    /// Sending node (24 bits).
    pub(crate) src: u32,
    /// Receiving node (24 bits).
    pub(crate) dst: u32,
    /// Class selector (RFC 2474 §4.2.2): the upper three bits of the type of service.
    pub(crate) class: u8,
    pub(crate) ecn: Ecn,
    pub(crate) protocol: u8,
}

impl Ipv4 {
    /// Returns the bytes of the header for a body of `body_len` bytes.
    ///
    /// # Panics
    /// If a node's number exceeds 24 bits, the class exceeds 7, or the packet exceeds the 65,535 bytes of IPv4.
    pub(crate) fn encode(&self, body_len: usize) -> [u8; LEN] {
        let mut ip = [0; LEN];
        ip[0] = TYPE;
        assert!(self.class < 8, "the traffic class must be 0 to 7 (got {})", self.class);
        ip[1] = self.class << 5 | self.ecn as u8;
        put16(&mut ip, 2, u16::try_from(LEN + body_len).expect("a packet must have at most 65,535 bytes"));
        put16(&mut ip, 6, DONT_FRAGMENT);
        ip[8] = TIME_TO_LIVE;
        ip[9] = self.protocol;
        put32(&mut ip, 12, address(self.src));
        put32(&mut ip, 16, address(self.dst));
        let sum = checksum::sum(&ip);
        put16(&mut ip, 10, !checksum::fold(sum));
        ip
    }

    /// Decodes the header at the start of `bytes`, and the packet's body. The packet must be of `protocol` and have
    /// a body of at least `least` bytes.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a whole packet of this protocol, if the body is too short, or if an address is
    /// not that of a node.
    pub(crate) fn decode(bytes: &[u8], protocol: u8, least: usize) -> Result<(Self, &[u8]), Error> {
        let ip: &[u8; LEN] = first(bytes)?;
        if ip[0] != TYPE {
            return Err(Error::UnknownType(ip[0]));
        }
        checksum::verify(checksum::sum(ip))?;
        let fragment = get16(ip, 6) & MORE_FRAGMENTS_AND_OFFSET;
        if fragment != 0 {
            return Err(Error::Invalid { field: "fragment", value: fragment.into() });
        }
        if ip[9] != protocol {
            return Err(Error::Invalid { field: "protocol", value: ip[9].into() });
        }
        let total = usize::from(get16(ip, 2));
        if total < LEN + least {
            return Err(Error::Invalid { field: "total length", value: total as u64 });
        }
        let body = part(bytes, LEN, total - LEN)?;
        let header = Self {
            src: node("source address", get32(ip, 12))?,
            dst: node("destination address", get32(ip, 16))?,
            class: ip[1] >> 5,
            ecn: Ecn::of(ip[1]),
            protocol,
        };
        Ok((header, body))
    }

    /// Returns the sum over the pseudo-header that the checksums of TCP and UDP cover: addresses, protocol and
    /// `body_len`.
    pub(crate) fn pseudo_header(&self, body_len: usize) -> u64 {
        let address = |node| u64::from(address(node));
        address(self.src) + address(self.dst) + u64::from(self.protocol) + body_len as u64
    }
}

fn address(node: u32) -> u32 {
    assert!(node < 1 << 24, "the node number must be below 2^24 for an address in 10.0.0.0/8 (got {node})");
    NETWORK | node
}

fn node(field: &'static str, address: u32) -> Result<u32, Error> {
    if address >> 24 != NETWORK >> 24 {
        return Err(Error::Invalid { field, value: address.into() });
    }
    Ok(address & 0x00FF_FFFF)
}
