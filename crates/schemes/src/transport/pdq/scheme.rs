//! PDQ's entry in the registry.

use super::params::{Parameters, Ranking};
use super::{Controller, Pdq, PdqPort};
use crate::fluid::{Sharing, capacities};
use crate::routing::pinned;
use crate::scheme::{Built, Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::transport::explicit;
use crate::transport::explicit::scheme::{Form, parts};
use raddle_allocate::{Criticality, Fluid, Measure, Probing, Subflows};
use raddle_core::{LinkId, PortAgent};
use raddle_topology::Link;
use raddle_wire::pdq::Packet;

/// PDQ.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "pdq",
        summary: "PDQ: switches let the most critical flows send at full rate and pause the others, to meet deadlines and finish flows early",
        source: "Hong, Caesar, Godfrey: Finishing Flows Quickly with Preemptive Scheduling, SIGCOMM 2012; specifications/pdq.md §1-§5",
        differs: &[
            "a link that accepted a flow holds up others by their rate of zero, not by who pauses them: fresh flows would slip through",
            "unless `profile = \"l\"`: grants count as they are made, and dampening spares the more critical",
            "unless `profile = \"l\"`: a switch looks again, as the acknowledgement comes back, whether there is room for a flow that starts",
            "unless `profile = \"l\"`: senders tell their least round-trip time; with smoothed ones Early Start feeds on the queues it makes",
            "unless `profile = \"l\"`: of the flows that have a rate, a host sends the most critical first when its link is free, and its port does not look again",
            "a rate below a packet a round trip is not granted: its holder would wait long for a better one",
            "a link's queue counts without the packet that is leaving, which alone would cost five percent",
            "the expected time counts bytes that are not acknowledged, with their headers",
            "SYNs are granted rates as data is; `syn_grants` says otherwise",
            "gaps in acknowledgements show losses, besides timeouts, and TERM is acknowledged",
            "egress ports of hosts have controllers, so that flows of one host share its link",
            "receivers take what their link brings, and lower no rate",
            "all headers together take 40 bytes, as those of TCP do; `h_sched` charges more",
        ],
        view: View::Local,
        parameters: &Parameters::LIST,
    },
    make: Make::Whole { routings: pinned::ROUTINGS, build },
    fluid: Some(fluid),
    streams: Streams::NEEDS_SIZES,
};

/// PDQ as a fluid: flows get at once the schedule on which switches would settle (specifications/pdq.md §11). Early
/// Start, dampening, profiles and list lengths only affect the way to that schedule, and are left out.
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let parameters = Parameters::of(plan.settings);
    if parameters.aging > 0.0 {
        return Err(Unfit {
            key: "scheme.pdq.aging".to_owned(),
            problem: "a fluid that has waited would lose its age, and with it its turn, at the instant at which it sends".to_owned(),
            hint: "leave it out, or choose kind = \"packet\" in [engine]".to_owned(),
        });
    }
    let schedule = raddle_allocate::Rules {
        measure: match parameters.ranking {
            Ranking::Exact => Measure::Remaining,
            Ranking::Random => Measure::Random { seed: plan.seed },
            Ranking::Sent => Measure::Sent { step_bits: parameters.ranking_step as f64 * 8.0 },
        },
        gives_up: parameters.early_termination(),
        probing: if parameters.suppressed_probing() { Probing::Suppressed } else { Probing::EveryRtt },
        probe_bits: f64::from(header(&parameters)) * 8.0,
        ..raddle_allocate::Rules::default()
    };
    let links = capacities(plan.topology, 1.0 - parameters.share);
    let Parameters { subflows, mss, paths, .. } = parameters;
    let policy: Box<dyn Fluid> = if subflows > 1 {
        let from = |slot| plan.topology.link(LinkId::of(slot)).map_or(u32::MAX, |link| link.from.0);
        Box::new(Subflows::new(&links, (0..links.len()).map(from).collect(), schedule))
    } else {
        Box::new(Criticality::new(&links, schedule))
    };
    explicit::scheme::fluid(plan, policy, paths, MOST_LINKS, move |flow| {
        let packets = flow.size.0.div_ceil(mss.into()).max(1);
        subflows.min(u32::try_from(packets).unwrap_or(u32::MAX))
    })
}

/// Bytes of a packet besides the payload.
#[expect(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
fn header(parameters: &Parameters) -> u32 {
    Packet::LEN as u32 + parameters.h_sched
}

/// Number of links on the longest path.
const MOST_LINKS: usize = 12;

fn build(plan: &Plan<'_>) -> Result<Built, Unfit> {
    let parameters = Parameters::of(plan.settings);
    let Parameters { subflows, mss, initial_rto, min_rto, paths, .. } = parameters;
    let header = header(&parameters);
    let form =
        Form { name: "PDQ", subflows, header, most_links: MOST_LINKS, mss, initial_rto, min_rto, paths };
    let seed = plan.seed;
    let port = move |id: LinkId, link: &Link| -> Box<dyn PortAgent> {
        Box::new(PdqPort::new(link.from, Controller::new(id.0, link.rate, parameters)))
    };
    parts(plan, form, move || Pdq::new(parameters, seed), port)
}
