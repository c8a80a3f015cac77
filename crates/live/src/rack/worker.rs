//! A polling thread of a rack: its nodes, their incoming links, and the round in which the thread serves them.

use super::endpoint::Request;
use super::events::Event;
use super::fabric::{Fabric, Inside};
use super::machines::Crossing;
use super::orders::Ordered;
use super::party::Count;
use super::ring::{Consumer, Entry};
use super::shared::Words;
use crate::served::Serve;
use raddle_core::{Bytes, Duration, Flow, LinkId, Node, NodeId, Packet, PortId, Time};
use rustix::thread::set_current_timer_slack;
use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The receiving end of a link.
pub(super) struct Incoming {
    pub(super) ring: Consumer<Words>,
    pub(super) link: LinkId,
    pub(super) to: NodeId,
    pub(super) port: PortId,
    /// Lateness beyond which a packet slips, that is, is handled at the current time instead of its due time. It is
    /// four times the serialization delay of a full packet on the link.
    pub(super) patience: Duration,
    /// True if another thread that shares this memory owns the sending end, so that this thread must check the ring for
    /// new packets.
    pub(super) is_remote: bool,
    /// The tag of packets that were sent since the link last failed.
    pub(super) tag: u8,
    /// The tag of packets that the node can receive without inspection. `None` if all packets must be inspected.
    pub(super) plain: Option<u8>,
    /// The times at which the link has failed.
    pub(super) failures: Vec<Time>,
    /// True if the sending port has an agent or a queue of its own. When the link fails, the state of the port's queue
    /// shows which packets have not left the port.
    pub(super) is_from_queue: bool,
}

/// The part of a rack that one polling thread runs.
pub(super) struct Worker {
    /// The first of the thread's nodes, which have consecutive numbers.
    pub(super) first: NodeId,
    pub(super) nodes: Vec<Node<Fabric>>,
    /// Indexed by node of this thread: the latest time that was passed to the node. This time never goes back.
    pub(super) times: Vec<Time>,
    /// The incoming links. Links from other threads that share this memory come first.
    pub(super) incoming: Vec<Incoming>,
    pub(super) flows: VecDeque<Flow>,
    pub(super) fabric: Fabric,
    /// The channel by which the thread receives orders, if there is one.
    pub(super) ordered: Ordered,
    pub(super) time_limit: Time,
    /// Serialization delay of a full packet on the slowest link.
    pub(super) packet_time: Duration,
    /// The links to and from other machines, if there are any.
    pub(super) crossing: Option<Crossing>,
}

/// The progress that a polling thread publishes to other threads. Each `Standing` has cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Standing {
    /// The virtual time of the thread's latest event, in ps.
    pub(super) now: AtomicU64,
    pub(super) packet_hops: AtomicU64,
    pub(super) flows_delivered: AtomicU64,
    /// Number of packets that were put into rings or wait at ports. Credits count as packets. Packets of topology
    /// discovery do not count.
    pub(super) put: AtomicU64,
    /// Number of packets that were taken out of rings. Credits count as packets. Packets of topology discovery do not
    /// count.
    pub(super) taken: AtomicU64,
    /// True if all flows of the thread have started, and its nodes do nothing but send hello messages until a packet
    /// arrives.
    pub(super) is_quiet: AtomicBool,
    /// True if the time limit has passed.
    pub(super) is_over: AtomicBool,
}

impl Standing {
    /// Progress of several threads together.
    pub(super) fn count(standings: &[Self]) -> Count {
        let sum = |of: fn(&Self) -> &AtomicU64| {
            standings.iter().map(|standing| of(standing).load(Ordering::Acquire)).sum()
        };
        let now = standings.iter().map(|standing| standing.now.load(Ordering::Relaxed)).max();
        Count {
            now: now.unwrap_or(0),
            packet_hops: sum(|standing| &standing.packet_hops),
            flows_delivered: sum(|standing| &standing.flows_delivered),
            put: sum(|standing| &standing.put),
            taken: sum(|standing| &standing.taken),
            is_quiet: standings.iter().all(|standing| standing.is_quiet.load(Ordering::Relaxed)),
            has_programs: false,
            is_over: standings.iter().any(|standing| standing.is_over.load(Ordering::Acquire)),
        }
    }
}

/// Virtual time is held if a due event is late by more than this time. On fast links, packets slip at a much smaller
/// lateness.
const FAR_BEHIND: Duration = Duration::from_ms(1);

/// Largest number of rounds between two executions of less urgent work, and also the largest number of events that one
/// round handles.
const SELDOM: u32 = 64;

