//! UDP's entry in the registry.

use super::{Params, UdpHost};
use crate::parameter::{Parameter, Value};
use crate::scheme::{Hosts, Info, Make, Plan, Streams, Transport, Unfit, View, check_addresses};
use raddle_core::Rate;
use raddle_wire::udp::Datagram;

/// UDP at a constant rate.
pub const TRANSPORT: Transport = Transport {
    info: Info {
        name: "udp",
        summary: "UDP: each flow is sent once at a constant rate, and never finishes if a packet is lost",
        source: "RFC 768",
        differs: &["a header of 16 bytes behind UDP's says which bytes of the flow a packet carries"],
        view: View::Local,
        parameters: &[
            Parameter::new("payload", Value::Bytes(1_456), "payload bytes of a full packet")
                .within(1.0, 8_956.0),
            Parameter::new(
                "rate",
                Value::Rate(Rate::ZERO),
                "rate of flows whose application has none, in payload; 0 is as fast as the host's ports take them",
            ),
        ],
    },
    make: Make::Hosts(build),
    fluid: None,
    streams: Streams::Carried,
};

fn build(plan: &Plan<'_>) -> Result<Hosts, Unfit> {
    check_addresses(plan.topology, "UDP")?;
    let payload = u16::try_from(plan.settings.count("payload")).expect("the parameter's range");
    let rate = Some(plan.settings.rate("rate")).filter(|&rate| rate > Rate::ZERO);
    let params = Params { payload, rate, streams: plan.streams };
    Ok(Hosts {
        host: Box::new(move |id| Box::new(UdpHost::new(id, params))),
        header_bytes: Datagram::LEN as u32,
        mtu: payload.into(),
        handshake: false,
        hear_of_departures: false,
    })
}
