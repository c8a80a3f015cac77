//! One-sided writes between processes, over libfabric.
//!
//! A [`Domain`] is an endpoint of one provider. It registers memory that peers may write to, and writes words of its
//! own memory to memory of its peers. Peers receive the endpoint's address and the memory's key as bytes over another
//! connection, such as TCP, and check these bytes.
//!
//! No call blocks. [`Domain::poll`] lets libfabric make progress. Both sides must call it: a process that does not
//! poll can neither send nor receive.

mod end;
mod segments;
mod sys;

pub use end::{End, Receiver, Sender, ring_of};

use crate::words::{WORD, Words};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use sys::{Code, Handle};

/// A libfabric provider, which carries a domain's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Provider {
    /// TCP connections: `tcp;ofi_rxm`.
    #[default]
    Tcp,
    /// Shared memory between processes of one user on one machine: `shm`.
    Shm,
    /// RDMA: `verbs;ofi_rxm`.
    Verbs,
}

impl Provider {
    /// Returns true if this machine has the provider. First removes stale shared memory segments, as [`Domain::open`]
    /// does.
    #[must_use]
    pub fn is_here(self) -> bool {
        segments::forget_the_dead();
        let node = (self == Self::Shm).then(segments::name);
        Handle::open(self, node.as_deref(), 1).is_ok()
    }

    /// The provider's name in libfabric.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp;ofi_rxm",
            Self::Shm => "shm",
            Self::Verbs => "verbs;ofi_rxm",
        }
    }
}

/// The options of a domain.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The provider.
    pub provider: Provider,
    /// The address at which peers reach this machine. The `shm` provider ignores it.
    pub bind: IpAddr,
    /// Maximum number of writes in progress. The domain allows fewer if the provider does.
    pub queue: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { provider: Provider::default(), bind: Ipv4Addr::LOCALHOST.into(), queue: 256 }
    }
}

/// The reason why an operation on a domain failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A call of libfabric has failed.
    #[error("libfabric cannot {what}: {why}")]
    Library {
        /// The operation that failed, such as `register memory`.
        what: &'static str,
        /// libfabric's error.
        why: String,
    },
    /// The queue of writes is full, or the connection to the peer is not up yet. The caller should try again after
    /// [`Domain::poll`].
    #[error("the queue of one-sided writes is full, or the peer is not connected yet")]
    QueueFull,
    /// Bytes from a peer are not valid.
    #[error("a peer has sent invalid data instead of {what}")]
    Malformed {
        /// The data that was expected from the peer.
        what: &'static str,
    },
    /// A write would be empty, or begin or end outside the memory.
    #[error("the range of words {first}..{end} is empty or exceeds the memory, which has {len} words")]
    OutOfRange {
        /// Index of the first word of the range.
        first: usize,
        /// Index after the last word of the range.
        end: usize,
        /// Number of words in the memory.
        len: usize,
    },
    /// The memory or the peer that the caller passed belongs to another domain.
    #[error("cannot use {what} of another domain")]
    Foreign {
        /// The object that belongs to another domain: `memory` or `a peer`.
        what: &'static str,
    },
    /// The other end of a ring is gone.
    #[error("lost the peer: {why}")]
    PeerGone {
        /// The reason for this conclusion: a write has failed, or the peer has been silent for too long.
        why: String,
    },
    /// The other end of a ring has written invalid data.
    #[error(transparent)]
    Broken(#[from] crate::ring::Broken),
    /// A packet is too long for its ring.
    #[error("a packet of {bytes} bytes is too long for this ring, whose packets have at most {most} bytes")]
    TooLong {
        /// Size of the packet in bytes.
        bytes: usize,
        /// Maximum size of a packet in this ring, in bytes.
        most: usize,
    },
}

fn library(what: &'static str) -> impl FnOnce(Code) -> Error {
    move |code| Error::Library { what, why: code.text() }
}

/// A write has failed: the peer is gone, or the peer's provider has refused the write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a one-sided write has failed: {why}")]
pub struct WriteFailed {
    /// libfabric's error.
    pub why: String,
}

