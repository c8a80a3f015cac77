//! What a rack node is, whoever computes its rates: the fabric as it knows it, the flows that it sends and receives, and what it is
//! about to say. R2C2's nodes and those with a central controller have one each.

use super::entries::Entry;
use super::fabric::{Fabric, View};
use super::outbox::Outbox;
use super::outgoing::Outgoing;
use super::sender::{Departure, Sender};
use super::ticks::Ticks;
use super::{FlowTable, Params, rates};
use crate::transport::lids::Lids;
use crate::transport::reassembly::Receiver;
use raddle_core::{Flow, LinkId, NodeId, Packet, Ports, Report, Time};
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::{Data, Event};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The data plane of one node.
pub(crate) struct DataPlane {
    pub(crate) id: NodeId,
    fabric: Arc<Fabric>,
    /// The fabric without the links that are down.
    pub(crate) view: Arc<View>,
    down: BTreeSet<LinkId>,
    /// Discovery has reported changes that `view` does not show yet.
    pub(crate) outdated: bool,
    pub(crate) sender: Sender,
    receiver: Receiver,
    pub(crate) outbox: Outbox,
    pub(crate) lids: Lids,
    pub(crate) ticks: Ticks,
    /// Nothing is to be done before this, unless something comes in that clears it.
    pub(crate) asleep_until: Option<Time>,
}

impl DataPlane {
    /// That of the node `id` of `fabric`, in a run with this seed.
    pub(crate) fn new(fabric: &Arc<Fabric>, id: NodeId, seed: u64) -> Self {
        Self {
            id,
            view: fabric.view(&BTreeSet::new()),
            fabric: Arc::clone(fabric),
            down: BTreeSet::new(),
            outdated: false,
            sender: Sender::new(id, seed),
            receiver: Receiver::default(),
            outbox: Outbox::default(),
            lids: Lids::default(),
            ticks: Ticks::new(&fabric.params, id, seed),
            asleep_until: None,
        }
    }

    pub(crate) fn params(&self) -> &Params {
        &self.fabric.params
    }

    /// The rates of all flows of a table, by handle, in bit/s.
    pub(crate) fn rates(&self, table: &FlowTable) -> Vec<(u32, f64)> {
        let all = table.all();
        let rates = rates::rates(self.params(), &self.view, &all);
        all.iter().map(Entry::key).zip(rates.iter().copied()).collect()
    }

    /// The rate that limits each flow this node sends, by handle, in bit/s; flows without a limiter are left out.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.sender.flows().iter().filter_map(|flow| Some((self.sender.handle(flow.lid), flow.rate()?)))
    }

    /// Begins a flow, which the caller then gives to the sender. If all numbers are taken the flow waits for one.
    pub(crate) fn open(&mut self, now: Time, flow: Flow) -> Option<Outgoing> {
        let lid = self.lids.take(now, &flow)?;
        self.outbox.report(Report::Opened { flow: flow.id, key: self.sender.handle(lid).into() });
        Some(Outgoing::new(flow, lid, self.params()))
    }

    /// A flow that the sender has done with is over.
    pub(crate) fn close(&mut self, now: Time, flow: &Outgoing) {
        self.lids.give_back(now, flow.lid);
        let key = self.sender.handle(flow.lid).into();
        self.outbox.report(Report::Closed { key, retransmissions: flow.repeats() });
    }

    /// Takes a data packet of a flow that is not reliable.
    pub(crate) fn take_data(&mut self, data: &Data) {
        if let Some(delivered) = self.receiver.take(data) {
            self.outbox.report(delivered);
        }
    }

    /// Whether a packet is another node's: a damaged hop counter has led it astray.
    pub(crate) fn is_astray(&self, packet: &Packet) -> bool {
        packet.header.routed().is_some_and(|data| NodeId(data.dst.into()) != self.id)
    }

    /// The header of a control packet with `plen` bytes of payload, about flow `flow`, on a path that `protocol` draws;
    /// `None` if there is no way.
    pub(crate) fn control(&mut self, protocol: Protocol, dst: u16, flow: u32, plen: u16) -> Option<Data> {
        self.sender.control(&self.view, &self.fabric.params, protocol, dst, flow, plen)
    }

    /// The next data packet that a flow may send, or when to look again.
    pub(crate) fn next(&mut self, now: Time, ports: &Ports<'_>) -> Result<Departure, Time> {
        self.sender.next(now, ports, &self.view, &self.fabric.params)
    }

    /// Ends a demand period of every flow. Returns what is to be said of those whose demand has changed.
    pub(crate) fn end_demand_period(&mut self, now: Time) -> Vec<Event> {
        self.sender.end_demand_period(now, &self.fabric.params)
    }

    /// Whether links are down, as far as discovery has reported.
    pub(super) fn is_damaged(&self) -> bool {
        !self.down.is_empty()
    }

    /// Discovery reports a link.
    pub(crate) fn discover(&mut self, link: LinkId, up: bool) {
        self.outdated |= if up { self.down.remove(&link) } else { self.down.insert(link) };
    }

    /// Goes by what discovery has reported: new routes, and flows forgotten that are cut off.
    pub(crate) fn renew_view(&mut self, now: Time) {
        self.outdated = false;
        self.view = self.fabric.view(&self.down);
        self.receiver.retain(|src| self.view.is_way(src, self.id));
        for flow in self.sender.reroute(&self.view, &self.fabric.params) {
            self.lids.give_back(now, flow.lid);
        }
    }
}
