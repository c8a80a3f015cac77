//! Times at which the frames of an application with a rate are produced (specifications/cee.md §6.1).

use crate::{Bytes, Duration, Process, Rate, Stream, Time};

/// An endless iterator over the birth times of the frames of one flow or of one host, in order.
///
/// A slot is the time that one frame takes at line rate, and the load is the share of slots that have a frame. Poisson
/// births occur at any time. Births of the constant process are evenly spaced. Births of the other processes occur at
/// the starts of slots. Except for Poisson, the first slot begins at a random time, less than one slot after the start.
///
/// | process | slots from the birth of a frame to the next birth |
/// |---|---|
/// | constant | 1 / load, exactly |
/// | Bernoulli | geometric, mean 1 / load |
/// | Poisson | exponential, mean 1 / load; need not be whole |
/// | on/off | 1 within a burst; between bursts, 1 plus the slots of a silence. The mean silence gives the load. The lengths of bursts and silences are geometric |
///
/// The on/off process is a Markov chain whose silences last at least one slot. If the load requires a shorter mean
/// silence, some silences are omitted, and two bursts appear as one.
///
/// The computation of a birth takes at most two random draws and a few divisions.
#[derive(Debug, Clone)]
pub struct Births {
    process: Process,
    /// Load as a share of the line rate, at most 1.
    load: f64,
    frame: Bytes,
    /// A tick is the time that one frame takes at this rate. The constant process uses the mean rate, so a frame is
    /// born at every tick. The other processes use the line rate, so a tick is a slot.
    tick: Rate,
    /// Number of ticks since `begin`, including the tick of the latest birth. Poisson births move `begin` instead.
    ticks: u64,
    begin: Time,
    /// True before the first birth of a process that begins within a burst. The probability of such a beginning is the
    /// steady-state probability of the Markov chain. The rest of that burst has the same length distribution as a whole
    /// burst.
    midway: bool,
    /// Number of frames of the current burst that are still to come.
    left: u64,
    stream: Stream,
}

impl Births {
    /// Creates the births of frames of `frame` bytes from `start` on, with the mean rate `rate`. A rate
    /// above the line rate is reduced to the line rate.
    ///
    /// # Panics
    /// If a rate, the frame size or the mean burst is zero.
    #[must_use]
    pub fn new(
        process: Process,
        rate: Rate,
        line: Rate,
        frame: Bytes,
        start: Time,
        mut stream: Stream,
    ) -> Self {
        assert!(
            rate > Rate::ZERO && line > Rate::ZERO && frame > Bytes(0),
            "rates and the frame size must be greater than 0"
        );
        assert_ne!(process, Process::OnOff { burst: 0 }, "the mean burst must be at least 1 frame");
        let rate = rate.min(line);
        let load = rate.as_bps_f64() / line.as_bps_f64();
        let slot = line.time_for(frame);
        let phase = if process == Process::Poisson { 0 } else { stream.below(slot.as_ps()) };
        let midway = matches!(process, Process::OnOff { .. }) && stream.unit() < load;
        let tick = if process == Process::Constant { rate } else { line };
        let begin = start + Duration::from_ps(phase);
        Self { process, load, frame, tick, ticks: 0, begin, midway, left: 0, stream }
    }

    /// Returns the birth time of the first frame of the next burst, and the number of frames in that burst. In
    /// processes other than on/off, each frame is a burst. The rest of the present burst is skipped.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub fn next_burst(&mut self) -> (Time, u64) {
        self.ticks += self.left;
        let (ticks, frames) = match self.process {
            Process::Constant => (1, 1),
            Process::Bernoulli => (self.stream.geometric(1.0 / self.load), 1),
            Process::OnOff { burst } => {
                let burst = f64::from(burst);
                let mean_silence = burst * (1.0 - self.load) / self.load;
                let silence = if std::mem::take(&mut self.midway) { 0 } else { self.silence(mean_silence) };
                (silence + 1, self.stream.geometric(burst))
            }
            Process::Poisson => {
                let mean = self.tick.time_for(self.frame).as_ps() as f64 / self.load;
                self.begin += Duration::from_ps(self.stream.exponential(mean).round() as u64);
                (0, 1)
            }
        };
        self.ticks += ticks;
        self.left = frames - 1;
        (self.latest(), frames)
    }

    /// Draws the number of slots without a frame between two bursts. The mean of this number is `mean`.
    fn silence(&mut self, mean: f64) -> u64 {
        if mean >= 1.0 { self.stream.geometric(mean) } else { u64::from(self.stream.unit() < mean) }
    }

    /// The latest birth: the start of the latest tick.
    fn latest(&self) -> Time {
        self.begin + self.tick.time_for(Bytes(self.frame.0.saturating_mul(self.ticks.saturating_sub(1))))
    }
}

impl Iterator for Births {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        if self.left == 0 {
            return Some(self.next_burst().0);
        }
        self.left -= 1;
        self.ticks += 1;
        Some(self.latest())
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(10);
    const FRAME: Bytes = Bytes(1_500);
    /// Serialization delay of a frame of `FRAME` bytes at the rate `LINE`, in ps (specifications/cee.md §6.1).
    const SLOT: u64 = 1_200_000;
    const ON_OFF: Process = Process::OnOff { burst: 20 };
    const ALL: [Process; 4] = [Process::Constant, Process::Poisson, Process::Bernoulli, ON_OFF];

