//! The packets between a port and the far end of its link.

use raddle_core::Time;

/// A packet accepted by a port and not yet arrived at the link's far end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Travelling {
    /// It arrives: its last bit, or its header under cut-through.
    pub(crate) arrives: Time,
    pub(crate) slot: u32,
    pub(crate) size: u32,
}

/// Packets in order of departure, which is that of arrival, in a buffer that grows to the most there have been.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    /// As many as a power of two, or none.
    entries: Box<[Travelling]>,
    head: u32,
    len: u32,
    /// How many at the head are known to have left the port.
    left: u32,
}

const FIRST_CAPACITY: usize = 4;

impl Ring {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    fn entry(&self, i: u32) -> &Travelling {
        &self.entries[(self.head.wrapping_add(i)) as usize & (self.entries.len() - 1)]
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Travelling> {
        (self.len > 0).then(|| self.entry(0))
    }

    #[inline]
    pub(crate) fn push_back(&mut self, packet: Travelling) {
        if self.len() == self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        self.entries[self.head.wrapping_add(self.len) as usize & mask] = packet;
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (2 * self.entries.len()).max(FIRST_CAPACITY);
        let mut entries = Vec::with_capacity(capacity);
        entries.extend((0..self.len).map(|i| *self.entry(i)));
        entries.resize(capacity, Travelling::default());
        self.entries = entries.into();
        self.head = 0;
    }

    /// Takes the head off. Returns it, and whether it was not known to have left.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<(Travelling, bool)> {
        let packet = *self.front()?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        let unknown = self.left == 0;
        self.left -= u32::from(!unknown);
        Some((packet, unknown))
    }

    /// The bytes of packets that arrive by `arrived` and were not known to have left: from now on they are.
    #[inline]
    pub(crate) fn settle(&mut self, arrived: Time) -> u64 {
        let mut bytes = 0;
        while self.left < self.len {
            let packet = self.entry(self.left);
            if packet.arrives > arrived {
                break;
            }
            bytes += u64::from(packet.size);
            self.left += 1;
        }
        bytes
    }

    /// Packets not known to have left.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        (self.len - self.left) as usize
    }

    /// Empties the ring.
    pub(crate) fn clear(&mut self) -> Vec<Travelling> {
        let packets = (0..self.len).map(|i| *self.entry(i)).collect();
        (self.head, self.len, self.left) = (0, 0, 0);
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    proptest! {
        /// Against a deque: any mix of pushes, pops and settlements.
        #[test]
        fn a_ring_is_a_queue(steps in prop::collection::vec(0_u32..4, 1..300)) {
            let (mut ring, mut model, mut left) = (Ring::default(), VecDeque::new(), 0);
            for (step, n) in steps.into_iter().zip(0_u32..) {
                match step {
                    0 | 1 => {
                        ring.push_back(Travelling { arrives: at(u64::from(n) + 5), slot: n, size: 1 });
                        model.push_back(n);
                    }
                    2 => {
                        let popped = ring.pop_front().map(|(packet, unknown)| (packet.slot, unknown));
                        prop_assert_eq!(popped, model.pop_front().map(|n| (n, left == 0)));
                        left -= usize::from(left > 0);
                    }
                    _ => {
                        let gone = model.iter().skip(left).take_while(|&&packet| packet + 5 <= n).count();
                        prop_assert_eq!(ring.settle(at(n.into())), gone as u64);
                        left += gone;
                    }
                }
                prop_assert_eq!(ring.len(), model.len());
                prop_assert_eq!(ring.waiting(), model.len() - left);
                prop_assert_eq!(ring.front().map(|packet| packet.slot), model.front().copied());
            }
            let rest: Vec<u32> = ring.clear().iter().map(|packet| packet.slot).collect();
            prop_assert_eq!(rest, Vec::from(model));
            prop_assert_eq!(ring.len(), 0);
        }
    }
}
