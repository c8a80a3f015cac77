//! Links between machines: the sender writes packets into the receiver's data rings by one-sided libfabric writes
//! (specifications/live.md §2).
//!
//! The nodes of a polling thread do not see data rings. The port of a link to another machine puts slots into a ring
//! like any other port. The thread takes the slots out of this ring at once, writes their packets into the receiver's
//! data ring, and frees the slots. The receiver copies each packet into one of its own slots as soon as the packet
//! arrives. It puts the slot into the link's ring, where the packet waits until it is due. So each machine copies a
//! packet once. A packet occupies a data ring only while it is written and read, not for the link's whole delay. If a
//! data ring is full, packets stay in the sender's ring. If that ring is full too, the port drops the packet and counts
//! the drop.
//!
//! A data ring also carries the total time for which the sender has held virtual time. An entry without bytes has this
//! total, in ns, as its due time. Each machine holds virtual time for as long as the machine with the largest total,
//! and tells its neighbours.
//!
//! The receiver checks everything that a peer writes. A data ring checks lengths. An entry whose due time is later than
//! the link allows counts as malformed. If an entry stays incomplete for too long, the receiver gives up the data ring
//! and the sending process.

use super::clock::system_ns;
use super::fabric::{Fabric, Inside};
use super::failures::CREDIT;
use super::party::Offer;
use super::ring::{Consumer, Entry, Producer};
use super::shared::{Region, Words};
use super::{Config, NoRack, Provider, Rack};
use raddle_core::{Bytes, DropReason, Duration, LinkId, NodeId, Packet, Time};
use raddle_rdma::fabric::{
    self, Domain, End, Options, Receiver as DataReceiver, Sender as DataSender, ring_of,
};
use raddle_rdma::ring::{self as data, SILENCE, Shape};
use raddle_topology::Link;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// Maximum number of packets in a data ring. Packets occupy the ring only while they are written and read.
const MOST_OF_RING: usize = 128;

/// Maximum number of packets that one data ring transfers in one pass of the polling thread over its links, so that
/// other links are also served.
const AT_ONCE: usize = 32;

/// Interval between two checks of the peers, in ns.
const LOOKS_NS: u64 = 2_000_000;

/// The largest accepted lead of another machine's clock over this machine's clock. A machine's clock runs ahead until
/// the machine learns that virtual time is held.
const AHEAD: Duration = Duration::from_ms(100);

/// A process that a polling thread can no longer reach.
#[derive(Debug)]
pub(super) struct Gone {
    pub(super) process: usize,
    pub(super) why: String,
}

/// The links of a polling thread that connect its nodes to other machines.
pub(super) struct Crossing {
    domain: Domain,
    leaving: Vec<Leaving>,
    coming: Vec<Coming>,
    gone: Sender<Gone>,
    /// The earliest due time of the packets that could not be written to another machine yet. [`Time::NEVER`] if there
    /// are none.
    first_due: Time,
    /// The time of the latest check of the peers, in ns since the start of the run.
    looked_ns: u64,
}

/// A link to another machine.
struct Leaving {
    /// Index of the link's ring among the rings of the libfabric domain.
    number: u32,
    /// The ring into which the link's port puts packets.
    ring: Consumer<Words>,
    data: DataSender,
    peer: Peer,
    /// The total time for which virtual time was held, in ns, as most recently reported to the receiver.
    told_ns: u64,
}

/// A link from another machine.
struct Coming {
    /// Index of the link's ring among the rings of the libfabric domain.
    number: u32,
    link: LinkId,
    /// Index of the link among the thread's incoming links.
    incoming: usize,
    /// The ring from which the node receives the link's packets.
    ring: Producer<Words>,
    data: DataReceiver,
    peer: Peer,
    /// The longest accepted time between the arrival of a packet and its due time.
    horizon: Duration,
    /// The time at which the data ring's next entry was first found incomplete, in ns. `None` if no part of this entry
    /// has arrived, or this entry is complete.
    partial_since: Option<u64>,
}

/// The process at a link's other end.
struct Peer {
    process: usize,
    /// True once the process is gone and has been reported.
    is_gone: bool,
}

impl Peer {
    /// Reports the process as gone, unless this has been reported before.
    #[cold]
    fn lose(&mut self, gone: &Sender<Gone>, why: impl Into<String>) {
        if !self.is_gone {
            self.is_gone = true;
            let _ = gone.send(Gone { process: self.process, why: why.into() });
        }
    }
}

