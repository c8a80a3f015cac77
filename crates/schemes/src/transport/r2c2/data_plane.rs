//! The data plane of a rack node: the node's view of the fabric, the flows that it sends and receives, and its queued
//! output. The data plane does not depend on where rates are computed: it is the same in R2C2's nodes and in nodes with
//! a central controller.

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
    /// True if topology discovery has reported changes that `view` does not contain yet.
    pub(crate) outdated: bool,
    pub(crate) sender: Sender,
    receiver: Receiver,
    pub(crate) outbox: Outbox,
    pub(crate) lids: Lids,
    pub(crate) ticks: Ticks,
    /// The time before which the node has nothing to do, apart from queued output and acknowledgements; `None` if
    /// unknown. An input that may give the node other work clears this field.
    pub(crate) asleep_until: Option<Time>,
}

impl DataPlane {
    /// The data plane of node `id` of `fabric`, in a run with this seed.
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

    /// The handle and the rate, in bit/s, of each flow in a table.
    pub(crate) fn rates(&self, table: &FlowTable) -> Vec<(u32, f64)> {
        let all = table.all();
        let rates = rates::rates(self.params(), &self.view, &all);
        all.iter().map(Entry::key).zip(rates.iter().copied()).collect()
    }

    /// The handle and the rate limit, in bit/s, of each flow that this node sends. Flows without a rate limit are left
    /// out.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.sender.flows().iter().filter_map(|flow| Some((self.sender.handle(flow.lid), flow.rate()?)))
    }

    /// Opens a flow, which the caller must then pass to the sender. If no lid (flow number of this node) is free, the
    /// flow waits for a lid, and this function returns `None`.
    pub(crate) fn open(&mut self, now: Time, flow: Flow) -> Option<Outgoing> {
        let lid = self.lids.take(now, &flow)?;
        self.outbox.report(Report::Opened { flow: flow.id, key: self.sender.handle(lid).into() });
        Some(Outgoing::new(flow, lid, self.params()))
    }

    /// Closes a flow that the sender has finished.
    pub(crate) fn close(&mut self, now: Time, flow: &Outgoing) {
        self.lids.give_back(now, flow.lid);
        let key = self.sender.handle(flow.lid).into();
        self.outbox.report(Report::Closed { key, retransmissions: flow.repeats() });
    }

    /// Handles a data packet of a flow that is not reliable.
    pub(crate) fn take_data(&mut self, data: &Data) {
        if let Some(delivered) = self.receiver.take(data) {
            self.outbox.report(delivered);
        }
    }

    /// True if a packet is addressed to another node. A damaged hop index has then delivered the packet to this node.
    pub(crate) fn is_astray(&self, packet: &Packet) -> bool {
        packet.header.routed().is_some_and(|data| NodeId(data.dst.into()) != self.id)
    }

    /// The header of a control packet to node `dst` about flow `flow`, with `plen` bytes of payload. The routing
    /// protocol `protocol` chooses the packet's path. `None` if no path exists, or if the route does not fit the
    /// header.
    pub(crate) fn control(&mut self, protocol: Protocol, dst: u16, flow: u32, plen: u16) -> Option<Data> {
        self.sender.control(&self.view, &self.fabric.params, protocol, dst, flow, plen)
    }

    /// The next data packet. If no packet may leave now, the time of the next call.
    pub(crate) fn next(&mut self, now: Time, ports: &Ports<'_>) -> Result<Departure, Time> {
        self.sender.next(now, ports, &self.view, &self.fabric.params)
    }

    /// Ends the demand period of every flow. Returns the events that announce changed demands.
    pub(crate) fn end_demand_period(&mut self, now: Time) -> Vec<Event> {
        self.sender.end_demand_period(now, &self.fabric.params)
    }

    /// True if some links are down, according to topology discovery.
    pub(super) fn is_damaged(&self) -> bool {
        !self.down.is_empty()
    }

    /// Records the state of a link that topology discovery has reported.
    pub(crate) fn discover(&mut self, link: LinkId, up: bool) {
        self.outdated |= if up { self.down.remove(&link) } else { self.down.insert(link) };
    }

    /// Applies the link states from topology discovery: updates routes, and removes the flows that are cut off and not
    /// reliable. Reliable flows wait for a path.
    pub(crate) fn renew_view(&mut self, now: Time) {
        self.outdated = false;
        self.view = self.fabric.view(&self.down);
        self.receiver.retain(|src| self.view.is_way(src, self.id));
        for flow in self.sender.reroute(&self.view, &self.fabric.params) {
            self.lids.give_back(now, flow.lid);
        }
    }
}
