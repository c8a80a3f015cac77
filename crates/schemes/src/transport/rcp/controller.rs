//! RCP's link controller: it counts the flows of its link exactly, and gives each flow an equal share of the capacity
//! (specifications/pdq.md §7).
//!
//! PDQ's authors update `R := R + (T/d) (alpha (C - y) - beta q/d) / N`, and rescale R whenever the number N of flows
//! changes. This is the same as `R = C_eff / N`, where C_eff is the [adapted
//! capacity](crate::transport::adapted_capacity) that this controller keeps. C_eff may be up to N times the link's
//! rate. If some flows have their bottleneck on another link, the other flows can thus use the capacity that is left. R
//! never exceeds the link's rate.
//!
//! Cost per packet: one hash-map look-up.

use crate::transport::adapted_capacity::{AdaptedCapacity, Gains};
use crate::transport::live_flows::LiveFlows;
use raddle_core::{Duration, FlowKey, Rate, Time};

/// If a flow sends no packet for this number of average round trips, the controller forgets the flow at its next sweep.
/// Sweeps are at least this time apart.
const FORGOTTEN_AFTER: u64 = 20;

/// The state of a flow, as one of its packets announces it on the way to the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// The flow continues.
    Live,
    /// The flow has ended.
    Over,
}

/// The controller of one link.
#[derive(Debug)]
pub struct Controller {
    pub(super) capacity: AdaptedCapacity,
    flows: LiveFlows<()>,
}

impl Controller {
    /// Creates the controller of an idle link with rate `line`. `rtt` is the initial value of the average round-trip
    /// time.
    ///
    /// # Panics
    /// If `rtt` is zero.
    #[must_use]
    pub fn new(line: Rate, gains: Gains, rtt: Duration) -> Self {
        Self { capacity: AdaptedCapacity::new(line, gains, rtt), flows: LiveFlows::new() }
    }

    /// Handles a packet that joins the queue on its way to the receiver of `flow`. `rtt` is the round-trip time that
    /// the flow's sender reports; zero if the sender has not measured it. Returns the greatest rate at which the flow
    /// may send. The port lowers the rate in the packet to this rate.
    pub(crate) fn forward(&mut self, now: Time, flow: FlowKey, passing: Passing, rtt: Duration) -> Rate {
        self.capacity.hear(rtt);
        match passing {
            Passing::Live => _ = self.flows.put(now, flow, ()),
            Passing::Over => _ = self.flows.remove(flow),
        }
        self.flows.sweep(now, self.capacity.rtt() * FORGOTTEN_AFTER, |()| {});
        self.capacity.limit(self.most());
        self.share()
    }

    /// The greatest rate at which each flow may send now. If the port has `restamp`, it also lowers the rates in
    /// acknowledgements to this rate, because new flows may have arrived since the data packets passed.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn share(&self) -> Rate {
        let share = self.capacity.get() / self.flows.len().max(1) as f64;
        Rate::from_bps(share.min(self.capacity.line()) as u64)
    }

    /// Number of flows on the link.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// A packet of any kind joins the queue; `size` is in bytes.
    pub(crate) fn joined(&mut self, now: Time, size: u32) {
        let most = self.most();
        self.capacity.joined(now, size, self.flows.len(), most);
    }

    /// Ends an interval in the adaptation of the capacity.
    pub(super) fn tick(&mut self, now: Time) {
        let most = self.most();
        self.capacity.tick(now, self.flows.len(), most);
    }

    /// Upper bound of the capacity, as a multiple of the link's rate.
    fn most(&self) -> f64 {
        self.flows.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBPS: u64 = 1_000_000_000;
    const RTT: Duration = Duration::from_us(120);

    fn controller() -> Controller {
        Controller::new(Rate::from_gbps(1), Gains { spare: 0.1, queue: 1.0 }, RTT)
    }

    fn at_us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn live(controller: &mut Controller, us: u64, flow: FlowKey) -> u64 {
        controller.forward(at_us(us), flow, Passing::Live, RTT).as_bps()
    }

    fn over(controller: &mut Controller, us: u64, flow: FlowKey) -> u64 {
        controller.forward(at_us(us), flow, Passing::Over, RTT).as_bps()
    }

    #[test]
    fn a_burst_of_syns_is_told_of_on_the_way_back() {
        let mut controller = controller();
        let stamped: Vec<u64> = (0..4).map(|flow| live(&mut controller, 0, FlowKey(flow))).collect();
        assert_eq!(stamped, [GBPS, GBPS / 2, GBPS / 3, GBPS / 4], "the share at the arrival of each flow");
        assert_eq!(controller.share().as_bps(), GBPS / 4);
    }

    #[test]
    fn each_flow_counts_once_however_often_it_begins_and_ends() {
        let mut controller = controller();
        for flow in [1, 2, 1, 3, 2, 2, 1] {
            live(&mut controller, 1, FlowKey(flow));
        }
        assert_eq!(controller.flows(), 3);
        for (flow, left) in [(2, 2), (2, 2), (7, 2), (1, 1), (3, 0), (3, 0)] {
            over(&mut controller, 2, FlowKey(flow));
            assert_eq!(controller.flows(), left);
        }
        assert_eq!(controller.share().as_bps(), GBPS);
    }

    #[test]
    fn a_flow_whose_end_is_lost_is_forgotten_and_one_that_lives_is_not() {
        let mut controller = controller();
        live(&mut controller, 0, FlowKey(1));
        live(&mut controller, 0, FlowKey(2));
        for us in (100..2_400).step_by(100) {
            assert_eq!(live(&mut controller, us, FlowKey(2)), GBPS / 2, "at {us} us");
        }
        assert_eq!(live(&mut controller, 2_500, FlowKey(2)), GBPS);
        assert_eq!(live(&mut controller, 2_600, FlowKey(1)), GBPS / 2, "the flow was slow, not dead");
    }

    #[test]
    fn bandwidth_left_by_flows_limited_elsewhere_goes_to_the_others_up_to_the_link_rate() {
        let mut controller = controller();
        for flow in 0..3 {
            live(&mut controller, 0, FlowKey(flow));
        }
        // The flows use a third of the link, so two thirds are spare. Each round trip adds 10% of the spare rate to the
        // capacity, until the capacity is three times the link's rate.
        let share = controller.share().as_bps();
        for packet in 0..10_000_u64 {
            let us = 36 * packet;
            while controller.capacity.next_tick() <= at_us(us) {
                controller.tick(controller.capacity.next_tick());
            }
            live(&mut controller, us, FlowKey(packet % 3));
            controller.joined(at_us(us), 1_500);
            controller.capacity.left(1_500);
        }
        assert!(share < GBPS / 2);
        assert_eq!(controller.share().as_bps(), GBPS);
        over(&mut controller, 360_000, FlowKey(0));
        over(&mut controller, 360_000, FlowKey(1));
        assert!(controller.capacity.get() <= 1e9, "one flow cannot use more than the link's rate");
    }
}
