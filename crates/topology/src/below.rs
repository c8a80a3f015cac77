//! The location of hosts as seen from a node of a tree-like fabric.

use raddle_core::{NodeId, PortId};

/// The location of hosts as seen from a node. A host below the node is reached by one port; every other host is reached
/// by any port that leads up.
#[derive(Debug, Clone, Copy)]
pub struct Below {
    /// Number of hosts in the fabric; hosts are the first nodes.
    pub(crate) hosts: u32,
    /// The first host below the node.
    pub(crate) first: u32,
    /// Number of hosts below the node.
    pub(crate) count: u32,
    /// Number of hosts behind each port that leads down.
    pub(crate) each: u32,
    /// The first port that leads up.
    pub(crate) up: PortId,
    /// Number of ports that lead up.
    pub(crate) ups: u16,
}

impl Below {
    /// Returns true if `to` is a host.
    #[must_use]
    pub fn knows(&self, to: NodeId) -> bool {
        to.0 < self.hosts
    }

    /// Returns the port towards a host below the node; `None` for other hosts.
    #[must_use]
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a port number fits a `u16`")]
    pub fn down(&self, to: NodeId) -> Option<PortId> {
        let place = to.0.wrapping_sub(self.first);
        (place < self.count).then(|| PortId((place / self.each) as u16))
    }

    /// Returns the ports towards a host other than the node itself.
    #[inline]
    pub fn ports(&self, to: NodeId) -> impl Iterator<Item = PortId> + use<> {
        let (first, count) = self.down(to).map_or((self.up, self.ups), |down| (down, 1));
        (first.0..first.0 + count).map(PortId)
    }

    /// Returns the number of ports that lead up.
    #[must_use]
    pub fn ups(&self) -> u16 {
        self.ups
    }

    /// Returns the port towards a host other than the node itself. If the host is not below the node, `pick` chooses
    /// among the ports up: `pick` gets the number of these ports and returns the index of one of them.
    ///
    /// # Panics
    /// If `pick` returns an index that is not below the number of ports.
    #[must_use]
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a port number fits a `u16`")]
    pub fn choose(&self, to: NodeId, pick: impl FnOnce(usize) -> usize) -> PortId {
        if let Some(down) = self.down(to) {
            return down;
        }
        let choice = pick(self.ups.into());
        assert!(choice < self.ups.into(), "`pick` must return an index below {} (got {choice})", self.ups);
        PortId(self.up.0 + choice as u16)
    }
}
