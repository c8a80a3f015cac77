//! The ends of a data ring over a [`Domain`].
//!
//! Each side creates an [`End`] and sends its [offer](End::offer) to the other side over another connection, such as
//! TCP. With the other side's offer, each side turns its end into a [`Sender`] or a [`Receiver`]. A domain serves many
//! rings. Each ring has a number, and the tag of every write contains the number of the write's ring.

use super::{Domain, Error, Memory, Peer, Remote, WriteFailed};
use crate::ring::{self, Entry, Refused, Shape, Wire};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The first four bytes of an offer. The fourth byte is the version of the memory layout.
const MAGIC: [u8; 4] = *b"RDR\x01";

/// Number of bytes of an offer before the address: magic, capacity, packet size, description of the memory.
const FIXED: usize = 12 + Remote::LEN;

/// One end of a ring, before the other end's offer has arrived.
#[derive(Debug)]
pub struct End {
    shape: Shape,
    memory: Memory,
}

impl End {
    /// Registers memory for an end of a ring.
    ///
    /// # Errors
    /// [`Error::Library`], if the provider cannot register that much memory.
    pub fn new(domain: &mut Domain, shape: Shape) -> Result<Self, Error> {
        Ok(Self { shape, memory: domain.register(shape.words())? })
    }

    /// The memory that the other end may write to.
    #[must_use]
    pub fn remote(&self) -> Remote {
        self.memory.remote()
    }

    /// Encodes the description of this end for the other end: shape, memory and address.
    #[must_use]
    pub fn offer(&self, domain: &Domain) -> Vec<u8> {
        let mut offer = Vec::from(MAGIC);
        offer.extend(self.shape.capacity().to_le_bytes());
        offer.extend(self.shape.packet_bytes().to_le_bytes());
        offer.extend(self.memory.remote().encode());
        offer.extend(domain.address());
        offer
    }

    fn route(self, domain: &mut Domain, number: u32, offer: &[u8]) -> Result<Route, Error> {
        let malformed = || Error::Malformed { what: "an offer with this ring's capacity and packet size" };
        let (fixed, address) = offer.split_first_chunk::<FIXED>().ok_or_else(malformed)?;
        let remote = Remote::decode(&fixed[12..])?;
        let own = self.offer(domain);
        // Both ends must have the same shape. The other end's memory must have the size that the shape requires.
        if fixed[..12] != own[..12] || remote.words() != self.shape.words() as u64 {
            return Err(malformed());
        }
        let peer = domain.insert(address)?;
        Ok(Route { memory: self.memory, peer, remote, number })
    }

    /// Turns this end into the sending end. `number` must differ from the numbers of the domain's other rings.
    ///
    /// # Errors
    /// [`Error::Malformed`], if the other end's offer is invalid, or has another shape; [`Error::Library`], if
    /// libfabric refuses the address.
    pub fn sender(self, domain: &mut Domain, number: u32, offer: &[u8]) -> Result<Sender, Error> {
        let shape = self.shape;
        let route = self.route(domain, number, offer)?;
        Ok(Sender { ring: ring::Sender::new(route.memory.clone(), shape), route, lost: None })
    }

    /// Turns this end into the receiving end. `number` must differ from the numbers of the domain's other rings.
    ///
    /// # Errors
    /// [`Error::Malformed`], if the other end's offer is invalid, or has another shape; [`Error::Library`], if
    /// libfabric refuses the address.
    pub fn receiver(self, domain: &mut Domain, number: u32, offer: &[u8]) -> Result<Receiver, Error> {
        let shape = self.shape;
        let route = self.route(domain, number, offer)?;
        Ok(Receiver { ring: ring::Receiver::new(route.memory.clone(), shape), route, lost: None })
    }
}

/// The path of a ring's writes: from the local `memory` to the memory `remote` of `peer`.
#[derive(Debug)]
struct Route {
    memory: Memory,
    peer: Peer,
    remote: Remote,
    number: u32,
}

impl Route {
    fn over<'a>(&'a self, domain: &'a mut Domain) -> Routed<'a> {
        Routed { route: self, domain }
    }

