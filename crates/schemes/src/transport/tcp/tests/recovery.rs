//! Tests of loss recovery and timeouts.

use super::pair::{Fate, Pair};
use super::*;
use raddle_core::Time;

const MSS: u64 = 1_460;

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

#[test]
fn three_duplicates_repeat_the_lost_segment_at_once() {
    for sack in [true, false] {
        let mut pair = Pair::losing(Params { sack, ..Params::default() }, &[3]);
        pair.open(0, 10 * MSS, None);
        pair.finish();
        let (delivered, _, retransmissions) = pair.outcome();
        assert_eq!(retransmissions, 1 + u32::from(sack), "the lost segment and, with SACK, the rescue");
        assert!(delivered < us(151), "one round trip and a half: {delivered}");
        // Segment 6 causes the third duplicate acknowledgement. When this acknowledgement arrives, host 0 sends the
        // retransmission, its 11th segment.
        let repeat = pair.sent.iter().filter(|sent| sent.node == 0).nth(10).expect("a repeat");
        let answers = pair.sent.iter().filter(|s| s.node == 1 && s.at + Duration::from_us(50) < repeat.at);
        assert_eq!(answers.count(), 6, "the acknowledgements of segments 0, 1 and 2, and three duplicates");
    }
}

#[test]
fn sack_repairs_many_losses_of_a_window_in_one_round_trip() {
    let lost = [30, 33, 34, 40, 47, 51];
    let mut pair = Pair::losing(Params::default(), &lost);
    pair.open(0, 70 * MSS, None);
    pair.finish();
    let (delivered, _, retransmissions) = pair.outcome();
    assert_eq!(retransmissions, 7, "each lost segment once, and the rescue");
    // Segments 30 to 69 leave at 200 us, and their acknowledgements arrive at 300 us. The retransmissions then arrive
    // at 350 us, or at 450 us if the halved window delays them.
    assert!(delivered < us(451), "{delivered}");
}

#[test]
fn newreno_repairs_one_loss_a_round_trip_without_a_timeout() {
    let lost = [30, 33, 34, 40, 47, 51];
    let mut pair = Pair::losing(Params { sack: false, ..Params::default() }, &lost);
    pair.open(0, 70 * MSS, None);
    pair.finish();
    let (delivered, _, retransmissions) = pair.outcome();
    assert_eq!(retransmissions, 6);
    assert!(
        us(851) > delivered && delivered > us(849),
        "six repeats, 100 us apart, from 300 us on: {delivered}"
    );
}

#[test]
fn reno_repairs_one_loss_without_a_timeout_and_takes_the_next_for_another() {
    let outcome = |lost: &[usize]| {
        let lost = lost.to_vec();
        let params = Params { sack: false, ..Params::default() };
        let mut pair: Pair<Reno> = Pair::controlled(params);
        pair.fate =
            Box::new(move |node, n, _| if node == 0 && lost.contains(&n) { Fate::Drop } else { Fate::Pass });
        pair.open(0, 70 * MSS, None);
        pair.finish();
        // Returns the delivery time and the number of retransmissions.
        (pair.outcome().0, pair.outcome().2)
    };
    let (one, repeats) = outcome(&[30]);
    assert_eq!(repeats, 1);
    assert!(one < us(451), "{one}");
    // NewReno would repair three losses in three round trips. Reno needs a timeout of 1 ms.
    let (three, _) = outcome(&[30, 33, 36]);
    assert!(three > us(1_000), "a window that was halved twice yields no third fast retransmit: {three}");
}

#[test]
fn the_end_of_a_window_is_rescued_by_one_repeat() {
    // Segment 29 is the last segment, so no later SACK can show that it is lost.
    let mut pair = Pair::losing(Params { min_rto: Duration::from_ms(10), ..Params::default() }, &[12, 29]);
    pair.open(0, 30 * MSS, None);
    pair.finish();
    let (delivered, _, retransmissions) = pair.outcome();
    assert_eq!(retransmissions, 2);
    assert!(delivered < us(351), "no timeout: {delivered}");
}

#[test]
fn a_lost_tail_waits_for_the_timeout() {
    let mut pair = Pair::losing(Params::default(), &[9]);
    pair.open(0, 10 * MSS, None);
    pair.finish();
    let (delivered, _, retransmissions) = pair.outcome();
    assert_eq!(retransmissions, 1);
    assert!(us(1_100) < delivered && delivered < us(1_200), "1 ms after the last answer: {delivered}");
}

