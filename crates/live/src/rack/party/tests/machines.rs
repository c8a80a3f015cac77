//! Tests in which several machines run one rack. Each machine is a thread here. The threads share only a TCP port and
//! the connections of libfabric.

use super::*;
use crate::rack::machines::options;
use crate::rack::party::message::{Heard as Said, Look};
use crate::rack::{Provider, Verdict};
use raddle_core::Duration as Span;
use raddle_rdma::fabric::{Domain, End, Receiver as DataReceiver, Remote};
use raddle_rdma::ring::Shape;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering;

/// An address of this machine with a TCP port on which no process listens.
fn address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port")
}

fn run(party: Result<Party, NoParty>, threads: usize, provider: Provider) -> (bool, Heard, Rack) {
    let config = Config { provider, ..config(threads) };
    let mut rack = rack_of(party.expect("a party"), &config).expect("a rack");
    let mut heard = Heard::default();
    let ended = rack.run(&mut heard, |_| go_on());
    (ended, heard, rack)
}

/// Runs a host and two guests. The guests connect their rings to each other by offers (descriptions of ring ends),
/// which the host forwards.
fn flows_cross(provider: Provider) {
    let at = address();
    let guest = |nodes: Range<u32>| {
        thread::spawn(move || {
            let (ended, heard, rack) = run(Party::join(at, 16, &terms(nodes), go_on), 1, provider);
            (ended, heard.opened, rack.totals().packet_hops, rack.lost().cloned())
        })
    };
    let guests = [guest(0..4), guest(12..16)];
    let (ended, heard, rack) = run(Party::invite(at, 16, &terms(4..12), go_on), 2, provider);
    assert!(ended, "{:?}", rack.lost());
    let (totals, fidelity) = (rack.totals(), rack.fidelity());
    assert_eq!((totals.flows_started, totals.flows_delivered), (64, 64), "all flows");
    assert_eq!((heard.opened, u64::from(heard.delivered)), (64, 64));
    assert_eq!((totals.dropped, fidelity.wrong_payloads), (0, 0));
    assert!(fidelity.copies > 1_000 && fidelity.copies < totals.packet_hops, "packets that crossed");
    assert_eq!(fidelity.hops, totals.packet_hops);
    for guest in guests {
        let (ended, opened, hops, lost) = guest.join().expect("no panic");
        assert_eq!((ended, opened, lost), (true, 0, None), "the host hears it all");
        assert!(hops > 0 && hops < totals.packet_hops);
    }
}

#[test]
fn flows_cross_from_machine_to_machine_over_tcp() {
    flows_cross(Provider::Tcp);
}

#[test]
fn flows_cross_from_machine_to_machine_over_shared_memory() {
    flows_cross(Provider::Shm);
}

#[test]
fn a_stranger_is_not_let_in() {
    let at = address();
    let host = thread::spawn(move || Party::invite(at, 16, &terms(0..8), go_on).map(|_| ()));
    let stranger = Terms { secret: b"a guess".to_vec(), ..terms(8..16) };
    assert!(matches!(Party::join(at, 16, &stranger, go_on), Err(NoParty::Impostor)));
    Party::join(at, 16, &terms(8..16), go_on).expect("whoever knows the secret is let in");
    assert!(host.join().expect("no panic").is_ok());
}

