//! The results of a rack. The host of a party adds up the counts of all processes. A guest knows only its own counts.

use super::Rack;
use super::fidelity::{Fidelity, Meter};
use super::party::{Ended, Lost};
use super::worker::Worker;
use raddle_core::{Application, FlowControlAccount, FlowKey, Host, LinkId, LinkStats, NodeId, Time, Totals};

impl Rack {
    /// The process that was lost before the end of the run, if any.
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    /// The error of the [load generator](Self::with_load), if it has failed.
    pub fn load_failed(&self) -> Option<&std::io::Error> {
        self.load_failed.as_ref()
    }

    /// The virtual time of the latest handled event, or the limit at which the run stopped.
    pub fn now(&self) -> Time {
        self.ends().map(|end| end.now).max().unwrap_or(Time::ZERO)
    }

    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.ends().for_each(|end| totals += end.totals);
        totals
    }

    /// Statistics of each link, indexed by [`LinkId`].
    pub fn link_stats(&self) -> Vec<LinkStats> {
        let mut all = vec![LinkStats::default(); self.workers[0].fabric.stats.len()];
        self.ends().for_each(|end| all.iter_mut().zip(end.links).for_each(|(all, of)| *all += of));
        all
    }

    /// The flow control accounts of all links that have flow control, in order of link id.
    pub fn flow_control(&self) -> Vec<(LinkId, FlowControlAccount)> {
        let mut accounts: Vec<_> = self.ends().flat_map(|end| end.flow_control).collect();
        accounts.sort_by_key(|&(link, _)| link);
        accounts
    }

    /// Retransmissions of flows that their hosts have not closed. Each entry has the host, the flow's key and the
    /// number of retransmitted packets.
    pub fn retransmissions(&self) -> Vec<(NodeId, FlowKey, u32)> {
        self.ends().flat_map(|end| end.retransmissions).collect()
    }

    /// Descriptions of the events for which the hosts' programs still wait.
    pub fn waiting(&self) -> Vec<String> {
        self.ends().flat_map(|end| end.waiting).collect()
    }

    /// The fidelity of the run.
    pub fn fidelity(&self) -> Fidelity {
        let mut meter = Meter::new();
        let mut copies = 0;
        // With several machines, `steal` is the largest share of stolen CPU time of any machine.
        let mut steal: Option<f64> = None;
        for end in self.ends() {
            meter.absorb(&end.readings);
            copies += end.copies;
            steal = end.steal.map(|share| share.max(steal.unwrap_or(0.0))).or(steal);
        }
        let clock = &self.workers[0].fabric.clock;
        let held = clock.held_ns() as f64 / self.took_ns.max(1) as f64;
        meter.report(self.packet_time, clock.dilation(), copies, steal, held)
    }

    /// The host at `node`, for inspection after a run. `None` if the node has no host, or another process runs the
    /// node.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        self.node(node)?.host()
    }

    /// The program at `node`, for inspection after a run. `None` if the node has no program, or another process runs
    /// the node.
    pub fn application(&self, node: NodeId) -> Option<&dyn Application> {
        self.node(node)?.application()
    }

    /// The results of this process.
    pub(super) fn own_end(&self) -> Ended {
        let mut totals = Totals::default();
        let mut links = vec![LinkStats::default(); self.workers[0].fabric.stats.len()];
        let mut meter = Meter::new();
        for Worker { fabric, .. } in &self.workers {
            totals += fabric.totals;
            links.iter_mut().zip(&fabric.stats).for_each(|(all, of)| *all += *of);
            meter.absorb(&fabric.meter.readings());
        }
        let nodes = || self.workers.iter().flat_map(|worker| &worker.nodes);
        let retransmissions = nodes().flat_map(|node| {
            let counts = node.host().map_or_else(Vec::new, Host::retransmissions);
            counts.into_iter().map(|(key, count)| (node.place().id, key, count))
        });
        let controls = self.workers.iter().flat_map(|Worker { fabric, .. }| {
            let served = (0..).map(LinkId::of).zip(&fabric.served);
            served.filter_map(|(link, served)| Some((link, served.as_ref()?.flow_control(fabric.now)?)))
        });
        Ended {
            flow_control: controls.collect(),
            now: self.workers.iter().map(|worker| worker.fabric.now).max().unwrap_or(Time::ZERO),
            totals,
            links,
            readings: meter.readings(),
            steal: self.steal.1,
            copies: self.workers.iter().map(|worker| worker.fabric.copies).sum(),
            retransmissions: retransmissions.collect(),
            waiting: nodes().filter_map(|node| node.application()?.waits_for()).collect(),
        }
    }

    /// The results known to this process. The party's host knows the results of all processes, and a guest knows only
    /// its own results.
    fn ends(&self) -> impl Iterator<Item = Ended> {
        std::iter::once(self.own_end()).chain(self.others.iter().cloned())
    }
}
