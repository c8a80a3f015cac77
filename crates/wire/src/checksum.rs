//! The Internet checksum (RFC 1071): the complement of the one's-complement sum of big-endian 16-bit words.

use crate::Error;

/// Returns the sum of `bytes`. Callers add this sum to other sums and then fold the total. An odd last byte is padded
/// with a zero byte, so only the last part of a message may have an odd length.
#[inline]
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    // A sum of 32-bit words is congruent to the sum of 16-bit words, since 2^16 = 1 modulo 2^16 - 1.
    let (words, tail) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..tail.len()].copy_from_slice(tail);
    words.iter().map(|&word| u64::from(u32::from_be_bytes(word))).sum::<u64>()
        + u64::from(u32::from_be_bytes(last))
}

/// Verifies a message by its sum, which includes the message's checksum.
///
/// # Errors
/// [`Error::Checksum`] if the message is damaged.
#[inline]
pub(crate) fn verify(sum: u64) -> Result<(), Error> {
    if fold(sum) == 0xFFFF { Ok(()) } else { Err(Error::Checksum) }
}

/// Folds a sum to 16 bits. The checksum is the complement of the result.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the folded sum fits in 16 bits")]
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_example() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes)), 0xddf2);
    }

    #[test]
    fn an_odd_byte_is_padded_with_zero() {
        for len in 0..8 {
            let mut bytes: Vec<u8> = (1..=len).collect();
            let unpadded = fold(sum(&bytes));
            bytes.push(0);
            assert_eq!(unpadded, fold(sum(&bytes)), "{len} bytes");
        }
    }
}
