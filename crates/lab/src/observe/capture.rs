//! Packet captures: the choice of links, and the packets of these links in the order in which they leave.

use crate::Error;
use crate::experiment::{Cause, Pcap};
use raddle_core::{LinkId, NodeId, Packet, Time};
use raddle_records::{Interface, PcapngWriter};
use raddle_topology::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Parses the links that the experiment names: `all`, or link numbers and pairs of nodes as in `3->12, 12->3, 40`.
///
/// # Errors
/// If the text does not name links, or if a link does not exist.
pub(crate) fn links(named: &str, topology: &Topology) -> Result<BTreeSet<LinkId>, Cause> {
    if named.trim() == "all" {
        return Ok(topology.links().map(|(id, _)| id).collect());
    }
    let mut links = BTreeSet::new();
    for named in named.split(',') {
        links.extend(link(named.trim(), topology)?);
    }
    Ok(links)
}

/// The links that `named` names: one link by its number, or all links from one node to another (`3->12`).
fn link(named: &str, topology: &Topology) -> Result<Vec<LinkId>, Cause> {
    let refuse = |what: String, hint: String| Err(Cause::OutOfRange { what, hint });
    let node = |text: &str| text.trim().parse().ok().map(NodeId);
    if let Some((from, to)) = named.split_once("->") {
        let (Some(from), Some(to)) = (node(from), node(to)) else {
            return refuse(
                format!("`{named}` is not a link between two nodes"),
                "give the numbers of two nodes, \
                                   such as \"3->12\""
                    .to_owned(),
            );
        };
        let nodes = topology.node_count();
        if from.index() >= nodes {
            return refuse(
                format!("the topology has no node {from}"),
                format!("the topology's nodes are 0 to {}", nodes - 1),
            );
        }
        let leads = topology.links_from(from).filter(|(_, link)| link.to == to).map(|(id, _)| id);
        let leads: Vec<LinkId> = leads.collect();
        if leads.is_empty() {
            let neighbours: BTreeSet<NodeId> = topology.links_from(from).map(|(_, link)| link.to).collect();
            let neighbours: Vec<String> = neighbours.iter().map(ToString::to_string).collect();
            let what = format!("there is no link from node {from} to node {to}");
            return refuse(what, format!("node {from} has links to {}", neighbours.join(", ")));
        }
        return Ok(leads);
    }
    match named.parse().map(LinkId) {
        Ok(id) if id.index() < topology.link_slots() && topology.link(id).is_some() => Ok(vec![id]),
        Ok(id) => {
            let hint = format!(
                "give a number from 0 to {} that belongs to a link; ports without a link have numbers too",
                topology.link_slots() - 1
            );
            refuse(format!("the topology has no link {}", id.0), hint)
        }
        Err(_) => refuse(
            format!("`{named}` is not a link"),
            "give \"all\", pairs of nodes such as \"3->12, 12->3\", or the numbers of links".to_owned(),
        ),
    }
}

/// A packet whose last bit has not left yet, and its bytes if it carries the payload of another system, such as a
/// kernel.
struct Waiting {
    packet: Packet,
    bytes: Option<Vec<u8>>,
}

/// Writes the packets of the chosen links, each with the time at which its last bit leaves.
pub(crate) struct Capture {
    writer: PcapngWriter,
    /// Interface number by link; set only for captured links.
    interfaces: Vec<Option<u32>>,
    /// Packets whose last bit has not left yet. Engines report a packet before that: when a FIFO accepts it, or when a
    /// port with another kind of queue begins to send it. The key is the time at which the packet's last bit leaves,
    /// the link, and the number of packets of captured links that were reported earlier.
    waiting: BTreeMap<(Time, LinkId, u64), Waiting>,
    accepted: u64,
}

impl Capture {
    /// Begins to capture the packets of `links` into the file at `path`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn create(
        path: &Path,
        pcap: &Pcap,
        links: &BTreeSet<LinkId>,
        topology: &Topology,
    ) -> Result<Self, Error> {
        let mut interfaces = vec![None; topology.link_slots()];
        let mut described = Vec::new();
        for (interface, &id) in (0..).zip(links) {
            interfaces[id.index()] = Some(interface);
            let link = topology.link(id).expect("the topology must have every captured link");
            described.push(Interface {
                name: format!("{}->{}", link.from, link.to),
                description: format!("link {}, port {} of node {}", id.0, link.from_port, link.from),
                rate: link.rate,
            });
        }
        let writer = PcapngWriter::create(path, &described, pcap.snap)?;
        Ok(Self { writer, interfaces, waiting: BTreeMap::new(), accepted: 0 })
    }

    /// Called at `now`, when a FIFO accepts a packet, or when a port with another kind of queue begins to send it. The
    /// packet's last bit leaves over `link` at `sent`. `bytes` are the packet's bytes, if the packet carries the
    /// payload of another system, such as a kernel.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn accepted(
        &mut self,
        now: Time,
        sent: Time,
        link: LinkId,
        packet: &Packet,
        bytes: Option<&[u8]>,
    ) -> Result<(), Error> {
        if self.interfaces[link.index()].is_none() {
            return Ok(());
        }
        // No packet that is accepted later leaves before `now`, so all packets that leave before `now` can be written
        // in order.
        self.write(|leaves| leaves < now)?;
        let waiting = Waiting { packet: packet.clone(), bytes: bytes.map(<[u8]>::to_vec) };
        self.waiting.insert((sent, link, self.accepted), waiting);
        self.accepted += 1;
        Ok(())
    }

    /// Ends the capture at `end`. Packets that would leave later are not written.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn finish(mut self, end: Time) -> Result<(), Error> {
        self.write(|leaves| leaves <= end)?;
        Ok(self.writer.finish()?)
    }

    fn write(&mut self, has_left: impl Fn(Time) -> bool) -> Result<(), Error> {
        while let Some(first) = self.waiting.first_entry()
            && has_left(first.key().0)
        {
            let ((sent, link, _), Waiting { packet, bytes }) = first.remove_entry();
            let interface =
                self.interfaces[link.index()].expect("each waiting packet must be from a captured link");
            self.writer.push(sent, interface, &packet, bytes.as_deref())?;
        }
        Ok(())
    }
}