/// A peer of a [`Domain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    domain: u64,
    address: u64,
}

/// Registered memory of a [`Domain`]: zeros at first, then the words that this process and its peers write.
#[derive(Debug, Clone)]
pub struct Memory {
    domain: u64,
    registration: usize,
    words: Words,
    remote: Remote,
}

impl Memory {
    /// The description that a peer needs to write to this memory.
    #[must_use]
    pub fn remote(&self) -> Remote {
        self.remote
    }
}

impl Deref for Memory {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        &self.words
    }
}

/// The registered memory of a peer, according to the peer's own description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    base: u64,
    key: u64,
    words: u64,
}

impl Remote {
    /// Length of the encoding, in bytes.
    pub const LEN: usize = 3 * WORD;

    /// Number of words in the memory.
    #[must_use]
    pub fn words(self) -> u64 {
        self.words
    }

    /// Encodes the description, to be sent to a peer.
    #[must_use]
    pub fn encode(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        for (bytes, word) in bytes.as_chunks_mut::<WORD>().0.iter_mut().zip([self.base, self.key, self.words])
        {
            *bytes = word.to_le_bytes();
        }
        bytes
    }

    /// Decodes a description that a peer has [encoded](Self::encode).
    ///
    /// # Errors
    /// [`Error::Malformed`], if the length is not [`LEN`](Self::LEN), or the memory would be empty or extend beyond
    /// the last address.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let malformed = Error::Malformed { what: "the description of its memory" };
        let ([base, key, words], []) = bytes.as_chunks::<WORD>() else { return Err(malformed) };
        let [base, key, words] = [base, key, words].map(|word| u64::from_le_bytes(*word));
        let end = words.checked_mul(WORD as u64).and_then(|bytes| base.checked_add(bytes));
        if words == 0 || end.is_none() {
            return Err(malformed);
        }
        Ok(Self { base, key, words })
    }
}

/// An endpoint for one-sided writes, with its memory and its peers.
#[derive(Debug)]
pub struct Domain {
    handle: Handle,
    /// The domain's number, which differs between the domains of this process.
    number: u64,
    address: Vec<u8>,
    /// The peers, each with its address.
    peers: Vec<(Vec<u8>, Peer)>,
    /// Indexed by context: the tag of the write in progress that uses the context; `None` if no write uses the context.
    /// libfabric reports the completion of a write with its context plus 1.
    under_way: Vec<Option<u64>>,
    /// The contexts that no write uses.
    free: Vec<usize>,
}

static DOMAINS: AtomicU64 = AtomicU64::new(0);

impl Domain {
    /// Opens a domain. First removes shared memory segments that killed processes left behind.
    ///
    /// # Errors
    /// [`Error::Library`], if this machine does not have the provider, or the endpoint cannot be bound to the
    /// address.
    ///
    /// # Panics
    /// If `options.queue` is 0.
    pub fn open(options: &Options) -> Result<Self, Error> {
        segments::forget_the_dead();
        assert!(options.queue > 0, "`options.queue` must be greater than 0");
        let node = match options.provider {
            Provider::Shm => segments::name(),
            Provider::Tcp | Provider::Verbs => options.bind.to_string(),
        };
        let mut handle = Handle::open(options.provider, Some(&node), options.queue)
            .map_err(library("open an endpoint"))?;
        let address = handle.address().map_err(library("read the endpoint's address"))?;
        let queue = options.queue.min(handle.provider().1);
        let number = DOMAINS.fetch_add(1, Ordering::Relaxed);
        let (under_way, free) = (vec![None; queue], (0..queue).rev().collect());
        Ok(Self { handle, number, address, peers: Vec::new(), under_way, free })
    }

    /// The name of the provider that libfabric has chosen.
    #[must_use]
    pub fn provider(&self) -> String {
        self.handle.provider().0
    }

    /// This endpoint's address, for its peers.
    #[must_use]
    pub fn address(&self) -> &[u8] {
        &self.address
    }

