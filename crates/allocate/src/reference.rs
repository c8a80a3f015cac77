//! The reference algorithm: progressive filling that examines every link in every round. Tests compare the other
//! algorithms with this algorithm.

use crate::{Allocate, Flows, NOTHING, TIE};

/// Progressive filling as in the textbook. It is slow: each round adds up the loads of all flows of the class again.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reference;

impl Allocate for Reference {
    fn allocate(&mut self, flows: &Flows, links: &[f64], rates: &mut Vec<f64>) {
        rates.clear();
        rates.resize(flows.len(), 0.0);
        let mut left = links.to_vec();
        let mut classes: Vec<u8> = (0..flows.len()).map(|flow| flows.class(flow)).collect();
        classes.sort_unstable();
        classes.dedup();
        for class in classes {
            let members: Vec<usize> = (0..flows.len()).filter(|&flow| flows.class(flow) == class).collect();
            fill(flows, &members, &left, rates);
            for &flow in &members {
                for &(link, weight) in flows.row(flow) {
                    left[link as usize] -= rates[flow] * f64::from(weight);
                }
            }
            for (left, capacity) in left.iter_mut().zip(links) {
                if *left < NOTHING * capacity {
                    *left = 0.0;
                }
            }
        }
    }
}

/// Raises the level of all flows of a class until each flow is stopped by its demand or by a full link.
fn fill(flows: &Flows, members: &[usize], capacity: &[f64], rates: &mut [f64]) {
    let mut active = members.to_vec();
    let mut level = 0.0_f64;
    while !active.is_empty() {
        let mut rising = vec![0.0; capacity.len()];
        let mut frozen = vec![0.0; capacity.len()];
        for &flow in members {
            for &(link, weight) in flows.row(flow) {
                if active.contains(&flow) {
                    rising[link as usize] += flows.weight(flow) * f64::from(weight);
                } else {
                    frozen[link as usize] += rates[flow] * f64::from(weight);
                }
            }
        }
        let full_at = |link: usize| (capacity[link] - frozen[link]).max(0.0) / rising[link];
        let links = (0..capacity.len()).filter(|&link| rising[link] > 0.0).map(full_at);
        let demands = active.iter().map(|&flow| flows.demand(flow) / flows.weight(flow));
        level = links.chain(demands).fold(f64::INFINITY, f64::min).max(level);
        let reached = |key: f64| key <= level * (1.0 + TIE);
        active.retain(|&flow| {
            let met = reached(flows.demand(flow) / flows.weight(flow));
            let blocked = flows.row(flow).iter().any(|&(link, _)| reached(full_at(link as usize)));
            if met {
                rates[flow] = flows.demand(flow);
            } else if blocked {
                rates[flow] = level * flows.weight(flow);
            }
            !met && !blocked
        });
    }
}
