//! The handshake of a party, the set of processes that share a rack. One process is the host, and the others are its
//! guests. The host checks that each guest has the host's version and experiment. The host and each guest prove to each
//! other that they know the same secret. The processes divide the rack's nodes: each node belongs to exactly one
//! process.

use super::super::clock::system_ns;
use super::connection::{Broken, Connection};
use super::message::{FromGuest, FromHost, Greeting, Proof};
use super::socket::{Door, Meeting};
use super::{NONSENSE, PINGS, between};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::io;
use std::net::SocketAddr;
use std::ops::{ControlFlow, Range};
use std::thread;
use std::time::Duration;

/// Maximum duration of each wait for other processes before a run. Connection attempts and handshakes do not count, so
/// they can prolong a wait.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// The longest time for which the host waits for each message of a guest during the handshake, and for each clock
/// request before a run.
const ANSWERS_IN: Duration = Duration::from_secs(2);

/// Interval between two checks of the host for new connections, and between two attempts of a guest to connect.
const LOOKS: Duration = Duration::from_millis(100);

/// The versions of the program and of the party protocol. All processes must have the same versions.
const VERSION: &str = concat!("raddle ", env!("CARGO_PKG_VERSION"), ", parties 2");

/// The terms on which a process takes part in a party.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The nodes that the process runs.
    pub nodes: Range<u32>,
    /// Identifies the experiment, for example by a digest. All processes must have the same experiment.
    pub experiment: String,
    /// The secret that all processes share. It may be empty at a Unix socket, which accepts only processes of the
    /// same user.
    pub secret: Vec<u8>,
}

/// The reason why a party cannot be formed.
#[derive(Debug, thiserror::Error)]
pub enum NoParty {
    /// The host process cannot listen at this address or path.
    #[error("cannot listen at {at}: {why}")]
    Socket {
        /// The place.
        at: Meeting,
        /// The system's error.
        why: io::Error,
    },
    /// The nodes are not part of the rack, or the range is empty.
    #[error("the node range {}-{} is not valid: the rack has the nodes 0 to {}", nodes.start, nodes.end.wrapping_sub(1), of.saturating_sub(1))]
    Nodes {
        /// The nodes that this process was to run.
        nodes: Range<u32>,
        /// Number of nodes of the rack.
        of: u32,
    },
    /// The host was given the unspecified address, which stands for all addresses of its machine.
    #[error(
        "{0} stands for all addresses of this machine; give one address by which other \
         processes reach this machine"
    )]
    AnyAddress(SocketAddr),
    /// The processes would meet at a TCP address without a secret.
    #[error("processes that meet at a TCP address need a shared secret")]
    NoSecret,
    /// This program was built without libfabric.
    #[error("this program was built without libfabric, which a rack over several machines needs")]
    NoLibfabric,
    /// No host listens at this place.
    #[error("no process has accepted a connection at {at}: {why}")]
    Nobody {
        /// The place.
        at: Meeting,
        /// The system's error at the latest attempt.
        why: io::Error,
    },
    /// Some nodes still have no process after the wait.
    #[error(
        "waited {} s, but no process has joined for the nodes {}{}",
        PATIENCE.as_secs(), list(missing), refusals(refused)
    )]
    Missing {
        /// The missing nodes.
        missing: Vec<Range<u32>>,
        /// The reasons for which processes were refused.
        refused: Vec<String>,
    },
    /// The host has refused this process.
    #[error("the listening process refused this process: {0}")]
    Refused(String),
    /// The host does not know the secret.
    #[error("the listening process does not know the secret")]
    Impostor,
    /// A process that was let in is gone, did not answer in time, or has sent an unexpected message.
    #[error("lost the process of nodes {}-{}: {why}", nodes.start, nodes.end.wrapping_sub(1))]
    Broken {
        /// The nodes that the process was to run.
        nodes: Range<u32>,
        /// The error of its connection.
        why: Broken,
    },
    /// The host process is gone, did not answer in time, or has sent an unexpected message.
    #[error("lost the host process: {0}")]
    Gone(Broken),
    /// The caller's `look` stopped the wait.
    #[error("stopped while waiting for other processes")]
    Stopped,
}

fn list(ranges: &[Range<u32>]) -> String {
    let each = ranges.iter().map(|range| format!("{}-{}", range.start, range.end - 1));
    each.collect::<Vec<_>>().join(", ")
}

fn refusals(refused: &[String]) -> String {
    match refused.last() {
        None => String::new(),
        Some(last) => format!("; refused processes: {}; reason of the last refusal: {last}", refused.len()),
    }
}

/// A process that the host has let in.
pub(super) struct Guest {
    pub(super) nodes: Range<u32>,
    pub(super) connection: Connection,
}

/// The result of [`join`]: data about the party that has let this process in.
pub(super) struct Joined {
    pub(super) host: Connection,
    /// Index of the host's process.
    pub(super) process: usize,
    pub(super) parts: Vec<Range<u32>>,
    pub(super) own: usize,
    /// The host's clock minus this machine's clock, in ns.
    pub(super) offset: i64,
}

