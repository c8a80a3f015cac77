//! D3's link controller. It grants flows the rates that meet their deadlines, first come, first served, and divides the
//! rest of the capacity equally (Wilson, Ballani, Karagiannis, Rowstron, SIGCOMM 2011, §4 and §5;
//! specifications/pdq.md §6).
//!
//! Once per round trip each flow returns its grant and requests a new grant. If enough capacity is left, the flow gets
//! the desired rate plus an equal share of the capacity that no flow desires. Otherwise, it gets the capacity that is
//! left. The controller never takes a grant back from another flow that still sends requests. It keeps three sums: the
//! number of flows, the granted rates, and the desired rates.
//!
//! A request states the rate that the flow returns. In the paper, a router trusts this statement and remembers no flow
//! ([`Memory::Sums`]). If a request is repeated, or is lost after it has passed the router, the router's sums stay
//! wrong for good. With [`Memory::Flows`], the controller instead remembers the actual grant of each flow. As long as
//! no packet is lost, both kinds of memory grant the same rates.
//!
//! Rates are whole numbers of bits per second, so that the sums are exactly zero after all flows have ended. Cost per
//! request: a few additions; with [`Memory::Flows`], also two hash-map look-ups.

use crate::choices;
use crate::transport::adapted_capacity::{AdaptedCapacity, Gains};
use crate::transport::live_flows::LiveFlows;
use raddle_core::{Duration, FlowKey, Rate, Time};

/// With [`Memory::Flows`], the controller forgets a flow that sends no request for this number of round trips.
const FORGOTTEN_AFTER: u64 = 20;

choices! {
    /// The state that a router keeps about each flow.
    pub enum Memory {
        /// The router remembers the desired rate and the granted rate of each flow.
        Flows = "flows",
        /// The router remembers no flow, and trusts the rates that requests state.
        Sums = "sums",
    }
}

/// A rate request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// The flow's key in packet headers.
    pub flow: FlowKey,
    /// Position of this request among the flow's requests: first, last or in between.
    pub stage: Stage,
    /// The rate that meets the flow's deadline; zero if the flow has no deadline.
    pub desired: Rate,
    /// The desired rate of the flow's previous request.
    pub previous: Rate,
    /// The last grant of this router that the sender has received; not used in a flow's first request.
    pub granted: Rate,
}

/// The place of a request in its flow: first, last, or between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The first request (SYN).
    First,
    /// A request that is neither the first nor the last.
    Next,
    /// The last request (FIN), which only returns the flow's grant.
    Last,
}

/// The rates of one flow on a link, in bit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Account {
    desired: i64,
    granted: i64,
}

/// The controller of one link.
#[derive(Debug)]
pub struct Controller {
    pub(super) capacity: AdaptedCapacity,
    /// True if the controller replaces a negative fair share by zero.
    clamp: bool,
    flows: Option<LiveFlows<Account>>,
    sums: Sums,
}

/// Sums over the flows of a link. With [`Memory::Sums`], a sum can have any value, even a negative value, because
/// requests may be lost or repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Number of flows (N in the paper).
    pub flows: i64,
    /// Sum of the granted rates (A in the paper), bit/s.
    pub granted: i64,
    /// Sum of the desired rates (D in the paper), bit/s.
    pub desired: i64,
}

impl Sums {
    fn add(&mut self, account: Account) {
        self.flows += 1;
        self.granted += account.granted;
        self.desired += account.desired;
    }

    fn subtract(&mut self, account: Account) {
        self.flows -= 1;
        self.granted -= account.granted;
        self.desired -= account.desired;
    }
}

impl Controller {
    /// The controller of an idle link with rate `line`, whose flows have round trips of about `rtt`. With `clamp`, the
    /// fair share is never negative (the change that PDQ's authors made to D3). Without `clamp`, the fair share is
    /// negative if the desired rates of the link's flows together exceed its capacity. A flow is then granted less than
    /// its desired rate, even if the capacity that is not granted yet would suffice.
    ///
    /// # Panics
    /// If `rtt` is zero.
    #[must_use]
    pub fn new(line: Rate, gains: Gains, rtt: Duration, clamp: bool, memory: Memory) -> Self {
        let flows = (memory == Memory::Flows).then(LiveFlows::new);
        Self { capacity: AdaptedCapacity::new(line, gains, rtt), clamp, flows, sums: Sums::default() }
    }

