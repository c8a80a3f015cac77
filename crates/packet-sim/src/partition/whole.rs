//! The state of a link, its port and its packets between two events, independent of the division of the fabric.
//!
//! If a link leads to another partition, the near end holds the port and records or copies of the packets that have not
//! left the port. The far end holds all packets that were put on the link and have not arrived. If both ends are in one
//! partition, one `Wire` serves both ends. A [`Whole`] holds the complete state of a link. It can be created from
//! either form and turned into either form.

use super::Partition;
use super::fabric::Fabric;
use super::setup::{Assembly, Plan};
use crate::divide::Division;
use crate::port::{Class, Leaving, Port, PortSetup, QueueDepths, Special};
use crate::slab::{NOWHERE, Origin, Parcel};
use crate::wire::Travelling;
use raddle_core::{
    Bytes, Duration, LinkErrors, LinkId, LinkStats, NodeId, PortId, PortState, Rate, Time, Totals,
};
use std::sync::Arc;

/// The complete state of a link at a moment between two events.
pub(super) struct Whole {
    pub(super) class: Class,
    pub(super) state: PortState,
    stats: LinkStats,
    depths: QueueDepths,
    /// State that only some links and ports need. Its slot numbers are invalid here, because slots belong to a
    /// partition. The packets themselves are in `waiting`, `coming` and `wire`.
    special: Special,
    /// The packets in the port's queue, in the order of [`Queue::for_each_slot`](raddle_core::Queue::for_each_slot).
    waiting: Vec<Parcel>,
    /// The packet that is still arriving at the far end.
    coming: Option<Parcel>,
    wire: Vec<OnTheWire>,
}

/// A packet that was put on a link and has not arrived.
struct OnTheWire {
    arrives: Time,
    /// The packet. If the port is served, `origin` has the ingress port and the egress link at the node where the link
    /// starts. Under cut-through, `tail` is the time at which the packet's last bit arrives at the far end; otherwise
    /// it is zero.
    parcel: Parcel,
}

impl Whole {
    /// A link at rest.
    pub(super) fn at_rest(plan: &Plan, errors: &LinkErrors, id: LinkId, setup: PortSetup) -> Self {
        let link = plan.topology.link(id);
        let class = Class::new(link, plan.topology.link_layer(), &setup);
        let limit = match &setup.queue {
            Some(queue) => queue.limit(),
            None => setup.limit_bytes.map(Bytes),
        };
        let limit = limit.unwrap_or(PortState::UNLIMITED);
        Self {
            class,
            state: PortState::idle(link.map_or(Rate::ZERO, |link| link.rate)).limited(limit),
            stats: LinkStats::default(),
            depths: QueueDepths::default(),
            special: Special { noise: link.and_then(|_| errors.on(id)), ..Special::new(setup, &class) },
            waiting: Vec::new(),
            coming: None,
            wire: Vec::new(),
        }
    }

    /// Removes a link from its partitions and returns its complete state. The link starts at the node
    /// `from`. The partitions have processed all events up to `now`.
    pub(super) fn take(
        partitions: &mut [Partition],
        division: &Division,
        id: LinkId,
        from: NodeId,
        now: Time,
    ) -> Self {
        let here = division.home(from);
        let place = division.place_of_link(here, id) as usize;
        let near = &mut partitions[here].fabric;
        let copies = near.take_copies(place, now);
        let (port, state) = (&near.links.ports[place], near.links.states[place]);
        let class = near.links.classes[port.class as usize];
        let (mut stats, is_remote) = (port.stats, port.is_remote);
        let depths = near.links.depths.get(place).copied().unwrap_or_default();
        let special = near.links.specials[place].take();
        let mut special = special.map_or_else(Special::default, |special| *special);
        let mut waiting = Vec::new();
        if let Some(served) = &mut special.served {
            served.queue.for_each_slot(&mut |&mut slot| waiting.push(near.slab.take(slot)));
        }

        let (there, place) = if is_remote {
            let (there, place) = near.links.far[place];
            (there as usize, place as usize)
        } else {
            (here, place)
        };
        let far = &mut partitions[there].fabric;
        if is_remote {
            stats += far.links.ports[place].stats;
            if let Some(at_far_end) = far.links.specials[place].take() {
                let Special { credits, coming, noise, .. } = *at_far_end;
                special = Special { credits, coming, noise, ..special };
            }
        }
        let coming = special.coming.map(|coming| far.slab.take(coming.slot));
        let travelling = far.links.ports[place].wire.clear().into_iter();
        let mut wire: Vec<OnTheWire> = travelling
            .map(|Travelling { arrives, slot, .. }| OnTheWire { arrives, parcel: far.slab.take(slot) })
            .collect();
        if is_remote {
            // The packets that have not left the port are the last ones that were put on the link.
            let origins = copies.into_iter().rev().chain(std::iter::repeat(Origin::HERE));
            for (on_the_wire, origin) in wire.iter_mut().rev().zip(origins) {
                on_the_wire.parcel.origin = origin;
            }
        }
        special.ledger.iter_mut().for_each(|leaving| leaving.slot = NOWHERE);
        Self { class, state, stats, depths, special, waiting, coming, wire }
    }

