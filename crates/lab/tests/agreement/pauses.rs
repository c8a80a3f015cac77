//! Buffer memory that priority-based flow control (PFC) needs.

use crate::fabric::{hosts, pfc};
use crate::witness::{Case, Witness};
use raddle_core::{Bytes, Duration, Flow, NodeId, PortId, Process, Rate};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_schemes::queue::strict::Strict;
use raddle_testkit::{flow, us};
use raddle_topology::builders;
use raddle_wire::pfc::Pause;
use std::ops::ControlFlow;
use std::sync::Arc;

const FULL: u64 = 1_500;
const XOFF: u64 = 30 * FULL;
const XON: u64 = 25 * FULL;

/// Returns by how many bytes the peak buffer occupancy of the switch's port to host 0 exceeds XOFF. The run has at
/// least 50 pauses. Host 0 sends at line rate to host 1, whose link has about a fiftieth of this rate. If `is_busy`,
/// host 2 sends to host 0 at line rate, so pauses wait behind packets on the link to host 0.
fn most_above_xoff(rate: Rate, delay: Duration, is_busy: bool) -> f64 {
    let star = builders::single_switch(3, rate, delay).expect("a star");
    let uplink = |host| star.link_id(NodeId(host), PortId(0));
    let (memory, slow) = (star.reverse(uplink(0)), star.reverse(uplink(1)));
    // The slow rate is not a simple fraction of the line rate. Over the run, pauses are therefore sent at all
    // phases of a packet's transmission on the opposite link.
    let topology = Arc::new(star.slowed(slow, Rate::from_bps(rate.as_bps() * 19 / 1_000)));
    let stream = |id, src, dst| {
        let endless = flow(id, src, dst, 1 << 40, us(0));
        Flow { app_rate: Some(rate), process: Process::Constant, ..endless }
    };
    let mut flows = vec![stream(0, 0, 1)];
    if is_busy {
        flows.push(stream(1, 2, 0));
    }
    let mut parts = hosts(&topology, "cee", &[], None);
    let mut flow_control = pfc(&topology, parts.mtu, [1 << 30, XOFF, XON]);
    let port = |link| PortSetup {
        queue: Some(Box::<Strict>::default()),
        flow_control: flow_control(link),
        ..PortSetup::default()
    };
    // The run has about a hundred pause cycles. In each cycle, the slow link drains five packets and the
    // headroom.
    let cycle = rate.time_for(Bytes(10 * FULL)) + delay * 2;
    let config = Config { time_limit: Some(us(0) + cycle * 53 * 100), ..Config::default() };
    let mut simulation = Simulation::new(&topology, |id| (parts.node)(id), port, flows, config, ());
    simulation.run(|_| ControlFlow::Continue(()));
    assert_eq!(simulation.totals().dropped, 0, "PFC loses nothing");
    let accounts = simulation.flow_control();
    let account = accounts.iter().find(|of| of.0 == memory).expect("flow control at every port").1;
    assert!(account.pauses >= 50, "{} pauses", account.pauses);
    account.peak_memory as f64 - XOFF as f64
}

pub(crate) fn headroom() -> Witness {
    let links = [(10, 50), (10, 5_000), (100, 1_000)];
    let rows = links.into_iter().flat_map(|link| [false, true].map(|is_busy| (link, is_busy)));
    let case = |((gbps, delay_ns), is_busy): ((u64, u64), bool)| {
        let ours = most_above_xoff(Rate::from_gbps(gbps), Duration::from_ns(delay_ns), is_busy);
        // A rate in Gb/s times a time in ns gives bits.
        let on_its_way = (gbps * 2 * delay_ns) as f64 / 8.0;
        let waits = if is_busy { FULL as f64 } else { 0.0 };
        let theirs = 2.0 * FULL as f64 + waits + Pause::LEN as f64 + on_its_way;
        let least = if is_busy { 1.05 } else { 1.0 } * FULL as f64 / theirs;
        let back = if is_busy { "busy" } else { "idle" };
        Case {
            name: format!("{gbps} Gbps, {delay_ns} ns, way back {back}"),
            ours,
            theirs,
            within: -least..=1e-9,
        }
    };
    Witness {
        quantity: "PFC: most bytes of a port's memory above XOFF",
        form: "the fluid bound is a sum: the packet that passes XOFF, a packet that the sender has just \
             begun, and the bytes that arrive at line rate until the pause takes effect. This time has two \
             propagation delays, the serialization delay of the pause and, if the way back is busy, the wait of the \
             pause behind a packet (IEEE 802.1Qbb, annex O; Zhu et al. 2015, §4). The engine's sender reacts at once, \
             so no reaction time is added",
        experiment: "packet engine, store-and-forward, a sender at line rate, a receiver with about a \
             fiftieth of the rate, packets of 1,500 B, at least 50 pauses; a test asserts that nothing is lost. The \
             bound must hold. Memory holds whole packets, so its peak may be up to a packet below the bound. It may \
             be a twentieth lower still, since the longest wait of a pause depends on the phase",
        cases: rows.map(case).collect(),
    }
}
