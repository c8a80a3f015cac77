//! Routing selection at a node (§3.4): chooses routing protocols for flows, and applies the choices of other nodes.

use super::super::rates;
use super::super::table::TOMBSTONE;
use super::R2c2Node;
use raddle_core::{Header, HeaderInfo, NodeId, Packet, Time};
use raddle_wire::r2c2::{Announcement, Assignment, EventKind};
use std::sync::Arc;

impl R2c2Node {
    /// Starts the selection timers if the table has flows, and stops the timers if the table is empty.
    pub(super) fn mind_selection(&mut self, now: Time) {
        if let Some(selector) = &mut self.selector {
            if self.table.is_empty() {
                selector.end();
            } else if selector.begin(now, self.plane.params(), &self.plane.view) {
                self.plane.asleep_until = None;
            }
        }
    }

    /// If it is this node's turn, chooses routing protocols for flows and announces the choices.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "R2C2 supports at most 2^16 nodes, and has fewer than 2^8 trees"
    )]
    pub(super) fn select(&mut self, now: Time) {
        self.mind_selection(now);
        let Some(selector) = &mut self.selector else { return };
        let Some((epoch, changes)) = selector.due(now, &self.table, self.plane.params(), &self.plane.view)
        else {
            return;
        };
        // If nodes select in turn by a token, this node must announce even if it changes no flow: an empty announcement
        // passes the token on.
        let parts = changes.chunks(Announcement::MAX_ASSIGNMENTS);
        let parts: Vec<Arc<[Assignment]>> =
            if changes.is_empty() { vec![Arc::default()] } else { parts.map(Arc::from).collect() };
        let src = self.plane.id.0 as u16;
        for assignments in parts {
            let tree = (epoch % u16::from(self.plane.view.trees.count())) as u8;
            self.take_announcement(now, &Announcement { tree, src, epoch, assignments });
        }
    }

    /// Applies an announcement, and forwards it in the broadcast tree.
    #[allow(clippy::cast_possible_truncation, reason = "an announcement has at most 1,512 bytes")]
    pub(super) fn take_announcement(&mut self, now: Time, announcement: &Announcement) {
        let &Announcement { tree, src, epoch, ref assignments } = announcement;
        let source = NodeId(src.into());
        if !self.plane.view.is_node(src) {
            return;
        }
        let header = Header::R2c2Announcement(announcement.clone());
        let packet = Packet::new(header.wire_len() as u32, header);
        self.plane.outbox.packet(packet, self.plane.view.trees.children(source, tree, self.plane.id));
        let mut own = Vec::new();
        for &Assignment { flow, protocol: number } in &**assignments {
            let among = self.params().selection.map_or(&[][..], |selection| selection.among);
            let protocol = rates::protocol(self.plane.params(), number);
            // Only the routes of the protocols in `among` are known to fit the header. These routes were checked when
            // the experiment was built.
            let Some(protocol) = protocol.filter(|protocol| among.contains(protocol)) else { continue };
            if self.selector.as_mut().is_some_and(|selector| selector.counts(epoch, src, flow)) {
                self.table.reroute(now, flow, number);
                if self.plane.sender.set_protocol(flow, protocol) {
                    own.push(flow);
                }
            }
        }
        if let Some(selector) = &mut self.selector {
            selector.hear(now, epoch, src, self.plane.params(), &self.plane.view);
            selector.tidy(&self.table);
        }
        self.plane.asleep_until = None;
        self.event_seen(now);
        if self.told_again.is_some_and(|told| now < told + TOMBSTONE) {
            // This node has recently repeated events of its flows. At some nodes, a repeated event may arrive after
            // this announcement and undo it.
            self.say_again(now, EventKind::Route, |flow| own.contains(&flow));
        }
    }
}
