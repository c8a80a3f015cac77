//! The time that packets take to cross an empty fabric, which a fluid model leaves out.

use raddle_core::{Bytes, Duration, LinkId};
use raddle_records::Framing;
use raddle_topology::Topology;

/// What packets of one flow take to cross an empty fabric, weighed by the links that its split makes probable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// From the moment at which the last bit has passed the bottleneck, as a fluid, to its delivery: propagation on all links
    /// and the serialisation of a full packet, or of the flow if it is smaller, on all links but the bottleneck. A flow alone on
    /// one path so takes what it takes packet by packet, if its slowest link is the first or all are as fast.
    pub last: Duration,
    /// A packet without payload, from the sender to the receiver and another back.
    pub round_trip: Duration,
    /// A packet without payload, back.
    pub back: Duration,
}

impl Crossing {
    /// Of a flow of `size` bytes whose packets cross each link of `row` that often. Nodes pass on a packet when they have its
    /// first `lookahead` bytes, or all of it.
    ///
    /// # Panics
    /// If a port of the row has no link.
    #[must_use]
    pub fn new(
        topology: &Topology,
        framing: Framing,
        lookahead: Option<Bytes>,
        size: Bytes,
        row: &[(LinkId, f32)],
    ) -> Self {
        let (_, full, last) = framing.packets(size);
        let first = if size.0 > u64::from(framing.payload) { full } else { last };
        let head =
            |packet: Bytes| lookahead.map_or(packet, |lookahead| packet.min(framing.on_wire(lookahead.0)));
        let (data, control) = (head(first), framing.on_wire(framing.header.into()));
        let (mut there, mut propagation) = (0.0, 0.0);
        // The link that is the bottleneck of the fluid takes so much of a packet; so many lanes share the packets.
        let (mut bottleneck, mut most) = (0.0_f64, 0.0_f64);
        let (mut out, mut back) = (0.0, 0.0);
        for &(id, share) in row {
            let link_of = |id| topology.link(id).expect("flows cross links that are there");
            let (link, reverse) = (link_of(id), link_of(topology.reverse(id)));
            let share = f64::from(share);
            let head = link.rate.time_for(data);
            bottleneck = bottleneck.max(share * head.as_ps() as f64);
            most = most.max(share);
            there += share * (link.delay + head).as_ps() as f64;
            propagation += share * link.delay.as_ps() as f64;
            out += share * (link.delay + link.rate.time_for(control)).as_ps() as f64;
            back += share * (reverse.delay + reverse.rate.time_for(control)).as_ps() as f64;
        }
        let ps = |ps: f64| Duration::from_ps(ps.round() as u64);
        let last = (there - bottleneck / most.max(f64::MIN_POSITIVE)).max(propagation);
        Self { last: ps(last), round_trip: ps(out + back), back: ps(back) }
    }
}
