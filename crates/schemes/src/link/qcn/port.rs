//! The congestion points of an egress port, one per priority, and the notices that they send.

use super::congestion_point::{CongestionPoint, Sample};
use super::params::Params;
use raddle_core::{Class, Header, Packet, PortAgent, PortState, Stream, Time};
use raddle_wire::Mac;
use raddle_wire::cnm::Notice;
use std::sync::Arc;

/// The congestion points of one egress port of a switch.
///
/// A notice goes to the source of the sampled frame through the forwarder of this port's switch. This switch therefore
/// learns of the congestion before other switches do. [`Class::CONTROL`] packets do not count as congestion.
#[derive(Debug)]
pub(crate) struct CongestionPoints {
    points: [CongestionPoint; Class::CONTROL.index()],
    params: Arc<Params>,
    address: Mac,
    random: Stream,
}

impl CongestionPoints {
    /// The congestion points of the port with this address. The port's queues are empty.
    #[must_use]
    pub(crate) fn new(address: Mac, params: &Arc<Params>, mut random: Stream) -> Self {
        let points = std::array::from_fn(|_| CongestionPoint::new(params, &mut random));
        Self { points, params: Arc::clone(params), address, random }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    fn notice(&self, culprit: &Packet, class: Class, sample: Sample) -> Packet {
        let notice = Notice {
            dst: culprit.src().0,
            cp: self.address,
            priority: class.0,
            feedback: sample.feedback,
            q_offset: units(-sample.offset),
            q_delta: units(sample.growth),
            culprit_dst: culprit.dst().0,
        };
        Packet::new(Notice::LEN as u32, Header::Cnm(notice))
    }
}

impl PortAgent for CongestionPoints {
    fn enqueue(&mut self, _: Time, packet: &mut Packet, _: &PortState) -> Option<Packet> {
        let class = packet.class();
        let point = self.points.get_mut(class.index())?;
        let sample = point.joined(packet.size, &self.params, &mut self.random)?;
        (sample.feedback > 0).then(|| self.notice(packet, class, sample))
    }

    fn left(&mut self, _: Time, class: Class, size: u32) {
        if let Some(point) = self.points.get_mut(class.index()) {
            point.left(size);
        }
    }
}

/// Converts bytes to a notice's units of 64 bytes, rounded towards zero and limited to 16 bits.
#[allow(clippy::cast_possible_truncation, reason = "the value is clamped to the range of an `i16`")]
fn units(bytes: i64) -> i16 {
    (bytes / 64).clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{backlogs, segment};
    use raddle_core::NodeId;

    const ADDRESS: Mac = Mac::switch_port(2, 1, 2);

    fn port() -> CongestionPoints {
        CongestionPoints::new(ADDRESS, &Arc::new(Params::default()), Stream::new(1, 0, "test"))
    }

    /// Adds frames from host 4 to host 9 to the port until a frame causes a notice. Returns the number of frames, and
    /// the notice.
    fn notified(port: &mut CongestionPoints) -> (u32, Packet) {
        let [state] = backlogs(&[0])[..] else { unreachable!("one port") };
        for frames in 1.. {
            if let Some(packet) = port.enqueue(Time::ZERO, &mut segment(4, 9, 1, 0), &state) {
                return (frames, packet);
            }
        }
        unreachable!("a queue that never drains is congested some time")
    }

    #[test]
    fn a_notice_says_whose_frame_met_how_much_congestion_where() {
        let (frames, packet) = notified(&mut port());
        let queue = i64::from(frames) * 1_500;
        assert!(
            (127_500 / 1_500..=172_500 / 1_500 + 1).contains(&frames),
            "after one interval, not {frames}"
        );
        assert_eq!((packet.dst(), packet.size, packet.class()), (NodeId(4), 64, Class::CONTROL));
        let Header::Cnm(notice) = packet.header else { panic!("a notice: {packet:?}") };
        let expected = Notice {
            dst: 4,
            cp: ADDRESS,
            priority: 0,
            feedback: 63,
            q_offset: units(20_000 - queue),
            q_delta: units(queue),
            culprit_dst: 9,
        };
        assert_eq!(notice, expected);
    }

    #[test]
    fn departed_packets_do_not_count_as_congestion() {
        let [state] = backlogs(&[0])[..] else { unreachable!("one port") };
        let mut port = port();
        for _ in 0..1_000 {
            let notice = port.enqueue(Time::ZERO, &mut segment(4, 9, 1, 0), &state);
            assert_eq!(notice, None);
            port.left(Time::ZERO, Class(0), 1_500);
        }
    }

    #[test]
    fn notices_are_not_counted_and_not_answered() {
        let [state] = backlogs(&[0])[..] else { unreachable!("one port") };
        let mut port = port();
        let (_, mut packet) = notified(&mut port);
        let before = port.points;
        for _ in 0..10_000 {
            assert_eq!(port.enqueue(Time::ZERO, &mut packet, &state), None);
        }
        port.left(Time::ZERO, Class::CONTROL, 64);
        assert_eq!(port.points, before);
    }

    /// The test vector of specifications/cee.md §4.3: the queue is 40,000 B above the equilibrium and has grown by
    /// 11,000 B.
    #[test]
    fn oracle_4_3_units() {
        assert_eq!([-40_000, 11_000, 1 << 40, -(1 << 40)].map(units), [-625, 171, i16::MAX, i16::MIN]);
    }
}
