//! Two hosts with a link in each direction. Each test chooses the faults of the links.

use super::*;
use crate::transport::ranges::Ranges;
use raddle_core::{Flow, FlowId, FlowKey, Host, Input, NodeId, Output, PortId, Ports, Rate, Report, Time};
use raddle_wire::tcp::{ACK, ECE, SYN};
use std::collections::BTreeMap;

/// The treatment of a packet by the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    Drop,
    /// The packet arrives with an ECN mark, if the packet is ECN-capable.
    Mark,
    /// The packet is delayed by this additional time, so that later packets overtake it.
    Late(Duration),
}

/// Chooses the fate of a packet. The arguments are the sending host, the packet's number among the packets of that host
/// (from 0), and the segment.
type Fates = Box<dyn FnMut(usize, usize, &Segment) -> Fate>;

/// A segment as a host sent it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) at: Time,
    pub(super) node: usize,
    pub(super) size: u32,
    pub(super) segment: Segment,
    pub(super) passed: bool,
}

/// Hosts 0 and 1, and the links between them.
pub(super) struct Pair<C = NewReno> {
    pub(super) now: Time,
    params: Params,
    hosts: [TcpHost<C>; 2],
    wake: [Time; 2],
    free_at: [Time; 2],
    wire: BTreeMap<(Time, usize), (usize, Packet)>,
    /// Sizes of the opened flows, by id.
    sizes: Vec<u64>,
    /// The rate of each link.
    pub(super) rate: Rate,
    /// The propagation delay of each link.
    pub(super) delay: Duration,
    /// Number of packets that may wait for each link.
    pub(super) queue: u64,
    /// Chooses the fate of each packet.
    pub(super) fate: Fates,
    pub(super) sent: Vec<Sent>,
    pub(super) reports: Vec<(Time, usize, Report)>,
    /// For each flow key: the size of the flow, and the ranges of bytes that have arrived. The first byte has number 0.
    arrived: BTreeMap<FlowKey, (u64, Ranges)>,
    /// Number of packets that each host has sent.
    counts: [usize; 2],
}

impl Pair {
    /// Creates two NewReno hosts on a fast link without faults, with a delay of 50 us each way.
    pub(super) fn new(params: Params) -> Self {
        Self::controlled(params)
    }

    /// Creates a pair of NewReno hosts. The link loses the packets of host 0 whose numbers are in `lost`. The packets
    /// are numbered from 0 in order of sending.
    pub(super) fn losing(params: Params, lost: &[usize]) -> Self {
        let lost = lost.to_vec();
        let mut pair = Self::new(params);
        pair.fate =
            Box::new(move |node, n, _| if node == 0 && lost.contains(&n) { Fate::Drop } else { Fate::Pass });
        pair
    }
}

impl<C: control::CongestionControl> Pair<C> {
    /// Creates a pair as [`new`](Pair::new) does, but with congestion control `C`.
    pub(super) fn controlled(params: Params) -> Self {
        Self {
            now: Time::ZERO,
            params,
            hosts: [0, 1].map(|node| TcpHost::new(NodeId(node), params)),
            wake: [Time::NEVER; 2],
            free_at: [Time::ZERO; 2],
            wire: BTreeMap::new(),
            sizes: Vec::new(),
            rate: Rate::from_gbps(1_000),
            delay: Duration::from_us(50),
            queue: u64::MAX,
            fate: Box::new(|_, _, _| Fate::Pass),
            sent: Vec::new(),
            reports: Vec::new(),
            arrived: BTreeMap::new(),
            counts: [0; 2],
        }
    }

    pub(super) fn open(&mut self, from: u32, size: u64, app_rate: Option<Rate>) {
        let flow = Flow {
            app_rate,
            ..Flow::new(FlowId::of(self.sizes.len()), NodeId(from), NodeId(1 - from), Bytes(size), self.now)
        };
        self.sizes.push(size);
        self.hosts[from as usize].handle(self.now, Input::Flow(&flow));
        self.poll(from as usize);
    }