impl Worker {
    /// Polls until `stop` is set or the time limit has passed.
    pub(super) fn poll(&mut self, standing: &Standing, stop: &AtomicBool) {
        if self.fabric.interfaces.is_some() {
            // With the default timer slack, the kernel would end a wait up to 50 us late.
            let _ = set_current_timer_slack(NonZero::new(1));
        }
        let mut last = self.fabric.clock.real_ns();
        let mut round: u32 = 0;
        while !stop.load(Ordering::Relaxed) {
            // A clock that follows another machine's clock may go back. The thread's time then stands still.
            let real = self.fabric.clock.real_ns().max(last);
            self.fabric.meter.round(real - last);
            last = real;
            let now = self.fabric.clock.at(real);
            if let Some(crossing) = &mut self.crossing {
                crossing.take_in(&mut self.fabric, now);
            }
            let now = self.in_time(now);
            if now > self.time_limit {
                self.fabric.now = self.time_limit;
                self.publish(standing);
                standing.is_over.store(true, Ordering::Release);
                return;
            }
            self.round(now);
            if let Some(crossing) = &mut self.crossing {
                crossing.send_out(&mut self.fabric, real);
            }
            round = round.wrapping_add(1);
            let wait_ns = self.may_wait_ns(now, real);
            if wait_ns > 0 || round.is_multiple_of(SELDOM) {
                self.fabric.take_returned_slots();
                self.take_losses();
                self.follow_orders(now);
                self.publish(standing);
            }
            if wait_ns > 0 {
                self.wait_for_frames(wait_ns);
                // A wait does not count as a gap, because the thread has no work in the meantime.
                last = last.max(self.fabric.clock.real_ns());
            }
        }
        self.publish(standing);
    }

    /// Holds virtual time if the thread's next event, or a packet that the thread must write to another machine, is
    /// late by more than [`FAR_BEHIND`]. Without a hold, a source that paces itself by the clock would send more than
    /// the thread can carry, and fewer and fewer packets would arrive. Returns the virtual time after the hold, or
    /// `now` if nothing is that late.
    #[inline]
    fn in_time(&self, now: Time) -> Time {
        let mut first = self.fabric.events.first().map_or(now, |(at, _)| at);
        if let Some(crossing) = &self.crossing {
            first = first.min(crossing.first_due());
        }
        if now.since(first) <= FAR_BEHIND {
            return now;
        }
        self.fabric.clock.hold(now.since(first + FAR_BEHIND));
        first + FAR_BEHIND
    }

    /// Handles all events as fast as possible, in order, until none is left or the time limit passes: virtual time
    /// jumps from one event to the next. Hello messages never end, so `rush` also ends when only hello messages are
    /// left.
    pub(super) fn rush(&mut self) {
        let says_hello = self.nodes.iter().any(|node| node.discovery().is_some());
        let mut round: u32 = 0;
        while let Some((next, _)) = self.fabric.events.first()
            && next <= self.time_limit
        {
            self.round(next);
            round = round.wrapping_add(1);
            if says_hello && round.is_multiple_of(SELDOM) && self.is_quiet() {
                let [put, taken] = self.fabric.moved();
                if put == taken {
                    return;
                }
            }
        }
    }

    /// Returns true if all flows of this thread have started, and its nodes do nothing but send hello messages until a
    /// packet arrives. A host may wait for the repair of a link, so the nodes must already know all changes of links.
    fn is_quiet(&self) -> bool {
        let Self { flows, fabric, nodes, .. } = self;
        flows.is_empty()
            && fabric.wakes == 0
            && fabric.trouble.is_over()
            && nodes.iter().all(|node| node.is_at_rest() && fabric.trouble.is_known_to(node, fabric.now))
    }

    /// Handles events that are due (at most [`SELDOM`]), the requests of programs, and the frames of kernels.
    pub(super) fn round(&mut self, now: Time) {
        self.look_at_remote_links();
        self.deal_with_events(now);
        self.heed_programs(now);
        self.heed_kernels(now);
    }

    fn deal_with_events(&mut self, now: Time) {
        // One round handles a limited number of events, because the clock advances in the meantime.
        for _ in 0..SELDOM {
            let Some((at, event)) = self.fabric.events.first().filter(|&(at, _)| at <= now) else { return };
            if let Event::Arrival(incoming) = event {
                self.receive(incoming as usize, at, now);
                continue;
            }
            self.fabric.events.pop();
            self.fabric.now = if now.since(at) > self.packet_time * 4 { now } else { at };
            match event {
                Event::Arrival(_) => {}
                // If a later request has replaced a tick or a wake-up, the old event is ignored. If the old event were
                // handled, it would schedule a further event.
                Event::Tick(node) => {
                    self.tell_time(node);
                    let node = &mut self.nodes[node.index() - self.first.index()];
                    if node.tick() == at {
                        node.ticked(&mut self.fabric);
                    }
                }
                Event::Wake(node) => {
                    self.fabric.wakes -= 1;
                    self.tell_time(node);
                    let node = &mut self.nodes[node.index() - self.first.index()];
                    if node.wake() == at {
                        self.fabric.relent(node.place());
                        node.woken(&mut self.fabric);
                    }
                }
                Event::Flows => self.start_flows(now),
                Event::Sent(link) => self.transmission_ends(LinkId(link)),
                Event::FlowControl(link) => self.control_wakes(LinkId(link), at),
                Event::PortTick(link) => self.fabric.port_ticks(LinkId(link)),
                Event::Change(index) => self.change(index as usize),
                Event::Discovery(index) => self.discover(index as usize),
            }
        }
    }