    /// True if the port is a served port, whose departures may be separate events.
    pub(super) fn is_served(&self) -> bool {
        self.special.served.is_some()
    }

    /// Puts the link's near end into a partition that has processed all events up to `now`. The link starts at the node
    /// with the index `node` in that partition.
    pub(super) fn put_near_end(&mut self, fabric: &mut Fabric, place: usize, node: u32, now: Time) {
        let Self { class, state, .. } = *self;
        let Fabric { slab, links, outbox, .. } = fabric;
        let port = &mut links.ports[place];
        let bind = |Origin { bound, .. }: &mut Origin| {
            if *bound != NOWHERE {
                *bound = u32::try_from(place).expect("a link index must fit `u32`");
            }
        };
        self.wire.iter_mut().for_each(|packet| bind(&mut packet.parcel.origin));
        let mut served = self.special.served.take();
        if let Some(served) = &mut served {
            served.node = node;
            let mut waiting = self.waiting.drain(..);
            served.queue.for_each_slot(&mut |slot| {
                let mut parcel = waiting
                    .next()
                    .expect("the queue must have the same number of packets as before the move");
                bind(&mut parcel.origin);
                *slot = slab.put(parcel);
            });
        }
        let bytes = |sizes: &mut dyn Iterator<Item = u32>| sizes.map(u64::from).sum::<u64>();
        let left_by_now = now + class.delay;
        let mut ledger = std::mem::take(&mut self.special.ledger);
        if port.has_ledger {
            if port.is_served {
                // Served ports have a ledger only if the link leads to another partition.
                let leaving = self.wire.iter().filter(|packet| packet.parcel.tail > left_by_now);
                ledger = leaving.map(|packet| packet.leaving(class.delay)).collect();
            } else {
                port.queued = bytes(&mut ledger.iter().map(|leaving| leaving.size));
            }
            if port.is_remote {
                // The ledger may have more packets than the `Wire`. The first bits of the additional packets have
                // arrived at the far end, so these packets need no copy.
                for (leaving, on_the_wire) in ledger.iter_mut().rev().zip(self.wire.iter().rev()) {
                    leaving.slot = slab.put(on_the_wire.parcel.clone());
                }
            }
        } else {
            ledger.clear();
            let leaving = || self.wire.iter().filter(|packet| packet.arrives > left_by_now);
            if !port.is_served {
                port.queued = bytes(&mut leaving().map(|on_the_wire| on_the_wire.parcel.packet.size));
            }
            if port.is_remote {
                for OnTheWire { arrives, parcel } in leaving() {
                    let slot = if outbox.keeps_copies { slab.put(parcel.clone()) } else { NOWHERE };
                    port.wire.push_back(Travelling { arrives: *arrives, slot, size: parcel.packet.size });
                }
            }
        }
        port.free_at = state.drains_at().expect("the packet engine must know when the port drains");
        port.stats = self.stats;
        links.states[place] = state;
        if let Some(depths) = links.depths.get_mut(place) {
            *depths = self.depths;
        }
        if served.is_some() || !ledger.is_empty() {
            links.specials[place] = Some(Box::new(Special { served, ledger, ..Special::default() }));
        }
    }

