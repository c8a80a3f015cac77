//! Tests of the flow list and of the controller, without hosts. The tests whose names begin with `oracle_13` are worked
//! examples of specifications/pdq.md §13.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::flow_list::{Criticality, Entry, FlowList};
use super::params::{Parameters, Profile, Variant};
use super::*;
use raddle_core::{Duration, FlowKey, Rate, Stream, Time};
use raddle_wire::Minifloat;
use raddle_wire::pdq::Scheduling;

const GBPS: Rate = Rate::from_gbps(1);
const ME: u32 = 7;
const RTT_US: u64 = 150;

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// The header of a request for a flow that needs `round_trips` more round trips at full rate.
fn asks(round_trips: f64) -> Scheduling {
    Scheduling {
        rate: 1_000_000,
        pauseby: Scheduling::NOBODY,
        deadline: Scheduling::NEVER,
        expected: (round_trips * RTT_US as f64 * 100.0) as u32,
        rtt: Minifloat::floor(RTT_US * 1_000),
        interval: 0,
    }
}

fn rules() -> Parameters {
    Parameters { initial_rtt: Duration::from_us(RTT_US), dampening: Duration::ZERO, ..Parameters::default() }
}

fn controller(rules: Parameters) -> Controller {
    Controller::new(ME, GBPS, rules)
}

/// Passes a request and its acknowledgement through one controller. Returns the granted rate in Kbit/s, or `None` if
/// the flow is paused.
fn round(of: &mut Controller, now: Time, key: u64, mut header: Scheduling) -> Option<u32> {
    let key = FlowKey(key);
    of.forward(now, key, &mut header, 0);
    of.acknowledge(key, &mut header);
    (header.pauseby == Scheduling::NOBODY).then_some(header.rate)
}

fn entry(key: u64, round_trips: f64, rate: u64) -> Entry {
    let header = asks(round_trips);
    Entry {
        criticality: Criticality { deadline: header.deadline, expected: header.expected, key: FlowKey(key) },
        rtt: Duration::from_us(RTT_US),
        rate,
        seen: Time::ZERO,
        silence: Duration::ZERO,
    }
}

#[test]
fn deadlines_come_first_then_short_flows_then_names() {
    let of = |deadline, expected, key| Criticality { deadline, expected, key: FlowKey(key) };
    let never = Scheduling::NEVER;
    let ordered =
        [of(5, 900, 9), of(6, 1, 1), of(6, 2, 0), of(never, 0, 3), of(never, 0, 4), of(never, 7, 0)];
    assert!(ordered.is_sorted());
}

#[test]
fn the_list_stays_sorted_under_any_changes() {
    let mut random = Stream::new(1, 0, "test");
    let mut list = FlowList::default();
    for _ in 0..5_000 {
        let key = random.below(40);
        let changed = entry(key, random.below(100) as f64 / 10.0, 0);
        let key = FlowKey(key);
        match (list.index(key), random.below(4)) {
            (Some(_), 0) => assert_eq!(list.remove(key).map(|of| of.criticality.key), Some(key)),
            (Some(index), _) => {
                let to = list.move_to(index, changed.criticality);
                assert_eq!(list.index(key), Some(to));
            }
            (None, _) => {
                let to = list.insert(changed);
                assert_eq!(list.index(key), Some(to));
            }
        }
        assert!(list.entries().is_sorted_by_key(|entry| entry.criticality));
    }
    assert_ne!(list.len(), 0);
}

#[test]
fn a_list_that_shrinks_keeps_the_flow_that_is_dealt_with() {
    for keep in 0..6 {
        let mut list = FlowList::default();
        (0..6).for_each(|key| _ = list.insert(entry(key, key as f64, 0)));
        let index = list.trim(2, keep);
        let keys: Vec<u64> = list.entries().iter().map(|entry| entry.criticality.key.0).collect();
        assert_eq!(keys, [0, keep.max(1) as u64]);
        assert_eq!(list.index(FlowKey(keep as u64)), Some(index));
        assert_eq!(list.index(FlowKey(5)).is_some(), keep == 5);
    }
}

