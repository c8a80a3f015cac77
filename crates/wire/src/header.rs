//! The header of any packet that engines carry.

use crate::rated::{Scheme, Segment};
use crate::{Ecn, Error, Mac, cee, cnm, d3, exp, frame, hula, ipv4, pdq, pfc, r2c2, rcp, roce, tcp, udp};
use std::sync::Arc;

/// The header of a packet, whichever protocol it speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Header {
    /// R2C2's source-routed data header (also PFQ's, whose adaptive mode leaves the route empty).
    R2c2Data(r2c2::Data),
    /// R2C2's 16-byte broadcast event.
    R2c2Event(r2c2::Event),
    /// R2C2's notice to a source that one of its broadcasts was dropped.
    R2c2DropNotice(r2c2::DropNotice),
    /// R2C2's acknowledgement of a flow's packets.
    R2c2Acknowledgement(r2c2::Acknowledgement),
    /// R2C2's announcement of routing protocols, with its assignments, which copies share.
    R2c2Announcement(r2c2::Announcement, Arc<[r2c2::Assignment]>),
    /// What a node tells R2C2's centralised controller.
    R2c2ControllerEvent(r2c2::ControllerEvent),
    /// The rates that R2C2's centralised controller tells a node, boxed to keep packets small.
    R2c2ControllerRates(Box<r2c2::ControllerRates>),
    /// R2C2's digest of a node's flows.
    R2c2Digest(r2c2::Digest),
    /// R2C2's request to say something again.
    R2c2Request(r2c2::Request),
    /// R2C2's list of a node's flows, which copies share.
    R2c2Snapshot(r2c2::Snapshot),
    /// A TCP segment in its IPv4 packet.
    Tcp(tcp::Segment),
    /// A UDP datagram of a flow in its IPv4 packet.
    Udp(udp::Datagram),
    /// A packet that bears Expeditus's tag, boxed since there are one or two a flow.
    Exp(Box<exp::Tagged>),
    /// HULA's probe.
    HulaProbe(hula::Probe),
    /// A data frame of converged Ethernet.
    Cee(cee::Frame),
    /// A pause or resumption of priorities, from one end of a link to the other.
    Pfc(pfc::Pause),
    /// QCN's notice of congestion, from a switch to a source.
    Cnm(cnm::Notice),
    /// A RoCEv2 packet, data or congestion notification, in its IPv4 packet.
    Roce(roce::Packet),
    /// A packet of PDQ.
    Pdq(pdq::Packet),
    /// A packet of D3.
    D3(d3::Packet),
    /// A packet of RCP.
    Rcp(rcp::Packet),
}

