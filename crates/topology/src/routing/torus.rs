//! Routing on a full torus by arithmetic on coordinates. For dimension order, weights are computed at each request. For
//! the other protocols, weights are stored for node 0 and translated to other nodes.

use super::LEAST_WEIGHT;
use super::box_rows::box_row;
use super::protocol::{Protocol, Tie};
use super::spread::{Split, spread};
use crate::Grid;
use raddle_core::{LinkId, NodeId, PortId, Stream};
use std::sync::OnceLock;

/// Greatest number of dimensions of a torus with arithmetic routing.
pub(super) const MAX_DIMS: usize = 16;
/// Greatest size of a dimension of a torus with arithmetic routing.
const MAX_SIZE: u32 = 256;

/// The weight of one link for a packet from node 0: the link's node and port, and the expected traversals.
pub(super) type Entry = (u32, u16, f32);

/// For each destination, the weights for a packet from node 0, computed on first use.
type RowsByOffset = Vec<OnceLock<Box<[Entry]>>>;

/// The expected traversals of each link by a Valiant packet: on the way from node 0 to the
/// waypoint, and on the way from the waypoint to node 0.
type Valiant = (Box<[f64]>, Box<[f64]>);

#[derive(Debug)]
pub(super) struct Torus {
    grid: Grid,
    /// Coordinates of each node, one byte per dimension. The coordinates of 32 x 32 x 32 nodes fit in the
    /// cache of a processor core.
    coordinates: Vec<u8>,
    /// Per dimension, `moved[s * k + x]` is the dimension's stride times `(x + s) mod k`.
    moved: Vec<Vec<u32>>,
    /// Weights from node 0 to each destination, for each protocol whose weights are stored.
    rows: [OnceLock<RowsByOffset>; 5],
    /// Expected traversals of each link by a Valiant packet, computed on first use.
    valiant: OnceLock<Valiant>,
}

/// The hops that a packet has left in one dimension: up (`ahead`), down (`behind`), or both if both directions are
/// equally long.
#[derive(Debug, Clone, Copy)]
struct Way {
    ahead: u8,
    behind: u8,
}

impl Torus {
    pub(super) fn fits(dims: &[u32]) -> bool {
        dims.len() <= MAX_DIMS && dims.iter().all(|&k| k <= MAX_SIZE)
    }

    pub(super) fn new(dims: &[u32]) -> Self {
        let grid = Grid::new(dims, true);
        let coordinate = |node, i| {
            u8::try_from(grid.coordinate(node, i)).expect("a dimension must have at most 256 nodes")
        };
        let coordinates = (0..grid.nodes())
            .map(NodeId)
            .flat_map(|node| (0..dims.len()).map(move |i| coordinate(node, i)))
            .collect();
        let mut stride = 1;
        let moved = dims
            .iter()
            .map(|&k| {
                let table = (0..k).flat_map(|s| (0..k).map(move |x| (x + s) % k * stride)).collect();
                stride *= k;
                table
            })
            .collect();
        Self {
            grid,
            coordinates,
            moved,
            rows: std::array::from_fn(|_| OnceLock::new()),
            valiant: OnceLock::new(),
        }
    }

    pub(super) fn dims(&self) -> &[u32] {
        self.grid.dims()
    }

    pub(super) fn diameter(&self) -> usize {
        self.dims().iter().map(|&k| k as usize / 2).sum()
    }

    /// Returns the coordinates of `node`, one per dimension.
    fn place(&self, node: NodeId) -> &[u8] {
        let dims = self.dims().len();
        &self.coordinates[node.index() * dims..][..dims]
    }

    /// Returns, for each dimension, its size and the number of steps up from `from` to `to`.
    fn ups(&self, from: NodeId, to: NodeId) -> impl Iterator<Item = (u32, u32)> {
        let ends = self.place(from).iter().zip(self.place(to));
        self.dims().iter().zip(ends).map(|(&k, (&a, &b))| {
            let up = if b >= a { u32::from(b - a) } else { u32::from(b) + k - u32::from(a) };
            (k, up)
        })
    }

