//! Tests of queues that drop waiting packets, and of queues that trim packets to their headers.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    Admit, Bytes, Class, DropReason, Duration, FlowControlAccount, Forwarder, HeaderInfo, Host, Input,
    LinkFlowControl, LinkId, NodeId, Output, Packet, Parts, Paused, PortAgent, PortId, PortState, Ports,
    Queue, Rate, Time, Verdict,
};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_topology::{Builder, Shape, Topology};
use raddle_wire::extension::{ExtensionHeader, PREFIX, prefix};
use raddle_wire::{Ends, Error};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The header of a numbered packet. The packet can be trimmed unless it is rigid.
#[derive(Debug, Clone, PartialEq)]
struct Numbered {
    number: u32,
    plen: u32,
    rigid: bool,
}

/// Size of the header in bytes.
const HEADER: u32 = PREFIX as u32 + 9;

impl ExtensionHeader for Numbered {
    const NUMBER: u16 = 1;
}

impl HeaderInfo for Numbered {
    fn ends(&self) -> Ends {
        Ends::new(0_u32, 2_u32)
    }

    fn trim(&mut self) -> bool {
        if !self.rigid {
            self.plen = 0;
        }
        !self.rigid
    }

    fn payload_len(&self) -> usize {
        self.plen as usize
    }

    fn wire_len(&self) -> usize {
        HEADER as usize
    }

    fn encode_header(&self, _: &[u8], out: &mut Vec<u8>) {
        out.extend(prefix::<Self>());
        out.extend(self.number.to_be_bytes());
        out.extend(self.plen.to_be_bytes());
        out.push(self.rigid.into());
    }

    fn is_in(bytes: &[u8]) -> bool {
        bytes.starts_with(&prefix::<Self>())
    }

    fn decode_header(_: &[u8]) -> Result<(Self, usize), Error> {
        unreachable!("the packet engine reads no bytes of whole packets")
    }
}

/// An observation at a node. Times are in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Seen {
    /// A host received a packet: time, packet number, and size in bytes.
    Got(u64, u32, u32),
    /// The engine told the host of the middle node that a port dropped a packet: time, packet number, port, reason.
    Lost(u64, u32, PortId, DropReason),
    /// The host of the middle node was polled. The value is the time at which the node's second port will have sent all
    /// its packets.
    Drains(u64),
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// A host that sends one packet of 1,500 bytes per flow. The packet of a flow of 1,499 bytes is rigid: it cannot be
/// trimmed.
struct Toy {
    outbox: VecDeque<Packet>,
    log: Log,
    is_middle: bool,
}

fn ns(time: Time) -> u64 {
    time.as_ps() / 1_000
}

fn numbered(packet: &Packet) -> &Numbered {
    packet.header.extension().expect("all packets are numbered")
}

impl Host for Toy {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        let mut log = self.log.lock().expect("no panic");
        match input {
            Input::Flow(flow) => {
                let header =
                    Numbered { number: flow.id.0, plen: 1_500 - HEADER, rigid: flow.size == Bytes(1_499) };
                self.outbox.push_back(Packet::new(1_500, header.into()));
            }
            Input::Packet { packet, .. } => {
                log.push(Seen::Got(ns(now), numbered(packet).number, packet.size));
            }
            Input::Dropped { packet, port, reason } => {
                log.push(Seen::Lost(ns(now), numbered(packet).number, port, reason));
            }
            _ => {}
        }
    }

    fn poll(&mut self, now: Time, ports: &Ports<'_>) -> Output {
        if self.is_middle {
            let free_at = ports.get(PortId(1)).free_at(now);
            self.log.lock().expect("no panic").push(Seen::Drains(ns(free_at)));
        }
        match self.outbox.pop_front() {
            Some(packet) => Output::Send { packet, port: Some(PortId(0)) },
            None => Output::Idle,
        }
    }
}

/// A forwarder of the line: the middle node forwards by port 1, and the last node delivers.
struct Onward(NodeId);

impl Forwarder for Onward {
    fn forward(&mut self, _: Time, _: &mut Packet, from: Option<PortId>, _: &Ports<'_>) -> Verdict {
        match (self.0, from) {
            (NodeId(2), _) => Verdict::Deliver,
            (_, None) => Verdict::Forward(PortId(0)),
            (_, Some(_)) => Verdict::Forward(PortId(1)),
        }
    }
}

