//! The link layer's overhead around a packet.

use raddle_core::{Framing, HeaderInfo, Packet};

/// Size of an Ethernet header in bytes (IEEE 802.3 §3.1.1).
const ETHERNET_HEADER: u32 = 14;

/// The bytes that the link layer adds to a packet on the wire. They are the same on all links of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LinkLayer {
    /// Bytes that the link layer adds to every packet.
    pub overhead: u32,
    /// Least number of bytes that a packet takes on the wire, overhead included.
    pub least: u32,
    /// Number of overhead bytes outside the frame: preamble and gap.
    pub between: u32,
}

impl LinkLayer {
    /// No overhead, as in papers on rack-scale networks.
    pub const BARE: Self = Self { overhead: 0, least: 0, between: 0 };
    /// Ethernet (IEEE 802.3 §3.1.1, §4.2.3.3): 8 bytes of preamble, 14 of header, 4 of check sequence and 12 of gap
    /// around a packet. Packets shorter than 46 bytes are padded to 46 bytes.
    pub const ETHERNET: Self = Self { overhead: 38, least: 84, between: 20 };

    /// Returns the number of bytes that determine the serialization delay of a packet of `size` bytes.
    #[must_use]
    #[inline]
    pub const fn on_wire(self, size: u32) -> u32 {
        let bytes = size + self.overhead;
        if bytes < self.least { self.least } else { bytes }
    }

    /// Returns the number of bytes that determine the serialization delay of a packet.
    #[must_use]
    #[inline]
    pub fn on_wire_of(self, packet: &Packet) -> u32 {
        self.around(packet).on_wire(packet.size)
    }

    /// Returns the size of the frame around a packet of `size` bytes, including header and check sequence. The load
    /// meters of switches count these bytes.
    #[must_use]
    #[inline]
    pub const fn frame(self, size: u32) -> u32 {
        self.on_wire(size) - self.between
    }

    /// Returns the size of the frame around a packet, as [`frame`](Self::frame) does.
    #[must_use]
    #[inline]
    pub fn frame_of(self, packet: &Packet) -> u32 {
        self.around(packet).frame(packet.size)
    }

    /// Returns the link layer around this packet. The frame of a kernel, which has no check sequence, has its Ethernet
    /// header already. Frames of converged Ethernet get the whole overhead, because no engine tells them from packets.
    #[inline]
    fn around(self, packet: &Packet) -> Self {
        match packet.header.framing() {
            Framing::Frame { fcs: 0, .. } => {
                Self { overhead: self.overhead.saturating_sub(ETHERNET_HEADER), ..self }
            }
            Framing::Frame { .. } | Framing::Packet { .. } => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Header;
    use raddle_wire::FrameView;
    use raddle_wire::tcp::Segment;

    #[test]
    fn small_packets_are_padded() {
        assert_eq!([40, 46, 47, 1_500].map(|size| LinkLayer::ETHERNET.on_wire(size)), [84, 84, 85, 1_538]);
        assert_eq!([40, 1_500].map(|size| LinkLayer::ETHERNET.frame(size)), [64, 1_518]);
        assert_eq!((LinkLayer::BARE.on_wire(40), LinkLayer::BARE.frame(40)), (40, 40));
    }

    #[test]
    fn the_frame_of_a_kernel_gets_no_second_header() {
        let start = [6, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 2, 0x12, 0x34];
        let frame = |size| Packet::new(size, Header::Frame(FrameView::read(&start).expect("a frame")));
        let packet = Packet::new(1_500, Header::Tcp(Segment::default()));
        let on_wire = |packet: &Packet| LinkLayer::ETHERNET.on_wire_of(packet);
        assert_eq!([on_wire(&frame(42)), on_wire(&frame(60)), on_wire(&frame(1_514))], [84, 84, 1_538]);
        assert_eq!(on_wire(&packet), 1_538);
        assert_eq!([&frame(1_514), &packet].map(|packet| LinkLayer::ETHERNET.frame_of(packet)), [1_518; 2]);
        assert_eq!(LinkLayer::BARE.on_wire_of(&frame(1_514)), 1_514);
    }
}
