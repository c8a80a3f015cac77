#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use raddle_core::{
    Bytes, DropReason, Duration, FlowId, FlowKey, Header, HeaderInfo, Host, Input, NodeId, Output, Paused,
    PortId, PortState, Ports, Process, Rate, Report,
};
use raddle_wire::cee::Frame;

const RATE: Rate = Rate::from_gbps(10);

/// The host to which each flow has its own queue. In a notice about a flow to this host, the priority field contains
/// the flow's number.
const HERMIT: u32 = 77;

/// A protocol for these tests. A notice makes the rate limiter of one queue hold back all frames until the time in the
/// notice, or until the timer in the notice fires.
struct Plain;

#[derive(Default)]
struct Held {
    until: Time,
    timer: Option<Time>,
    fired: u32,
    sent: Vec<(u32, bool)>,
}

impl RateLimiter for Held {
    fn ready_at(&self) -> Time {
        self.until
    }
    fn sent(&mut self, _: Time, bytes: u32, queue_empty: bool) {
        self.sent.push((bytes, queue_empty));
    }
    fn timer(&self) -> Time {
        self.timer.unwrap_or(Time::NEVER)
    }
    /// Ends the hold.
    fn fire(&mut self, now: Time) {
        (self.until, self.timer) = (now, None);
        self.fired += 1;
    }
}

/// The time until which a rate limiter holds back frames, and the time of a timer that ends the hold earlier.
#[derive(Clone, Copy)]
struct Hold {
    until: Time,
    timer: Option<Time>,
}

impl Protocol for Plain {
    type Limiter = Held;
    type Notice = Hold;

    fn packet(&mut self, data: &Data) -> Packet {
        let Data { src, dst, flow, priority, len, offset, size, birth, .. } = *data;
        let frame =
            Frame { src, dst, flow, priority, plen: len, path: 0, offset, size, birth_ps: birth.as_ps() };
        Packet::new(frame.wire_len() as u32, Header::Cee(frame))
    }
    fn read(&self, packet: &Packet) -> Option<Arrival<Hold>> {
        match &packet.header {
            Header::Cee(frame) => Some(Arrival::Data(data(frame))),
            // The fields `culprit_dst` and `priority` select the queue. The field `q_offset` is the end of the hold,
            // and `q_delta` is the time of the timer (0: no timer), both in nanoseconds.
            Header::Cnm(notice) => {
                let ns = |ns: i16| Time::ZERO + Duration::from_ns(ns as u64);
                let timer = (notice.q_delta > 0).then(|| ns(notice.q_delta));
                let notice_of = Hold { until: ns(notice.q_offset), timer };
                let lane = match notice.culprit_dst {
                    HERMIT => Lane::Of { flow: notice.priority.into() },
                    dst => Lane::To { dst, priority: notice.priority },
                };
                Some(Arrival::Notice { lane, notice: notice_of })
            }
            _ => None,
        }
    }
    fn priority(&self, flow: &Flow) -> u8 {
        flow.priority
    }
    fn key(&self, src: u32, _: u32, flow: u32) -> FlowKey {
        FlowKey(u64::from(src) << 32 | u64::from(flow))
    }
    fn lane(&self, dst: u32, priority: u8, flow: u32) -> Lane {
        if dst == HERMIT { Lane::Of { flow } } else { Lane::To { dst, priority } }
    }
    fn limiter(&self, _: u32) -> Held {
        Held::default()
    }
    fn notice(&self, _: Time, Hold { until, timer }: Hold, limiter: &mut Held) {
        (limiter.until, limiter.timer) = (until, timer);
    }
}

fn data(frame: &Frame) -> Data {
    let Frame { src, dst, flow, priority, plen, offset, size, birth_ps, .. } = *frame;
    Data {
        src,
        dst,
        flow,
        priority,
        len: plen,
        offset,
        size,
        ack_request: false,
        birth: Time::from_ps(birth_ps),
    }
}

fn hold(dst: u32, until_ns: i16, timer_ns: i16) -> Packet {
    let notice = raddle_wire::cnm::Notice {
        culprit_dst: dst,
        priority: 0,
        q_offset: until_ns,
        q_delta: timer_ns,
        ..crate::testing::notice()
    };
    Packet::new(64, Header::Cnm(notice))
}

/// The adapter of host 0, and the host's port.
struct Bench {
    adapter: Adapter<Plain>,
    now: Time,
    port: PortState,
    reports: Vec<Report>,
    /// The wake-up time that the adapter last returned instead of a frame; `NEVER` if it was idle.
    wake: Time,
}

