//! The capacity that probes of paused flows take from links.

use super::{Link, Member};
use raddle_core::Duration;

/// The rate at which a paused flow probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Probing {
    /// Paused flows do not probe, or their probes take no capacity.
    Free,
    /// A paused flow sends one probe per round trip.
    EveryRtt,
    /// A paused flow that is the i-th flow in the order of a link's flows sends one probe every max(1, i/5) round trips
    /// (Suppressed Probing). Sending flows count as the first flows of this order.
    Suppressed,
}

/// The i-th flow in the order of a link's flows probes every max(1, i / 5) round trips.
const PLACES_A_RTT: f64 = 5.0;

/// Probes take at most this share of a link. The reason is that a flow sends its next probe only after the answer to
/// its previous probe. On slow links with short round trips, this wait keeps probes from displacing all data.
const MOST: f64 = 0.5;

/// Counts the probes on links.
#[derive(Debug, Clone)]
pub(super) struct Probes {
    probing: Probing,
    probe_bits: f64,
    /// Entry i: probes per round trip of the i most critical flows on a link, if all of them were paused.
    sums: Vec<f64>,
    /// Links whose probes or capacity changed, each listed once. After [`recount`](Self::recount), only links whose
    /// share for data changed.
    touched: Vec<u32>,
}

/// The probes on a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probed {
    /// Share of the link's capacity that is left for data.
    pub(super) kept: f64,
    /// Number of flows on the link.
    flows: u32,
    /// Number of paused flows on the link.
    paused: u32,
    /// Probes per second of all paused flows together, if each of them probed once per round trip.
    per_s: u64,
    touched: bool,
}

impl Default for Probed {
    fn default() -> Self {
        Self { kept: 1.0, flows: 0, paused: 0, per_s: 0, touched: false }
    }
}

impl Probes {
    pub(super) fn new(probing: Probing, probe_bits: f64) -> Self {
        Self { probing, probe_bits, sums: vec![0.0], touched: Vec::new() }
    }

    /// Returns the probes per second of a paused flow that sends one probe per round trip of `rtt`; 0 for
    /// [`Probing::Free`].
    pub(super) fn per_second(&self, rtt: Duration) -> u64 {
        const PS_PER_S: u64 = 1_000_000_000_000;
        if self.probing == Probing::Free { 0 } else { PS_PER_S / rtt.as_ps().max(1) }
    }

    /// Adds a flow to its links.
    pub(super) fn come(&mut self, links: &mut [Link], row: &[(u32, f32)]) {
        self.each(links, row, |probed| probed.flows += 1);
    }

    /// Removes a flow from its links.
    pub(super) fn go(&mut self, links: &mut [Link], flow: &mut Member, row: &[(u32, f32)]) {
        self.pause(links, flow, row, false);
        self.each(links, row, |probed| probed.flows -= 1);
    }

    /// Marks a flow as paused, or as no longer paused.
    pub(super) fn pause(&mut self, links: &mut [Link], flow: &mut Member, row: &[(u32, f32)], paused: bool) {
        if std::mem::replace(&mut flow.probes, paused) == paused {
            return;
        }
        let per_s = flow.probes_per_s;
        self.each(links, row, |probed| {
            if paused {
                probed.paused += 1;
                probed.per_s += per_s;
            } else {
                probed.paused -= 1;
                probed.per_s -= per_s;
            }
        });
    }

    /// Marks a link so that [`recount`](Self::recount) computes its share for data again.
    pub(super) fn touch(&mut self, links: &mut [Link], link: u32) {
        self.each(links, &[(link, 1.0)], |_| {});
    }

    fn each(&mut self, links: &mut [Link], row: &[(u32, f32)], change: impl Fn(&mut Probed)) {
        if self.probing == Probing::Free {
            return;
        }
        for &(link, _) in row {
            let probed = &mut links[link as usize].probed;
            change(probed);
            if !std::mem::replace(&mut probed.touched, true) {
                self.touched.push(link);
            }
        }
    }

    /// Recomputes the share of capacity that is left for data on each link in `touched`. Afterwards `touched` contains
    /// only the links on which this share has changed.
    pub(super) fn recount(&mut self, links: &mut [Link]) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|&link| {
            let capacity_bps = links[link as usize].capacity_bps;
            let probed = &mut links[link as usize].probed;
            probed.touched = false;
            let kept = 1.0 - (self.bps(probed) / capacity_bps).min(MOST);
            std::mem::replace(&mut probed.kept, kept).to_bits() != kept.to_bits()
        });
        self.touched = touched;
    }

    /// Removes and returns a link whose share for data was changed by the latest call of [`recount`](Self::recount);
    /// `None` if there is no such link left.
    pub(super) fn pop_changed(&mut self) -> Option<u32> {
        self.touched.pop()
    }

    /// Returns the capacity that probes on a link would take without the limit [`MOST`], in bit/s.
    fn bps(&mut self, probed: &Probed) -> f64 {
        if probed.paused == 0 {
            return 0.0;
        }
        let every_rtt = probed.per_s as f64 * self.probe_bits;
        match self.probing {
            Probing::Free => 0.0,
            Probing::EveryRtt => every_rtt,
            Probing::Suppressed => {
                let last = probed.flows as usize;
                while self.sums.len() <= last {
                    let place = self.sums.len();
                    let sum = self.sums[place - 1] + 1.0 / (place as f64 / PLACES_A_RTT).max(1.0);
                    self.sums.push(sum);
                }
                let senders = last - probed.paused as usize;
                every_rtt * (self.sums[last] - self.sums[senders]) / f64::from(probed.paused)
            }
        }
    }
}
