use super::*;
use proptest::prelude::*;
use raddle_core::Bytes;

const LINE: Rate = Rate::from_gbps(10);
const FRAME: u32 = 1_500;

impl ReactionPoint {
    /// True if the limiter is active.
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

fn point(params: Params) -> ReactionPoint {
    ReactionPoint::new(Arc::new(params), LINE, Stream::new(1, 0, "test"))
}

fn notified(params: Params, notices: u32) -> ReactionPoint {
    let mut point = point(params);
    (0..notices).for_each(|_| point.notice(Time::ZERO, 63));
    point
}

/// Current rate and target rate in Gb/s.
fn rates(point: &ReactionPoint) -> (f64, f64) {
    (point.rate().as_bps_f64() / 1e9, point.target_rate().as_bps_f64() / 1e9)
}

fn stages(point: &ReactionPoint) -> (u32, u32) {
    point.limit.as_ref().map_or((0, 0), |limit| (limit.byte_stage, limit.time_stage))
}

/// Sends full frames from a queue that is never empty, each at the earliest possible time, until the byte cycle ends.
/// Returns the number of bytes sent.
fn byte_cycle(point: &mut ReactionPoint) -> u64 {
    let (stage, _) = stages(point);
    let mut bytes = 0;
    while stages(point).0 == stage {
        point.sent(point.ready_at(), FRAME, false);
        bytes += u64::from(FRAME);
    }
    bytes
}

#[test]
fn oracle_8_8_five_halvings_then_active_increase() {
    let mut point = notified(Params::default(), 1);
    assert_eq!(rates(&point), (5.0, 10.0));
    let recovery = [7.5, 8.75, 9.375, 9.6875, 9.84375, 9.921_875];
    for rate in recovery {
        byte_cycle(&mut point);
        assert_eq!(rates(&point), (rate, 10.0), "a target at line rate rises no more");
    }
}

#[test]
fn oracle_8_8_a_byte_cycle_at_half_rate_takes_240_us() {
    let mut point = notified(Params::default(), 1);
    assert_eq!(byte_cycle(&mut point), 151_500, "the cycle ends below zero");
    // The cycle's last frame begins after 100 frames at 5 Gb/s. The cycle's end raises the rate to 7.5 Gb/s, which
    // determines the start of the next frame.
    let last = point.rate().time_for(Bytes(1_500));
    assert_eq!(point.ready_at().since(Time::ZERO), Duration::from_us(240) + last);
}

#[test]
fn oracle_8_8_extra_fast_recovery_keeps_the_target() {
    assert_eq!(rates(&notified(Params::default(), 2)), (2.5, 10.0));
    let without = Params { efr: false, ..Params::default() };
    assert_eq!(rates(&notified(without, 2)), (2.5, 5.0));
    let mut later = notified(Params::default(), 1);
    byte_cycle(&mut later);
    later.notice(later.ready_at(), 63);
    assert_eq!(rates(&later), (3.75, 7.5), "after a byte cycle a notice sets it");
    assert_eq!(stages(&later), (0, 0));
}

#[test]
fn oracle_8_8_target_rate_reduction() {
    for (trr, after) in [(true, (0.937_5, 1.25)), (false, (5.312_5, 10.0))] {
        let mut point = notified(Params { trr, ..Params::default() }, 4);
        assert_eq!(rates(&point), (0.625, 10.0));
        byte_cycle(&mut point);
        assert_eq!(rates(&point), after);
    }
}

#[test]
fn oracle_8_8_seventeen_halvings_to_the_floor() {
    let floor = Params::default().min_rate;
    let mut point = notified(Params::default(), 16);
    assert!(point.rate() > floor);
    point.notice(Time::ZERO, 63);
    assert_eq!(point.rate(), floor);
    point.notice(Time::ZERO, 63);
    assert_eq!(point.rate(), floor);
}

/// The column "factor" of oracle 8.7 in specifications/cee.md.
#[test]
fn oracle_8_7_factors() {
    for (feedback, factor) in [(56, 0.555_6), (63, 0.5), (25, 0.801_6), (2, 0.984_1)] {
        let mut point = point(Params::default());
        point.notice(Time::ZERO, feedback);
        let rate = point.rate().as_bps_f64() / LINE.as_bps_f64();
        assert!((rate - factor).abs() < 5e-5, "{feedback}: {rate}");
    }
}

/// After the second notice no frame is sent, so only time cycles end. Each of the first six cycles takes 15 ms on
/// average, and each later cycle takes half as long. The target begins to rise at the end of the sixth cycle.
#[test]
fn time_cycles() {
    let mut point = notified(Params::default(), 1);
    // A second notice sets the target to 7.5 Gb/s. This is below the line rate, so the target can rise.
    byte_cycle(&mut point);
    point.notice(Time::ZERO, 63);
    let (mut now, mut target) = (Time::ZERO, 7.5);
    for stage in 1..=8 {
        let cycle = point.timer().since(now).as_secs_f64();
        let mean = if stage > 6 { 0.007_5 } else { 0.015 };
        assert!((0.85..=1.15).contains(&(cycle / mean)), "cycle {stage} takes {cycle} s");
        now = point.timer();
        point.fire(now);
        target += if stage > 5 { 0.005 } else { 0.0 };
        assert!((rates(&point).1 - target).abs() < 1e-9, "stage {stage}: {:?}", rates(&point));
    }
}

#[test]
fn the_timer_fires_once_and_not_before_its_time() {
    let mut point = notified(Params::default(), 1);
    let timer = point.timer();
    point.fire(Time::from_ps(timer.as_ps() - 1));
    assert_eq!(stages(&point), (0, 0));
    point.fire(timer);
    point.fire(timer);
    assert_eq!(stages(&point), (0, 1));
    assert_eq!(rates(&point), (7.5, 10.0));
}

/// A limiter with current rate and target of 1 Gb/s, after the given numbers of byte cycles and time cycles.
fn after_cycles(params: &Params, byte_stage: u32, time_stage: u32) -> Limit {
    let mut pace = RecoveringRate::new(LINE, Time::ZERO);
    pace.cut(Time::ZERO, 0.1, params.min_rate);
    pace.aim_here();
    Limit { byte_stage, time_stage, ..Limit::new(pace, params) }
}

#[test]
fn oracle_3_3_machines_raise_the_target_by_their_own_counts() {
    let step = |machine, byte_stage, time_stage| {
        let params = Params { machine, ..Params::default() };
        let mut limit = after_cycles(&params, byte_stage, time_stage);
        limit.increase(Time::ZERO, &params);
        (limit.pace.target().as_bps() - 1_000_000_000) / 1_000_000
    };
    let steps = [(4, 4), (5, 0), (0, 5), (6, 5), (5, 5), (6, 6), (9, 8)];
    assert_eq!(steps.map(|(bytes, time)| step(Machine::V22, bytes, time)), [0, 0, 0, 5, 0, 50, 150]);
    assert_eq!(steps.map(|(bytes, time)| step(Machine::Dot1q, bytes, time)), [0, 5, 5, 50, 50, 100, 200]);
}

#[test]
fn oracle_3_3_cycles_halve_per_counter_or_in_hyper_increase_only() {
    let shortening = |machine, byte_stage, time_stage, stage| {
        let params = Params { machine, ..Params::default() };
        after_cycles(&params, byte_stage, time_stage).shortening(&params, stage)
    };
    assert_eq!([5, 6].map(|stage| shortening(Machine::V22, stage, 0, stage)), [1, 2]);
    assert_eq!([0, 4, 5].map(|time| shortening(Machine::Dot1q, 9, time, 9)), [1, 1, 2]);
}

#[test]
fn a_limiter_is_done_when_it_is_at_line_rate_with_nothing_to_send() {
    let mut point = notified(Params::default(), 1);
    let mut cycles = 0;
    while point.rate() < LINE {
        byte_cycle(&mut point);
        cycles += 1;
    }
    // The first cycle begins at half the line rate, so 13 cycles bring the rate to 1 - 2^-14 of the line rate. A rate
    // above 0.9999 of the line rate counts as line rate.
    assert_eq!(cycles, 13);
    point.sent(point.ready_at(), FRAME, false);
    assert!(point.is_active(), "frames wait");
    point.sent(point.ready_at(), FRAME, true);
    assert!(!point.is_active());
    assert_eq!((point.timer(), point.ready_at(), point.rate()), (Time::NEVER, Time::ZERO, LINE));
}

/// A limiter whose queue is empty recovers by time cycles alone and then becomes inactive, so that the simulation can
/// end.
#[test]
fn a_limiter_of_an_empty_queue_is_done_some_time() {
    let mut point = notified(Params::default(), 3);
    point.sent(Time::ZERO, FRAME, true);
    let mut cycles = 0;
    while point.is_active() {
        point.fire(point.timer());
        cycles += 1;
    }
    // The rate starts at 1/8 of the line rate, and each cycle halves the distance to the line rate. After 14 cycles the
    // distance is less than 0.0001 of the line rate.
    assert_eq!((cycles, point.timer()), (14, Time::NEVER));
}

#[test]
fn without_notices_no_frame_is_held_back() {
    let mut point = point(Params::default());
    point.notice(Time::ZERO, 0);
    point.sent(Time::ZERO, FRAME, false);
    point.fire(Time::NEVER);
    assert!(!point.is_active() && point.ready_at() == Time::ZERO);
}

proptest! {
    /// For all sequences of events: rates stay between the lowest rate and line rate, and a notice cuts the rate by at
    /// most half. After a frame, an active limiter delays the next frame by the transmission time of a frame at the
    /// current rate.
    #[test]
    fn rates_stay_in_their_range(events in prop::collection::vec((0_u8..4, 0_u8..64, 0_u64..30_000), 1..300)) {
        let mut point = point(Params::default());
        let mut now = Time::ZERO;
        for (event, feedback, us) in events {
            let before = point.rate().as_bps();
            match event {
                0 => {
                    point.notice(now, feedback);
                    prop_assert!(point.rate().as_bps() >= (before / 2).max(100_000));
                    prop_assert!(point.rate().as_bps() <= before);
                }
                1 => {
                    now += Duration::from_us(us);
                    point.fire(now);
                    prop_assert!(point.rate().as_bps() >= before);
                }
                _ => {
                    now = now.max(point.ready_at());
                    point.sent(now, FRAME, false);
                    prop_assert!(point.rate().as_bps() >= before);
                    let least = point.rate().time_for(Bytes(FRAME.into()));
                    prop_assert_eq!(point.ready_at(), if point.is_active() { now + least } else { Time::ZERO });
                }
            }
            prop_assert!(point.rate() <= point.target_rate() && point.target_rate() <= LINE);
        }
    }
}
