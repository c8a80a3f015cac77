//! A flow alone in a fat-tree, including its handshake, takes exactly the time of the specification's formula plus the
//! waiting time of a shorter last packet, which the formula omits.

use crate::hosts::{Hosts, TCP, flow};
use raddle_core::{Bytes, Duration, NodeId, Rate, Time};
use raddle_packet_sim::Config;
use raddle_schemes::parameter::Value;
use raddle_topology::LinkLayer;
use raddle_topology::builders::{ClosRates, fat_tree};
use std::sync::Arc;

const DELAY: Duration = Duration::from_us(2);
const MSS: u64 = 1_460;

fn rate() -> Rate {
    Rate::from_gbps(10)
}

/// Bytes of a packet with this payload on an Ethernet link.
fn on_wire(payload: u64) -> u64 {
    (payload + 40 + 38).max(84)
}

/// Bytes that the flow's last packet takes on the link, and bytes of a full packet. If the flow has only one packet,
/// both values are the size of this packet.
fn ends(size: u64) -> (u64, u64) {
    let last = on_wire((size - 1) % MSS + 1);
    (last, if size > MSS { on_wire(MSS) } else { last })
}

/// The completion time by specifications/expeditus.md §11.6: `2·(6d + 6·0.0672) + 6d + wire_bytes·8/C + 5·ser(last)`.
/// Here d is the delay of a link in microseconds, and 0.0672 us is the time of 84 bytes. C is the link rate, and
/// ser(last) is the time of the last packet. SYN and SYN-ACK cross six links each. Then all packets leave back to back,
/// and five switches forward the last packet.
fn by_hand(size: u64) -> Duration {
    let small = rate().time_for(Bytes(84));
    let (last, full) = ends(size);
    let wire_bytes = (size - 1) / MSS * full + last;
    (DELAY * 6 + small * 6) * 2 + DELAY * 6 + rate().time_for(Bytes(wire_bytes + 5 * last))
}

/// A delay that the formula omits: at each switch a shorter last packet waits behind the full packet before it.
fn waiting(size: u64) -> Duration {
    let (last, full) = ends(size);
    rate().time_for(Bytes(5 * (full - last)))
}

#[test]
fn oracle_11_6_the_fct_between_pods_equals_the_calculation_by_hand() {
    let rates = ClosRates { host: rate(), uplink: rate(), core: rate() };
    let topology = fat_tree(4, rates, DELAY).expect("a fat-tree").with_link_layer(LinkLayer::ETHERNET);
    let topology = Arc::new(topology);
    // The specification's values, in tenths of a microsecond.
    for (size, expected) in [(1_460, 442), (10_000, 505), (100_000, 1_243), (1_000_000, 8_853)] {
        assert_eq!((by_hand(size).as_ps() + 50_000) / 100_000, expected, "{size} B");
        for transport in TCP {
            let settings = vec![("handshake", Value::Flag(true)), ("initial_window", Value::Count(1_000))];
            let hosts =
                Hosts { transport, settings, topology: Arc::clone(&topology), queue: None, mark: None };
            let flows = vec![flow(0, NodeId(0), NodeId(15), size, Duration::ZERO)];
            let simulation = hosts.run(flows, Config::default());
            let expected = Time::ZERO + by_hand(size) + waiting(size);
            assert_eq!(simulation.observer().0, [expected], "{transport}, {size} B");
        }
    }
}
