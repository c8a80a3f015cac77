//! A test with a hostile process that has joined the party. The hostile process writes random values or random packets
//! into the shared memory, and sends random reports to the host. No thread of another process panics, and the run ends
//! when the hostile process sends an unexpected message.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::rack::layout::Layout;
use crate::rack::party::message::{FromGuest, Heard as Said, Look};
use crate::rack::pool::Slots;
use crate::rack::ring::{Entry, Producer};
use crate::rack::told::{Told, Word};
use raddle_core::{DropReason, FlowKey, Header, LinkId, Packet, PortId, Stream};
use raddle_topology::Link;
use raddle_wire::HeaderInfo as _;
use raddle_wire::r2c2::{Acknowledgement, Data, Event, EventKind, Route};
use std::sync::atomic::{AtomicBool, Ordering};

/// A random number. It is often small, and sometimes close to the maximum of a `u64`.
fn number(random: &mut Stream) -> u64 {
    match random.below(5) {
        0 => random.below(3),
        1 => random.below(20),
        2 => random.below(1 << 14),
        3 => u64::MAX - random.below(3),
        _ => random.below(u64::MAX),
    }
}

/// A random R2C2 packet. Its size and its checksum are correct.
fn packet(random: &mut Stream) -> Packet {
    let mut field = |below: u64| if random.below(4) == 0 { number(random) % below } else { random.below(18) };
    let route = Route::from_ports((0..field(20)).map(|_| field(8) as u16), 3).unwrap_or_default();
    let data = Data {
        flow: (field(18) << 16 | field(6)) as u32,
        src: field(1 << 16) as u16,
        dst: field(1 << 16) as u16,
        seq: field(1 << 32) as u32,
        plen: field(1_500) as u16,
        rlen: field(43) as u8,
        ridx: 0,
        flags: field(4) as u8,
        route,
    };
    let header = match field(18) % 3 {
        0 => Header::R2c2Data(data),
        1 => Header::R2c2Event(Event {
            kind: [EventKind::Start, EventKind::Finish, EventKind::Demand][field(18) as usize % 3],
            tree: field(256) as u8,
            src: field(1 << 16) as u16,
            dst: field(1 << 16) as u16,
            weight: 1 + field(255) as u8,
            priority: field(16) as u8 % 16,
            protocol: field(16) as u8 % 16,
            demand_kbps: field(1 << 32) as u32,
            lid: field(1 << 16) as u16,
        }),
        _ => Header::R2c2Acknowledgement(Acknowledgement {
            data: Data { plen: 16, ..data },
            next: field(1 << 32) as u32,
            window: field(1 << 16) as u16,
            from: field(1 << 16) as u16,
            arrived: number(random).to_le_bytes(),
        }),
    };
    Packet::new((header.wire_len() + header.payload_len()) as u32, header)
}

/// Writes random values into words of the shared memory, and random packets into slots, until `stop` is set.
fn scribble(layout: &Layout, region: &Arc<Region>, seed: u64, stop: &AtomicBool) {
    let mut random = Stream::new(seed, 0, "scribble");
    let words = region.words(0..layout.words());
    let slots: Slots = layout.slots(region);
    // The rings are at the end of the memory. They are small but matter most, so most writes go there.
    let rings = layout.link(region, 0);
    let behind_slots = words.len() - rings.len() * 70;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..50 {
            let (first, count) = if random.below(3) == 0 {
                (0, words.len())
            } else {
                (behind_slots, words.len() - behind_slots)
            };
            let word = &words[first + random.below(count as u64) as usize];
            match random.below(3) {
                0 => word.store(number(&mut random), Ordering::Relaxed),
                1 => {
                    word.fetch_add(random.below(3), Ordering::Relaxed);
                }
                _ => {
                    word.fetch_xor(1 << random.below(64), Ordering::Relaxed);
                }
            }
            let mut bytes = Vec::new();
            packet(&mut random).encode(&mut bytes);
            // A thread mostly uses the first slots of its range, so the random packets go into these slots.
            let slot = random.below(64) as u32 + layout.slots_of(random.below(2) as usize).start;
            slots.write(slot, &bytes[..bytes.len().min(slots.bytes())]);
        }
        thread::yield_now();
    }
}