impl Bench {
    fn new() -> Self {
        Self::telling(None)
    }

    fn telling(progress: Option<Duration>) -> Self {
        let port = PortState::idle(RATE);
        let adapter = Adapter::new(NodeId(0), Plain, 1_500, RATE, 1, progress);
        Self { adapter, now: Time::ZERO, port, reports: Vec::new(), wake: Time::NEVER }
    }

    fn open(&mut self, id: u32, dst: u32, size: u64, priority: u8) {
        let flow = Flow { priority, ..Flow::new(FlowId(id), NodeId(0), NodeId(dst), Bytes(size), self.now) };
        self.adapter.handle(self.now, Input::Flow(&flow));
    }

    /// The next frame that the adapter sends, if any.
    fn poll(&mut self) -> Option<Packet> {
        loop {
            match self.adapter.poll(self.now, &Ports(std::slice::from_ref(&self.port))) {
                Output::Send { packet, port: None } => return Some(packet),
                Output::Report(report) => self.reports.push(report),
                Output::WakeAt(at) => {
                    self.wake = at;
                    return None;
                }
                Output::Idle => {
                    self.wake = Time::NEVER;
                    return None;
                }
                other @ Output::Send { .. } => panic!("a single port: {other:?}"),
            }
        }
    }

    /// Sends one frame completely.
    fn send(&mut self) -> Option<Data> {
        let packet = self.poll()?;
        assert_eq!(self.poll(), None, "one frame at a time");
        self.now += RATE.time_for(Bytes(packet.size.into()));
        self.adapter.handle(self.now, Input::Sent(&packet));
        let Header::Cee(frame) = &packet.header else { panic!("a frame: {packet:?}") };
        Some(data(frame))
    }

    fn receive(&mut self, packet: &Packet) {
        self.adapter.handle(self.now, Input::Packet { packet, port: PortId(0) });
    }

    /// Destinations of all frames that the adapter sends before it must wait.
    fn destinations(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.send()).map(|data| data.dst).collect()
    }
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

#[test]
fn destinations_take_turns() {
    let mut bench = Bench::new();
    for (id, (dst, frames)) in (0..).zip([(1, 3), (2, 1), (3, 2), (1, 1)]) {
        bench.open(id, dst, 1_500 * frames, 0);
    }
    assert_eq!(bench.destinations(), [1, 2, 3, 1, 3, 1, 1]);
}

#[test]
fn a_higher_priority_goes_first() {
    let mut bench = Bench::new();
    bench.open(0, 1, 3_000, 0);
    bench.open(1, 2, 3_000, 5);
    assert_eq!(bench.send().map(|data| (data.dst, data.priority)), Some((2, 5)));
    bench.open(2, 3, 1_500, 7);
    assert_eq!(bench.destinations(), [3, 2, 1, 1]);
}

#[test]
fn frames_say_which_bytes_of_which_flow_they_are() {
    let mut bench = Bench::new();
    bench.open(0, 1, 1_500, 0);
    bench.now = at(2_000);
    bench.open(1, 1, 3_100, 0);
    let frames: Vec<_> = std::iter::from_fn(|| bench.send()).collect();
    let of = |data: &Data| (data.flow, data.offset, data.len, data.size, data.birth);
    let born = at(2_000);
    assert_eq!(
        frames.iter().map(of).collect::<Vec<_>>(),
        [
            (0, 0, 1_500, 1_500, Time::ZERO),
            (1, 0, 1_500, 3_100, born),
            (1, 1_500, 1_500, 3_100, born),
            (1, 3_000, 100, 3_100, born),
        ]
    );
}

#[test]
fn a_pause_stops_its_priority_at_the_end_of_a_frame() {
    let mut bench = Bench::new();
    bench.open(0, 1, 3_000, 3);
    bench.open(1, 2, 3_000, 5);
    let first = bench.poll().expect("a frame");
    bench.port.paused = Paused(1 << 5);
    // A pause does not stop the frame that the port is sending.
    bench.adapter.handle(at(1_200), Input::Sent(&first));
    assert_eq!(bench.destinations(), [1, 1]);
    bench.port.paused = Paused(0xFF);
    assert_eq!((bench.send(), bench.wake), (None, Time::NEVER), "only the engine knows when the pause ends");
    bench.port.paused = Paused::NONE;
    assert_eq!(bench.destinations(), [2]);
}