    /// Opens a stream from host 0. The stream's id is the number of flows that were opened before.
    pub(super) fn open_stream(&mut self) -> FlowId {
        let id = FlowId::of(self.sizes.len());
        self.sizes.push(0);
        let flow = Flow::stream(id, NodeId(0), NodeId(1), self.now);
        self.hosts[0].handle(self.now, Input::Flow(&flow));
        self.poll(0);
        id
    }

    /// Appends bytes to an open stream.
    pub(super) fn append(&mut self, stream: FlowId, bytes: u64) {
        self.sizes[stream.index()] += bytes;
        for report in &self.reports {
            if let (.., Report::Opened { flow, key }) = report
                && *flow == stream
                && let Some((size, _)) = self.arrived.get_mut(key)
            {
                *size += bytes;
            }
        }
        self.tell(Input::Append { flow: stream, bytes: Bytes(bytes) });
    }

    /// Passes an input to host 0.
    pub(super) fn tell(&mut self, input: Input<'_>) {
        self.hosts[0].handle(self.now, input);
        self.poll(0);
    }

    /// Delivers a forged segment to a host: the other host has not sent it.
    pub(super) fn inject(&mut self, node: usize, segment: Segment) {
        self.hosts[node].handle(self.now, Input::Packet { packet: &packet(segment), port: PortId(0) });
        self.poll(node);
    }

    fn poll(&mut self, node: usize) {
        loop {
            match self.hosts[node].poll(self.now, &Ports(&[])) {
                Output::Send { packet, port } => {
                    assert_eq!(port, None);
                    self.send(node, packet);
                }
                Output::Report(report) => {
                    match report {
                        Report::Opened { flow, key } => {
                            self.arrived.insert(key, (self.sizes[flow.index()], Ranges::default()));
                        }
                        Report::Delivered { key, .. } => {
                            let (size, arrived) = &self.arrived[&key];
                            let whole = [(0, *size)];
                            let whole = if *size == 0 { &[][..] } else { &whole };
                            assert_eq!(
                                arrived.list(),
                                whole,
                                "the flow was delivered before all its bytes had arrived"
                            );
                        }
                        Report::Closed { .. }
                        | Report::Paced { .. }
                        | Report::Acked { .. }
                        | Report::InOrder { .. }
                        | Report::Progress { .. }
                        | Report::Began { .. }
                        | Report::Finished => {}
                    }
                    self.reports.push((self.now, node, report));
                }
                Output::WakeAt(at) => {
                    assert!(at > self.now, "a wake-up in the past");
                    self.wake[node] = at;
                    return;
                }
                Output::Idle => {
                    self.wake[node] = Time::NEVER;
                    return;
                }
            }
        }
    }

    fn send(&mut self, node: usize, mut packet: Packet) {
        let Header::Tcp(segment) = packet.header else { panic!("not TCP") };
        self.check(&packet, &segment);
        let nth = self.counts[node];
        self.counts[node] += 1;
        let start = self.free_at[node].max(self.now);
        let waiting = self.rate.bytes_in(start.since(self.now)).0 / 1_500;
        let fate = if waiting >= self.queue { Fate::Drop } else { (self.fate)(node, nth, &segment) };
        let passed = fate != Fate::Drop;
        self.sent.push(Sent { at: self.now, node, size: packet.size, segment, passed });
        let late = match fate {
            Fate::Pass => Duration::ZERO,
            Fate::Mark => {
                packet.mark_congestion();
                Duration::ZERO
            }
            Fate::Drop => return,
            Fate::Late(late) => late,
        };
        self.free_at[node] = start + self.rate.time_for(Bytes(packet.size.into()));
        self.wire.insert((self.free_at[node] + self.delay + late, self.sent.len()), (1 - node, packet));
    }

