#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use proptest::prelude::*;
use raddle_core::{Class, Header};
use raddle_wire::cee::Frame;

fn frame(priority: u8, size: u32) -> Packet {
    Packet::new(size, Header::Cee(Frame { priority, plen: size as u16, ..Frame::default() }))
}

/// Each priority has its own traffic class.
const OWN: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

fn ets(classes: [u8; 8], shares: [u8; 8]) -> Ets {
    Ets::new(Params::new(classes, shares, 1_500).expect("shares of 100%"))
}

/// A queue in which frames of 1,500 B of these priorities always wait.
struct Saturated {
    queue: Ets,
    priorities: Vec<u8>,
}

impl Saturated {
    /// Serves up to `frames` frames while the `paused` priorities are paused. Returns the number of frames of each
    /// priority.
    fn serve(&mut self, frames: u32, paused: Paused) -> [u32; 8] {
        let mut served = [0; 8];
        for _ in 0..frames {
            for &priority in &self.priorities {
                while self.queue.queues[usize::from(priority)].len() < 2 {
                    self.queue.push(Time::ZERO, priority.into(), &frame(priority, 1_500));
                }
            }
            match self.queue.pop(Time::ZERO, paused) {
                Some(priority) => served[priority as usize] += 1,
                None => break,
            }
        }
        served
    }
}

#[test]
fn saturated_classes_get_their_shares() {
    let queue = ets(OWN, [10, 30, 60, 0, 0, 0, 0, 0]);
    let mut port = Saturated { queue, priorities: vec![0, 1, 2] };
    assert_eq!(port.serve(1_000, Paused::NONE), [100, 300, 600, 0, 0, 0, 0, 0]);
    // The middle class is paused: the other two classes share the link in the ratio 10 to 60.
    assert_eq!(port.serve(700, Paused(1 << 1)), [100, 0, 600, 0, 0, 0, 0, 0]);
    // The middle class gets no compensation afterwards.
    assert_eq!(port.serve(1_000, Paused::NONE), [100, 300, 600, 0, 0, 0, 0, 0]);
    assert_eq!(port.serve(10, Paused(0b111)), [0; 8]);
}

#[test]
fn strict_classes_go_first_the_highest_of_them_before_all() {
    let mut queue = ets(OWN, [50, 50, 0, 0, 0, 0, 0, 0]);
    let notice = Packet::new(64, Header::Cnm(crate::testing::notice()));
    let packets = [frame(0, 100), frame(2, 100), frame(5, 100), notice, frame(5, 100), frame(1, 100)];
    for (slot, packet) in packets.iter().enumerate() {
        assert_eq!(queue.push(Time::ZERO, slot as u32, packet), Admit::Take);
    }
    assert_eq!(queue.bytes(), Bytes(564));
    let order: Vec<u32> = std::iter::from_fn(|| queue.pop(Time::ZERO, Paused(1 << 2))).collect();
    assert_eq!(order, [3, 2, 4, 0, 5], "what is paused keeps nobody waiting");
    assert_eq!((queue.pop(Time::ZERO, Paused::NONE), queue.bytes()), (Some(1), Bytes(0)));
    assert_eq!(queue.pop(Time::ZERO, Paused::NONE), None);
}

#[test]
fn priorities_of_a_class_share_a_queue_as_far_as_pauses_allow() {
    let mut queue = ets([0, 0, 1, 1, 1, 1, 1, 1], [40, 60, 0, 0, 0, 0, 0, 0]);
    for (slot, priority) in [1, 0, 1, 0].into_iter().enumerate() {
        queue.push(Time::ZERO, slot as u32, &frame(priority, 1_500));
    }
    assert_eq!(queue.pop(Time::ZERO, Paused::NONE), Some(0));
    assert_eq!(queue.pop(Time::ZERO, Paused(1)), Some(2));
    let rest: Vec<u32> = std::iter::from_fn(|| queue.pop(Time::ZERO, Paused::NONE)).collect();
    assert_eq!(rest, [1, 3]);
}

#[test]
fn shares_must_add_up_to_100() {
    assert_eq!(
        Params::new(OWN, [99, 0, 0, 0, 0, 0, 0, 0], 1_500),
        Err("the `shares` must add up to 100%, or all be 0 if every class is strict (got 99%)".to_owned())
    );
    assert!(Params::new(OWN, [0; 8], 1_500).is_ok(), "all strict");
    assert!(
        Params::new(OWN, [1, 99, 0, 0, 0, 0, 0, 0], 1_500).is_ok_and(|params| params.quantum(0) >= 1_500)
    );
}

proptest! {
    /// For all sequences of frames and pauses: the queue serves a frame whenever a priority that is not paused has a
    /// frame. Each frame is served exactly once, after all earlier frames of its priority.
    #[test]
    fn nothing_is_lost_and_nothing_idles(
        steps in proptest::collection::vec((0_u8..9, 64_u32..1_500, any::<u8>()), 1..300),
        classes in proptest::array::uniform8(0_u8..8),
    ) {
        let mut queue = ets(classes, [20, 30, 0, 50, 0, 0, 0, 0]);
        let mut model: [VecDeque<u32>; 8] = Default::default();
        for (slot, (step, size, paused)) in (0..).zip(steps) {
            if let Some(waiting) = model.get_mut(usize::from(step)).filter(|_| slot % 2 == 0) {
                queue.push(Time::ZERO, slot, &frame(step, size));
                waiting.push_back(slot);
                continue;
            }
            let ready = |i: &usize| !Paused(paused).holds(Class(*i as u8)) && !model[*i].is_empty();
            let expected: Vec<usize> = (0..8).filter(ready).collect();
            let served = queue.pop(Time::ZERO, Paused(paused));
            prop_assert_eq!(served.is_some(), !expected.is_empty(), "work-conserving");
            if let Some(slot) = served {
                let from = expected.into_iter().find(|&i| model[i].front() == Some(&slot));
                prop_assert!(from.is_some(), "slot {} is the first of no ready priority", slot);
                model[from.unwrap_or(0)].pop_front();
            }
        }
        let left: usize = model.iter().map(VecDeque::len).sum();
        let rest = std::iter::from_fn(|| queue.pop(Time::ZERO, Paused::NONE)).count();
        prop_assert_eq!((rest, queue.bytes()), (left, Bytes(0)));
    }
}
