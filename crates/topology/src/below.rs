//! Where hosts are, as a node of a tree-like fabric sees it.

use raddle_core::{NodeId, PortId};

/// Where hosts are, seen from a node: below it, each by one port, or elsewhere, by any port that leads up.
#[derive(Debug, Clone, Copy)]
pub struct Below {
    /// Hosts in all, the first nodes.
    pub(crate) hosts: u32,
    /// The first host below the node, and how many there are, each port leading to `each` of them.
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) each: u32,
    /// The first port up, and how many there are.
    pub(crate) up: PortId,
    pub(crate) ups: u16,
}

impl Below {
    /// Whether `to` is a host.
    #[must_use]
    pub fn knows(&self, to: NodeId) -> bool {
        to.0 < self.hosts
    }

    /// The port towards a host below.
    #[must_use]
    #[inline]
    pub fn down(&self, to: NodeId) -> Option<PortId> {
        let place = to.0.wrapping_sub(self.first);
        (place < self.count).then(|| PortId((place / self.each) as u16))
    }

    /// The ports towards a host other than the node itself.
    #[inline]
    pub fn ports(&self, to: NodeId) -> impl Iterator<Item = PortId> + use<> {
        let (first, count) = self.down(to).map_or((self.up, self.ups), |down| (down, 1));
        (first.0..first.0 + count).map(PortId)
    }

    /// How many ports lead up.
    #[must_use]
    pub fn ups(&self) -> u16 {
        self.ups
    }

    /// The port towards a host other than the node itself; if there are several, the one that `pick` names.
    ///
    /// # Panics
    /// If `pick` returns a place that the list of ports does not have.
    #[must_use]
    #[inline]
    pub fn choose(&self, to: NodeId, pick: impl FnOnce(usize) -> usize) -> PortId {
        if let Some(down) = self.down(to) {
            return down;
        }
        let choice = pick(self.ups.into());
        assert!(choice < self.ups.into(), "port {choice} of {}", self.ups);
        PortId(self.up.0 + choice as u16)
    }
}