    /// Handles a request that joins the queue. Returns the granted rate, which `representable` has rounded to a value
    /// that fits the header. A grant of zero means the base rate, at which the flow may send only requests. The flow's
    /// last request gets no grant: the result is zero.
    pub(crate) fn request(
        &mut self,
        now: Time,
        request: &Request,
        representable: impl Fn(Rate) -> Rate,
    ) -> Rate {
        self.sweep(now);
        if let Some(before) = self.before(request) {
            self.sums.subtract(before);
        }
        if request.stage == Stage::Last {
            if let Some(flows) = &mut self.flows {
                flows.remove(request.flow);
            }
            return Rate::ZERO;
        }
        let desired = bps(request.desired);
        self.sums.add(Account { desired, granted: 0 });
        let granted = representable(Rate::from_bps(self.grant(desired)));
        self.sums.granted += bps(granted);
        if let Some(flows) = &mut self.flows {
            flows.put(now, request.flow, Account { desired, granted: bps(granted) });
        }
        granted
    }

    /// The sums over all flows of the link.
    #[must_use]
    pub fn sums(&self) -> Sums {
        self.sums
    }

    /// Records that a packet of any kind joins the queue. `size` is in bytes.
    pub(crate) fn joined(&mut self, now: Time, size: u32) {
        let flows = self.counted();
        self.capacity.joined(now, size, flows, 1.0);
    }

    /// Ends an interval in the adaptation of the capacity.
    pub(super) fn tick(&mut self, now: Time) {
        let flows = self.counted();
        self.capacity.tick(now, flows, 1.0);
    }

    /// Number of flows according to the sums, or zero if this number is negative.
    fn counted(&self) -> usize {
        usize::try_from(self.sums.flows).unwrap_or(0)
    }

    /// The desired rate and the grant of the flow's previous request, to be subtracted from the sums. With
    /// [`Memory::Flows`], the controller remembers them; `None` if it does not remember the flow. With
    /// [`Memory::Sums`], the request states them; `None` if it is the flow's first request.
    fn before(&self, request: &Request) -> Option<Account> {
        match &self.flows {
            Some(flows) => flows.get(request.flow).copied(),
            None => (request.stage != Stage::First)
                .then(|| Account { desired: bps(request.previous), granted: bps(request.granted) }),
        }
    }

    /// The grant for a flow that desires the rate `desired`, both in bit/s. The sums must already contain `desired`.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn grant(&self, desired: i64) -> u64 {
        let capacity = self.capacity.get() as i64;
        let left = capacity - self.sums.granted;
        let spare = (capacity - self.sums.desired) / self.sums.flows.max(1);
        let share = if self.clamp { spare.max(0) } else { spare };
        let granted = if left > desired { left.min(desired + share) } else { left };
        granted.max(0).cast_unsigned()
    }

    fn sweep(&mut self, now: Time) {
        if let Some(flows) = &mut self.flows {
            let sums = &mut self.sums;
            flows.sweep(now, self.capacity.rtt() * FORGOTTEN_AFTER, |&account| sums.subtract(account));
        }
    }
}

