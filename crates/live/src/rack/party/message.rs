//! What the processes of a party say to each other.

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

/// What a guest says to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromGuest {
    /// It wants to be let in.
    Greeting(Greeting),
    /// It knows the secret.
    Proof(Proof),
    /// What the host's clock shows? The guest's shows so many ns.
    Ping(u64),
    /// Its ends of rings.
    Offers(Vec<Offer>),
    /// Its nodes are there, and wait for time to begin.
    Ready,
    /// What its nodes have done so far.
    Heard(Heard),
    /// Its last word.
    Ended(Box<Ended>),
}

/// What the host says to a guest.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum FromHost {
    /// Whoever knows the secret can answer this; the host knows it.
    Challenge { nonce: [u8; 32], proof: Proof },
    /// All are there: the nodes of each process, and which of them are the guest and the host.
    Welcome { parts: Vec<Range<u32>>, own: usize, host: usize },
    /// The guest is not let in, in words that begin with "it".
    Refused(String),
    /// Answers a ping, which the guest sent when its clock showed `ping`: the host heard it when its own showed `heard`, and answered
    /// when it showed `said`.
    Pong { ping: u64, heard: u64, said: u64 },
    /// The other ends of the guest's rings.
    Offers(Vec<Offer>),
    /// Time begins when the host's clock shows so many ns.
    Begin(u64),
    /// The run is over, at its own end or not; not, if a process is gone.
    Stop { complete: bool, lost: Option<Lost> },
}

/// What the other end of a ring between machines must know of an end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Offer {
    /// On the way to the host, the process that the offer is for; on the way from it, the process that made the offer.
    pub(crate) process: usize,
    /// The link of the ring, by its place among all.
    pub(crate) link: u32,
    /// Whether this is the end that sends.
    pub(crate) sends: bool,
    pub(crate) bytes: Vec<u8>,
}

/// A process that wants to be let in.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) version: String,
    pub(super) experiment: String,
    pub(super) nodes: Range<u32>,
    pub(super) nonce: [u8; 32],
}

/// What shows that a process knows the secret.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Proof(pub(super) [u8; 32]);

/// How far the threads of a process are, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Count {
    /// The latest of their times, in ps.
    pub(crate) now: u64,
    pub(crate) packet_hops: u64,
    pub(crate) flows_delivered: u64,
    /// Packets put into rings, and taken out of them.
    pub(crate) put: u64,
    pub(crate) taken: u64,
    /// Whether their flows have all started and no node wants to be woken.
    pub(crate) is_quiet: bool,
    /// Whether programs use its nodes.
    pub(crate) has_programs: bool,
    /// Whether the time limit has come.
    pub(crate) is_over: bool,
}

/// What a process has seen and heard of its own nodes at a look.
#[derive(Debug)]
pub(crate) struct Look {
    /// What the system's clock showed when the process began to look, in ns. All that was said before is heard at this look or was
    /// heard before.
    pub(crate) began_ns: u64,
    pub(crate) count: Count,
    pub(crate) words: Vec<Word>,
}

/// A [`Look`] on its way to the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Heard {
    pub(crate) began_ns: u64,
    pub(crate) count: Count,
    words: Vec<Sent>,
    /// Whether more of the same look follows.
    pub(crate) goes_on: bool,
}

/// Most words of a message: with a full packet each, they fit one.
const MOST_WORDS: usize = 1_000;

impl Heard {
    /// All of a look.
    pub(crate) fn new(look: &Look) -> Self {
        let &Look { began_ns, count, ref words } = look;
        Self { began_ns, count, words: words.iter().filter_map(Sent::of).collect(), goes_on: false }
    }

    /// The same, as a clock has it that is so many ns ahead.
    pub(super) fn ahead_by(mut self, ns: i64) -> Self {
        self.began_ns = self.began_ns.saturating_add_signed(ns);
        self.words.iter_mut().for_each(|word| word.said_ns = word.said_ns.saturating_add_signed(ns));
        self
    }

    /// The same in pieces that messages can carry.
    pub(super) fn in_pieces(mut self) -> impl Iterator<Item = Self> {
        let mut pieces = Vec::new();
        while self.words.len() > MOST_WORDS {
            let rest = self.words.split_off(MOST_WORDS);
            pieces.push(Self { words: std::mem::replace(&mut self.words, rest), goes_on: true, ..self });
        }
        pieces.push(self);
        pieces.into_iter()
    }

    /// The words of it that make sense.
    pub(crate) fn words(self, rack: &Known) -> impl Iterator<Item = Word> {
        self.words.into_iter().filter_map(|sent| sent.word(rack))
    }
}

/// What words can be about. Observers look things up by the numbers in them.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) topology: Arc<Topology>,
    pub(crate) nodes: u32,
    /// Flows of the workload.
    pub(crate) flows: u64,
    /// The headers of packets.
    pub(crate) decoders: Decoders,
}

/// No run gets there, and times of this size can be added up.
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

/// A [`Word`] on its way to the host. Packets are their bytes, and of bytes that are no packet only their process hears.
#[derive(Debug, Serialize, Deserialize)]
struct Sent {
    at: Time,
    said_ns: u64,
    told: SentTold,
}

#[derive(Debug, Serialize, Deserialize)]
enum SentTold {
    Report(NodeId, Report),
    /// `is_whole` if the bytes are those of a packet with the payload of another system.
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

/// What a process leaves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// The latest time of its threads.
    pub(crate) now: Time,
    pub(crate) totals: Totals,
    /// By [`LinkId`].
    pub(crate) links: Vec<LinkStats>,
    /// Of links that have flow control.
    pub(crate) flow_control: Vec<(LinkId, FlowControlAccount)>,
    pub(crate) readings: Readings,
    /// Packets whose bytes were copied on the way.
    pub(crate) copies: u64,
    /// Share of the machine's time that other machines took, if the system tells.
    pub(crate) steal: Option<f64>,
    /// Packets that hosts sent more than once, of flows that they have not closed.
    pub(crate) retransmissions: Vec<(NodeId, FlowKey, u32)>,
    /// What hosts' programs still wait for, in words.
    pub(crate) waiting: Vec<String>,
}

impl Ended {
    /// Whether its numbers are such that adding those of all processes up stays a number.
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

    /// Who keeps records looks flows, nodes and links up by their numbers.
    #[test]
    fn words_about_what_the_rack_does_not_have_are_not_told() {
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
        assert!(ended(|ended| ended.now = Time::NEVER).is_possible(), "times are not added up");
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
        let words = (0..2 * MOST_WORDS + 1).map(word).collect();
        let look = Look { began_ns: 5, count: Count { put: 7, ..Count::default() }, words };
        let pieces: Vec<Heard> = Heard::new(&look).in_pieces().collect();
        assert_eq!(pieces.iter().map(|piece| piece.goes_on).collect::<Vec<_>>(), [true, true, false]);
        assert!(pieces.iter().all(|piece| (piece.began_ns, piece.count.put) == (5, 7)));
        let rack = known();
        let words = pieces.into_iter().flat_map(|piece| piece.words(&rack));
        assert!(words.enumerate().all(|(at, word)| word.at == Time::from_ps(at as u64)));
    }

    proptest! {
        /// Whatever comes is a message or none; and the words of it that make sense are told.
        #[test]
        fn any_bytes_are_a_message_or_none(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), kind in 0_u8..5) {
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