    pub(super) fn distance(&self, from: NodeId, to: NodeId) -> u32 {
        self.ups(from, to).map(|(k, up)| up.min(k - up)).sum()
    }

    /// Calls `lead` for each port that leads closer to `to`, with the number of hops in that direction.
    #[inline]
    fn leading(&self, at: NodeId, to: NodeId, mut lead: impl FnMut(usize, u8)) {
        let steps = |hops: u32| u8::try_from(hops).expect("a dimension must have at most 256 nodes");
        for (i, (k, up)) in self.ups(at, to).enumerate() {
            if up > 0 && 2 * up <= k {
                lead(2 * i, steps(up));
            }
            // In a dimension of size two, only one link joins the two nodes, at the port that leads up.
            if 2 * up >= k && k > 2 {
                lead(2 * i + 1, steps(k - up));
            }
        }
    }

    pub(super) fn productive(&self, at: NodeId, to: NodeId, mut port: impl FnMut(PortId)) {
        self.leading(at, to, |leads, _| port(PortId::of(leads)));
    }

    pub(super) fn choose(&self, at: NodeId, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        // One bit per port: there are at most two ports in each of `MAX_DIMS` dimensions.
        let mut ports = 0_u32;
        self.productive(at, to, |port| ports |= 1 << port.0);
        if ports == 0 {
            return None;
        }
        for _ in 0..pick(ports.count_ones() as usize) {
            ports &= ports - 1;
        }
        Some(PortId::of(ports.trailing_zeros() as usize))
    }

    /// Returns the shortest way in each dimension; both directions if they are equally long.
    fn shortest(&self, src: NodeId, dst: NodeId) -> [Way; MAX_DIMS] {
        let mut ways = [Way { ahead: 0, behind: 0 }; MAX_DIMS];
        self.leading(src, dst, |port, hops| {
            let way = &mut ways[port / 2];
            *if port % 2 == 0 { &mut way.ahead } else { &mut way.behind } = hops;
        });
        ways
    }

    #[allow(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 nodes")]
    pub(super) fn sample(
        &self,
        protocol: Protocol,
        src: NodeId,
        dst: NodeId,
        rng: &mut Stream,
        out: &mut Vec<PortId>,
    ) {
        match protocol {
            Protocol::Rps => self.spray(src, dst, rng, out),
            Protocol::RpsPath => {
                let mut ways = self.shortest(src, dst);
                self.break_ties(&mut ways, rng);
                self.walk(ways, rng, out, |way| u64::from(way.ahead + way.behind));
            }
            Protocol::Dor(tie) => {
                for (i, way) in self.shortest(src, dst).iter().enumerate().take(self.dims().len()) {
                    let up = way.behind == 0 || way.ahead > 0 && self.goes_up(tie, src, i, rng, *way);
                    let (port, hops) = if up { (2 * i, way.ahead) } else { (2 * i + 1, way.behind) };
                    out.extend((0..hops).map(|_| PortId::of(port)));
                }
            }
            Protocol::Vlb => {
                let waypoint = NodeId::of(rng.below(self.grid.nodes().into()) as usize);
                self.spray(src, waypoint, rng, out);
                self.spray(waypoint, dst, rng, out);
            }
            Protocol::Wlb => {
                let ways = self.balanced(src, dst, rng);
                self.by_waypoint(ways, rng, out);
            }
            Protocol::WlbHop => {
                let ways = self.balanced(src, dst, rng);
                self.walk(ways, rng, out, |way| u64::from(way.ahead > 0) + u64::from(way.behind > 0));
            }
            Protocol::Romm => {
                let mut ways = self.shortest(src, dst);
                self.break_ties(&mut ways, rng);
                self.by_waypoint(ways, rng, out);
            }
            Protocol::Ecmp => {
                panic!("the caller must replace `ecmp` by `rps` with a random stream seeded by the flow")
            }
        }
    }

