//! Tests of the start and the end of flows: handshake, FIN, flow keys, and sequence numbers that wrap.

use super::pair::{Fate, Pair};
use super::sender::Sender;
use super::*;
use raddle_core::{FlowId, Report, Time};
use raddle_wire::tcp::{ACK, FIN, SYN};

const MSS: u64 = 1_460;

#[test]
fn a_flow_of_one_segment_takes_one_packet_each_way() {
    let mut pair = Pair::new(Params::default());
    pair.open(0, 100, None);
    pair.finish();
    let [data, ack] = pair.sent[..] else { panic!("{:?}", pair.sent) };
    assert_eq!((data.size, data.segment.flags, data.segment.seq), (140, ACK | FIN, 1));
    assert_eq!((ack.size, ack.segment.flags, ack.segment.ack), (40, ACK, 102));
    let key = data.segment.key();
    let reports: Vec<_> = pair.reports.iter().map(|&(_, node, report)| (node, report)).collect();
    assert_eq!(
        reports,
        [
            (0, Report::Opened { flow: FlowId(0), key }),
            (1, Report::Delivered { key, reorder_peak: 0 }),
            (0, Report::Closed { key, retransmissions: 0 }),
        ]
    );
}

#[test]
fn an_initial_window_of_full_segments_goes_out_at_once() {
    let mut pair = Pair::new(Params::default());
    pair.open(0, 10 * MSS, None);
    assert_eq!(pair.sent.len(), 10, "the FIN takes no room");
}

#[test]
fn a_lost_last_acknowledgement_is_given_again() {
    let mut pair = Pair::new(Params::default());
    pair.fate = Box::new(|node, n, _| if node == 1 && n < 3 { Fate::Drop } else { Fate::Pass });
    pair.open(0, 100, None);
    pair.finish();
    assert_eq!(pair.outcome().2, 3);
}

#[test]
fn handshake_comes_before_data() {
    let mut pair = Pair::new(Params { handshake: true, ..Params::default() });
    pair.open(0, 12 * MSS, None);
    pair.finish();
    let flags: Vec<_> = pair.sent.iter().take(3).map(|sent| (sent.node, sent.segment.flags)).collect();
    assert_eq!(flags, [(0, SYN), (1, SYN | ACK), (0, ACK)]);
    assert_eq!(pair.data_between(100, 190), 10);
    assert_eq!(pair.outcome().2, 0);
}

#[test]
fn a_lost_syn_or_syn_ack_costs_the_initial_timeout_doubling() {
    for loser in [0, 1] {
        let mut pair = Pair::new(Params { handshake: true, ..Params::default() });
        pair.fate = Box::new(move |node, n, _| if node == loser && n < 2 { Fate::Drop } else { Fate::Pass });
        pair.open(0, 3 * MSS, None);
        pair.finish();
        // The SYN or the SYN-ACK is lost twice, so the window after the handshake is one segment.
        assert_eq!(pair.times_us(), [0, 5_000, 15_000, 15_100, 15_200, 15_200]);
    }
}

#[test]
fn the_syn_s_timeout_is_its_own_and_data_start_afresh() {
    let syn_timeout = Duration::from_ms(3_000);
    let initial_rto = Duration::from_us(200);
    let params = Params { handshake: true, syn_timeout, initial_rto, initial_window: 1, ..Params::default() };
    let mut pair = Pair::losing(params, &[0, 2]);
    pair.open(0, MSS, None);
    pair.finish();
    assert_eq!(pair.times_us(), [0, 3_000_000, 3_000_100, 3_000_300]);
}

#[test]
fn a_flow_whose_syns_are_not_answered_is_given_up() {
    let mut pair = Pair::new(Params { handshake: true, syn_tries: 3, ..Params::default() });
    pair.fate = Box::new(|node, _, _| if node == 1 { Fate::Drop } else { Fate::Pass });
    pair.open(0, MSS, None);
    pair.finish();
    assert_eq!(pair.times_us(), [0, 5_000, 15_000]);
    let closed = pair.reports.iter().any(|(_, _, report)| matches!(report, Report::Closed { .. }));
    assert!(!closed);
}

#[test]
fn sequence_numbers_wrap_on_the_wire() {
    for handshake in [true, false] {
        let initial_sequence = u32::MAX - 30_000;
        let mut pair =
            Pair::losing(Params { handshake, initial_sequence, ..Params::default() }, &[15, 21, 29, 40]);
        pair.open(0, 100 * MSS, None);
        pair.finish();
        assert_eq!(pair.outcome().2, 4);
        assert!(pair.outcome().0 < Time::ZERO + Duration::from_us(1_000));
    }
}

#[test]
fn wide_sequence_numbers_follow_the_wire_past_4_gib() {
    let initial = 0xFFFF_FF00;
    for near in [0_u64, 1 << 31, (1 << 32) - 1, 5 << 32] {
        for ahead in [-70_000_i64, -1, 0, 1, 70_000] {
            let sequence = near.checked_add_signed(ahead);
            let wire = wrap_sequence(near.wrapping_add_signed(ahead), initial);
            assert_eq!(unwrap_sequence(wire, near, initial), sequence);
        }
    }
}

#[test]
fn flows_have_names_of_their_own() {
    let mut pair = Pair::new(Params::default());
    for _ in 0..200 {
        pair.open(0, 100, None);
        pair.open(1, 100, None);
    }
    pair.finish();
    let mut keys: Vec<_> = pair
        .reports
        .iter()
        .filter_map(|&(_, _, report)| match report {
            Report::Closed { key, .. } => Some(key),
            _ => None,
        })
        .collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 400);
}

#[test]
fn reordering_is_reported_in_packets() {
    let mut pair = Pair::losing(Params::default(), &[2]);
    pair.open(0, 10 * MSS, None);
    pair.finish();
    let peak = pair.reports.iter().find_map(|&(_, _, report)| match report {
        Report::Delivered { reorder_peak, .. } => Some(reorder_peak),
        _ => None,
    });
    assert_eq!(peak, Some(7));
}

#[test]
fn stray_segments_are_harmless() {
    let mut pair = Pair::new(Params::default());
    pair.open(0, 100, None);
    pair.finish();
    let before = pair.reports.len();
    let ack = pair.sent[1].segment;
    pair.inject(0, Segment { ack: 7_000_000, ..ack });
    pair.inject(0, Segment { src_port: 1, ..ack });
    pair.finish();
    assert_eq!(pair.reports.len(), before);
}

#[test]
fn a_live_flow_stays_within_its_memory_budget() {
    assert!(size_of::<Sender<NewReno>>() <= 512, "{}", size_of::<Sender<NewReno>>());
    assert!(size_of::<receiver::Receiver>() <= 256, "{}", size_of::<receiver::Receiver>());
}