#[test]
fn oracle_13_7_nearly_complete_flows_do_not_count_up_to_a_limit() {
    let list = |round_trips: &[f64]| {
        let mut list = FlowList::default();
        for (key, &of) in (0..).zip(round_trips) {
            list.insert(entry(key, of, 1_000_000_000));
        }
        list
    };
    let line = GBPS.as_bps();
    let available = |list: &FlowList, rules: &Parameters| {
        list.available(list.len(), line, Duration::from_us(RTT_US), rules)
    };
    let three = list(&[0.5, 1.0, 1.5]);
    assert_eq!(available(&three, &rules()), line);
    assert_eq!(available(&three, &Parameters { variant: Variant::Basic, ..rules() }), 0);
    // The flows before the last flow need 2 round trips together, so Early Start ignores them, but not the last flow.
    assert_eq!(available(&list(&[0.5, 0.5, 1.0, 1.5]), &rules()), 0);
    assert_eq!(available(&list(&[0.5, 1.9]), &rules()), line);
    assert_eq!(available(&list(&[0.5, 2.1]), &rules()), 0);
}

#[test]
fn oracle_13_8_capacity_falls_by_the_rate_that_drains_the_queue_in_two_round_trips() {
    for (packets, mbps) in [(0, 1_000), (10, 600), (25, 0), (100, 0)] {
        let mut controller = controller(rules());
        let mut header = Scheduling { rtt: Minifloat(0), ..asks(100.0) };
        controller.forward(us(2 * RTT_US), FlowKey(1), &mut header, packets * 1_500);
        assert_eq!(controller.capacity, mbps * 1_000_000, "{packets} packets wait");
    }
}

#[test]
fn oracle_13_9_flows_far_down_the_list_probe_rarely() {
    let mut controller = controller(rules());
    for key in 1..=100 {
        round(&mut controller, us(key), key, asks(10.0 + key as f64));
    }
    let interval = |of: &mut Controller, key| {
        let mut header = Scheduling { pauseby: ME, interval: 16, ..asks(0.0) };
        of.acknowledge(key, &mut header);
        header.interval
    };
    for (index, round_trips) in [(3, 1), (20, 4), (100, 20)] {
        assert_eq!(interval(&mut controller, FlowKey(index)), 16 * round_trips);
    }
    controller = self::controller(Parameters { variant: Variant::EarlyStart, ..rules() });
    round(&mut controller, us(0), 1, asks(10.0));
    assert_eq!(interval(&mut controller, FlowKey(1)), 16);
}

#[test]
fn the_most_critical_flow_has_the_link_and_a_more_critical_one_takes_it() {
    let mut controller = controller(rules());
    assert_eq!(round(&mut controller, us(0), 1, asks(50.0)), Some(1_000_000));
    assert_eq!(round(&mut controller, us(1), 2, asks(60.0)), None);
    assert_eq!(round(&mut controller, us(2), 3, asks(40.0)), Some(1_000_000));
    assert_eq!(round(&mut controller, us(3), 1, asks(50.0)), None);
    let late = Scheduling { deadline: 9_000, ..asks(90.0) };
    assert_eq!(
        round(&mut controller, us(4), 4, late),
        Some(1_000_000),
        "a flow with a deadline goes before all others"
    );
    controller.end(FlowKey(4));
    assert_eq!(round(&mut controller, us(5), 3, asks(40.0)), Some(1_000_000));
}

