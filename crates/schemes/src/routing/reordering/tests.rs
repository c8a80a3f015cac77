use super::*;
use crate::testing::segment;
use std::sync::{Arc, Mutex};

const LEN: u32 = 1_460;
const HOLD: Hold = Hold { time: Duration::from_us(100), flowcell: None };

/// A host that records the segments it receives, and asks to be woken at a fixed time.
struct Top(Arc<Mutex<Vec<u32>>>, Time);

impl Host for Top {
    fn handle(&mut self, _: Time, input: Input<'_>) {
        if let Input::Packet { packet: Packet { header: Header::Tcp(segment), .. }, .. } = input {
            self.0.lock().expect("no panic").push(segment.seq);
        }
    }
    fn poll(&mut self, _: Time, _: &Ports<'_>) -> Output {
        Output::WakeAt(self.1)
    }
}

struct Bench {
    host: Reordering,
    up: Arc<Mutex<Vec<u32>>>,
}

impl Bench {
    fn new(hold: Hold) -> Self {
        let up = Arc::new(Mutex::new(Vec::new()));
        Self { host: Reordering::new(Box::new(Top(Arc::clone(&up), us(10_000))), hold), up }
    }

    /// Passes segment `number` of a flow to the host. Returns the numbers of the segments that are passed up, and the
    /// time at which the host wants to be woken.
    fn segment(&mut self, now: Time, flow: u16, number: u32) -> (Vec<u32>, Time) {
        let packet = segment(1, 2, flow, FIRST + number * LEN);
        self.host.handle(now, Input::Packet { packet: &packet, port: PortId(0) });
        self.wake(now)
    }

    fn wake(&mut self, now: Time) -> (Vec<u32>, Time) {
        let Output::WakeAt(at) = self.host.poll(now, &Ports(&[])) else { panic!("a time") };
        let up = std::mem::take(&mut *self.up.lock().expect("no panic"));
        (up.into_iter().map(|seq| (seq - FIRST) / LEN).collect(), at)
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

const LATER: u64 = 10_000;

#[test]
fn early_segments_go_up_behind_the_late_one() {
    let mut bench = Bench::new(HOLD);
    assert_eq!(bench.segment(us(0), 7, 0), (vec![0], us(LATER)));
    assert_eq!(bench.segment(us(1), 7, 3), (vec![], us(101)));
    assert_eq!(bench.segment(us(2), 7, 2), (vec![], us(101)));
    // Flows are independent.
    assert_eq!(bench.segment(us(3), 8, 0), (vec![0], us(101)));
    assert_eq!(bench.segment(us(4), 7, 1), (vec![1, 2, 3], us(LATER)));
    assert_eq!(bench.segment(us(5), 7, 4), (vec![4], us(LATER)));
}

#[test]
fn the_first_segment_of_a_flow_may_be_late_too() {
    let mut bench = Bench::new(HOLD);
    assert_eq!(bench.segment(us(0), 7, 1), (vec![], us(100)));
    assert_eq!(bench.segment(us(1), 7, 0), (vec![0, 1], us(LATER)));
}

#[test]
fn a_loss_goes_up_when_its_time_is_over_and_repeats_at_once() {
    let mut bench = Bench::new(HOLD);
    bench.segment(us(0), 7, 0);
    bench.segment(us(10), 7, 3);
    bench.segment(us(20), 7, 2);
    bench.segment(us(30), 7, 5);
    // A segment that has waited long enough also releases the segments before it.
    assert_eq!(bench.wake(us(109)), (vec![], us(110)));
    assert_eq!(bench.wake(us(110)), (vec![2, 3], us(130)));
    assert_eq!(bench.segment(us(111), 7, 1), (vec![1], us(130)));
    assert_eq!(bench.segment(us(112), 7, 4), (vec![4, 5], us(LATER)));
    assert_eq!(bench.segment(us(113), 7, 2), (vec![2], us(LATER)), "a second time");
}

#[test]
fn within_a_flowcell_a_gap_is_a_loss() {
    let flowcell = 4 * LEN;
    let mut bench = Bench::new(Hold { flowcell: Some(flowcell), ..HOLD });
    bench.segment(us(0), 7, 0);
    // Segments 0 to 3 belong to one flowcell, 4 to 7 to the next.
    assert_eq!(bench.segment(us(1), 7, 2), (vec![2], us(LATER)));
    assert_eq!(bench.segment(us(2), 7, 4), (vec![], us(102)));
    assert_eq!(bench.segment(us(3), 7, 5), (vec![], us(102)));
    assert_eq!(bench.segment(us(4), 7, 3), (vec![3, 4, 5], us(LATER)));
}

#[test]
fn sequence_numbers_wrap() {
    let mut bench = Bench::new(HOLD);
    let seq = |ahead: u32| u32::MAX.wrapping_sub(100).wrapping_add(ahead * LEN);
    for ahead in [0, 2, 1] {
        // The first segment's sequence number precedes `FIRST` modulo 2^32, so the segment is treated as a
        // retransmission.
        let packet = segment(1, 2, 7, seq(ahead));
        bench.host.handle(us(0), Input::Packet { packet: &packet, port: PortId(0) });
        bench.host.poll(us(0), &Ports(&[]));
    }
    let up = bench.up.lock().expect("no panic").clone();
    assert_eq!(up, [seq(0), seq(1), seq(2)]);
}

#[test]
fn silent_flows_are_forgotten_when_room_is_needed() {
    let mut bench = Bench::new(HOLD);
    for flow in 0..1_000 {
        bench.segment(us(u64::from(flow) * 10_000), flow, 0);
    }
    assert!(bench.host.flows.len() < 250, "{}", bench.host.flows.len());
}
