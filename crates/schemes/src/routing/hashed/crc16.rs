//! CRC-16, which RFC 2992 §2 names as a hash of flows. The polynomial is x^16 + x^12 + x^5 + 1 (CCITT), and the initial
//! value is all ones.

const POLYNOMIAL: u16 = 0x1021;

#[allow(clippy::cast_possible_truncation, reason = "the index of the table is a byte")]
const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc >> 15 == 1 { crc << 1 ^ POLYNOMIAL } else { crc << 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The CRC of these words, most significant byte first.
pub(super) fn crc16(words: [u32; 5]) -> u16 {
    words.into_iter().flat_map(u32::to_be_bytes).fold(!0, step)
}

fn step(crc: u16, byte: u8) -> u16 {
    crc << 8 ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogues() {
        assert_eq!(b"123456789".iter().copied().fold(!0, step), 0x29B1);
    }
}