    /// Adds a peer by its [address](Self::address). Adding the same address again returns the same peer.
    ///
    /// # Errors
    /// [`Error::Malformed`], if the bytes are not an address of this provider; [`Error::Library`], if libfabric
    /// refuses the address.
    pub fn insert(&mut self, address: &[u8]) -> Result<Peer, Error> {
        if let Some((_, peer)) = self.peers.iter().find(|(known, _)| known == address) {
            return Ok(*peer);
        }
        if !self.handle.is_address(address) {
            return Err(Error::Malformed { what: "an address of this provider" });
        }
        let inserted = self.handle.insert(address).map_err(library("register a peer's address"))?;
        let peer = Peer { domain: self.number, address: inserted };
        self.peers.push((address.to_vec(), peer));
        Ok(peer)
    }

    /// Registers `words` words of zeros. A peer that receives the memory's [`Remote`] can write to all of it while
    /// the domain exists.
    ///
    /// # Errors
    /// [`Error::Library`], if the provider cannot register that much memory.
    ///
    /// # Panics
    /// If `words` is 0.
    pub fn register(&mut self, words: usize) -> Result<Memory, Error> {
        assert!(words > 0, "`words` must be greater than 0");
        let words = Words::new(words);
        let (registration, base, key) = self.handle.register(&words).map_err(library("register memory"))?;
        let remote = Remote { base, key, words: words.len() as u64 };
        Ok(Memory { domain: self.number, registration, words, remote })
    }

    /// Posts a write of the words `range` of `memory` to the memory `remote` of `peer`. The first of these words goes
    /// to the word `first` of `remote`. libfabric may read the local words at any time until [`poll`](Self::poll)
    /// reports the tag. If the words change before that, the peer may receive the changed values.
    ///
    /// # Errors
    /// [`Error::QueueFull`], if too many writes are in progress or the connection is not up yet; [`Error::OutOfRange`],
    /// if a range is empty or exceeds its memory; [`Error::Foreign`], if the memory or the peer belongs to another
    /// domain; [`Error::Library`], if the provider refuses the write.
    pub fn write(
        &mut self,
        memory: &Memory,
        range: Range<usize>,
        peer: Peer,
        remote: Remote,
        first: usize,
        tag: u64,
    ) -> Result<(), Error> {
        for (domain, what) in [(memory.domain, "memory"), (peer.domain, "a peer")] {
            if domain != self.number {
                return Err(Error::Foreign { what });
            }
        }
        in_range(&range, memory.len())?;
        let end = first.saturating_add(range.len());
        in_range(&(first..end), usize::try_from(remote.words).unwrap_or(usize::MAX))?;
        let Some(&context) = self.free.last() else { return Err(Error::QueueFull) };
        let to = remote.base + (first * WORD) as u64;
        let posted = self.handle.write(memory.registration, range, peer.address, to, remote.key, context + 1);
        if !posted.map_err(library("write to a peer"))? {
            return Err(Error::QueueFull);
        }
        self.free.pop();
        self.under_way[context] = Some(tag);
        Ok(())
    }

    /// Lets libfabric make progress, and reports the tags of writes that have completed or failed. The caller may then
    /// change the words of these writes.
    ///
    /// # Errors
    /// [`Error::Library`], if the endpoint no longer works.
    pub fn poll(&mut self, mut done: impl FnMut(u64, Result<(), WriteFailed>)) -> Result<(), Error> {
        let Self { handle, under_way, free, .. } = self;
        let polled = handle.poll(|context, result| {
            // The contexts that libfabric sees begin with 1. An error without a context belongs to no write of this
            // domain.
            let Some(context) = context.checked_sub(1) else { return };
            let Some(tag) = under_way.get_mut(context).and_then(Option::take) else { return };
            free.push(context);
            done(tag, result.map_err(|code| WriteFailed { why: code.text() }));
        });
        polled.map_err(library("poll"))
    }

    /// Number of writes in progress.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way.len() - self.free.len()
    }
}

fn in_range(range: &Range<usize>, len: usize) -> Result<(), Error> {
    if range.is_empty() || range.end > len {
        return Err(Error::OutOfRange { first: range.start, end: range.end, len });
    }
    Ok(())
}
