//! Coordinates in BCube: the neighbours of servers through switches, and the paths between servers.
//!
//! `BCube(n, k)` of Guo et al., "BCube: A High Performance, Server-centric Network Architecture for Modular
//! Data Centers" (SIGCOMM 2009), §3; specifications/pdq.md §12. A server has k + 1 digits of base n, and one
//! port per digit. Port i of a server leads to the switch of level i whose number is the server's number
//! without digit i. Port c of this switch leads to the server whose digit i is c. Servers that differ in one
//! digit are neighbours through one switch. Servers forward packets of other servers. Servers are the first
//! nodes, in the order of their digits read as one number. Switches follow, level by level. All results are
//! arithmetic on ids; there is no table.

use raddle_core::{NodeId, PortId};
use std::ops::Range;

/// The nodes of a `BCube(n, k)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bcube {
    /// Number of ports of a switch, which is also the base of the digits.
    n: u32,
    /// Index of the highest digit.
    k: u32,
}

impl Bcube {
    /// Creates a `BCube(n, k)`. The number of nodes must fit a `u32`.
    #[must_use]
    pub const fn new(n: u32, k: u32) -> Self {
        Self { n, k }
    }

    /// Returns the number of ports of a switch.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Returns the number of ports of a server, which is also the number of levels of switches: k + 1.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.k + 1
    }

    /// Returns the number of switches of a level: n^k.
    fn switches_of_a_level(self) -> u32 {
        self.n.pow(self.k)
    }

    /// Returns the number of servers, which are the first nodes: n^(k+1).
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.n.pow(self.levels())
    }

    /// Returns the switches of a level.
    #[must_use]
    pub fn nodes_of(&self, level: u32) -> Range<u32> {
        let first = self.hosts() + level * self.switches_of_a_level();
        first..first + self.switches_of_a_level()
    }

    /// Returns the number of servers and switches.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.hosts() + self.levels() * self.switches_of_a_level()
    }

    /// Returns digit i of a server.
    #[must_use]
    pub fn digit(&self, server: NodeId, i: u32) -> u32 {
        server.0 / self.n.pow(i) % self.n
    }

    /// Returns the server whose digit i is `c` and whose other digits are the digits of `server`.
    fn with_digit(self, server: NodeId, i: u32, c: u32) -> NodeId {
        let place = self.n.pow(i);
        NodeId(server.0 - self.digit(server, i) * place + c * place)
    }

    /// Returns the switch at port i of a server. The link between them ends at port c of the switch, where c is the
    /// server's digit i.
    #[must_use]
    pub fn switch(&self, server: NodeId, i: u32) -> NodeId {
        let place = self.n.pow(i);
        let label = server.0 / (place * self.n) * place + server.0 % place;
        NodeId(self.nodes_of(i).start + label)
    }

    /// Returns the level of a switch; `None` for a server.
    fn level(self, node: NodeId) -> Option<u32> {
        node.0.checked_sub(self.hosts()).map(|place| place / self.switches_of_a_level())
    }

    /// Returns the server at port c of a switch. `level` is the switch's level.
    fn server(self, switch: NodeId, level: u32, c: u32) -> NodeId {
        let place = self.n.pow(level);
        let label = (switch.0 - self.hosts()) % self.switches_of_a_level();
        NodeId(label / place * place * self.n + c * place + label % place)
    }

    /// Returns a switch's level (`None` for a server), and a server with the node's digits. For a switch, the
    /// server's digit of the switch's own level has no meaning.
    fn label(self, node: NodeId) -> (Option<u32>, NodeId) {
        let level = self.level(node);
        (level, level.map_or(node, |level| self.server(node, level, 0)))
    }

    /// Returns the indices of the digits that both nodes have and in which they differ, the highest digit
    /// first.
    fn differing(&self, a: NodeId, b: NodeId) -> impl Iterator<Item = u32> {
        let ((open_of_a, a), (open_of_b, b)) = (self.label(a), self.label(b));
        let both = (0..self.levels()).rev().filter(move |&i| ![open_of_a, open_of_b].contains(&Some(i)));
        both.filter(move |&i| self.digit(a, i) != self.digit(b, i))
    }

    /// Returns the number of links between two nodes; 0 from a node to itself. Otherwise there are two links per
    /// differing digit, plus one for each of the two nodes that is a switch.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a server's address has few digits")]
    pub fn distance(&self, a: NodeId, b: NodeId) -> u32 {
        if a == b {
            return 0;
        }
        let switches = [a, b].into_iter().filter(|&node| self.level(node).is_some());
        2 * self.differing(a, b).count() as u32 + switches.count() as u32
    }

    /// Returns the number of links between the two servers that are farthest apart.
    #[must_use]
    pub fn diameter(&self) -> u32 {
        if self.n > 1 { 2 * self.levels() } else { 0 }
    }

    /// Returns the number of shortest paths from `a` to `b`. A shortest path may correct the differing digits in any
    /// order.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a server's address has few digits")]
    pub fn paths(&self, a: NodeId, b: NodeId) -> f64 {
        let orders = (1..=self.differing(a, b).count() as u32).map(f64::from).product();
        match self.level(a) {
            // Two switches of one level have no digit of this level, so this digit of the path's servers is free: it
            // has n values.
            level @ Some(_) if a != b && level == self.level(b) => orders * f64::from(self.n),
            _ => orders,
        }
    }

    /// Calls `visit` with each port of `at` that leads one hop closer to `to`, in ascending order, and the node to
    /// which the port leads.
    pub fn productive(&self, at: NodeId, to: NodeId, mut visit: impl FnMut(PortId, NodeId)) {
        if at == to {
            return;
        }
        let port = |port: u32| PortId::of(port as usize);
        let (open, label) = self.label(to);
        match self.level(at) {
            Some(level) if open == Some(level) => {
                (0..self.n).for_each(|c| visit(port(c), self.server(at, level, c)));
            }
            Some(level) => {
                let c = self.digit(label, level);
                visit(port(c), self.server(at, level, c));
            }
            None if self.differing(at, to).next().is_none() => {
                // The server `at` has the same digits as the switch `to`, so they are neighbours.
                open.into_iter().for_each(|level| visit(port(level), to));
            }
            None => {
                let differs = |i: &u32| open != Some(*i) && self.digit(at, *i) != self.digit(label, *i);
                (0..self.levels()).filter(differs).for_each(|i| visit(port(i), self.switch(at, i)));
            }
        }
    }

    /// Clears `out`, and then writes to `out` the egress ports along parallel path `number` from `src` to `dst`. The
    /// path is empty if `src` is `dst`. No two of the k + 1 paths share a server or a switch between their ends.
    ///
    /// A path corrects one digit after another, cyclically downwards from its first digit. If the servers
    /// agree in the first digit, the path first changes this digit and corrects it last. Such a path has four links
    /// more than a shortest path. Paths that begin with a differing digit have the lower numbers, the highest digit
    /// first. Path 0 is therefore a shortest path, which corrects digits from k down to 0.
    ///
    /// # Panics
    /// If there is no path with this number.
    pub fn parallel_path(&self, src: NodeId, dst: NodeId, number: u32, out: &mut Vec<PortId>) {
        out.clear();
        let agreeing = (0..self.levels()).rev().filter(|&i| self.digit(src, i) == self.digit(dst, i));
        let begin = self.differing(src, dst).chain(agreeing).nth(number as usize);
        let begin = begin.expect("`number` must be below the number of digits");
        if src == dst {
            return;
        }
        let mut at = src;
        let mut change = |i: u32, c: u32| {
            if self.digit(at, i) != c {
                out.extend([i, c].map(|port| PortId::of(port as usize)));
                at = self.with_digit(at, i, c);
            }
        };
        if self.digit(src, begin) == self.digit(dst, begin) {
            change(begin, (self.digit(src, begin) + 1) % self.n);
        } else {
            change(begin, self.digit(dst, begin));
        }
        let below = (0..begin).rev().chain((begin + 1..self.levels()).rev());
        below.for_each(|i| change(i, self.digit(dst, i)));
        change(begin, self.digit(dst, begin));
    }

    /// Returns the number of links of the longest parallel path between any two servers.
    #[must_use]
    pub fn longest_parallel_path(&self) -> usize {
        // In the worst case, all digits but one differ. The path changes the equal digit and changes it back.
        if self.k == 0 { 2 } else { 2 * (self.k as usize + 2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::Routing;
    use crate::{Hops, builders};
    use raddle_core::{Duration, Rate};
    use std::sync::Arc;

    #[test]
    fn oracle_12_sizes_of_bcube() {
        // Columns: n, and the numbers of servers and switches of BCube(n, 1), whose servers have two ports.
        let dual = [(4, 16, 8), (8, 64, 16), (11, 121, 22), (12, 144, 24)];
        let rows = dual.map(|(n, servers, switches)| (n, 1, servers, switches, 2));
        for (n, k, servers, switches, ports) in rows.into_iter().chain([(2, 3, 16, 32, 4), (5, 0, 5, 1, 1)]) {
            let cube = builders::bcube(n, k, Rate::from_gbps(1), Duration::from_ns(100)).expect("a BCube");
            let hosts: Vec<NodeId> = cube.hosts().collect();
            assert_eq!(hosts, (0..servers).map(NodeId).collect::<Vec<_>>(), "servers first");
            assert_eq!(cube.node_count(), (servers + switches) as usize);
            assert!(cube.nodes().all(|node| {
                let all = if node.0 < servers { ports } else { n as usize };
                cube.port_count(node) == all && cube.links_from(node).count() == all
            }));
            assert_eq!(Hops::of(&cube).diameter(), 2 * ports, "k + 1 digits, two links each");
            assert_eq!(Hops::of(&cube), Hops::of(&cube.unshaped()));
        }
    }

    #[test]
    fn servers_that_differ_in_one_digit_are_neighbours() {
        let size = Bcube::new(3, 2);
        let cube = builders::bcube(3, 2, Rate::from_gbps(1), Duration::from_ns(100)).expect("a BCube");
        for (a, i) in cube.hosts().flat_map(|a| (0..3).map(move |i| (a, i))) {
            let up = cube.link_at(a, PortId(i)).expect("a link a digit");
            assert_eq!(up.to, size.switch(a, i.into()));
            assert_eq!(u32::from(up.to_port.0), size.digit(a, i.into()));
            for (_, down) in cube.links_from(up.to) {
                assert_eq!(size.distance(a, down.to), 2 * u32::from(down.to != a));
                assert_eq!(down.to, size.with_digit(a, i.into(), down.from_port.0.into()));
            }
        }
    }

    #[test]
    fn computed_paths_equal_searched_paths() {
        for (n, k) in [(2, 2), (3, 1), (4, 0), (1, 1)] {
            let cube = builders::bcube(n, k, Rate::from_gbps(1), Duration::from_ns(100)).expect("a BCube");
            let searched = Routing::new(Arc::new(cube.unshaped()));
            let known = Routing::new(Arc::new(cube.clone()));
            let size = Bcube::new(n, k);
            let (mut ports, mut expected) = (Vec::new(), Vec::new());
            for (at, to) in cube.nodes().flat_map(|at| cube.nodes().map(move |to| (at, to))) {
                assert_eq!(known.distance(at, to), searched.distance(at, to), "{n}, {k}: {at} to {to}");
                known.productive(at, to, &mut ports);
                searched.productive(at, to, &mut expected);
                assert_eq!(ports, expected, "{n}, {k}: {at} to {to}");
                let nexts = ports.iter().map(|&port| cube.link_at(at, port).expect("a link").to);
                let onwards: f64 = nexts.map(|next| size.paths(next, to)).sum();
                assert!(at == to || (size.paths(at, to) - onwards).abs() < 1e-9, "{n}, {k}: {at} to {to}");
            }
        }
    }
}