/// A queue with room for two packets with payload. Headers have their own queue, which is served first.
struct Two {
    whole: VecDeque<(u32, u32)>,
    headers: VecDeque<(u32, u32)>,
    policy: Policy,
}

#[derive(Clone, Copy)]
enum Policy {
    /// A full queue drops its oldest packet.
    EvictFirst,
    /// A full queue trims one packet at each arrival: alternately its newest packet and the arriving packet.
    Trim { newcomer: bool },
}

impl Queue for Two {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        if packet.payload() == 0 {
            self.headers.push_back((slot, packet.size));
        } else if self.whole.len() < 2 {
            self.whole.push_back((slot, packet.size));
        } else {
            return match &mut self.policy {
                Policy::EvictFirst => Admit::Evict(self.whole.pop_front().expect("two wait").0),
                Policy::Trim { newcomer } => {
                    *newcomer = !*newcomer;
                    Admit::Trim(if *newcomer { self.whole.pop_back().expect("two wait").0 } else { slot })
                }
            };
        }
        Admit::Take
    }

    fn pop(&mut self, _: Time, _: Paused) -> Option<u32> {
        self.headers.pop_front().or_else(|| self.whole.pop_front()).map(|(slot, _)| slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.whole.iter().chain(&self.headers).map(|&(_, size)| u64::from(size)).sum())
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.whole.iter_mut().chain(&mut self.headers).for_each(|(slot, _)| visit(slot));
    }
}

/// Counts the bytes that have arrived and have not left, as seen by a port's agent or by flow control: the
/// present number and the peak.
#[derive(Clone, Default)]
struct Meter(Arc<Mutex<(i64, i64)>>);

impl Meter {
    fn add(&self, bytes: i64) {
        let mut count = self.0.lock().expect("no panic");
        count.0 += bytes;
        count.1 = count.1.max(count.0);
        assert!(count.0 >= 0, "more has gone than has come");
    }

    /// Returns the present number of bytes, and the peak.
    fn read(&self) -> (i64, i64) {
        *self.0.lock().expect("no panic")
    }
}

impl PortAgent for Meter {
    fn enqueue(&mut self, _: Time, packet: &mut Packet, _: &PortState) -> Option<Packet> {
        self.add(packet.size.into());
        None
    }

    fn left(&mut self, _: Time, _: Class, size: u32) {
        self.add(-i64::from(size));
    }
}

impl LinkFlowControl for Meter {
    fn enter(&mut self, _: Time, _: Class, size: u32) -> Option<Packet> {
        self.add(size.into());
        None
    }

    fn leave(&mut self, _: Time, _: Class, size: u32) -> Option<Packet> {
        self.add(-i64::from(size));
        None
    }

    fn holds_back(&self) -> bool {
        false
    }

    fn heed(&mut self, _: Time, _: &Packet) -> bool {
        false
    }

    fn paused(&self) -> Paused {
        Paused::NONE
    }

    fn wake(&self) -> Time {
        Time::NEVER
    }

    fn fire(&mut self, _: Time) -> Option<Packet> {
        None
    }

    fn restart(&mut self, _: Time) -> Option<Packet> {
        None
    }

    fn account(&self, _: Time) -> FlowControlAccount {
        FlowControlAccount::default()
    }
}

/// A line: node 0, a link of 10 Gbps, node 1, a link of 1 Gbps, node 2; each link has 100 ns of delay.
fn line() -> Arc<Topology> {
    let mut builder = Builder::default();
    let [left, middle, right] = [(); 3].map(|()| builder.host(0));
    let delay = Duration::from_ns(100);
    builder.join(left, middle, Rate::from_gbps(10), delay);
    builder.join(middle, right, Rate::from_gbps(1), delay);
    Arc::new(builder.build(Shape::General))
}

