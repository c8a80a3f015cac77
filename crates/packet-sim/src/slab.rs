//! The memory for packets in the fabric. Slots are reused and identified by a `u32`.

use raddle_core::{Packet, PortId, Time, prefetch};

/// Arrival port and egress link of a packet inside a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    /// The port by which the packet arrived; `None` at the node that sent it.
    pub(crate) port: Option<PortId>,
    /// The link for which the packet waits at a port with [`Served`](crate::port::Served) state; [`NOWHERE`] if the
    /// packet does not wait at such a port.
    pub(crate) bound: u32,
}

/// Stands for no link, or for no slot.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl Origin {
    /// The origin of a packet that the present node has sent.
    pub(crate) const HERE: Self = Self { port: None, bound: NOWHERE };
}

/// A packet that was taken out of its slot, with the data that the slot kept about the packet.
#[derive(Debug, Clone)]
pub(crate) struct Parcel {
    pub(crate) packet: Packet,
    pub(crate) origin: Origin,
    /// See [`Slab::tail`].
    pub(crate) tail: Time,
}

impl Parcel {
    fn is_plain(&self) -> bool {
        let Origin { port, bound } = self.origin;
        port.is_none() && bound == NOWHERE && self.tail == Time::ZERO
    }
}

/// A cache line that holds a packet or is free.
#[derive(Debug)]
#[repr(align(64))]
struct Slot(Option<Packet>);

/// Panic message for a slot that should hold a packet but is free.
const PRESENT: &str = "the slot must hold a packet in flight";

/// Memory of a packet in bytes.
pub(crate) const BYTES_A_PACKET: usize = size_of::<Slot>();

#[derive(Debug, Default)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    /// For each slot: the packet's origin, and the time at which the packet's last bit reaches the present node (or the
    /// next node, if the packet is on a link). Both are set only where they are needed.
    origins: Vec<(Origin, Time)>,
    free: Vec<u32>,
}

impl Slab {
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize].0 = Some(packet);
            slot
        } else {
            self.slots.push(Slot(Some(packet)));
            u32::try_from(self.slots.len() - 1).expect("there must be fewer than 2^32 packets in flight")
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> Packet {
        self.free.push(slot);
        self.slots[slot as usize].0.take().expect(PRESENT)
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &Packet {
        self.slots[slot as usize].0.as_ref().expect(PRESENT)
    }

    /// Prefetches a packet that will be read soon.
    #[inline]
    pub(crate) fn foresee(&self, slot: u32) {
        prefetch(&self.slots[slot as usize]);
        if let Some(origin) = self.origins.get(slot as usize) {
            prefetch(origin);
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Packet {
        self.slots[slot as usize].0.as_mut().expect(PRESENT)
    }

    /// Inserts a packet that was taken out of another slot, with the data that the slot kept about the packet.
    pub(crate) fn put(&mut self, parcel: Parcel) -> u32 {
        let is_plain = parcel.is_plain();
        let Parcel { packet, origin, tail } = parcel;
        let slot = self.insert(packet);
        // In most fabrics `origins` stays empty.
        if !is_plain || (slot as usize) < self.origins.len() {
            self.set_origin(slot, origin);
            self.set_tail(slot, tail);
        }
        slot
    }

    /// Removes a packet, and returns it with the data that the slot kept about the packet.
    pub(crate) fn take(&mut self, slot: u32) -> Parcel {
        Parcel { packet: self.remove(slot), origin: self.origin(slot), tail: self.tail(slot) }
    }

    pub(crate) fn origin(&self, slot: u32) -> Origin {
        self.origins.get(slot as usize).map_or(Origin::HERE, |&(origin, _)| origin)
    }

    #[inline]
    pub(crate) fn set_origin(&mut self, slot: u32, origin: Origin) {
        self.reach(slot);
        self.origins[slot as usize].0 = origin;
    }

    #[inline]
    fn reach(&mut self, slot: u32) {
        if self.origins.len() <= slot as usize {
            self.extend_origins();
        }
    }

    #[cold]
    fn extend_origins(&mut self) {
        self.origins.resize(self.slots.len(), (Origin::HERE, Time::ZERO));
    }

    /// Time at which the last bit of a packet reaches its present node, or its next node if the packet is on a link.
    /// Known only under cut-through, where this time may be in the future. Otherwise zero.
    pub(crate) fn tail(&self, slot: u32) -> Time {
        self.origins.get(slot as usize).map_or(Time::ZERO, |&(_, tail)| tail)
    }

    pub(crate) fn set_tail(&mut self, slot: u32, tail: Time) {
        self.reach(slot);
        self.origins[slot as usize].1 = tail;
    }

    /// The slots that hold a packet.
    pub(crate) fn all(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.0.is_some()).map(|(slot, _)| slot)
    }

    /// Number of packets that are now in this memory.
    pub(crate) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Peak number of packets in this memory.
    pub(crate) fn peak(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_fits_a_cache_line() {
        assert_eq!(size_of::<Slot>(), 64);
    }
}
