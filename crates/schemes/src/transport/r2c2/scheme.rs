//! R2C2's entry in the registry.

use super::selection::LASTING_TICKS;
use super::{Doubt, Params, Policy, R2c2Node, Selecting, Selection, StartPolicy, setup};
use crate::fluid::Sharing;
use crate::scheme::{Built, Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::{choices, parameters};
use raddle_allocate::selection::Utility;
use raddle_core::Duration;
use raddle_topology::routing::{Protocol, Routing};
use std::sync::Arc;

/// The transport R2C2.
pub const TRANSPORT: Transport = Transport {
    info: INFO,
    make: Make::Whole { routings: setup::ROUTINGS, build },
    fluid: Some(fluid),
    streams: Streams::With("reliable"),
};

const INFO: Info = Info {
    name: "r2c2",
    summary: "Rack-scale network stack: flow events are broadcast, every node computes all rates, packets are \
              source-routed",
    source: "Costa, Ballani, Razavi, Kash: R2C2: A Network Stack for Rack-scale Computers, SIGCOMM 2015",
    differs: &[
        "byte layouts, broadcast trees, recovery of lost broadcasts and the rate limits of new flows \
         (`start`) are reconstructions",
        "the rate limits of new flows and the choice of flows that a rate computation includes are \
         calibrated on the paper's Figure 10",
        "demand is estimated from the bytes that were sent, not from the allocation; an estimate from the \
         allocation could never fall",
        "a node skips a rate computation that includes none of the flows that it sends, because it would \
         not use the result",
        "reliability, which the paper leaves to future work, is optional; checksums cover packets, not whole flows",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

choices! {
    /// The policy that determines the weight of a flow.
    enum Share {
        Weights = "weights",
        Deadline = "deadline",
        Tenant = "tenant",
    }
}

choices!(for Option<Selecting> {
    "off" => None,
    "one" => Some(Selecting::One),
    "random" => Some(Selecting::Random),
    "token" => Some(Selecting::Token),
});

choices!(for &'static [Protocol] {
    "rps_vlb" => &[Protocol::Rps, Protocol::Vlb],
    "rps_vlb_wlb" => &[Protocol::Rps, Protocol::Vlb, Protocol::Wlb],
});

choices!(for Utility {
    "aggregate" => Utility::Aggregate,
    "minimum" => Utility::Minimum,
    "tenant" => Utility::PerTenant,
});

parameters! {
    struct Parameters {
        /// interval between rate computations; 0 recomputes at every event
        rho: Duration = Duration::from_us(500);
        headroom: f64 = setup::HEADROOM;
        only_lasting: bool = setup::ONLY_LASTING;
        synchronous: bool = setup::SYNCHRONOUS;
        /// criterion for a flow's share: its weight, its deadline, or its tenant
        policy: Share;
        /// number of tenants; node n belongs to tenant n modulo this number
        tenants: u16 = 2, 1..=65_535;
        /// rate limit of a new flow until a rate computation includes the flow
        start: StartPolicy;
        mtu: u16 = setup::MTU;
        nic_packets: u64 = setup::NIC_PACKETS;
        /// host that selects routing protocols for long flows: none, the host with the lowest number, each host at
        /// random times, or the holder of a token
        select: Option<Selecting>;
        /// interval between two selections of routing protocols
        select_period: Duration = Duration::from_ms(1_000);
        /// routing protocols that may be selected
        select_among: &'static [Protocol];
        /// utility that the selection of routing protocols maximises
        utility: Utility;
        /// largest number of assignments of protocols to flows that one selection evaluates
        select_evaluations: u64 = 5_000, 1..=1_000_000_000;
        /// when nodes compare their flow tables: after failures and detected drops, or always (for lossy links)
        doubt: Doubt;
        /// interval at which nodes compare their flow tables; 0 turns comparisons off
        digest_period: Duration = Duration::from_ms(10);
        /// number of recent broadcasts that a node sends again to a neighbour that has received a damaged packet
        resends: u8 = 8, 0..=255;
        /// number of broadcast trees per source
        trees: u8 = 6, 1..=64;
        hop_bits: u32 = setup::HOP_BITS;
        /// receivers acknowledge packets, and senders retransmit lost packets
        reliable: bool = false;
        /// receive window of reliable flows: number of packets, counted from the first missing packet
        window: u16 = 65_535, 1..=65_535;
    }
}

impl Params {
    /// The parameters of the nodes in a plan.
    #[must_use]
    pub fn of(plan: &Plan<'_>) -> Self {
        let parameters = Parameters::of(plan.settings);
        Self { streams: plan.streams, ..Self::new(setup::protocol(plan), &parameters) }
    }

    /// Converts the parameters of an experiment whose flows start with routing protocol `protocol`.
    fn new(protocol: Protocol, of: &Parameters) -> Self {
        let selection = of.select.map(|by| Selection {
            by,
            period: of.select_period,
            among: of.select_among,
            utility: of.utility,
            evaluations: of.select_evaluations,
        });
        Self {
            protocol,
            rho: of.rho,
            headroom: of.headroom,
            only_lasting: of.only_lasting,
            synchronous: of.synchronous,
            computes_idle: false,
            policy: match of.policy {
                Share::Weights => Policy::Weights,
                Share::Deadline => Policy::Deadline,
                Share::Tenant => Policy::Tenant(of.tenants),
            },
            start: of.start,
            mtu: of.mtu,
            nic_packets: of.nic_packets,
            selection,
            doubt: of.doubt,
            digest_period: of.digest_period,
            resends: of.resends,
            trees: of.trees,
            hop_bits: of.hop_bits,
            reliable: of.reliable,
            window: of.window,
            streams: false,
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::new(Protocol::Rps, &Parameters::default())
    }
}

/// The fluid model of R2C2: without delay, all flows have the rates that R2C2's nodes would compute.
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let params = Params::of(plan);
    let unfit = |key: &str, problem: &str, hint: &str| {
        let (key, problem, hint) = (key.to_owned(), problem.to_owned(), hint.to_owned());
        Err(Unfit { key, problem, hint })
    };
    if params.selection.is_some() {
        let problem =
            "the flow engine does not support `select`, which changes the routes of flows while they run";
        return unfit(
            "scheme.r2c2.select",
            problem,
            "leave `select` off, or choose kind = \"packet\" in [engine]",
        );
    }
    if params.policy != Policy::Weights {
        let problem = "the flow engine supports only policy = \"weights\"; other policies change weights while \
                       flows run";
        return unfit(
            "scheme.r2c2.policy",
            problem,
            "choose policy = \"weights\", or kind = \"packet\" in [engine]",
        );
    }
    Ok(setup::fluid(plan, &params))
}

fn build(plan: &Plan<'_>) -> Result<Built, Unfit> {
    let params = Params::of(plan);
    setup::check(plan, INFO.name, &params)?;
    if params.streams && params.policy == Policy::Deadline {
        let problem = "policy = \"deadline\" needs the sizes of flows, and the size of a stream is unknown";
        let (key, hint) =
            ("scheme.r2c2.policy".to_owned(), "choose policy = \"weights\" or \"tenant\"".to_owned());
        return Err(Unfit { key, problem: problem.to_owned(), hint });
    }
    if let Some(selection) = params.selection {
        let unfit = |key: &str, problem: String, hint: String| Unfit { key: key.into(), problem, hint };
        let (protocol, routing) = (params.protocol, Routing::new(Arc::clone(plan.topology)));
        if !selection.among.contains(&protocol) {
            let problem =
                format!("flows start with routing `{protocol}`, but `select_among` has no `{protocol}`");
            return Err(unfit(
                "scheme.routing",
                problem,
                "choose routing = \"rps\", or select = \"off\"".into(),
            ));
        }
        let lasting = params.rho * LASTING_TICKS;
        if selection.period < lasting || selection.period == Duration::ZERO {
            let problem = format!(
                "`select_period` must be greater than 0 and at least {LASTING_TICKS} times `rho`, \
                 which is {lasting} (got {})",
                selection.period
            );
            return Err(unfit(
                "scheme.r2c2.select_period",
                problem,
                "set a longer `select_period`; if `select_period` is not 0, a shorter `rho` helps too".into(),
            ));
        }
        for &protocol in selection.among {
            setup::check_route(&routing, &params, protocol, "scheme.r2c2.select_among")?;
        }
    }
    let seed = plan.seed;
    Ok(setup::build(plan, params, move |fabric, id| Box::new(R2c2Node::new(fabric, id, seed))))
}
