//! Tests of the congestion window: slow start, congestion avoidance, the limits of the window, and a bottleneck.

use super::pair::{Fate, Pair};
use super::*;
use raddle_core::{Rate, Report, Time};

const MSS: u64 = 1_460;

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut pair = Pair::new(Params::default());
    pair.open(0, 500 * MSS, None);
    pair.finish();
    let rounds: Vec<_> = (0..5).map(|round| pair.data_between(100 * round, 100 * round + 90)).collect();
    assert_eq!(rounds, [10, 20, 40, 80, 160]);
    assert_eq!(pair.outcome().2, 0);
}

#[test]
fn after_a_loss_the_window_is_halved_and_grows_by_a_segment_a_round_trip() {
    for sack in [true, false] {
        let params = Params { sack, ..Params::default() };
        let mut pair = Pair::losing(params, &[40]);
        pair.open(0, 600 * MSS, None);
        pair.finish();
        assert_eq!(pair.outcome().2, 1, "sack {sack}");
        // Segment 40 is lost in the third round trip of slow start, in which segments 30 to 69 are sent. When the loss
        // is detected, 10 of these segments have been acknowledged.
        let rounds: Vec<_> = (7..12).map(|round| pair.data_between(100 * round, 100 * round + 90)).collect();
        assert!(
            rounds.windows(2).all(|pair| (1..=2).contains(&(pair[1] - pair[0]))),
            "sack {sack}: {rounds:?}"
        );
        assert!((20..=30).contains(&rounds[0]), "sack {sack}: {rounds:?}");
    }
}

#[test]
fn limited_transmit_keeps_small_windows_from_timing_out() {
    for sack in [true, false] {
        let mut pair = Pair::losing(Params { sack, initial_window: 3, ..Params::default() }, &[0]);
        pair.open(0, 10 * MSS, None);
        pair.finish();
        let (delivered, _, retransmissions) = pair.outcome();
        assert_eq!(retransmissions, 1);
        assert!(delivered < Time::ZERO + Duration::from_ms(1), "sack {sack}: {delivered}");
    }
}

#[test]
fn without_limited_transmit_a_small_window_waits_for_the_timeout() {
    let params = Params { sack: false, limited_transmit: false, initial_window: 3, ..Params::default() };
    let mut pair = Pair::losing(params, &[0]);
    pair.open(0, 10 * MSS, None);
    pair.finish();
    assert!(pair.outcome().0 > Time::ZERO + Duration::from_ms(1), "{}", pair.outcome().0);
}

#[test]
fn slow_start_ends_at_the_first_threshold() {
    let initial_ssthresh = 20 * 1_460;
    let mut pair = Pair::new(Params { initial_ssthresh, ..Params::default() });
    pair.open(0, 500 * MSS, None);
    pair.finish();
    let rounds: Vec<_> = (0..5).map(|round| pair.data_between(100 * round, 100 * round + 90)).collect();
    assert_eq!(rounds, [10, 20, 20, 21, 22]);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut pair = Pair::new(Params::default());
    // The application produces 4 segments per round trip, far less than the initial window. Acknowledgements 200 to 229
    // are lost. If the window had grown, the sender would then send a burst.
    pair.fate =
        Box::new(|node, n, _| if node == 1 && (200..230).contains(&n) { Fate::Drop } else { Fate::Pass });
    pair.open(0, 400 * MSS, Some(Rate::from_bps(8 * 4 * MSS * 10_000)));
    pair.finish();
    assert!((4..=10).contains(&pair.data_between(5_100, 6_000)), "{:?}", pair.times_us());
}

#[test]
fn the_application_may_be_slower_than_the_network() {
    let mut pair = Pair::new(Params::default());
    let rate = Rate::from_bps(8 * 4 * MSS * 10_000);
    pair.open(0, 400 * MSS, Some(rate));
    pair.finish();
    let (delivered, ..) = pair.outcome();
    assert!(delivered.since(Time::ZERO) >= rate.time_for(Bytes(400 * MSS)), "{delivered}");
    assert!(delivered < Time::ZERO + Duration::from_us(10_060), "{delivered}");
    assert_eq!(pair.data_between(0, 20_000), 400, "full segments only");
}

#[test]
fn the_receive_window_bounds_outstanding_data() {
    let mut pair = Pair::new(Params { receive_window: Bytes(64 << 10), ..Params::default() });
    pair.open(0, 500 * MSS, None);
    pair.finish();
    assert_eq!(pair.data_between(500, 590), 44, "64 KiB hold 44 segments");

    let mut pair = Pair::new(Params { mss: 1_024, receive_window: Bytes(1_024), ..Params::default() });
    pair.open(0, 2 * 1_024, None);
    pair.finish();
    assert_eq!(pair.times_us(), [0, 100], "one segment at a time; the FIN takes no room");
}

#[test]
fn delayed_acknowledgements_answer_every_second_segment_and_a_lone_one_in_time() {
    let delayed_ack = Some(Duration::from_us(500));
    let mut pair = Pair::new(Params { delayed_ack, ..Params::default() });
    pair.open(0, 100 * MSS, None);
    pair.finish();
    let acks = pair.sent.iter().filter(|sent| sent.node == 1).count();
    assert!((50..=51).contains(&acks), "{acks}");

    let mut pair = Pair::new(Params { delayed_ack, initial_window: 1, ..Params::default() });
    pair.open(0, 2 * MSS, None);
    pair.finish();
    assert_eq!(pair.times_us(), [0, 600]);
}

#[test]
fn drop_tail_bottlenecks_are_filled_and_shared() {
    for sack in [true, false] {
        let mut pair = Pair::new(Params { sack, ..Params::default() });
        pair.rate = Rate::from_gbps(10);
        pair.queue = 100;
        for _ in 0..4 {
            pair.open(0, 5_000_000, None);
        }
        pair.open(1, 1_000_000, None);
        pair.finish();
        let closed = pair.reports.iter().filter(|(_, _, report)| matches!(report, Report::Closed { .. }));
        assert_eq!(closed.count(), 5);
        let ideal = pair.rate.time_for(Bytes(20_000_000 * 1_500 / 1_460));
        assert!(
            pair.now.since(Time::ZERO) < ideal * (if sack { 11 } else { 12 }) / 10,
            "sack {sack}: {} of {ideal}",
            pair.now
        );
        assert!(pair.sent.iter().any(|sent| !sent.passed), "the queue overflows");
    }
}

#[test]
fn acknowledgements_may_be_lost() {
    let mut pair = Pair::new(Params::default());
    pair.fate = Box::new(|node, n, _| if node == 1 && n % 3 > 0 { Fate::Drop } else { Fate::Pass });
    pair.open(0, 201 * MSS, None);
    pair.finish();
    assert!(pair.outcome().2 <= 1);
}
