//! RCP's entry in the registry.

use super::{Controller, Rcp, RcpPort};
use crate::fluid::{Sharing, max_min};
use crate::parameter::{Parameter, Value};
use crate::routing::pinned;
use crate::scheme::{Built, Info, Make, Plan, Transport, Unfit, View};
use crate::transport::adapted_capacity::Gains;
use crate::transport::explicit::scheme::{self, Form, INITIAL_RTO, MIN_RTO, MSS, parts};
use raddle_core::{Duration, PortAgent};
use raddle_topology::Link;
use raddle_wire::rcp::Packet;

/// RCP.
pub const TRANSPORT: Transport = Transport {
    info: Info {
        name: "rcp",
        summary: "RCP with exact counts of flows, as PDQ was compared with: near max-min fair rates from the switches",
        source: "Dukkipati, Rate Control Protocol, 2008; Hong, Caesar, Godfrey: PDQ, SIGCOMM 2012, §5.1; specs/pdq.md §7",
        differs: &[
            "a link's capacity adapts to the least backlog of a round trip rather than to that of an instant",
            "an interval of that is at least as long as a packet of each flow takes, or else bursts pass for standing queues",
            "what arrives in an interval is measured from packet to packet, or else whole packets make it uneven; the timer of \
             the intervals stops at an idle link",
            "acknowledgements are stamped as well, so that a burst of SYNs does not get C, C/2, C/3, ...",
            "all headers together take 40 bytes, as those of TCP do",
        ],
        view: View::Local,
        parameters: &[
            MSS,
            Parameter::new(
                "alpha",
                Value::Fraction(0.1),
                "share of a link's spare rate that is handed out more in a round trip",
            ),
            Parameter::new(
                "beta",
                Value::Fraction(1.0),
                "share of a link's standing queue that is to drain in a round trip",
            ),
            Parameter::new("restamp", Value::Flag(true), "lower the rates in acknowledgements as well"),
            Parameter::new(
                "initial_rtt",
                Value::Duration(Duration::from_us(200)),
                "round trip that links reckon with until flows have measured theirs",
            )
            .within(1e6, 1e12),
            INITIAL_RTO,
            MIN_RTO,
            pinned::PATHS,
        ],
    },
    make: Make::Whole { routings: pinned::ROUTINGS, build },
    fluid: Some(fluid),
};

/// RCP as a fluid: max-min fair shares at once (specs/pdq.md §11).
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    scheme::fluid(plan, max_min(plan.topology, 0.0), MOST_LINKS, |_| 1)
}

/// Links of the longest path: the header counts up to 15.
const MOST_LINKS: usize = 12;

fn build(plan: &Plan<'_>) -> Result<Built, Unfit> {
    let settings = plan.settings;
    let gains = Gains { spare: settings.fraction("alpha"), queue: settings.fraction("beta") };
    let (restamp, rtt) = (settings.flag("restamp"), settings.duration("initial_rtt"));
    let form = Form { name: "RCP", subflows: 1, header: Packet::LEN as u32, most_links: MOST_LINKS };
    let port = move |_, link: &Link| -> Box<dyn PortAgent> {
        Box::new(RcpPort::new(Controller::new(link.rate, gains, rtt), restamp))
    };
    parts(plan, form, || Rcp, port)
}
