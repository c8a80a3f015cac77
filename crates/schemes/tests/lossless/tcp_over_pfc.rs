//! TCP over lossless links: packets wait instead of being dropped, and there are no retransmissions.

use crate::converged::{Converged, DELAY, RATE};
use raddle_core::Time;
use raddle_packet_sim::Reached;
use raddle_testkit::{flow, us};
use raddle_topology::builders;

#[test]
fn tcp_loses_nothing_over_lossless_links() {
    for (transport, points) in [("tcp-newreno", None), ("tcp-cubic", None), ("dctcp", Some("red"))] {
        let topology = builders::folded_clos(2, 8, 2, RATE, RATE, DELAY).expect("a folded Clos");
        let flows = (0..8).map(|n| flow(n, n, 8, 20_000_000, us(0))).collect();
        let mut fabric = Converged::new(topology, transport, points, flows);
        assert_eq!(fabric.run(Time::NEVER), Reached::End, "{transport}");
        fabric.assert_lossless();
        assert_eq!(fabric.simulation.observer().delivered.len(), 8, "{transport}");
        assert_eq!(fabric.simulation.observer().retransmissions, 0, "{transport}");
        // Without losses and ECN marks, windows grow until ports must send pauses. With ECN marks, windows stay so
        // small that no port sends a pause.
        assert_eq!(fabric.pauses() > 0, points.is_none(), "{transport}: {}", fabric.pauses());
    }
}
