//! If a link loses or delays finitely many packets, every flow is delivered once, in order, and closes.

use super::pair::{Fate, Pair};
use super::*;
use proptest::prelude::*;
use raddle_core::Report;

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        3 => Just(Fate::Pass),
        2 => Just(Fate::Drop),
        1 => (1_u64..2_000).prop_map(|us| Fate::Late(Duration::from_us(us))),
    ];
    prop::collection::vec(fate, 0..80)
}

proptest! {
    #[test]
    fn every_flow_is_delivered_once_and_closes(
        sizes in prop::collection::vec(1_u64..60_000, 1..4),
        data in fates(),
        answers in fates(),
        (sack, handshake, delayed) in any::<(bool, bool, bool)>(),
        initial_window in 1_u16..12,
        initial_sequence in prop_oneof![Just(0), Just(u32::MAX - 20_000)],
    ) {
        let delayed_ack = delayed.then_some(Duration::from_us(500));
        let params = Params { syn_tries: u8::MAX, sack, handshake, delayed_ack, initial_window, initial_sequence, ..Params::default() };
        let mut pair = Pair::new(params);
        pair.fate = Box::new(move |node, n, _| {
            let fates = if node == 0 { &data } else { &answers };
            fates.get(n).copied().unwrap_or(Fate::Pass)
        });
        for &size in &sizes {
            pair.open(0, size, None);
        }
        pair.finish();
        // In addition, `Pair` checks that no data is acknowledged or delivered before the data has arrived.
        for end in [|report| matches!(report, Report::Delivered { .. }), |report| matches!(report, Report::Closed { .. })] {
            prop_assert_eq!(pair.reports.iter().filter(|&&(_, _, report)| end(report)).count(), sizes.len());
        }
    }
}