impl Terms {
    /// Checks these terms for a rack of `of` nodes whose processes meet at `at`.
    pub(super) fn check(&self, at: &Meeting, of: u32) -> Result<(), NoParty> {
        if matches!(at, Meeting::Address(_)) {
            if !crate::HAS_LIBFABRIC {
                return Err(NoParty::NoLibfabric);
            }
            if self.secret.is_empty() {
                return Err(NoParty::NoSecret);
            }
        }
        if self.nodes.is_empty() || self.nodes.end > of {
            return Err(NoParty::Nodes { nodes: self.nodes.clone(), of });
        }
        Ok(())
    }

    /// Returns the proof that the process on `side` knows the secret. That process generated the nonce `ours`, and the
    /// process that checks the proof generated `theirs`. The proofs of the two sides differ, so that no process can
    /// answer with the proof that it received.
    fn proof(&self, side: Side, nodes: &Range<u32>, ours: &[u8; 32], theirs: &[u8; 32]) -> Hmac<Sha256> {
        let mut proof =
            Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC must accept a key of any length");
        proof.update(&[side as u8]);
        proof.update(ours);
        proof.update(theirs);
        proof.update(self.experiment.as_bytes());
        proof.update(&nodes.start.to_le_bytes());
        proof.update(&nodes.end.to_le_bytes());
        proof
    }
}

#[derive(Clone, Copy)]
enum Side {
    Host,
    Guest,
}

fn nonce() -> Result<[u8; 32], Broken> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(|why| Broken(why.to_string()))?;
    Ok(nonce)
}

/// Lets processes in until every node has a process. Gives up after [`PATIENCE`], not counting the handshakes, or if
/// `look` returns `Break`.
pub(super) fn gather(
    door: &Door,
    nodes: u32,
    terms: &Terms,
    mut look: impl FnMut() -> ControlFlow<()>,
) -> Result<Vec<Guest>, NoParty> {
    let (mut guests, mut refused) = (Vec::<Guest>::new(), Vec::new());
    for _ in 0..PATIENCE.as_millis() / LOOKS.as_millis() {
        while let Ok(Some(connection)) = door.accept() {
            let taken = || guests.iter().map(|guest| &guest.nodes).chain([&terms.nodes]);
            match welcome(&connection, nodes, terms, &taken().cloned().collect::<Vec<_>>()) {
                Ok(nodes) => guests.push(Guest { nodes, connection }),
                Err(why) => {
                    let _ = connection.send(&FromHost::Refused(why.0.clone()));
                    refused.push(why.0);
                }
            }
        }
        let brought = guests.iter().map(|guest| guest.nodes.len()).sum::<usize>() + terms.nodes.len();
        if brought == nodes as usize {
            return Ok(guests);
        }
        if look().is_break() {
            return Err(NoParty::Stopped);
        }
        thread::park_timeout(LOOKS);
    }
    let mut taken: Vec<_> =
        guests.iter().map(|guest| guest.nodes.clone()).chain([terms.nodes.clone()]).collect();
    taken.sort_by_key(|range| range.start);
    let begins = std::iter::once(0).chain(taken.iter().map(|range| range.end));
    let ends = taken.iter().map(|range| range.start).chain([nodes]);
    let missing = begins.zip(ends).map(|(begin, end)| begin..end).filter(|range| !range.is_empty());
    Err(NoParty::Missing { missing: missing.collect(), refused })
}

/// Performs the handshake with the process at a new connection. Returns the nodes of that process, or the reason to
/// refuse the process.
fn welcome(
    connection: &Connection,
    all: u32,
    terms: &Terms,
    taken: &[Range<u32>],
) -> Result<Range<u32>, Broken> {
    let FromGuest::Greeting(Greeting { version, experiment, nodes, nonce: theirs }) =
        connection.receive(ANSWERS_IN)?
    else {
        return Err(Broken("the process did not begin with a greeting message".to_owned()));
    };
    if version != VERSION {
        return Err(Broken(format!(
            "the process has version `{version}`, but the host process has version `{VERSION}`"
        )));
    }
    if experiment != terms.experiment {
        return Err(Broken("the process and the host process have different experiments".to_owned()));
    }
    if nodes.is_empty() || nodes.end > all {
        return Err(Broken(format!(
            "the process must run at least one node, and only nodes from 0 to {}",
            all.saturating_sub(1)
        )));
    }
    if let Some(other) = taken.iter().find(|other| other.start < nodes.end && nodes.start < other.end) {
        let (first, last) = (other.start, other.end - 1);
        return Err(Broken(format!("another process already has the nodes {first}-{last}")));
    }
    let ours = nonce()?;
    let proof = terms.proof(Side::Host, &nodes, &ours, &theirs).finalize().into_bytes().into();
    connection.send(&FromHost::Challenge { nonce: ours, proof: Proof(proof) })?;
    let FromGuest::Proof(Proof(proof)) = connection.receive(ANSWERS_IN)? else {
        return Err(Broken("the process sent no proof that it knows the secret".to_owned()));
    };
    let expected = terms.proof(Side::Guest, &nodes, &theirs, &ours);
    expected.verify_slice(&proof).map_err(|_| Broken("the process does not know the secret".to_owned()))?;
    Ok(nodes)
}