/// The ends of a thread's rings, before the descriptions ([`Offer`]) of the other ends have arrived. The key is a pair:
/// the link's index among all links, and true for a sending end.
struct Ends {
    domain: Domain,
    ends: BTreeMap<(u32, bool), End>,
}

/// Creates the rings between this process's nodes and the nodes of other machines. Other machines reach this machine at
/// `address`. Returns a channel that reports processes that are gone.
pub(super) fn cross(
    rack: &mut Rack,
    config: &Config,
    region: &Arc<Region>,
    address: IpAddr,
) -> Result<Receiver<Gone>, NoRack> {
    let Rack { workers, layout, party, .. } = rack;
    let party = party.as_mut().expect("a rack over several machines must have a `Party`");
    let parts = party.parts().to_vec();
    let process_of =
        |node: NodeId| parts.iter().position(|part| part.contains(&node.0)).unwrap_or(usize::MAX);
    let shape = shape(config)?;
    let topology = Arc::clone(&workers[0].fabric.topology);
    let links = || (0_u32..).zip(topology.links());
    let mut offers = Vec::new();
    let mut all_ends = Vec::new();
    for thread in layout.own_threads() {
        let mut domain = Domain::open(&options(config.provider, address))?;
        let mut ends = BTreeMap::new();
        for (place, (_, link)) in links() {
            let sends = layout.thread_of(link.from) == thread && layout.is_elsewhere(link.to);
            let receives = layout.thread_of(link.to) == thread && layout.is_elsewhere(link.from);
            if sends || receives {
                let end = End::new(&mut domain, shape)?;
                let process = process_of(if sends { link.to } else { link.from });
                offers.push(Offer { process, link: place, sends, bytes: end.offer(&domain) });
                ends.insert((place, sends), end);
            }
        }
        all_ends.push(Ends { domain, ends });
    }
    let offers = party.trade(offers)?;
    let by_end: BTreeMap<(u32, bool), &Offer> =
        offers.iter().map(|offer| ((offer.link, offer.sends), offer)).collect();
    let (gone, others) = mpsc::channel();
    for (worker, Ends { mut domain, ends }) in workers.iter_mut().zip(all_ends) {
        let (mut leaving, mut coming) = (Vec::new(), Vec::new());
        for (number, ((place, sends), end)) in (0..).zip(ends) {
            let (link, &Link { from, to, rate, delay, .. }) =
                topology.links().nth(place as usize).expect("the topology must have the link");
            let process = process_of(if sends { to } else { from });
            let offer = by_end.get(&(place, !sends)).filter(|offer| offer.process == process);
            let offer = offer.ok_or_else(|| {
                party.lost(process, "the process did not send the memory address of its end of a link")
            })?;
            let malformed = |why: fabric::Error| party.lost(process, why);
            let peer = Peer { process, is_gone: false };
            let words = layout.link(region, place as usize);
            if sends {
                let data = end.sender(&mut domain, number, &offer.bytes).map_err(malformed)?;
                leaving.push(Leaving { number, ring: Consumer::new(words), data, peer, told_ns: 0 });
            } else {
                let data = end.receiver(&mut domain, number, &offer.bytes).map_err(malformed)?;
                let incoming = worker.incoming.iter().position(|incoming| incoming.link == link);
                // Full packets may wait in three rings: the sender's ring, the data ring and the receiver's ring. Half
                // a ring of further packets may wait at the node that sends them. These are fewer packets than four
                // rings hold.
                let all = rate.time_for(Bytes(config.packet_bytes as u64)) * (4 * config.ring as u64);
                coming.push(Coming {
                    number,
                    link,
                    incoming: incoming.expect("the link must end at a node of this thread"),
                    ring: Producer::new(words),
                    data,
                    peer,
                    horizon: delay + all + AHEAD,
                    partial_since: None,
                });
            }
        }
        let is_alone = leaving.is_empty() && coming.is_empty();
        let crossing =
            Crossing { domain, leaving, coming, gone: gone.clone(), first_due: Time::NEVER, looked_ns: 0 };
        worker.crossing = (!is_alone).then_some(crossing);
    }
    Ok(others)
}

impl From<fabric::Error> for NoRack {
    fn from(why: fabric::Error) -> Self {
        Self::Machines(why.to_string())
    }
}

/// The shape of the data rings for packets of this configuration.
fn shape(config: &Config) -> Result<Shape, NoRack> {
    #[allow(clippy::cast_possible_truncation, reason = "the capacity is at most `MOST_OF_RING`")]
    let capacity = config.ring.clamp(8, MOST_OF_RING) as u32;
    let packet_bytes = u32::try_from(config.packet_bytes).unwrap_or(u32::MAX);
    Shape::new(capacity, packet_bytes).map_err(|why| NoRack::Machines(why.to_string()))
}

