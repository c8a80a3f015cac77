//! Tests of polling threads that are late. The tests step the threads by hand, so no result depends on a clock.

use super::*;
use crate::rack::Config;
use raddle_core::{Bytes, Duration, Flow, FlowId, Parts, Rate, Stream, Totals};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::{builders, discoverers};

/// Time between two hello messages of a node.
const PERIOD: Duration = Duration::from_us(100);

/// Builds a 4x4 torus that runs reliable R2C2. Nodes send hello messages if `hello` is true.
fn rack(threads: usize, hello: bool, flows: &[Flow]) -> Rack {
    let topology = builders::torus(&[4, 4], Rate::from_gbps(5), Duration::from_ns(100));
    let topology = Arc::new(topology.expect("a 4x4 torus"));
    let scheme = registry().transport("r2c2").expect("R2C2 is in the registry");
    let mut settings = Settings::defaults(scheme.info.parameters);
    settings.set("reliable", Value::Flag(true));
    let plan = Plan::new(&topology, "rps", &settings, 1);
    let built = registry().build(scheme, &plan, &registry().routing_defaults("rps"));
    let mut built = built.expect("R2C2 fits a torus");
    let discoverer = discoverers(&topology, PERIOD);
    let parts = |id| Parts { discovery: hello.then(|| discoverer(id)), ..(built.node)(id) };
    let config = Config { threads, ring: 1 << 13, ..Config::default() };
    Rack::new(&topology, parts, flows, &config).expect("memory to share")
}

/// Lets a polling thread handle all events that are due by `now`.
fn catch_up(rack: &mut Rack, thread: usize, now: Time) {
    let worker = &mut rack.workers[thread];
    worker.take_losses();
    worker.round(now);
    while worker.fabric.events.first().is_some_and(|(at, _)| at <= now) {
        worker.round(now);
    }
}

/// For each node of a thread: the time at which the node most recently learned of a change of a link.
fn changed_at(rack: &Rack, thread: usize) -> Vec<Time> {
    let nodes = rack.workers[thread].nodes.iter();
    nodes.filter_map(Node::discovery).map(Discovery::changed_at).collect()
}

#[test]
fn a_thread_that_was_away_fails_no_link() {
    let mut rack = rack(1, true, &[]);
    let mut random = Stream::new(1, 0, "away");
    let mut now = Time::ZERO;
    for _ in 0..500 {
        let most = if random.below(4) == 0 { 1_000 } else { 100 };
        now += PERIOD / 100 * (1 + random.below(most));
        catch_up(&mut rack, 0, now);
    }
    assert_eq!(changed_at(&rack, 0), [Time::ZERO; 16]);
    assert!(rack.totals().delivered > 64 * 100, "the nodes must have exchanged hello messages");
}

/// Each pause of a thread is shorter than two hello periods. A node marks a link as failed only after three silent
/// periods, so no node marks a link as failed.
#[test]
fn threads_that_are_away_by_turns_fail_no_link() {
    let mut rack = rack(2, true, &[]);
    let mut random = Stream::new(1, 0, "away");
    let mut now = Time::ZERO;
    for _ in 0..300 {
        let away = random.index(2);
        let back = now + PERIOD / 100 * (1 + random.below(180));
        while now < back {
            now += PERIOD / 10;
            catch_up(&mut rack, 1 - away, now);
        }
        catch_up(&mut rack, away, now);
        catch_up(&mut rack, 1 - away, now);
    }
    assert_eq!([changed_at(&rack, 0), changed_at(&rack, 1)], [[Time::ZERO; 8]; 2]);
}

/// One thread pauses for ten hello periods. After three silent periods, nodes of the other thread mark the links to the
/// paused thread as failed. Nodes of the paused thread mark no link as failed. In the end all links are up.
#[test]
fn a_thread_that_was_away_for_long_is_heard_again() {
    let mut rack = rack(2, true, &[]);
    let mut now = Time::ZERO;
    let mut step = |rack: &mut Rack, steps: u32, threads: &[usize]| {
        for _ in 0..steps {
            now += PERIOD / 10;
            threads.iter().for_each(|&thread| catch_up(rack, thread, now));
        }
    };
    step(&mut rack, 50, &[0, 1]);
    step(&mut rack, 100, &[1]);
    let is_any_down = |rack: &Rack, thread: usize| {
        let links = rack.workers[0].fabric.topology.links().map(|(link, _)| link);
        let nodes = rack.workers[thread].nodes.iter().filter_map(Node::discovery);
        links.flat_map(|link| nodes.clone().map(move |node| node.is_down(link))).any(|is_down| is_down)
    };
    assert!(!is_any_down(&rack, 0) && is_any_down(&rack, 1));
    step(&mut rack, 200, &[0, 1]);
    assert!(!is_any_down(&rack, 0) && !is_any_down(&rack, 1));
}

/// The link from node 4 (first thread) to node 8 (second thread) fails while one of the two threads is late.
#[test]
fn packets_under_way_are_lost_whichever_thread_is_late() {
    let us = |us: u64| Time::ZERO + Duration::from_us(us);
    let flow = Flow::new(FlowId(0), NodeId(4), NodeId(8), Bytes(1_000_000), Time::ZERO);
    for late in [0, 1] {
        let rack = rack(2, false, &[flow]);
        let topology = Arc::clone(&rack.workers[0].fabric.topology);
        let link = topology.links_from(NodeId(4)).find(|(_, link)| link.to == NodeId(8));
        let (link, _) = link.expect("a link between neighbours");
        let links = vec![link, topology.reverse(link)];
        let change =
            |at, up| Change { at: us(at), links: links.clone(), up, discovery: Duration::from_us(1) };
        let mut rack = rack.with_changes(vec![change(300, false), change(400, true)]);
        let step = |rack: &mut Rack, thread, from: u64, to| {
            (from..to).for_each(|now| catch_up(rack, thread, us(now)));
        };
        for now in 0..250 {
            step(&mut rack, 0, now, now + 1);
            step(&mut rack, 1, now, now + 1);
        }
        step(&mut rack, 1 - late, 250, 450);
        let lost = |rack: &Rack| rack.workers[1].fabric.stats[link.index()].drops;
        // A receiver that is not late loses the packets that are on the link at the failure. Later it also loses the
        // packets that the late sender sent before the sender handled the failure.
        let lost_at_once = lost(&rack);
        step(&mut rack, late, 250, 299);
        step(&mut rack, 1, 450, 451);
        assert!(lost(&rack) > lost_at_once, "{lost_at_once} with {late} late");
        step(&mut rack, late, 299, 450);
        for now in 451..5_000 {
            step(&mut rack, 0, now, now + 1);
            step(&mut rack, 1, now, now + 1);
        }
        let Totals { sent, delivered, dropped, drops, flows_delivered, .. } = rack.totals();
        assert_eq!((flows_delivered, dropped, sent), (1, drops.link_down, delivered + dropped));
        let [sender, receiver] = &rack.workers[..] else { panic!("two threads") };
        let tags: Vec<u8> = receiver.incoming.iter().filter(|i| i.link == link).map(|i| i.tag).collect();
        assert_eq!(sender.fabric.out[link.index()].as_ref().map(|out| out.tag), tags.first().copied());
    }
}