/// The rate in bit/s, as a signed integer.
fn bps(rate: Rate) -> i64 {
    i64::try_from(rate.as_bps()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_us(120);
    const MBPS: u64 = 1_000_000;

    fn controller(clamp: bool, memory: Memory) -> Controller {
        Controller::new(Rate::from_gbps(1), Gains { spare: 0.1, queue: 1.0 }, RTT, clamp, memory)
    }

    /// A sender. Each of its requests states its previous desired rate and the grant that it received last.
    struct Sender {
        flow: FlowKey,
        stage: Stage,
        previous: Rate,
        granted: Rate,
    }

    impl Sender {
        fn new(flow: FlowKey) -> Self {
            Self { flow, stage: Stage::First, previous: Rate::ZERO, granted: Rate::ZERO }
        }

        /// Requests `desired` Mbit/s and receives the answer. Returns the grant in Mbit/s.
        fn ask(&mut self, us: u64, controller: &mut Controller, desired: u64) -> u64 {
            self.granted = self.lose(us, controller, desired);
            self.stage = Stage::Next;
            self.previous = Rate::from_bps(desired * MBPS);
            self.granted.as_bps() / MBPS
        }

        /// Requests `desired` Mbit/s. The answer is lost, so the sender does not learn its grant.
        fn lose(&self, us: u64, controller: &mut Controller, desired: u64) -> Rate {
            let desired = Rate::from_bps(desired * MBPS);
            let &Self { flow, stage, previous, granted } = self;
            let request = Request { flow, stage, desired, previous, granted };
            controller.request(Time::ZERO + Duration::from_us(us), &request, |rate| rate)
        }

        fn end(&mut self, us: u64, controller: &mut Controller) {
            self.stage = Stage::Last;
            assert_eq!(self.lose(us, controller, 0), Rate::ZERO);
        }
    }

    fn senders<const N: usize>() -> [Sender; N] {
        std::array::from_fn(|flow| Sender::new(FlowKey(flow as u64)))
    }

    #[test]
    fn flows_get_their_requested_rates_and_share_the_rest() {
        for memory in [Memory::Flows, Memory::Sums] {
            let mut link = controller(true, memory);
            let [mut a, mut b] = senders();
            assert_eq!(a.ask(0, &mut link, 200), 1_000, "the desired 200 and the 800 that no flow desires");
            assert_eq!(
                b.ask(10, &mut link, 400),
                0,
                "the whole capacity is granted to flow a for this round trip"
            );
            assert_eq!(
                a.ask(120, &mut link, 200),
                400,
                "the desired 200 and half of the 400 that no flow desires"
            );
            assert_eq!(b.ask(130, &mut link, 400), 600);
            assert_eq!(link.sums(), Sums { flows: 2, granted: 1_000_000_000, desired: 600_000_000 });
        }
    }

    #[test]
    fn a_later_request_with_a_tighter_deadline_does_not_preempt_an_earlier_one() {
        let mut link = controller(true, Memory::Flows);
        let [mut first, mut late] = senders();
        first.ask(0, &mut link, 700);
        late.ask(10, &mut link, 900);
        assert_eq!(first.ask(120, &mut link, 700), 700);
        assert_eq!(late.ask(130, &mut link, 900), 300);
    }

    #[test]
    fn without_the_clamp_an_overloaded_link_grants_less_than_was_reserved() {
        for (clamp, expected) in [(true, 600), (false, 500)] {
            let mut link = controller(clamp, Memory::Flows);
            let [mut a, mut b] = senders();
            a.ask(0, &mut link, 600);
            b.ask(10, &mut link, 600);
            // Without the clamp, the fair share is (capacity - desired rates) / flows = (1,000 - 1,200) / 2 = -100
            // Mbit/s.
            assert_eq!(a.ask(120, &mut link, 600), expected);
        }
    }

    /// The grants of one link to three flows while no packet is lost, and the sums after the flows have ended.
    fn lossless(memory: Memory) -> (Vec<u64>, Sums) {
        let mut link = controller(true, memory);
        let mut senders: [Sender; 3] = senders();
        let mut grants = Vec::new();
        for round in 0..50 {
            for (i, sender) in senders.iter_mut().enumerate() {
                let us = 120 * round + i as u64;
                grants.push(sender.ask(us, &mut link, (17 * round + 301 * i as u64) % 500));
            }
        }
        for sender in &mut senders {
            sender.end(6_000, &mut link);
        }
        (grants, link.sums())
    }

    #[test]
    fn sums_return_to_zero_and_memory_changes_nothing_while_nothing_is_lost() {
        let (grants, sums) = lossless(Memory::Flows);
        assert_eq!(sums, Sums::default());
        assert!(grants.iter().any(|&grant| grant > 0));
        assert_eq!((grants, sums), lossless(Memory::Sums));
    }

    #[test]
    fn requests_lost_and_repeated_leave_no_trace_where_flows_are_remembered() {
        let after = |memory| {
            let mut link = controller(true, memory);
            let [mut a, mut b] = senders();
            // Four packets are lost. The answer to flow a's SYN is lost, so the SYN is repeated. A later request of
            // flow a is lost after it has passed this router. The answers to both FINs are lost, so the FINs are
            // repeated.
            a.lose(0, &mut link, 300);
            a.ask(300, &mut link, 300);
            b.ask(310, &mut link, 100);
            a.lose(400, &mut link, 250);
            a.ask(700, &mut link, 200);
            for sender in [&mut a, &mut b] {
                sender.end(800, &mut link);
                sender.end(1_100, &mut link);
            }
            link.sums()
        };
        assert_eq!(after(Memory::Flows), Sums::default());
        assert_ne!(after(Memory::Sums), Sums::default());
    }

    #[test]
    fn a_silent_flow_loses_its_granted_rate() {
        let mut link = controller(true, Memory::Flows);
        let [mut dead, mut slow] = senders();
        dead.ask(0, &mut link, 600);
        assert_eq!(slow.ask(120, &mut link, 500), 0);
        for us in (220..2_400).step_by(100) {
            assert_eq!(slow.ask(us, &mut link, 500), 0, "at {us} us");
        }
        assert_eq!(slow.ask(2_600, &mut link, 500), 1_000);
        assert_eq!(link.sums().flows, 1);
        dead.ask(2_700, &mut link, 100);
        assert_eq!(link.sums().flows, 2, "the flow was slow, not dead");
    }

    #[test]
    fn grants_are_rounded_to_rates_that_the_header_can_carry() {
        let mut link = controller(true, Memory::Flows);
        let request = Request {
            flow: FlowKey(1),
            stage: Stage::First,
            desired: Rate::ZERO,
            previous: Rate::ZERO,
            granted: Rate::ZERO,
        };
        let millions = |rate: Rate| Rate::from_bps(rate.as_bps() / 300_000_000 * 300_000_000);
        assert_eq!(link.request(Time::ZERO, &request, millions), Rate::from_bps(900_000_000));
        assert_eq!(link.sums().granted, 900_000_000);
    }
}
