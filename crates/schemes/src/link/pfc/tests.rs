#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use raddle_core::Class;
use raddle_topology::{Topology, builders};
use raddle_wire::cee::Frame;

const RATE: Rate = Rate::from_gbps(10);
/// The longest pause at 10 Gb/s: 65,535 times 512 bit times.
const LONGEST: Duration = Duration::from_ps(65_535 * 51_200);

fn port() -> Pfc {
    Pfc::new(Params::default(), Mac::switch_port(2, 1, 2), RATE)
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

/// The priorities and the pause times in a frame.
fn told(packet: Option<Packet>) -> Option<(u8, [u16; 8])> {
    let Packet { size: 64, header: Header::Pfc(pause), .. } = packet? else { panic!("a pause of 64 bytes") };
    assert_eq!(pause.src, Mac::switch_port(2, 1, 2));
    Some((pause.enabled, pause.quanta))
}

fn stop(priorities: u8) -> Option<(u8, [u16; 8])> {
    Some((priorities, std::array::from_fn(|i| if priorities >> i & 1 == 1 { 0xFFFF } else { 0 })))
}

fn go(priorities: u8) -> Option<(u8, [u16; 8])> {
    Some((priorities, [0; 8]))
}

/// A pause frame from the neighbour that pauses each of these priorities for `quanta` units of 512 bit times.
fn said(priorities: u8, quanta: u16) -> Packet {
    let pause = Pause { src: Mac::host(1), enabled: priorities, quanta: [quanta; 8] };
    Packet::new(Pause::LEN as u32, Header::Pfc(pause))
}

#[test]
fn the_neighbour_is_paused_above_xoff_and_resumed_at_xon() {
    let mut port = port();
    // The upper watermark is 85,000 B: 56 frames of 1,500 B are 84,000 B, and 57 frames are 85,500 B.
    for _ in 0..56 {
        assert_eq!(told(port.enter(Time::ZERO, Class(3), 1_500)), None);
    }
    assert_eq!(told(port.enter(Time::ZERO, Class(3), 1_000)), None, "85,000 B are not beyond");
    assert_eq!(told(port.enter(Time::ZERO, Class(3), 64)), stop(1 << 3));
    assert_eq!(told(port.enter(Time::ZERO, Class(3), 1_500)), None, "it has been told");
    assert_eq!(told(port.leave(Time::ZERO, Class(3), 1_564)), None);
    for left in (73_500..85_000).step_by(1_500).rev() {
        assert_eq!(told(port.leave(Time::ZERO, Class(3), 1_500)), None, "{left} B");
    }
    assert_eq!(told(port.leave(Time::ZERO, Class(3), 2_999)), None, "70,001 B left");
    assert_eq!(told(port.leave(Time::ZERO, Class(3), 1)), go(1 << 3));
    assert_eq!(told(port.leave(Time::ZERO, Class(3), 1_500)), None, "it has been told");
    let account = port.account(Time::ZERO);
    assert_eq!((account.pauses, account.peak_memory, account.overflows), (1, 86_564, 0));
}

#[test]
fn packets_that_overflow_the_memory_are_counted() {
    let mut port = port();
    let _ = port.enter(Time::ZERO, Class(0), 100_000);
    assert_eq!(port.account(Time::ZERO).overflows, 0);
    let _ = port.enter(Time::ZERO, Class(0), 1);
    assert_eq!(port.account(Time::ZERO).overflows, 1);
}

#[test]
fn priorities_have_memory_of_their_own_and_pauses_in_common() {
    let mut port = port();
    assert_eq!(told(port.enter(Time::ZERO, Class(1), 85_001)), stop(1 << 1));
    assert_eq!(told(port.enter(at(1_000_000), Class(6), 85_001)), stop(1 << 6));
    assert_eq!(port.wake(), Time::ZERO + LONGEST * 2 / 5, "one renewal for both");
    assert_eq!(told(port.fire(port.wake())), stop(1 << 1 | 1 << 6));
    assert_eq!(told(port.leave(at(2_000_000), Class(1), 85_001)), go(1 << 1));
    assert_eq!(told(port.fire(port.wake())), stop(1 << 6));
    assert_eq!(told(port.leave(at(3_000_000), Class(6), 85_001)), go(1 << 6));
    assert_eq!(port.wake(), Time::NEVER, "nothing is left to renew");
}

#[test]
fn only_lossless_priorities_take_memory() {
    let mut port = Pfc::new(Params { priorities: 1 << 3, ..Params::default() }, Mac::host(0), RATE);
    for class in [Class(0), Class(2), Class(4), Class(7), Class::CONTROL] {
        assert_eq!(port.enter(Time::ZERO, class, 1_000_000), None);
        assert_eq!(port.leave(Time::ZERO, class, 1_000_000), None);
    }
    assert_eq!(port.account(Time::ZERO), FlowControlAccount::default());
}

/// A pause is renewed before half of its duration has passed, so that the neighbour never resumes before the renewal.
#[test]
fn renewals_come_in_time() {
    let mut port = port();
    let _ = port.enter(Time::ZERO, Class(0), 90_000);
    let mut now = Time::ZERO;
    for _ in 0..5 {
        assert!(port.wake().since(now) < LONGEST / 2);
        now = port.wake();
        assert_eq!(told(port.fire(now)), stop(1));
        assert!(port.wake() > now);
    }
}

#[test]
fn oracle_8_10_a_pause_that_is_not_renewed_runs_out() {
    let mut port = port();
    assert!(port.heed(at(100), &said(1 << 3, 0xFFFF)));
    assert_eq!((port.paused(), port.wake()), (Paused(1 << 3), at(100) + LONGEST));
    assert_eq!(LONGEST.as_ps(), 3_355_392_000);
    assert_eq!(port.fire(port.wake()), None);
    assert_eq!((port.paused(), port.wake()), (Paused::NONE, Time::NEVER));
    assert_eq!(port.account(Time::NEVER).paused, LONGEST);
}

#[test]
fn a_new_pause_replaces_the_old_one() {
    let mut port = port();
    assert!(port.heed(at(0), &said(0b11, 1_000)));
    assert!(port.heed(at(10), &said(0b01, 10)));
    assert_eq!((port.paused(), port.wake()), (Paused(0b11), at(10) + Duration::from_ps(512_000)));
    assert_eq!(port.fire(port.wake()), None);
    assert_eq!(port.paused(), Paused(0b10));
    assert!(port.heed(at(1_000), &said(0b10, 0)));
    assert_eq!((port.paused(), port.wake()), (Paused::NONE, Time::NEVER), "0 lets go at once");
    assert_eq!(port.account(at(9_000)).paused, Duration::from_ns(1_000), "whichever priority");
}

#[test]
fn the_time_paused_counts_up_to_now() {
    let mut port = port();
    assert!(port.heed(at(100), &said(1, 0xFFFF)));
    assert_eq!(port.account(at(600)).paused, Duration::from_ns(500));
}

#[test]
fn other_control_frames_are_not_flow_controls() {
    let mut port = port();
    assert!(!port.heed(Time::ZERO, &Packet::new(64, Header::Cnm(crate::testing::notice()))));
    assert!(!port.heed(Time::ZERO, &Packet::new(64, Header::Cee(Frame::default()))));
}

#[test]
fn a_link_that_comes_up_again_starts_anew() {
    let mut port = port();
    assert_eq!(told(port.restart(Time::ZERO)), None, "there is nothing to say");
    let _ = port.enter(Time::ZERO, Class(2), 90_000);
    assert!(port.heed(at(0), &said(0xFF, 0xFFFF)));
    assert_eq!(told(port.restart(at(50))), stop(1 << 2));
    assert_eq!((port.paused(), port.account(at(80)).paused), (Paused::NONE, Duration::from_ns(50)));
    assert_eq!(port.wake(), at(50) + LONGEST * 2 / 5);
}

fn links(topology: &Topology) -> [raddle_topology::Link; 2] {
    let (id, link) = topology.links().next().expect("a link");
    [*link, *topology.link(topology.reverse(id)).expect("links go both ways")]
}

/// specifications/cee.md §2.2: the headroom is 8.5 KB at 10 Gb/s and a propagation delay of 50 ns. The headroom is
/// larger if a pause must wait for a frame on a slow reverse link.
#[test]
fn headroom_covers_the_bytes_in_flight() {
    let line = builders::single_switch(2, RATE, Duration::from_ns(50)).expect("a valid size");
    let [link, back] = links(&line);
    assert_eq!(headroom(&link, &back, 1_500), 8_529);
    assert_eq!(headroom(&link, &back, 9_000), 3 * 9_000 + 64 + 125 + 3_840);
    let slow = raddle_topology::Link { rate: Rate::from_gbps(1), ..back };
    assert_eq!(headroom(&link, &slow, 1_500), 8_529 + 9 * 1_500);
    assert!(headroom(&slow, &link, 1_500) < 8_529);
}
