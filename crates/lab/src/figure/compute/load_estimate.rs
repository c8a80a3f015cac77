//! `[compute] kind = "load-estimate"`: how fast the load estimate of CONGA and Expeditus follows a link whose load
//! steps from idle to line rate and back. For each of `intervals`, which are times between two decays of the estimator,
//! there are two results in us. `rise` lasts from the first packet until the estimate is at its greatest value. `fall`
//! lasts from the end of the last packet until the estimate is 0, rounded up to a whole number of intervals.

use super::keys::{ESTIMATE_ALPHA, ESTIMATE_RATE, FRAME, INTERVALS};
use super::run;
use crate::experiment::{Problem, Section};
use crate::figure::runs::{Data, Run};
use raddle_core::{Bytes, Dre, DreRegister, Duration, Rate, Time};

/// Number of bits of a load, both in CONGA and in Expeditus.
const BITS: u32 = 3;

/// Computes both times for every interval.
pub(super) fn follow(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let (intervals, rate) = (section.read(&INTERVALS)?, section.read(&ESTIMATE_RATE)?);
    let (alpha, frame) = (section.read(&ESTIMATE_ALPHA)?, section.read(&FRAME)?);
    let numbers = |interval: &Duration| {
        let [rise, fall] = steps(&Dre::new(*interval, alpha, BITS), rate, frame.0, *interval);
        let label = interval.to_string();
        [("rise", rise), ("fall", fall)].map(|(quantity, time)| {
            let labels = [("quantity", quantity), ("interval", &*label)];
            run(&labels, Data::Number(time.as_ns_f64() / 1e3))
        })
    };
    Ok(intervals.iter().flat_map(numbers).collect())
}

/// The times that the rise and the fall of the load estimate take.
fn steps(dre: &Dre, rate: Rate, frame: u64, interval: Duration) -> [Duration; 2] {
    let frame = u32::try_from(frame).unwrap_or(u32::MAX);
    let gap = rate.time_for(Bytes(frame.into()));
    let (mut register, mut now) = (DreRegister::default(), Time::ZERO);
    while dre.load(&register, now, rate) < dre.most() {
        dre.count(&mut register, now, frame);
        now += gap;
    }
    let rise = now.since(Time::ZERO);
    let last = now;
    while dre.load(&register, now, rate) > 0 {
        now += interval;
    }
    [rise, now.since(last)]
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;

    /// specifications/expeditus.md §11.1: at line rate, the estimate first reaches 7, its greatest value, just before
    /// the 20th decay. After 20 decays without traffic, it is below 1.
    #[test]
    fn the_estimate_follows_a_step_within_twenty_intervals() {
        let text =
            "[compute]\nkind = \"load-estimate\"\nrate = \"10 Gbps\"\nintervals = [\"20 us\", \"1 ms\"]\n";
        let numbers = numbers(text).expect("times");
        let names: Vec<String> =
            numbers.iter().map(|(labels, _)| format!("{} {}", labels[0].1, labels[1].1)).collect();
        assert_eq!(names, ["rise 20 us", "fall 20 us", "rise 1 ms", "fall 1 ms"]);
        let times: Vec<f64> = numbers.into_iter().map(|(_, time)| time).collect();
        for (time, interval) in times.iter().zip([20.0, 20.0, 1_000.0, 1_000.0]) {
            assert!((18.0..=21.0).contains(&(time / interval)), "{times:?}");
        }
        assert!(super::super::tests::numbers(&text.replace("\"20 us\"", "\"0 us\"")).is_err());
    }
}