#[test]
fn a_flow_that_another_switch_pauses_leaves_its_place_to_others() {
    let mut controller = controller(rules());
    assert!(round(&mut controller, us(0), 1, asks(40.0)).is_some());
    assert!(round(&mut controller, us(1), 2, asks(50.0)).is_none());
    let mut elsewhere = Scheduling { pauseby: 99, ..asks(40.0) };
    controller.forward(us(2), FlowKey(1), &mut elsewhere, 0);
    assert_eq!((elsewhere.pauseby, controller.flows.len()), (99, 1));
    assert!(round(&mut controller, us(3), 2, asks(50.0)).is_some());
    // An acknowledgement with a pause by another switch also removes the flow from the list.
    let mut answer = Scheduling { pauseby: 99, rate: 5, ..asks(50.0) };
    controller.acknowledge(FlowKey(2), &mut answer);
    assert_eq!((answer.rate, controller.flows.len()), (0, 0));
}

#[test]
fn a_grant_is_revoked_on_its_way_back_if_a_more_critical_flow_has_got_the_link() {
    for (profile, expected) in [(Profile::Fast, None), (Profile::Literal, Some(1_000_000))] {
        let mut link = controller(Parameters { profile, ..rules() });
        let [mut long, mut short] = [asks(20.0), asks(10.0)];
        // Both requests pass the link before an acknowledgement returns.
        link.forward(us(0), FlowKey(1), &mut long, 0);
        link.forward(us(1), FlowKey(2), &mut short, 0);
        assert_eq!((long.pauseby, short.pauseby), (Scheduling::NOBODY, Scheduling::NOBODY));
        link.acknowledge(FlowKey(1), &mut long);
        link.acknowledge(FlowKey(2), &mut short);
        assert_eq!((long.pauseby == Scheduling::NOBODY).then_some(long.rate), expected);
        assert_eq!((short.pauseby, short.rate), (Scheduling::NOBODY, 1_000_000));
    }
}

#[test]
fn acknowledgements_of_flows_that_are_not_there_change_nothing() {
    let mut controller = controller(rules());
    assert!(round(&mut controller, us(0), 1, asks(40.0)).is_some());
    let before = *controller.flows.entries().first().expect("a flow");
    let mut stranger = Scheduling { rate: 5, interval: 16, ..asks(1.0) };
    controller.acknowledge(FlowKey(2), &mut stranger);
    assert_eq!((stranger.rate, stranger.interval), (5, 16));
    assert_eq!(controller.flows.entries(), [before]);
    controller.end(FlowKey(2));
    controller.end(FlowKey(1));
    controller.end(FlowKey(1));
    assert!(controller.flows.entries().is_empty(), "a TERM that is repeated does no harm");
}

#[test]
fn a_syn_that_is_repeated_enters_once() {
    let mut controller = controller(rules());
    for at in 0..3 {
        let mut header = asks(40.0);
        controller.forward(us(at), FlowKey(1), &mut header, 0);
        assert_eq!(header.pauseby, Scheduling::NOBODY);
    }
    assert_eq!(controller.flows.len(), 1);
}

#[test]
fn dampening_delays_all_paused_flows_and_in_profile_f_only_less_critical_ones() {
    let dampening = Duration::from_us(100);
    for (profile, critical) in [(Profile::Literal, None), (Profile::Fast, Some(1_000_000))] {
        let mut controller = controller(Parameters { profile, dampening, ..rules() });
        // The first flow has a grant, but its acknowledgement has not returned. Profile F refuses the less critical
        // second flow even without dampening, because the controller already counts the grant of the first flow.
        let mut first = asks(40.0);
        controller.forward(us(0), FlowKey(1), &mut first, 0);
        assert_eq!(first.pauseby, Scheduling::NOBODY);
        assert_eq!(
            round(&mut controller, us(50), 2, asks(60.0)),
            None,
            "the first flow's acknowledgement has not returned"
        );
        assert_eq!(round(&mut controller, us(60), 3, asks(30.0)), critical);
        for at in [200, 250] {
            let mut header = asks(20.0);
            controller.forward(us(at), FlowKey(4), &mut header, 0);
            assert_eq!(
                header.pauseby,
                Scheduling::NOBODY,
                "dampening does not delay the accepted flow itself"
            );
        }
    }
}

