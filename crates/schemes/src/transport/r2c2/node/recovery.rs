//! Recovery from lost broadcasts (§3.2): anti-entropy rounds, snapshots, and resends.

use super::super::PortSet;
use super::super::entries::Entry;
use super::super::rates;
use super::super::resends::is_among;
use super::R2c2Node;
use raddle_core::{Header, HeaderInfo, NodeId, Packet, PortId, Time};
use raddle_wire::r2c2::{Digest, FlowState, Request, Snapshot, SnapshotBody, Wanted};

impl R2c2Node {
    fn number(&self) -> u16 {
        u16::try_from(self.plane.id.0).expect("R2C2 supports at most 65,536 nodes")
    }

    /// True if a flow in a message from another node is possible: its nodes and its protocol exist, its source `src` is
    /// another node, and no known failure cuts the flow off. A message that was in flight during a topology change may
    /// name a flow that has been cut off since.
    #[inline]
    pub(super) fn is_credible(&self, src: u16, dst: u16, protocol: u8) -> bool {
        let (from, to) = (NodeId(src.into()), NodeId(dst.into()));
        self.plane.view.is_node(src)
            && self.plane.view.is_node(dst)
            && from != self.plane.id
            && rates::protocol(self.params(), protocol).is_some()
            && (!self.plane.is_damaged() || self.plane.view.concerns(self.plane.id, from, to))
    }

    /// Under `Doubt::Always`, starts the anti-entropy rounds if they are not running.
    pub(super) fn mind_doubt(&mut self, now: Time) {
        if self.anti_entropy.flows_known(now) {
            self.plane.asleep_until = None;
        }
    }

    /// Runs an anti-entropy round.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "there are fewer than 256 trees, so the number of a tree fits a `u8`"
    )]
    pub(super) fn compare(&mut self, now: Time) {
        let mut sources = self.table.sources();
        let number = self.number();
        let has_flows = sources.remove(&number);
        let round = self.anti_entropy.round(now, has_flows, &sources);
        if round.speak {
            let tree = (self.digests % u32::from(self.plane.view.trees.count())) as u8;
            self.digests = self.digests.wrapping_add(1);
            self.pass_digest_on(Digest { tree, src: number, hash: self.table.digest_of(self.plane.id) });
        }
        for source in round.ask {
            self.ask(source);
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    fn pass_digest_on(&mut self, digest: Digest) {
        let ports = self.plane.view.trees.children(NodeId(digest.src.into()), digest.tree, self.plane.id);
        let header = Header::R2c2Digest(digest);
        self.plane.outbox.packet(Packet::new(header.wire_len() as u32, header), ports);
    }

    /// Forwards another node's digest, and compares it with the table's entries of that node. If they differ, requests
    /// a snapshot.
    pub(super) fn take_digest(&mut self, now: Time, digest: Digest) {
        let source = NodeId(digest.src.into());
        if !self.plane.view.is_node(digest.src)
            || source == self.plane.id
            || !self.plane.view.concerns(self.plane.id, source, source)
        {
            return; // the source is invalid, unreachable, or this node
        }
        self.pass_digest_on(digest);
        if self.table.digest_of(source) == digest.hash {
            self.anti_entropy.confirm(now, digest.src);
        } else {
            self.anti_entropy.contradict(now, digest.src);
            self.ask(digest.src);
        }
    }

    /// Requests a snapshot of the flows of node `source`.
    fn ask(&mut self, source: u16) {
        let protocol = self.params().protocol;
        if let Some(mut data) = self.plane.control(protocol, source, 0, 0) {
            data.seq = self.anti_entropy.ask(source);
            self.plane.outbox.control(Header::R2c2Request(Request { data, wanted: Wanted::Snapshot }));
        }
    }

    /// Asks the neighbour at a port to resend its last broadcasts, after a damaged packet has arrived at the port.
    pub(super) fn ask_neighbour(&mut self, port: PortId) {
        let topology = self.plane.view.routing.topology();
        let Some(link) = topology.link(topology.link_id(self.plane.id, port)) else { return };
        let neighbour = u16::try_from(link.to.0).expect("R2C2 supports at most 65,536 nodes");
        if let Some(data) = self.plane.sender.one_hop(self.params(), port, neighbour) {
            self.plane.outbox.control(Header::R2c2Request(Request { data, wanted: Wanted::Resend }));
        }
    }

    /// Answers a request that arrived at port `port`.
    pub(super) fn take_request(&mut self, now: Time, request: &Request, port: PortId) {
        match request.wanted {
            Wanted::Snapshot => {
                self.told_again = Some(now);
                self.send_snapshot(request.data.src, request.data.seq);
            }
            Wanted::Resend => {
                let most = usize::from(self.params().resends);
                let (trees, id) = (&self.plane.view.trees, self.plane.id);
                let answer = self.resends.answer(now, most, &self.table, |event| {
                    is_among(port, trees.children(NodeId(event.src.into()), event.tree, id))
                });
                for event in answer {
                    self.plane.outbox.copies(&event, PortSet::of(port));
                }
            }
        }
    }

    /// Sends a snapshot of all flows of this node to another node, in answer to request number `request`.
    fn send_snapshot(&mut self, dst: u16, request: u32) {
        let hash = self.table.digest_of(self.plane.id);
        let flows: Vec<FlowState> = self.table.of(self.plane.id).iter().map(Entry::state).collect();
        let parts = flows.chunks(Snapshot::MAX_FLOWS).map(<[_]>::to_vec);
        let mut parts: Vec<_> = parts.collect();
        parts.resize_with(parts.len().max(1), Vec::new);
        // Each part of the snapshot covers a range of flow numbers (lids). The ranges together contain all lids, so
        // that the receiver also removes flows that have ended.
        let mut first = 0;
        let count = parts.len();
        for (place, flows) in parts.into_iter().enumerate() {
            let last =
                if place + 1 == count { u16::MAX } else { flows.last().map_or(u16::MAX, |flow| flow.lid) };
            let plen = Snapshot::plen(flows.len());
            let protocol = self.params().protocol;
            let Some(mut data) = self.plane.control(protocol, dst, 0, plen) else { return };
            data.seq = request;
            let body = SnapshotBody { hash, first, last, flows };
            self.plane.outbox.control(Header::R2c2Snapshot(Snapshot { data, body: body.into() }));
            first = last.wrapping_add(1);
        }
    }

    /// Applies a part of a node's snapshot to the table: the flows in the part replace the table's entries in the
    /// part's range.
    pub(super) fn take_snapshot(&mut self, now: Time, snapshot: &Snapshot) {
        let (src, body) = (snapshot.data.src, &*snapshot.body);
        let is_credible = |flow: &FlowState| self.is_credible(src, flow.dst, flow.protocol);
        if !self.anti_entropy.is_news(src, snapshot.data.seq) || !body.flows.iter().all(is_credible) {
            return; // an event or a topology change has made the snapshot outdated
        }
        self.table.replace(now, src, body);
        if self.table.digest_of(NodeId(src.into())) == body.hash {
            self.anti_entropy.confirm(now, src);
        }
        self.event_seen(now);
        self.mind_selection(now);
        self.mind_doubt(now);
    }
}
