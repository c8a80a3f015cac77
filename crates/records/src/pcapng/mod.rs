//! Captures in the pcapng format (draft-ietf-opsawg-pcapng), which Wireshark reads. A file has a section header, a
//! description of each captured link as an interface, and a block for each packet.

mod framing;
#[cfg(test)]
mod tests;

use crate::RecordsError;
use crate::part_file::PartFile;
use raddle_core::{Packet, Rate, Time};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// The number from which readers learn the byte order of the file, which is little-endian.
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const ETHERNET: u16 = 1;
const NANOSECONDS: u8 = 9;
const PS_PER_NS: u64 = 1_000;

const OPTION_END: u16 = 0;
const USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TIME_RESOLUTION: u16 = 9;
const IF_FCS_LENGTH: u16 = 13;

/// A directed link, described as an interface of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The interface's name: `from->to`.
    pub name: String,
    /// A description for the user.
    pub description: String,
    /// The link's rate.
    pub rate: Rate,
}

/// Writes packets to a capture as they arrive. If the writer is dropped before `finish`, no file remains.
#[derive(Debug)]
pub struct PcapngWriter {
    out: BufWriter<File>,
    part: PartFile,
    snap_bytes: usize,
    /// Buffer for the current frame, reused to avoid allocations.
    frame: Vec<u8>,
    /// Buffer for the body of the current block, reused to avoid allocations.
    block: Vec<u8>,
}

impl PcapngWriter {
    /// Creates the capture at `path`. The capture keeps the length of each frame, and at most the first `snap_bytes`
    /// bytes of the frame.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn create(path: &Path, interfaces: &[Interface], snap_bytes: u32) -> Result<Self, RecordsError> {
        let part = PartFile::create(path)?;
        let file = part.file().try_clone().map_err(|source| part.error(source))?;
        let out = BufWriter::new(file);
        let mut writer =
            Self { out, part, snap_bytes: snap_bytes as usize, frame: Vec::new(), block: Vec::new() };
        writer.block(SECTION_HEADER, |block| {
            block.extend(BYTE_ORDER.to_le_bytes());
            block.extend([1_u16, 0].map(u16::to_le_bytes).as_flattened()); // version 1.0
            block.extend(u64::MAX.to_le_bytes()); // the section ends at the end of the file
            option(block, USER_APPLICATION, concat!("raddle ", env!("CARGO_PKG_VERSION")).as_bytes());
            option(block, OPTION_END, &[]);
        })?;
        for interface in interfaces {
            writer.block(INTERFACE_DESCRIPTION, |block| {
                block.extend([ETHERNET, 0].map(u16::to_le_bytes).as_flattened());
                block.extend(snap_bytes.to_le_bytes());
                option(block, IF_NAME, interface.name.as_bytes());
                option(block, IF_DESCRIPTION, interface.description.as_bytes());
                option(block, IF_SPEED, &interface.rate.as_bps().to_le_bytes());
                option(block, IF_TIME_RESOLUTION, &[NANOSECONDS]);
                option(block, IF_FCS_LENGTH, &[0]);
                option(block, OPTION_END, &[]);
            })?;
        }
        Ok(writer)
    }

    /// Adds a packet. `interface` is the index of the link's interface, and `sent` is the time at which the packet's
    /// last bit left the sending port. `bytes` are the packet's bytes, including its payload. If `bytes` is `None`, the
    /// payload is encoded as zeros.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// # Panics
    /// If the packet cannot be [encoded](Packet::encode), or the bytes are too few for the packet's Ethernet addresses
    /// or tag.
    #[allow(clippy::cast_possible_truncation, reason = "a timestamp is written as two 32-bit halves")]
    pub fn push(
        &mut self,
        sent: Time,
        interface: u32,
        packet: &Packet,
        bytes: Option<&[u8]>,
    ) -> Result<(), RecordsError> {
        let mut frame = std::mem::take(&mut self.frame);
        framing::frame(packet, bytes, &mut frame);
        let kept = &frame[..frame.len().min(self.snap_bytes)];
        let ns = sent.as_ps() / PS_PER_NS;
        let len = |bytes: &[u8]| u32::try_from(bytes.len()).expect("a frame must be below 4 GiB");
        let fields = [interface, (ns >> 32) as u32, ns as u32, len(kept), len(&frame)];
        let pushed = self.block(ENHANCED_PACKET, |block| {
            block.extend(fields.map(u32::to_le_bytes).as_flattened());
            padded(block, kept);
        });
        self.frame = frame;
        pushed
    }

    /// Ends the capture and gives it its final name.
    ///
    /// # Errors
    /// If the file cannot be written or renamed.
    pub fn finish(mut self) -> Result<(), RecordsError> {
        self.out.flush().map_err(|source| self.part.error(source))?;
        self.part.finish()
    }

    /// Writes a block: its type, its length, its body, and its length again.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) -> Result<(), RecordsError> {
        self.block.clear();
        body(&mut self.block);
        let len = u32::try_from(self.block.len() + 12).expect("a block must be below 4 GiB").to_le_bytes();
        let mut write = || -> io::Result<()> {
            self.out.write_all([kind.to_le_bytes(), len].as_flattened())?;
            self.out.write_all(&self.block)?;
            self.out.write_all(&len)
        };
        write().map_err(|source| self.part.error(source))
    }
}

/// Appends an option. A value that is too long is truncated.
#[allow(clippy::cast_possible_truncation, reason = "the value is cut to 65,535 bytes")]
fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(u16::MAX.into())];
    block.extend([code, value.len() as u16].map(u16::to_le_bytes).as_flattened());
    padded(block, value);
}

/// Appends bytes, and then zeros up to a multiple of four bytes.
fn padded(block: &mut Vec<u8>, bytes: &[u8]) {
    block.extend(bytes);
    block.resize(block.len().next_multiple_of(4), 0);
}
