//! The fixed point of DCQCN's rates.

use crate::fabric::{hosts, pfc};
use crate::witness::{Case, MEASURED, Witness, at_most};
use raddle_core::{
    Bytes, Duration, Flow, Header, LinkId, NodeId, Observer, Packet, PortAgent, PortId, PortState, Rate,
    Stream, Time,
};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_schemes::parameter::Settings;
use raddle_schemes::queue::strict::Strict;
use raddle_schemes::scheme::Plan;
use raddle_testkit::{flow, registry, us};
use raddle_topology::builders;
use raddle_wire::Ecn;
use std::ops::ControlFlow;
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(40);

/// The size of a packet with 1,024 B of payload, in bytes.
const PACKET: u64 = 1_084;

/// A simulation of long flows between hosts of one switch. Packets and queue lengths are measured from 50 ms
/// to 250 ms of simulated time.
struct Star {
    simulation: Simulation<Marks>,
    queued: f64,
}

/// Counts of the data packets on chosen links: all packets, marked packets, and the packets of each sender.
struct Marks {
    links: Vec<LinkId>,
    packets: u64,
    marked: u64,
    sent: Vec<f64>,
}

impl Observer for Marks {
    const FORWARDED: bool = true;

    fn forwarded(&mut self, now: Time, _: Time, link: LinkId, packet: &Packet) {
        if let Header::Roce(roce) = &packet.header
            && self.links.contains(&link)
            && now >= FROM
            && packet.is_data()
        {
            assert_eq!(u64::from(packet.size), PACKET);
            self.packets += 1;
            self.marked += u64::from(roce.ecn == Ecn::Ce);
            self.sent[roce.src as usize] += 1.0;
        }
    }
}

const FROM: Time = Time::from_ps(50_000_000_000);
const COUNTED: Duration = Duration::from_ms(200);

/// A port agent that marks each packet with the same probability.
struct Constant {
    probability: f64,
    stream: Stream,
}

impl PortAgent for Constant {
    fn enqueue(&mut self, _: Time, packet: &mut Packet, _: &PortState) -> Option<Packet> {
        if self.stream.unit() < self.probability {
            packet.mark_congestion();
        }
        None
    }
}

impl Star {
    /// Runs one flow from each of the senders 0 to n - 1. Without `constant`, all flows end at host n, and
    /// ports use RED with default settings. With `constant`, host i sends to host n + i, and each packet
    /// is marked with the probability `constant`.
    fn run(senders: u32, constant: Option<f64>) -> Self {
        const LOOKS: u64 = 20_000;
        let receivers = if constant.is_some() { senders } else { 1 };
        let delay = Duration::from_us(1);
        let star = builders::single_switch(senders + receivers, RATE, delay).expect("a star");
        let topology = Arc::new(star);
        let to = |host| topology.reverse(topology.link_id(NodeId(host), PortId(0)));
        let links: Vec<LinkId> = (senders..senders + receivers).map(to).collect();
        let red = registry().congestion_point("red").expect("built in");
        let of_red = Settings::defaults(red.info.parameters);
        let mut parts = hosts(&topology, "dcqcn", &[], Some((red.info.name, &of_red)));
        let mut agents = (red.build)(&Plan::new(&topology, "ecmp", &of_red, 1)).expect("valid parameters");
        let packet = parts.mtu + parts.header_bytes;
        let mut flow_control = pfc(&topology, packet, [1_000_000, 900_000, 850_000]);
        let port = |link: LinkId| PortSetup {
            queue: Some(Box::<Strict>::default()),
            agent: match constant {
                None => agents(link),
                Some(probability) => links.contains(&link).then(|| {
                    let stream = Stream::new(1, link.0.into(), "test/marks");
                    Box::new(Constant { probability, stream }) as Box<dyn PortAgent>
                }),
            },
            flow_control: flow_control(link),
            ..PortSetup::default()
        };
        let late = |n: u32| us(100 * u64::from(n));
        let flow = |n| flow(n, n, senders + n % receivers, 1 << 40, late(n));
        let flows: Vec<Flow> = (0..senders).map(flow).collect();
        let sent = vec![0.0; senders as usize];
        let marks = Marks { links: links.clone(), packets: 0, marked: 0, sent };
        let node = |id| (parts.node)(id);
        let mut simulation = Simulation::new(&topology, node, port, flows, Config::default(), marks);
        let mut queued = 0.0;
        for look in 0..LOOKS {
            simulation.run_until(FROM + COUNTED * look / LOOKS, |_| ControlFlow::Continue(()));
            queued += simulation.queued(links[0]) as f64 / LOOKS as f64;
        }
        assert_eq!(simulation.totals().dropped, 0);
        Self { simulation, queued }
    }
}

/// Converts a rate in bit/s to packets per second.
fn packets(bits: f64) -> f64 {
    bits / (8.0 * PACKET as f64)
}

/// Minimum time between two notifications, in seconds (τ).
const INTERVAL: f64 = 50e-6;
/// Period of the timers for rate recovery and for the estimate α, in seconds.
const TIMER: f64 = 55e-6;
/// Number of the first recovery cycle in which the target rate rises.
const RECOVERY: i32 = 5;

/// Returns the additive increase R_AI, in packets per second.
fn step() -> f64 {
    packets(40e6)
}

