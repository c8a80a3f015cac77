//! The time that packets need to cross an empty fabric. A fluid model leaves this time out.

use raddle_core::{Bytes, Duration, LinkId};
use raddle_records::Framing;
use raddle_topology::Topology;

/// The times that packets of one flow need to cross an empty fabric, as means over the flow's split: each link counts
/// with the mean number of times that a packet crosses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// Time from the moment at which the fluid's last bit has passed the bottleneck until the delivery of that bit.
    /// This is the propagation delay of all links, plus the serialization delay on all links except the bottleneck. The
    /// serialization delay is that of a full packet or of the whole flow, whichever is smaller. If the lookahead is
    /// smaller still, the serialization delay is that of the lookahead. For a flow that is alone on one path, the
    /// fluid's sending time plus this time equals the time of a packet-by-packet calculation if the path's first link
    /// is its slowest link, or if all links have the same rate.
    pub last: Duration,
    /// Time for a packet without payload from the sender to the receiver, and for another such packet back
    /// to the sender.
    pub round_trip: Duration,
    /// Time for a packet without payload from the receiver back to the sender.
    pub back: Duration,
}

impl Crossing {
    /// Computes the times of a flow of `size` bytes. `row` has the links that the flow's packets cross, each with the
    /// mean number of times that a packet crosses the link. A node forwards a packet after its first `lookahead` bytes,
    /// or after the whole packet if `lookahead` is `None`.
    ///
    /// # Panics
    /// If `row` contains a link id that has no link.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
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
        // The greatest expected serialization delay of a link (the fluid's bottleneck), and the greatest share of the
        // packets on one link.
        let (mut bottleneck, mut most) = (0.0_f64, 0.0_f64);
        let (mut out, mut back) = (0.0, 0.0);
        for &(id, share) in row {
            let link_of = |id| topology.link(id).expect("a flow must cross only existing links");
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
