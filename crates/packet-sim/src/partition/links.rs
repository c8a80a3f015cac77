//! The links of a partition and their ports.

use crate::port::{Class, Port, QueueDepths, Served, Special};
use raddle_core::{LinkFlowControl, LinkId, PortState};

/// The links that start or end in a partition, in the order of their ids.
#[derive(Default)]
pub(super) struct Links {
    pub(super) ids: Vec<LinkId>,
    pub(super) ports: Vec<Port>,
    /// The ports' states, as forwarders, hosts and port agents see them.
    pub(super) states: Vec<PortState>,
    pub(super) specials: Vec<Option<Box<Special>>>,
    pub(super) classes: Vec<Class>,
    /// For each link, the partition at its far end and the link's index there. Empty if there is only one partition.
    pub(super) far: Vec<(u32, u32)>,
    /// Histograms of the ports' queue lengths. Empty unless the configuration asks for them.
    pub(super) depths: Vec<QueueDepths>,
}

/// Bytes of memory for a directed link and its port.
pub(crate) const BYTES_A_LINK: usize =
    size_of::<Port>() + size_of::<PortState>() + size_of::<Option<Box<Special>>>() + size_of::<LinkId>();

impl Links {
    /// Creates an empty list with room for `links` links.
    pub(super) fn with_capacity(links: usize) -> Self {
        Self {
            ids: Vec::with_capacity(links),
            ports: Vec::with_capacity(links),
            states: Vec::with_capacity(links),
            specials: Vec::with_capacity(links),
            ..Self::default()
        }
    }

    /// The index of a link; `None` if the link neither starts nor ends in this partition.
    pub(super) fn index(&self, link: LinkId) -> Option<usize> {
        self.ids.binary_search(&link).ok()
    }

    /// The additional state of a [served](Served) port; `None` if the port is not served.
    pub(super) fn served(&mut self, link: usize) -> Option<&mut Served> {
        self.specials[link].as_mut()?.served.as_mut()
    }

    /// Flow control at a link's egress port; `None` if the link has no flow control.
    pub(super) fn flow_control(&mut self, link: usize) -> Option<&mut (dyn LinkFlowControl + 'static)> {
        self.served(link)?.flow_control.as_deref_mut()
    }
}
