//! The link layer's overhead around a packet.

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

    /// Returns the link layer around packets whose sizes include `own` bytes of its header already, such as the frames
    /// of a kernel.
    #[must_use]
    #[inline]
    pub const fn around(self, own: u32) -> Self {
        Self { overhead: self.overhead.saturating_sub(own), ..self }
    }

    /// Returns the number of bytes that determine the serialization delay of a packet of `size` bytes.
    #[must_use]
    #[inline]
    pub const fn on_wire(self, size: u32) -> u32 {
        let bytes = size + self.overhead;
        if bytes < self.least { self.least } else { bytes }
    }

    /// Returns the size of the frame around a packet of `size` bytes, including header and check sequence. The load
    /// meters of switches count these bytes.
    #[must_use]
    #[inline]
    pub const fn frame(self, size: u32) -> u32 {
        self.on_wire(size) - self.between
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packets_are_padded() {
        assert_eq!([40, 46, 47, 1_500].map(|size| LinkLayer::ETHERNET.on_wire(size)), [84, 84, 85, 1_538]);
        assert_eq!([40, 1_500].map(|size| LinkLayer::ETHERNET.frame(size)), [64, 1_518]);
        assert_eq!((LinkLayer::BARE.on_wire(40), LinkLayer::BARE.frame(40)), (40, 40));
    }

    #[test]
    fn a_header_that_a_packet_has_already_is_not_added() {
        let around_frames = LinkLayer::ETHERNET.around(14);
        assert_eq!([42, 60, 1_514].map(|size| around_frames.on_wire(size)), [84, 84, 1_538]);
        assert_eq!(around_frames.frame(1_514), 1_518);
        assert_eq!(LinkLayer::BARE.around(14).on_wire(1_514), 1_514);
    }
}
