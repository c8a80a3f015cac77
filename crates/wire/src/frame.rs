//! Parts that the frames of converged Ethernet share: host addresses, the VLAN tag and the frame check sequence.

use crate::crc::crc32;
use crate::ethernet::FCS;
use crate::field::{first, get16};
use crate::{Error, Mac};

/// The EtherType that announces a VLAN tag (IEEE 802.1Q).
pub(crate) const VLAN: u16 = 0x8100;

/// Returns the control information of a VLAN tag with this priority and VLAN 0.
///
/// # Panics
/// If the priority is above 7.
pub(crate) fn tci(priority: u8) -> u16 {
    assert!(priority < 8, "the priority must be 0 to 7 (got {priority})");
    u16::from(priority) << 13
}

/// Returns the priority of the VLAN tag at byte `at`.
pub(crate) fn priority(bytes: &[u8], at: usize) -> Result<u8, Error> {
    expect_ethertype(bytes, at, VLAN)?;
    let tci = get16(bytes, at + 2);
    if tci & 0x1FFF != 0 {
        return Err(Error::Invalid { field: "VLAN", value: tci.into() });
    }
    Ok((tci >> 13) as u8)
}

/// Returns the number of the host whose address is at byte `at`.
pub(crate) fn host(bytes: &[u8], at: usize, field: &'static str) -> Result<u32, Error> {
    let mac = Mac::get(bytes, at);
    mac.node().ok_or(Error::Invalid { field, value: mac.bits() })
}

/// Checks that the EtherType at byte `at` is `expected`.
pub(crate) fn expect_ethertype(bytes: &[u8], at: usize, expected: u16) -> Result<(), Error> {
    match get16(bytes, at) {
        ethertype if ethertype == expected => Ok(()),
        ethertype => Err(Error::Invalid { field: "EtherType", value: ethertype.into() }),
    }
}

/// Returns true if the frame's first byte is that of a host's address, and if its EtherType is one of `ethertypes`. If
/// there is a VLAN tag, the EtherType after the tag counts. If the frame is cut off before its EtherType, only the
/// first byte counts.
pub(crate) fn has_ethertype(frame: &[u8], ethertypes: &[u16]) -> bool {
    frame.first() == Some(&Mac::TYPE) && ethertype(frame).map_or(true, |found| ethertypes.contains(&found))
}

/// Returns the frame's EtherType. If there is a VLAN tag, this is the EtherType after the tag.
fn ethertype(frame: &[u8]) -> Result<u16, Error> {
    match get16(first::<14>(frame)?, 12) {
        VLAN => Ok(get16(first::<18>(frame)?, 16)),
        ethertype => Ok(ethertype),
    }
}

/// Writes the check sequence of a whole frame into its last four bytes.
pub(crate) fn seal(frame: &mut [u8]) {
    let (covered, fcs) = frame.split_at_mut(frame.len() - FCS);
    fcs.copy_from_slice(&crc32(covered));
}

/// Checks the frame check sequence of a whole frame.
pub(crate) fn verify(frame: &[u8]) -> Result<(), Error> {
    let (covered, fcs) = frame.split_at(frame.len() - FCS);
    if crc32(covered) == fcs { Ok(()) } else { Err(Error::Checksum) }
}
