//! Tests of the path of packets through a node, the polls of its host, and its timers.

use super::*;

#[test]
fn a_packet_that_is_forwarded_leaves_and_the_host_hears_nothing() {
    let (seen, totals) = arrival(says([Verdict::Forward(PortId(2))]));
    assert_eq!(seen, [Asked(1, Some(BY)), Leaves(1, Some(BY), PortId(2))]);
    assert_eq!(totals, Totals::default());
}

#[test]
fn a_packet_that_is_delivered_reaches_the_host_which_is_then_polled() {
    let (seen, totals) = arrival(says([Verdict::Deliver]));
    assert_eq!(seen, [Asked(1, Some(BY)), Got(1, BY), Polled]);
    assert_eq!((totals.delivered, totals.delivered_bytes), (1, 100));
}

#[test]
fn a_packet_that_the_forwarder_drops_is_lost_and_the_host_is_told() {
    let (seen, totals) = arrival(says([Verdict::Drop(DropReason::NoRoute)]));
    let why = DropReason::NoRoute;
    assert_eq!(seen, [Asked(1, Some(BY)), Lost(1, None, why), Dropped(1, PortId(0), why), Polled]);
    assert_eq!((totals.dropped, totals.dropped_bytes, totals.drops.no_route), (1, 100, 1));
}

#[test]
fn an_answered_packet_leaves_before_the_forwarders_own() {
    let (seen, totals) = arrival(answers(Verdict::Answer(PortId(0))));
    let leaves = [Leaves(1, Some(BY), PortId(0)), Leaves(8, None, PortId(1)), Leaves(9, None, PortId(2))];
    assert_eq!(seen[1..], leaves);
    assert_eq!((totals.sent, totals.sent_bytes), (2, 200));
}

#[test]
fn an_absorbed_packet_ends_in_the_forwarder_which_then_sends() {
    let (seen, totals) = arrival(answers(Verdict::Absorb));
    assert_eq!(seen[1..], [Leaves(8, None, PortId(1)), Leaves(9, None, PortId(2))]);
    assert_eq!((totals.sent, totals.delivered), (2, 1));
}

#[test]
fn held_packets_go_on_in_the_order_in_which_they_came() {
    let holds = [3, 4, 3, 3].map(|key| Verdict::Hold(HoldKey(key)));
    let (mut node, mut runtime) = node(vec![], says(holds));
    for number in [1, 2, 3] {
        node.arrived(&mut runtime, packet(number), BY);
    }
    assert_eq!(runtime.log.take().len(), 3, "only the forwarder must be asked");
    assert_eq!(node.held().map(number).collect::<Vec<_>>(), [1, 2, 3]);
    // When the forwarder is asked again, it holds packet 1 under the same key once more, and forwards packet
    // 3.
    let mut freed = Vec::new();
    node.credited(&mut runtime, PortId(2), &credit(3), &mut freed);
    node.retry(&mut runtime, |key| freed.contains(&key));
    assert_eq!(runtime.log.take(), [Asked(1, Some(BY)), Asked(3, Some(BY)), Leaves(3, Some(BY), PortId(0))]);
    assert_eq!(node.held().map(number).collect::<Vec<_>>(), [1, 2]);
    // A change in the fabric frees all held packets.
    node.discovered(&mut runtime, &[LinkId(6), LinkId(7)], false);
    let told = [6, 7].map(LinkId).map(|link| [Told(link, false), Link(link, false)]).concat();
    let retried =
        [1, 2].map(|number| [Asked(number, Some(BY)), Leaves(number, Some(BY), PortId(0))]).concat();
    assert_eq!(runtime.log.take(), [told, retried, vec![Polled]].concat());
    assert_eq!(node.held().count(), 0);
}

#[test]
fn held_packets_move_with_their_node() {
    let (mut node, mut runtime) = node(vec![], says([3, 3].map(|key| Verdict::Hold(HoldKey(key)))));
    node.arrived(&mut runtime, packet(1), BY);
    node.arrived(&mut runtime, packet(2), BY);
    runtime.log.take();
    node.move_to((), |slot| *slot = packet(number(slot) + 10));
    node.retry(&mut runtime, |_| true);
    let went_on = [11, 12].map(|number| [Asked(number, Some(BY)), Leaves(number, Some(BY), PortId(0))]);
    assert_eq!(runtime.log.take(), went_on.concat());
}

