//! Parses the written captures by the rules of the pcapng format.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use raddle_wire::pfc::Pause;
use raddle_wire::udp::Datagram;
use raddle_wire::{Header, Mac};
use std::fs;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Returns the type and the body of each block.
fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        let len = word(bytes, 4) as usize;
        assert!(len.is_multiple_of(4) && word(bytes, len - 4) as usize == len, "lengths of {len}");
        blocks.push((word(bytes, 0), bytes[8..len - 4].to_vec()));
        bytes = &bytes[len..];
    }
    blocks
}

/// Returns the codes and the values of a block's options.
fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    loop {
        let (code, len) = (word(bytes, 0) as u16, (word(bytes, 0) >> 16) as usize);
        if code == OPTION_END {
            assert_eq!(bytes.len(), 4, "nothing follows the end of options");
            return options;
        }
        options.push((code, bytes[4..4 + len].to_vec()));
        bytes = &bytes[4 + len.next_multiple_of(4)..];
    }
}

/// Returns the interface, the time in ns, the length and the captured bytes of a packet block.
fn packet(block: &[u8]) -> (u32, u64, u32, &[u8]) {
    let kept = word(block, 12) as usize;
    assert_eq!(block.len(), 20 + kept.next_multiple_of(4));
    let ns = u64::from(word(block, 4)) << 32 | u64::from(word(block, 8));
    (word(block, 0), ns, word(block, 16), &block[20..20 + kept])
}

fn interface(name: &str) -> Interface {
    Interface { name: name.into(), description: "link 7".into(), rate: Rate::from_gbps(10) }
}

#[test]
fn a_capture_reads_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.pcapng");
    let mut writer = PcapngWriter::create(&path, &[interface("0->1"), interface("1->0")], 100).unwrap();
    let datagram = Datagram { src: 0, dst: 1, plen: 1_000, size: 1_000, ..Datagram::default() };
    let pause = Pause { src: Mac::host(1), enabled: 1, quanta: [0xFFFF; 8] };
    writer.push(Time::from_ps(1_999), 0, &Packet::new(1_044, Header::Udp(datagram)), None).unwrap();
    writer.push(Time::from_ps(5_000_000_000_007_999), 1, &Packet::new(64, Header::Pfc(pause)), None).unwrap();
    assert!(!path.exists(), "a capture has its name when it is whole");
    writer.finish().unwrap();

    let blocks = blocks(&fs::read(&path).unwrap());
    let kinds: Vec<u32> = blocks.iter().map(|block| block.0).collect();
    assert_eq!(kinds, [SECTION_HEADER, 1, 1, 6, 6]);
    let section = &blocks[0].1;
    assert_eq!(section[..8], [0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0]);
    assert_eq!(section[8..16], [0xFF; 8]);
    assert!(options(&section[16..])[0].1.starts_with(b"raddle "));
    for (block, name) in blocks[1..3].iter().zip(["0->1", "1->0"]) {
        assert_eq!((word(&block.1, 0), word(&block.1, 4)), (1, 100), "link type and snap length");
        let expected: [(u16, &[u8]); 5] = [
            (2, name.as_bytes()),
            (3, b"link 7"),
            (8, &10_000_000_000_u64.to_le_bytes()),
            (9, &[9]),
            (13, &[0]),
        ];
        assert_eq!(options(&block.1[8..]), expected.map(|(code, value)| (code, value.to_vec())));
    }
    let (interface, ns, len, kept) = packet(&blocks[3].1);
    assert_eq!((interface, ns, len, kept.len()), (0, 1, 14 + 1_044, 100));
    assert_eq!(kept[12..15], [8, 0, 0x45]);
    let (interface, ns, len, kept) = packet(&blocks[4].1);
    assert_eq!((interface, ns, len), (1, 5_000_000_000_007, 60));
    assert_eq!(kept, &pause.encode()[..60]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_capture_that_breaks_off_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    drop(PcapngWriter::create(&folder.path().join("packets.pcapng"), &[], 128).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
