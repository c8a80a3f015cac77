#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use raddle_core::{Bytes, Duration};

const LINE: Rate = Rate::from_gbps(40);
const PACKET: u32 = 1_000;

impl ReactionPoint {
    /// True if the limiter limits the rate to less than line rate.
    fn is_active(&self) -> bool {
        self.limit.is_some()
    }

    fn rate(&self) -> Rate {
        self.limit.as_ref().map_or(self.line_rate, |limit| limit.pace.rate())
    }

    fn target_rate(&self) -> Rate {
        self.limit.as_ref().map_or(self.line_rate, |limit| limit.pace.target())
    }
}

fn at_us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// The limiter of a flow that has received `notices` notifications at time zero.
fn notified(notices: u32) -> ReactionPoint {
    let mut point = ReactionPoint::new(Arc::new(Params::default()), LINE);
    (0..notices).for_each(|_| point.notice(Time::ZERO));
    point
}

/// Current rate and target rate in Mb/s.
fn rates(point: &ReactionPoint) -> (f64, f64) {
    (point.rate().as_bps_f64() / 1e6, point.target_rate().as_bps_f64() / 1e6)
}

fn time_cycle(point: &mut ReactionPoint) {
    point.fire(point.timer());
}

/// Sends packets as early as possible until the byte cycle ends. Returns the number of bytes sent.
fn byte_cycle(point: &mut ReactionPoint) -> u64 {
    let mut bytes = 0;
    loop {
        let left = point.limit.as_ref().map(|limit| limit.bytes_left);
        point.sent(point.ready_at(), PACKET);
        bytes += u64::from(PACKET);
        if point.limit.as_ref().map(|limit| limit.bytes_left) > left {
            return bytes;
        }
    }
}

#[test]
fn the_first_notice_halves_the_rate() {
    assert_eq!(rates(&notified(0)), (40_000.0, 40_000.0));
    assert_eq!(rates(&notified(1)), (20_000.0, 40_000.0));
    assert_eq!(rates(&notified(2)), (10_000.0, 20_000.0), "the target rate is the rate before the cut");
    assert_eq!(notified(20).rate(), Params::default().min_rate);
}

#[test]
fn alpha_falls_without_notices_and_rises_with_them() {
    let mut point = notified(1);
    let near = |point: &ReactionPoint, us, alpha: f64| (point.alpha(at_us(us)) - alpha).abs() < 1e-12;
    assert!(near(&point, 0, 1.0) && near(&point, 54, 1.0) && near(&point, 55, 255.0 / 256.0));
    let fallen = (255.0_f64 / 256.0).powi(20);
    assert!(near(&point, 55 * 20, fallen));
    let before = point.rate().as_bps_f64();
    point.notice(at_us(55 * 20));
    assert!((point.rate().as_bps_f64() / before - (1.0 - fallen / 2.0)).abs() < 1e-9);
    let risen = fallen * 255.0 / 256.0 + 1.0 / 256.0;
    assert!(near(&point, 55 * 20, risen) && near(&point, 55 * 21, risen * 255.0 / 256.0));
    assert!(near(&point, 55_000_000, 0.0), "after a minute, alpha is 0");
}

/// Zhu et al., Figure 7: each of the first four cycles of either kind halves the distance to the target rate. From the
/// fifth cycle on, the target rate rises by 40 Mb/s.
#[test]
fn fast_recovery_and_additive_increase() {
    type Cycle = fn(&mut ReactionPoint);
    let cycles: [Cycle; 2] = [time_cycle, |point| {
        byte_cycle(point);
    }];
    for cycle in cycles {
        let mut point = notified(2);
        for (rate, target) in
            [(15e3, 20e3), (17.5e3, 20e3), (18.75e3, 20e3), (19.375e3, 20e3), (19_707.5, 20_040.0)]
        {
            cycle(&mut point);
            assert_eq!(rates(&point), (rate, target));
        }
    }
}

#[test]
fn hyper_increase_beyond_as_many_cycles_of_both_kinds() {
    let mut point = notified(2);
    for _ in 0..5 {
        time_cycle(&mut point);
    }
    let rise = |point: &mut ReactionPoint, cycle: fn(&mut ReactionPoint)| {
        let before = rates(point).1;
        cycle(point);
        (rates(point).1 - before).round() as u64
    };
    let by_bytes = |point: &mut ReactionPoint| {
        byte_cycle(point);
    };
    let rises: Vec<u64> = (0..6).map(|_| rise(&mut point, by_bytes)).collect();
    assert_eq!(rises, [40; 6], "there were only five time cycles");
    assert_eq!([(); 3].map(|()| rise(&mut point, time_cycle)), [200; 3], "there were only six byte cycles");
    assert_eq!([(); 2].map(|()| rise(&mut point, by_bytes)), [400, 600]);
}

#[test]
fn cycles_take_their_time_and_bytes() {
    let mut point = notified(1);
    assert_eq!(point.timer(), at_us(55));
    point.fire(at_us(54));
    assert_eq!(rates(&point), (20_000.0, 40_000.0));
    time_cycle(&mut point);
    assert_eq!(point.timer(), at_us(110));
    assert_eq!(
        byte_cycle(&mut point),
        10_001_000,
        "the cycle ends when the number of bytes left is negative"
    );
    point.notice(at_us(110));
    assert_eq!(point.timer(), at_us(165));
    assert_eq!(byte_cycle(&mut point), 10_001_000, "a notification restarts the byte cycle");
}

#[test]
fn packets_go_at_the_current_rate() {
    let mut point = notified(1);
    point.sent(Time::ZERO, PACKET);
    assert_eq!(point.ready_at().since(Time::ZERO), Rate::from_gbps(20).time_for(Bytes(PACKET.into())));
}

#[test]
fn back_at_line_rate_only_alpha_remains() {
    let mut point = notified(1);
    let cycles = std::iter::from_fn(|| point.is_active().then(|| time_cycle(&mut point))).count();
    // The first notification halves the rate, so after n cycles the rate is 1 - 2^-(n+1) of line rate. For n = 13 this
    // fraction exceeds 0.9999 for the first time.
    assert_eq!(cycles, 13);
    assert_eq!((point.timer(), point.ready_at(), point.rate()), (Time::NEVER, Time::ZERO, LINE));
    point.sent(Time::ZERO, PACKET);
    assert_eq!(point.ready_at(), Time::ZERO);
    point.notice(at_us(55 * 13));
    assert!(rates(&point).0 > 20_000.0, "alpha has fallen meanwhile");
}

#[test]
fn powers_are_products() {
    let mut product = 1.0;
    for n in 0..100 {
        assert!((power(0.9, n) - product).abs() < 1e-12);
        product *= 0.9;
    }
}
