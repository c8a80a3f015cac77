//! The messages between the processes that share a rack. One process is the host, and the others are its guests.

use super::super::fidelity::Readings;
use super::super::told::{Told, Word};
use super::Lost;
use raddle_core::{
    Decoders, DropReason, FlowControlAccount, FlowKey, LinkId, LinkStats, NodeId, Packet, PortId, Report,
    Time, Totals,
};
use raddle_topology::Topology;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// A message from a guest to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromGuest {
    /// The guest asks to be let in.
    Greeting(Greeting),
    /// The guest shows that it knows the secret.
    Proof(Proof),
    /// Requests the time on the host's clock. Carries the time on the guest's clock, in ns.
    Ping(u64),
    /// The descriptions of the guest's ends of rings between machines.
    Offers(Vec<Offer>),
    /// The guest's nodes are built, and the guest waits for the start of virtual time.
    Ready,
    /// The progress of the guest's nodes, and their reports since the previous message of this kind.
    Heard(Heard),
    /// The guest's results, in its last message.
    Ended(Box<Ended>),
}

/// A message from the host to a guest.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromHost {
    /// Shows that the host knows the secret. Only a guest that knows the secret can answer the challenge.
    Challenge { nonce: [u8; 32], proof: Proof },
    /// All processes have joined. Contains the nodes of each process, the index of the guest and the index of the host.
    Welcome { parts: Vec<Range<u32>>, own: usize, host: usize },
    /// The host does not let the guest in. The text is the reason.
    Refused(String),
    /// Answers a ping. `ping` is the guest's clock when the guest sent the ping. `heard` and `said` are the host's
    /// clock when the host received the ping and when the host answered.
    Pong { ping: u64, heard: u64, said: u64 },
    /// The descriptions of the other ends of the guest's rings.
    Offers(Vec<Offer>),
    /// The start of virtual time, in ns of the host's clock.
    Begin(u64),
    /// The run is over. `complete` is true if all work was done or the time limit passed. If the loss of a process
    /// ended the run, `lost` names the process.
    Stop { complete: bool, lost: Option<Lost> },
}

/// The description of one end of a ring between machines, for the process at the other end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Offer {
    /// On the way to the host, this is the process that must receive the offer. On the way from the host, this is the
    /// process that made the offer.
    pub(crate) process: usize,
    /// The ring's link, as a position in the order of [`Topology::links`].
    pub(crate) link: u32,
    /// True if this is the sending end.
    pub(crate) sends: bool,
    pub(crate) bytes: Vec<u8>,
}

/// The request of a process to be let in.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) experiment: String,
    pub(super) nodes: Range<u32>,
    pub(super) nonce: [u8; 32],
}

/// Proof that a process knows the secret: an HMAC.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Proof(pub(super) [u8; 32]);

/// Progress of all threads of a process together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Count {
    /// The latest virtual time of all threads, in ps.
    pub(crate) now: u64,
    pub(crate) packet_hops: u64,
    pub(crate) flows_delivered: u64,
    /// Number of packets that were put into rings or wait at ports, without packets of topology discovery. Credits
    /// count as packets.
    pub(crate) put: u64,
    /// Number of packets taken out of rings, without packets of topology discovery. Credits count as packets.
    pub(crate) taken: u64,
    /// True if all flows of the process have started, and its nodes do nothing but send hello messages until a packet
    /// arrives.
    pub(crate) is_quiet: bool,
    /// True while programs or a load generator use the process's nodes.
    pub(crate) has_programs: bool,
    /// True if the time limit has passed.
    pub(crate) is_over: bool,
}

/// The progress of a process's own nodes, and their reports since the previous look.
#[derive(Debug)]
pub(crate) struct Look {
    /// The system's clock when the look began, in ns. This look and the looks before it contain every event that was
    /// reported before this time.
    pub(crate) began_ns: u64,
    pub(crate) count: Count,
    pub(crate) words: Vec<Word>,
}

/// A [`Look`] in the form in which a guest sends it to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) began_ns: u64,
    pub(crate) count: Count,
    words: Vec<Sent>,
    /// True if another message continues the same look.
    pub(crate) goes_on: bool,
}

/// Maximum number of events in a message. Even if each event carries a packet of the default maximum size (9 KB), the
/// message stays within the size limit.
const MOST_WORDS: usize = 1_000;