    /// Makes the current time at least as late as the latest time that was passed to the node before. This matters
    /// after a slipped packet, which can be handled later than the due times of the packets behind it.
    #[inline]
    pub(super) fn tell_time(&mut self, node: NodeId) {
        let time = &mut self.times[node.index() - self.first.index()];
        self.fabric.now = self.fabric.now.max(*time);
        *time = self.fabric.now;
    }

    /// Executes the requests of programs.
    #[inline]
    fn heed_programs(&mut self, now: Time) {
        while let Some(streams) = &mut self.fabric.streams
            && let Ok((node, request)) = streams.requests.try_recv()
        {
            self.fabric.now = now;
            let node = &mut self.nodes[node.index() - self.first.index()];
            match request {
                Request::Open(flow, window) => {
                    streams.open(flow.id, window);
                    node.start(&mut self.fabric, &flow);
                }
                Request::Append(flow, bytes) if streams.append(flow, &bytes) => {
                    node.append(&mut self.fabric, flow, Bytes(bytes.len() as u64));
                }
                Request::Append(..) => {} // the stream has ended in the meantime
                Request::Close(flow) => node.close(&mut self.fabric, flow),
            }
        }
    }

    /// Schedules arrivals of packets that other threads have put into empty rings.
    #[inline]
    fn look_at_remote_links(&mut self) {
        let Self { incoming, fabric, .. } = self;
        for (i, incoming) in incoming.iter_mut().enumerate().take_while(|(_, incoming)| incoming.is_remote) {
            // A ring that another process has broken delivers no more packets.
            if !fabric.is_expected[i]
                && let Ok(Some(entry)) = incoming.ring.peek()
            {
                fabric.expect(i, Time::from_ps(entry.due));
            }
        }
    }

    /// Receives the next packet of a link. The packet's arrival is the first scheduled event. The due time comes from
    /// this event, not from the ring entry. Another process may have put a later time into the entry, but a node's
    /// time must not run ahead of the clock.
    fn receive(&mut self, i: usize, due: Time, now: Time) {
        let Self { incoming, fabric, .. } = self;
        let incoming = &mut incoming[i];
        let entry = incoming.ring.peek().ok().flatten();
        if entry.is_some() {
            incoming.ring.take();
        }
        let next = incoming.ring.peek().ok().flatten();
        if let Some(next) = next {
            fabric.slots.foresee(next.slot);
        }
        fabric.is_expected[i] = next.is_some();
        fabric.events.put_off(next.map(|next| Time::from_ps(next.due)));
        let Some(entry) = entry else { return };
        fabric.taken += 1;
        let late = now.since(due);
        fabric.meter.late(late.as_ps() * fabric.clock.dilation() / 1_000);
        fabric.now = if late > incoming.patience {
            fabric.meter.slipped();
            now
        } else {
            due
        };
        let (to, is_plain) = (incoming.to, incoming.plain == Some(entry.tag));
        self.tell_time(to);
        if is_plain {
            let packet = self.fabric.open(entry);
            self.give(i, entry, packet);
        } else if !self.intercept(i, entry) {
            let packet = self.fabric.open(entry);
            if let Some(left) = self.inspect(i, entry, packet) {
                self.give(i, entry, left);
            }
        }
    }

    /// Hands a packet that has arrived over a link to the receiving node.
    #[inline]
    fn give(&mut self, i: usize, entry: Entry, packet: Result<Packet, raddle_wire::Error>) {
        let Self { incoming, fabric, nodes, first, .. } = self;
        let Incoming { link, to, port, .. } = incoming[i];
        let node = &mut nodes[to.index() - first.index()];
        fabric.totals.packet_hops += 1;
        match packet {
            Ok(packet) => node.arrived(fabric, Inside::arrived(packet, entry), port),
            Err(error) => {
                fabric.lose_malformed(entry, link, error);
                node.corrupted(fabric, port);
            }
        }
    }

    /// Starts the flows that are due.
    fn start_flows(&mut self, now: Time) {
        while let Some(flow) = self.flows.front().copied() {
            if flow.start > now {
                self.fabric.events.push(flow.start, Event::Flows);
                return;
            }
            self.flows.pop_front();
            self.fabric.now = flow.start;
            self.nodes[flow.src.index() - self.first.index()].start(&mut self.fabric, &flow);
        }
    }

    fn publish(&self, standing: &Standing) {
        let fabric = &self.fabric;
        standing.now.store(fabric.now.as_ps(), Ordering::Relaxed);
        standing.packet_hops.store(fabric.totals.packet_hops, Ordering::Relaxed);
        standing.flows_delivered.store(fabric.totals.flows_delivered, Ordering::Relaxed);
        standing.is_quiet.store(self.is_quiet(), Ordering::Relaxed);
        let [put, taken] = fabric.moved();
        standing.taken.store(taken, Ordering::Release);
        standing.put.store(put, Ordering::Release);
    }
}