#[test]
fn a_limiter_holds_back_its_own_destination_only() {
    let mut bench = Bench::new();
    bench.open(0, 1, 4_500, 0);
    bench.open(1, 2, 4_500, 0);
    bench.receive(&hold(1, 10_000, 0));
    assert_eq!((bench.destinations(), bench.now), (vec![2, 2, 2], at(3_600)));
    assert_eq!(bench.wake, at(10_000));
    bench.now = at(10_000);
    assert_eq!(bench.destinations(), [1, 1, 1]);
}

#[test]
fn a_notice_counts_from_when_it_comes_and_a_later_one_replaces_it() {
    let mut bench = Bench::new();
    bench.open(0, 1, 4_500, 0);
    assert_eq!(bench.send().map(|data| data.dst), Some(1));
    bench.receive(&hold(1, 9_000, 0));
    assert_eq!((bench.send(), bench.wake), (None, at(9_000)));
    bench.receive(&hold(1, 4_000, 0));
    assert_eq!((bench.send(), bench.wake), (None, at(4_000)));
    bench.receive(&hold(1, 20_000, 5_000));
    assert_eq!((bench.send(), bench.wake), (None, at(5_000)), "a timer may end the hold earlier");
    bench.now = at(5_000);
    assert_eq!(bench.destinations(), [1, 1]);
}

#[test]
fn a_notice_about_a_destination_to_which_nothing_waits_is_kept() {
    let mut bench = Bench::new();
    bench.open(0, 4, 1_500, 0);
    assert_eq!(bench.destinations(), [4]);
    bench.receive(&hold(4, 7_000, 0));
    bench.open(1, 4, 1_500, 0);
    assert_eq!((bench.send(), bench.wake), (None, at(7_000)));
    bench.now = at(7_000);
    assert_eq!(bench.destinations(), [4]);
}

/// A notice that holds back one flow to `HERMIT` until time `until_ns`, in nanoseconds.
fn hold_flow(flow: u8, until_ns: i16) -> Packet {
    let mut packet = hold(HERMIT, until_ns, 0);
    let Header::Cnm(notice) = &mut packet.header else { unreachable!("a notice") };
    notice.priority = flow;
    packet
}

#[test]
fn flows_with_queues_of_their_own_take_turns_and_are_held_back_apart() {
    let mut bench = Bench::new();
    bench.open(0, HERMIT, 3_000, 0);
    bench.open(1, HERMIT, 3_000, 0);
    bench.open(2, 1, 3_000, 0);
    let flows = |bench: &mut Bench| -> Vec<u32> {
        std::iter::from_fn(|| bench.send()).map(|data| data.flow).collect()
    };
    bench.receive(&hold_flow(1, 20_000));
    assert_eq!(flows(&mut bench), [0, 2, 0, 2]);
    assert_eq!(bench.wake, at(20_000));
    bench.now = at(20_000);
    assert_eq!(flows(&mut bench), [1, 1]);
}

#[test]
fn the_queue_of_a_flow_goes_with_it() {
    let mut bench = Bench::new();
    for id in 0..100 {
        bench.open(id, HERMIT, 1_500, 0);
        assert_eq!(bench.destinations(), [HERMIT]);
        bench.receive(&hold_flow(id as u8, 30_000));
    }
    assert_eq!(bench.adapter.queues.count(), 1, "each queue reuses the index of the removed queue");
    // The late notice about flow 99 does not hold back the next queue at the same index.
    bench.open(100, HERMIT, 1_500, 0);
    assert_eq!(bench.destinations(), [HERMIT]);
}

#[test]
fn frames_of_an_application_are_born_at_its_rate() {
    let mut bench = Bench::new();
    let flow = Flow {
        app_rate: Some(Rate::from_gbps(5)),
        process: Process::Constant,
        ..Flow::new(FlowId(0), NodeId(0), NodeId(1), Bytes(4_000), Time::ZERO)
    };
    bench.adapter.handle(Time::ZERO, Input::Flow(&flow));
    let mut births = Vec::new();
    while births.len() < 3 {
        match bench.send() {
            Some(data) => births.push((data.birth, data.len)),
            None => {
                assert!(bench.now < bench.wake && bench.wake < Time::NEVER);
                bench.now = bench.wake;
            }
        }
    }
    let gap = Duration::from_ns(2_400);
    let first = births[0].0;
    assert!(first < at(1_200), "the first frame has a random phase of at most one frame");
    assert_eq!(births, [(first, 1_500), (first + gap, 1_500), (first + gap * 2, 1_000)]);
}

