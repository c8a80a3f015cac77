//! The headers that PDQ's senders and receivers write and read (specifications/pdq.md §2, §3).

use super::params::{Parameters, Ranking};
use crate::transport::explicit::{Outlook, Precedence, Protocol, View};
use raddle_core::{Bytes, Duration, Flow, Header, Rate, Stream, Time};
use raddle_wire::Minifloat;
use raddle_wire::pdq::{self, Scheduling};
use raddle_wire::rated::{Kind, Segment};

/// PDQ at a host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pdq {
    parameters: Parameters,
    /// The run's seed.
    seed: u64,
}

/// PDQ's state of one subflow at its sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    rate: Rate,
    pauseby: u32,
    /// Time between probes, in sixteenths of a round trip.
    interval: u16,
    /// True if a packet of the subflow has requested a rate.
    asked: bool,
    /// Time since which the flow has had no rate, initially the flow's start. `None` while the flow has a rate.
    waits_since: Option<Time>,
    /// The random number that ranks the flow, if the ranking is random.
    drawn: u32,
}

/// The least interval between probes (`I_MIN`), in sixteenths of a round trip: one round trip. Receivers write this
/// value into every answer, so that the interval does not grow for ever.
#[allow(clippy::cast_possible_truncation, reason = "`INTERVALS_PER_RTT` is below 2^16")]
const LEAST_INTERVAL: u16 = Scheduling::INTERVALS_PER_RTT as u16;

/// Least expected transmission time, in ticks, of flows whose size is unknown. This time is so long that no such flow
/// seems nearly complete.
const UNKNOWN: u32 = 1 << 31;

/// The waiting time in which the expected time of a flow is halved [`Parameters::aging`] times.
const AGE: Duration = Duration::from_ms(100);

impl Pdq {
    /// Creates the protocol of a run with this seed.
    #[must_use]
    pub(crate) fn new(parameters: Parameters, seed: u64) -> Self {
        Self { parameters, seed }
    }

    /// The header's field for the expected transmission time, in ticks of 10 ns. Unless the ranking is exact, the field
    /// ranks the flow instead, and is at least [`UNKNOWN`].
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn expected(&self, sender: &Sender, view: &View) -> u32 {
        let time = match self.parameters.ranking {
            Ranking::Exact => view.limit.time_for(Bytes(view.left)),
            Ranking::Random => return UNKNOWN | sender.drawn >> 1,
            Ranking::Sent => {
                let step = self.parameters.ranking_step;
                view.limit.time_for(Bytes(view.sent / step * step))
            }
        };
        let ticks = (time.as_ps() / (1_000 * Scheduling::TICK_NS)) as f64;
        let waited = sender.waits_since.map_or(Duration::ZERO, |since| view.now.since(since));
        let age = if self.parameters.aging > 0.0 {
            libm::exp2(-self.parameters.aging * waited.as_ps() as f64 / AGE.as_ps() as f64)
        } else {
            1.0
        };
        let ticks = (ticks * age) as u32;
        if self.parameters.ranking == Ranking::Exact { ticks } else { UNKNOWN | ticks.min(UNKNOWN - 1) }
    }
}

/// The flow's deadline as a header field, in microseconds; [`Scheduling::NEVER`] if the flow has no deadline.
fn deadline(view: &View) -> u32 {
    match view.deadline {
        Time::NEVER => Scheduling::NEVER,
        at => u32::try_from(at.as_ps() / 1_000_000).unwrap_or(Scheduling::NEVER - 1),
    }
}

impl Protocol for Pdq {
    type Sender = Sender;

    #[allow(clippy::cast_possible_truncation, reason = "32 random bits are enough to rank flows")]
    fn open(&mut self, flow: &Flow) -> Sender {
        let drawn = match self.parameters.ranking {
            Ranking::Random => Stream::new(self.seed, flow.id.0.into(), "pdq/ranking").bits() as u32,
            Ranking::Exact | Ranking::Sent => 0,
        };
        let waits_since = Some(flow.start);
        let (rate, pauseby) = (Rate::ZERO, Scheduling::NOBODY);
        Sender { rate, pauseby, interval: LEAST_INTERVAL, asked: false, waits_since, drawn }
    }

    fn write(&mut self, sender: &mut Sender, view: &View, segment: Segment) -> Header {
        let asks = segment.kind != Kind::Syn || self.parameters.syn_grants;
        sender.asked |= asks;
        // The smoothed round-trip time includes queueing delay. With this time in headers, longer queues would make
        // more flows seem nearly complete to the links. In profile F, headers therefore contain the least round-trip
        // time.
        let rtt = if self.parameters.is_fast() { view.least_rtt } else { view.rtt };
        let scheduling = Scheduling {
            rate: u32::try_from(view.limit.as_bps() / 1_000).unwrap_or(u32::MAX),
            pauseby: sender.pauseby,
            deadline: deadline(view),
            expected: self.expected(sender, view),
            rtt: Minifloat::floor(rtt.as_ps() / 1_000),
            interval: 0,
        };
        Header::Pdq(pdq::Packet { segment: Segment { asks, ..segment }, scheduling })
    }

    fn read(&mut self, sender: &mut Sender, view: &View, header: &Header) {
        let Header::Pdq(pdq::Packet { segment, scheduling }) = header else { return };
        if !segment.asks {
            return;
        }
        sender.pauseby = scheduling.pauseby;
        sender.interval = scheduling.interval.max(1);
        sender.rate = match scheduling.pauseby {
            Scheduling::NOBODY => Rate::from_bps(u64::from(scheduling.rate) * 1_000).min(view.limit),
            _ => Rate::ZERO,
        };
        sender.waits_since = match sender.rate {
            Rate::ZERO => sender.waits_since.or(Some(view.now)),
            _ => None,
        };
    }

