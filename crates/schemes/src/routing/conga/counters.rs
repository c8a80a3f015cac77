//! Counts of CONGA's choices of uplinks, summed over all leaves of a run.

use crate::counter::Counter;

/// Counts of the choices of uplinks. A leaf chooses an uplink at the first packet of each flowlet to another leaf.
#[derive(Debug, Default)]
pub struct Counters {
    /// Choices.
    pub choices: Counter,
    /// Choices at packets of a flow's sender: SYNs, and packets with application bytes. The other choices are at
    /// packets of a flow's receiver.
    pub of_senders: Counter,
    /// Uplinks among which leaves chose, summed over all choices.
    pub uplinks: Counter,
    /// Those of `uplinks` about which the destination leaf has told the source leaf within the time constant of the load
    /// estimate.
    pub recent: Counter,
    /// Choices at which this holds for all uplinks.
    pub all_recent: Counter,
}

impl Counters {
    /// Counts a choice among `uplinks` uplinks, of which `recent` have a recent metric.
    pub(super) fn chosen(&self, is_of_sender: bool, uplinks: usize, recent: usize) {
        self.choices.count();
        self.of_senders.add(is_of_sender.into());
        self.uplinks.add(uplinks as u64);
        self.recent.add(recent as u64);
        self.all_recent.add((recent == uplinks).into());
    }
}