    /// Births at `percent` of the line rate, starting at 1 ms.
    fn births(process: Process, percent: u64, seed: u64) -> Births {
        let rate = Rate::from_bps(LINE.as_bps() / 100 * percent);
        Births::new(process, rate, LINE, FRAME, Time::from_ps(1_000_000_000), Stream::new(seed, 0, "births"))
    }

    fn gaps(process: Process, percent: u64, frames: usize) -> Vec<u64> {
        let births: Vec<Time> = births(process, percent, 1).take(frames + 1).collect();
        births.windows(2).map(|pair| pair[1].since(pair[0]).as_ps()).collect()
    }

    /// specifications/cee.md §6.1.
    #[test]
    fn oracle_6_1_every_process_makes_its_load() {
        for process in ALL {
            for (percent, within) in [(10, 0.04), (45, 0.03), (90, 0.01), (100, 0.005)] {
                let gaps = gaps(process, percent, 200_000);
                let load = (SLOT * gaps.len() as u64) as f64 / gaps.iter().sum::<u64>() as f64;
                let offered = percent as f64 / 100.0;
                assert!(
                    (load / offered - 1.0).abs() < within,
                    "{process:?} at {percent}% of the line rate has a load of {load}"
                );
            }
        }
    }

    #[test]
    fn constant_births_do_not_drift() {
        // At 30% of 10 Gbps, the gap is one slot / 0.3 = 1.2 us / 0.3 = 4 us. At the rate below, the gap is
        // not a whole number of picoseconds.
        assert!(gaps(Process::Constant, 30, 1_000).iter().all(|&gap| gap == 4_000_000));
        let rate = Rate::from_bps(7_000_000_001);
        let stream = Stream::new(1, 0, "births");
        let births: Vec<_> =
            Births::new(Process::Constant, rate, LINE, FRAME, Time::ZERO, stream).take(1_000_001).collect();
        let exact = rate.time_for(Bytes(1_500_000_000));
        assert_eq!(births[1_000_000].since(births[0]), exact);
    }

    #[test]
    fn slotted_births_keep_to_slots_from_a_random_phase_on() {
        for process in [Process::Bernoulli, ON_OFF] {
            assert!(gaps(process, 45, 10_000).iter().all(|gap| gap % SLOT == 0), "{process:?}");
        }
        let phase = |seed| births(Process::Constant, 45, seed).next().unwrap().as_ps() - 1_000_000_000;
        let phases: Vec<u64> = (0..1_000).map(phase).collect();
        assert!(phases.iter().all(|&phase| phase < SLOT));
        let mean = phases.iter().sum::<u64>() / 1_000;
        assert!(mean.abs_diff(SLOT / 2) < SLOT / 25, "{mean}");
    }

    #[test]
    fn bernoulli_slots_know_nothing_of_each_other() {
        let gaps = gaps(Process::Bernoulli, 40, 100_000);
        let share = |slots| gaps.iter().filter(|&&gap| gap == slots * SLOT).count() as f64 / 1e5;
        for (slots, expected) in [(1, 0.4), (2, 0.24), (3, 0.144)] {
            assert!((share(slots) - expected).abs() < 0.006, "{slots}: {}", share(slots));
        }
    }

    #[test]
    fn poisson_gaps_deviate_by_their_mean() {
        let gaps: Vec<f64> =
            gaps(Process::Poisson, 50, 100_000).iter().map(|&gap| gap as f64 / 2.4e6).collect();
        let mean = gaps.iter().sum::<f64>() / 1e5;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn bursts_and_silences_of_a_chain_have_their_means() {
        // Bursts of 20 slots make 40% of all slots, so the mean silence is 20 * (1 / 0.4 - 1) = 30 slots.
        let gaps = gaps(ON_OFF, 40, 400_000);
        let silences: Vec<u64> = gaps.iter().filter(|&&gap| gap > SLOT).map(|gap| gap / SLOT - 1).collect();
        let burst = gaps.len() as f64 / silences.len() as f64;
        let silence = silences.iter().sum::<u64>() as f64 / silences.len() as f64;
        assert!((burst - 20.0).abs() < 0.5 && (silence - 30.0).abs() < 0.75, "{burst} {silence}");
    }

    #[test]
    fn bursts_are_the_same_frames() {
        for process in ALL {
            let mut by_burst = births(process, 60, 3);
            let bursts: Vec<(Time, u64)> = (0..2_000).map(|_| by_burst.next_burst()).collect();
            let frames: u64 = bursts.iter().map(|&(_, frames)| frames).sum();
            let by_frame: Vec<Time> = births(process, 60, 3).take(frames as usize).collect();
            let mut first = 0;
            for (start, frames) in bursts {
                assert_eq!(by_frame[first], start, "{process:?}");
                first += frames as usize;
            }
        }
    }

    #[test]
    fn a_chain_begins_as_one_that_has_run_for_long() {
        // At a load of 45%, the first slot has a frame in 45% of the runs: 900 of 2,000.
        let first = |seed| births(ON_OFF, 45, seed).next().unwrap().as_ps() < 1_000_000_000 + SLOT;
        let busy = (0..2_000).filter(|&seed| first(seed)).count();
        assert!(busy.abs_diff(900) < 70, "{busy}");
    }

    #[test]
    fn golden_births_are_stable_for_ever() {
        let first = |process| births(process, 45, 1).nth(9).unwrap().as_ps() - 1_000_000_000;
        assert_eq!(ALL.map(first), [24_827_913, 21_687_306, 20_027_913, 11_627_913]);
    }
}
