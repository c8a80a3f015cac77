//! Packets in the fabric, in reused slots named by `u32`.

use raddle_core::{Packet, PortId, Time, prefetch};

/// Where a packet that is in a node came from and goes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    /// The port it came in by; `None` at the node that sent it.
    pub(crate) port: Option<PortId>,
    /// The link for which it waits at a served port; [`NOWHERE`] if it does not.
    pub(crate) bound: u32,
}

/// No link.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl Origin {
    /// Sent by the present node itself.
    pub(crate) const HERE: Self = Self { port: None, bound: NOWHERE };
}

/// A packet out of its slot, with what its slot says of it.
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

/// A packet on a cache line of its own, or room for one.
#[derive(Debug)]
#[repr(align(64))]
struct Slot(Option<Packet>);

/// What is true of every slot that somebody names.
const PRESENT: &str = "a packet in flight";

/// Bytes of memory that a packet takes.
pub(crate) const BYTES_A_PACKET: usize = size_of::<Slot>();

#[derive(Debug, Default)]
pub(crate) struct Slab {
    slots: Vec<Slot>,
    /// Where packets came from, and when their last bits reach their present nodes, or the next if they are on their way
    /// there; each kept up only where it will matter.
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
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets in flight")
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

    /// Says that a packet will be read soon.
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

    /// Puts a packet in with what another slot said of it.
    pub(crate) fn put(&mut self, parcel: Parcel) -> u32 {
        let is_plain = parcel.is_plain();
        let Parcel { packet, origin, tail } = parcel;
        let slot = self.insert(packet);
        // Most fabrics keep no origins.
        if !is_plain || (slot as usize) < self.origins.len() {
            self.set_origin(slot, origin);
            self.set_tail(slot, tail);
        }
        slot
    }

    /// Takes a packet out with what its slot says of it.
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

    /// When the last bit of a packet reaches the present node, or the next one if it is on its way there; known only under
    /// cut-through, where that may be later than now.
    pub(crate) fn tail(&self, slot: u32) -> Time {
        self.origins.get(slot as usize).map_or(Time::ZERO, |&(_, tail)| tail)
    }

    pub(crate) fn set_tail(&mut self, slot: u32, tail: Time) {
        self.reach(slot);
        self.origins[slot as usize].1 = tail;
    }

    /// The packets there are, with their slots.
    pub(crate) fn all(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.0.is_some()).map(|(slot, _)| slot)
    }

    /// Packets now in the fabric.
    pub(crate) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Most packets ever in the fabric at once.
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