/// Runs a host and a hostile guest. Returns the host's rack. Every 10 ms, the guest runs `attack` 50 times, and then
/// sends a valid report to the host.
fn with_hostile_guest(attack: impl Fn(&mut Rack, &mut raddle_core::Stream) + Send + 'static) -> Rack {
    let at = address();
    let guest = thread::spawn(move || {
        let party = Party::join(at, 16, &terms(8..16), go_on).expect("a party");
        let mut rack = rack_of(party, &config(1)).expect("a rack");
        let party = rack.party.take().expect("it came with a party");
        let crossing = |rack: &mut Rack| rack.workers[0].crossing.take().expect("links to the host");
        let mut rings = crossing(&mut rack);
        party.begin(|| Ok(rings.is_connected(system_ns()))).expect("all are there");
        rack.workers[0].crossing = Some(rings);
        let mut random = raddle_core::Stream::new(5, 0, "attack");
        for _ in 0..400 {
            for _ in 0..50 {
                attack(&mut rack, &mut random);
            }
            let count = Count { has_programs: true, ..Count::default() };
            let look = Look { began_ns: system_ns(), count, words: Vec::new() };
            if party.tell(Said::new(&look)).is_err() || !matches!(party.hear(), Ok(None)) {
                return;
            }
            thread::park_timeout(Duration::from_millis(10));
        }
        panic!("the host has not noticed");
    });
    let config = Config { time_limit: None, ..config(1) };
    let party = Party::invite(at, 16, &terms(0..8), go_on).expect("a party");
    let mut rack = rack_of(party, &config).expect("a rack");
    let until = system_ns() + 2_000_000_000;
    let stop = |_| if system_ns() > until { ControlFlow::Break(()) } else { go_on() };
    assert!(!rack.run(&mut (), stop), "it does not come to a good end");
    guest.join().expect("the hostile guest is sound itself");
    rack
}

/// The host drops and counts ring entries that hold no valid packet or have an impossible due time.
#[test]
fn entries_of_a_hostile_machine_are_counted_and_dropped() {
    let rack = with_hostile_guest(|rack, random| {
        let worker = &mut rack.workers[0];
        let slots = worker.fabric.slots.clone();
        for place in 0..worker.fabric.out.len() {
            let Some(outgoing) = &mut worker.fabric.out[place] else { continue };
            let Some(slot) = worker.fabric.free.take() else { break };
            let len = 1 + random.below(2_000) as u32;
            let bytes: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
            slots.write(slot, &bytes);
            let due = match random.below(3) {
                0 => 0,
                1 => u64::MAX - random.below(3),
                _ => random.below(1 << 60),
            };
            let tag = random.below(256) as u8;
            let entry = crate::rack::ring::Entry { due, slot, len, tag };
            if outgoing.ring.push(entry) != Ok(true) {
                worker.fabric.free(slot);
            }
        }
        // The guest also claims that virtual time was held (stood still) for another 2^30 ms.
        worker.fabric.clock.hold(Span::from_ms(1 << 30));
        let mut rings = worker.crossing.take().expect("links to the host");
        rings.take_in(&mut worker.fabric, Time::ZERO);
        rings.send_out(&mut worker.fabric, 0);
        worker.crossing = Some(rings);
    });
    let totals = rack.totals();
    assert!(totals.drops.malformed > 1_000, "it was felt: {totals:?}");
    assert!(!matches!(rack.fidelity().verdict, Verdict::Faithful));
}

