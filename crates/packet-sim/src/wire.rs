//! The link behind a port, with the packets on it.

use raddle_core::{Time, prefetch};

/// A packet that a port has accepted and that has not arrived at the link's far end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Travelling {
    /// Arrival time of the packet's last bit. Under cut-through, arrival time of the packet's header, unless the far
    /// end forwards no packets.
    pub(crate) arrives: Time,
    pub(crate) slot: u32,
    pub(crate) size: u32,
}

/// A link: the node at its far end, and its packets in order of departure, which is also the order of arrival. The
/// packet that arrives next is stored outside the ring buffer, so that a link with at most one packet at a time never
/// touches the ring buffer. The ring buffer grows to the peak number of packets.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Wire {
    front: Travelling,
    /// The packets after the first packet, in a ring buffer whose size is a power of two or zero.
    rest: Box<[Travelling]>,
    head: u32,
    /// Number of packets on the link, including `front`.
    len: u32,
    /// Number of packets at the front that are recorded as having left the port.
    left: u32,
    /// The index of the node at the far end; meaningless if that node belongs to another partition.
    pub(crate) to_node: u32,
}

const FIRST_CAPACITY: usize = 4;

impl Wire {
    pub(crate) fn to(to_node: u32) -> Self {
        Self { to_node, ..Self::default() }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    fn packet(&self, i: u32) -> &Travelling {
        match i {
            0 => &self.front,
            _ => &self.rest[self.head.wrapping_add(i - 1) as usize & (self.rest.len() - 1)],
        }
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<&Travelling> {
        (self.len > 0).then_some(&self.front)
    }

    #[inline]
    pub(crate) fn push_back(&mut self, packet: Travelling) {
        if self.len == 0 {
            self.front = packet;
        } else {
            if self.len() > self.rest.len() {
                self.grow();
            }
            let mask = self.rest.len() - 1;
            self.rest[self.head.wrapping_add(self.len - 1) as usize & mask] = packet;
        }
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (2 * self.rest.len()).max(FIRST_CAPACITY);
        let mut rest = Vec::with_capacity(capacity);
        rest.extend((1..self.len).map(|i| *self.packet(i)));
        rest.resize(capacity, Travelling::default());
        self.rest = rest.into();
        self.head = 0;
    }

    /// Removes the packet that arrives next. Returns the packet and a flag. The flag is true if the packet's
    /// departure from the port was not recorded yet.
    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<(Travelling, bool)> {
        let packet = *self.front()?;
        self.len -= 1;
        if self.len > 0 {
            self.front = self.rest[self.head as usize & (self.rest.len() - 1)];
            self.head = self.head.wrapping_add(1);
        }
        let unknown = self.left == 0;
        self.left -= u32::from(!unknown);
        Some((packet, unknown))
    }

    /// Removes the packet that arrives next, if its departure from the port has been recorded.
    #[inline]
    pub(crate) fn pop_left(&mut self) -> Option<Travelling> {
        if self.left == 0 {
            return None;
        }
        self.pop_front().map(|(packet, _)| packet)
    }

    /// Records the departure from the port of all packets that arrive at the far end no later than
    /// `arrived`. Returns the total size in bytes of the packets whose departure is newly recorded.
    #[inline]
    pub(crate) fn settle(&mut self, arrived: Time) -> u64 {
        let mut bytes = 0;
        while self.left < self.len {
            let packet = self.packet(self.left);
            if packet.arrives > arrived {
                break;
            }
            bytes += u64::from(packet.size);
            self.left += 1;
        }
        bytes
    }

    /// Prefetches the second packet on the link, which will be read soon.
    #[inline]
    pub(crate) fn foresee_second(&self) {
        if self.len > 1 {
            prefetch(self.packet(1));
        }
    }

    /// Prefetches the places of the first packet whose departure is not recorded, and of the next packet to
    /// be added.
    #[inline]
    pub(crate) fn foresee_last(&self) {
        if self.len > 1 {
            prefetch(self.packet(self.left));
            prefetch(self.packet(self.len));
        }
    }

    /// Number of packets whose departure from the port is not recorded yet.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        (self.len - self.left) as usize
    }

    /// The packets on the link.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Travelling> {
        (0..self.len).map(|i| self.packet(i))
    }

    /// Removes all packets and returns them.
    pub(crate) fn clear(&mut self) -> Vec<Travelling> {
        let packets = (0..self.len).map(|i| *self.packet(i)).collect();
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
        /// Compares a `Wire` with a deque under any mix of pushes, pops and calls of `settle`.
        #[test]
        fn a_link_is_a_queue(steps in prop::collection::vec(0_u32..4, 1..300)) {
            let (mut wire, mut model, mut left) = (Wire::default(), VecDeque::new(), 0);
            for (step, n) in steps.into_iter().zip(0_u32..) {
                match step {
                    0 | 1 => {
                        wire.push_back(Travelling { arrives: at(u64::from(n) + 5), slot: n, size: 1 });
                        model.push_back(n);
                    }
                    2 => {
                        let popped = wire.pop_front().map(|(packet, unknown)| (packet.slot, unknown));
                        prop_assert_eq!(popped, model.pop_front().map(|n| (n, left == 0)));
                        left -= usize::from(left > 0);
                    }
                    _ => {
                        let gone = model.iter().skip(left).take_while(|&&packet| packet + 5 <= n).count();
                        prop_assert_eq!(wire.settle(at(n.into())), gone as u64);
                        left += gone;
                    }
                }
                prop_assert_eq!(wire.len(), model.len());
                prop_assert_eq!(wire.waiting(), model.len() - left);
                prop_assert_eq!(wire.front().map(|packet| packet.slot), model.front().copied());
            }
            let rest: Vec<u32> = wire.clear().iter().map(|packet| packet.slot).collect();
            prop_assert_eq!(rest, Vec::from(model));
            prop_assert_eq!(wire.len(), 0);
        }
    }
}
