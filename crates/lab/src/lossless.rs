//! What flow control did to links, and what must never happen where it acts: a loss, or links that wait for each other in
//! a circle.

use crate::Error;
use raddle_core::{Duration, FlowControlAccount, LinkId, Time};
use raddle_packet_sim::LinkStats;
use raddle_records::{Drops, FlowControlRecord};
use raddle_topology::Topology;

/// Simulated time between two looks for links that wait for each other: much longer than any pause that ends takes.
pub(crate) const WATCHDOG: Duration = Duration::from_ms(10);

/// A row a link that has flow control, of a run that ended at `now`.
pub(crate) fn records(
    accounts: &[(LinkId, FlowControlAccount)],
    topology: &Topology,
    now: Time,
) -> Vec<FlowControlRecord> {
    let record = |&(id, account): &(LinkId, FlowControlAccount)| {
        let link = topology.link(id)?;
        let paused_ps = account.paused.as_ps();
        Some(FlowControlRecord {
            link: id.0,
            from: link.from.0,
            to: link.to.0,
            paused_ps,
            paused_share: paused_ps as f64 / now.as_ps().max(1) as f64,
            pauses_sent: account.pauses,
            peak_memory_bytes: account.peak_memory,
            overflows: account.overflows,
        })
    };
    accounts.iter().filter_map(record).collect()
}

/// Refuses a run with flow control in which a packet found no room: in a node's memory, or in a queue.
pub(crate) fn refuse_losses(
    controls: &[FlowControlRecord],
    links: &[LinkStats],
    drops: &Drops,
    topology: &Topology,
) -> Result<(), Error> {
    if let Some(FlowControlRecord { from, to, overflows, .. }) = controls.iter().find(|row| row.overflows > 0)
    {
        let what = format!(
            "not lossless: the memory of node {from} was full for {overflows} packets that came in from node {to}; \
             its limits leave too little headroom"
        );
        return Err(Error::Run(what));
    }
    if controls.is_empty() || drops.queue_full == 0 {
        return Ok(());
    }
    let losses = topology.links().map(|(id, link)| (link, links[id.index()].drops));
    let Some((link, _)) = losses.max_by_key(|&(_, drops)| drops) else { return Ok(()) };
    let what = format!(
        "not lossless: queues were full for {} packets, most of them of the link {}->{}",
        drops.queue_full, link.from, link.to
    );
    Err(Error::Run(what))
}

/// What to say of links each of which waits for the next.
pub(crate) fn deadlock(cycle: &[LinkId], topology: &Topology, now: Time) -> Error {
    let mut nodes: Vec<String> =
        cycle.iter().filter_map(|&link| Some(topology.link(link)?.from.to_string())).collect();
    nodes.extend(nodes.first().cloned());
    let at = now.as_ps() as f64 / 1e9;
    Error::Run(format!("links wait for each other in a circle at {at:.3} ms: {}", nodes.join("->")))
}