    /// Extracts the ring's tag from a tag of the domain. Returns `None` if the tag belongs to another ring.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the ring's tag is the lower half of the domain's tag"
    )]
    fn own(&self, tag: u64) -> Option<u32> {
        (ring_of(tag) == self.number).then_some(tag as u32)
    }
}

/// Returns the number of the ring to which a tag of the domain belongs.
#[must_use]
pub const fn ring_of(tag: u64) -> u32 {
    (tag >> 32) as u32
}

struct Routed<'a> {
    route: &'a Route,
    domain: &'a mut Domain,
}

impl Wire for Routed<'_> {
    type Error = Error;

    fn write(&mut self, words: Range<usize>, tag: u32) -> Result<bool, Error> {
        let Route { memory, peer, remote, number } = self.route;
        let first = words.start;
        let tag = u64::from(*number) << 32 | u64::from(tag);
        match self.domain.write(memory, words, *peer, *remote, first, tag) {
            Ok(()) => Ok(true),
            Err(Error::QueueFull) => Ok(false),
            Err(why) => Err(why),
        }
    }
}

impl From<Refused<Self>> for Error {
    fn from(why: Refused<Self>) -> Self {
        match why {
            Refused::TooLong { bytes, most } => Self::TooLong { bytes, most },
            Refused::Broken(why) => why.into(),
            Refused::Wire(why) => why,
        }
    }
}

fn gone(lost: Option<&str>) -> Result<(), Error> {
    lost.map_or(Ok(()), |why| Err(Error::PeerGone { why: why.to_owned() }))
}

/// The sending end of a data ring.
#[derive(Debug)]
pub struct Sender {
    ring: ring::Sender<Memory>,
    route: Route,
    /// The reason why this end can no longer write to the ring: a write has failed, or the receiver has been silent for
    /// too long. `None` while the ring works.
    lost: Option<String>,
}

impl Sender {
    /// Puts a packet into the ring. The packet is due at the receiver at `due` ps of virtual time. Returns false if the
    /// packet cannot be written now: the ring or the domain's queue is full, the slot's previous write is still in
    /// progress, or the connection is not up yet.
    ///
    /// # Errors
    /// [`Error::PeerGone`], [`Error::Broken`], [`Error::TooLong`], or an error of [`Domain::write`] other than
    /// [`Error::QueueFull`].
    pub fn push(&mut self, domain: &mut Domain, due: u64, tag: u8, bytes: &[u8]) -> Result<bool, Error> {
        gone(self.lost.as_deref())?;
        Ok(self.ring.push(due, tag, bytes, &mut self.route.over(domain))?)
    }

    /// Like [`push`](Self::push), but for a packet of `len` bytes that is stored in words.
    ///
    /// # Errors
    /// The errors of `push`.
    ///
    /// # Panics
    /// If the words hold fewer than `len` bytes.
    pub fn push_words(
        &mut self,
        domain: &mut Domain,
        due: u64,
        tag: u8,
        words: &[AtomicU64],
        len: usize,
    ) -> Result<bool, Error> {
        gone(self.lost.as_deref())?;
        Ok(self.ring.push_words(due, tag, words, len, &mut self.route.over(domain))?)
    }

    /// Returns true if a write of the receiver has arrived. In that case the receiver has set up its end of the ring,
    /// and its writes reach this end.
    ///
    /// # Errors
    /// [`Error::Broken`], if the receiver has written invalid data.
    pub fn has_heard(&mut self) -> Result<bool, Error> {
        Ok(self.ring.has_heard()?)
    }

    /// Handles a write of the domain that has [completed or failed](Domain::poll). Ignores the write if it belongs to
    /// another ring.
    pub fn completed(&mut self, tag: u64, result: &Result<(), WriteFailed>) {
        let Some(tag) = self.route.own(tag) else { return };
        self.ring.completed(tag);
        if let Err(why) = result {
            self.lost.get_or_insert_with(|| why.to_string());
        }
    }

