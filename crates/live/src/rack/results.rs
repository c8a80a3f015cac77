//! What a rack leaves: what its processes have counted, added up.

use super::Rack;
use super::fidelity::{Fidelity, Meter};
use super::party::{Ended, Lost};
use super::worker::Worker;
use raddle_core::{Application, FlowControlAccount, FlowKey, Host, LinkId, LinkStats, NodeId, Time, Totals};

impl Rack {
    /// The process that was gone before the end of the run, if one was.
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    /// Why the [load generator](Self::with_load) has failed, if it has.
    pub fn load_failed(&self) -> Option<&std::io::Error> {
        self.load_failed.as_ref()
    }

    /// The virtual time of the last event, or the limit at which the run stopped.
    pub fn now(&self) -> Time {
        self.ends().map(|end| end.now).max().unwrap_or(Time::ZERO)
    }

    /// What has happened so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.ends().for_each(|end| totals += end.totals);
        totals
    }

    /// What passed over each link, by [`LinkId`].
    pub fn link_stats(&self) -> Vec<LinkStats> {
        let mut all = vec![LinkStats::default(); self.workers[0].fabric.stats.len()];
        self.ends().for_each(|end| all.iter_mut().zip(end.links).for_each(|(all, of)| *all += of));
        all
    }

    /// What flow control of each link that has some has counted, in order of the links.
    pub fn flow_control(&self) -> Vec<(LinkId, FlowControlAccount)> {
        let mut accounts: Vec<_> = self.ends().flat_map(|end| end.flow_control).collect();
        accounts.sort_by_key(|&(link, _)| link);
        accounts
    }

    /// Packets that hosts sent more than once, of flows that they have not closed: the host, the flow's key, how many.
    pub fn retransmissions(&self) -> Vec<(NodeId, FlowKey, u32)> {
        self.ends().flat_map(|end| end.retransmissions).collect()
    }

    /// What hosts' programs still wait for, in words.
    pub fn waiting(&self) -> Vec<String> {
        self.ends().flat_map(|end| end.waiting).collect()
    }

    /// How faithful the run was.
    pub fn fidelity(&self) -> Fidelity {
        let mut meter = Meter::new();
        let mut copies = 0;
        // Of several machines, that which was taken away most.
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

    /// The host at `node`, to look into after a run; `None` if the node has none, or is another process'.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        self.node(node)?.host()
    }

    /// The program at `node`, to look into after a run; `None` if the node has none, or is another process'.
    pub fn application(&self, node: NodeId) -> Option<&dyn Application> {
        self.node(node)?.application()
    }

    /// What this process leaves.
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

    /// What the processes leave of which this one knows: all in a party's host, and in a rack of its own.
    fn ends(&self) -> impl Iterator<Item = Ended> {
        std::iter::once(self.own_end()).chain(self.others.iter().cloned())
    }
}