/// Sends one packet of 1,500 bytes for each flow over the line. All flows start at time 0. `sizes` are the flows' sizes
/// in bytes, which only decide whether a packet is rigid (see `Toy`). The queue of the slow port follows `policy`.
/// Returns the observations and the totals.
fn run(policy: Policy, sizes: &[u64]) -> (Vec<Seen>, raddle_packet_sim::Totals) {
    let topology = line();
    let log = Log::default();
    let node = |id: NodeId| {
        let toy = Toy { outbox: VecDeque::new(), log: Arc::clone(&log), is_middle: id == NodeId(1) };
        Parts { host: Some(Box::new(toy)), forwarder: Some(Box::new(Onward(id))), ..Parts::default() }
    };
    let (agent, memory) = (Meter::default(), Meter::default());
    let slow = topology.link_id(NodeId(1), PortId(1));
    let back = topology.link_id(NodeId(1), PortId(0));
    let two = || Two { whole: VecDeque::new(), headers: VecDeque::new(), policy };
    let port = |link: LinkId| PortSetup {
        queue: (link == slow || link == back).then(|| Box::new(two()) as Box<dyn Queue>),
        agent: (link == slow).then(|| Box::new(agent.clone()) as Box<dyn PortAgent>),
        flow_control: (link == back).then(|| Box::new(memory.clone()) as Box<dyn LinkFlowControl>),
        ..PortSetup::default()
    };
    let flow = |(id, &size)| {
        raddle_core::Flow::new(raddle_core::FlowId(id), NodeId(0), NodeId(2), Bytes(size), Time::ZERO)
    };
    let flows: Vec<_> = (0..).zip(sizes).map(flow).collect();
    let mut simulation = Simulation::new(&topology, node, port, flows, Config::default(), ());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    let totals = simulation.totals();
    assert_eq!(totals.sent_bytes, totals.delivered_bytes + totals.dropped_bytes, "bytes are conserved");
    assert_eq!(totals.sent, totals.delivered + totals.dropped, "packets are conserved");
    assert_eq!(simulation.packets_inside(), 0);
    assert_eq!(simulation.link_stats()[slow.index()].drops, totals.dropped);
    assert!(agent.read().1 >= 3_000 && memory.read().1 >= 3_000, "{:?} {:?}", agent.read(), memory.read());
    assert_eq!(agent.read().0, 0, "nothing waits");
    let log = log.lock().expect("no panic").clone();
    let got = log.iter().map(|seen| if let Seen::Got(.., size) = seen { i64::from(*size) } else { 0 });
    // This flow control never pauses. The engine tells it of drops at once, but has not yet told it of
    // departures.
    assert_eq!(memory.read().0, got.sum::<i64>(), "what was lost takes no memory");
    (log, totals)
}

const OUT: PortId = PortId(1);
const FULL: DropReason = DropReason::QueueFull;

/// The first packet arrives at the slow port at 1,300 ns, and another packet arrives every 1,200 ns. The
/// slow port begins to send the first packet at 1,300 ns, and another packet every 12,000 ns.
#[test]
fn a_queue_gives_up_packets_that_wait_for_others() {
    let (seen, totals) = run(Policy::EvictFirst, &[1_500; 5]);
    let polled = [Seen::Drains(1_300 + 3 * 12_000)];
    let lost = |at, number| [Seen::Lost(at, number, OUT, FULL), polled[0]];
    // When the fourth packet arrives, two packets wait.
    let losses = [lost(1_300 + 3 * 1_200, 1), lost(1_300 + 4 * 1_200, 2)].concat();
    let got = [(13_400, 0), (25_400, 3), (37_400, 4)].map(|(at, number)| Seen::Got(at, number, 1_500));
    assert_eq!(seen, [losses, got.to_vec()].concat());
    assert_eq!((totals.drops.queue_full, totals.trimmed), (2, 0));
}

/// A trimmed packet is a header of 12 bytes, which takes 96 ns on the slow link.
#[test]
fn a_queue_cuts_packets_to_their_headers() {
    let (seen, totals) =
        run(Policy::Trim { newcomer: false }, &[1_500, 1_500, 1_500, 1_500, 1_500, 1_500, 1_499]);
    // When the fourth packet arrives, the queue trims the third packet. The fifth packet is trimmed itself.
    // When the sixth packet arrives, the queue trims the fourth packet. The last packet is rigid.
    let rigid = [Seen::Lost(1_300 + 6 * 1_200, 6, OUT, FULL), Seen::Drains(1_300 + 3 * 12_000 + 3 * 96)];
    let headers = [(13_496, 2), (13_592, 4), (13_688, 3)].map(|(at, number)| Seen::Got(at, number, HEADER));
    let whole = |at, number| Seen::Got(at, number, 1_500);
    let got = [&[whole(13_400, 0)], &headers[..], &[whole(25_688, 1), whole(37_688, 5)]].concat();
    assert_eq!(seen, [rigid.to_vec(), got].concat());
    assert_eq!((totals.drops.queue_full, totals.trimmed), (1, 3));
}
