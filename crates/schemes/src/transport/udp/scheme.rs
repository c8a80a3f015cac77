//! UDP's entry in the registry.

use super::UdpHost;
use crate::parameters;
use crate::scheme::{Hosts, Info, Make, Plan, Streams, Transport, Unfit, View, check_addresses};
use raddle_core::{Bytes, Rate};
use raddle_wire::udp::Datagram;

/// The transport UDP.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "udp",
        summary: "UDP: each flow is sent once, at a constant rate or as fast as the host's ports allow, and never \
                  finishes if a packet is lost",
        source: "RFC 768",
        differs: &[
            "a header of 16 bytes after the UDP header states which bytes of the flow a packet carries",
        ],
        view: View::Local,
        parameters: &Params::LIST,
    },
    make: Make::Hosts(build),
    fluid: None,
    streams: Streams::Carried,
};

parameters! {
    /// UDP's parameters.
    pub(crate) struct Params {
        /// payload bytes of a full packet
        payload: u16 = Bytes(1_456), 1..=8_956;
        /// payload rate of flows whose application sets no rate; 0 sends as fast as the host's ports allow
        rate: Option<Rate> = Rate::ZERO;
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
fn build(plan: &Plan<'_>) -> Result<Hosts, Unfit> {
    check_addresses(plan.topology, "UDP")?;
    let (params, streams) = (Params::of(plan.settings), plan.streams);
    Ok(Hosts {
        host: Box::new(move |id| Box::new(UdpHost::new(id, params).with_streams(streams))),
        header_bytes: Datagram::LEN as u32,
        mtu: params.payload.into(),
        handshake: false,
        hear_of_departures: false,
    })
}