    fn goes_up(&self, tie: Tie, src: NodeId, i: usize, rng: &mut Stream, way: Way) -> bool {
        way.behind == 0
            || match tie {
                Tie::Parity => self.place(src)[i].is_multiple_of(2),
                Tie::Split => rng.coin(),
                Tie::Plus => true,
            }
    }

    fn break_ties(&self, ways: &mut [Way; MAX_DIMS], rng: &mut Stream) {
        for way in ways.iter_mut().take(self.dims().len()) {
            if way.ahead > 0 && way.behind > 0 {
                if rng.coin() {
                    way.behind = 0;
                } else {
                    way.ahead = 0;
                }
            }
        }
    }

    /// Draws the direction of `wlb` and `wlb_hop` in each dimension. If the destination is D steps up in a dimension of
    /// size k, the direction is up with probability (k - D) / k, or always if k is 2.
    fn balanced(&self, src: NodeId, dst: NodeId, rng: &mut Stream) -> [Way; MAX_DIMS] {
        let mut ways = [Way { ahead: 0, behind: 0 }; MAX_DIMS];
        for (i, (k, up)) in self.ups(src, dst).enumerate() {
            let steps = |hops: u32| u8::try_from(hops).expect("a dimension must have at most 256 nodes");
            if up == 0 {
                continue;
            }
            if rng.below(k.into()) < u64::from(k - up) || k == 2 {
                ways[i].ahead = steps(up);
            } else {
                ways[i].behind = steps(k - up);
            }
        }
        ways
    }

    /// At each hop, picks a dimension with probability proportional to `chances`, and takes a step in this dimension.
    /// If both directions of a dimension are equally long, the first step in this dimension chooses the direction.
    fn walk(
        &self,
        mut ways: [Way; MAX_DIMS],
        rng: &mut Stream,
        out: &mut Vec<PortId>,
        chances: impl Fn(&Way) -> u64,
    ) {
        let ways = &mut ways[..self.dims().len()];
        loop {
            let total: u64 = ways.iter().map(&chances).sum();
            if total == 0 {
                return;
            }
            let mut choice = if total > 1 { rng.below(total) } else { 0 };
            for (i, way) in ways.iter_mut().enumerate() {
                let here = chances(way);
                if choice >= here {
                    choice -= here;
                    continue;
                }
                if way.ahead > 0 && (way.behind == 0 || choice == 0) {
                    way.ahead -= 1;
                    way.behind = 0;
                    out.push(PortId::of(2 * i));
                } else {
                    way.behind -= 1;
                    way.ahead = 0;
                    out.push(PortId::of(2 * i + 1));
                }
                break;
            }
        }
    }

    /// At each hop, picks one of the ports that lead closer to the destination, with equal probability.
    fn spray(&self, src: NodeId, dst: NodeId, rng: &mut Stream, out: &mut Vec<PortId>) {
        // One bit per port that leads closer to the destination, and the number of hops left in the direction of each
        // port.
        let (mut closer, mut left) = (0_u32, [0_u8; 2 * MAX_DIMS]);
        self.leading(src, dst, |port, hops| {
            closer |= 1 << port;
            left[port] = hops;
        });
        while closer > 0 {
            let choices = closer.count_ones();
            let pick = if choices > 1 { rng.below(choices.into()) } else { 0 };
            let mut from = closer;
            for _ in 0..pick {
                from &= from - 1;
            }
            let port = from.trailing_zeros();
            out.push(PortId::of(port as usize));
            // If both directions are equally long, the first step chooses the direction, so the opposite port
            // is removed.
            closer &= !(1 << (port ^ 1));
            left[port as usize] -= 1;
            closer &= !(u32::from(left[port as usize] == 0) << port);
        }
    }