#[test]
fn without_a_forwarder_all_is_delivered_and_leaves_by_port_0() {
    let (mut node, mut runtime) = node(vec![send(2, None), send(3, Some(2))], None);
    node.arrived(&mut runtime, packet(1), BY);
    let (second, third) = (Leaves(2, None, PortId(0)), Leaves(3, None, PortId(2)));
    assert_eq!(runtime.log.take(), [Got(1, BY), Polled, second, Polled, third, Polled]);
    let Totals { sent, delivered, .. } = runtime.totals;
    assert_eq!((sent, delivered), (2, 1));
}

#[test]
fn a_host_is_polled_until_it_wants_nothing_more_now() {
    let report = Report::Delivered { key: FlowKey(7), reorder_peak: 0 };
    let outputs = vec![
        Output::Report(report),
        send(1, None),
        Output::WakeAt(ns(10)),
        Output::WakeAt(ns(30)),
        send(2, None),
    ];
    let (mut node, mut runtime) = node(outputs, says([Verdict::Forward(PortId(2))]));
    let flow = Flow::new(FlowId(4), NodeId(0), NodeId(1), Bytes(1), ns(10));
    node.start(&mut runtime, &flow);
    let sends = [Polled, Reported(report), Polled, Asked(1, None), Leaves(1, None, PortId(2))];
    // If the host asks to be woken now, it is polled again. When it asks to be woken later, polling ends, although the
    // host still has a second packet to send.
    let expected = [vec![Started(FlowId(4))], sends.to_vec(), vec![Polled, Polled, WakeAt(30)]].concat();
    assert_eq!(runtime.log.take(), expected);
    assert_eq!((runtime.totals.flows_started, runtime.totals.flows_delivered), (1, 1));
}

#[test]
fn a_host_is_polled_when_a_stream_grows_and_ends() {
    let (mut node, mut runtime) = node(vec![], None);
    node.append(&mut runtime, FlowId(4), Bytes(10));
    node.close(&mut runtime, FlowId(4));
    assert_eq!(runtime.log.take(), [Appended(FlowId(4), Bytes(10)), Polled, Closed(FlowId(4)), Polled]);
    assert!(!node.carries_streams(), "the host does not support streams");
}

#[test]
fn a_host_hears_of_a_loss_in_its_own_round_of_polls() {
    let (mut node, mut runtime) = node(vec![send(1, Some(2))], None);
    runtime.full = Some(PortId(2));
    node.poll(&mut runtime);
    let why = DropReason::QueueFull;
    let lost = [Lost(1, Some(PortId(2)), why), Dropped(1, PortId(2), why)];
    assert_eq!(runtime.log.take(), [vec![Polled], lost.to_vec(), vec![Polled]].concat());
    assert_eq!((runtime.totals.sent, runtime.totals.drops.queue_full), (1, 1));
}

#[test]
fn a_host_is_polled_when_a_port_loses_a_packet_that_it_relays() {
    let (mut node, mut runtime) = node(vec![], says([Verdict::Forward(PortId(2))]));
    runtime.full = Some(PortId(2));
    node.arrived(&mut runtime, packet(1), BY);
    assert_eq!(runtime.log.take().last(), Some(&Polled));
}

#[test]
fn evicted_packets_are_counted_by_kind_before_the_host_is_polled_once() {
    let forwarder = says([Verdict::Forward(PortId(2))]);
    let forwarder = forwarder.map(|part| Verdicts { hears_of_departures: true, ..part });
    let (mut node, mut runtime) = node(vec![], forwarder);
    runtime.gives_up = vec![(packet(7), Some(BY)), (packet(8), None)];
    node.arrived(&mut runtime, packet(1), PortId(0));
    let (out, why) = (PortId(2), DropReason::QueueFull);
    let relayed = [Lost(7, Some(out), why), Departed(7, BY), Credits(BY, credit(7)), Dropped(7, out, why)];
    let own = [Lost(8, Some(out), why), Dropped(8, out, why), Leaves(1, Some(PortId(0)), out), Polled];
    assert_eq!(runtime.log.take()[1..], [relayed, own].concat());
    assert_eq!((runtime.totals.dropped, runtime.totals.drops.queue_full), (2, 2));
}

