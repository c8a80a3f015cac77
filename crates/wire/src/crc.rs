//! The CRC-32 of Ethernet's frame check sequence (IEEE 802.3 §3.2.9) and of InfiniBand's invariant CRC.

const POLYNOMIAL: u32 = 0xEDB8_8320; // reflected: bits leave a byte with the lowest first

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The CRC of these bytes, in the order in which it follows them on the wire.
pub(crate) fn crc32<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> [u8; 4] {
    let step = |crc: u32, byte: &u8| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)];
    (!bytes.into_iter().fold(!0, step)).to_le_bytes()
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
        // The residue of 802.3: a frame with its check sequence has this CRC, whatever its bytes.
        for frame in [&b"a"[..], b"a longer one", &[0; 60]] {
            let whole: Vec<u8> = frame.iter().copied().chain(crc32(frame)).collect();
            assert_eq!(u32::from_le_bytes(crc32(&whole)), 0x2144_DF1C);
        }
    }
}
