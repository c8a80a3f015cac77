//! The flows of one allocation, in flat arrays. [`Flows::clear`] keeps the arrays' memory for the next allocation.

use std::ops::Range;

/// Flows and their split over links.
#[derive(Debug, Clone, Default)]
pub struct Flows {
    weights: Vec<f64>,
    classes: Vec<u8>,
    demands: Vec<f64>,
    ends: Vec<u32>,
    entries: Vec<(u32, f32)>,
}

impl Flows {
    /// Removes all flows and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.weights.clear();
        self.classes.clear();
        self.demands.clear();
        self.ends.clear();
        self.entries.clear();
    }

    /// Adds a flow. Weights are relative to other flows and above 0. Class 0 is served first. The demand is in bit/s,
    /// or infinity. `row` holds, for each link that the flow uses, the expected traversals per packet, above 0.
    ///
    /// # Panics
    /// If the rows of all flows together have 2^32 entries or more.
    pub fn push(
        &mut self,
        weight: f64,
        class: u8,
        demand_bps: f64,
        row: impl IntoIterator<Item = (u32, f32)>,
    ) {
        debug_assert!(weight > 0.0 && demand_bps >= 0.0);
        self.weights.push(weight);
        self.classes.push(class);
        self.demands.push(demand_bps);
        self.entries.extend(row);
        let end = u32::try_from(self.entries.len());
        self.ends.push(end.expect("the rows of all flows must have fewer than 2^32 entries in total"));
    }

    /// Returns the number of flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// True if there is no flow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Returns the links that a flow uses. Each link comes with the expected number of times that a packet of the flow
    /// traverses the link.
    #[must_use]
    pub fn row(&self, flow: usize) -> &[(u32, f32)] {
        &self.entries[self.span(flow)]
    }

    /// Returns the range of a flow's row among the entries of all flows.
    pub(crate) fn span(&self, flow: usize) -> Range<usize> {
        let start = if flow == 0 { 0 } else { self.ends[flow - 1] as usize };
        start..self.ends[flow] as usize
    }

    /// Returns the number of entries of all rows together.
    pub(crate) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Returns a flow's weight relative to other flows of its class.
    #[must_use]
    pub fn weight(&self, flow: usize) -> f64 {
        self.weights[flow]
    }

    /// Returns a flow's class.
    #[must_use]
    pub fn class(&self, flow: usize) -> u8 {
        self.classes[flow]
    }

    /// Returns a flow's demand in bit/s, or infinity.
    #[must_use]
    pub fn demand(&self, flow: usize) -> f64 {
        self.demands[flow]
    }
}