/// If a guest writes invalid words into the host's ring, the host's run ends, and `lost` names the guest's nodes.
#[test]
fn a_machine_that_writes_garbage_into_a_ring_is_given_up() {
    let at = address();
    let guest = thread::spawn(move || {
        let mut party = Party::join(at, 16, &terms(8..16), go_on).expect("a party");
        let topology = topology();
        let address = party.address().expect("of this machine");
        let mut domain = Domain::open(&options(Provider::Tcp, address)).expect("an endpoint");
        let shape = Shape::new(128, 2_048).expect("a shape");
        let crossing = topology.links().enumerate().filter_map(|(place, (_, link))| {
            let sends = link.from.0 >= 8 && link.to.0 < 8;
            (sends || link.from.0 < 8 && link.to.0 >= 8).then_some((place as u32, sends))
        });
        let (mut offers, mut ends) = (Vec::new(), Vec::new());
        for (link, sends) in crossing {
            let end = End::new(&mut domain, shape).expect("memory");
            offers.push(Offer { process: 0, link, sends, bytes: end.offer(&domain) });
            ends.push((link, sends, end));
        }
        let others = party.trade(offers).expect("all are there");
        let other = |link: u32, sends: bool| {
            others.iter().find(|other| (other.link, other.sends) == (link, !sends)).expect("an end")
        };
        let target = ends.iter().find(|&&(_, sends, _)| sends).expect("a link to the host");
        let target = other(target.0, true).clone();
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for (number, (link, sends, end)) in (0..).zip(ends) {
            let offer = &other(link, sends).bytes;
            if sends {
                senders.push(end.sender(&mut domain, number, offer).expect("a sender"));
            } else {
                receivers.push(end.receiver(&mut domain, number, offer).expect("a receiver"));
            }
        }
        let mut poll = |domain: &mut Domain| {
            let _ = domain.poll(|tag, result| {
                receivers.iter_mut().for_each(|receiver| receiver.completed(tag, &result));
            });
            for receiver in &mut receivers {
                let _ = receiver.keep_up(domain, Duration::from_nanos(system_ns()));
            }
            receivers.iter().all(DataReceiver::has_told)
        };
        party
            .begin(
                || Ok(poll(&mut domain) && senders.iter_mut().all(|sender| sender.has_heard() == Ok(true))),
            )
            .expect("all are there");
        let remote = Remote::decode(&target.bytes[12..12 + Remote::LEN]).expect("the host's memory");
        let peer = domain.insert(&target.bytes[12 + Remote::LEN..]).expect("the host's address");
        let garbage = domain.register(shape.words()).expect("memory");
        for (number, word) in (1_u64..).zip(garbage.iter()) {
            word.store(number.wrapping_mul(0x9E37_79B9_7F4A_7C15), Ordering::Relaxed);
        }
        let mut is_posted = false;
        for _ in 0..10_000 {
            poll(&mut domain);
            is_posted =
                is_posted || domain.write(&garbage, 0..shape.words(), peer, remote, 0, u64::MAX).is_ok();
            let count = Count { has_programs: true, ..Count::default() };
            let look = Look { began_ns: system_ns(), count, words: Vec::new() };
            if party.tell(Said::new(&look)).is_err() || !matches!(party.hear(), Ok(None)) {
                return;
            }
            thread::park_timeout(Duration::from_millis(1));
        }
        panic!("the host has not noticed");
    });
    let party = Party::invite(at, 16, &terms(0..8), go_on).expect("a party");
    let mut rack = rack_of(party, &Config { time_limit: None, ..config(1) }).expect("a rack");
    assert!(!rack.run(&mut (), |_| go_on()));
    let lost = rack.lost().expect("a process is given up");
    assert_eq!(lost.nodes, 8..16);
    assert!(lost.why.contains("impossible") || lost.why.contains("incomplete entry"), "{lost}");
    guest.join().expect("the hostile guest is sound itself");
}

/// The host names the nodes of a guest that left, no matter whether the connection or a ring reports the loss first.
#[test]
fn a_machine_that_goes_is_reported() {
    let at = address();
    let guest = thread::spawn(move || {
        let party = Party::join(at, 16, &terms(8..16), go_on).expect("a party");
        let mut rack = rack_of(party, &config(1)).expect("a rack");
        let until = system_ns() + 300_000_000;
        let stop = |_| if system_ns() > until { ControlFlow::Break(()) } else { go_on() };
        rack.run(&mut (), stop)
    });
    let config = Config { time_limit: None, dilation: 1_000, ..config(1) };
    let mut rack =
        rack_of(Party::invite(at, 16, &terms(0..8), go_on).expect("a party"), &config).expect("a rack");
    let began = system_ns();
    assert!(!rack.run(&mut (), |_| go_on()));
    assert_eq!(rack.lost().map(|lost| lost.nodes.clone()), Some(8..16));
    assert!(system_ns() - began < 5_000_000_000);
    assert!(!guest.join().expect("no panic"));
}
