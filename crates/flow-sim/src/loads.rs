//! Loads of links: the flows that cross each link now, and the traffic that has crossed each link.

use raddle_core::LinkId;

/// Traffic that has crossed a directed link.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkLoad {
    /// Number of packets; fractional if a flow was split or had not ended.
    pub packets: f64,
    /// Bytes of the packets, headers included.
    pub bytes: f64,
}

/// Loads of links, indexed by link slot.
#[derive(Debug, Clone, Default)]
pub struct Loads {
    /// Number of flows that cross each link now, each weighted by its share of packets on the link.
    pub(crate) crossing: Vec<f64>,
    pub(crate) crossed: Vec<LinkLoad>,
}

impl Loads {
    pub(crate) fn new(slots: usize) -> Self {
        Self { crossing: vec![0.0; slots], crossed: vec![LinkLoad::default(); slots] }
    }

    /// Adds `flows` flows to the links of `row`: 1 when a flow starts, -1 when it ends.
    pub(crate) fn cross(&mut self, row: &[(LinkId, f32)], flows: f64) {
        for &(link, share) in row {
            self.crossing[link.index()] += flows * f64::from(share);
        }
    }

    /// Adds packets and bytes of a flow to the links of its row.
    pub(crate) fn add(&mut self, row: &[(LinkId, f32)], packets: f64, bytes: f64) {
        for &(link, share) in row {
            let load = &mut self.crossed[link.index()];
            load.packets += packets * f64::from(share);
            load.bytes += bytes * f64::from(share);
        }
    }
}
