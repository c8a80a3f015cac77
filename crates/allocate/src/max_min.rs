//! Weighted max-min rates as a fluid policy. R2C2 computes these rates. RCP, TCP and similar protocols approach them.

use crate::{Changes, Fluid, FluidFlow, Incremental};
use raddle_core::Time;

/// Serves classes in order. Flows of a class are max-min fair relative to their weights. Sizes and deadlines have no
/// effect, and rates change only when flows or capacities change.
#[derive(Debug, Clone)]
pub struct MaxMin(Incremental);

impl MaxMin {
    /// Creates a policy without flows, over links with these usable capacities in bit/s.
    #[must_use]
    pub fn new(links: &[f64]) -> Self {
        Self(Incremental::new(links))
    }
}

impl Fluid for MaxMin {
    fn insert(&mut self, _: Time, flow: FluidFlow<'_>) -> usize {
        self.0.insert(flow.weight, flow.class, flow.demand_bps, flow.row.iter().copied())
    }

    fn remove(&mut self, _: Time, slot: usize) {
        self.0.remove(slot);
    }

    fn set_capacity(&mut self, _: Time, link: u32, bps: f64) {
        self.0.set_capacity(link, bps);
    }

    fn settle(&mut self, _: Time, changes: &mut Changes) -> Option<Time> {
        self.0.settle();
        changes.rates.extend(self.0.changes());
        None
    }
}
