//! The share of each priority at a port with enhanced transmission selection, in the packet engine
//! (specifications/cee.md §8.11, Fig. 4).

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::ethernet::{Lossless, crossbar, pause, run, scripted, stream};
use raddle_core::{Flow, Header, LinkId, Packet, Process, Time};
use raddle_packet_sim::{Observer, Simulation};
use raddle_schemes::parameter::Value;
use raddle_testkit::us;

/// Data bytes that have crossed a link, by priority.
struct ByPriority {
    link: LinkId,
    bytes: [u64; 8],
}

impl Observer for ByPriority {
    const FORWARDED: bool = true;

    fn forwarded(&mut self, _: Time, _: Time, link: LinkId, packet: &Packet) {
        if let Header::Cee(frame) = &packet.header
            && link == self.link
        {
            self.bytes[usize::from(frame.priority)] += u64::from(packet.size);
        }
    }
}

/// A switch whose last host receives from all other hosts. Each sender has its own priority.
struct Port(Simulation<ByPriority>);

impl Port {
    /// `offered` lists priorities, each with its offered load in percent of the link rate.
    fn new(shares: [u8; 8], offered: &[(u8, u64)], script: Vec<(Time, Packet)>) -> Self {
        let hosts = offered.len() as u32 + 1;
        let sink = hosts - 1;
        let mut fabric = Lossless::new(crossbar(hosts), "d-mod-k");
        fabric.queue = ("ets", vec![("shares", Value::Eight(shares))]);
        let sends = |(src, &(priority, percent)): (u32, &(u8, u64))| Flow {
            priority,
            ..stream(src, src, sink, percent, Process::Constant)
        };
        let mut flows: Vec<Flow> = (0..).zip(offered).map(sends).collect();
        flows.push(crate::ethernet::flow(sink, sink, 0, 64)); // so that the engine polls the host at time zero
        let link = fabric.link(hosts, sink);
        let observer = ByPriority { link, bytes: [0; 8] };
        Self(fabric.simulation(flows, scripted(sink, script), observer))
    }

    /// Rate of each priority between two times, in Gb/s.
    fn rates(&mut self, from: Time, to: Time) -> [f64; 8] {
        run(&mut self.0, from);
        let before = self.0.observer().bytes;
        run(&mut self.0, to);
        let after = self.0.observer().bytes;
        let seconds = to.since(from).as_ps() as f64 / 1e12;
        std::array::from_fn(|i| (after[i] - before[i]) as f64 * 8.0 / 1e9 / seconds)
    }

    /// Asserts that over 1 ms from `from`, the rates in Gb/s match the expected rates within 1% of the link rate.
    /// Asserts also that no packet has been lost.
    fn assert_rates(&mut self, from: Time, expected: &[(usize, f64)]) {
        let rates = self.rates(from, from + raddle_core::Duration::from_us(1_000));
        for &(priority, rate) in expected {
            assert!((rates[priority] - rate).abs() < 0.1, "{expected:?}: {rates:?}");
        }
        crate::ethernet::assert_lossless(&self.0, 85_000 + 8_529, "ets");
    }
}

#[test]
fn oracle_8_11_shares() {
    let sixty_thirty_ten = [0, 10, 30, 60, 0, 0, 0, 0];
    Port::new(sixty_thirty_ten, &[(1, 100), (2, 100), (3, 100)], vec![])
        .assert_rates(us(500), &[(1, 1.0), (2, 3.0), (3, 6.0)]);
    Port::new(sixty_thirty_ten, &[(1, 100), (3, 100)], vec![])
        .assert_rates(us(500), &[(1, 1.429), (2, 0.0), (3, 8.571)]);
    let two_and_strict = [0, 50, 50, 0, 0, 0, 0, 0];
    Port::new(two_and_strict, &[(1, 100), (2, 100), (3, 20)], vec![])
        .assert_rates(us(500), &[(1, 4.0), (2, 4.0), (3, 2.0)]);
    let mut held = pause(3, 0xFFFF);
    if let Header::Pfc(pause) = &mut held.header {
        pause.enabled = 1 << 2;
    }
    let mut port = Port::new(sixty_thirty_ten, &[(1, 100), (2, 100), (3, 100)], vec![(us(400), held)]);
    port.assert_rates(us(500), &[(1, 1.429), (2, 0.0), (3, 8.571)]);
    // The pause of priority 2 expires at 3,755 us. From then on, priority 2 gets its share and no more.
    port.assert_rates(us(4_000), &[(1, 1.0), (2, 3.0), (3, 6.0)]);
}

/// Fig. 4: a low class with an offered load of 7 Gb/s gets this rate until the medium and high classes together exceed
/// 3 Gb/s. Above that, the low class gets the remaining bandwidth.
#[test]
fn fig_4_a_low_class_gets_the_bandwidth_that_others_leave() {
    for (medium, high) in [(10, 10), (10, 20), (20, 20), (30, 40)] {
        let low = (100.0 - (medium + high) as f64).min(70.0) / 10.0;
        let shares = [0, 100, 0, 0, 0, 0, 0, 0];
        Port::new(shares, &[(1, 70), (2, medium), (3, high)], vec![])
            .assert_rates(us(500), &[(1, low), (2, medium as f64 / 10.0), (3, high as f64 / 10.0)]);
    }
}
