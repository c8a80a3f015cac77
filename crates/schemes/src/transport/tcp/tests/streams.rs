//! Tests of streams: flows whose size is unknown when they begin.

use super::pair::{Fate, Pair};
use super::*;
use proptest::prelude::*;
use raddle_core::{FlowId, Input, Report, Time};
use raddle_wire::tcp::{ACK, FIN};

const STREAMS: fn() -> Params = || Params { streams: true, ..Params::default() };

/// The flags, the sequence number and the payload bytes of each data segment and each FIN that host 0 sent.
fn sent(pair: &Pair) -> Vec<(u8, u32, u16)> {
    let segments = pair.sent.iter().filter(|sent| sent.node == 0).map(|sent| sent.segment);
    segments.map(|segment| (segment.flags, segment.seq, segment.plen)).collect()
}

fn reports(pair: &Pair) -> Vec<Report> {
    pair.reports[1..].iter().map(|&(.., report)| report).collect()
}

#[test]
fn bytes_go_out_as_they_come_and_the_fin_when_the_stream_is_closed() {
    let mut pair = Pair::new(STREAMS());
    let stream = pair.open_stream();
    assert!(sent(&pair).is_empty(), "nothing to send");
    pair.append(stream, 0);
    pair.append(stream, 100);
    pair.append(stream, 2_000);
    let segments = [(ACK, 1, 100), (ACK, 101, 1_460), (ACK, 1_561, 540)];
    assert_eq!(sent(&pair), segments);
    pair.finish();
    assert_eq!(sent(&pair).len(), 3, "all data is acknowledged, and no timer runs");
    pair.tell(Input::Close { flow: stream });
    assert_eq!(sent(&pair)[3..], [(ACK | FIN, 2_101, 0)]);
    // The host ignores a second close, bytes that are appended after the close, and bytes for an unknown stream.
    pair.tell(Input::Close { flow: stream });
    pair.tell(Input::Append { flow: stream, bytes: Bytes(7) });
    pair.tell(Input::Append { flow: FlowId(9), bytes: Bytes(7) });
    pair.finish();
    assert_eq!(sent(&pair).len(), 4);
    let key = pair.sent[0].segment.key();
    let (in_order, acked) =
        (|to| Report::InOrder { key, to: Bytes(to) }, |to| Report::Acked { key, to: Bytes(to) });
    let ends = [Report::Delivered { key, reorder_peak: 0 }, Report::Closed { key, retransmissions: 0 }];
    let expected = [
        [in_order(100), in_order(1_560), in_order(2_100), acked(100), acked(1_560), acked(2_100)].to_vec(),
        ends.to_vec(),
    ];
    assert_eq!(reports(&pair), expected.concat());
}

#[test]
fn the_last_bytes_carry_the_fin_if_they_wait_when_the_stream_is_closed() {
    let mut pair = Pair::new(Params { initial_window: 1, ..STREAMS() });
    let stream = pair.open_stream();
    pair.append(stream, 1_500);
    pair.tell(Input::Close { flow: stream });
    pair.finish();
    assert_eq!(sent(&pair), [(ACK, 1, 1_460), (ACK | FIN, 1_461, 40)]);
}

#[test]
fn an_end_that_is_lost_is_sent_again() {
    for fates in [[true, false], [false, true], [true, true]] {
        let mut pair = Pair::new(STREAMS());
        pair.fate =
            Box::new(move |node, n, _| if node == 0 && n < 2 && fates[n] { Fate::Drop } else { Fate::Pass });
        let stream = pair.open_stream();
        pair.append(stream, 100);
        pair.run(Time::from_ps(1));
        pair.tell(Input::Close { flow: stream });
        pair.finish();
        assert_eq!(sent(&pair).len(), 3, "{fates:?}: lost data is retransmitted in one segment");
        assert_eq!(reports(&pair).iter().filter(|report| matches!(report, Report::Closed { .. })).count(), 1);
    }
}

#[test]
fn hosts_that_nobody_asks_report_no_bytes() {
    let mut pair = Pair::new(Params::default());
    pair.open(0, 100_000, None);
    pair.finish();
    let told = |report: &Report| matches!(report, Report::Acked { .. } | Report::InOrder { .. });
    assert!(!reports(&pair).iter().any(told));
    let mut pair = Pair::new(STREAMS());
    pair.open(0, 100_000, None);
    pair.finish();
    let reports = reports(&pair);
    let key = pair.sent[0].segment.key();
    let whole = [Report::InOrder { key, to: Bytes(100_000) }, Report::Acked { key, to: Bytes(100_000) }];
    assert!(
        whole.iter().all(|report| reports.contains(report)),
        "bytes of flows of known size are reported too"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Besides the assertions below, `Pair` checks that no byte is acknowledged or delivered before it has arrived.
    #[test]
    fn any_pieces_arrive_over_any_losses(
        pieces in prop::collection::vec((0_u64..5_000, 0_u64..400), 0..40),
        losses in prop::collection::vec((0..2_usize, 0..80_usize), 0..30),
        sack in any::<bool>(),
        handshake in any::<bool>(),
        delayed_ack in prop::option::of(Just(Duration::from_us(200))),
    ) {
        let params = Params { sack, handshake, delayed_ack, syn_tries: u8::MAX, ..STREAMS() };
        let mut pair = Pair::new(params);
        pair.fate = Box::new(move |node, n, _| if losses.contains(&(node, n)) { Fate::Drop } else { Fate::Pass });
        let stream = pair.open_stream();
        let mut total = 0;
        for (bytes, pause) in pieces {
            pair.append(stream, bytes);
            total += bytes;
            let until = pair.now + Duration::from_us(pause);
            pair.run(until);
            pair.now = until;
        }
        pair.tell(Input::Close { flow: stream });
        pair.finish();
        let (mut in_order, mut acked) = (Bytes(0), Bytes(0));
        for report in reports(&pair) {
            match report {
                Report::InOrder { to, .. } => {
                    prop_assert!(to > in_order);
                    in_order = to;
                }
                Report::Acked { to, .. } => {
                    prop_assert!(acked < to && to <= in_order);
                    acked = to;
                }
                _ => {}
            }
        }
        prop_assert_eq!((in_order, acked), (Bytes(total), Bytes(total)));
        let ends = reports(&pair).iter().filter(|report| matches!(report, Report::Delivered { .. } | Report::Closed { .. })).count();
        prop_assert_eq!(ends, 2);
    }
}
