//! Allocation policies: how what operators want becomes the weights of flows (§3.3).
//!
//! Deadlines: like D2TCP (Vamanan, Hasan, Vijaykumar, SIGCOMM 2012), flows share in proportion to how urgent they are.
//! A flow's weight is the rate it needs to be in time, so that on a full link all flows with deadlines reach the same
//! share of what they need. The source knows it, and announces it again when it has changed by a quarter.
//!
//! Tenants: like FairCloud (Popa et al., SIGCOMM 2012), a tenant does not get more by opening more flows. Its flows
//! share one weight. Which tenant a node belongs to, every node knows; how many flows the tenant has, the flow table
//! says, so no message is needed.

use super::entries::Entry;
use raddle_core::{Duration, Rate};

/// What decides a flow's weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The flow says.
    Weights,
    /// The rate it needs to meet its deadline.
    Deadline,
    /// The flows of a tenant share a weight of 1; node `n` belongs to tenant `n` modulo their number.
    Tenant(u16),
}

/// A weight of 1 stands for this share of a link, so that a flow in a hurry can be told from one in a great hurry.
const LINK_WEIGHT: f64 = 64.0;
/// A source announces a weight again when it has changed by more than this share.
const CHANGE: f64 = 0.25;

/// The weight of a flow that still has `bytes` to put on the wire in the time `left`, from a node whose links have
/// this rate. A flow without deadline, or past it, has the least there is.
pub(super) fn urgency(bytes: u64, left: Option<Duration>, link: Rate) -> u8 {
    let Some(left) = left.filter(|&left| left > Duration::ZERO) else { return 1 };
    let needed = bytes as f64 * 8.0 / left.as_secs_f64();
    (needed / link.as_bps_f64() * LINK_WEIGHT).ceil().clamp(1.0, 255.0) as u8
}

/// Whether a weight is so different from the one announced that it must be announced.
pub(super) fn is_news(weight: u8, announced: u8) -> bool {
    f64::from(weight.abs_diff(announced)) > CHANGE * f64::from(announced)
}

impl Policy {
    /// The tenant of a flow; 0 if there is but one.
    pub(super) fn tenant(self, entry: &Entry) -> u16 {
        if let Self::Tenant(tenants) = self { entry.src % tenants } else { 0 }
    }

    /// The weights with which the flows of a table share, in its order.
    pub(super) fn weights<'a>(self, table: &'a [Entry]) -> impl Iterator<Item = f64> + 'a {
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
        // 1.25 MB in 2 ms are 5 Gbps, half a link.
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
