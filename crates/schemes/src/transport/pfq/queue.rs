//! The queues of one egress port: one queue per flow, served by deficit round robin (Shreedhar and Varghese, SIGCOMM
//! 1995).

use raddle_core::{Admit, Bytes, Credit, Header, Packet, Paused, Queue, Time};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The handle of the queue of topology-discovery packets, which belongs to no flow.
const OF_DISCOVERY: u32 = Credit::NOBODY;

/// The queues of all flows at one port.
#[derive(Debug)]
pub(crate) struct FlowQueues {
    quantum: u32,
    /// The flow, slot and size of a packet that is alone at the port. Such a packet needs no queue, which saves the
    /// cost of creating and removing a queue.
    lone: Option<(u32, u32, u32)>,
    flows: FxHashMap<u32, u32>,
    queues: Vec<FlowQueue>,
    idle: Vec<u32>,
    /// Indices of the queues of backlogged flows, in order of service.
    turn: VecDeque<u32>,
    bytes: u64,
}

#[derive(Debug, Default)]
struct FlowQueue {
    flow: u32,
    packets: VecDeque<(u32, u32)>,
    deficit: u32,
}

impl FlowQueues {
    /// The queues of an idle port. A flow's queue may send `quantum` bytes per turn.
    #[must_use]
    pub(crate) fn new(quantum: u32) -> Self {
        Self {
            quantum,
            lone: None,
            flows: FxHashMap::default(),
            queues: Vec::new(),
            idle: Vec::new(),
            turn: VecDeque::new(),
            bytes: 0,
        }
    }

    fn enqueue(&mut self, flow: u32, slot: u32, size: u32) {
        let place = self.queue_of(flow);
        self.queues[place as usize].packets.push_back((slot, size));
    }

    fn queue_of(&mut self, flow: u32) -> u32 {
        if let Some(&place) = self.flows.get(&flow) {
            return place;
        }
        let place = self.idle.pop().unwrap_or_else(|| {
            self.queues.push(FlowQueue::default());
            u32::try_from(self.queues.len() - 1).expect("a port must have at most 2^32 queues of flows")
        });
        self.queues[place as usize].flow = flow;
        // A flow receives its quantum at the end of its turn. A new flow receives its first quantum at once.
        self.queues[place as usize].deficit = self.quantum;
        self.flows.insert(flow, place);
        self.turn.push_back(place);
        place
    }
}

/// The flow of a data packet; `None` for other packets.
pub(super) fn flow_of(packet: &Packet) -> Option<u32> {
    match &packet.header {
        Header::R2c2Data(data) => Some(data.flow),
        _ => None,
    }
}

impl Queue for FlowQueues {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        let flow = match packet.header {
            Header::Hello(_) | Header::LinkStates(_) => OF_DISCOVERY,
            _ => match flow_of(packet) {
                Some(flow) => flow,
                None => return Admit::Drop,
            },
        };
        self.bytes += u64::from(packet.size);
        if let Some((flow, slot, size)) = self.lone.take() {
            self.enqueue(flow, slot, size);
        } else if self.turn.is_empty() {
            self.lone = Some((flow, slot, packet.size));
            return Admit::Take;
        }
        self.enqueue(flow, slot, packet.size);
        Admit::Take
    }

    fn pop(&mut self, _: Time, _: Paused) -> Option<u32> {
        if let Some((_, slot, size)) = self.lone.take() {
            self.bytes -= u64::from(size);
            return Some(slot);
        }
        loop {
            let &place = self.turn.front()?;
            let queue = &mut self.queues[place as usize];
            let &(slot, size) = queue.packets.front().expect("a flow must have a packet when its turn comes");
            if queue.deficit < size {
                queue.deficit += self.quantum;
                self.turn.rotate_left(1);
                continue;
            }
            queue.deficit -= size;
            queue.packets.pop_front();
            self.bytes -= u64::from(size);
            if queue.packets.is_empty() {
                self.turn.pop_front();
                self.flows.remove(&queue.flow);
                self.idle.push(place);
            }
            return Some(slot);
        }
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        let lone = self.lone.iter_mut().map(|(_, slot, _)| slot);
        let packets = self.queues.iter_mut().flat_map(|queue| &mut queue.packets).map(|(slot, _)| slot);
        lone.chain(packets).for_each(visit);
    }

    fn may_be_passed(&self) -> bool {
        true
    }
}