#[test]
fn timeouts_back_off_and_start_again_from_one_segment() {
    for sack in [true, false] {
        let mut pair = Pair::new(Params { sack, ..Params::default() });
        pair.fate = Box::new(|node, n, _| if node == 0 && n < 13 { Fate::Drop } else { Fate::Pass });
        pair.open(0, 10 * MSS, None);
        pair.finish();
        // 10 segments leave at once and are lost. Then one segment leaves after each timeout of 5, 10, 20 and 40 ms,
        // and only the last of these arrives. Then slow start begins.
        let start = 75_000;
        let mut expected = vec![0; 10];
        expected.extend([5_000, 15_000, 35_000, start, start + 100, start + 100]);
        expected.extend([start + 200; 4]);
        expected.extend([start + 300; 3]);
        assert_eq!(pair.times_us(), expected, "sack {sack}");
        assert_eq!(pair.outcome().2, 13);
    }
}

#[test]
fn a_repeated_segment_is_not_timed() {
    // The first segment is retransmitted, so its acknowledgement does not measure the round trip (Karn). The second
    // segment therefore has the doubled initial timeout of 10 ms.
    let mut pair = Pair::losing(Params { initial_window: 1, ..Params::default() }, &[0, 2]);
    pair.open(0, 2 * MSS, None);
    pair.finish();
    assert_eq!(pair.times_us(), [0, 5_000, 5_100, 15_100]);
}

#[test]
fn a_timeout_retransmits_only_segments_that_are_not_sacked() {
    // Segment 5 and its first retransmission are lost, so only a timeout can repair the loss.
    let mut pair = Pair::losing(Params::default(), &[5, 20]);
    let (mut first, lost) = (0, 5 * 1_460 + 1);
    pair.fate = Box::new(move |_, _, segment| {
        first += u32::from(segment.plen > 0 && segment.seq == lost);
        if segment.plen > 0 && segment.seq == lost && first <= 2 { Fate::Drop } else { Fate::Pass }
    });
    pair.open(0, 20 * MSS, None);
    pair.finish();
    assert_eq!(pair.outcome().2, 3, "fast retransmit, rescue, timeout");
}

#[test]
fn duplicates_of_needless_repeats_start_no_recovery() {
    // Segment 0 is lost twice, and segments 1, 3 and 7 once. After the timeout, all segments are retransmitted,
    // although the receiver has most of them. The receiver answers with duplicate acknowledgements at `recover`, which
    // must not start a recovery (RFC 6582 §3.2, step 1, and §4.1).
    let segment_number = |segment: &Segment| u64::from(segment.seq) / MSS;
    let mut losses = vec![0, 0, 1, 3, 7];
    let initial_rto = Duration::from_ms(1);
    let mut pair = Pair::new(Params { sack: false, initial_window: 20, initial_rto, ..Params::default() });
    pair.fate = Box::new(move |node, _, segment| {
        let lost = losses.iter().position(|&n| node == 0 && n == segment_number(segment));
        lost.map_or(Fate::Pass, |i| {
            losses.remove(i);
            Fate::Drop
        })
    });
    pair.open(0, 200 * MSS, None);
    pair.finish();
    let data = || pair.sent.iter().filter(|sent| sent.node == 0);
    let recover =
        data().filter(|s| s.at < us(1_000)).map(|s| segment_number(&s.segment)).max().expect("data");
    let beyond = data().filter(|s| segment_number(&s.segment) > recover).count() as u64;
    assert_eq!(beyond, 199 - recover, "each new segment is sent once");
}

#[test]
fn slight_reordering_repeats_nothing_and_more_does_no_harm() {
    for (late, most) in [(2, 0), (400, 3)] {
        let mut pair = Pair::new(Params::default());
        pair.rate = raddle_core::Rate::from_gbps(12); // a segment of 1,500 B takes 1 us
        pair.fate = Box::new(move |node, n, _| match n {
            20 | 50 if node == 0 => Fate::Late(Duration::from_us(late)),
            _ => Fate::Pass,
        });
        pair.open(0, 100 * MSS, None);
        pair.finish();
        assert!(pair.outcome().2 <= most, "{late} us late: {}", pair.outcome().2);
    }
}

#[test]
fn a_lost_syn_does_not_hide_the_loss_of_the_first_segment() {
    for sack in [true, false] {
        let mut pair = Pair::losing(Params { sack, handshake: true, ..Params::default() }, &[0, 2]);
        pair.open(0, 10 * MSS, None);
        pair.finish();
        let (delivered, ..) = pair.outcome();
        assert!(delivered < us(5_300), "sack {sack}: by duplicates, not by another timeout: {delivered}");
    }
}
