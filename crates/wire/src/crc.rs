//! The CRC-32 of Ethernet's frame check sequence (IEEE 802.3 §3.2.9).

/// Returns the CRC of `bytes`, in the byte order of the frame check sequence on the wire.
pub(crate) fn crc32(bytes: &[u8]) -> [u8; 4] {
    crc32fast::hash(bytes).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogues() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926_u32.to_le_bytes());
    }

    #[test]
    fn the_frame_check_sequence_of_a_known_frame() {
        // The CRC over any frame with its check sequence has this value. It is the complement of the bit-reversed
        // residue of 802.3, 0xC704DD7B.
        for frame in [&b"a"[..], b"a longer one", &[0; 60]] {
            let whole = [frame, &crc32(frame)].concat();
            assert_eq!(u32::from_le_bytes(crc32(&whole)), 0x2144_DF1C);
        }
    }
}
