//! Throughput of each flow at its receiver, in intervals of equal length from the start of the run.

use raddle_core::{Bytes, Duration, Header, LinkId, NodeId, Packet, Report, Time};
use raddle_records::{FlowRecord, Recorder, ThroughputRecord};
use raddle_topology::{Link, Topology};
use raddle_wire::{FlowRange, Position};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// For each flow and interval, counts the packets and payload bytes that the last link of the flow's path sends, by the
/// time of their arrival, and the changes of port at switches. Also sums the absolute differences between the delays of
/// successive packets, and stores the numbers of in-order bytes and of late packets that the receiver reports.
pub(crate) struct Throughput {
    interval: Duration,
    topology: Arc<Topology>,
    /// The state of each live flow, by flow number.
    live: FxHashMap<u32, Live>,
    /// The counts of each flow in each interval, by the numbers of the interval and of the flow.
    bins: BTreeMap<(u64, u32), Bin>,
}

/// The state of a flow until it is delivered.
#[derive(Debug, Default)]
struct Live {
    /// The latest report of the flow's receiver.
    told: Told,
    /// For each switch that packets of the flow have left: the switch, the largest position in the flow of such a
    /// packet, and the link over which this packet left.
    left: Vec<(NodeId, u64, LinkId)>,
    /// The delay of the packet that arrived last, from its generation to its arrival; `None` before the first arrival,
    /// or if packets do not carry the time of their generation.
    delay: Option<Duration>,
}

/// The latest report of a receiver: the time of the report, and the flow's progress at the beginning of the interval
/// that contains this time.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    at: Time,
    in_order: u64,
    late: u32,
}

#[derive(Debug, Default)]
struct Bin {
    packets: u64,
    bytes: u64,
    in_order: Option<u64>,
    late: Option<u64>,
    port_changes: u64,
    delay_changes_ps: Option<u64>,
}

impl Throughput {
    pub(crate) fn of(topology: &Arc<Topology>, interval: Duration) -> Self {
        let topology = Arc::clone(topology);
        Self { interval, topology, live: FxHashMap::default(), bins: BTreeMap::new() }
    }

    /// Counts a packet whose last bit leaves by `link` at `sent`. `recorder` gives the packet's flow.
    pub(crate) fn count(&mut self, sent: Time, link: LinkId, packet: &Packet, recorder: &Recorder) {
        let Some(FlowRange { key, position, .. }) = packet.range() else { return };
        let Some(&FlowRecord { id: flow, .. }) = recorder.record_of(key) else { return };
        let Some(&Link { from, to, delay, .. }) = self.topology.link(link) else { return };
        if packet.dst() == to {
            let arrival = sent + delay;
            let change = birth(packet).map(|birth| {
                let delay = arrival.since(birth);
                let before = self.live.entry(flow).or_default().delay.replace(delay).unwrap_or(delay);
                delay.as_ps().abs_diff(before.as_ps())
            });
            let bin = self.bin(arrival, flow);
            bin.packets += 1;
            bin.bytes += u64::from(packet.payload());
            if let Some(change) = change {
                *bin.delay_changes_ps.get_or_insert(0) += change;
            }
        }
        let is_switch = !self.topology.is_host(from);
        if is_switch && self.live.entry(flow).or_default().changes_port(from, position, link) {
            self.bin(sent, flow).port_changes += 1;
        }
    }

    /// Handles a host's report at `now`, before `recorder` does.
    pub(crate) fn report(&mut self, now: Time, report: &Report, recorder: &Recorder) {
        match *report {
            Report::Progress { key, in_order: Bytes(in_order), late } => {
                let Some(&FlowRecord { id: flow, .. }) = recorder.record_of(key) else { return };
                let live = self.live.entry(flow).or_default();
                let told = std::mem::replace(&mut live.told, Told { at: now, in_order, late });
                // The receiver reports when the first packet of an interval arrives. So from the previous report until
                // this packet, the flow's packets arrived only in the interval of the previous report. The difference
                // between the two reports belongs to that interval.
                let bin = self.bin(told.at, flow);
                bin.in_order = Some(in_order - told.in_order);
                bin.late = Some(u64::from(late - told.late));
            }
            Report::Delivered { key, .. } => {
                let Some(&FlowRecord { id: flow, size_bytes, .. }) = recorder.record_of(key) else { return };
                let told = self.live.remove(&flow).unwrap_or_default().told;
                self.bin(told.at, flow).in_order = Some(size_bytes - told.in_order);
            }
            _ => {}
        }
    }

    fn bin(&mut self, at: Time, flow: u32) -> &mut Bin {
        self.bins.entry((at.as_ps() / self.interval.as_ps(), flow)).or_default()
    }

    /// A row for each flow and each interval in which packets of the flow arrived, or a switch changed the flow's port.
    /// Only intervals that begin before `end`, the end of the run, have rows, and the last interval is cut at `end`.
    /// The rows are in order of time.
    pub(crate) fn records(self, end: Time) -> Vec<ThroughputRecord> {
        let (length, end) = (self.interval.as_ps(), end.as_ps());
        let begun = self.bins.range(..(end.div_ceil(length), 0));
        let happened = begun.filter(|(_, bin)| bin.packets > 0 || bin.port_changes > 0);
        let record = |(&(interval, flow), bin): (&(u64, u32), &Bin)| ThroughputRecord {
            flow,
            from_ps: interval * length,
            to_ps: end.min((interval + 1) * length),
            arrived_packets: bin.packets,
            arrived_bytes: bin.bytes,
            in_order_bytes: bin.in_order,
            late_packets: bin.late,
            port_changes: bin.port_changes,
            delay_changes_ps: bin.delay_changes_ps,
        };
        happened.map(record).collect()
    }
}

