//! DCQCN's congestion point: it marks packets with a probability that depends on the length of the egress queue (Zhu et
//! al., SIGCOMM 2015, §3.1, Figure 5). This is RED (Floyd and Jacobson 1993) with the current queue length in place of
//! the average length.
//!
//! A queue of up to `k_min` bytes causes no marks. Between `k_min` and `k_max` bytes, the probability of a mark rises
//! linearly from 0 to `p_max`. Beyond `k_max` bytes, every ECN-capable packet is marked. When a packet joins, the queue
//! length is the number of bytes of its priority that are queued or in transmission, without the packet itself.

use crate::parameter::{Parameter, Value};
use crate::parameters;
use crate::transport::dcqcn::params::TESTBED;
use raddle_core::{Bytes, Class, Packet, PortAgent, PortState, Stream, Time};

/// Greatest queue length at which no packet is marked (Zhu et al., Figure 14).
const K_MIN: Parameter =
    Parameter::new("k_min", Value::Bytes(5_000), "queue length up to which no packet is marked")
        .growing(TESTBED, None);

/// Queue length beyond which every ECN-capable packet is marked (Zhu et al., Figure 14). Must be at least `k_min`.
const K_MAX: Parameter = Parameter::new(
    "k_max",
    Value::Bytes(200_000),
    "queue length beyond which every ECN-capable packet is marked",
)
.growing(TESTBED, None);

parameters! {
    /// The thresholds that determine the probability of a mark.
    pub(crate) struct Thresholds {
        k_min: Bytes = K_MIN;
        k_max: Bytes = K_MAX;
        /// probability of an ECN mark at `k_max`
        p_max: f64 = 0.01;
    }
}

impl Thresholds {
    /// The probability of a mark on a packet that joins a queue of this length.
    #[must_use]
    pub(crate) fn probability(&self, queue: Bytes) -> f64 {
        if queue <= self.k_min {
            0.0
        } else if queue > self.k_max {
            1.0
        } else {
            self.p_max * (queue - self.k_min).0 as f64 / (self.k_max - self.k_min).0 as f64
        }
    }
}

/// The marker of one egress port.
#[derive(Debug)]
pub(crate) struct Red {
    thresholds: Thresholds,
    /// Bytes in the queue of each priority, including the packet in transmission.
    queues: [u64; Class::CONTROL.index()],
    random: Stream,
}

impl Red {
    /// Creates the marker of a port whose queues are empty.
    #[must_use]
    pub(crate) fn new(thresholds: Thresholds, random: Stream) -> Self {
        Self { thresholds, queues: [0; Class::CONTROL.index()], random }
    }
}

impl PortAgent for Red {
    fn enqueue(&mut self, _: Time, packet: &mut Packet, _: &PortState) -> Option<Packet> {
        let queue = self.queues.get_mut(packet.class().index())?;
        let probability = self.thresholds.probability(Bytes(*queue));
        *queue += u64::from(packet.size);
        if probability > 0.0 && self.random.unit() < probability {
            packet.mark_congestion();
        }
        None
    }

    fn left(&mut self, _: Time, class: Class, size: u32) {
        if let Some(queue) = self.queues.get_mut(class.index()) {
            *queue -= u64::from(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{backlogs, segment};
    use raddle_core::Header;
    use raddle_wire::Ecn;

    /// The thresholds have the deployed values, 5 KB and 200 KB, but `p_max` is 50% instead of 1%.
    #[test]
    fn probability_rises_between_the_thresholds_and_jumps_beyond() {
        let steep = Thresholds { p_max: 0.5, ..Thresholds::default() };
        let probability = [0, 5_000, 44_000, 102_500, 200_000, 200_001].map(|n| steep.probability(Bytes(n)));
        let expected = [0.0, 0.0, 0.1, 0.25, 0.5, 1.0];
        assert!(
            probability.iter().zip(expected).all(|(p, want)| (p - want).abs() < 1e-12),
            "{probability:?}"
        );
    }

    #[test]
    fn equal_thresholds_are_a_step() {
        let step = Thresholds { k_min: Bytes(65_000), k_max: Bytes(65_000), p_max: 1.0 };
        assert_eq!([65_000, 65_001].map(|n| step.probability(Bytes(n)) > 0.5), [false, true]);
    }

    /// Number of marks among `packets` packets of 1,500 B, each of which joins a queue of `queue` bytes.
    fn marks(queue: u64, packets: u32) -> u32 {
        let [state] = backlogs(&[0])[..] else { unreachable!("one port") };
        let mut red = Red::new(Thresholds::default(), Stream::new(1, 0, "test"));
        red.queues[0] = queue;
        let mut marks = 0;
        for _ in 0..packets {
            let mut packet = segment(0, 1, 1, 0);
            let Header::Tcp(segment) = &mut packet.header else { unreachable!("a segment") };
            segment.ecn = Ecn::Ect0;
            assert_eq!(red.enqueue(Time::ZERO, &mut packet, &state), None);
            red.left(Time::ZERO, Class(0), 1_500);
            red.left(Time::ZERO, Class::CONTROL, 64);
            marks += u32::from(matches!(packet.header, Header::Tcp(segment) if segment.ecn == Ecn::Ce));
        }
        marks
    }

    #[test]
    fn packets_are_marked_as_often_as_that() {
        assert_eq!((marks(5_000, 1_000), marks(200_001, 1_000)), (0, 1_000));
        // Halfway between the thresholds, the probability is 0.5%, so 500 of 100,000 packets are marked on average. The
        // standard deviation is 22 packets, and 90 is about four times as much.
        assert!(marks(102_500, 100_000).abs_diff(500) < 90);
    }
}