    /// Checks that the receiver is alive. Call this method every few milliseconds, after [`Domain::poll`], which
    /// receives the receiver's records. `now` may come from any clock that never runs backward.
    ///
    /// # Errors
    /// [`Error::PeerGone`], if a write has failed or the receiver has been silent for [`ring::SILENCE`];
    /// [`Error::Broken`], if the receiver has written invalid data.
    pub fn check(&mut self, now: Duration) -> Result<(), Error> {
        gone(self.lost.as_deref())?;
        if self.ring.is_deserted(now)? {
            let why = format!("the peer sent nothing for {:?}", ring::SILENCE);
            self.lost = Some(why);
        }
        gone(self.lost.as_deref())
    }

    /// Returns a lower bound of the number of packets for which the receiver has room.
    ///
    /// # Errors
    /// [`Error::Broken`], if the receiver has written invalid data.
    pub fn room(&mut self) -> Result<u64, Error> {
        Ok(self.ring.room()?)
    }

    /// Returns true if the receiver has reported that it has taken all packets.
    ///
    /// # Errors
    /// [`Error::Broken`], if the receiver has written invalid data.
    pub fn is_drained(&mut self) -> Result<bool, Error> {
        Ok(self.ring.is_drained()?)
    }
}

/// The receiving end of a data ring.
#[derive(Debug)]
pub struct Receiver {
    ring: ring::Receiver<Memory>,
    route: Route,
    lost: Option<String>,
}

impl Receiver {
    /// Returns the first packet in the ring, if the packet has arrived completely.
    ///
    /// # Errors
    /// [`Error::Broken`], if the sender has written invalid data.
    pub fn peek(&mut self) -> Result<Option<Entry>, Error> {
        Ok(self.ring.peek()?)
    }

    /// Reads the first bytes of the packet that [`peek`](Self::peek) returned.
    ///
    /// # Panics
    /// If no packet was peeked, or the packet is shorter than `into`.
    pub fn read(&self, into: &mut [u8]) {
        self.ring.read(into);
    }

    /// Copies the packet that [`peek`](Self::peek) returned into the words of `into`. Zeros fill the rest of the
    /// packet's last word.
    ///
    /// # Panics
    /// If no packet was peeked, or `into` is too short for the packet.
    pub fn read_words(&self, into: &[AtomicU64]) {
        self.ring.read_words(into);
    }

    /// Returns true if this end has written at least one record, and no write of a record is in progress.
    #[must_use]
    pub fn has_told(&self) -> bool {
        self.ring.has_told()
    }

    /// Removes the packet that [`peek`](Self::peek) returned.
    ///
    /// # Errors
    /// An error of [`Domain::write`] other than [`Error::QueueFull`], if a record for the sender is due.
    ///
    /// # Panics
    /// If no packet was peeked.
    pub fn take(&mut self, domain: &mut Domain) -> Result<(), Error> {
        self.ring.take(&mut self.route.over(domain))
    }

    /// Returns true if the next packet has [arrived only in part](ring::Receiver::is_partial).
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.ring.is_partial()
    }

    /// Handles a write of the domain that has [completed or failed](Domain::poll). Ignores the write if it belongs to
    /// another ring.
    pub fn completed(&mut self, tag: u64, result: &Result<(), WriteFailed>) {
        let Some(tag) = self.route.own(tag) else { return };
        self.ring.completed(tag);
        if let Err(why) = result {
            self.lost.get_or_insert_with(|| why.to_string());
        }
    }

    /// If a record is due, reports to the sender that this end is alive, and how many packets it has taken out of the
    /// ring. Call this method every few milliseconds. `now` may come from any clock that never runs backward.
    ///
    /// # Errors
    ///
    /// [`Error::PeerGone`], if a write to the sender has failed, or an error of [`Domain::write`] other than
    /// [`Error::QueueFull`].
    pub fn keep_up(&mut self, domain: &mut Domain, now: Duration) -> Result<(), Error> {
        gone(self.lost.as_deref())?;
        self.ring.keep_up(now, &mut self.route.over(domain))
    }
}