    /// Checks a segment: the packet's size must be correct, and the segment must acknowledge only data that has
    /// arrived.
    fn check(&self, packet: &Packet, segment: &Segment) {
        let options = [0, 12, 20, 28][usize::from(segment.sack_count)];
        assert_eq!(packet.size, 40 + options + u32::from(segment.plen));
        if segment.from_data_sender() || segment.flags & SYN != 0 {
            return;
        }
        assert_eq!(segment.flags & !ECE, ACK);
        let Some((size, arrived)) = self.arrived.get(&segment.key()) else { return };
        let offset = |wire: u32| {
            let first = wrap_sequence(1, self.params.initial_sequence);
            u64::from(wire.wrapping_sub(first)).min(*size)
        };
        let there =
            |from: u64, to: u64| from == to || arrived.containing(from).is_some_and(|range| to <= range.1);
        assert!(there(0, offset(segment.ack)), "acknowledges data that has not arrived: {segment:?}");
        for &(from, to) in segment.sack_blocks() {
            assert!(offset(segment.ack) < offset(from) && there(offset(from), offset(to)), "{segment:?}");
        }
    }

    fn note_arrival(&mut self, segment: &Segment) {
        if segment.from_data_sender() {
            let first = wrap_sequence(1, self.params.initial_sequence);
            let from = u64::from(segment.seq.wrapping_sub(first));
            if let Some((_, arrived)) = self.arrived.get_mut(&segment.key())
                && segment.plen > 0
            {
                arrived.insert(from, from + u64::from(segment.plen));
            }
        }
    }

    /// Runs until time `until`, or until no event remains. Returns true if no event remains.
    pub(super) fn run(&mut self, until: Time) -> bool {
        loop {
            let packet = self.wire.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            let next = packet.min(self.wake[0]).min(self.wake[1]);
            if next > until || next == Time::NEVER {
                return next == Time::NEVER;
            }
            self.now = next;
            if packet == next {
                let Some((_, (node, packet))) = self.wire.pop_first() else { unreachable!() };
                let Header::Tcp(segment) = packet.header else { unreachable!() };
                self.note_arrival(&segment);
                self.hosts[node].handle(self.now, Input::Packet { packet: &packet, port: PortId(0) });
                self.poll(node);
            } else {
                let node = usize::from(self.wake[1] == next);
                self.poll(node);
            }
        }
    }

    /// Runs until no event remains. Asserts that this happens within the first 10,000 s of simulated time, which is
    /// enough for 160 timeouts of 60 s in a row.
    pub(super) fn finish(&mut self) {
        assert!(self.run(Time::ZERO + Duration::from_ms(10_000_000)), "still busy");
    }

    /// For the only flow: the time at which it was delivered, the time at which its sender closed it, and the number of
    /// its retransmissions.
    pub(super) fn outcome(&self) -> (Time, Time, u32) {
        let mut delivered = None;
        let mut closed = None;
        for &(at, node, report) in &self.reports {
            match report {
                Report::Delivered { .. } => assert_eq!((delivered.replace(at), node), (None, 1)),
                Report::Closed { retransmissions, .. } => {
                    assert_eq!((closed.replace((at, retransmissions)), node), (None, 0));
                }
                _ => {}
            }
        }
        let (closed, retransmissions) = closed.expect("closed");
        (delivered.expect("delivered"), closed, retransmissions)
    }

    /// Number of segments that host 0 sent between time `from` (inclusive) and time `to` (exclusive), in microseconds.
    pub(super) fn data_between(&self, from: u64, to: u64) -> usize {
        let span = Time::ZERO + Duration::from_us(from)..Time::ZERO + Duration::from_us(to);
        self.sent.iter().filter(|sent| sent.node == 0 && span.contains(&sent.at)).count()
    }

    /// The times at which host 0 sent its segments, in microseconds.
    pub(super) fn times_us(&self) -> Vec<u64> {
        self.sent.iter().filter(|sent| sent.node == 0).map(|sent| sent.at.as_ps() / 1_000_000).collect()
    }
}
