//! The header of any packet that the engines carry.

use crate::extension::{Extension, ExtensionHeader};
use crate::{
    Class, Ends, Error, FiveTuple, FlowKey, FlowRange, FrameView, Framing, HeaderInfo, Opening, PacketKind,
};
use crate::{cee, cnm, credit, d3, discovery, exp, hula, pdq, pfc, r2c2, rcp, roce, tcp, udp};

/// Defines [`Header`] from one entry per header: the header's documentation and `Variant: type`. `in Box` marks a
/// header that is boxed, because the enum would otherwise need too much memory. [`Decoders`](crate::Decoders) read a
/// header in the section `told` only if they are configured for that header.
macro_rules! headers {
    (
        built_in { $($(#[$doc:meta])* $variant:ident: $header:ty $(, in $holder:ident)?;)* }
        told { $($(#[$told_doc:meta])* $told:ident: $told_header:ty;)* }
    ) => {
        /// The header of a packet of any protocol.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Header {
            $($(#[$doc])* $variant(held!($header $(, $holder)?)),)*
            $($(#[$told_doc])* $told($told_header),)*
        }

        #[cfg(test)]
        impl Header {
            /// Returns the number of built-in headers that recognise these bytes.
            pub(crate) fn recognisers(bytes: &[u8]) -> usize {
                [$(<$header>::is_in(bytes)),*].into_iter().filter(|&is_in| is_in).count()
            }
        }

        impl HeaderInfo for Header {
            // This function is inlined, because a separate call would cost about 1 % of the time per
            // packet-hop.
            #[inline(always)]
            fn ends(&self) -> Ends { ask!([$($variant)* $($told)*] self.ends()) }
            #[inline]
            fn kind(&self) -> PacketKind { ask!([$($variant)* $($told)*] self.kind()) }
            #[inline]
            fn class(&self) -> Class { ask!([$($variant)* $($told)*] self.class()) }
            fn flow_key(&self) -> Option<FlowKey> { ask!([$($variant)* $($told)*] self.flow_key()) }
            #[inline]
            fn range(&self) -> Option<FlowRange> { ask!([$($variant)* $($told)*] self.range()) }
            #[inline]
            fn five_tuple(&self) -> Option<FiveTuple> { ask!([$($variant)* $($told)*] self.five_tuple()) }
            #[inline]
            fn label(&self) -> (Ends, u32) { ask!([$($variant)* $($told)*] self.label()) }
            fn opening(&self) -> Option<Opening> { ask!([$($variant)* $($told)*] self.opening()) }
            #[inline]
            fn mark_congestion(&mut self) -> bool { ask!([$($variant)* $($told)*] self.mark_congestion()) }
            fn trim(&mut self) -> bool { ask!([$($variant)* $($told)*] self.trim()) }
            #[inline]
            fn data_len(&self) -> u32 { ask!([$($variant)* $($told)*] self.data_len()) }
            #[inline]
            fn payload_len(&self) -> usize { ask!([$($variant)* $($told)*] self.payload_len()) }
            #[inline]
            fn wire_len(&self) -> usize { ask!([$($variant)* $($told)*] self.wire_len()) }
            #[inline]
            fn trailer_len(&self) -> usize { ask!([$($variant)* $($told)*] self.trailer_len()) }
            fn may_be_padded(&self) -> bool { ask!([$($variant)* $($told)*] self.may_be_padded()) }
            #[inline]
            fn covers_payload(&self) -> bool { ask!([$($variant)* $($told)*] self.covers_payload()) }
            #[inline]
            fn patch_front(&self, front: &mut [u8]) -> bool { ask!([$($variant)* $($told)*] self.patch_front(front)) }
            fn framing(&self) -> Framing { ask!([$($variant)* $($told)*] self.framing()) }
            fn encode_header(&self, payload: &[u8], out: &mut Vec<u8>) {
                ask!([$($variant)* $($told)*] self.encode_header(payload, out));
            }
            fn encode_trailer(&self, out: &mut Vec<u8>, start: usize) {
                ask!([$($variant)* $($told)*] self.encode_trailer(out, start));
            }

            fn is_in(bytes: &[u8]) -> bool {
                $(<$header>::is_in(bytes))||*
            }

            fn decode_header(bytes: &[u8]) -> Result<(Self, usize), Error> {
                let &kind = bytes.first().ok_or(Error::Truncated { have: 0, need: 1 })?;
                $(if <$header>::is_in(bytes) {
                    let (header, len) = <$header>::decode_header(bytes)?;
                    return Ok((Self::$variant(header.into()), len));
                })*
                Err(Error::UnknownType(kind))
            }

            #[inline]
            fn decode_front(front: &[u8]) -> Option<(Self, usize)> {
                $(if <$header>::is_in(front) {
                    let (header, len) = <$header>::decode_front(front)?;
                    return Some((Self::$variant(header.into()), len));
                })*
                None
            }
        }
    };
}

/// The type of a variant's field.
macro_rules! held {
    ($header:ty) => { $header };
    ($header:ty, $holder:ident) => { $holder<$header> };
}

/// Calls the method of the header in the variant.
macro_rules! ask {
    ([$($variant:ident)*] $self:ident.$method:ident $arguments:tt) => {
        match $self {
            $(Self::$variant(header) => header.$method $arguments,)*
        }
    };
}

headers! {
    built_in {
        /// R2C2's source-routed data header (also PFQ's, whose adaptive mode leaves the route empty).
        R2c2Data: r2c2::Data;
        /// R2C2's 16-byte broadcast event.
        R2c2Event: r2c2::Event;
        /// R2C2's notice to a source that one of its broadcasts was dropped.
        R2c2DropNotice: r2c2::DropNotice;
        /// R2C2's acknowledgement of a flow's packets.
        R2c2Acknowledgement: r2c2::Acknowledgement;
        /// R2C2's announcement of routing protocols.
        R2c2Announcement: r2c2::Announcement;
        /// A node's report of an event to R2C2's centralised controller.
        R2c2ControllerEvent: r2c2::ControllerEvent;
        /// The rates that R2C2's centralised controller assigns to a node's flows.
        R2c2ControllerRates: r2c2::ControllerRates, in Box;
        /// R2C2's digest of a node's flows.
        R2c2Digest: r2c2::Digest;
        /// R2C2's request for a repeated broadcast or for a snapshot.
        R2c2Request: r2c2::Request;
        /// R2C2's list of a node's flows. Copies of the packet share the list.
        R2c2Snapshot: r2c2::Snapshot;
        /// A TCP segment in its IPv4 packet.
        Tcp: tcp::Segment;
        /// A UDP datagram of a flow in its IPv4 packet.
        Udp: udp::Datagram;
        /// A packet with Expeditus's tag: an Exp-request or an Exp-response.
        Exp: exp::Tagged, in Box;
        /// HULA's probe.
        HulaProbe: hula::Probe;
        /// A data frame of converged Ethernet.
        Cee: cee::Frame;
        /// A frame that pauses or resumes priorities, sent from one end of a link to the other.
        Pfc: pfc::Pause;
        /// PFQ's credit, from one end of a link to the other.
        Credit: credit::Credit;
        /// Topology discovery's hello, from one end of a link to the other.
        Hello: discovery::Hello;
        /// States of links, which topology discovery floods.
        LinkStates: discovery::LinkStates;
        /// QCN's notice of congestion, from a switch to a source.
        Cnm: cnm::Notice;
        /// A RoCEv2 packet in its IPv4 packet: data, an acknowledgement, or a congestion notification.
        Roce: roce::Packet;
        /// A packet of PDQ.
        Pdq: pdq::Packet;
        /// A packet of D3.
        D3: d3::Packet;
        /// A packet of RCP.
        Rcp: rcp::Packet;
    }
    told {
        /// A whole Ethernet frame of another system, such as a kernel.
        Frame: FrameView;
        /// A header of another crate.
        Extension: Extension;
    }
}

impl Header {
    /// Decodes the built-in header at the start of `bytes`. Returns the header and its length (see
    /// [`HeaderInfo::decode_header`]).
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a packet with a built-in header, or if the packet is incomplete.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), Error> {
        Self::decode_header(bytes)
    }

    /// Appends the packet's bytes to `out`: the header, a payload of zeros, and the trailer.
    ///
    /// # Panics
    /// Panics in the same cases as [`HeaderInfo::encode_header`].
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode_header(&[], out);
        out.resize(out.len() + self.payload_len(), 0);
        self.encode_trailer(out, start);
    }

    /// Appends the packet's bytes to `out`: the header, `payload`, and the trailer.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] if the length of `payload` differs from the length in the header.
    ///
    /// # Panics
    /// Panics in the same cases as [`HeaderInfo::encode_header`].
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

    /// Returns the header if it is an extension header of type `H`.
    #[must_use]
    pub fn extension<H: ExtensionHeader>(&self) -> Option<&H> {
        match self {
            Self::Extension(extension) => extension.get(),
            _ => None,
        }
    }

    /// Returns the header if it is an extension header of type `H`, so that nodes on the path can change it.
    #[must_use]
    pub fn extension_mut<H: ExtensionHeader>(&mut self) -> Option<&mut H> {
        match self {
            Self::Extension(extension) => extension.get_mut(),
            _ => None,
        }
    }
}

impl<H: ExtensionHeader> From<H> for Header {
    fn from(header: H) -> Self {
        Self::Extension(header.into())
    }
}
