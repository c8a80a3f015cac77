//! Loads of links: the flows that cross each link now, and the traffic that has crossed each link.

use raddle_core::LinkId;

/// Traffic that has crossed a directed link.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkLoad {
    /// Number of packets. Fractional if a flow was split over several paths or had not ended.
    pub packets: f64,
    /// Bytes of the packets, headers included.
    pub bytes: f64,
}

/// Loads of links, indexed by link slot.
#[derive(Debug, Clone, Default)]
pub struct Loads {
    /// For each link, the number of flows that cross it now. A flow counts as the share of its packets that cross the
    /// link.
    pub(crate) crossing: Vec<f64>,
    pub(crate) crossed: Vec<LinkLoad>,
}

impl Loads {
    pub(crate) fn new(slots: usize) -> Self {
        Self { crossing: vec![0.0; slots], crossed: vec![LinkLoad::default(); slots] }
    }

    /// Adds `flows` to the number of flows that cross each link of `row`, weighted by the share in `row`. `flows` is 1
    /// when a flow starts, and -1 when it ends.
    pub(crate) fn cross(&mut self, row: &[(LinkId, f32)], flows: f64) {
        for &(link, share) in row {
            self.crossing[link.index()] += flows * f64::from(share);
        }
    }

    /// Adds packets and bytes of a flow to the traffic that has crossed each link of `row`, weighted by the share in
    /// `row`.
    pub(crate) fn add(&mut self, row: &[(LinkId, f32)], packets: f64, bytes: f64) {
        for &(link, share) in row {
            let load = &mut self.crossed[link.index()];
            load.packets += packets * f64::from(share);
            load.bytes += bytes * f64::from(share);
        }
    }
}
