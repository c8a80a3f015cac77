//! Packets in the fabric, in reused slots named by `u32`.

use raddle_core::{Packet, PortId, Time};

/// A packet inside the fabric.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resident {
    pub(crate) packet: Packet,
    /// The port it came into its present node by; `None` at the node that sent it.
    pub(crate) arrival: Option<PortId>,
    /// When its last bit reaches the present node: later than now only under cut-through.
    pub(crate) tail: Time,
}

#[derive(Debug, Default)]
pub(crate) struct Slab {
    slots: Vec<Resident>,
    free: Vec<u32>,
}

impl Slab {
    pub(crate) fn insert(&mut self, resident: Resident) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = resident;
            slot
        } else {
            self.slots.push(resident);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets in flight")
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Resident {
        self.free.push(slot);
        self.slots[slot as usize]
    }

    pub(crate) fn get(&self, slot: u32) -> &Resident {
        &self.slots[slot as usize]
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Resident {
        &mut self.slots[slot as usize]
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
