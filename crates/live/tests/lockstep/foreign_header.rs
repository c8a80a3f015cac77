//! Packets with a header that Raddle's crates do not know cross both engines. The header is a note that counts its
//! hops.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::both::{Trace, run_in_lockstep, simulate};
use raddle_core::{
    Bytes, Decoders, Duration, Flow, FlowId, FlowKey, Forwarder, Header, HeaderInfo, Host, Input, LinkErrors,
    NodeId, Output, Packet, Parts, PortId, Ports, Rate, Report, Time, Verdict,
};
use raddle_topology::{Builder, Shape, Topology};
use raddle_wire::extension::{ExtensionHeader, PREFIX, prefix};
use raddle_wire::{Ends, Error};
use std::collections::VecDeque;
use std::sync::Arc;

/// A note from one node to another, with a payload of one byte.
#[derive(Debug, Clone, PartialEq)]
struct Note {
    src: u8,
    dst: u8,
    hops: u8,
}

impl ExtensionHeader for Note {
    const NUMBER: u16 = 0x4E6F;
}

impl HeaderInfo for Note {
    fn ends(&self) -> Ends {
        Ends::new(self.src, self.dst)
    }

    fn payload_len(&self) -> usize {
        1
    }

    fn wire_len(&self) -> usize {
        PREFIX + 4
    }

    /// The header's last byte is a checksum: the sum of the three fields.
    fn encode_header(&self, _: &[u8], out: &mut Vec<u8>) {
        out.extend(prefix::<Self>());
        let sum = self.src.wrapping_add(self.dst).wrapping_add(self.hops);
        out.extend([self.src, self.dst, self.hops, sum]);
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.starts_with(&prefix::<Self>())
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let need = PREFIX + 5;
        match bytes[PREFIX..] {
            [src, dst, hops, sum, _, ..] if src.wrapping_add(dst).wrapping_add(hops) == sum => {
                Ok((Self { src, dst, hops }, PREFIX + 4))
            }
            [_, _, _, _, _, ..] => Err(Error::Checksum),
            _ => Err(Error::Truncated { have: bytes.len(), need }),
        }
    }
}

const SIZE: u32 = PREFIX as u32 + 5;

/// Sends one note for each flow. For each received note, reports a delivered flow whose key is the note's number of
/// hops.
#[derive(Default)]
struct Writer(VecDeque<Output>);

impl Host for Writer {
    fn handle(&mut self, _: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => {
                let note = Note { src: flow.src.0 as u8, dst: flow.dst.0 as u8, hops: 0 };
                self.0.push_back(Output::Send { packet: Packet::new(SIZE, Header::from(note)), port: None });
            }
            Input::Packet { packet, .. } => {
                let note: &Note = packet.header.extension().expect("only notes are sent");
                let key = FlowKey(note.hops.into());
                self.0.push_back(Output::Report(Report::Delivered { key, reorder_peak: 0 }));
            }
            _ => {}
        }
    }

    fn poll(&mut self, _: Time, _: &Ports<'_>) -> Output {
        self.0.pop_front().unwrap_or(Output::Idle)
    }
}

/// Forwards notes around a ring, and counts their hops.
struct Ring(NodeId);

impl Forwarder for Ring {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        if packet.dst() == self.0 {
            return Verdict::Deliver;
        }
        packet.header.extension_mut::<Note>().expect("only notes are sent").hops += 1;
        // On node 0, port 0 leads onwards around the ring. On the other nodes, port 1 leads onwards.
        Verdict::Forward(PortId(u16::from(self.0 != NodeId(0))))
    }
}

fn ring() -> Arc<Topology> {
    let mut builder = Builder::default();
    for _ in 0..4 {
        builder.host(0);
    }
    for node in 0..4 {
        builder.join(NodeId(node), NodeId((node + 1) % 4), Rate::from_gbps(10), Duration::from_ns(100));
    }
    Arc::new(builder.build(Shape::General))
}

#[test]
fn a_foreign_header_crosses_both_engines_alike() {
    let node = |id| Parts {
        host: Some(Box::<Writer>::default()),
        forwarder: Some(Box::new(Ring(id))),
        ..Parts::default()
    };
    let flow = |id| {
        Flow::new(
            FlowId(id),
            NodeId(id % 4),
            NodeId((id + 1 + id / 4 % 3) % 4),
            Bytes(1),
            Time::from_ps(u64::from(id) * 10_000),
        )
    };
    let flows: Vec<Flow> = (0..400).map(flow).collect();
    let limit = Time::from_ps(1_000_000_000);
    let decoders = Decoders::BUILTIN.with::<Note>().expect("the only one");
    for corruption in [0.0, 0.1] {
        let errors = LinkErrors { seed: 1, corruption, decoders: decoders.clone(), ..LinkErrors::default() };
        let simulated = simulate(&ring(), node, |_| None, flows.clone(), limit, &errors);
        let lockstep = run_in_lockstep(&ring(), node, |_| None, flows.clone(), limit, &errors);
        assert_eq!(simulated, lockstep);
        let hops = |trace: &Trace| -> u64 {
            let keys = trace.reports.iter().map(|(.., report)| match report {
                Report::Delivered { key, .. } => key.0,
                report => panic!("{report:?}"),
            });
            keys.sum()
        };
        assert_eq!(hops(&lockstep) as usize == lockstep.packets.len(), corruption == 0.0);
        assert_eq!(lockstep.losses.is_empty(), corruption == 0.0);
    }
}
