//! What a packet takes on a link beside its own bytes.

/// The link layer's share of what a packet takes on the wire; the same on all links of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LinkLayer {
    /// Bytes around every packet.
    pub overhead: u32,
    /// Least bytes that a packet takes, these included.
    pub least: u32,
    /// Bytes of these between frames rather than in one: preamble and gap.
    pub between: u32,
}

impl LinkLayer {
    /// Packets and nothing else, as papers on racks count.
    pub const BARE: Self = Self { overhead: 0, least: 0, between: 0 };
    /// Ethernet (IEEE 802.3 §3.1.1, §4.2.3.3): preamble 8, header 14, check sequence 4 and gap 12 bytes around a packet,
    /// which is padded to 46.
    pub const ETHERNET: Self = Self { overhead: 38, least: 84, between: 20 };

    /// Bytes of time that a packet of `size` bytes takes on a link.
    #[must_use]
    #[inline]
    pub const fn on_wire(self, size: u32) -> u32 {
        let bytes = size + self.overhead;
        if bytes < self.least { self.least } else { bytes }
    }

    /// Bytes of the frame around a packet of `size` bytes, header and check sequence included: what switches meter.
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
}