#[test]
fn a_host_that_sends_its_most_critical_flow_first_does_not_look_again() {
    for is_own in [false, true] {
        let mut link = controller(rules());
        let mut waiting = Scheduling { pauseby: ME + 1, ..asks(9.0) };
        link.forward(us(0), FlowKey(1), &mut waiting, 0);
        assert_eq!(round(&mut link, us(10), 2, asks(5.0)), Some(1_000_000));
        let mut released = Scheduling { pauseby: Scheduling::NOBODY, ..waiting };
        if is_own {
            link.acknowledge_own(FlowKey(1), &mut released);
        } else {
            link.acknowledge(FlowKey(1), &mut released);
        }
        assert_eq!(released.rate, if is_own { 1_000_000 } else { 0 });
    }
}

#[test]
fn very_small_rates_are_not_granted_unless_requested() {
    let mut controller = controller(rules());
    // The first flow leaves 50 Mb/s. One packet of 12,000 bits per round trip of 150 us would be 80 Mb/s.
    let most = Scheduling { rate: 950_000, ..asks(40.0) };
    assert_eq!(round(&mut controller, us(0), 1, most), Some(950_000));
    assert_eq!(round(&mut controller, us(1), 2, asks(50.0)), None);
    let modest = Scheduling { rate: 10_000, ..asks(60.0) };
    assert_eq!(round(&mut controller, us(2), 3, modest), Some(10_000));
}

#[test]
fn the_most_critical_flow_may_have_the_line_however_long_the_queue() {
    for (top_line, granted) in [(false, None), (true, Some(1_000_000))] {
        let mut controller = controller(Parameters { top_line, ..rules() });
        let mut header = asks(40.0);
        controller.forward(us(2 * RTT_US), FlowKey(1), &mut header, 1_000_000);
        assert_eq!((header.pauseby == Scheduling::NOBODY).then_some(header.rate), granted);
    }
}

#[test]
fn flows_beyond_the_list_share_the_remaining_capacity() {
    let mut controller = controller(Parameters { list: 2, ..rules() });
    let slow = |round_trips| Scheduling { rate: 200_000, ..asks(round_trips) };
    assert_eq!(round(&mut controller, us(0), 1, slow(40.0)), Some(200_000));
    assert_eq!(round(&mut controller, us(1), 2, slow(50.0)), Some(200_000));
    // The two flows in the list leave 600 Mb/s. One flow outside the list gets 600 Mb/s, and two flows get 300 Mb/s
    // each.
    assert_eq!(round(&mut controller, us(2), 3, asks(60.0)), Some(600_000));
    assert_eq!(round(&mut controller, us(3), 4, asks(70.0)), Some(300_000));
    assert_eq!(round(&mut controller, us(4), 3, asks(60.0)), Some(300_000));
    assert_eq!(controller.flows.len(), 2);
    // Flow 5 displaces flow 2, the last flow of the list. Flow 2 then shares the remaining capacity with flows 3 and 4.
    assert_eq!(round(&mut controller, us(5), 5, slow(30.0)), Some(200_000));
    assert_eq!(
        round(&mut controller, us(6), 2, slow(50.0)),
        Some(200_000),
        "a third of the remaining 600 Mb/s"
    );
    let keys: Vec<u64> = controller.flows.entries().iter().map(|entry| entry.criticality.key.0).collect();
    assert_eq!(keys, [5, 1]);
    // Flow 1 leaves the list, and flows 3 and 4 no longer use capacity. Flow 2 joins the list again.
    controller.end(FlowKey(3));
    controller.end(FlowKey(4));
    controller.end(FlowKey(1));
    assert_eq!(round(&mut controller, us(7), 2, asks(50.0)), Some(800_000));
    assert_eq!(controller.flows.len(), 2);
}

