//! RCP's entry in the registry.

use super::{Controller, Rcp, RcpPort};
use crate::fluid::{Sharing, max_min};
use crate::parameters;
use crate::routing::pinned;
use crate::scheme::{Built, Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::transport::adapted_capacity::{self, Gains};
use crate::transport::explicit::scheme::{self, Form, INITIAL_RTO, MIN_RTO, MSS, parts};
use raddle_core::{Duration, PortAgent};
use raddle_topology::Link;
use raddle_wire::rcp::Packet;

/// The transport RCP.
pub const TRANSPORT: Transport = Transport {
    info: Info {
        name: "rcp",
        summary: "RCP with exact flow counts, as in the PDQ paper: switches assign rates that are close to \
                  max-min fair",
        source: "Dukkipati, Rate Control Protocol, 2008; Hong, Caesar, Godfrey: PDQ, SIGCOMM 2012, §5.1; specifications/pdq.md §7",
        differs: &[
            adapted_capacity::LEAST_BACKLOG,
            adapted_capacity::PACE,
            "the arrival rate is measured from packet to packet, because the number of packets per fixed \
             interval varies too much; the update timer stops while the link is idle",
            "egress ports also lower the rates in acknowledgements; otherwise the flows of a burst of SYNs would begin \
             at rates of C, C/2, C/3, ...",
            "all headers together have 40 bytes, as in TCP",
        ],
        view: View::Local,
        parameters: &Parameters::LIST,
    },
    make: Make::Whole { routings: pinned::ROUTINGS, build },
    fluid: Some(fluid),
    streams: Streams::NOT_BUILT,
};

parameters! {
    struct Parameters {
        mss: u16 = MSS;
        /// fraction of a link's spare rate that is added per round trip to the capacity that its flows share
        alpha: f64 = 0.1;
        /// fraction of a link's standing queue that should drain per round trip
        beta: f64 = 1.0;
        /// egress ports of switches and hosts also lower the rates in acknowledgements
        restamp: bool = true;
        /// initial value of each link's average round-trip time, before flows report measured round-trip times
        initial_rtt: Duration = Duration::from_us(200), Duration::from_us(1)..=Duration::from_ms(1_000);
        initial_rto: Duration = INITIAL_RTO;
        min_rto: Duration = MIN_RTO;
        paths: u32 = pinned::PATHS;
    }
}

/// The fluid model of RCP: flows get their max-min shares without delay (specifications/pdq.md §11).
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    scheme::fluid(plan, max_min(plan.topology, 0.0), Parameters::of(plan.settings).paths, MOST_LINKS, |_| 1)
}

/// Greatest number of links that a path may have, as in PDQ. RCP's header could count up to 15 links.
const MOST_LINKS: usize = 12;

#[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
fn build(plan: &Plan<'_>) -> Result<Built, Unfit> {
    let Parameters { mss, alpha, beta, restamp, initial_rtt, initial_rto, min_rto, paths } =
        Parameters::of(plan.settings);
    let gains = Gains { spare: alpha, queue: beta };
    let (header, most_links) = (Packet::LEN as u32, MOST_LINKS);
    let form = Form { name: "RCP", subflows: 1, header, most_links, mss, initial_rto, min_rto, paths };
    let port = move |_, link: &Link| -> Box<dyn PortAgent> {
        Box::new(RcpPort::new(Controller::new(link.rate, gains, initial_rtt), restamp))
    };
    parts(plan, form, || Rcp, port)
}