/// Connects to the process that hosts the party. If an attempt fails, tries again, unless `look` returns `Break`. Gives
/// up after [`PATIENCE`], not counting the attempts themselves, which take up to 2 s each. Once connected, performs the
/// handshake, which succeeds when all processes have joined.
pub(super) fn join(
    at: &Meeting,
    nodes: u32,
    terms: &Terms,
    mut look: impl FnMut() -> ControlFlow<()>,
) -> Result<Joined, NoParty> {
    terms.check(at, nodes)?;
    let looks = PATIENCE.as_millis() / LOOKS.as_millis();
    let mut last = io::Error::other("no process has answered");
    for _ in 0..looks {
        match at.connect() {
            Ok(connection) => return greet(connection, nodes, terms),
            // The host may start later.
            Err(why) => last = why,
        }
        if look().is_break() {
            return Err(NoParty::Stopped);
        }
        thread::park_timeout(LOOKS);
    }
    Err(NoParty::Nobody { at: at.clone(), why: last })
}

fn greet(host: Connection, nodes: u32, terms: &Terms) -> Result<Joined, NoParty> {
    let gone = |why| NoParty::Gone(why);
    let ours = nonce().map_err(gone)?;
    let greeting = Greeting {
        version: VERSION.to_owned(),
        experiment: terms.experiment.clone(),
        nodes: terms.nodes.clone(),
        nonce: ours,
    };
    host.send(&FromGuest::Greeting(greeting)).map_err(gone)?;
    match host.receive(PATIENCE).map_err(gone)? {
        FromHost::Challenge { nonce: theirs, proof } => {
            let expected = terms.proof(Side::Host, &terms.nodes, &theirs, &ours);
            expected.verify_slice(&proof.0).map_err(|_| NoParty::Impostor)?;
            let proof = terms.proof(Side::Guest, &terms.nodes, &ours, &theirs);
            let proof = Proof(proof.finalize().into_bytes().into());
            host.send(&FromGuest::Proof(proof)).map_err(gone)?;
        }
        FromHost::Refused(why) => return Err(NoParty::Refused(why)),
        _ => return Err(gone(Broken(NONSENSE.to_owned()))),
    }
    match host.receive(PATIENCE + ANSWERS_IN).map_err(gone)? {
        FromHost::Welcome { parts, own, host: process }
            if is_party(&parts, nodes)
                && parts.get(own) == Some(&terms.nodes)
                && process < parts.len()
                && process != own =>
        {
            let offset = compare_clocks(&host).map_err(gone)?;
            Ok(Joined { host, process, parts, own, offset })
        }
        FromHost::Refused(why) => Err(NoParty::Refused(why)),
        _ => Err(gone(Broken(NONSENSE.to_owned()))),
    }
}

/// Answers a guest's clock requests before a run, if the guest may be on another machine.
pub(super) fn show_clock(guest: &Connection) -> Result<(), Broken> {
    if guest.own_address().is_none() {
        return Ok(()); // both processes use the same clock
    }
    for _ in 0..PINGS {
        let FromGuest::Ping(ping) = guest.receive(ANSWERS_IN)? else {
            return Err(Broken(NONSENSE.to_owned()));
        };
        let heard = system_ns();
        guest.send(&FromHost::Pong { ping, heard, said: system_ns() })?;
    }
    Ok(())
}

/// Measures the host's clock minus this machine's clock, in ns. Each answer gives a lower and an upper bound of the
/// difference. The bounds are tighter if the answer arrives faster. Returns the middle of the intersection of all
/// bounds.
fn compare_clocks(host: &Connection) -> Result<i64, Broken> {
    if host.own_address().is_none() {
        return Ok(0); // both processes use the same clock
    }
    let (mut least, mut most) = (i64::MIN, i64::MAX);
    for _ in 0..PINGS {
        host.send(&FromGuest::Ping(system_ns()))?;
        let FromHost::Pong { ping, heard, said } = host.receive(PATIENCE)? else {
            return Err(Broken(NONSENSE.to_owned()));
        };
        let bounds = between(ping, heard, said, system_ns());
        (least, most) = (least.max(*bounds.start()), most.min(*bounds.end()));
    }
    Ok(least.midpoint(most))
}

/// Returns true if the parts cover all nodes of the rack, each once and in order, and no part is empty.
fn is_party(parts: &[Range<u32>], nodes: u32) -> bool {
    let begins = std::iter::once(0).chain(parts.iter().map(|part| part.end));
    let follow = begins.zip(parts).all(|(begin, part)| part.start == begin && !part.is_empty());
    follow && parts.last().is_some_and(|part| part.end == nodes)
}