/// Computes α a² - τ² R_AI R (b + d)(c + e), which is 0 at the fixed point of the fluid model. Rates are in
/// packets per second. The result increases with the marking probability p and with the rate R.
#[expect(clippy::many_single_char_names, reason = "the symbols of the paper")]
fn fluid(p: f64, rate: f64) -> f64 {
    let byte_limit = 1e7 / PACKET as f64;
    let none_in = |count: f64| (1.0 - p).powf(count);
    let (a, alpha) = (1.0 - none_in(INTERVAL * rate), 1.0 - none_in(TIMER * rate));
    let events = |count: f64| p / (none_in(-count) - 1.0);
    let (b, d) = (events(byte_limit), events(TIMER * rate));
    let recovery = f64::from(RECOVERY);
    let (c, e) = (none_in(recovery * byte_limit) * b, none_in(recovery * TIMER * rate) * d);
    alpha * a * a - INTERVAL * INTERVAL * step() * rate * (b + d) * (c + e)
}

/// Computes, without the fluid approximation, the mean decrease of the rate between two notifications. The byte counter
/// is ignored. The time between two notifications is τ plus an exponentially distributed time. The first result is the
/// part of a rate cut that recovery cycles do not restore, minus the rise of the target rate. It is 0 at the fixed
/// point. The second result is α.
fn by_cycles(p: f64, rate: f64) -> (f64, f64) {
    const GAIN: f64 = 1.0 / 256.0;
    // The probability that the n-th cycle ends before the next notification.
    let ends = |n: i32| (-p * rate * (f64::from(n) * TIMER - INTERVAL)).exp();
    let half = |n: i32| 0.5_f64.powi(n);
    let not_given_back = 1.0 - (1..1_000).map(|n| ends(n) * half(n)).sum::<f64>();
    let falls = 1.0 - GAIN * (1..1_000).map(|n| ends(n) * (1.0 - GAIN).powi(n - 1)).sum::<f64>();
    let alpha = GAIN * falls / (1.0 - (1.0 - GAIN) * falls);
    let rise: f64 = (1..1_000).map(|n| ends(RECOVERY - 1 + n) * (1.0 - half(n))).sum();
    (alpha * rate / 2.0 * not_given_back - step() * rise, alpha)
}

/// Returns the root of a function that is negative at `low` and rises to a positive value at `high`.
fn root(mut low: f64, mut high: f64, rises: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if rises(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}

pub(crate) fn dcqcn() -> Witness {
    let line_rate = packets(RATE.as_bps_f64());
    let at_constant = |p: f64| {
        let rate = Star::run(4, Some(p)).simulation.observer().packets as f64 / COUNTED.as_secs_f64() / 4.0;
        let gbps = |rate| rate * 8.0 * PACKET as f64 / 1e9;
        let case = |form, theirs, within| {
            let name = format!("p = {p}: Gbps, {form}");
            Case { name, ours: gbps(rate), theirs: gbps(theirs), within }
        };
        let cycles = root(1.0, line_rate, |rate| by_cycles(p, rate).0);
        [
            case("fluid", root(1.0, line_rate, |rate| fluid(p, rate)), MEASURED),
            case("by cycles", cycles, at_most(by_cycles(p, cycles).1 / 2.0)),
        ]
    };
    let in_queue = |senders: u32| {
        let Star { simulation, queued } = Star::run(senders, None);
        let marks = simulation.observer();
        let share = marks.marked as f64 / marks.packets as f64;
        let carried = marks.packets as f64 * RATE.time_for(Bytes(PACKET)).as_ps() as f64;
        let sum: f64 = marks.sent.iter().sum();
        let squares: f64 = marks.sent.iter().map(|sent| sent * sent).sum();
        let index = sum * sum / (squares * f64::from(senders));
        let p = root(1e-9, 0.5, |p| by_cycles(p, line_rate / f64::from(senders)).0);
        let within = if senders < 8 { at_most(0.26) } else { MEASURED };
        let case = |name, ours, theirs, within| {
            let name = format!("N = {senders}: {name}");
            Case { name, ours, theirs, within }
        };
        [
            case("use of the link", carried / COUNTED.as_ps() as f64, 1.0, -0.03..=0.001),
            case("Jain's index of fairness", index, 1.0, -0.01..=1e-9),
            case("marked packets in percent", 100.0 * share, 100.0 * p, within.clone()),
            case("mean queue in bytes", queued, 5_000.0 + p / 0.01 * 195_000.0, within),
        ]
    };
    let constant = [0.001, 0.002, 0.004].into_iter().flat_map(at_constant);
    Witness {
        quantity: "DCQCN: fixed point",
        form: "the unique fixed point of the fluid model (Zhu et al. 2016, §3): one equation between a flow's \
             rate and the probability p of a mark; the witness by cycles has no fluid: in the mean, the rise of the \
             target rate between two notifications equals the part of a rate cut that recovery cycles do not restore. \
             N flows have C/N each. The probability p follows from this rate, and RED marks with this p at one length \
             of the queue",
        experiment: "packet engine, defaults of Zhu et al. 2015 at 40 Gbps, links of 1 us, measured for 200 \
             ms after the first 50 ms: single flows whose packets are marked with a constant p, or N flows at a port \
             with RED. The fluid model was first asserted within 19% at constant p, and this test failed for two \
             reasons. First, in the model a mark may end a cycle at any time. But notifications are at least 50 us \
             apart and a cycle has 55 us, so the first cycle after a notification nearly always ends, and restores \
             half of the rate cut. Second, the model's target rate rises from the sixth cycle on, and the target rate \
             of the 2015 paper rises from the fifth. The witness by cycles neglects only that the rate varies within \
             a cycle, by up to α/2. Marks and queue are asserted within 26%, since p is proportional to the cube root \
             of the product of the rates of increase and decrease, and these may be wrong by a factor of 2. With 8 \
             flows the queue grows up to K_max, beyond which RED marks all packets, and all flows cut their rates \
             together every 2 ms. Shares of the link may have a standard deviation of a tenth, which gives an index \
             of 0.99",
        cases: constant.chain([2, 4, 8].into_iter().flat_map(in_queue)).collect(),
    }
}
