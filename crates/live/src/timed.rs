//! Measures the processor time of forwarders' decisions with the processor's time-stamp counter, as in Expeditus's
//! Table 1 (SoCC 2016, §4).
//!
//! [`time`] adds a stopwatch to a forwarder. The resulting forwarder replaces the original one in any runtime. After
//! each decision, the stopwatch also counts the packet in a rate estimator of its own. So the time that the estimator
//! takes is known, too. Each measured time includes one reading of the counter.

use raddle_core::{
    Credit, Dre, DreRegister, Duration, Forwarder, HoldKey, LinkId, Packet, PortId, Ports, Time, Verdict,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Processor times in ns, one value per packet.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// Time that the forwarder takes to decide on the packet.
    pub forward: Vec<f64>,
    /// Time that the rate estimator takes to count the packet.
    pub dre: Vec<f64>,
}

/// A forwarder, and the durations of its decisions so far.
struct Timed {
    forwarder: Box<dyn Forwarder>,
    clock: quanta::Clock,
    dre: Dre,
    register: DreRegister,
    times: Arc<Mutex<Times>>,
}

/// Adds a stopwatch to a forwarder. Returns the forwarder that replaces `forwarder`, and the measured times.
#[must_use]
pub fn time(forwarder: Box<dyn Forwarder>) -> (Box<dyn Forwarder>, Arc<Mutex<Times>>) {
    let times = Arc::<Mutex<Times>>::default();
    // As in Expeditus's testbed, the estimator decays every millisecond, and gives the load in three bits.
    let dre = Dre::new(Duration::from_ms(1), 0.1, 3);
    let (clock, register) = (quanta::Clock::new(), DreRegister::default());
    (Box::new(Timed { forwarder, clock, dre, register, times: Arc::clone(&times) }), times)
}

impl Forwarder for Timed {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let begin = self.clock.raw();
        let verdict = self.forwarder.forward(now, packet, arrival, ports);
        let between = self.clock.raw();
        self.dre.count(&mut self.register, now, packet.size);
        let end = self.clock.raw();
        let ns = |from, to| self.clock.delta_as_nanos(from, to) as f64;
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.forward.push(ns(begin, between));
        times.dre.push(ns(between, end));
        verdict
    }

    fn originate(&mut self) -> Option<(Packet, PortId)> {
        self.forwarder.originate()
    }

    fn next_tick(&self) -> Time {
        self.forwarder.next_tick()
    }

    fn tick(&mut self, now: Time, ports: &Ports<'_>) {
        self.forwarder.tick(now, ports);
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        self.forwarder.foresee(packet)
    }

    fn hears_of_departures(&self) -> bool {
        self.forwarder.hears_of_departures()
    }

    fn departed(&mut self, now: Time, packet: &Packet, arrival: PortId) -> Option<Credit> {
        self.forwarder.departed(now, packet, arrival)
    }

    fn credited(&mut self, now: Time, port: PortId, credit: &Credit, freed: &mut Vec<HoldKey>) {
        self.forwarder.credited(now, port, credit, freed);
    }

    fn next_credit(&mut self) -> Option<(PortId, Credit)> {
        self.forwarder.next_credit()
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.forwarder.link(link, up);
    }
}