    /// Puts the link's far end into a partition that has processed all events up to `now`. Call this after
    /// [`put_near_end`](Self::put_near_end).
    pub(super) fn put_far_end(self, fabric: &mut Fabric, place: usize, now: Time) {
        let Special { credits, mut coming, noise, .. } = self.special;
        let Fabric { slab, links, .. } = fabric;
        let port = &mut links.ports[place];
        for OnTheWire { arrives, parcel } in self.wire {
            let size = parcel.packet.size;
            port.wire.push_back(Travelling { arrives, slot: slab.put(parcel), size });
        }
        if port.settles_late {
            port.wire.settle(now + self.class.delay);
        }
        if let (Some(coming), Some(parcel)) = (&mut coming, self.coming) {
            coming.slot = slab.put(parcel);
        }
        if !credits.is_empty() || coming.is_some() || noise.is_some() {
            let special = links.specials[place].get_or_insert_default();
            (special.credits, special.coming, special.noise) = (credits, coming, noise);
        }
    }
}

impl OnTheWire {
    /// The packet's entry in the port's ledger, under cut-through.
    fn leaving(&self, delay: Duration) -> Leaving {
        let sent = Time::ZERO + self.parcel.tail.since(Time::ZERO + delay);
        Leaving { sent, arrives: self.arrives, slot: NOWHERE, size: self.parcel.packet.size }
    }
}

impl Fabric {
    /// Removes the records of packets that have left a port by `now`. If the link leads to another partition, also
    /// removes the copies of the packets that have not left the port. Returns the copies' origins, in order.
    fn take_copies(&mut self, link: usize, now: Time) -> Vec<Origin> {
        let Port { has_ledger, is_remote, .. } = self.links.ports[link];
        if has_ledger {
            self.settle_ledger(link, now);
        } else if is_remote {
            self.settle_remote(link, now);
        }
        if !is_remote {
            return Vec::new();
        }
        let leaving = self.links.ports[link].wire.clear();
        if !self.outbox.keeps_copies {
            return Vec::new();
        }
        let ledger = self.links.specials[link].iter().flat_map(|special| &special.ledger);
        let slots = leaving.iter().map(|packet| packet.slot).chain(ledger.map(|packet| packet.slot));
        let Self { slab, .. } = self;
        slots.filter(|&slot| slot != NOWHERE).map(|slot| slab.take(slot).origin).collect()
    }
}

/// Divides a running fabric in another way, between two instants: the partitions have processed either all or none of
/// the events of any instant.
pub(crate) fn regroup(
    mut old: Vec<Partition>,
    plan: &Plan,
    from: &Division,
    to: &Arc<Division>,
) -> Vec<Partition> {
    let now = old.iter().map(Partition::now).max().unwrap_or(Time::ZERO);
    let mut assembly = Assembly::new(plan, to, now);
    for partition in &old {
        // Changes of links are queued in every partition, so they are taken only from the first partition.
        let events =
            partition.fabric.events.all().filter(|event| partition.number == 0 || !event.is_everywhere());
        events.for_each(|event| assembly.event(partition.name(event)));
    }
    // All flows before the first pending flow have started. The other flows have not started.
    let first = old.iter().map(|partition| &partition.flows);
    let first = first.min_by_key(|flows| flows.peek().map_or(u64::MAX, |flow| flow.id.0.into()));
    let flows = first.expect("there must be at least one partition").clone();
    let mut totals = Totals::default();
    old.iter().for_each(|partition| totals += *partition.totals());
    for from_node in plan.topology.nodes() {
        for port in (0..plan.topology.port_count(from_node)).map(PortId::of) {
            let id = plan.topology.link_id(from_node, port);
            assembly.link(id, from_node, Whole::take(&mut old, from, id, from_node, now));
        }
    }
    let mut nodes: Vec<_> =
        old.iter_mut().map(|partition| std::mem::take(&mut partition.nodes).into_iter()).collect();
    for id in plan.topology.nodes() {
        let home = from.home(id);
        let mut node = nodes[home].next().expect("the partition must contain the node");
        let place = assembly.place_of(id);
        let (there, here) = (&mut old[home].fabric.slab, assembly.slab(id));
        node.move_to(place, |slot| *slot = here.put(there.take(*slot)));
        assembly.node(node);
    }
    assert!(
        old.iter().all(|partition| partition.fabric.slab.live() == 0),
        "every packet must have moved to a new partition"
    );
    assembly.finish(&flows, totals)
}