/// Puts random packets on the links from the hostile process to the host. The function fills the rings in order, as an
/// honest sender does, but some entries have a random due time, slot, length or tag.
fn flood(layout: &Layout, region: &Arc<Region>, seed: u64, stop: &AtomicBool) {
    let mut random = Stream::new(seed, 0, "flood");
    let (topology, slots) = (topology(), layout.slots(region));
    let crossing = |(i, (_, link)): (usize, (LinkId, &Link))| {
        let crosses = layout.thread_of(link.from) == 1 && layout.thread_of(link.to) == 0;
        crosses.then(|| Producer::new(layout.link(region, i)))
    };
    let mut links: Vec<_> = topology.links().enumerate().filter_map(crossing).collect();
    let own = layout.slots_of(1);
    let mut next = own.start;
    while !stop.load(Ordering::Relaxed) {
        let mut bytes = Vec::new();
        packet(&mut random).encode(&mut bytes);
        slots.write(next, &bytes[..bytes.len().min(slots.bytes())]);
        let is_sane = random.below(8) > 0;
        let entry = Entry {
            due: if random.below(5_000) > 0 { 0 } else { number(&mut random) },
            slot: if is_sane { next } else { number(&mut random) as u32 },
            len: if is_sane { bytes.len() as u32 } else { number(&mut random) as u32 & 0xFF_FFFF },
            tag: if random.below(16) > 0 { 0 } else { number(&mut random) as u8 },
        };
        let link = random.below(links.len() as u64) as usize;
        if links[link].push(entry) != Ok(true) {
            thread::yield_now();
        }
        next = if next + 1 == own.end { own.start } else { next + 1 };
    }
}

/// A random event, often about a node, a flow or a link that does not exist.
fn word(random: &mut Stream) -> Word {
    let time = Time::from_ps(number(random));
    let (node, key) = (NodeId(number(random) as u32), FlowKey(number(random)));
    let bytes = Bytes(number(random));
    let told = match random.below(6) {
        0 => Told::Report(node, Report::Opened { flow: FlowId(number(random) as u32), key }),
        1 => Told::Report(node, Report::Delivered { key, reorder_peak: 0 }),
        2 => Told::Report(node, Report::InOrder { key, to: bytes }),
        3 => Told::Report(node, Report::Began { key, dst: node, size: bytes }),
        4 => Told::Forwarded {
            sent: time,
            link: LinkId(number(random) as u32),
            packet: packet(random),
            bytes: Vec::new(),
        },
        _ => Told::Dropped {
            node,
            port: Some(PortId(number(random) as u16)),
            packet: packet(random),
            why: DropReason::Lost,
        },
    };
    Word { at: time, said_ns: number(random), told }
}

#[test]
fn a_hostile_process_fells_nobody() {
    for seed in 0..4 {
        let (_folder, path) = socket();
        let guest = {
            let path = path.clone();
            thread::spawn(move || {
                let mut party = Party::join(&path, 16, &terms(8..16), go_on).expect("a party");
                let (topology, config) = (topology(), config(1));
                let layout = Layout::new(&topology, &config, party.parts(), party.own(), false);
                let region = party.memory(layout.words()).expect("memory");
                party.begin(|| Ok(true)).expect("all are there");
                let stop = AtomicBool::new(false);
                thread::scope(|scope| {
                    let attack = [scribble, flood][seed as usize % 2];
                    scope.spawn({
                        let (layout, region, stop) = (&layout, &region, &stop);
                        move || attack(layout, region, seed, stop)
                    });
                    let mut random = Stream::new(seed, 1, "words");
                    for _ in 0..50 {
                        let count = Count {
                            now: number(&mut random),
                            packet_hops: number(&mut random),
                            flows_delivered: number(&mut random),
                            put: number(&mut random),
                            taken: number(&mut random),
                            is_quiet: random.below(2) == 0,
                            has_programs: true,
                            is_over: false,
                        };
                        let words = (0..20).map(|_| word(&mut random)).collect();
                        let look = Look { began_ns: system_ns(), count, words };
                        if party.tell(Said::new(&look)).is_err() {
                            break;
                        }
                        thread::park_timeout(Duration::from_millis(10));
                    }
                    stop.store(true, Ordering::Relaxed);
                });
                let Role::Guest { host, .. } = &party.role else { panic!("a guest") };
                let _ = host.send(&FromGuest::Ready); // a message that the host does not expect now
            })
        };
        let mut rack = rack(Party::invite(&path, 16, &terms(0..8), go_on).expect("a party"), 1);
        assert!(!rack.run(&mut (), |_| go_on()), "it does not come to a good end");
        assert_eq!(rack.lost().map(|lost| lost.nodes.clone()), Some(8..16));
        let totals = rack.totals();
        // `scribble` (even seeds) soon breaks all links. With `flood` (odd seeds), packets arrive, and many of them are
        // malformed.
        assert!(seed % 2 == 0 || totals.drops.malformed > 100, "it was felt: {totals:?}");
        guest.join().expect("the hostile process is sound itself");
    }
}