const fn libfabrics(provider: Provider) -> fabric::Provider {
    match provider {
        Provider::Tcp => fabric::Provider::Tcp,
        Provider::Shm => fabric::Provider::Shm,
        Provider::Verbs => fabric::Provider::Verbs,
    }
}

/// The options with which this machine opens its domains. Other machines reach the domains at `address`.
pub(super) fn options(provider: Provider, address: IpAddr) -> Options {
    Options { provider: libfabrics(provider), bind: address, ..Options::default() }
}

/// The names of the libfabric providers that are available on this machine.
pub(crate) fn providers() -> Vec<&'static str> {
    let is_here = |&(_, provider): &(_, Provider)| libfabrics(provider).is_here();
    Provider::NAMES.iter().filter(|provider| is_here(provider)).map(|&(name, _)| name).collect()
}

impl Crossing {
    /// Lets libfabric make progress, and handles its completions.
    #[inline]
    fn poll(&mut self) {
        let Self { domain, leaving, coming, gone, .. } = self;
        let polled = domain.poll(|tag, result| {
            let number = ring_of(tag);
            if let Ok(of) = leaving.binary_search_by_key(&number, |leaving| leaving.number) {
                leaving[of].data.completed(tag, &result);
            } else if let Ok(of) = coming.binary_search_by_key(&number, |coming| coming.number) {
                coming[of].data.completed(tag, &result);
            }
        });
        if let Err(why) = polled {
            // The endpoint has failed, so the thread can reach no peer.
            let peers = leaving.iter_mut().map(|leaving| &mut leaving.peer);
            peers
                .chain(coming.iter_mut().map(|coming| &mut coming.peer))
                .for_each(|peer| peer.lose(gone, why.to_string()));
        }
    }

    /// Lets libfabric make progress. Returns true if all rings are known to work in both directions. `now_ns` is the
    /// time of the system's clock. A peer whose ring does not work yet does not count as silent, because the party's
    /// connection reports a process that is gone.
    pub(super) fn is_connected(&mut self, now_ns: u64) -> bool {
        self.poll();
        self.keep_up(now_ns);
        let Self { leaving, coming, gone, .. } = self;
        let mut are_all = coming.iter().all(|coming| coming.data.has_told());
        for Leaving { data, peer, .. } in leaving {
            match data.has_heard() {
                Ok(has_heard) => are_all &= has_heard,
                Err(why) => peer.lose(gone, why.to_string()),
            }
        }
        are_all
    }

    /// Tells senders which packets this thread has taken, and that the thread is alive. Reports senders that are gone,
    /// or that leave an entry incomplete for too long.
    fn keep_up(&mut self, now_ns: u64) {
        let Self { domain, coming, gone, .. } = self;
        let now = std::time::Duration::from_nanos(now_ns);
        for Coming { data, peer, partial_since, .. } in coming {
            if let Err(why) = data.keep_up(domain, now) {
                peer.lose(gone, why.to_string());
            }
            *partial_since = data.is_partial().then(|| partial_since.unwrap_or(now_ns));
            #[allow(
                clippy::cast_possible_truncation,
                reason = "`SILENCE` is a few seconds, so its number of nanoseconds fits 64 bits"
            )]
            if partial_since.is_some_and(|since| now_ns - since > SILENCE.as_nanos() as u64) {
                peer.lose(gone, "the process left an incomplete entry in a ring");
            }
        }
    }

    /// Reports the receivers that are gone.
    fn check(&mut self, now_ns: u64) {
        for Leaving { data, peer, .. } in &mut self.leaving {
            if let Err(why) = data.check(std::time::Duration::from_nanos(now_ns)) {
                peer.lose(&self.gone, why.to_string());
            }
        }
    }

    /// Copies each packet that has arrived from another machine into a slot, and puts the slot into the ring of the
    /// packet's link. Takes at most [`AT_ONCE`] packets per link.
    #[inline]
    pub(super) fn take_in(&mut self, fabric: &mut Fabric, now: Time) {
        self.poll();
        let Self { domain, coming, gone, .. } = self;
        for coming in coming.iter_mut().filter(|coming| !coming.peer.is_gone) {
            for _ in 0..AT_ONCE {
                match coming.take(domain, fabric, now) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(why) => {
                        coming.peer.lose(gone, why.to_string());
                        break;
                    }
                }
            }
        }
    }

    /// The earliest due time of the packets that could not be written yet.
    #[inline]
    pub(super) fn first_due(&self) -> Time {
        self.first_due
    }

    /// Writes packets to other machines. `real_ns` is the real time since the start of the run, in ns.
    #[inline]
    pub(super) fn send_out(&mut self, fabric: &mut Fabric, real_ns: u64) {
        let Self { domain, leaving, gone, .. } = self;
        let held_ns = fabric.clock.held_ns();
        let mut first_due = Time::NEVER;
        for leaving in leaving.iter_mut().filter(|leaving| !leaving.peer.is_gone) {
            match leaving.send(domain, fabric, held_ns) {
                Ok(due) => first_due = first_due.min(due),
                Err(why) => leaving.peer.lose(gone, why.to_string()),
            }
        }
        self.first_due = first_due;
        if real_ns > self.looked_ns + LOOKS_NS {
            self.looked_ns = real_ns;
            let now_ns = system_ns();
            self.keep_up(now_ns);
            self.check(now_ns);
        }
    }
}

