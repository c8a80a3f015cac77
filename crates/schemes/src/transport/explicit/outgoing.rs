//! A flow at its sender. The flow's packets are divided among one or more subflows.

use super::subflow::{Packets, State, Subflow, Timeouts, Turn};
use super::{Outlook, Precedence, Protocol, View};
use raddle_core::{Duration, Flow, Packet, PortId, Rate, Time};
use raddle_wire::rated::{Kind, Segment};

/// Constants that all flows of a host share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Common {
    /// The host's number.
    pub(super) node: u32,
    /// Header bytes per packet.
    pub(super) header: u32,
    pub(super) timeouts: Timeouts,
}

/// The division of a flow into packets and subflows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) packets: Packets,
    /// Number of subflows. A flow with fewer packets gets one subflow per packet.
    pub(super) subflows: u32,
    /// The greatest rate of one subflow.
    pub(super) limit: Rate,
    /// The greatest total rate of all subflows.
    pub(super) limit_of_all: Rate,
}

/// A flow that is being sent.
pub(super) struct Outgoing<S> {
    dst: u32,
    number: u32,
    deadline: Time,
    /// The greatest rate of one subflow.
    limit: Rate,
    /// The greatest total rate of all subflows.
    limit_of_all: Rate,
    packets: Packets,
    acknowledged: u32,
    pub(super) retransmissions: u32,
    subflows: Vec<Sending<S>>,
}

struct Sending<S> {
    subflow: Subflow,
    /// The number of the subflow's path, as in packet headers.
    path: u16,
    /// The host's port at which the path begins.
    port: PortId,
    sender: S,
    /// The subflow's rate when the flow's rate was last reported.
    told: Rate,
}

fn probe_interval<P: Protocol>(protocol: &P, sender: &P::Sender, view: &View, common: &Common) -> Duration {
    match protocol.probe_interval(sender, view) {
        Duration::ZERO => common.timeouts.initial,
        interval => interval,
    }
}

/// The state of a flow after an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Some packets are still unacknowledged, or an earlier acknowledgement has completed the flow.
    Sending,
    /// This acknowledgement has completed the flow.
    Complete,
}

