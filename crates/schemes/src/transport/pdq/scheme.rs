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

/// The transport PDQ.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "pdq",
        summary: "PDQ: switches let the most critical flows send at full rate and pause the others, to meet \
                  deadlines and to finish flows early",
        source: "Hong, Caesar, Godfrey: Finishing Flows Quickly with Preemptive Scheduling, SIGCOMM 2012; specifications/pdq.md §1-§5",
        differs: &[
            "dampening applies to every flow with rate zero, not only to flows that this link has paused; otherwise \
             dampening would not apply to new flows",
            "unless `profile = \"l\"`, a switch counts a grant as used as soon as it makes the grant, and \
             dampening does not delay more critical flows",
            "unless `profile = \"l\"`, a switch checks each grant against the free capacity again when the \
             acknowledgement returns",
            "unless `profile = \"l\"`, senders report their smallest round-trip time instead of the smoothed \
             time, which grows with the queues that Early Start builds",
            "unless `profile = \"l\"`, a host first sends the most critical of its flows that have a rate, \
             and does not check grants again at its own port",
            "a rate below one packet per round trip is not granted, because the flow would wait too long for a \
             better rate",
            "the measured queue excludes the packet in transmission; this packet alone would lower the \
             rate of a 1 Gb/s link by about 5%",
            "the expected transmission time counts all unacknowledged bytes, headers included",
            "SYNs are granted rates in the same way as data packets, unless `syn_grants = false`",
            "losses are detected by gaps in acknowledgements as well as by timeouts, and TERM is acknowledged",
            "egress ports of hosts have controllers too, so that the flows of one host share its link",
            "receivers accept data at the full rate of their link and never lower a flow's rate",
            "all headers together have 40 bytes, as in TCP; `h_sched` adds further bytes",
        ],
        view: View::Local,
        parameters: &Parameters::LIST,
    },
    make: Make::Whole { routings: pinned::ROUTINGS, build },
    fluid: Some(fluid),
    streams: Streams::NEEDS_SIZES,
};

/// The fluid model of PDQ: flows get without delay the rates to which the switches would converge
/// (specifications/pdq.md §11). The model leaves out Early Start, dampening, profiles and list lengths, because they
/// affect only the convergence.
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let parameters = Parameters::of(plan.settings);
    if parameters.aging > 0.0 {
        return Err(Unfit {
            key: "scheme.pdq.aging".to_owned(),
            problem: "the flow engine does not support `aging`: a flow would lose its age as soon as it \
                      sends, and would be paused again"
                .to_owned(),
            hint: "leave `aging` out, or choose kind = \"packet\" in [engine]".to_owned(),
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

/// Bytes of a packet in addition to the payload.
#[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
fn header(parameters: &Parameters) -> u32 {
    Packet::LEN as u32 + parameters.h_sched
}

/// Greatest number of links that a path may have.
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