impl Heard {
    /// Puts a look into one message, without its reports of malformed bytes.
    pub(crate) fn new(look: &Look) -> Self {
        let &Look { began_ns, count, ref words } = look;
        Self { began_ns, count, words: words.iter().filter_map(Sent::of).collect(), goes_on: false }
    }

    /// Converts the real times in this message from the system's clock to a clock that is `ns` ns ahead.
    pub(super) fn ahead_by(mut self, ns: i64) -> Self {
        self.began_ns = self.began_ns.saturating_add_signed(ns);
        self.words.iter_mut().for_each(|word| word.said_ns = word.said_ns.saturating_add_signed(ns));
        self
    }

    /// Splits this message into messages with at most [`MOST_WORDS`] events each.
    pub(super) fn in_pieces(mut self) -> impl Iterator<Item = Self> {
        let mut pieces = Vec::new();
        while self.words.len() > MOST_WORDS {
            let rest = self.words.split_off(MOST_WORDS);
            pieces.push(Self { words: std::mem::replace(&mut self.words, rest), goes_on: true, ..self });
        }
        pieces.push(self);
        pieces.into_iter()
    }

    /// The events that are valid in this rack. Invalid events are skipped.
    pub(crate) fn words(self, rack: &Known) -> impl Iterator<Item = Word> {
        self.words.into_iter().filter_map(|sent| sent.word(rack))
    }
}

/// The nodes, ports, flows and links that exist. An event about any other node, port, flow or link is discarded,
/// because observers use these numbers as indices.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) topology: Arc<Topology>,
    pub(crate) nodes: u32,
    /// Number of flows in the workload.
    pub(crate) flows: u64,
    /// Decoders of the packets' headers.
    pub(crate) decoders: Decoders,
}

/// The times of events must be below this time. No run reaches this time, and the sum of two times below it does not
/// overflow.
const LATEST: Time = Time::from_ps(1 << 62);

impl Known {
    fn has_node(&self, node: NodeId) -> bool {
        node.0 < self.nodes
    }

    fn has_port(&self, node: NodeId, port: Option<PortId>) -> bool {
        self.has_node(node) && port.is_none_or(|port| port.index() < self.topology.port_count(node))
    }

    fn has_link(&self, link: LinkId) -> bool {
        link.index() < self.topology.link_slots() && self.topology.link(link).is_some()
    }

    fn has_subject(&self, told: &Told) -> bool {
        match *told {
            Told::Report(node, Report::Opened { flow, .. }) => {
                self.has_node(node) && u64::from(flow.0) < self.flows
            }
            Told::Report(node, Report::Began { dst, .. }) => self.has_node(node) && self.has_node(dst),
            Told::Report(node, _) => self.has_node(node),
            Told::Forwarded { sent, link, .. } => sent < LATEST && self.has_link(link),
            Told::Dropped { node, port, .. } => self.has_port(node, port),
            Told::Malformed { link, .. } => self.has_link(link),
        }
    }
}

/// A [`Word`] in the form in which a guest sends it to the host, with packets as bytes. Reports of malformed bytes are
/// not sent to the host.
#[derive(Debug, Serialize, Deserialize)]
struct Sent {
    at: Time,
    said_ns: u64,
    told: SentTold,
}

#[derive(Debug, Serialize, Deserialize)]
enum SentTold {
    Report(NodeId, Report),
    /// `is_whole` is true if `packet` includes the real payload, as for a kernel's frame. Otherwise the payload is
    /// zeros.
    Forwarded {
        sent: Time,
        link: LinkId,
        packet: Vec<u8>,
        is_whole: bool,
    },
    Dropped {
        node: NodeId,
        port: Option<PortId>,
        packet: Vec<u8>,
        why: DropReason,
    },
}

impl Sent {
    fn of(word: &Word) -> Option<Self> {
        let bytes = |packet: &Packet| {
            let mut bytes = Vec::new();
            packet.encode(&mut bytes);
            bytes
        };
        let told = match &word.told {
            &Told::Report(node, report) => SentTold::Report(node, report),
            &Told::Forwarded { sent, link, ref packet, bytes: ref whole } => {
                let is_whole = !whole.is_empty();
                let packet = if is_whole { whole.clone() } else { bytes(packet) };
                SentTold::Forwarded { sent, link, packet, is_whole }
            }
            &Told::Dropped { node, port, ref packet, why } => {
                SentTold::Dropped { node, port, packet: bytes(packet), why }
            }
            Told::Malformed { .. } => return None,
        };
        Some(Self { at: word.at, said_ns: word.said_ns, told })
    }

