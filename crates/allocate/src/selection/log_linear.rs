//! Log-linear learning (Blume 1993): in each step, one random flow chooses its protocol again. A protocol
//! with a higher utility is more likely to be chosen. Costa et al. (SIGCOMM 2015, §3.4) found this search
//! too sensitive to its temperature.

use super::{Best, Found, Objective, Search};
use raddle_core::Stream;

/// Log-linear learning and its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogLinear {
    /// If one protocol's utility exceeds another protocol's by this share of the initial utility, the first
    /// protocol is chosen e (2.718) times as often as the second.
    pub temperature: f64,
    /// Number of choices. Each choice of a flow evaluates every protocol except the flow's present protocol.
    pub steps: u64,
}

impl Default for LogLinear {
    /// With two protocols and without a limit, the search makes 10,001 evaluations. [`Genetic`](super::Genetic) makes
    /// 1,900 to 18,100 evaluations if there are at least 100 possible assignments.
    fn default() -> Self {
        Self { temperature: 3e-4, steps: 10_000 }
    }
}

impl Search for LogLinear {
    fn search(&self, objective: &mut Objective<'_>, start: &[u8], stream: &mut Stream) -> Found {
        let protocols = objective.problem().protocols().len();
        let mut best = Best::begin(objective, start);
        let mut here = start.to_vec();
        let mut present = best.found.utility;
        let temperature = self.temperature * present.max(f64::MIN_POSITIVE);
        let mut utilities = vec![0.0; protocols];
        for _ in 0..self.steps {
            if here.is_empty() || objective.is_spent() {
                break;
            }
            let flow = stream.index(here.len());
            let old = here[flow];
            for (protocol, utility) in (0..=u8::MAX).zip(&mut utilities) {
                here[flow] = protocol;
                *utility = if protocol == old { present } else { objective.utility(&here) };
                best.offer(&here, *utility);
            }
            let chosen = softmax(&utilities, temperature, stream);
            here[flow] = chosen;
            present = utilities[usize::from(chosen)];
        }
        best.end(objective)
    }
}

/// Returns an index into `utilities`, drawn with probability proportional to exp(utility / temperature).
#[allow(clippy::cast_possible_truncation, reason = "there are at most 256 routing protocols")]
fn softmax(utilities: &[f64], temperature: f64, stream: &mut Stream) -> u8 {
    let most = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let chance = |utility: &f64| libm::exp((utility - most) / temperature);
    let mut draw = stream.unit() * utilities.iter().map(chance).sum::<f64>();
    for (protocol, utility) in (0..).zip(utilities) {
        draw -= chance(utility);
        if draw < 0.0 {
            return protocol;
        }
    }
    utilities.iter().position(|&utility| utility >= most).expect("`utilities` must not be empty") as u8
}