#[test]
fn a_packet_that_is_cut_stays_and_one_that_cannot_be_cut_is_lost() {
    let (mut node, mut runtime) = node(vec![], None);
    let cut = Packet::new(1_007, Header::from(Note { plen: 1_000 }));
    assert_eq!(cut.clone().trim(), Some(1_000));
    runtime.cuts = Some(cut.clone());
    node.send(&mut runtime, packet(1), None);
    let Totals { dropped, dropped_bytes, trimmed, .. } = runtime.totals;
    assert_eq!((dropped, dropped_bytes, trimmed), (0, 1_000, 1), "the payload is lost, the packet is not");
    runtime.cuts = Some(packet(2));
    assert!(node.send(&mut runtime, packet(3), None), "the host is due a poll");
    let Totals { dropped, dropped_bytes, trimmed, .. } = runtime.totals;
    assert_eq!((dropped, dropped_bytes, trimmed), (1, 1_100, 1));
}

#[test]
fn the_latest_wish_to_wake_is_the_one_that_counts() {
    let wishes = vec![Output::WakeAt(ns(40)), Output::WakeAt(ns(20)), Output::WakeAt(ns(20)), Output::Idle];
    let (mut node, mut runtime) = node(wishes, None);
    assert_eq!(node.wake(), Time::NEVER, "a host without an input must not be woken");
    node.poll(&mut runtime);
    node.poll(&mut runtime);
    assert_eq!(runtime.log.take(), [Polled, WakeAt(40), Polled, WakeAt(20)]);
    node.poll(&mut runtime);
    assert_eq!(runtime.log.take(), [Polled], "the wake-up at 20 ns is already requested");
    runtime.now = ns(15);
    node.woken(&mut runtime);
    assert_eq!(runtime.log.take(), [], "not yet");
    runtime.now = ns(21);
    node.woken(&mut runtime);
    assert_eq!(runtime.log.take(), [Polled], "a real clock may be late");
    runtime.now = ns(40);
    node.woken(&mut runtime);
    assert_eq!((runtime.log.take(), node.wake()), (vec![], Time::NEVER), "a stale wish wakes nobody");
}

#[test]
fn a_forwarder_ticks_when_it_wants_to_and_sends_what_it_has() {
    let ticks = [20, 30].map(ns).into();
    let own = [(packet(8), PortId(1))].into();
    let credits = [(PortId(2), credit(5))].into();
    let forwarder = Verdicts { own, credits, ticks, ..Verdicts::default() };
    let (mut node, mut runtime) = node(vec![], Some(forwarder));
    assert_eq!(node.tick(), ns(20), "the runtime must schedule the first tick");
    node.ticked(&mut runtime);
    assert_eq!(runtime.log.take(), [], "not yet");
    runtime.now = ns(21);
    node.ticked(&mut runtime);
    assert_eq!(
        runtime.log.take(),
        [Ticked, Credits(PortId(2), credit(5)), Leaves(8, None, PortId(1)), TickAt(30)],
        "a real clock may be late"
    );
    runtime.now = ns(30);
    node.ticked(&mut runtime);
    assert_eq!((runtime.log.take(), node.tick()), (vec![Ticked], Time::NEVER));
    node.ticked(&mut runtime);
    assert_eq!(runtime.log.take(), [], "no tick is scheduled");
}