/// The time at which the packet was generated, if the packet's header carries this time.
fn birth(packet: &Packet) -> Option<Time> {
    match &packet.header {
        Header::Cee(frame) => Some(Time::from_ps(frame.birth_ps)),
        _ => None,
    }
}

impl Live {
    /// Notes that the flow's packet at `position` leaves a switch by `link`. Returns true if the port has changed since
    /// the packet with the largest position so far. Queues differ in length, so packets sent earlier may still leave by
    /// the old port after the switch has changed to a new port. A packet is therefore ignored if its position is not
    /// larger than all earlier positions.
    fn changes_port(&mut self, switch: NodeId, position: Position, link: LinkId) -> bool {
        let Some(left) = self.left.iter_mut().find(|left| left.0 == switch) else {
            self.left.push((switch, position.unwrapped(0), link));
            return false;
        };
        let offset = position.unwrapped(left.1);
        if offset <= left.1 {
            return false;
        }
        let before = std::mem::replace(left, (switch, offset, link));
        before.2 != link
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use raddle_core::{Flow, FlowKey, Header, NodeId, Rate};
    use raddle_records::Ideal;
    use raddle_topology::builders::{self, ClosRates};
    use raddle_wire::cee::Frame;

    const KEY: FlowKey = FlowKey(5);

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A flow of three frames from the first host of a fat-tree to the last, counted in intervals of 10 us.
    fn counted() -> (Throughput, Recorder, Vec<LinkId>) {
        let rate = ClosRates::all(Rate::from_gbps(10));
        let tree = Arc::new(builders::fat_tree(4, rate, Duration::from_us(1)).expect("a fat-tree"));
        let flow = Flow::new(raddle_core::FlowId(0), NodeId(0), NodeId(15), Bytes(300), Time::ZERO);
        let ideal = Ideal { fct: Duration::from_us(1), hops: 6, line_rate: Rate::from_gbps(10) };
        let mut recorder = Recorder::new(&[flow].into(), move |_| ideal);
        assert_eq!(recorder.report(Time::ZERO, flow.src, Report::Opened { flow: flow.id, key: KEY }), None);
        // The links up from the first host's switch, then the link down to the last host.
        let (_, up) = tree.links_from(flow.src).next().expect("a host has a link");
        let above = tree.links_from(up.to).filter(|(_, link)| !tree.is_host(link.to));
        let last = tree.links().find(|(_, link)| link.to == flow.dst);
        let links = above.chain(last).map(|(id, _)| id).collect();
        (Throughput::of(&tree, Duration::from_us(10)), recorder, links)
    }

    fn frame(number: u64) -> Packet {
        let offset = number * 100;
        let frame =
            Frame { src: 0, dst: 15, flow: KEY.0 as u32, plen: 100, offset, size: 300, ..Frame::default() };
        Packet::new(100, Header::Cee(frame))
    }

    #[test]
    fn a_packet_counts_where_it_arrives_and_bytes_in_order_where_the_receiver_says() {
        let (mut throughput, recorder, links) = counted();
        let last = links[links.len() - 1];
        // The propagation delay moves the arrival into the next interval.
        throughput.count(us(9), last, &frame(1), &recorder);
        throughput.count(us(15), last, &frame(0), &recorder);
        throughput.report(us(10), &Report::Progress { key: KEY, in_order: Bytes(0), late: 0 }, &recorder);
        throughput.report(us(25), &Report::Progress { key: KEY, in_order: Bytes(200), late: 1 }, &recorder);
        throughput.count(us(24), last, &frame(2), &recorder);
        throughput.report(us(25), &Report::Delivered { key: KEY, reorder_peak: 1 }, &recorder);
        let rows = throughput.records(us(28));
        // All packets were generated at time 0. They arrive after 10, 16 and 25 us.
        let row = |from, to, packets, in_order, late, changes: u64| ThroughputRecord {
            flow: 0,
            from_ps: us(from).as_ps(),
            to_ps: us(to).as_ps(),
            arrived_packets: packets,
            arrived_bytes: packets * 100,
            in_order_bytes: Some(in_order),
            late_packets: late,
            port_changes: 0,
            delay_changes_ps: Some(changes * 1_000_000),
        };
        assert_eq!(rows, [row(10, 20, 2, 200, Some(1), 6), row(20, 28, 1, 100, None, 9)]);
    }

    #[test]
    fn what_the_receiver_has_not_told_is_left_open() {
        let (mut throughput, recorder, links) = counted();
        throughput.count(us(4), links[links.len() - 1], &frame(0), &recorder);
        let rows = throughput.records(us(10));
        assert_eq!((rows[0].in_order_bytes, rows[0].late_packets), (None, None));
    }

    #[test]
    fn a_switch_changes_ports_once_however_its_queues_drain() {
        let (mut throughput, recorder, links) = counted();
        let (left, right) = (links[0], links[1]);
        throughput.count(us(1), left, &frame(0), &recorder);
        throughput.count(us(2), right, &frame(2), &recorder);
        // This packet waited behind other packets at the old port.
        throughput.count(us(3), left, &frame(1), &recorder);
        let changes = |throughput: Throughput| throughput.records(us(10))[0].port_changes;
        assert_eq!(changes(throughput), 1);
    }
}