#[test]
fn a_trimmed_list_has_twice_the_flows_that_send() {
    let mut controller = controller(Parameters { trim: true, ..rules() });
    for key in 1..=10 {
        round(&mut controller, us(key), key, asks(10.0 * key as f64));
    }
    assert_eq!(controller.flows.len(), 2);
    assert_eq!(controller.flows.granted(), GBPS.as_bps());
}

#[test]
fn flows_silent_for_long_are_removed_from_the_list() {
    let mut controller = controller(rules());
    assert!(round(&mut controller, us(0), 1, asks(40.0)).is_some());
    let later = us(0) + Duration::from_us(20 * RTT_US) + Duration::from_us(1_000);
    assert_eq!(round(&mut controller, later, 2, asks(90.0)), Some(1_000_000));
    assert_eq!(controller.flows.len(), 1);
}

/// Each flow requests a rate once per round trip. A flow that is less critical than n flows has its final grant after
/// at most n + 1 round trips (specifications/pdq.md §4.5). Then the sum of the grants of the flows that need at least
/// two more round trips is at most the capacity of the link. The sum of all grants is at least the capacity.
#[test]
fn a_link_settles_and_grants_no_more_than_it_has_and_early_start_allows() {
    const FLOWS: u64 = 8;
    for seed in 0..200 {
        let mut random = Stream::new(seed, 0, "test");
        let mut controller = controller(rules());
        let mut flows: Vec<(u64, f64)> =
            (0..FLOWS).map(|key| (key, random.below(200) as f64 / 10.0 + 0.1)).collect();
        let mut now = us(0);
        while !flows.is_empty() {
            let mut granted = Vec::new();
            for _ in 0..=FLOWS {
                granted.clear();
                for &(key, left) in &flows {
                    now += Duration::from_us(1);
                    granted.push((left, round(&mut controller, now, key, asks(left)).unwrap_or(0)));
                }
            }
            let sum = |is_counted: fn(f64) -> bool| -> u32 {
                granted.iter().filter(|of| is_counted(of.0)).map(|of| of.1).sum()
            };
            assert!(sum(|left| left >= 2.0) <= 1_000_000, "seed {seed}: {granted:?}");
            assert!(sum(|_| true) >= 1_000_000, "seed {seed}: {granted:?}");
            let again: Vec<_> =
                flows.iter().map(|&(key, left)| round(&mut controller, now, key, asks(left))).collect();
            assert!(again.iter().zip(&granted).all(|(again, of)| again.unwrap_or(0) == of.1), "seed {seed}");
            let first = (0..flows.len()).min_by(|&a, &b| flows[a].1.total_cmp(&flows[b].1)).expect("flows");
            assert!(granted[first].1 > 0, "the most critical flow sends");
            controller.end(FlowKey(flows.remove(first).0));
        }
        assert!(controller.flows.entries().is_empty());
    }
}

#[test]
fn a_flow_that_another_switch_lets_go_waits_if_the_link_has_been_given_away() {
    let mut link = controller(rules());
    // Flow 1 is not in this link's list: another switch had already paused the flow when the flow's packet passed this
    // link. The other switch now releases the flow.
    let mut waiting = Scheduling { pauseby: ME + 1, ..asks(9.0) };
    link.forward(us(0), FlowKey(1), &mut waiting, 0);
    let mut released = Scheduling { pauseby: Scheduling::NOBODY, ..waiting };
    link.acknowledge(FlowKey(1), &mut released);
    assert_eq!((released.pauseby, released.rate), (Scheduling::NOBODY, 1_000_000), "the link is free");
    assert_eq!(round(&mut link, us(10), 2, asks(5.0)), Some(1_000_000));
    link.acknowledge(FlowKey(1), &mut released);
    assert_eq!((released.pauseby, released.rate), (ME, 0));
    assert_eq!(link.flows.index(FlowKey(1)), None, "the flow joins the list with its next packet");
}
