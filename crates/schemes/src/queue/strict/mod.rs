//! Strict priority among classes, with first in, first out within each class (IEEE 802.1Q §8.6.8.1). Control frames are
//! served first, then the highest priority that is not paused.

use crate::scheme::{Info, Plan, QueueDiscipline, Queues, Unfit, View};
use raddle_core::{Admit, Bytes, Class, Packet, Paused, Queue, Time};
use std::collections::VecDeque;

/// Strict priority.
pub const QUEUE: QueueDiscipline = QueueDiscipline {
    info: Info {
        name: "strict",
        summary: "Serves the eight priorities of 802.1Q in strict order; respects pauses; the queue has no \
                  size limit",
        source: "IEEE 802.1Q §8.6.8.1",
        differs: &[],
        view: View::Local,
        parameters: &[],
    },
    build,
};

fn build(_: &Plan<'_>, _: u32) -> Result<Queues, Unfit> {
    Ok(Box::new(|_| Box::new(Strict::default())))
}

/// Packets of one class: the slot and the size of each packet.
type Packets = VecDeque<(u32, u32)>;

/// The queue of one port. Usually only one class is backlogged, so the waiting packets of the other classes are in a
/// separate allocation.
#[derive(Debug, Default)]
pub struct Strict {
    /// The class of the packet that joined when the queue was last empty.
    class: Class,
    /// One bit for each backlogged class.
    backlogged: u16,
    bytes: u64,
    /// The waiting packets of `class`.
    packets: Packets,
    /// The waiting packets of the other classes, indexed by class.
    others: Option<Box<[Packets; Class::CONTROL.index() + 1]>>,
}

impl Strict {
    fn packets(&mut self, class: Class) -> &mut Packets {
        if class == self.class {
            return &mut self.packets;
        }
        &mut self.others.get_or_insert_default()[class.index()]
    }
}

impl Queue for Strict {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        let class = packet.class();
        if self.backlogged == 0 {
            self.class = class;
        }
        self.bytes += u64::from(packet.size);
        self.backlogged |= 1 << class.0;
        self.packets(class).push_back((slot, packet.size));
        Admit::Take
    }

    #[allow(clippy::cast_possible_truncation, reason = "a class is below 16")]
    fn pop(&mut self, _: Time, paused: Paused) -> Option<u32> {
        let class = (self.backlogged & !u16::from(paused.0)).checked_ilog2()?;
        let class = Class(class as u8);
        let packets = self.packets(class);
        let (slot, size) = packets.pop_front()?;
        if packets.is_empty() {
            self.backlogged &= !(1 << class.0);
        }
        self.bytes -= u64::from(size);
        Some(slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        let others = self.others.iter_mut().flat_map(|others| others.iter_mut());
        let packets = std::iter::once(&mut self.packets).chain(others).flatten();
        packets.for_each(|(slot, _)| visit(slot));
    }

    fn foresee(&self) -> Option<u32> {
        self.packets.front().map(|&(slot, _)| slot)
    }

    fn may_be_passed(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use raddle_core::Header;
    use raddle_wire::cee::Frame;

    #[test]
    fn the_highest_class_that_is_not_paused_goes_first() {
        let mut queue = Strict::default();
        let frame =
            |priority| Packet::new(100, Header::Cee(Frame { priority, plen: 100, ..Frame::default() }));
        let notice = Packet::new(64, Header::Cnm(crate::testing::notice()));
        for (slot, packet) in [frame(0), frame(3), notice, frame(3), frame(5)].iter().enumerate() {
            assert_eq!(queue.push(Time::ZERO, slot as u32, packet), Admit::Take);
        }
        assert_eq!(queue.bytes(), Bytes(464));
        let paused = Paused(1 << 5 | 1 << 0);
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop(Time::ZERO, paused)).collect();
        assert_eq!(order, [2, 1, 3], "control frames are never paused");
        let rest: Vec<u32> = std::iter::from_fn(|| queue.pop(Time::ZERO, Paused::NONE)).collect();
        assert_eq!((rest, queue.bytes()), (vec![4, 0], Bytes(0)));
    }
}
