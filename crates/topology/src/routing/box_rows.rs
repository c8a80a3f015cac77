//! Expected link traversals of the routing protocols `wlb`, `wlb_hop` and `romm` on a torus. Under these protocols,
//! each packet draws one direction per dimension and takes steps only in the drawn directions. The nodes that the
//! packet can reach on its way to the destination form a box.

use super::protocol::Protocol;
use super::torus::MAX_DIMS;
use crate::Grid;
use raddle_core::{NodeId, PortId};

/// Computes the expected traversals of each link by a packet from node 0 to the node at `offset`, and adds
/// them to `load`. `load` is indexed by node and port.
pub(super) fn box_row(protocol: Protocol, grid: &Grid, offset: &[u8], load: &mut [f64]) {
    let dims = grid.dims();
    // Bit i of `choice` is the direction in dimension i: 0 is up, 1 is down. `chance` gives the direction's
    // probability.
    for choice in 0..1_u32 << dims.len() {
        let mut hops = [0_u32; MAX_DIMS];
        let mut ports = [0_usize; MAX_DIMS];
        let mut probability = 1.0;
        for (i, &k) in dims.iter().enumerate() {
            let up = u32::from(offset[i]);
            let down = choice >> i & 1 == 1;
            probability *= chance(protocol, k, up, down);
            hops[i] = if down { (k - up) % k } else { up };
            // In a dimension of size two, one link joins the two nodes, and its port is 2i.
            ports[i] = 2 * i + usize::from(down && k > 2);
        }
        if probability > 0.0 {
            let path = Box { grid, hops: &hops[..dims.len()], ports: &ports[..dims.len()] };
            match protocol {
                Protocol::WlbHop => path.by_hop(probability, load),
                _ => path.by_waypoint(probability, load),
            }
        }
    }
}

/// Returns the probability that a packet draws the direction down (if `down`) or up (otherwise) in a dimension of size
/// `k`. The destination is `up` steps up. If `up` is 0, the packet takes no step, and the direction up has probability
/// 1.
fn chance(protocol: Protocol, k: u32, up: u32, down: bool) -> f64 {
    if up == 0 {
        return f64::from(u8::from(!down));
    }
    let upward = match protocol {
        Protocol::Romm if 2 * up == k => 0.5,
        Protocol::Romm => f64::from(u8::from(2 * up < k)),
        _ => f64::from(k - up) / f64::from(k),
    };
    if down { 1.0 - upward } else { upward }
}

/// The box of one choice of directions: the number of steps and the port in each dimension.
struct Box<'a> {
    grid: &'a Grid,
    hops: &'a [u32],
    ports: &'a [usize],
}

impl Box<'_> {
    fn step(&self, at: NodeId, i: usize) -> NodeId {
        self.grid.neighbour(at, PortId::of(self.ports[i])).expect("each port of a path must have a link")
    }

    fn link(&self, at: NodeId, i: usize) -> usize {
        at.index() * 2 * self.grid.dims().len() + self.ports[i]
    }

    /// Visits every node of the grid inside the box. `visit` gets the number of steps in each dimension from node 0,
    /// and the node.
    fn corners(&self, mut visit: impl FnMut(&[u32], NodeId)) {
        let mut steps = vec![0; self.hops.len()];
        let mut nodes = vec![NodeId(0); self.hops.len() + 1];
        // The loop counts like an odometer. `nodes[i]` is the node reached by the steps of dimensions i and
        // above.
        loop {
            visit(&steps, nodes[0]);
            let Some(i) = (0..steps.len()).find(|&i| steps[i] < self.hops[i]) else { return };
            steps[i] += 1;
            nodes[i] = self.step(nodes[i], i);
            for below in (0..i).rev() {
                steps[below] = 0;
                nodes[below] = nodes[below + 1];
            }
        }
    }

    /// Adds to `load` the expected traversals of `wlb_hop`: at each hop, every dimension with steps left has the same
    /// probability.
    fn by_hop(&self, probability: f64, load: &mut [f64]) {
        let mut here = vec![0.0; load.len() / (2 * self.hops.len())];
        here[0] = probability;
        self.corners(|steps, at| {
            let open = steps.iter().zip(self.hops).filter(|(step, hops)| step < hops).count();
            let share = here[at.index()] / open as f64;
            for i in (0..self.hops.len()).filter(|&i| steps[i] < self.hops[i]) {
                load[self.link(at, i)] += share;
                here[self.step(at, i).index()] += share;
            }
        });
    }

    /// Adds to `load` the expected traversals of `wlb` or `romm`: the packet goes to a waypoint, and then to the
    /// destination. All nodes of the box are equally likely waypoints. Each half of the route takes the dimensions in a
    /// uniformly random order.
    fn by_waypoint(&self, probability: f64, load: &mut [f64]) {
        let waypoints: u32 = self.hops.iter().map(|hops| hops + 1).product();
        let moving: Vec<usize> = (0..self.hops.len()).filter(|&i| self.hops[i] > 0).collect();
        let orders = permutations(&moving);
        let share = probability / f64::from(waypoints) / orders.len() as f64;
        self.corners(|steps, waypoint| {
            for order in &orders {
                for (start, second_half) in [(NodeId(0), false), (waypoint, true)] {
                    let mut at = start;
                    for &i in order {
                        let hops = if second_half { self.hops[i] - steps[i] } else { steps[i] };
                        for _ in 0..hops {
                            load[self.link(at, i)] += share;
                            at = self.step(at, i);
                        }
                    }
                }
            }
        });
    }
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for &first in items {
        let rest: Vec<usize> = items.iter().copied().filter(|&item| item != first).collect();
        for mut order in permutations(&rest) {
            order.push(first);
            all.push(order);
        }
    }
    all
}
