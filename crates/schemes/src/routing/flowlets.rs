//! The flowlet table. A flowlet is a burst of a flow. If the gap between two flowlets is long enough, they can take
//! different paths without reordering (Kandula et al., CCR 2007; CONGA §3.4).
//!
//! The table has a fixed number of slots, and the flow's hash selects the slot. A slot does not store its flow: two
//! flows with the same slot are treated as one flow, as in CONGA's switches.
//!
//! Cost per packet: access to one slot of 16 bytes.

use crate::choices;
use crate::parameter::{Field, Parameter, Value};
use crate::routing::flow_hash::pick;
use raddle_core::{Duration, PortId, Time};

/// The flowlet table of one node.
#[derive(Debug)]
pub(crate) struct Flowlets {
    /// For each slot: the time of the last packet in ps, plus 1, and the port that the packet took. An unused slot is
    /// all zeros, so that the operating system can supply the zeroed memory lazily.
    slots: Vec<[u64; 2]>,
    /// The flowlet gap T_fl, in ps.
    gap: u64,
    expiry: Expiry,
}

choices! {
    /// The rule that decides when a flowlet ends.
    pub(crate) enum Expiry {
        /// A clock with the period T_fl decides: the flowlet ends at the second tick after the flowlet's last packet.
        /// This is T_fl to 2 T_fl after the packet.
        AgeBit = "age_bit",
        /// The flowlet ends T_fl after its last packet.
        Exact = "exact",
    }
}

/// The parameter `expiry`.
pub(crate) const EXPIRY: Parameter = Parameter::choice(
    "expiry",
    Expiry::WORDS,
    "how long a flow must be idle until its flowlet ends: between t_fl and 2 t_fl (age_bit), or exactly t_fl \
     (exact)",
);

/// The parameter `flowlets`.
pub(crate) const SLOTS: Parameter =
    Parameter::new("flowlets", Value::Count(65_536), "number of slots of each switch's flowlet table")
        .within(1.0, 16_777_216.0);

/// The parameter `t_fl`.
pub(crate) const fn gap(default: Duration) -> Parameter {
    Parameter::new(
        "t_fl",
        Value::Duration(default),
        "idle time of a flow after which its next packet begins a new flowlet",
    )
    .within(1e3, 1e18)
}

impl Flowlets {
    /// A table of `slots` slots.
    pub(crate) fn new(slots: usize, gap: Duration, expiry: Expiry) -> Self {
        Self { slots: vec![[0; 2]; slots], gap: gap.as_ps(), expiry }
    }

    /// The port for a packet whose flow has this hash. As long as the flowlet lasts and its port is among `ports`, the
    /// packet takes the flowlet's port. Otherwise the packet takes the port that `choose` returns. The argument of
    /// `choose` is the slot's last port, or `None` if the slot is unused or `ports` does not contain this port.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a slot holds a 16-bit port number")]
    pub(crate) fn port(
        &mut self,
        now: Time,
        hash: u64,
        ports: &[PortId],
        choose: impl FnOnce(Option<PortId>) -> PortId,
    ) -> PortId {
        let place = pick(hash, self.slots.len());
        let [seen, before] = self.slots[place];
        let before = PortId(before as u16);
        let port = match seen.checked_sub(1).filter(|_| ports.contains(&before)) {
            Some(seen) if self.lasts(seen, now.as_ps()) => before,
            Some(_) => choose(Some(before)),
            None => choose(None),
        };
        self.slots[place] = [now.as_ps() + 1, port.0.into()];
        port
    }

    /// True if a flowlet whose last packet was at time `seen` has not ended at `now`.
    fn lasts(&self, seen: u64, now: u64) -> bool {
        match now - seen {
            idle if idle <= self.gap => true,
            idle if idle > 2 * self.gap => false,
            _ => self.expiry == Expiry::AgeBit && now / self.gap - seen / self.gap < 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: [PortId; 3] = [PortId(4), PortId(5), PortId(6)];

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn table(expiry: Expiry) -> Flowlets {
        Flowlets::new(1 << 10, Duration::from_us(100), expiry)
    }

    /// True if a packet at `second` begins a new flowlet after a packet at `first`.
    fn begins(expiry: Expiry, first: Time, second: Time) -> bool {
        let mut flowlets = table(expiry);
        flowlets.port(first, 7, &PORTS, |_| PortId(4));
        flowlets.port(second, 7, &PORTS, |_| PortId(5)) == PortId(5)
    }

    /// CONGA §3.4: the age bit detects a gap after T_fl to 2 T_fl. Columns: the times of two packets in us, and whether
    /// the age bit detects a gap between the packets.
    #[test]
    fn oracle_6_3_gaps() {
        for (first, second, by_age_bit) in [
            (0, 100, false),
            (0, 101, false),
            (0, 199, false),
            (0, 200, true),
            (99, 199, false),
            (99, 200, true),
        ] {
            assert_eq!(begins(Expiry::AgeBit, us(first), us(second)), by_age_bit, "{first} {second}");
            assert_eq!(
                begins(Expiry::Exact, us(first), us(second)),
                second - first > 100,
                "{first} {second}"
            );
        }
        assert!(begins(Expiry::AgeBit, us(150), us(351)) && begins(Expiry::Exact, us(0), us(1 << 30)));
    }

    #[test]
    fn every_packet_prolongs_its_flowlet() {
        let mut flowlets = table(Expiry::Exact);
        flowlets.port(us(0), 7, &PORTS, |_| PortId(6));
        for n in 1..20 {
            assert_eq!(flowlets.port(us(100 * n), 7, &PORTS, |_| panic!("no gap")), PortId(6));
        }
    }

    #[test]
    fn the_previous_port_is_returned_while_it_is_usable() {
        let mut flowlets = table(Expiry::Exact);
        let mut told = Vec::new();
        let mut port = |at, ports: &[PortId]| {
            flowlets.port(us(at), 7, ports, |before| {
                told.push(before);
                ports[0]
            })
        };
        assert_eq!([port(0, &PORTS[1..]), port(500, &PORTS), port(501, &PORTS[1..])].map(|p| p.0), [5, 4, 5]);
        assert_eq!(told, [None, Some(PortId(5)), None], "new, over, and cut short by a failure");
    }

    #[test]
    fn flows_have_slots_of_their_own() {
        let mut flowlets = table(Expiry::AgeBit);
        let hashes = [1_u64 << 60, 2 << 60, 3 << 60];
        for (hash, port) in hashes.into_iter().zip(PORTS) {
            flowlets.port(us(0), hash, &PORTS, |_| port);
        }
        assert_eq!(hashes.map(|hash| flowlets.port(us(1), hash, &PORTS, |_| panic!("no gap"))), PORTS);
    }
}
