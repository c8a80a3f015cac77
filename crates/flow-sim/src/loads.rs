//! Loads of links: the flows that cross each link now, and the traffic that has crossed it.

use raddle_core::LinkId;

/// Traffic that has crossed a directed link.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkLoad {
    /// Packets; a fraction where a flow was split or had not ended.
    pub packets: f64,
    /// Their bytes, headers included.
    pub bytes: f64,
}

/// Loads of links, indexed by link slot.
#[derive(Debug, Clone, Default)]
pub struct Loads {
    /// Flows that cross each link now, each by the share of its packets that does.
    pub(crate) crossing: Vec<f64>,
    pub(crate) crossed: Vec<LinkLoad>,
}

impl Loads {
    pub(crate) fn new(slots: usize) -> Self {
        Self { crossing: vec![0.0; slots], crossed: vec![LinkLoad::default(); slots] }
    }

    /// A flow comes, or `-1` of it: it goes.
    pub(crate) fn cross(&mut self, row: &[(LinkId, f32)], flows: f64) {
        for &(link, share) in row {
            self.crossing[link.index()] += flows * f64::from(share);
        }
    }

    /// So many packets and bytes of a flow have crossed the links of its row.
    pub(crate) fn add(&mut self, row: &[(LinkId, f32)], packets: f64, bytes: f64) {
        for &(link, share) in row {
            let load = &mut self.crossed[link.index()];
            load.packets += packets * f64::from(share);
            load.bytes += bytes * f64::from(share);
        }
    }
}