    /// Routes through a waypoint, drawn uniformly among the nodes that a packet can reach by the directions and hops in
    /// `ways`. Each half of the route takes the dimensions in a random order.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a torus has at most 16 dimensions of at most 256 nodes each"
    )]
    fn by_waypoint(&self, ways: [Way; MAX_DIMS], rng: &mut Stream, out: &mut Vec<PortId>) {
        let dims = self.dims().len();
        let mut order: [u8; MAX_DIMS] = std::array::from_fn(|i| i as u8);
        let mut first = [0; MAX_DIMS];
        for (i, way) in ways.iter().enumerate().take(dims) {
            let hops = u64::from(way.ahead.max(way.behind));
            first[i] = if hops > 0 { rng.below(hops + 1) as u8 } else { 0 };
        }
        for second_half in [false, true] {
            rng.shuffle(&mut order[..dims]);
            for &i in &order[..dims] {
                let i = usize::from(i);
                let way = ways[i];
                let hops = if second_half { way.ahead.max(way.behind) - first[i] } else { first[i] };
                let port = PortId::of(2 * i + usize::from(way.behind > 0));
                out.extend((0..hops).map(|_| port));
            }
        }
    }

    pub(super) fn weights(&self, protocol: Protocol, src: NodeId, dst: NodeId, out: &mut Vec<(LinkId, f32)>) {
        match protocol {
            Protocol::Vlb => self.valiant_weights(src, dst, out),
            Protocol::Dor(tie) => self.dimension_order_weights(tie, src, dst, out),
            _ => {
                let row = self.row(protocol, self.offset(src, dst));
                let moved = self.moved_from(src);
                // A node's entries are adjacent, so each node is translated once.
                let (mut last, mut first_link) = (u32::MAX, 0);
                out.extend(row.iter().map(|&(node, port, weight)| {
                    if node != last {
                        (last, first_link) = (node, self.link(&moved, node, 0).0);
                    }
                    (LinkId(first_link + u32::from(port)), weight)
                }));
            }
        }
    }

    /// Returns the offset of `dst` from `src`: the id of the node that has this offset from node 0.
    fn offset(&self, src: NodeId, dst: NodeId) -> u32 {
        let mut stride = 1;
        let mut offset = 0;
        for (k, up) in self.ups(src, dst) {
            offset += stride * up;
            stride *= k;
        }
        offset
    }

    /// Returns, for each dimension, the row of `moved` that moves node 0 to `src`.
    fn moved_from(&self, src: NodeId) -> [&[u32]; MAX_DIMS] {
        let at = self.place(src);
        let mut moved: [&[u32]; MAX_DIMS] = [&[]; MAX_DIMS];
        for (i, &k) in self.dims().iter().enumerate() {
            moved[i] = &self.moved[i][usize::from(at[i]) * k as usize..][..k as usize];
        }
        moved
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a torus has at most 16 dimensions of at most 256 nodes each"
    )]
    fn link(&self, moved: &[&[u32]; MAX_DIMS], node: u32, port: u16) -> LinkId {
        let at = self.place(NodeId(node));
        let dims = self.dims().len();
        let node: u32 = moved.iter().zip(at).map(|(moved, &x)| moved[usize::from(x)]).sum();
        LinkId(node * (2 * dims as u32) + u32::from(port))
    }

    fn row(&self, protocol: Protocol, offset: u32) -> &[Entry] {
        let place = match protocol {
            Protocol::Rps => 0,
            Protocol::RpsPath => 1,
            Protocol::Wlb => 2,
            Protocol::WlbHop => 3,
            Protocol::Romm => 4,
            Protocol::Dor(_) | Protocol::Vlb | Protocol::Ecmp => {
                panic!("the cache does not hold link weights of `{protocol}`")
            }
        };
        let rows = self.rows[place].get_or_init(|| (0..self.grid.nodes()).map(|_| OnceLock::new()).collect());
        rows[offset as usize].get_or_init(|| self.row_from_zero(protocol, offset))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "node and port numbers fit in their types, and an `f32` is precise enough for a weight"
    )]
    fn row_from_zero(&self, protocol: Protocol, offset: u32) -> Box<[Entry]> {
        let ports = 2 * self.dims().len();
        let entry = |link: usize, weight: f64| {
            (weight >= LEAST_WEIGHT).then_some(((link / ports) as u32, (link % ports) as u16, weight as f32))
        };
        let split = match protocol {
            Protocol::Rps => Split::Ports,
            Protocol::RpsPath => Split::Paths,
            _ => {
                let mut load = vec![0.0; self.grid.nodes() as usize * ports];
                box_row(protocol, &self.grid, self.place(NodeId(offset)), &mut load);
                return load.iter().enumerate().filter_map(|(link, &weight)| entry(link, weight)).collect();
            }
        };
        let dst = NodeId(offset);
        let mut closer = |at: NodeId, out: &mut Vec<(LinkId, NodeId)>| {
            self.productive(at, dst, |port| {
                let next = self.grid.neighbour(at, port).expect("a port on a shortest path must have a link");
                out.push((LinkId::of(at.index() * ports + port.index()), next));
            });
        };
        // `spread` reports each link on the paths once, so no array over the whole torus is needed.
        let mut row = Vec::new();
        spread(NodeId(0), dst, split, &mut closer, |link, weight| row.extend(entry(link.index(), weight)));
        row.sort_unstable_by_key(|&(node, port, _)| (node, port));
        row.into()
    }

    fn dimension_order_weights(&self, tie: Tie, src: NodeId, dst: NodeId, out: &mut Vec<(LinkId, f32)>) {
        let ports = 2 * self.dims().len();
        let mut at = src;
        for (i, way) in self.shortest(src, dst).iter().enumerate().take(self.dims().len()) {
            let up = match (way.ahead > 0, way.behind > 0) {
                (true, true) => match tie {
                    Tie::Parity => f32::from(u8::from(self.place(src)[i].is_multiple_of(2))),
                    Tie::Split => 0.5,
                    Tie::Plus => 1.0,
                },
                (ahead, _) => f32::from(u8::from(ahead)),
            };
            let mut end = at;
            for (port, hops, share) in [(2 * i, way.ahead, up), (2 * i + 1, way.behind, 1.0 - up)] {
                let mut walker = at;
                for _ in 0..hops {
                    if share > 0.0 {
                        out.push((LinkId::of(walker.index() * ports + port), share));
                    }
                    walker = self
                        .grid
                        .neighbour(walker, PortId::of(port))
                        .expect("each port of a path must have a link");
                }
                if hops > 0 {
                    end = walker;
                }
            }
            at = end;
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "node and port numbers fit in their types, and an `f32` is precise enough for a weight"
    )]
    fn valiant_weights(&self, src: NodeId, dst: NodeId, out: &mut Vec<(LinkId, f32)>) {
        let (scattered, gathered) = self.valiant.get_or_init(|| self.valiant_from_zero());
        let ports = 2 * self.dims().len();
        let (from, to) = (self.moved_from(src), self.moved_from(dst));
        let mut sum = vec![0.0; scattered.len()];
        for (moved, part) in [(from, scattered), (to, gathered)] {
            for node in 0..self.grid.nodes() {
                let there = self.link(&moved, node, 0).index();
                let here = node as usize * ports;
                for port in 0..ports {
                    sum[there + port] += part[here + port];
                }
            }
        }
        let nonzero = sum.iter().enumerate().filter(|&(_, &weight)| weight >= LEAST_WEIGHT);
        out.extend(nonzero.map(|(link, &weight)| (LinkId::of(link), weight as f32)));
    }

    fn valiant_from_zero(&self) -> Valiant {
        let ports = 2 * self.dims().len();
        let mut scattered = vec![0.0; self.grid.nodes() as usize * ports];
        let mut gathered = scattered.clone();
        let share = 1.0 / f64::from(self.grid.nodes());
        for waypoint in (0..self.grid.nodes()).map(NodeId) {
            for &(node, port, weight) in self.row(Protocol::Rps, waypoint.0) {
                scattered[node as usize * ports + usize::from(port)] += share * f64::from(weight);
            }
            let moved = self.moved_from(waypoint);
            for &(node, port, weight) in self.row(Protocol::Rps, self.offset(waypoint, NodeId(0))) {
                gathered[self.link(&moved, node, port).index()] += share * f64::from(weight);
            }
        }
        (scattered.into(), gathered.into())
    }
}
