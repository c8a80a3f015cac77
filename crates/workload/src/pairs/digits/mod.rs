//! Permutations of `k^b` hosts by the `b` digits of their numbers in radix `k` (Dally & Towles, §3.2; Duato et al.,
//! §9.2; specifications/cee.md §6.2). With radix 2 the digits are bits, as in the patterns' names.

use super::{grid, nonempty};
use crate::WorkloadError;
use raddle_core::NodeId;
use raddle_topology::{Shape, Topology};

/// The rule by which a receiver's digits follow from the sender's digits. `s_i` is digit `i` of the sender,
/// and `d_i` is digit `i` of the receiver. Digit 0 is the least significant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    /// `d_i = k - 1 - s_i`. On a grid, if no radix is given, each coordinate is complemented.
    Complement,
    /// `d_i = s_{b-1-i}`.
    Reversal,
    /// `d_i = s_{i+1}`, with indices modulo `b`.
    Rotation,
    /// `d_i = s_{i-1}`, with indices modulo `b`: the perfect shuffle.
    Shuffle,
    /// `d_i = s_{i + floor(b/2)}`, with indices modulo `b`. For even `b`, this swaps the halves of the
    /// number. On a grid, if no radix is given, the coordinates are rotated: `(x, y)` becomes `(y, x)`, and
    /// `(x, y, z)` becomes `(y, z, x)`. The dimensions must then have equal sizes.
    Transpose,
    /// Digits 0 and `b - 1` are swapped.
    Butterfly,
}

impl Digits {
    const fn name(self) -> &'static str {
        match self {
            Self::Complement => "bit-complement",
            Self::Reversal => "bit-reversal",
            Self::Rotation => "bit-rotation",
            Self::Shuffle => "perfect-shuffle",
            Self::Transpose => "transpose",
            Self::Butterfly => "butterfly",
        }
    }

    /// Returns the pattern's pairs. There must be `radix^b` hosts. If `radix` is `None`, the radix is `k` for
    /// a k-ary tree and 2 for other topologies, except that on a grid two of the patterns apply to coordinates.
    pub(super) fn pairs(
        self,
        topology: &Topology,
        hosts: &[NodeId],
        radix: Option<u32>,
    ) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
        match (self, topology.shape(), radix) {
            (Self::Complement, Shape::Torus(_) | Shape::Mesh(_), None) => {
                return grid::bit_complement(topology);
            }
            (Self::Transpose, Shape::Torus(_) | Shape::Mesh(_), None) => return grid::transpose(topology),
            _ => {}
        }
        let radix = radix.unwrap_or_else(|| natural_radix(topology));
        if radix < 2 {
            return Err(WorkloadError::parameter("radix", &radix, "at least 2"));
        }
        let digits = digits(hosts.len(), radix as usize).ok_or(WorkloadError::NotAPower {
            pattern: self.name(),
            hosts: hosts.len(),
            radix,
        })?;
        let to = |src| hosts[self.map(src, radix as usize, digits)];
        nonempty(self.name(), hosts.iter().enumerate().map(|(i, &src)| (src, to(i))))
    }

    /// Returns the number to which the pattern maps `number`, which has `count` digits.
    fn map(self, number: usize, radix: usize, count: u32) -> usize {
        let digit = |i: u32| number / radix.pow(i) % radix;
        let moved = |i: u32| match self {
            Self::Complement => radix - 1 - digit(i),
            Self::Reversal => digit(count - 1 - i),
            Self::Rotation => digit((i + 1) % count),
            Self::Shuffle => digit((i + count - 1) % count),
            Self::Transpose => digit((i + count / 2) % count),
            Self::Butterfly if i == 0 => digit(count - 1),
            Self::Butterfly if i == count - 1 => digit(0),
            Self::Butterfly => digit(i),
        };
        (0..count).map(|i| moved(i) * radix.pow(i)).sum()
    }
}

/// Returns the number of children per switch of a tree if this number is equal at all levels. Returns 2 for other trees
/// and other topologies.
fn natural_radix(topology: &Topology) -> u32 {
    match topology.shape() {
        Shape::Xgft(size) if size.children.iter().all(|&k| k == size.children[0]) => size.children[0],
        _ => 2,
    }
}

/// Returns the exponent `b` with `count = radix^b`; `None` if there is no such exponent.
fn digits(count: usize, radix: usize) -> Option<u32> {
    let digits = count.ilog(radix);
    (radix.pow(digits) == count).then_some(digits)
}

/// Pairs host number `i` with host number `i xor by`. The number of hosts must be a power of two and more than `by`.
pub(super) fn exchange(hosts: &[NodeId], by: u32) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    const PATTERN: &str = "exchange";
    if !hosts.len().is_power_of_two() {
        return Err(WorkloadError::NotAPower { pattern: PATTERN, hosts: hosts.len(), radix: 2 });
    }
    if by as usize >= hosts.len() {
        return Err(WorkloadError::parameter("exchange distance", &by, "less than the number of hosts"));
    }
    nonempty(PATTERN, hosts.iter().enumerate().map(|(i, &src)| (src, hosts[i ^ by as usize])))
}

#[cfg(test)]
mod tests;
