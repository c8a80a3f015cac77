//! The transport of converged enhanced Ethernet. Frames wait at their source in one queue per destination and priority.
//! The transport relies on a fabric without losses: it has no retransmissions. The rate limiters of QCN are optional
//! (specifications/cee.md §2.1, §3.2).
//!
//! A frame of 1,500 bytes carries 1,500 bytes of its flow: the headers count as bytes of the flow, as in the paper.

mod scheme;

pub(crate) use scheme::TRANSPORT;

use crate::link::qcn;
use crate::transport::adapter::{Arrival, Data, Lane, Protocol, RateLimiter};
use raddle_core::{Flow, FlowKey, Header, HeaderInfo, Packet, Rate, Stream, Time};
use raddle_wire::cee::Frame;
use raddle_wire::cnm::Notice;
use std::sync::Arc;

/// The frame format and the rate limiters of one host on converged Ethernet.
#[derive(Debug)]
pub(crate) struct Cee {
    node: u32,
    /// The parameters of the rate limiters; `None` without rate limiters.
    limiters: Option<Arc<qcn::Params>>,
    line_rate: Rate,
    seed: u64,
    /// The priority of flows whose own priority is 0.
    priority: u8,
}

/// The rate limiter of a queue: the reaction point of QCN, or `None` if rates are not limited.
#[derive(Debug)]
pub(crate) struct Limiter(Option<Box<qcn::ReactionPoint>>);

impl RateLimiter for Limiter {
    #[inline]
    fn ready_at(&self) -> Time {
        self.0.as_ref().map_or(Time::ZERO, |point| point.ready_at())
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "a frame's payload is at most the MTU")]
    fn sent(&mut self, now: Time, bytes: u32, queue_empty: bool) {
        if let Some(point) = &mut self.0 {
            let frame = Frame { plen: bytes as u16, ..Frame::default() };
            point.sent(now, frame.wire_len() as u32, queue_empty);
        }
    }

    #[inline]
    fn timer(&self) -> Time {
        self.0.as_ref().map_or(Time::NEVER, |point| point.timer())
    }

    fn fire(&mut self, now: Time) {
        if let Some(point) = &mut self.0 {
            point.fire(now);
        }
    }
}

impl Protocol for Cee {
    type Limiter = Limiter;
    type Notice = u8;

    #[allow(clippy::cast_possible_truncation, reason = "a frame has at most 9,216 bytes")]
    fn packet(&mut self, data: &Data) -> Packet {
        let frame = Frame {
            src: data.src,
            dst: data.dst,
            flow: data.flow,
            priority: data.priority,
            plen: data.len,
            path: 0,
            offset: data.offset,
            size: data.size,
            birth_ps: data.birth.as_ps(),
        };
        Packet::new(frame.wire_len() as u32, Header::Cee(frame))
    }

    fn read(&self, packet: &Packet) -> Option<Arrival<u8>> {
        match &packet.header {
            Header::Cee(frame) => Some(Arrival::Data(Data {
                src: frame.src,
                dst: frame.dst,
                flow: frame.flow,
                priority: frame.priority,
                len: frame.plen,
                offset: frame.offset,
                size: frame.size,
                ack_request: false,
                birth: Time::from_ps(frame.birth_ps),
            })),
            // Without rate limiters, the host ignores notices. Notices then have an effect only at the switches that
            // forward them.
            Header::Cnm(notice) if self.limiters.is_some() => {
                let Notice { culprit_dst: dst, priority, feedback, .. } = *notice;
                Some(Arrival::Notice { lane: Lane::To { dst, priority }, notice: feedback })
            }
            _ => None,
        }
    }

    fn priority(&self, flow: &Flow) -> u8 {
        if flow.priority == 0 { self.priority } else { flow.priority }
    }

    fn key(&self, src: u32, _dst: u32, flow: u32) -> FlowKey {
        Frame { src, flow, ..Frame::default() }.key()
    }

    fn limiter(&self, dst: u32) -> Limiter {
        Limiter(self.limiters.as_ref().map(|params| {
            let entity = u64::from(self.node) << 32 | u64::from(dst);
            let random = Stream::new(self.seed, entity, "cee/limiter");
            Box::new(qcn::ReactionPoint::new(Arc::clone(params), self.line_rate, random))
        }))
    }

    fn notice(&self, now: Time, feedback: u8, limiter: &mut Limiter) {
        if let Some(point) = &mut limiter.0 {
            point.notice(now, feedback);
        }
    }
}

#[cfg(test)]
mod tests;
