//! Routes of a namespace, added by netlink (RFC 3549). The route to all other hosts also sets the congestion control
//! and the smallest retransmission timeout of the TCP connections that use the route.
//!
//! A default for the whole namespace would be simpler. But in a namespace other than the machine's own, Linux allows
//! only the congestion controls that the machine allows to all users.

use super::namespace::Interface;
use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::net::IpAddr;

/// The number of the route metric that holds the name of a congestion control (`linux/rtnetlink.h`).
const RTAX_CC_ALGO: u16 = 16;

/// Picoseconds per millisecond. The kernel counts retransmission timeouts of routes in milliseconds.
const PS_A_MS: u64 = 1_000_000_000;

/// The bit that locks the route metric with the smallest retransmission timeout (`linux/rtnetlink.h`). TCP ignores this
/// metric unless it is locked.
const RTO_MIN_LOCKED: u32 = 1 << 13;

/// Adds a route to the network with the first `prefix` bits of `address`. Packets to this network leave by the
/// interface with the index `number`, and IPv4 packets have the source `address` by default. TCP connections that use
/// the route have the congestion control and the smallest retransmission timeout of `interface`.
///
/// # Errors
/// The kernel's error. It is `EINVAL` if the kernel does not have the congestion control.
pub(super) fn add(address: IpAddr, prefix: u8, number: u32, interface: &Interface) -> io::Result<()> {
    let (family, network, source, scope) = match address {
        IpAddr::V4(address) => {
            let network = RouteAddress::Inet((address.to_bits() >> (32 - prefix) << (32 - prefix)).into());
            (AddressFamily::Inet, network, Some(RouteAddress::Inet(address)), RouteScope::Link)
        }
        // An IPv6 address cannot be the source of a route while the kernel still examines the address. No source is
        // needed, because the interface has no other address.
        IpAddr::V6(address) => {
            let network = RouteAddress::Inet6((address.to_bits() >> (128 - prefix) << (128 - prefix)).into());
            (AddressFamily::Inet6, network, None, RouteScope::Universe)
        }
    };
    let algorithm = [interface.congestion_control.as_bytes(), &[0]].concat();
    let mut metrics = vec![RouteMetric::Other(DefaultNla::new(RTAX_CC_ALGO, algorithm))];
    if let Some(rto_min) = interface.rto_min {
        let ms = u32::try_from(rto_min.as_ps() / PS_A_MS).unwrap_or(u32::MAX);
        metrics.extend([RouteMetric::RtoMin(ms), RouteMetric::Lock(RTO_MIN_LOCKED)]);
    }
    let mut route = RouteMessage::default();
    route.header = RouteHeader {
        address_family: family,
        destination_prefix_length: prefix,
        table: RouteHeader::RT_TABLE_MAIN,
        protocol: RouteProtocol::Static,
        scope,
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    route.attributes = vec![
        RouteAttribute::Destination(network),
        RouteAttribute::Oif(number),
        RouteAttribute::Metrics(metrics),
    ];
    route.attributes.extend(source.map(RouteAttribute::PrefSource));
    ask(RouteNetlinkMessage::NewRoute(route))
}

/// Sends the kernel a request to create an object, and waits for the answer.
fn ask(what: RouteNetlinkMessage) -> io::Result<()> {
    let mut request = NetlinkMessage::from(what);
    request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer).map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        NetlinkPayload::Error(_) => Ok(()),
        other => Err(io::Error::other(format!("the kernel has sent an unexpected answer: {other:?}"))),
    }
}
