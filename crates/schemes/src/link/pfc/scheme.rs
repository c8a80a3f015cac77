//! PFC's entry in the registry.

use super::Pfc;
use crate::link::addresses::Addresses;
use crate::parameter::{Parameter, Value};
use crate::parameters;
use crate::scheme::{FlowControl, FlowControls, Info, Plan, Unfit, View};
use raddle_core::{Bytes, Duration, Rate};
use raddle_topology::Link;
use raddle_wire::pfc::Pause;

/// The registry's entry for priority-based flow control.
pub const FLOW_CONTROL: FlowControl = FlowControl {
    info: Info {
        name: "pfc",
        summary: "Priority-based flow control: a port pauses its neighbour before the port's memory is full",
        source: "IEEE 802.1Qbb, IEEE 802.3 Annex 31D",
        differs: &[
            "a pause takes effect as soon as the pause frame arrives; the required headroom still covers the \
             standard's reaction time",
        ],
        view: View::Local,
        parameters: &Params::LIST,
    },
    build,
};

/// A threshold whose default is meant for links of 10 Gb/s (specifications/cee.md §0). If the fastest host link has a
/// higher rate, the default is larger in proportion, because more bytes are in flight.
const fn threshold(name: &'static str, bytes: u64, doc: &'static str) -> Parameter {
    Parameter::new(name, Value::Bytes(bytes), doc).within(0.0, 2e9).growing(Rate::from_gbps(10), None)
}

const XOFF: Parameter = threshold("xoff", 85_000, "buffered bytes above which the port pauses its neighbour");
const XON: Parameter = threshold(
    "xon",
    70_000,
    "buffered bytes at or below which the port lets its neighbour \
                                  resume",
);

/// The memory between `xoff` and this value is the headroom, which must be larger for a longer link. At 10 Gb/s, the
/// default headroom of 15 KB is enough for a propagation delay of 1 us and packets of 1,500 B.
const BUFFER: Parameter = Parameter::new(
    "buffer",
    Value::Bytes(100_000),
    "memory of a port for each lossless priority, headroom included",
)
.within(1.0, 2e9)
.growing(Rate::from_gbps(10), Some(Duration::from_us(1)));

parameters! {
    /// The parameters of a port's ingress memory and pauses (specifications/cee.md §0).
    pub(crate) struct Params {
        buffer: u32 = BUFFER;
        xoff: u32 = XOFF;
        xon: u32 = XON;
        /// lossless priorities as a bit mask: bit i is priority i
        priorities: u8 = 255, 1..=255;
        /// rate at which a host takes received packets out of its port's memory; with 0, the host takes packets at once
        drain_rate: Option<Rate> = Rate::ZERO;
    }
}

/// Bytes that may still arrive over `link` after the memory's occupancy has exceeded `xoff` (specifications/cee.md
/// §2.2). These bytes include a packet whose transmission has just begun when the pause takes effect, and a packet that
/// is charged to the memory before it has fully arrived. They also include all bytes that arrive during the following
/// times: the serialization of a packet in front of the pause on the link `back`, the serialization of the pause, the
/// propagation delays of both links, and the neighbour's reaction (60 units of 512 bit times, IEEE 802.3 Annex
/// 31B.3.7).
#[must_use]
pub fn headroom(link: &Link, back: &Link, packet_bytes: u32) -> u64 {
    let pause = Bytes(Pause::LEN as u64);
    let in_front = back.rate.time_for(Bytes(packet_bytes.into()));
    let reaction = link.line_rate.time_for(Bytes(60 * 64));
    let until_held = in_front + back.line_rate.time_for(pause) + back.delay + reaction + link.delay;
    2 * u64::from(packet_bytes) + link.rate.bytes_in(until_held).0
}

fn build(plan: &Plan<'_>, packet_bytes: u32) -> Result<FlowControls, Unfit> {
    let params = Params::of(plan.settings);
    let unfit = |key: &str, problem, hint| Unfit { key: format!("scheme.pfc.{key}"), problem, hint };
    if params.xon > params.xoff {
        let problem = format!("`xon` must be at most `xoff` (got {} B and {} B)", params.xon, params.xoff);
        return Err(unfit("xon", problem, "give a smaller `xon`, or a larger `xoff`".to_owned()));
    }
    let headroom = |(id, link)| {
        let back = plan.topology.link(plan.topology.reverse(id)).unwrap_or(link);
        (headroom(link, back, packet_bytes), link)
    };
    if let Some((needed, link)) = plan.topology.links().map(headroom).max_by_key(|of| of.0)
        && u64::from(params.buffer) < u64::from(params.xoff) + needed
    {
        let problem = format!(
            "`buffer` - `xoff` is {} B, but up to {needed} B may arrive over the link from {} to {} before a pause \
             takes effect",
            params.buffer.saturating_sub(params.xoff),
            link.from,
            link.to,
        );
        let hint =
            format!("give `buffer` at least {} B, or a smaller `xoff`", u64::from(params.xoff) + needed);
        return Err(unfit("xoff", problem, hint));
    }
    let (topology, addresses) = (plan.topology.clone(), Addresses::of(plan.topology)?);
    Ok(Box::new(move |id| {
        let link = topology.link(id)?;
        let mac = addresses.port(link.from, link.from_port);
        let port = Pfc::new(params, mac, link.line_rate);
        let drain_rate = params.drain_rate.filter(|_| topology.is_host(link.from));
        Some(Box::new(match drain_rate {
            Some(rate) => port.drained_at(rate),
            None => port,
        }))
    }))
}