impl Leaving {
    /// Writes the packets for which there is room, at most [`AT_ONCE`]. Returns the due time of the first packet for
    /// which there is no room, or [`Time::NEVER`].
    #[inline]
    fn send(
        &mut self,
        domain: &mut Domain,
        fabric: &mut Fabric,
        held_ns: u64,
    ) -> Result<Time, fabric::Error> {
        let Self { ring, data, told_ns, .. } = self;
        if held_ns > *told_ns && data.push(domain, held_ns, 0, &[])? {
            *told_ns = held_ns;
        }
        for _ in 0..AT_ONCE {
            // This thread itself has put the entry into the ring, so the entry is valid.
            let Ok(Some(Entry { due, slot, len, tag })) = ring.peek() else { return Ok(Time::NEVER) };
            if !data.push_words(domain, due, tag, fabric.slots.words(slot), len as usize)? {
                return Ok(Time::from_ps(due));
            }
            ring.take();
            fabric.free(slot);
        }
        Ok(Time::NEVER)
    }
}

impl Coming {
    /// Receives a packet, or a report of the time for which virtual time was held. Returns false if nothing has
    /// arrived, or the link's ring has no room for the packet.
    #[inline]
    fn take(&mut self, domain: &mut Domain, fabric: &mut Fabric, now: Time) -> Result<bool, fabric::Error> {
        let Some(entry) = self.data.peek()? else { return Ok(false) };
        if entry.len == 0 {
            fabric.clock.hold_as(entry.due);
            self.data.take(domain)?;
            return Ok(true);
        }
        // Only this thread takes packets out of the ring, so the ring is not broken.
        if !self.ring.room().is_ok_and(|room| room > 0) {
            return Ok(false);
        }
        let due = Time::from_ps(entry.due);
        let slot = if due <= now + self.horizon { fabric.take_slot() } else { None };
        match slot {
            Some(slot) => {
                self.data.read_words(fabric.slots.words(slot));
                let _ = self.ring.push(Entry { due: entry.due, slot, len: entry.len, tag: entry.tag });
                fabric.copies += 1;
                fabric.expect(self.incoming, due);
            }
            None => self.lose(fabric, entry, due > now + self.horizon),
        }
        self.data.take(domain)?;
        Ok(true)
    }

    /// Drops a packet for which there is no slot, or whose due time is too far in the future (`is_strange`).
    #[cold]
    fn lose(&self, fabric: &mut Fabric, entry: data::Entry, is_strange: bool) {
        fabric.taken += 1;
        let mut bytes = vec![0; entry.len as usize];
        self.data.read(&mut bytes);
        let packet = match Packet::decode(&bytes, &fabric.decoders) {
            _ if is_strange => Err(raddle_wire::Error::Invalid { field: "due", value: entry.due }),
            read => read,
        };
        match packet {
            Ok(_) if entry.tag & CREDIT != 0 => {} // a credit is not counted as a lost packet
            Ok(packet) => {
                let Link { from, from_port, .. } =
                    *fabric.topology.link(self.link).expect("the topology must have the link");
                let inside = Inside::bare(packet);
                fabric.lose_on_link(from, from_port, self.link, inside, DropReason::QueueFull);
            }
            Err(error) => {
                let no_slot = Entry { due: 0, slot: u32::MAX, len: 0, tag: 0 };
                fabric.lose_malformed(no_slot, self.link, error);
            }
        }
    }
}
