use super::*;
use raddle_core::Duration;

/// The notice halves the rate to 5 Gb/s. A frame with 1 byte of the flow has the minimum size of 64 bytes, which take
/// 102.4 ns at this rate.
#[test]
fn a_limiter_counts_bytes_on_the_wire() {
    let params = Some(Arc::new(qcn::Params::default()));
    let cee = Cee { node: 0, limiters: params, line_rate: Rate::from_gbps(10), seed: 1, priority: 3 };
    let next = |bytes| {
        let mut limiter = cee.limiter(1);
        cee.notice(Time::ZERO, qcn::MOST_FEEDBACK, &mut limiter);
        limiter.sent(Time::ZERO, bytes, false);
        limiter.ready_at().since(Time::ZERO)
    };
    assert_eq!([1, 64, 1_500].map(next), [102_400, 102_400, 2_400_000].map(Duration::from_ps));
}
