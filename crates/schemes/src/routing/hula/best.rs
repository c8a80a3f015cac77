//! A switch's table of next hops: for each edge switch (ToR), the best next hop reported by probes (HULA §3.3).

use raddle_core::{Duration, PortId, Time};

/// The best known next hop to each ToR.
#[derive(Debug)]
pub(super) struct BestHops {
    ageing: Duration,
    by_tor: Box<[Option<Hop>]>,
}

/// A next hop.
#[derive(Debug, Clone, Copy)]
struct Hop {
    port: PortId,
    /// Utilisation of the busiest link on the path through this next hop, in 255ths of the link's rate.
    utilisation: u8,
    /// Time of the last probe that reported this next hop.
    heard: Time,
}

impl BestHops {
    /// A table for `tors` ToRs.
    pub(super) fn new(tors: usize, ageing: Duration) -> Self {
        Self { ageing, by_tor: vec![None; tors].into() }
    }

    /// Handles a probe that a ToR has sent and that arrived at `port`. The probe reports the utilisation of the path to
    /// the ToR through this port. Returns the utilisation of the path through the best port.
    ///
    /// After a probe at the best port, this port is still the best, even if the last probe at another port reported a
    /// smaller utilisation. The next probes at the other ports correct the choice.
    pub(super) fn probed(&mut self, now: Time, tor: usize, port: PortId, utilisation: u8) -> u8 {
        let hop = &mut self.by_tor[tor];
        let stays = hop.is_some_and(|best| {
            best.port != port && best.utilisation <= utilisation && now.since(best.heard) < self.ageing
        });
        if !stays {
            *hop = Some(Hop { port, utilisation, heard: now });
        }
        hop.map_or(utilisation, |best| best.utilisation)
    }

    /// The port of the best next hop to a ToR; `None` if no next hop is known, or if the last probe at this port is at
    /// least `ageing` old.
    #[inline]
    pub(super) fn port(&self, now: Time, tor: usize) -> Option<PortId> {
        self.by_tor[tor].filter(|best| now.since(best.heard) < self.ageing).map(|best| best.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Columns: the time in us, the port and the utilisation of a probe, then the best port and its utilisation.
    /// Utilisations are in 255ths.
    #[test]
    fn oracle_6_5_best_hops() {
        let mut best = BestHops::new(2, Duration::from_us(600));
        for ((at, port, utilisation), expected) in [
            ((0, 3, 100), (3, 100)),
            ((1, 4, 100), (3, 100)), // not better than port 3
            ((2, 5, 40), (5, 40)),
            ((3, 3, 60), (5, 40)),
            ((4, 5, 90), (5, 90)), // a probe at the best port reports a worse value, but the port stays the best
            ((5, 3, 60), (3, 60)),
            ((604, 4, 200), (3, 60)),
            ((605, 4, 200), (4, 200)), // no probe has reported the best port for 600 us
        ] {
            assert_eq!(best.probed(us(at), 1, PortId(port), utilisation), expected.1, "{at}");
            assert_eq!(best.port(us(at), 1), Some(PortId(expected.0)), "{at}");
        }
        assert_eq!([1_204, 1_205].map(|at| best.port(us(at), 1)), [Some(PortId(4)), None]);
        assert_eq!(best.port(us(0), 0), None);
    }
}
