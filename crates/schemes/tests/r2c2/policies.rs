//! Tests of allocation policies (R2C2 §3.3): the throughput of flows with given weights, priorities, tenants or
//! deadlines.

use crate::rack::{rack, rate, torus};
use raddle_core::{Duration, Flow, FlowId, FlowKey, NodeId, Packet, Report, Time};
use raddle_schemes::transport::r2c2::{Params, Policy, StartPolicy};
use raddle_testkit::{flow, us};
use std::collections::BTreeMap;

/// The capacity in bit/s that flows can use on the link from node 3 to node 4 of a ring.
const USABLE: f64 = 9.5e9;

/// Parameters with a short interval between ticks, so that no burst from before the first tick disturbs the
/// measurement.
fn params(policy: Policy) -> Params {
    let rho = Duration::from_us(50);
    Params { policy, rho, only_lasting: false, start: StartPolicy::Local, ..Params::default() }
}

/// A flow to node 4 from node 1, 2 or 3, over the link from node 3 to node 4.
fn over_the_link(id: u32, src: u32, size: u64) -> Flow {
    flow(id, src, 4, size, us(0))
}

fn source(packet: &Packet) -> u32 {
    packet.src().0
}

/// The throughput of each source between 2 and 6 ms, in bit/s.
fn throughputs(policy: Policy, flows: Vec<Flow>) -> BTreeMap<u32, f64> {
    let sources: Vec<u32> = flows.iter().map(|flow| flow.src.0).collect();
    let rack = rack(&torus(&[10]), params(policy), flows, Some(us(6_000)), Vec::new(), None);
    let heard = rack.simulation.observer();
    let of = |src: &u32| (*src, rate(heard, us(2_000), us(6_000), |packet| source(packet) == *src));
    sources.iter().map(of).collect()
}

fn assert_near(measured: f64, expected: f64) {
    assert!((measured - expected).abs() < 0.02 * USABLE, "{measured} {expected}");
}

#[test]
fn throughput_follows_weights() {
    let weighted = |src, weight| Flow { weight, ..over_the_link(src, src, 1 << 30) };
    let flows = vec![weighted(1, 1), weighted(2, 2), weighted(3, 5)];
    let measured = throughputs(Policy::Weights, flows);
    for (src, share) in [(1, 1.0), (2, 2.0), (3, 5.0)] {
        assert_near(measured[&src], USABLE * share / 8.0);
    }
}

#[test]
fn a_class_gets_the_rate_that_higher_classes_leave() {
    let limited = Some(raddle_core::Rate::from_gbps(3));
    let flows = vec![
        Flow { priority: 2, ..over_the_link(1, 1, 1 << 30) },
        Flow { priority: 1, app_rate: limited, ..over_the_link(2, 2, 1 << 30) },
        Flow { priority: 2, weight: 3, ..over_the_link(3, 3, 1 << 30) },
    ];
    let measured = throughputs(Policy::Weights, flows);
    let left = USABLE - measured[&2];
    assert!((2.9e9..3.1e9).contains(&measured[&2]), "{}", measured[&2]);
    // The announced demand of the flow with priority 1 counts headers, and is rounded up and smoothed. The other two
    // flows therefore use only part of the remaining capacity.
    assert!((measured[&3] / measured[&1] - 3.0).abs() < 0.1, "{measured:?}");
    assert!(measured[&1] + measured[&3] > 0.93 * left, "{measured:?}");
}

#[test]
fn a_class_may_starve_another_and_then_it_takes_over() {
    // Priority 0, which the flow from node 2 has, is higher than priority 1. The 4.75 MB of this flow take 4 ms at 9.5
    // Gb/s.
    let flows = vec![Flow { priority: 1, ..over_the_link(1, 1, 1 << 30) }, over_the_link(2, 2, 4_750_000)];
    let rack = rack(&torus(&[10]), params(Policy::Weights), flows, Some(us(9_000)), Vec::new(), None);
    let heard = rack.simulation.observer();
    let of = |src, from, to| rate(heard, us(from), us(to), |packet| source(packet) == src);
    assert_near(of(2, 1_500, 3_500), USABLE);
    assert_near(of(1, 1_500, 3_500), 0.0);
    assert_near(of(1, 6_000, 9_000), USABLE);
}

#[test]
fn a_tenant_gets_no_more_by_opening_more_flows() {
    // Nodes 1 and 3 belong to tenant 1, node 2 to tenant 0.
    let flows = || {
        let many = (0..4).map(|i| over_the_link(i, if i < 3 { 1 } else { 3 }, 1 << 30));
        many.chain([over_the_link(4, 2, 1 << 30)]).collect::<Vec<_>>()
    };
    let by_flow = throughputs(Policy::Weights, flows());
    assert_near(by_flow[&2], USABLE / 5.0);
    let by_tenant = throughputs(Policy::Tenant(2), flows());
    assert_near(by_tenant[&2], USABLE / 2.0);
    assert_near(by_tenant[&1], USABLE / 2.0 * 3.0 / 4.0);
}

/// Delivery time of each flow, by flow id.
fn completions(policy: Policy, flows: Vec<Flow>) -> BTreeMap<u32, Time> {
    let rack = rack(&torus(&[10]), params(policy), flows, None, Vec::new(), None);
    let heard = rack.simulation.observer();
    let mut opened: BTreeMap<FlowKey, FlowId> = BTreeMap::new();
    let mut done = BTreeMap::new();
    for &(at, report) in &heard.reports {
        match report {
            Report::Opened { flow, key } => {
                opened.insert(key, flow);
            }
            Report::Delivered { key, .. } => {
                done.insert(opened[&key].0, at);
            }
            _ => {}
        }
    }
    done
}

#[test]
fn flows_in_a_hurry_are_in_time_if_weights_follow_deadlines() {
    let due = |ms| Some(Duration::from_ms(ms));
    // To meet their deadlines, the flows together need 8.4 Gb/s, headers included. With a fair share of one third, the
    // 3 MB of the first flow would take about 8 ms. The deadline of the first flow is 5 ms.
    let flows = || {
        vec![
            Flow { deadline: due(5), ..over_the_link(0, 1, 3_000_000) },
            Flow { deadline: due(12), ..over_the_link(1, 2, 3_000_000) },
            Flow { deadline: due(20), ..over_the_link(2, 3, 3_500_000) },
        ]
    };
    let late = |policy| {
        let done = completions(policy, flows());
        assert_eq!(done.len(), 3);
        flows().iter().filter(|flow| done[&flow.id.0] > flow.due()).count()
    };
    assert_eq!(late(Policy::Deadline), 0);
    assert_eq!(late(Policy::Weights), 1);
}

#[test]
fn a_new_weight_is_known_to_all() {
    let flows = vec![
        Flow { deadline: Some(Duration::from_ms(4)), ..over_the_link(0, 1, 2_000_000) },
        over_the_link(1, 2, 1 << 30),
    ];
    let rack = rack(&torus(&[10]), params(Policy::Deadline), flows, Some(us(1_020)), Vec::new(), None);
    crate::rack::assert_converged(&rack, &[]);
    let shares = rack.nodes[7].lock().expect("no panic").compute_all();
    let rate_of = |src: u32| shares.iter().find(|(key, _)| NodeId(key >> 16) == NodeId(src)).expect("live").1;
    // The first flow started with a weight of 27. Its weight is lower now, because the flow has been faster than its
    // deadline required.
    let ratio = rate_of(1) / rate_of(2);
    assert!((10.0..22.0).contains(&ratio), "{shares:?}");
}