    fn rate(&self, sender: &Sender) -> Rate {
        sender.rate
    }

    fn probe_interval(&self, sender: &Sender, view: &View) -> Duration {
        if sender.asked {
            view.rtt * u64::from(sender.interval) / u64::from(Scheduling::INTERVALS_PER_RTT)
        } else {
            Duration::from_ps(1) // the SYN has not requested a rate, so a probe leaves at once and requests a rate
        }
    }

    /// In profile F, the host ranks its flows in the same way as links rank flows. In profile L, the host does not rank
    /// its flows.
    fn precedence(&self, sender: &Sender, view: &View) -> Option<Precedence> {
        self.parameters.is_fast().then(|| (deadline(view), self.expected(sender, view)))
    }

    /// Early Termination (specifications/pdq.md §2, rule 6). Unless the ranking is exact, the host does not know the
    /// flow's size, and assumes a remaining transmission time of zero.
    fn gives_up(&self, outlook: &Outlook) -> bool {
        let least = match self.parameters.ranking {
            Ranking::Exact => outlook.least_time(),
            Ranking::Random | Ranking::Sent => Duration::ZERO,
        };
        let round_trip = if outlook.paused { outlook.rtt } else { Duration::ZERO };
        self.parameters.early_termination() && outlook.now + least.max(round_trip) > outlook.deadline
    }

    fn answer(&self, header: &Header, segment: Segment) -> Option<Header> {
        let Header::Pdq(packet) = header else { return None };
        let scheduling = Scheduling { interval: LEAST_INTERVAL, ..packet.scheduling };
        Some(Header::Pdq(pdq::Packet { segment, scheduling }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::pdq::params::Variant;
    use raddle_core::{FlowId, NodeId};

    const GBPS: Rate = Rate::from_gbps(1);

    fn view(ms: u64) -> View {
        let now = Time::ZERO + Duration::from_ms(ms);
        let rtt = Duration::from_us(200);
        let (left, sent) = (125_000, 120_000);
        View { now, rtt, least_rtt: rtt, left, sent, limit: GBPS, deadline: Time::NEVER }
    }

    /// The first header of a flow that began at time zero and has no rate.
    fn written(parameters: Parameters, flow: u32, view: &View) -> Scheduling {
        let mut pdq = Pdq::new(parameters, 1);
        let flow = Flow::new(FlowId(flow), NodeId(0), NodeId(1), Bytes(1), Time::ZERO);
        let mut sender = pdq.open(&flow);
        let Header::Pdq(packet) = pdq.write(&mut sender, view, Segment::default()) else {
            panic!("not PDQ's header")
        };
        packet.scheduling
    }

    #[test]
    fn a_sender_asks_for_its_full_rate_and_says_how_long_it_still_takes() {
        let deadline = Time::ZERO + Duration::from_ms(20);
        let header = written(Parameters::default(), 0, &View { deadline, ..view(1) });
        // The 125 KB that are left take 1 ms at 1 Gb/s, which is 100,000 ticks of 10 ns.
        assert_eq!((header.rate, header.expected, header.deadline), (1_000_000, 100_000, 20_000));
        assert_eq!((header.pauseby, header.rtt), (Scheduling::NOBODY, Minifloat::floor(200_000)));
        assert_eq!(written(Parameters::default(), 0, &view(1)).deadline, Scheduling::NEVER);
    }

    #[test]
    fn with_aging_flows_that_have_waited_count_as_shorter() {
        let aging = Parameters { aging: 2.0, ..Parameters::default() };
        assert_eq!(written(aging, 0, &view(0)).expected, 100_000);
        assert_eq!(written(aging, 0, &view(100)).expected, 25_000);
    }

    #[test]
    fn the_network_need_not_know_how_long_flows_are() {
        let random = Parameters { ranking: Ranking::Random, ..Parameters::default() };
        let ranks = [0, 1].map(|flow| [0, 50].map(|at| written(random, flow, &view(at)).expected));
        assert!(
            ranks[0][0] == ranks[0][1] && ranks[0][0] != ranks[1][0],
            "the rank is drawn once for each flow"
        );
        let sent = Parameters { ranking: Ranking::Sent, ..Parameters::default() };
        // The 120 KB that the flow has sent are rounded down to 100 KB, two steps of 50 KB. At 1 Gb/s, 100 KB take
        // 0.8 ms, which is 80,000 ticks of 10 ns.
        assert_eq!(written(sent, 0, &view(1)).expected, UNKNOWN + 80_000);
        assert!(ranks.iter().flatten().all(|&rank| rank >= UNKNOWN), "no flow seems nearly complete");
    }

    #[test]
    fn oracle_13_10_early_termination() {
        let at = |us| Time::ZERO + Duration::from_us(us);
        let outlook = |now, paused| Outlook {
            now: at(now),
            rtt: Duration::from_us(200),
            left: 1_250,
            limit: GBPS,
            deadline: at(5_000),
            paused,
        };
        let pdq = Pdq::new(Parameters::default(), 1);
        assert!(
            !pdq.gives_up(&outlook(4_990, false)) && pdq.gives_up(&outlook(4_991, false)),
            "the remaining bytes take 10 us"
        );
        assert!(
            !pdq.gives_up(&outlook(4_800, true)) && pdq.gives_up(&outlook(4_801, true)),
            "a paused flow needs a round trip of 200 us"
        );
        let patient = Pdq::new(Parameters { variant: Variant::EarlyStart, ..Parameters::default() }, 1);
        assert!(!patient.gives_up(&outlook(6_000, true)));
    }
}
