//! The conditions that every weighted max-min allocation must satisfy.

use crate::Flows;

/// A violation of the conditions of weighted max-min allocation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Violation {
    /// A link carries more than its capacity.
    Overload {
        /// The link's index.
        link: usize,
        /// The link's load, bit/s.
        load: f64,
    },
    /// A flow gets more than its demand.
    BeyondDemand {
        /// The flow.
        flow: usize,
    },
    /// The flow has no bottleneck, as [`check`] defines it. The flow's rate could rise, and only flows of later classes
    /// and flows with a higher rate (relative to weight) would lose.
    NoBottleneck {
        /// The flow.
        flow: usize,
    },
}

/// Allowed relative error.
const TOLERANCE: f64 = 1e-6;

/// Checks that the allocation is feasible, that no flow exceeds its demand, and that each flow gets its demand or has
/// a bottleneck. A flow's bottleneck is a link of the flow that the flow's class and earlier classes fill. On this
/// link, no flow of this class has a higher rate relative to weight.
///
/// # Errors
/// The first violation found.
pub fn check(flows: &Flows, links: &[f64], rates: &[f64]) -> Result<(), Violation> {
    let load = |most_class: u8| {
        let mut load = vec![0.0; links.len()];
        for (flow, rate) in rates.iter().enumerate().filter(|&(flow, _)| flows.class(flow) <= most_class) {
            for &(link, weight) in flows.row(flow) {
                load[link as usize] += rate * f64::from(weight);
            }
        }
        load
    };
    for (link, &load) in load(u8::MAX).iter().enumerate() {
        if load > links[link] * (1.0 + TOLERANCE) {
            return Err(Violation::Overload { link, load });
        }
    }
    let share = |flow: usize| rates[flow] / flows.weight(flow);
    for (flow, &rate) in rates.iter().enumerate() {
        let demand = flows.demand(flow);
        if rate > demand {
            return Err(Violation::BeyondDemand { flow });
        }
        if rate >= demand * (1.0 - TOLERANCE) {
            continue;
        }
        let load = load(flows.class(flow));
        let explains = |link: u32| {
            let at = link as usize;
            let peers = (0..flows.len()).filter(|&peer| flows.class(peer) == flows.class(flow));
            load[at] >= links[at] * (1.0 - TOLERANCE)
                && peers
                    .filter(|&peer| flows.row(peer).iter().any(|&(other, _)| other == link))
                    .all(|peer| share(peer) <= share(flow) * (1.0 + TOLERANCE))
        };
        if !flows.row(flow).iter().any(|&(link, _)| explains(link)) {
            return Err(Violation::NoBottleneck { flow });
        }
    }
    Ok(())
}
