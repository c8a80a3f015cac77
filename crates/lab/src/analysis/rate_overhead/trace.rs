//! The starts and ends of flows on an ideal fabric where rates are max-min fair at every moment.

use super::Replay;
use raddle_allocate::Incremental;
use raddle_core::{Flow, NodeId, Time};

/// A flow's source and destination, and the time span in which the flow is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetime {
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Start time of the flow.
    pub start: Time,
    /// Arrival time of the flow's last byte.
    pub end: Time,
}

/// An active flow.
struct Live {
    place: usize,
    slot: usize,
    bits_left: f64,
}

impl Live {
    /// Seconds until the flow ends, if its rate does not change.
    fn lasts(&self, rates: &Incremental) -> f64 {
        self.bits_left / rates.rate(self.slot)
    }
}

impl Replay {
    /// The lifetimes of `flows`, which must be sorted by start. Each flow is a fluid that is sent at its max-min fair
    /// rate. The flows' own weights, priorities and application rates are ignored.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub fn lifetimes(&self, flows: &[Flow]) -> Vec<Lifetime> {
        let mut lifetimes: Vec<Lifetime> = flows
            .iter()
            .map(|flow| Lifetime { src: flow.src, dst: flow.dst, start: flow.start, end: Time::NEVER })
            .collect();
        let mut rates = Incremental::new(&self.usable);
        let mut live: Vec<Live> = Vec::new();
        let mut row = Vec::new();
        let mut now = 0.0;
        let mut arrivals = flows.iter().enumerate().peekable();
        loop {
            rates.settle();
            let next = live.iter().map(|flow| now + flow.lasts(&rates)).fold(f64::INFINITY, f64::min);
            let arrival = arrivals.next_if(|(_, flow)| flow.start.as_secs_f64() <= next);
            if arrival.is_none() && live.is_empty() {
                return lifetimes;
            }
            let event = arrival.map_or(next, |(_, flow)| flow.start.as_secs_f64());
            for flow in &mut live {
                flow.bits_left -= rates.rate(flow.slot) * (event - now);
            }
            now = event;
            if let Some((place, flow)) = arrival {
                self.routing.weights(self.protocol, flow.src, flow.dst, place as u64, &mut row);
                let links = row.iter().map(|&(link, weight)| (link.0, weight));
                let slot = rates.insert(1.0, 0, f64::INFINITY, links);
                live.push(Live { place, slot, bits_left: flow.size.0 as f64 * 8.0 });
            } else {
                // A remainder of less than a bit is a rounding error.
                for done in live.extract_if(.., |flow| flow.bits_left < 1.0) {
                    rates.remove(done.slot);
                    lifetimes[done.place].end = Time::from_ps((now * 1e12) as u64);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Bytes, Duration, FlowId, Rate};
    use raddle_topology::builders;
    use raddle_topology::routing::Protocol;
    use std::sync::Arc;

    #[test]
    fn flows_share_a_link_while_both_last() {
        let mesh = builders::mesh(&[2], Rate::from_gbps(10), Duration::ZERO).expect("valid dims");
        let replay = Replay::new(Arc::new(mesh), Protocol::Rps, 0.2);
        let flow = |i: usize, start: u64, size: u64| {
            let start = Time::ZERO + Duration::from_us(start);
            Flow::new(FlowId::of(i), NodeId(0), NodeId(1), Bytes(size), start)
        };
        // At 8 Gbps, one byte takes 1 ns. Each flow of 2,000 bytes sends 1,000 bytes alone in 1 us, and 1,000 bytes at
        // half the rate in 2 us.
        let lives = replay.lifetimes(&[flow(0, 5, 2_000), flow(1, 6, 2_000)]);
        let ends: Vec<f64> = lives.iter().map(|life| life.end.as_secs_f64() * 1e6).collect();
        assert!((ends[0] - 8.0).abs() < 1e-3 && (ends[1] - 9.0).abs() < 1e-3, "{ends:?}");
        assert_eq!(lives[1].start, Time::ZERO + Duration::from_us(6));
    }
}
