//! Tests of the queue and the forwarder, without an engine.

use super::*;
use raddle_core::{
    Admit, Credit, Forwarder, Header, HoldKey, NodeId, Packet, Paused, PortId, PortState, Ports, Queue, Rate,
    Time, Verdict,
};
use raddle_topology::builders;
use raddle_topology::routing::Routing;
use raddle_wire::r2c2::{Data, Route};
use std::sync::Arc;

fn packet(flow: u32, dst: u16, size: u32) -> Packet {
    let data = Data {
        flow,
        src: 0,
        dst,
        seq: 0,
        plen: u16::try_from(size - 36).expect("a small packet"),
        rlen: 0,
        ridx: 0,
        flags: 0,
        route: Route::default(),
    };
    Packet::new(size, Header::R2c2Data(data))
}

#[test]
fn round_robin_is_fair_in_bytes() {
    let mut queues = FlowQueues::new(1_536);
    // Flow 1 has full packets in slots 0 to 9, and flow 2 has packets of half the size in slots 10 to 29.
    for slot in 0..10 {
        assert_eq!(queues.push(Time::ZERO, slot, &packet(1, 3, 1_536)), Admit::Take);
    }
    for slot in 10..30 {
        queues.push(Time::ZERO, slot, &packet(2, 3, 768));
    }
    let order: Vec<u32> = std::iter::from_fn(|| queues.pop(Time::ZERO, Paused::NONE)).collect();
    for served in (6..=24).step_by(6) {
        let first = order[..served].iter().filter(|&&slot| slot < 10).count();
        assert!(first.abs_diff(served / 3) <= 1, "{first} of {served}");
    }
    let of_one = |range: std::ops::Range<u32>| order.iter().copied().filter(move |slot| range.contains(slot));
    assert!(of_one(0..10).is_sorted() && of_one(10..30).is_sorted(), "a flow stays in order");
    assert_eq!(queues.bytes().0, 0);
}

#[test]
fn credits_run_out_and_come_back() {
    let delay = raddle_core::Duration::from_ns(100);
    let topology = Arc::new(builders::torus(&[4, 4], Rate::from_gbps(10), delay).expect("valid dims"));
    let routing = Arc::new(Routing::new(topology));
    let mut forwarder = PfqForwarder::new(NodeId(0), &routing, Mode::Adaptive, 1_536, 1);
    let states = [PortState::idle(Rate::from_gbps(10)); 4];
    let ports = Ports(&states);
    let mut forward = |flow, dst| forwarder.forward(Time::ZERO, &mut packet(flow, dst, 1_536), None, &ports);
    // Node 1 is a neighbour. Only port 0 leads to node 1, and node 1 has four buffers per flow.
    for _ in 0..4 {
        assert_eq!(forward(7, 1), Verdict::Forward(PortId(0)));
    }
    assert_eq!(forward(7, 1), Verdict::Hold(HoldKey(7)));
    assert_eq!(forward(8, 1), Verdict::Forward(PortId(0)), "another flow has its own buffers");
    // Ports 0 and 2 both lead to node 5, the diagonal neighbour. The forwarder avoids port 0, where flow 7 has no
    // credit.
    assert_eq!(forward(7, 5), Verdict::Forward(PortId(2)));
    assert_eq!(forward(9, 0), Verdict::Deliver);
    let mut freed = Vec::new();
    forwarder.credited(Time::ZERO, PortId(0), &Credit::new(1, 0, [7]), &mut freed);
    assert_eq!(freed, [HoldKey(7)]);
    forwarder.credited(Time::ZERO, PortId(0), &Credit::new(2, 0, [8, 7]), &mut freed);
    assert_eq!(freed, [HoldKey(7)], "flow 8 had credit: none of its packets waits");
    assert_eq!(forwarder.credits_in_use(), 4);
    let again = forwarder.forward(Time::ZERO, &mut packet(7, 1, 1_536), None, &ports);
    assert_eq!(again, Verdict::Forward(PortId(0)));
}

#[test]
fn a_newcomer_is_served_at_its_first_turn() {
    let mut queues = FlowQueues::new(1_536);
    for slot in 0..9 {
        queues.push(Time::ZERO, slot, &packet(slot % 3, 3, 1_536));
    }
    let mut order: Vec<u32> = (0..3).map_while(|_| queues.pop(Time::ZERO, Paused::NONE)).collect();
    queues.push(Time::ZERO, 9, &packet(9, 3, 1_536));
    order.extend((0..4).map_while(|_| queues.pop(Time::ZERO, Paused::NONE)));
    assert!(order[3..].contains(&9), "{order:?}: at most one packet of each other flow goes before packet 9");
}

#[test]
fn strict_paths_wait_for_a_dead_link() {
    let delay = raddle_core::Duration::from_ns(100);
    let topology = Arc::new(builders::torus(&[4, 4], Rate::from_gbps(10), delay).expect("valid dims"));
    let routing = Arc::new(Routing::new(topology));
    let mut forwarder = PfqForwarder::new(NodeId(0), &routing, Mode::Strict { hop_bits: 3 }, 1_536, 1);
    let mut states = [PortState::idle(Rate::from_gbps(10)); 4];
    let mut packet = packet(7, 1, 1_536);
    let Header::R2c2Data(data) = &mut packet.header else { unreachable!("just made") };
    data.rlen = 1;
    data.route = Route::from_ports([0_u16], 3).expect("one hop");
    states[0].up = false;
    assert_eq!(forwarder.forward(Time::ZERO, &mut packet, None, &Ports(&states)), Verdict::Hold(HoldKey(7)));
    assert_eq!(forwarder.credits_in_use(), 0);
    states[0].up = true;
    assert_eq!(
        forwarder.forward(Time::ZERO, &mut packet, None, &Ports(&states)),
        Verdict::Forward(PortId(0))
    );
}