#[test]
fn a_forwarder_that_sends_is_asked_when_it_ticks() {
    for verdict in [Verdict::Answer(PortId(0)), Verdict::Absorb] {
        let ticks: VecDeque<Time> = [50, 90].map(ns).into();
        let forwarder = Verdicts { ticks, verdicts: [verdict, verdict].into(), ..Verdicts::default() };
        let (mut node, mut runtime) = node(vec![], Some(forwarder));
        node.tick = ns(60);
        node.arrived(&mut runtime, packet(1), BY);
        assert_eq!(runtime.log.take().last(), Some(&TickAt(50)), "earlier than the requested tick");
        node.arrived(&mut runtime, packet(1), BY);
        assert!(!runtime.log.take().contains(&TickAt(50)), "the tick is already requested");
        runtime.now = ns(60);
        node.ticked(&mut runtime);
        assert_eq!(runtime.log.take(), [Ticked, TickAt(90)]);
    }
}

#[test]
fn a_forwarder_at_rest_is_asked_when_it_ticks_after_credits() {
    let ticks = [50].map(ns).into();
    let forwarder = Verdicts { ticks, hears_of_departures: true, ..Verdicts::default() };
    let (mut node, mut runtime) = node(vec![], Some(forwarder));
    for takes in [false, true] {
        node.tick = Time::NEVER;
        if takes {
            node.credited(&mut runtime, BY, &credit(1), &mut Vec::new());
        } else {
            node.left(&mut runtime, &packet(1), Some(BY));
        }
        assert_eq!(runtime.log.take().last(), Some(&TickAt(50)));
    }
    node.credited(&mut runtime, BY, &credit(1), &mut Vec::new());
    assert_eq!(runtime.log.take(), [], "the tick is already requested");
}

#[test]
fn a_packet_that_is_still_coming_in_is_delivered_when_it_is_whole() {
    let (mut node, mut runtime) = node(vec![], says([Verdict::Deliver]));
    runtime.coming = Some(Vec::new());
    node.arrived(&mut runtime, packet(1), BY);
    assert_eq!(runtime.log.take(), [Asked(1, Some(BY))]);
    let whole = runtime.coming.take().and_then(|mut coming| coming.pop()).expect("the runtime must keep it");
    node.deliver(&mut runtime, whole, Some(BY));
    assert_eq!(runtime.log.take(), [Got(1, BY)]);
}

#[test]
fn a_forwarder_hears_of_departures_and_answers_the_neighbour() {
    let answer = |number: u32| [Departed(number, BY), Credits(BY, credit(number))];
    let verdicts = [Verdict::Deliver, Verdict::Absorb, Verdict::Drop(DropReason::NoRoute)];
    for (verdict, heard) in verdicts.into_iter().zip([2, 1, 2]) {
        let forwarder = says([verdict]).map(|part| Verdicts { hears_of_departures: true, ..part });
        assert_eq!(arrival(forwarder).0[heard..heard + 2], answer(1), "{verdict:?}");
    }
    let forwarder = says([]).map(|part| Verdicts { hears_of_departures: true, ..part });
    let (mut node, mut runtime) = node(vec![], forwarder);
    assert!(!node.left(&mut runtime, &packet(1), Some(BY)));
    assert_eq!(runtime.log.take(), answer(1));
    // The node itself sent packet 2, so no neighbour gets a credit, and the host is told that the packet has
    // left.
    assert!(node.left(&mut runtime, &packet(2), None));
    assert_eq!(runtime.log.take(), [Sent(2)]);
}

#[test]
fn a_host_hears_of_bytes_that_are_no_packet() {
    let (mut node, mut runtime) = node(vec![], says([]));
    node.corrupted(&mut runtime, BY);
    assert_eq!(runtime.log.take(), [Corrupted(BY), Polled]);
}

#[test]
fn a_node_without_a_host_is_never_due() {
    let parts = Parts { forwarder: Some(Box::new(Verdicts::default())), ..Parts::default() };
    let (_, mut runtime) = node(vec![], None);
    let mut node = Node::new(parts, ());
    assert_eq!(node.wake(), Time::NEVER);
    assert!(!node.lose(&mut runtime, packet(1), None, None, DropReason::NoRoute));
    assert!(!node.left(&mut runtime, &packet(1), None));
    node.poll(&mut runtime);
    assert_eq!(runtime.log.take(), [Lost(1, None, DropReason::NoRoute)]);
}
