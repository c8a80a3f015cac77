//! Fractional splits: the frames for a destination are divided among a switch's up ports, and a notice moves only a
//! share of them. The paper names such splits as future work (§III-D, §VII) and describes no algorithm. The algorithm
//! of this module is our own.
//!
//! Each destination has a weight for each up port. If the port that a notice concerns does not have the least
//! congestion level, the notice moves a share of this port's weight to the port with the least level. Frames follow the
//! weights by smooth weighted round robin, so that a port with a fifth of the weight takes two frames in ten.

use raddle_core::NodeId;

/// The sum of one destination's weights, unless all these weights are 0.
const WHOLE: i32 = 1 << 16;

/// The splits of one switch.
#[derive(Debug, Clone)]
pub(super) struct Split {
    /// For each destination, one entry per up port. Until a notice moves frames for a destination for the first time,
    /// all weights of the destination are 0, and its frames take D-mod-k's port.
    entries: Box<[Entry]>,
    ups: usize,
    /// The share of a port's weight that a notice moves, times [`WHOLE`].
    moved: i64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    weight: i32,
    /// The credit grows by `weight` with each frame for the destination, and shrinks by [`WHOLE`] when the port takes a
    /// frame. The port with the greatest credit takes the next frame.
    credit: i32,
}

impl Split {
    /// Creates the splits of a switch with `ups` up ports in a fabric of `hosts` hosts. `moved` is the share of a
    /// port's frames that a notice moves to another port, between 0 and 1.
    #[allow(clippy::cast_possible_truncation, reason = "`moved` is at most 1")]
    pub(super) fn new(hosts: usize, ups: usize, moved: f64) -> Self {
        let moved = (moved * f64::from(WHOLE)).round() as i64;
        Self { entries: vec![Entry::default(); hosts * ups].into(), ups, moved }
    }

    /// Moves a share of the frames for `to` from one up port to another. `first` is D-mod-k's port.
    #[allow(clippy::cast_possible_truncation, reason = "the moved weight is at most the port's weight")]
    pub(super) fn shift(&mut self, to: NodeId, first: usize, from: usize, onto: usize) {
        let row = &mut self.entries[to.index() * self.ups..][..self.ups];
        if row.iter().all(|entry| entry.weight == 0) {
            row[first].weight = WHOLE;
        }
        // At least 1 is moved while the port has any weight, so that the weight of a permanently congested port reaches
        // 0.
        let weight = i64::from(row[from].weight);
        let moved = (weight * self.moved / i64::from(WHOLE)).max(weight.min(1)) as i32;
        row[from].weight -= moved;
        row[onto].weight += moved;
    }

    /// The up port of the next frame to `to`. Among ports with equal credit, the first port in cyclic order from
    /// `first`, D-mod-k's port, is taken.
    pub(super) fn next(&mut self, to: NodeId, first: usize) -> usize {
        let row = &mut self.entries[to.index() * self.ups..][..self.ups];
        let mut best = first;
        for port in (first..row.len()).chain(0..first) {
            row[port].credit += row[port].weight;
            if row[port].credit > row[best].credit {
                best = port;
            }
        }
        if row[best].credit > 0 {
            row[best].credit -= WHOLE;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: NodeId = NodeId(6);

    fn taken(split: &mut Split, frames: usize) -> [usize; 2] {
        let ports: Vec<usize> = (0..frames).map(|_| split.next(D, 1)).collect();
        [0, 1].map(|port| ports.iter().filter(|&&taken| taken == port).count())
    }

    #[test]
    fn without_notices_frames_take_the_first_port() {
        assert_eq!(taken(&mut Split::new(8, 2, 0.2), 10), [0, 10]);
    }

    #[test]
    fn a_notice_moves_two_frames_in_ten() {
        let mut split = Split::new(8, 2, 0.2);
        split.shift(D, 1, 1, 0);
        assert_eq!(taken(&mut split, 10), [2, 8]);
        // The second notice moves a fifth of the remaining 80%, so that 36% of the frames have moved.
        split.shift(D, 1, 1, 0);
        let [moved, left] = taken(&mut split, 1_000);
        assert!(moved.abs_diff(360) <= 1 && moved + left == 1_000, "{moved}");
        assert_eq!(split.next(NodeId(5), 0), 0, "other destinations");
    }

    #[test]
    fn moved_frames_spread_evenly_over_time() {
        let mut split = Split::new(8, 2, 0.5);
        split.shift(D, 1, 1, 0);
        let ports: Vec<usize> = (0..4).map(|_| split.next(D, 1)).collect();
        assert!(ports.windows(2).all(|pair| pair[0] != pair[1]), "{ports:?}");
    }

    #[test]
    fn a_port_that_always_congests_is_left() {
        let mut split = Split::new(8, 2, 0.2);
        (0..1_000).for_each(|_| split.shift(D, 1, 1, 0));
        taken(&mut split, 100);
        assert_eq!(taken(&mut split, 100), [100, 0]);
    }
}
