//! Tests with headers that are not built in.

use super::*;
use crate::field::{first, part};
use crate::tests::hex;
use crate::{Ends, Framing, PacketKind};

/// A note from one node to another, with a hop count.
#[derive(Debug, Clone, PartialEq)]
struct Note {
    src: u8,
    dst: u8,
    hops: u8,
    plen: u8,
}

impl ExtensionHeader for Note {
    const NUMBER: u16 = 0x0102;
}

impl HeaderInfo for Note {
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.dst)
    }

    fn payload_len(&self) -> usize {
        self.plen.into()
    }

    fn wire_len(&self) -> usize {
        PREFIX + 4
    }

    fn encode_header(&self, _: &[u8], out: &mut Vec<u8>) {
        out.extend(prefix::<Self>());
        out.extend([self.src, self.dst, self.hops, self.plen]);
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.starts_with(&prefix::<Self>())
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let &[src, dst, hops, plen] = first(part(bytes, PREFIX, 4)?)?;
        part(bytes, PREFIX + 4, plen.into())?;
        Ok((Self { src, dst, hops, plen }, PREFIX + 4))
    }
}

/// A second header type, with the same number as [`Note`].
#[derive(Debug, Clone, PartialEq)]
struct Impostor;

impl ExtensionHeader for Impostor {
    const NUMBER: u16 = Note::NUMBER;
}

impl HeaderInfo for Impostor {
    fn ends(&self) -> Ends {
        Ends::new(0_u8, 0_u8)
    }

    fn wire_len(&self) -> usize {
        PREFIX
    }

    fn encode_header(&self, _: &[u8], out: &mut Vec<u8>) {
        out.extend(prefix::<Self>());
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.starts_with(&prefix::<Self>())
    }

    fn decode_header(_: &[u8]) -> Result<(Self, usize), Error> {
        Ok((Self, PREFIX))
    }
}

const NOTE: Note = Note { src: 1, dst: 2, hops: 3, plen: 2 };

fn decoders() -> Decoders {
    Decoders::BUILTIN.with::<Note>().expect("the only one")
}

#[test]
fn a_foreign_header_is_written_and_read_like_any_other() {
    let header = Header::from(NOTE);
    let mut bytes = Vec::new();
    header.encode_with(&[8, 9], &mut bytes).expect("two bytes");
    assert_eq!(bytes, hex("95 01 02 01 02 03 02 08 09"));
    assert_eq!(decoders().decode(&bytes), Ok((header.clone(), 7)));
    assert_eq!(
        (header.ends(), header.kind(), header.data_len()),
        (Ends::new(1_u8, 2_u8), PacketKind::Data, 2)
    );
    assert_eq!(header.framing(), Framing::Packet { tag: 0, ethertype: Framing::OWN });
    let have = bytes.len() - 1;
    assert_eq!(decoders().decode(&bytes[..have]), Err(Error::Truncated { have, need: have + 1 }));
}

#[test]
fn a_foreign_header_is_read_only_with_its_decoder() {
    let mut bytes = Vec::new();
    Header::from(NOTE).encode(&mut bytes);
    assert_eq!(Header::decode(&bytes), Err(Error::UnknownType(TYPE)));
    bytes[2] ^= 1;
    assert_eq!(decoders().decode(&bytes), Err(Error::UnknownType(TYPE)));
    let segment = crate::tests::bytes_of(&Header::Tcp(crate::tests::segment()));
    assert_eq!(decoders().decode(&segment), Header::decode(&segment));
}

#[test]
fn nodes_on_the_way_change_a_foreign_header_that_they_know() {
    let mut header = Header::from(NOTE);
    let before = header.clone();
    assert_eq!(before, header);
    header.extension_mut::<Note>().expect("a note").hops += 1;
    assert_ne!(before, header);
    assert_eq!(header.extension(), Some(&Note { hops: 4, ..NOTE }));
    assert_eq!(header.extension::<Impostor>(), None);
    assert_ne!(Header::from(Impostor), header);
}

#[test]
fn a_number_belongs_to_one_header() {
    assert_eq!(decoders().with::<Impostor>(), Err(NumberTaken(0x0102)));
}
