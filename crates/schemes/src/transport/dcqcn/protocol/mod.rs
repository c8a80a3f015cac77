//! DCQCN's hosts send flows as RDMA writes over RoCEv2. Each flow has its own queue pair, whose rate the flow's
//! reaction point limits. The receiving hosts answer marked packets with congestion notifications, and send
//! acknowledgements.

use super::{NotificationPoint, Params, ReactionPoint};
use crate::transport::adapter::{Arrival, Data, Lane, Protocol, RateLimiter};
use crate::transport::go_back_n::{self, Answer, on_wire};
use raddle_core::{Flow, FlowKey, Header, Packet, Rate, Time};
use raddle_wire::Ecn;
use raddle_wire::roce::{self, Kind};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Number of distinct flow numbers. A flow number has 24 bits in packet headers, so the numbers wrap.
const NUMBERS: u32 = 1 << 24;

/// The least UDP source port of flows. Load balancers distinguish flows by their source ports, which are in the dynamic
/// range (RFC 6335 §6).
const FIRST_PORT: u16 = 0xC000;

/// The protocol of one host: RDMA writes, congestion notifications and acknowledgements.
#[derive(Debug)]
pub(crate) struct Dcqcn {
    params: Arc<Params>,
    /// Rate of the host's port.
    line_rate: Rate,
    /// The notification points of the incoming flows. A flow has no notification point before its first marked packet.
    notification_points: FxHashMap<FlowKey, NotificationPoint>,
}

impl Dcqcn {
    /// Creates the protocol of a host whose port has rate `line_rate`.
    #[must_use]
    pub(crate) fn new(params: Arc<Params>, line_rate: Rate) -> Self {
        let notification_points = FxHashMap::default();
        Self { params, line_rate, notification_points }
    }
}

/// The rate limiter of a flow: its reaction point, which counts whole packets with their headers.
#[derive(Debug)]
pub(crate) struct Limiter(ReactionPoint);

impl RateLimiter for Limiter {
    #[inline]
    fn ready_at(&self) -> Time {
        self.0.ready_at()
    }

    #[inline]
    fn sent(&mut self, now: Time, bytes: u32, _: bool) {
        self.0.sent(now, wire_len(bytes));
    }

    #[inline]
    fn timer(&self) -> Time {
        self.0.timer()
    }

    fn fire(&mut self, now: Time) {
        self.0.fire(now);
    }
}

/// Size in bytes, headers included, of a packet with `payload` bytes of payload. Padding extends the payload to a
/// multiple of four bytes.
#[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
pub(super) const fn wire_len(payload: u32) -> u32 {
    roce::Packet::LEN as u32 + payload.next_multiple_of(4)
}

/// The first packet of flow `number` of a host, with only the fields that routing reads.
#[allow(clippy::cast_possible_truncation, reason = "only the lower bits of a flow's number are used")]
pub(super) fn first_packet(flow: &Flow, number: u64) -> Packet {
    let number = number as u32 % NUMBERS;
    let packet = roce::Packet {
        src: flow.src.0,
        dst: flow.dst.0,
        priority: 0,
        ecn: Ecn::Ect0,
        src_port: source_port(number),
        flow: number,
        kind: Kind::Write { psn: 0, plen: 1, offset: 0, size: flow.size.0, ack_request: false },
    };
    Packet::new(wire_len(1), Header::Roce(packet))
}

/// The source port of a flow. Load balancers distinguish flows by this port.
#[allow(clippy::cast_possible_truncation, reason = "only the lower bits of a flow's number are used")]
fn source_port(flow: u32) -> u16 {
    FIRST_PORT | flow as u16
}

impl Protocol for Dcqcn {
    type Limiter = Limiter;
    type Notice = ();

    fn packet(&mut self, data: &Data) -> Packet {
        // All packets of a flow except the last are full, so the offset determines the packet's number.
        let psn = on_wire(data.offset / u64::from(self.params.mtu));
        let flow = data.flow % NUMBERS;
        let packet = roce::Packet {
            src: data.src,
            dst: data.dst,
            priority: data.priority,
            ecn: Ecn::Ect0,
            src_port: source_port(flow),
            flow,
            kind: Kind::Write {
                psn,
                plen: data.len,
                offset: data.offset,
                size: data.size,
                ack_request: data.ack_request,
            },
        };
        Packet::new(wire_len(data.len.into()), Header::Roce(packet))
    }

    fn read(&self, packet: &Packet) -> Option<Arrival<()>> {
        let Header::Roce(packet) = &packet.header else { return None };
        Some(match packet.kind {
            Kind::Write { plen: len, offset, size, ack_request, .. } => {
                let roce::Packet { src, dst, flow, priority, .. } = *packet;
                let birth = Time::ZERO;
                Arrival::Data(Data { dst, src, flow, priority, len, offset, size, ack_request, birth })
            }
            Kind::Acknowledgement { expected, refused } => {
                Arrival::Acknowledged { key: packet.key(), expected, refused }
            }
            Kind::Notification => Arrival::Notice { lane: Lane::Of { flow: packet.flow }, notice: () },
        })
    }

    fn priority(&self, flow: &Flow) -> u8 {
        if flow.priority == 0 { self.params.priority } else { flow.priority }
    }

    fn key(&self, src: u32, _dst: u32, flow: u32) -> FlowKey {
        FlowKey(u64::from(src) << 32 | u64::from(flow % NUMBERS))
    }

    fn lane(&self, _dst: u32, _priority: u8, flow: u32) -> Lane {
        Lane::Of { flow: flow % NUMBERS }
    }

    fn limiter(&self, _dst: u32) -> Limiter {
        Limiter(ReactionPoint::new(Arc::clone(&self.params), self.line_rate))
    }

    fn notice(&self, now: Time, (): (), limiter: &mut Limiter) {
        limiter.0.notice(now);
    }

    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    fn answer(&mut self, now: Time, packet: &Packet) -> Option<Packet> {
        let Header::Roce(data) = &packet.header else { return None };
        if data.ecn != Ecn::Ce {
            return None;
        }
        let point = self.notification_points.entry(data.key()).or_default();
        point.marked(now, self.params.cnp_interval).then(|| {
            let (src, dst, priority) = (data.dst, data.src, self.params.cnp_priority);
            let notification =
                roce::Packet { src, dst, priority, ecn: Ecn::NotEct, kind: Kind::Notification, ..*data };
            Packet::new(roce::Packet::LEN as u32, Header::Roce(notification))
        })
    }

    fn recovery(&self) -> Option<go_back_n::Params> {
        self.params.go_back_n()
    }

    #[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
    fn acknowledgement(&self, data: &Data, answer: Answer, in_order: u64) -> Packet {
        let flow = data.flow % NUMBERS;
        let acknowledgement = roce::Packet {
            src: data.dst,
            dst: data.src,
            priority: self.params.ack_priority,
            ecn: Ecn::NotEct,
            src_port: source_port(flow),
            flow,
            kind: Kind::Acknowledgement {
                expected: on_wire(in_order.div_ceil(self.params.mtu.into())),
                refused: answer == Answer::Refuse,
            },
        };
        Packet::new(roce::Packet::ACKNOWLEDGEMENT_LEN as u32, Header::Roce(acknowledgement))
    }

    fn complete(&mut self, key: FlowKey) {
        self.notification_points.remove(&key);
    }
}

#[cfg(test)]
mod tests;
