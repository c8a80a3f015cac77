//! Modulo routing: at each level the ports upwards follow from a host's number, divided by a level-dependent divisor.

use super::{Ascent, digit};
use crate::{choices, parameters};
use raddle_core::{NodeId, Packet, Time};
use raddle_topology::Xgft;

choices! {
    /// The divisor of a host's number.
    pub(crate) enum Divisor {
        /// The product of the numbers of parents per node, over the levels below the switch's level.
        Parents = "parents",
        /// The product of the numbers of children per switch, over the levels below the switch's level.
        Children = "children",
    }
}

parameters! {
    /// The parameters of modulo routing.
    pub(crate) struct ModKParameters {
        /// the divisor of a host's number at a switch of level l: w1 * .. * wl, the parents per node of the levels
        /// below l, or m1 * .. * m(l-1), the children per switch of the levels below l; both are equal in k-ary n-trees
        divisor: Divisor;
    }
}

/// Chooses one node's ports upwards by the number of a packet's source or destination.
#[derive(Debug)]
pub(crate) struct ModK {
    divisor: u32,
    host: fn(&Packet) -> NodeId,
}

impl ModK {
    /// The choices of `node`. `host` returns the packet's source or destination, whose number determines the ports.
    pub(crate) fn new(tree: &Xgft, node: NodeId, divisor: Divisor, host: fn(&Packet) -> NodeId) -> Self {
        let level = tree.level(node);
        let divisor = match divisor {
            Divisor::Children => tree.hosts_each(level.saturating_sub(1)),
            Divisor::Parents => tree.planes(level),
        };
        Self { divisor, host }
    }
}

impl Ascent for ModK {
    #[inline]
    fn choose(&mut self, _: Time, packet: &Packet, ports: usize) -> usize {
        digit((self.host)(packet).0, self.divisor, ports)
    }

    fn foresee(&self, packet: &Packet, ports: usize) -> Option<usize> {
        Some(digit((self.host)(packet).0, self.divisor, ports))
    }
}
