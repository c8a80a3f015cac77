//! Allocation policies: rules that set the weights of flows to reach an operator's goals (R2C2 §3.3).
//!
//! Deadlines: as in D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012), flows share links in proportion to their urgency.
//! A flow's weight is the rate that it needs to meet its deadline. On a full link, all flows with deadlines therefore
//! get the same fraction of the rate that each flow needs. The source computes the weight, and announces the weight
//! again when it has changed by more than a quarter.
//!
//! Tenants: as in FairCloud (Popa et al., SIGCOMM 2012), a tenant cannot gain bandwidth by opening more flows, because
//! all flows of a tenant share one weight. Every node knows the tenant of each node, and the flow table contains all
//! flows of a tenant. The policy therefore needs no messages.

use super::entries::Entry;
use raddle_core::{Duration, Rate};

/// The rule that sets a flow's weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The weight is given with the flow.
    Weights,
    /// The weight is the rate that the flow needs to meet its deadline.
    Deadline,
    /// The flows of a tenant share a weight of 1. The value is the number of tenants. Node `n` belongs to tenant `n`
    /// modulo this number.
    Tenant(u16),
}

/// The weight of a flow that needs the whole rate of a link. A flow that needs a fraction of the rate has this fraction
/// of the weight.
const LINK_WEIGHT: f64 = 64.0;
/// A source announces a weight again when it has changed by more than this fraction.
const CHANGE: f64 = 0.25;

/// The weight of a flow that must still send `bytes` bytes, headers included, in the time `left`, at a node whose
/// fastest link has rate `link`. A flow without a deadline, or after its deadline, has the least weight, 1.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
pub(super) fn urgency(bytes: u64, left: Option<Duration>, link: Rate) -> u8 {
    let Some(left) = left.filter(|&left| left > Duration::ZERO) else { return 1 };
    let needed = bytes as f64 * 8.0 / left.as_secs_f64();
    (needed / link.as_bps_f64() * LINK_WEIGHT).ceil().clamp(1.0, 255.0) as u8
}

/// True if a weight differs so much from the announced weight that the source must announce it again.
pub(super) fn is_news(weight: u8, announced: u8) -> bool {
    f64::from(weight.abs_diff(announced)) > CHANGE * f64::from(announced)
}

impl Policy {
    /// The tenant of a flow under [`Policy::Tenant`], or 0 under other policies.
    pub(super) fn tenant(self, entry: &Entry) -> u16 {
        if let Self::Tenant(tenants) = self { entry.src % tenants } else { 0 }
    }

    /// The weights that rate computations use for the flows of a table, in the order of the table.
    pub(super) fn weights(self, table: &[Entry]) -> impl Iterator<Item = f64> + '_ {
        let mut of_tenant = vec![0_u32; if let Self::Tenant(tenants) = self { tenants.into() } else { 0 }];
        if let Self::Tenant(_) = self {
            for entry in table {
                of_tenant[usize::from(self.tenant(entry))] += u32::from(entry.weight);
            }
        }
        table.iter().map(move |entry| {
            let own = f64::from(entry.weight.max(1));
            match self {
                Self::Weights | Self::Deadline => own,
                Self::Tenant(_) => own / f64::from(of_tenant[usize::from(self.tenant(entry))].max(1)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Rate = Rate::from_gbps(10);

    #[test]
    fn a_weight_is_the_share_of_a_link_that_a_deadline_needs() {
        // 1.25 MB in 2 ms need 5 Gb/s, half the rate of a link of 10 Gb/s.
        let ms = |ms| Some(Duration::from_ms(ms));
        assert_eq!(urgency(1_250_000, ms(2), LINK), 32);
        assert_eq!(urgency(1_250_000, ms(4), LINK), 16);
        assert_eq!(urgency(1_250_000_000, ms(1), LINK), 255);
        for none in [None, Some(Duration::ZERO)] {
            assert_eq!(urgency(1_250_000, none, LINK), 1);
        }
    }

    #[test]
    fn small_changes_are_no_news() {
        assert!(!is_news(20, 16) && !is_news(12, 16) && is_news(21, 16) && is_news(11, 16));
        assert!(is_news(2, 1) && !is_news(1, 1));
    }
}
