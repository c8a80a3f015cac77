//! Steepest ascent: repeatedly makes the best change of one flow's protocol, until no change improves the
//! utility. The search stops at the first local maximum.

use super::{Best, Found, Objective, Search};
use raddle_core::Stream;

/// Hill climbing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HillClimbing;

impl Search for HillClimbing {
    fn search(&self, objective: &mut Objective<'_>, start: &[u8], _: &mut Stream) -> Found {
        let protocols = objective.problem().protocols().len();
        let mut best = Best::begin(objective, start);
        let mut here = start.to_vec();
        loop {
            let height = best.found.utility;
            for flow in 0..here.len() {
                let present = here[flow];
                for protocol in (0..=u8::MAX).take(protocols).filter(|&protocol| protocol != present) {
                    if objective.is_spent() {
                        return best.end(objective);
                    }
                    here[flow] = protocol;
                    best.offer(&here, objective.utility(&here));
                }
                here[flow] = present;
            }
            if best.found.utility <= height {
                return best.end(objective);
            }
            here.copy_from_slice(&best.found.assignment);
        }
    }
}