impl<S> Outgoing<S> {
    /// The state of flow `number` at its start. `path` returns the number of a subflow's path, and the host's port at
    /// which the path begins.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the index of a subflow's first packet is at most the number of packets, a `u32`"
    )]
    pub(super) fn new<P: Protocol<Sender = S>>(
        protocol: &mut P,
        flow: &Flow,
        number: u32,
        path: impl Fn(u32) -> (u16, PortId),
        cut: Cut,
    ) -> Self {
        let Cut { packets, subflows, limit, limit_of_all } = cut;
        let count = subflows.min(packets.count);
        let place = |of: u32| (u64::from(packets.count) * u64::from(of) / u64::from(count)) as u32;
        let sending = |of: u32| {
            let (path, port) = path(of);
            Sending {
                subflow: Subflow::new(place(of)..place(of + 1), &packets),
                path,
                port,
                sender: protocol.open(flow),
                told: Rate::ZERO,
            }
        };
        Self {
            dst: flow.dst.0,
            number,
            deadline: flow.due(),
            limit,
            limit_of_all,
            packets,
            acknowledged: 0,
            retransmissions: 0,
            subflows: (0..count).map(sending).collect(),
        }
    }

    #[allow(clippy::cast_possible_truncation, reason = "a flow has at most `SUBFLOWS` subflows")]
    pub(super) fn subflow_count(&self) -> u8 {
        self.subflows.len() as u8
    }

    /// True if all subflows are closed.
    pub(super) fn is_closed(&self) -> bool {
        self.subflows.iter().all(|of| of.subflow.state == State::Closed)
    }

    /// True if all packets of the flow are acknowledged.
    pub(super) fn is_complete(&self) -> bool {
        self.acknowledged == self.packets.count
    }

    /// True if a subflow is opening or open.
    fn is_sending(&self) -> bool {
        self.subflows.iter().any(|of| matches!(of.subflow.state, State::Opening(_) | State::Open))
    }

    /// Starts to close all subflows, even if packets are unacknowledged.
    pub(super) fn close(&mut self) {
        self.subflows.iter_mut().for_each(|of| of.subflow.close());
    }

    fn view(&self, now: Time, place: u8) -> View {
        self.subflows[usize::from(place)].subflow.view(now, self.limit, self.deadline)
    }

    /// True if the protocol gives up the flow because the flow cannot meet its deadline.
    pub(super) fn is_doomed<P: Protocol<Sender = S>>(&self, now: Time, protocol: &P) -> bool {
        if self.deadline == Time::NEVER || !self.is_sending() {
            return false;
        }
        let open = || self.subflows.iter().filter(|of| of.subflow.state == State::Open);
        let outlook = Outlook {
            now,
            rtt: open().map(|of| of.subflow.rtt()).min().unwrap_or(Duration::ZERO),
            left: self.subflows.iter().map(|of| of.subflow.left()).sum(),
            limit: self.limit_of_all,
            deadline: self.deadline,
            paused: open().count() > 0 && open().all(|of| protocol.rate(&of.sender) == Rate::ZERO),
        };
        protocol.gives_up(&outlook)
    }

    /// Time of the next call of [`send`](Self::send) for a subflow.
    pub(super) fn due<P: Protocol<Sender = S>>(
        &self,
        now: Time,
        place: u8,
        protocol: &P,
        common: &Common,
    ) -> Time {
        let of = &self.subflows[usize::from(place)];
        let interval = probe_interval(protocol, &of.sender, &self.view(now, place), common);
        let due = of.subflow.due(protocol.rate(&of.sender), interval, &common.timeouts);
        // The host also checks the flow at its deadline, because the protocol may end the flow then.
        let ends = if self.is_sending() && self.deadline > now { self.deadline } else { Time::NEVER };
        due.min(ends)
    }

    /// The subflow's precedence and port. `None` if the subflow is not open or has no rate, or if the protocol defines
    /// no precedence.
    pub(super) fn precedence<P: Protocol<Sender = S>>(
        &self,
        now: Time,
        place: u8,
        protocol: &P,
    ) -> Option<(Precedence, PortId)> {
        let of = self.subflows.get(usize::from(place))?;
        if of.subflow.state != State::Open || protocol.rate(&of.sender) == Rate::ZERO {
            return None;
        }
        Some((protocol.precedence(&of.sender, &self.view(now, place))?, of.port))
    }

    /// True if a subflow has sent nothing for a round trip.
    pub(super) fn is_silent(&self, now: Time, place: u8) -> bool {
        self.subflows.get(usize::from(place)).is_some_and(|of| of.subflow.is_silent(now))
    }

    pub(super) fn armed(&mut self, place: u8) -> &mut Time {
        &mut self.subflows[usize::from(place)].subflow.armed
    }

    /// The packet that a subflow sends now; `None` if the subflow sends no packet now.
    pub(super) fn send<P: Protocol<Sender = S>>(
        &mut self,
        now: Time,
        place: u8,
        turn: Turn,
        protocol: &mut P,
        common: &Common,
    ) -> Option<Packet> {
        let view = self.view(now, place);
        let of = &self.subflows[usize::from(place)];
        let interval = probe_interval(protocol, &of.sender, &view, common);
        let rate = protocol.rate(&of.sender);
        let sent_before = view.sent;
        let is_over = !self.is_sending();
        let of = &mut self.subflows[usize::from(place)];
        let (kind, seq) = of.subflow.send(now, turn, rate, interval, &common.timeouts, &self.packets)?;
        let view = of.subflow.view(now, self.limit, self.deadline);
        let plen = if kind == Kind::Data { self.packets.payload(seq) } else { 0 };
        self.retransmissions += u32::from(kind == Kind::Data && view.sent == sent_before);
        let segment = Segment {
            src: common.node,
            dst: self.dst,
            flow: self.number * Segment::SUBFLOWS + u32::from(place),
            seq: if kind == Kind::Term { is_over.into() } else { seq },
            plen,
            path: of.path,
            hop: 0,
            kind,
            ack: false,
            asks: true,
        };
        let header = protocol.write(&mut of.sender, &view, segment);
        Some(Packet::new(common.header + u32::from(plen), header))
    }

    /// Handles an acknowledgement for one of the flow's subflows.
    pub(super) fn acknowledged<P: Protocol<Sender = S>>(
        &mut self,
        now: Time,
        packet: &Packet,
        segment: &Segment,
        protocol: &mut P,
    ) -> Progress {
        let place = (segment.flow % Segment::SUBFLOWS) as u8;
        let Some(of) = self.subflows.get_mut(usize::from(place)) else { return Progress::Sending };
        let is_news = of.subflow.acknowledged(now, segment, &self.packets);
        if of.subflow.state == State::Open {
            let view = of.subflow.view(now, self.limit, self.deadline);
            protocol.read(&mut of.sender, &view, &packet.header);
        }
        if is_news {
            self.acknowledged += 1;
        }
        if is_news && self.is_complete() {
            self.close();
            return Progress::Complete;
        }
        self.shift(protocol);
        Progress::Sending
    }

    /// Moves the unsent and lost packets of paused subflows to the sending subflow with the fewest bytes left
    /// (Multipath PDQ, specifications/pdq.md §5). A subflow without packets closes. The paper also moves packets
    /// periodically. Raddle moves packets at each acknowledgement, so a periodic move would find no packets to move.
    fn shift<P: Protocol<Sender = S>>(&mut self, protocol: &P) {
        if self.subflows.len() == 1 {
            return;
        }
        let open = |of: &Sending<S>| of.subflow.state == State::Open && of.subflow.left() > 0;
        let rate = |of: &Sending<S>| protocol.rate(&of.sender);
        let sending = (0..self.subflows.len())
            .filter(|&i| open(&self.subflows[i]) && rate(&self.subflows[i]) > Rate::ZERO)
            .min_by_key(|&i| self.subflows[i].subflow.left());
        if let Some(target) = sending {
            for i in (0..self.subflows.len()).filter(|&i| i != target) {
                if open(&self.subflows[i]) && rate(&self.subflows[i]) == Rate::ZERO {
                    let [to, from] =
                        self.subflows.get_disjoint_mut([target, i]).expect("two different subflows");
                    to.subflow.take_over(&mut from.subflow, &self.packets);
                }
            }
        }
        for of in self.subflows.iter_mut().filter(|of| of.subflow.left() == 0) {
            of.subflow.close();
        }
    }

    /// The total rate of all subflows, if the rate of a subflow has changed since the last call.
    pub(super) fn new_rate<P: Protocol<Sender = S>>(&mut self, protocol: &P) -> Option<Rate> {
        if !self.is_sending() {
            return None; // the rate of a flow that is not sending is not reported
        }
        let mut changed = false;
        let mut sum = 0;
        for of in &mut self.subflows {
            let sends = matches!(of.subflow.state, State::Opening(_) | State::Open);
            let rate = if sends { protocol.rate(&of.sender) } else { Rate::ZERO };
            changed |= std::mem::replace(&mut of.told, rate) != rate;
            sum += rate.as_bps();
        }
        changed.then_some(Rate::from_bps(sum))
    }
}
