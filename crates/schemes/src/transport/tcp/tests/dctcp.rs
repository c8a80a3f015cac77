//! Tests of DCTCP between two hosts: which packets can be marked, how the receiver echoes marks, and how the sender
//! reacts.

use super::pair::{Fate, Pair};
use super::*;
use raddle_core::Time;
use raddle_wire::Ecn;
use raddle_wire::tcp::{ACK, CWR, ECE, SYN};

const MSS: u64 = 1_460;

#[test]
fn all_but_pure_acknowledgements_can_be_marked() {
    let mut pair = Pair::<Dctcp>::controlled(Params { handshake: true, ..Params::default() });
    pair.open(0, 20 * MSS, None);
    pair.finish();
    for sent in &pair.sent {
        let is_pure = sent.segment.flags == ACK && sent.segment.plen == 0;
        assert_eq!(sent.segment.ecn, if is_pure { Ecn::NotEct } else { Ecn::Ect0 }, "{:?}", sent.segment);
    }
    assert_eq!(pair.sent.iter().filter(|sent| sent.segment.flags & SYN != 0).count(), 2);

    let mut pair = Pair::new(Params::default());
    pair.open(0, 20 * MSS, None);
    pair.finish();
    assert!(pair.sent.iter().all(|sent| sent.segment.ecn == Ecn::NotEct), "NewReno does not use ECN");
}

/// Sends ten segments at once, of which the segments in `marked` are marked. Returns, for each acknowledgement, the
/// total number of acknowledged segments and whether the acknowledgement echoes a mark.
fn answers(delayed_ack: Option<Duration>, marked: &'static [usize]) -> Vec<(u64, bool)> {
    let mut pair = Pair::<Dctcp>::controlled(Params { delayed_ack, ..Params::default() });
    pair.fate =
        Box::new(move |node, n, _| if node == 0 && marked.contains(&n) { Fate::Mark } else { Fate::Pass });
    pair.open(0, 10 * MSS, None);
    pair.finish();
    let answers = pair.sent.iter().filter(|sent| sent.node == 1);
    answers.map(|sent| (u64::from(sent.segment.ack - 1) / MSS, sent.segment.flags & ECE != 0)).collect()
}

/// RFC 8257 §3.2, figure 1. When a segment with a mark follows a segment without a mark, or vice versa, the receiver
/// acknowledges the earlier segments at once. This acknowledgement echoes a mark only if the earlier segments were
/// marked.
#[test]
fn oracle_7_3_delayed_acknowledgements_report_exactly_the_marked_segments() {
    let delayed = |marked| answers(Some(Duration::from_us(500)), marked);
    let (plain, echo) = (false, true);
    assert_eq!(delayed(&[]), [(2, plain), (4, plain), (6, plain), (8, plain), (10, plain)]);
    let in_pairs = [(2, plain), (4, echo), (6, plain), (8, plain), (10, plain)];
    assert_eq!(delayed(&[2, 3]), in_pairs);
    let apart = [(2, plain), (3, plain), (5, echo), (6, echo), (8, plain), (10, plain)];
    assert_eq!(delayed(&[3, 4, 5]), apart);
    let lone = [(1, plain), (2, echo), (4, plain), (6, plain), (8, plain), (9, plain), (10, echo)];
    assert_eq!(delayed(&[1, 9]), lone);
}

#[test]
fn without_delay_each_acknowledgement_says_whether_its_segment_was_marked() {
    let marked = [1, 4, 5, 9];
    let expected: Vec<_> = (0..10).map(|n| (n as u64 + 1, marked.contains(&n))).collect();
    assert_eq!(answers(None, &[1, 4, 5, 9]), expected);
}

#[test]
fn a_mark_on_the_syn_is_ignored() {
    let mut pair = Pair::<Dctcp>::controlled(Params { handshake: true, ..Params::default() });
    pair.fate = Box::new(|_, n, _| if n == 0 { Fate::Mark } else { Fate::Pass });
    pair.open(0, 40 * MSS, None);
    pair.finish();
    assert!(pair.sent.iter().all(|sent| sent.segment.flags & (ECE | CWR) == 0));
    assert_eq!(pair.data_between(200, 290), 20, "slow start continues");
}

/// The segments of the second round trip of slow start are marked. The first acknowledgement of these segments arrives
/// while alpha is still almost 1. This acknowledgement halves the window of 20 segments and ends slow start. The next
/// new segment carries CWR.
#[test]
fn a_marked_window_is_reduced_once_and_told_once() {
    let mut pair = Pair::<Dctcp>::controlled(Params::default());
    pair.fate =
        Box::new(|node, n, _| if node == 0 && (10..30).contains(&n) { Fate::Mark } else { Fate::Pass });
    pair.open(0, 100 * MSS, None);
    pair.finish();
    let rounds: Vec<_> = (0..5).map(|round| pair.data_between(100 * round, 100 * round + 90)).collect();
    assert_eq!(rounds[..2], [10, 20]);
    assert!((10..=11).contains(&rounds[2]), "{rounds:?}");
    assert!(rounds[3] - rounds[2] <= 1 && rounds[4] - rounds[3] <= 1, "{rounds:?}");
    let told: Vec<_> = pair.sent.iter().filter(|sent| sent.segment.flags & CWR != 0).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].segment.plen > 0 && told[0].at >= Time::ZERO + Duration::from_us(200));
    assert_eq!(pair.outcome().2, 0);
}

/// Alpha is 1 at first (RFC 8257 §3.3), so the first marks halve the window. The acknowledgement of a SYN does not
/// change alpha.
#[test]
fn the_first_window_of_marks_halves_the_window_with_or_without_handshake() {
    for (handshake, first) in [(false, 0), (true, 1)] {
        let params = Params { handshake, initial_window: 100, ..Params::default() };
        let mut pair = Pair::<Dctcp>::controlled(params);
        let marked = first..first + 100;
        pair.fate = Box::new(
            move |node, n, _| if node == 0 && marked.contains(&n) { Fate::Mark } else { Fate::Pass },
        );
        pair.open(0, 300 * MSS, None);
        pair.finish();
        let round = 100 * (first as u64 + 1);
        assert_eq!(pair.data_between(round - 100, round - 10), 100, "handshake {handshake}");
        assert_eq!(pair.data_between(round, round + 90), 50, "handshake {handshake}");
    }
}

/// The first segment is lost twice. After a timeout, it is sent a third time, and this copy is marked. The window has
/// already been reduced for the loss, so the mark has no effect, and slow start continues.
#[test]
fn a_mark_on_a_segment_repeated_by_a_timeout_belongs_to_the_same_event() {
    let mut pair = Pair::<Dctcp>::controlled(Params { initial_window: 20, ..Params::default() });
    let mut copies = 0;
    pair.fate = Box::new(move |node, _, segment| {
        copies += u32::from(node == 0 && segment.seq == 1);
        match (node, segment.seq, copies) {
            (0, 1, ..=2) => Fate::Drop,
            (0, 1, 3) => Fate::Mark,
            _ => Fate::Pass,
        }
    });
    pair.open(0, 2_000 * MSS, None);
    pair.finish();
    let third = pair.sent.iter().filter(|sent| sent.node == 0 && sent.segment.seq == 1).nth(2);
    let start = third.expect("a timeout").at.as_ps() / 1_000_000;
    let rounds = (1..5).map(|round| pair.data_between(start + 100 * round, start + 100 * round + 90));
    assert_eq!(rounds.collect::<Vec<_>>(), [1, 2, 4, 8]);
}
