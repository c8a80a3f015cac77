//! D3's entry in the registry.

use super::controller::{Controller, Memory};
use super::{D3, D3Port};
use crate::fluid::{Sharing, capacities};
use crate::parameters;
use crate::routing::pinned;
use crate::scheme::{Built, Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::transport::adapted_capacity::{self, Gains};
use crate::transport::explicit::scheme::{self, Form, INITIAL_RTO, MIN_RTO, MSS, parts};
use raddle_allocate::Reservation;
use raddle_core::{Duration, PortAgent};
use raddle_topology::Link;
use raddle_wire::d3::{Packet, Request};

/// The transport D3.
pub const TRANSPORT: Transport = Transport {
    info: Info {
        name: "d3",
        summary: "D3: switches grant flows the rates that meet their deadlines, first come, first served, \
                  and share the rest fairly",
        source: "Wilson, Ballani, Karagiannis, Rowstron: Better Never than Late, SIGCOMM 2011; specifications/pdq.md §6",
        differs: &[
            "a fair share is never negative, as in the PDQ paper, unless `clamp = false`",
            "a grant is at most the capacity less the grants of all other flows, even if other flows no \
             longer need their grants",
            "routers remember the rate that they granted to each flow (`memory`); otherwise lost requests \
             would make the routers' sums of granted rates wrong",
            adapted_capacity::LEAST_BACKLOG,
            adapted_capacity::PACE,
            "the arrival rate is measured from packet to packet, because the number of packets per fixed \
             interval varies too much; the update timer stops while the link is idle",
            "the base rate is one request per round trip, and is not included in the sums of granted rates",
            "senders check whether to end a late flow (`quench`) when any packet departs or any \
             acknowledgement arrives, not only when the answer to a rate request arrives",
            "rates in headers have 12 significant bits; all headers together have 40 bytes, as in TCP",
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
        /// fraction of a link's spare rate that is added to the capacity for grants per round trip
        alpha: f64 = 0.1;
        /// fraction of a link's standing queue that should drain per round trip
        beta: f64 = 1.0;
        /// if the desired rates of all flows together exceed a link's capacity, the fair share is 0 instead of negative
        clamp: bool = true;
        /// end flows that can no longer meet their deadline
        quench: bool = true;
        /// flows: routers remember the rate of each flow; sums: routers trust the previous rate that each request
        /// states
        memory: Memory;
        /// round-trip time that links assume, since requests do not carry it
        rtt: Duration = Duration::from_us(200), Duration::from_us(1)..=Duration::from_ms(1_000);
        initial_rto: Duration = INITIAL_RTO;
        min_rto: Duration = MIN_RTO;
        paths: u32 = pinned::PATHS;
    }
}

/// The fluid model of D3: in order of arrival, flows get the rates that meet their deadlines. All flows share the
/// remaining capacity max-min fairly. Rates change without delay (specifications/pdq.md §11).
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    let policy = Reservation::new(&capacities(plan.topology, 0.0));
    scheme::fluid(plan, Box::new(policy), Parameters::of(plan.settings).paths, Request::ROUTERS, |_| 1)
}

#[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
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
