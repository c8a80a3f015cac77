//! Queues that evict waiting packets, or trim packets to their headers, do the same in both engines.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::both::{run_queues_in_lockstep, simulate_queues};
use raddle_core::{
    Admit, Bytes, Decoders, DropReason, Duration, Flow, FlowId, FlowKey, HeaderInfo, Host, Input, LinkErrors,
    LinkId, NodeId, Output, Packet, Parts, Paused, PortId, Ports, Queue, Rate, Report, Stream, Time,
};
use raddle_topology::{Builder, Shape, Topology};
use raddle_wire::extension::{ExtensionHeader, PREFIX, prefix};
use raddle_wire::{Ends, Error};
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet with a number. The packet can be trimmed if its number is even.
#[derive(Debug, Clone, PartialEq)]
struct Numbered {
    number: u16,
    plen: u16,
}

const HEADER: usize = PREFIX + 4;

impl ExtensionHeader for Numbered {
    const NUMBER: u16 = 1;
}

impl HeaderInfo for Numbered {
    fn ends(&self) -> Ends {
        Ends::new(0_u32, 1_u32)
    }

    fn trim(&mut self) -> bool {
        let is_even = self.number.is_multiple_of(2);
        if is_even {
            self.plen = 0;
        }
        is_even
    }

    fn payload_len(&self) -> usize {
        self.plen.into()
    }

    fn wire_len(&self) -> usize {
        HEADER
    }

    fn encode_header(&self, _: &[u8], out: &mut Vec<u8>) {
        out.extend(prefix::<Self>());
        out.extend(self.number.to_be_bytes());
        out.extend(self.plen.to_be_bytes());
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.starts_with(&prefix::<Self>())
    }

    fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
        match bytes[PREFIX..] {
            [a, b, c, d, ..] => {
                Ok((Self { number: u16::from_be_bytes([a, b]), plen: u16::from_be_bytes([c, d]) }, HEADER))
            }
            _ => Err(Error::Truncated { have: bytes.len(), need: HEADER }),
        }
    }
}

/// Sends one packet for each flow. Reports the number and the size of each packet that it receives, and of each packet
/// that its port drops or sends. For each packet that it sends, it also reports two values from before it sent the
/// packet: the time at which the port becomes free, and the room in the port's queue.
#[derive(Default)]
struct Toy(VecDeque<Output>);

impl Host for Toy {
    fn handle(&mut self, _: Time, input: Input<'_>) {
        let say = |packet: &Packet, what: u32| {
            let number = packet.header.extension::<Numbered>().expect("all are numbered").number;
            let key = FlowKey(u64::from(number) << 32 | u64::from(packet.size));
            Output::Report(Report::Delivered { key, reorder_peak: what })
        };
        match input {
            Input::Flow(flow) => {
                let plen = u16::try_from(flow.size.0).expect("a small flow");
                let header = Numbered { number: flow.id.0 as u16, plen };
                let packet = Packet::new(HEADER as u32 + u32::from(plen), header.into());
                self.0.push_back(Output::Send { packet, port: None });
            }
            Input::Packet { packet, .. } => self.0.push_back(say(packet, 0)),
            Input::Dropped { packet, reason: DropReason::QueueFull, .. } => self.0.push_back(say(packet, 1)),
            Input::Sent(packet) => self.0.push_back(say(packet, 2)),
            _ => panic!("no such thing happens"),
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        let port = ports.get(PortId(0));
        let key = FlowKey(port.free_at(now).max(now).as_ps());
        let waits = Output::Report(Report::Progress { key, in_order: port.room(now), late: 0 });
        self.0.pop_front().map_or(Output::Idle, |output| {
            if let Output::Send { .. } = output {
                self.0.push_back(waits);
            }
            output
        })
    }
}

/// A queue with room for three packets with payload, and for any number of packets without payload. If there is no
/// room, the queue chooses at random: it drops the new packet, evicts a waiting packet, trims a waiting packet, or
/// trims the new packet.
struct Three {
    whole: VecDeque<(u32, u32)>,
    headers: VecDeque<(u32, u32)>,
    random: Stream,
}

impl Queue for Three {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        let place = self.random.index(3);
        if packet.payload() == 0 {
            self.headers.push_back((slot, packet.size));
        } else if self.whole.len() < 3 {
            self.whole.push_back((slot, packet.size));
        } else {
            let mut waiting = || self.whole.remove(place).expect("three wait").0;
            return match self.random.below(4) {
                0 => Admit::Drop,
                1 => Admit::Evict(waiting()),
                2 => Admit::Trim(waiting()),
                _ => Admit::Trim(slot),
            };
        }
        Admit::Take
    }

    fn pop(&mut self, _: Time, _: Paused) -> Option<u32> {
        self.headers.pop_front().or_else(|| self.whole.pop_front()).map(|(slot, _)| slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.whole.iter().chain(&self.headers).map(|&(_, size)| u64::from(size)).sum())
    }

    fn limit(&self) -> Option<Bytes> {
        Some(Bytes(5_000))
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.whole.iter_mut().chain(&mut self.headers).for_each(|(slot, _)| visit(slot));
    }
}

fn pair() -> Arc<Topology> {
    let mut builder = Builder::default();
    let [left, right] = [(); 2].map(|()| builder.host(0));
    builder.join(left, right, Rate::from_gbps(10), Duration::from_ns(100));
    Arc::new(builder.build(Shape::General))
}

#[test]
fn queues_make_room_alike_in_both_engines() {
    let node = |_| Parts { host: Some(Box::<Toy>::default()), forwarder: None, ..Parts::default() };
    let queue = |link: LinkId| {
        let random = Stream::new(1, link.0.into(), "three");
        Some(Box::new(Three { whole: VecDeque::new(), headers: VecDeque::new(), random }) as Box<dyn Queue>)
    };
    // A packet arrives every 600 ns. Packets have about 1,000 B on average, which take 800 ns on the link of 10 Gbps.
    let flow = |id: u32| {
        let size = Bytes(500 + u64::from(id) * 7 % 1_000);
        Flow::new(FlowId(id), NodeId(0), NodeId(1), size, Time::from_ps(u64::from(id) * 600_000))
    };
    let flows: Vec<Flow> = (0..1_000).map(flow).collect();
    let limit = Time::ZERO + Duration::from_ms(10);
    let decoders = Decoders::BUILTIN.with::<Numbered>().expect("the only one");
    let errors = LinkErrors { decoders, ..LinkErrors::default() };
    let simulated = simulate_queues(&pair(), node, |_| None, queue, flows.clone(), limit, &errors);
    let moved = run_queues_in_lockstep(&pair(), node, |_| None, queue, flows, limit, &errors);
    assert_eq!(simulated, moved);
    let cut = moved.packets.iter().filter(|(.., bytes)| bytes.len() == HEADER).count();
    assert!(cut > 20 && moved.losses.len() > 50, "{cut} {}", moved.losses.len());
    assert_eq!(moved.packets.len() + moved.losses.len(), 1_000);
}
