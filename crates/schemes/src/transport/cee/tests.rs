use super::*;
use raddle_core::Duration;

/// A frame of 64 B takes 102.4 ns at 5 Gb/s, even if only a few of its bytes belong to the flow.
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
