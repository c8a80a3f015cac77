//! Big-endian fields of a header.

use crate::Error;

/// Returns the first `N` bytes.
///
/// # Errors
/// [`Error::Truncated`] if `bytes` has fewer than `N` bytes.
pub(crate) fn first<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], Error> {
    bytes.first_chunk().ok_or(Error::Truncated { have: bytes.len(), need: N })
}

/// Returns the `need` bytes that begin at `from`.
///
/// # Errors
/// [`Error::Truncated`] if `bytes` ends before the last of these bytes.
pub(crate) fn part(bytes: &[u8], from: usize, need: usize) -> Result<&[u8], Error> {
    bytes.get(from..from + need).ok_or(Error::Truncated { have: bytes.len(), need: from + need })
}

/// Returns the 16-bit field at byte `at`.
pub(crate) fn get16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Returns the 32-bit field at byte `at`.
pub(crate) fn get32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Returns the 64-bit field at byte `at`.
pub(crate) fn get64(bytes: &[u8], at: usize) -> u64 {
    u64::from(get32(bytes, at)) << 32 | u64::from(get32(bytes, at + 4))
}

/// Writes the 16-bit field at byte `at`.
pub(crate) fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Writes the 32-bit field at byte `at`.
pub(crate) fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Writes the 64-bit field at byte `at`.
pub(crate) fn put64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
}
