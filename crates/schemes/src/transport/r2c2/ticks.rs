//! The times of a node's rate computations: once per interval rho, with a random phase per node unless all nodes are
//! synchronous (R2C2 §3.3.1). If rho is zero, events schedule the computations.

use super::Params;
use raddle_core::{Duration, NodeId, Stream, Time};

/// The ticks of one node: the times at which the node computes rates and ends demand periods. In R2C2, ticks run while
/// the node has flows whose rates it must compute. Endless ticks always run, unless rho is zero.
#[derive(Debug)]
pub(crate) struct Ticks {
    rho: Duration,
    phase: Duration,
    /// True if ticks continue while the node has nothing to compute.
    are_endless: bool,
    next: Time,
}

impl Ticks {
    /// The ticks of node `id` in a run with this seed. The ticks are stopped, unless they are endless.
    pub(crate) fn new(params: &Params, id: NodeId, seed: u64) -> Self {
        let rho = params.rho.as_ps();
        let phase = if params.synchronous || rho == 0 {
            0
        } else {
            Stream::new(seed, id.0.into(), "r2c2/phase").below(rho)
        };
        let mut ticks = Self {
            rho: params.rho,
            phase: Duration::from_ps(phase),
            are_endless: params.computes_idle,
            next: Time::NEVER,
        };
        if ticks.are_endless {
            ticks.start(Time::ZERO);
        }
        ticks
    }

    /// Starts the ticks, unless rho is zero.
    pub(crate) fn start(&mut self, now: Time) {
        if self.next == Time::NEVER && self.rho > Duration::ZERO {
            self.next = self.after(now);
        }
    }

    /// Stops the ticks until the next start, unless they are endless.
    pub(crate) fn stop(&mut self) {
        if !self.are_endless {
            self.next = Time::NEVER;
        }
    }

    /// Schedules a tick at `now`, even if rho is zero or the ticks are stopped.
    pub(crate) fn at_once(&mut self, now: Time) {
        self.next = now;
    }

    /// Time of the next tick; [`Time::NEVER`] if no tick is scheduled.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// If a tick is due, returns true and, unless rho is zero, schedules the next tick.
    pub(crate) fn take(&mut self, now: Time) -> bool {
        let is_due = self.next <= now;
        if is_due {
            self.next = if self.rho == Duration::ZERO { Time::NEVER } else { self.after(now) };
        }
        is_due
    }

    /// Time of the latest tick at or before `now`, whether or not the node's ticks ran at that time. The result is `now`
    /// if rho is zero, and time zero if `now` is before the first tick.
    pub(crate) fn latest(&self, now: Time) -> Time {
        if self.rho == Duration::ZERO {
            return now;
        }
        Time::from_ps(self.after(now).as_ps().saturating_sub(self.rho.as_ps()))
    }

    fn after(&self, now: Time) -> Time {
        let phase = Time::ZERO + self.phase;
        let ticks = now.since(phase).as_ps() / self.rho.as_ps() + u64::from(now >= phase);
        phase + self.rho * ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn ticks_come_every_rho_while_wanted() {
        let params = Params { synchronous: true, ..Params::default() };
        let mut ticks = Ticks::new(&params, NodeId(3), 1);
        assert!(!ticks.take(at(10_000)), "the ticks are stopped");
        ticks.start(at(600));
        assert_eq!(ticks.next(), at(1_000));
        ticks.start(at(999));
        assert!(!ticks.take(at(999)) && ticks.take(at(1_000)) && !ticks.take(at(1_000)));
        assert_eq!(ticks.next(), at(1_500));
        ticks.stop();
        assert_eq!(ticks.next(), Time::NEVER);
    }

    #[test]
    fn ticks_of_a_node_that_computes_idle_never_end() {
        let params = Params { synchronous: true, computes_idle: true, ..Params::default() };
        let mut ticks = Ticks::new(&params, NodeId(3), 1);
        assert_eq!(ticks.next(), at(500));
        assert!(ticks.take(at(500)));
        ticks.stop();
        assert_eq!(ticks.next(), at(1_000));
    }

    #[test]
    fn nodes_have_phases_of_their_own_unless_all_tick_at_once() {
        let first = |id| {
            let mut ticks = Ticks::new(&Params::default(), NodeId(id), 1);
            ticks.start(Time::ZERO);
            ticks.next()
        };
        assert!(first(0) < at(500) && first(0) != first(1));
    }

    #[test]
    fn without_an_interval_there_are_ticks_on_demand_only() {
        let mut ticks = Ticks::new(&Params { rho: Duration::ZERO, ..Params::default() }, NodeId(0), 1);
        ticks.start(at(1));
        assert_eq!(ticks.next(), Time::NEVER);
        ticks.at_once(at(2));
        assert!(ticks.take(at(2)) && !ticks.take(at(3)));
    }
}