    fn word(self, rack: &Known) -> Option<Word> {
        let read = |bytes: &[u8]| Packet::decode(bytes, &rack.decoders).ok();
        let told = match self.told {
            SentTold::Report(node, report) => Told::Report(node, report),
            SentTold::Forwarded { sent, link, packet, is_whole } => {
                let bytes = if is_whole { packet.clone() } else { Vec::new() };
                Told::Forwarded { sent, link, packet: read(&packet)?, bytes }
            }
            SentTold::Dropped { node, port, packet, why } => {
                Told::Dropped { node, port, packet: read(&packet)?, why }
            }
        };
        let word = Word { at: self.at, said_ns: self.said_ns, told };
        (word.at < LATEST && rack.has_subject(&word.told)).then_some(word)
    }
}

/// A process's results at the end of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// The latest virtual time of all threads of the process.
    pub(crate) now: Time,
    pub(crate) totals: Totals,
    /// Statistics of each link, indexed by [`LinkId`].
    pub(crate) links: Vec<LinkStats>,
    /// One entry per link that has flow control and starts at a node of the process.
    pub(crate) flow_control: Vec<(LinkId, FlowControlAccount)>,
    pub(crate) readings: Readings,
    /// Number of times that a packet's bytes were copied on the way.
    pub(crate) copies: u64,
    /// Share of the machine's CPU time that other virtual machines took, from 0 to 1; `None` if the system does not
    /// report it.
    pub(crate) steal: Option<f64>,
    /// Number of retransmitted packets by host and flow, for flows that their host has not closed.
    pub(crate) retransmissions: Vec<(NodeId, FlowKey, u32)>,
    /// Descriptions of the events for which the hosts' programs still wait.
    pub(crate) waiting: Vec<String>,
}

