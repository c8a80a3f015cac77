//! D3's entry in the registry.

use super::controller::{Controller, Memory};
use super::{D3, D3Port};
use crate::fluid::{Sharing, capacities};
use crate::parameters;
use crate::routing::pinned;
use crate::scheme::{Built, Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::transport::adapted_capacity::Gains;
use crate::transport::explicit::scheme::{self, Form, INITIAL_RTO, MIN_RTO, MSS, parts};
use raddle_allocate::Reservation;
use raddle_core::{Duration, PortAgent};
use raddle_topology::Link;
use raddle_wire::d3::{Packet, Request};

/// D3.
pub const TRANSPORT: Transport = Transport {
    info: Info {
        name: "d3",
        summary: "D3: rates that meet deadlines, granted first come, first served, and a fair share of the rest",
        source: "Wilson, Ballani, Karagiannis, Rowstron: Better Never than Late, SIGCOMM 2011; specifications/pdq.md §6",
        differs: &[
            "a fair share is never negative, as in the comparison of PDQ (`clamp`)",
            "no grant exceeds what is left, also while flows have yet to return what they have too much",
            "routers remember what they granted to each flow, or else lost requests spoil their sums (`memory`)",
            "a link's capacity adapts to the least backlog of a round trip rather than to that of an instant",
            "an interval of that is at least as long as a packet of each flow takes, or else bursts pass for standing queues",
            "what arrives in an interval is measured from packet to packet, or else whole packets make it uneven; the timer of \
             the intervals stops at an idle link",
            "the base rate is one request a round trip, and counts as nothing in the sums",
            "quenching looks at every departure and acknowledgement, not at the answers to requests alone",
            "rates have 12 significant bits; all headers together take 40 bytes, as those of TCP do",
        ],
        view: View::Local,
        parameters: &Parameters::LIST,
    },
    make: Make::Whole { routings: pinned::ROUTINGS, build },
    fluid: Some(fluid),
    streams: Streams::NEEDS_SIZES,
};

parameters! {
    struct Parameters {
        mss: u16 = MSS;
        /// share of a link's spare rate that is handed out more in a round trip
        alpha: f64 = 0.1;
        /// share of a link's standing queue that is to drain in a round trip
        beta: f64 = 1.0;
        /// count what is left for each flow as nothing where all ask for more than there is, not as less
        clamp: bool = true;
        /// end flows that cannot meet their deadline any more
        quench: bool = true;
        /// whether routers know what each flow has, or believe what its requests say
        memory: Memory;
        /// round trip that links reckon with: requests do not tell theirs
        rtt: Duration = Duration::from_us(200), Duration::from_us(1)..=Duration::from_ms(1_000);
        initial_rto: Duration = INITIAL_RTO;
        min_rto: Duration = MIN_RTO;
        paths: u32 = pinned::PATHS;
    }
}

/// D3 as a fluid: in order of arrival, flows get the rates that meet their deadlines. All flows share the rest by
/// max-min fairness, at once (specifications/pdq.md §11).
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let policy = Reservation::new(&capacities(plan.topology, 0.0));
    scheme::fluid(plan, Box::new(policy), Parameters::of(plan.settings).paths, Request::ROUTERS, |_| 1)
}

#[expect(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
fn build(plan: &Plan<'_>) -> Result<Built, Unfit> {
    let Parameters { mss, alpha, beta, clamp, quench, memory, rtt, initial_rto, min_rto, paths } =
        Parameters::of(plan.settings);
    let gains = Gains { spare: alpha, queue: beta };
    let (header, most_links) = (Packet::LEN as u32, Request::ROUTERS);
    let form = Form { name: "D3", subflows: 1, header, most_links, mss, initial_rto, min_rto, paths };
    let port = move |_, link: &Link| -> Box<dyn PortAgent> {
        Box::new(D3Port::new(Controller::new(link.rate, gains, rtt, clamp, memory)))
    };
    parts(plan, form, move || D3 { quench }, port)
}