#[test]
fn a_flow_is_closed_when_its_last_frame_has_left() {
    let mut bench = Bench::new();
    bench.open(7, 1, 3_000, 0);
    assert_eq!(bench.poll().map(|packet| packet.size), Some(1_500));
    assert_eq!(bench.reports, [Report::Opened { flow: FlowId(7), key: FlowKey(0) }]);
    let sent = Plain.packet(&Data {
        src: 0,
        dst: 1,
        flow: 0,
        priority: 0,
        len: 1_500,
        offset: 0,
        size: 3_000,
        ack_request: false,
        birth: Time::ZERO,
    });
    bench.adapter.handle(at(1_200), Input::Sent(&sent));
    bench.now = at(1_200);
    let last = bench.poll().expect("the second frame");
    assert_eq!((bench.poll(), bench.reports.len()), (None, 1), "the last frame has not left the port");
    bench.adapter.handle(at(2_400), Input::Sent(&last));
    assert_eq!(bench.poll(), None);
    assert_eq!(bench.reports[1..], [Report::Closed { key: FlowKey(0), retransmissions: 0 }]);
}

#[test]
fn an_adapter_waits_for_a_link_that_is_down_and_does_not_resend_lost_packets() {
    let mut bench = Bench::new();
    bench.open(0, 1, 3_000, 0);
    let packet = bench.poll().expect("a frame");
    bench.port.up = false;
    let (port, reason) = (PortId(0), DropReason::LinkDown);
    bench.adapter.handle(at(100), Input::Dropped { packet: &packet, port, reason });
    assert_eq!((bench.send(), bench.wake), (None, Time::NEVER));
    bench.port.up = true;
    assert_eq!(bench.send().map(|data| data.offset), Some(1_500));
    assert_eq!(bench.send(), None);
}

#[test]
fn losses_of_packets_of_other_hosts_change_nothing() {
    let mut bench = Bench::new();
    bench.open(0, 1, 3_000, 0);
    assert!(bench.poll().is_some());
    let other = hold(1, 0, 0);
    let (port, reason) = (PortId(0), DropReason::LinkDown);
    bench.adapter.handle(at(100), Input::Dropped { packet: &other, port, reason });
    assert_eq!(bench.poll(), None, "the adapter's own frame has not left the port");
}

/// A received frame of flow 5 from host 9.
fn incoming(offset: u64, len: u16) -> Packet {
    Plain.packet(&Data {
        src: 9,
        dst: 0,
        flow: 5,
        priority: 0,
        len,
        offset,
        size: 4_000,
        ack_request: false,
        birth: Time::ZERO,
    })
}

#[test]
fn frames_are_put_back_in_order() {
    let key = 9 << 32 | 5;
    let mut bench = Bench::telling(Some(Duration::from_us(1)));
    bench.receive(&incoming(3_000, 1_000));
    bench.now = at(1_500);
    bench.receive(&incoming(1_500, 1_500));
    assert_eq!(bench.poll(), None);
    assert_eq!(
        bench.reports,
        [Report::Progress { key: FlowKey(key), in_order: Bytes(0), late: 0 }],
        "the report of the interval that begins at 1 us"
    );
    bench.now = at(2_100);
    bench.receive(&incoming(0, 1_500));
    assert_eq!(bench.poll(), None);
    let rest = [
        Report::Progress { key: FlowKey(key), in_order: Bytes(0), late: 1 },
        Report::Delivered { key: FlowKey(key), reorder_peak: 2 },
    ];
    assert_eq!(bench.reports[1..], rest);
}

#[test]
fn frames_in_order_wait_for_nobody() {
    let mut bench = Bench::new();
    for (offset, len) in [(0, 1_500), (1_500, 1_500), (3_000, 1_000)] {
        bench.receive(&incoming(offset, len));
    }
    assert_eq!(bench.poll(), None);
    assert_eq!(bench.reports, [Report::Delivered { key: FlowKey(9 << 32 | 5), reorder_peak: 0 }]);
}

/// The number of waiting frames is the number of waiting bytes, divided by the length of the longest received frame and
/// rounded up. A short last frame therefore counts as a whole frame.
#[test]
fn full_frames_wait_whole_with_any_other_frames() {
    let frame = |offset, len| {
        Plain.packet(&Data {
            src: 9,
            dst: 0,
            flow: 5,
            priority: 0,
            len,
            offset,
            size: 3_001,
            ack_request: false,
            birth: Time::ZERO,
        })
    };
    let mut bench = Bench::new();
    for (offset, len) in [(1_500, 1_500), (3_000, 1), (0, 1_500)] {
        bench.receive(&frame(offset, len));
    }
    assert_eq!(bench.poll(), None);
    assert_eq!(bench.reports, [Report::Delivered { key: FlowKey(9 << 32 | 5), reorder_peak: 2 }]);
}