impl Header {
    /// Bytes of the header on the wire: of a data packet 36, of an event or a digest 16, of a TCP segment 40 and its SACK
    /// option, of a UDP datagram 44, of a tagged packet the tag's and its own, of a HULA probe 46; of packets that are all header, a request's 36, a drop notice's 56, an acknowledgement's 52, an
    /// announcement's 12 and 5 an assignment, a snapshot's 48 and 10 a flow, a controller event's 52, and a
    /// controller's rates' 36 and 6 a rate. Frames of converged Ethernet are all header here, check sequence included: a
    /// data frame as many bytes as it carries and at least 64, pauses and congestion notices 64. Of a RoCEv2 packet, 60 and
    /// the payload's padding, of which [`trailer_len`](Self::trailer_len) stand behind the payload. Of packets of PDQ, D3 and
    /// RCP, 40.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        match self {
            Self::R2c2Data(_) => r2c2::Data::LEN,
            Self::R2c2Event(_) => r2c2::Event::LEN,
            Self::R2c2DropNotice(_) => r2c2::DropNotice::LEN,
            Self::R2c2Acknowledgement(_) => r2c2::Acknowledgement::LEN,
            Self::R2c2Announcement(_, assignments) => {
                r2c2::Announcement::LEN + assignments.len() * r2c2::Assignment::LEN
            }
            Self::R2c2ControllerEvent(_) => r2c2::ControllerEvent::LEN,
            Self::R2c2ControllerRates(packet) => packet.wire_len(),
            Self::R2c2Digest(_) => r2c2::Digest::LEN,
            Self::R2c2Request(_) => r2c2::Request::LEN,
            Self::R2c2Snapshot(snapshot) => snapshot.wire_len(),
            Self::Tcp(segment) => segment.wire_len(),
            Self::Udp(_) => udp::Datagram::LEN,
            Self::Exp(tagged) => tagged.wire_len(),
            Self::HulaProbe(_) => hula::Probe::LEN,
            Self::Cee(frame) => frame.wire_len(),
            Self::Pfc(_) => pfc::Pause::LEN,
            Self::Cnm(_) => cnm::Notice::LEN,
            Self::Roce(packet) => roce::Packet::HEADERS + packet.trailer_len(),
            Self::Pdq(_) | Self::D3(_) | Self::Rcp(_) => Segment::LEN,
        }
    }

    /// Bytes of [`wire_len`](Self::wire_len) that follow the payload: of a RoCEv2 packet, padding and invariant CRC; of
    /// others none.
    #[must_use]
    pub fn trailer_len(&self) -> usize {
        match self {
            Self::Roce(packet) => packet.trailer_len(),
            _ => 0,
        }
    }

    /// Bytes of the payload that follows the header.
    #[must_use]
    pub fn payload_len(&self) -> usize {
        match self {
            Self::R2c2Data(data) => data.plen as usize,
            Self::R2c2Event(_)
            | Self::R2c2DropNotice(_)
            | Self::R2c2Announcement(..)
            | Self::R2c2Acknowledgement(_)
            | Self::R2c2ControllerEvent(_)
            | Self::R2c2ControllerRates(_)
            | Self::R2c2Digest(_)
            | Self::R2c2Request(_)
            | Self::R2c2Snapshot(_)
            | Self::HulaProbe(_)
            | Self::Cee(_)
            | Self::Pfc(_)
            | Self::Cnm(_) => 0,
            Self::Tcp(segment) => segment.plen as usize,
            Self::Udp(datagram) => datagram.plen as usize,
            Self::Roce(packet) => packet.plen() as usize,
            Self::Pdq(pdq::Packet { segment, .. })
            | Self::D3(d3::Packet { segment, .. })
            | Self::Rcp(rcp::Packet { segment, .. }) => segment.plen as usize,
            Self::Exp(tagged) => tagged.inner.payload_len(),
        }
    }

    /// Whether zeros may follow the payload: a scheme may charge more bytes for its header than its fields take, as PDQ's
    /// parameter `h_sched` does.
    #[must_use]
    pub fn may_be_padded(&self) -> bool {
        matches!(self, Self::Pdq(_))
    }

    /// The source-routed header in front, which R2C2's data and unicast control packets have.
    #[must_use]
    pub fn routed(&self) -> Option<&r2c2::Data> {
        match self {
            Self::R2c2Data(data) => Some(data),
            Self::R2c2DropNotice(notice) => Some(&notice.data),
            Self::R2c2Acknowledgement(ack) => Some(&ack.data),
            Self::R2c2ControllerEvent(packet) => Some(&packet.data),
            Self::R2c2ControllerRates(packet) => Some(&packet.data),
            Self::R2c2Request(request) => Some(&request.data),
            Self::R2c2Snapshot(snapshot) => Some(&snapshot.data),
            Self::R2c2Event(_)
            | Self::R2c2Announcement(..)
            | Self::R2c2Digest(_)
            | Self::Tcp(_)
            | Self::Udp(_)
            | Self::Exp(_)
            | Self::HulaProbe(_)
            | Self::Cee(_)
            | Self::Pfc(_)
            | Self::Cnm(_)
            | Self::Roce(_)
            | Self::Pdq(_)
            | Self::D3(_)
            | Self::Rcp(_) => None,
        }
    }

    /// [`routed`](Self::routed), for the relay that moves it on.
    #[must_use]
    pub fn routed_mut(&mut self) -> Option<&mut r2c2::Data> {
        match self {
            Self::R2c2Data(data) => Some(data),
            Self::R2c2DropNotice(notice) => Some(&mut notice.data),
            Self::R2c2Acknowledgement(ack) => Some(&mut ack.data),
            Self::R2c2ControllerEvent(packet) => Some(&mut packet.data),
            Self::R2c2ControllerRates(packet) => Some(&mut packet.data),
            Self::R2c2Request(request) => Some(&mut request.data),
            Self::R2c2Snapshot(snapshot) => Some(&mut snapshot.data),
            Self::R2c2Event(_)
            | Self::R2c2Announcement(..)
            | Self::R2c2Digest(_)
            | Self::Tcp(_)
            | Self::Udp(_)
            | Self::Exp(_)
            | Self::HulaProbe(_)
            | Self::Cee(_)
            | Self::Pfc(_)
            | Self::Cnm(_)
            | Self::Roce(_)
            | Self::Pdq(_)
            | Self::D3(_)
            | Self::Rcp(_) => None,
        }
    }

    /// What packets of PDQ, D3 and RCP have in common, of one of these.
    #[must_use]
    #[inline]
    pub fn rated(&self) -> Option<&Segment> {
        match self {
            Self::Pdq(pdq::Packet { segment, .. })
            | Self::D3(d3::Packet { segment, .. })
            | Self::Rcp(rcp::Packet { segment, .. }) => Some(segment),
            _ => None,
        }
    }

    /// [`rated`](Self::rated), for what moves it on.
    #[must_use]
    #[inline]
    pub fn rated_mut(&mut self) -> Option<&mut Segment> {
        match self {
            Self::Pdq(pdq::Packet { segment, .. })
            | Self::D3(d3::Packet { segment, .. })
            | Self::Rcp(rcp::Packet { segment, .. }) => Some(segment),
            _ => None,
        }
    }

    /// Marks the packet as one that met congestion (RFC 3168 §5), if its transport understands that. Returns whether
    /// it does; if not, a queue has nothing left but to drop it.
    pub fn mark_congestion(&mut self) -> bool {
        match self {
            Self::Tcp(tcp::Segment { ecn, .. })
            | Self::Udp(udp::Datagram { ecn, .. })
            | Self::Roce(roce::Packet { ecn, .. })
                if ecn.is_capable() =>
            {
                *ecn = Ecn::Ce;
                true
            }
            Self::Exp(tagged) => tagged.inner.mark_congestion(),
            _ => false,
        }
    }

    /// The flow's name, on which sender and receiver agree: R2C2's handle, [`tcp::Segment::flow_key`],
    /// [`udp::Datagram::flow_key`], [`cee::Frame::flow_key`], [`roce::Packet::flow_key`] or [`Segment::flow_key`]. Of a drop notice, the flow whose event was dropped; of what is about no single flow,
    /// 0; of a controller's rates, the handle that its data header names, although they are about several flows. Of an
    /// Exp-response, whose addresses are exchanged and whose ports are not, 0.
    #[must_use]
    pub fn flow_key(&self) -> u64 {
        match self {
            Self::R2c2Data(data) => data.flow.into(),
            Self::R2c2Event(event) => event.flow().into(),
            Self::R2c2DropNotice(notice) => notice.dropped.flow().into(),
            Self::R2c2Acknowledgement(ack) => ack.data.flow.into(),
            Self::R2c2ControllerEvent(packet) => packet.event.flow().into(),
            Self::R2c2ControllerRates(packet) => packet.data.flow.into(),
            Self::R2c2Announcement(..)
            | Self::R2c2Digest(_)
            | Self::R2c2Request(_)
            | Self::R2c2Snapshot(_)
            | Self::HulaProbe(_)
            | Self::Pfc(_)
            | Self::Cnm(_) => 0,
            Self::Cee(frame) => frame.flow_key(),
            Self::Tcp(segment) => segment.flow_key(),
            Self::Udp(datagram) => datagram.flow_key(),
            Self::Roce(packet) => packet.flow_key(),
            Self::Pdq(pdq::Packet { segment, .. })
            | Self::D3(d3::Packet { segment, .. })
            | Self::Rcp(rcp::Packet { segment, .. }) => segment.flow_key(),
            Self::Exp(tagged) if tagged.tag.is_response => 0,
            Self::Exp(tagged) => tagged.inner.flow_key(),
        }
    }

    /// Appends the packet's bytes to `out`: the header and a payload of zeros.
    ///
    /// # Panics
    /// If a field is out of its documented range, of R2C2's headers in debug builds only.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode_header(&[], out);
        out.resize(out.len() + self.payload_len(), 0);
        self.encode_trailer(out, start);
    }

    /// Appends the packet's bytes to `out`: the header and `payload`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the header announces another payload length.
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    pub fn encode_with(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        if payload.len() != self.payload_len() {
            return Err(Error::Invalid { field: "plen", value: payload.len() as u64 });
        }
        let start = out.len();
        self.encode_header(payload, out);
        out.extend_from_slice(payload);
        self.encode_trailer(out, start);
        Ok(())
    }

    /// Appends to `out` what follows the payload of the packet that begins at byte `start` of it.
    fn encode_trailer(&self, out: &mut Vec<u8>, start: usize) {
        if let Self::Roce(packet) = self {
            packet.encode_trailer(out, start);
        }
    }

    /// Appends the header's bytes alone to `out`; `payload`, up to trailing zeros, is what its checksum covers.
    ///
    /// # Panics
    /// As [`encode`](Self::encode).
    pub fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::R2c2Data(data) => out.extend_from_slice(&data.encode(payload)),
            Self::R2c2Event(event) => out.extend_from_slice(&event.encode()),
            Self::R2c2DropNotice(notice) => out.extend_from_slice(&notice.encode()),
            Self::R2c2Acknowledgement(ack) => out.extend_from_slice(&ack.encode()),
            Self::R2c2Announcement(announcement, assignments) => {
                announcement.encode(assignments, out).expect("at most 300 assignments, protocols below 16");
            }
            Self::R2c2ControllerEvent(packet) => out.extend_from_slice(&packet.encode()),
            Self::R2c2ControllerRates(packet) => packet.encode(out),
            Self::R2c2Digest(digest) => out.extend_from_slice(&digest.encode()),
            Self::R2c2Request(request) => out.extend_from_slice(&request.encode()),
            Self::R2c2Snapshot(snapshot) => snapshot.encode(out),
            Self::Tcp(segment) => segment.encode(payload, out),
            Self::Udp(datagram) => out.extend_from_slice(&datagram.encode(payload)),
            Self::Exp(tagged) => tagged.encode(payload, out),
            Self::HulaProbe(probe) => out.extend_from_slice(&probe.encode()),
            Self::Cee(frame) => frame.encode(out),
            Self::Pfc(pause) => out.extend_from_slice(&pause.encode()),
            Self::Cnm(notice) => out.extend_from_slice(&notice.encode(cnm::Notice::TAGS)),
            Self::Roce(packet) => out.extend_from_slice(&packet.encode()),
            Self::Pdq(packet) => packet.encode(payload, out),
            Self::D3(packet) => packet.encode(payload, out),
            Self::Rcp(packet) => packet.encode(payload, out),
        }
    }

    /// The header in front of `bytes`, and its length in them. The payload follows, then the header's
    /// [trailer](Self::trailer_len); what comes after it is ignored.
    ///
    /// # Errors
    /// [`Error`], if the bytes are no such packet or lack some of its payload.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let &kind = bytes.first().ok_or(Error::Truncated { have: 0, need: 1 })?;
        let header = match kind {
            r2c2::Data::TYPE => Self::R2c2Data(r2c2::Data::decode(bytes)?),
            r2c2::DropNotice::TYPE => Self::R2c2DropNotice(r2c2::DropNotice::decode(bytes)?),
            r2c2::Acknowledgement::TYPE => Self::R2c2Acknowledgement(r2c2::Acknowledgement::decode(bytes)?),
            r2c2::Announcement::TYPE => {
                let (announcement, assignments) = r2c2::Announcement::decode(bytes)?;
                Self::R2c2Announcement(announcement, assignments.collect())
            }
            r2c2::ControllerEvent::TYPE => Self::R2c2ControllerEvent(r2c2::ControllerEvent::decode(bytes)?),
            r2c2::ControllerRates::TYPE => {
                Self::R2c2ControllerRates(Box::new(r2c2::ControllerRates::decode(bytes)?))
            }
            r2c2::Digest::TYPE => Self::R2c2Digest(r2c2::Digest::decode(bytes)?),
            r2c2::Request::RESEND | r2c2::Request::SNAPSHOT => {
                Self::R2c2Request(r2c2::Request::decode(bytes)?)
            }
            r2c2::Snapshot::TYPE => Self::R2c2Snapshot(r2c2::Snapshot::decode(bytes)?),
            hula::Probe::TYPE => Self::HulaProbe(hula::Probe::decode(bytes)?),
            pfc::Pause::TYPE => Self::Pfc(pfc::Pause::decode(bytes)?),
            Mac::TYPE => match frame::ethertype(bytes)? {
                cee::Frame::ETHERTYPE => Self::Cee(cee::Frame::decode(bytes)?),
                _ => Self::Cnm(cnm::Notice::decode(bytes)?.0),
            },
            0x20..=0x2F => Self::R2c2Event(r2c2::Event::decode(bytes)?),
            ipv4::TYPE if roce::Packet::is_in(bytes) => Self::Roce(roce::Packet::decode(bytes)?),
            ipv4::TYPE if ipv4::protocol(bytes) == Some(udp::Datagram::PROTOCOL) => {
                Self::Udp(udp::Datagram::decode(bytes)?)
            }
            ipv4::TYPE => {
                let (segment, len) = tcp::Segment::decode(bytes)?;
                return Ok((Self::Tcp(segment), len));
            }
            exp::Tagged::TYPE => {
                let (tagged, len) = exp::Tagged::decode(bytes)?;
                return Ok((Self::Exp(Box::new(tagged)), len));
            }
            _ if Scheme::Pdq.is_in(kind) => Self::Pdq(pdq::Packet::decode(bytes)?),
            _ if Scheme::D3.is_in(kind) => Self::D3(d3::Packet::decode(bytes)?),
            _ if Scheme::Rcp.is_in(kind) => Self::Rcp(rcp::Packet::decode(bytes)?),
            _ => return Err(Error::UnknownType(kind)),
        };
        let len = header.wire_len() - header.trailer_len();
        Ok((header, len))
    }
}
