//! The schedule computed from scratch, by its definition.

use super::{Criticality, Member, Probing};
use raddle_core::Time;

/// Returns the correct rates at `now`, in bit/s, indexed by flow slot. The rates are computed from the bits that the
/// flows have left.
#[allow(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 flows")]
pub(super) fn rates(of: &Criticality, now: Time) -> Vec<f64> {
    let mut order: Vec<usize> = (0..of.flows.len()).filter(|&slot| of.flows[slot].live).collect();
    order.sort_by_key(|&slot| of.key(now, slot as u32));
    let mut left: Vec<f64> = of.links.iter().map(|link| link.capacity_bps).collect();
    let mut granted = vec![0.0; of.flows.len()];
    for &slot in &order {
        let flow = &of.flows[slot];
        let links = flow.row.iter().map(|&(link, share)| left[link as usize] / f64::from(share));
        let gets = links.fold(flow.max_bps, f64::min);
        if gets >= flow.max_bps * of.rules.least_share {
            granted[slot] = gets;
            for &(link, share) in &flow.row {
                left[link as usize] -= gets * f64::from(share);
            }
        }
    }
    let kept = |link: usize| {
        let on_it = |flow: &Member| flow.live && flow.row.iter().any(|&(other, _)| other as usize == link);
        let flows = of.flows.iter().filter(|flow| on_it(flow)).count();
        let paused: Vec<usize> =
            (0..of.flows.len()).filter(|&slot| on_it(&of.flows[slot]) && granted[slot] == 0.0).collect();
        let every_rtt: u64 = paused.iter().map(|&slot| of.flows[slot].probes_per_s).sum();
        let less_often: f64 = match of.rules.probing {
            Probing::Free => return 1.0,
            Probing::EveryRtt => 1.0,
            Probing::Suppressed => {
                let places = flows - paused.len() + 1..=flows;
                places.map(|place| 1.0 / (0.2 * place as f64).max(1.0)).sum::<f64>()
                    / paused.len().max(1) as f64
            }
        };
        1.0 - (every_rtt as f64 * of.rules.probe_bits * less_often / of.links[link].capacity_bps).min(0.5)
    };
    let kept: Vec<f64> = (0..of.links.len()).map(kept).collect();
    let net = |slot: usize| {
        let row = of.flows[slot].row.iter();
        granted[slot] * row.map(|&(link, _)| kept[link as usize]).fold(1.0, f64::min)
    };
    (0..of.flows.len()).map(net).collect()
}