impl Ended {
    /// Returns true if all counts are small enough that their sums over all processes do not overflow, and `steal` is
    /// between 0 and 1.
    pub(super) fn is_possible(&self) -> bool {
        const MOST: u64 = 1 << 56;
        let Totals {
            events,
            packet_hops,
            kinds,
            sent,
            delivered,
            dropped,
            drops,
            sent_bytes,
            delivered_bytes,
            dropped_bytes,
            trimmed,
            flows_started,
            flows_delivered,
        } = self.totals;
        let totals = [
            events,
            packet_hops,
            sent,
            delivered,
            dropped,
            sent_bytes,
            delivered_bytes,
            dropped_bytes,
            trimmed,
            flows_started,
            flows_delivered,
            drops.queue_full,
            drops.link_down,
            drops.no_route,
            drops.malformed,
            drops.lost,
            drops.handshake,
            self.copies,
        ];
        let kinds = kinds.iter().flat_map(|count| [count.packets, count.bytes]);
        let links = self.links.iter().flat_map(|link| {
            let LinkStats { data_packets, data_bytes, control_packets, control_bytes, drops, peak_queue } =
                *link;
            [data_packets, data_bytes, control_packets, control_bytes, drops, peak_queue]
        });
        let controls = self.flow_control.iter().flat_map(|(_, account)| {
            [account.pauses, account.paused.as_ps(), account.peak_memory, account.overflows]
        });
        totals
            .into_iter()
            .chain(kinds)
            .chain(links)
            .chain(controls)
            .chain(self.readings.numbers())
            .all(|number| number < MOST)
            && self.steal.is_none_or(|share| (0.0..=1.0).contains(&share))
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
pub(super) mod tests {
    use super::*;
    use crate::rack::fidelity::Meter;
    use proptest::prelude::*;
    use raddle_core::{Credit, Duration, FlowId, Header, Rate};
    use raddle_topology::builders;

    /// Four nodes in a ring, and fifty flows.
    pub(in crate::rack::party) fn known() -> Known {
        let topology = builders::torus(&[4], Rate::from_gbps(5), Duration::ZERO);
        Known {
            topology: Arc::new(topology.expect("a ring")),
            nodes: 4,
            flows: 50,
            decoders: Decoders::BUILTIN,
        }
    }

    /// Observers use the numbers of flows, nodes and links as indices.
    #[test]
    fn reports_about_unknown_nodes_flows_and_links_are_ignored() {
        let (node, key) = (NodeId(3), FlowKey(7));
        let opened = |node, flow| Told::Report(node, Report::Opened { flow: FlowId(flow), key });
        let packet = || Packet::new(Credit::LEN as u32, Header::Credit(Credit::new(1, 2, [])));
        let dropped = |node, port| Told::Dropped {
            node,
            port: Some(PortId(port)),
            packet: packet(),
            why: DropReason::Lost,
        };
        let is_told = |at: u64, told: Told| {
            let look = Look {
                began_ns: 0,
                count: Count::default(),
                words: vec![Word { at: Time::from_ps(at), said_ns: 0, told }],
            };
            Heard::new(&look).words(&known()).count() == 1
        };
        assert!(is_told(5, opened(node, 49)) && is_told(5, Told::Report(node, Report::Finished)));
        for told in [
            opened(node, 50),
            opened(NodeId(4), 49),
            opened(node, u32::MAX),
            dropped(node, 2),
            dropped(NodeId(9), 0),
        ] {
            assert!(!is_told(5, told));
        }
        assert!(!is_told(u64::MAX, opened(node, 49)));
        let forwarded = |link| Told::Forwarded {
            sent: Time::ZERO,
            link: LinkId(link),
            packet: packet(),
            bytes: Vec::new(),
        };
        assert!(is_told(5, forwarded(0)) && !is_told(5, forwarded(8)) && !is_told(5, forwarded(u32::MAX)));
    }

    fn ended(change: impl FnOnce(&mut Ended)) -> Ended {
        let mut ended = Ended {
            now: Time::ZERO,
            totals: Totals::default(),
            links: vec![LinkStats::default()],
            flow_control: Vec::new(),
            readings: Meter::new().readings(),
            copies: 0,
            steal: None,
            retransmissions: Vec::new(),
            waiting: Vec::new(),
        };
        change(&mut ended);
        ended
    }

    #[test]
    fn numbers_that_cannot_be_added_up_are_refused() {
        assert!(ended(|_| {}).is_possible());
        assert!(
            ended(|ended| ended.now = Time::NEVER).is_possible(),
            "the end time may be `NEVER`, because the end times of processes are not added up"
        );
        let changes: [fn(&mut Ended); 5] = [
            |ended| ended.steal = Some(f64::NAN),
            |ended| ended.totals.drops.lost = u64::MAX,
            |ended| ended.totals.kinds[3].bytes = 1 << 60,
            |ended| ended.links[0].peak_queue = 1 << 56,
            |ended| ended.copies = u64::MAX,
        ];
        for (i, change) in changes.into_iter().enumerate() {
            assert!(!ended(change).is_possible(), "change {i}");
        }
    }

    #[test]
    fn a_long_look_goes_in_pieces_and_only_the_last_one_ends_it() {
        let word = |at: usize| Word {
            at: Time::from_ps(at as u64),
            said_ns: 0,
            told: Told::Report(NodeId(0), Report::Finished),
        };
        let words = (0..=(2 * MOST_WORDS)).map(word).collect();
        let look = Look { began_ns: 5, count: Count { put: 7, ..Count::default() }, words };
        let pieces: Vec<Heard> = Heard::new(&look).in_pieces().collect();
        assert_eq!(pieces.iter().map(|piece| piece.goes_on).collect::<Vec<_>>(), [true, true, false]);
        assert!(pieces.iter().all(|piece| (piece.began_ns, piece.count.put) == (5, 7)));
        let rack = known();
        let words = pieces.into_iter().flat_map(|piece| piece.words(&rack));
        assert!(words.enumerate().all(|(at, word)| word.at == Time::from_ps(at as u64)));
    }

    proptest! {
        /// Arbitrary bytes decode to a message or are rejected, without a panic.
        #[test]
        fn any_bytes_are_a_message_or_none(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0_u8..7) {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            let _ = postcard::from_bytes::<FromHost>(&bytes);
            match postcard::from_bytes(&bytes) {
                Ok(FromGuest::Heard(heard)) => prop_assert!(heard.words(&known()).count() <= bytes.len()),
                Ok(FromGuest::Ended(ended)) => { ended.is_possible(); }
                _ => {}
            }
        }
    }
}
