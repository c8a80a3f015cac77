//! How processes find each other: they agree on version and experiment, show each other that they know the same secret, and the
//! nodes of all are the rack's, each once.

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

/// How long processes wait for each other before a run.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a process may take for each of its words in a handshake.
const ANSWERS_IN: Duration = Duration::from_secs(2);

/// Between two looks at whether somebody has come.
const LOOKS: Duration = Duration::from_millis(100);

/// The version of what processes say to each other, and of the program whose engine they share.
const VERSION: &str = concat!("raddle ", env!("CARGO_PKG_VERSION"), ", parties 2");

/// What a process brings to a party.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The nodes that it runs.
    pub nodes: Range<u32>,
    /// What tells the experiment from others, such as a digest. It must be the same for all.
    pub experiment: String,
    /// A secret that all know. It may be empty at a Unix socket, which lets in processes of the same user alone.
    pub secret: Vec<u8>,
}

/// Why there is no party.
#[derive(Debug, thiserror::Error)]
pub enum NoParty {
    /// The host cannot listen there.
    #[error("cannot listen at {at}: {why}")]
    Socket {
        /// Where.
        at: Meeting,
        /// What the system said.
        why: io::Error,
    },
    /// The nodes are not part of the rack, or are none.
    #[error("nodes {} to {} are not nodes of a rack of {of}", nodes.start, nodes.end.wrapping_sub(1))]
    Nodes {
        /// Those that were to be run here.
        nodes: Range<u32>,
        /// Nodes of the rack.
        of: u32,
    },
    /// The host is to listen at all addresses of its machine.
    #[error("{0} stands for all addresses of this machine: the others need the one by which they reach it")]
    AnyAddress(SocketAddr),
    /// Processes of several machines are to meet without a secret.
    #[error("processes that meet at a TCP address need a secret that all know")]
    NoSecret,
    /// This program was built without libfabric.
    #[error("this program was built without libfabric, which a rack over several machines needs")]
    NoLibfabric,
    /// Nobody invites.
    #[error("nobody listens at {at} after {} s: {why}", PATIENCE.as_secs())]
    Nobody {
        /// Where.
        at: Meeting,
        /// What the system said last.
        why: io::Error,
    },
    /// Nodes are missing.
    #[error("nobody has brought nodes {} after {} s{}", list(missing), PATIENCE.as_secs(), refusals(refused))]
    Missing {
        /// Which.
        missing: Vec<Range<u32>>,
        /// Why processes that came were not let in.
        refused: Vec<String>,
    },
    /// The host has sent this process away.
    #[error("the host refuses: {0}")]
    Refused(String),
    /// The host does not know the secret.
    #[error("the host does not know the secret")]
    Impostor,
    /// A process that had come is gone.
    #[error("the process of nodes {}-{} is gone: {why}", nodes.start, nodes.end.wrapping_sub(1))]
    Broken {
        /// Its nodes.
        nodes: Range<u32>,
        /// What was seen of it.
        why: Broken,
    },
    /// The host is gone.
    #[error("the host is gone: {0}")]
    Gone(Broken),
    /// Somebody said to stop.
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
        Some(last) => format!("; {} were refused, the last because {last}", refused.len()),
    }
}

/// Somebody who was let in.
pub(super) struct Guest {
    pub(super) nodes: Range<u32>,
    pub(super) connection: Connection,
}

/// A party that has let this process in.
pub(super) struct Joined {
    pub(super) host: Connection,
    /// Which process the host is.
    pub(super) process: usize,
    pub(super) parts: Vec<Range<u32>>,
    pub(super) own: usize,
    /// How far the host's clock is ahead, in ns.
    pub(super) offset: i64,
}

impl Terms {
    /// Whether these terms will do for a rack of so many nodes, whose processes meet there.
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

    /// Shows that one knows the secret, to whoever has drawn `theirs`. What the two sides show differs, so that neither can show
    /// the other what it was shown.
    fn proof(&self, side: Side, nodes: &Range<u32>, ours: &[u8; 32], theirs: &[u8; 32]) -> Hmac<Sha256> {
        let mut proof = Hmac::<Sha256>::new_from_slice(&self.secret).expect("secrets of any length will do");
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

/// Lets processes in until all nodes are there.
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

/// The nodes that a caller brings; why it is not let in.
fn welcome(
    connection: &Connection,
    all: u32,
    terms: &Terms,
    taken: &[Range<u32>],
) -> Result<Range<u32>, Broken> {
    let FromGuest::Greeting(Greeting { version, experiment, nodes, nonce: theirs }) =
        connection.receive(ANSWERS_IN)?
    else {
        return Err(Broken("it did not greet".to_owned()));
    };
    if version != VERSION {
        return Err(Broken(format!("it is {version:?}, and the host {VERSION:?}")));
    }
    if experiment != terms.experiment {
        return Err(Broken("its experiment is another one".to_owned()));
    }
    if nodes.is_empty() || nodes.end > all {
        return Err(Broken(format!("it brings nodes that the rack of {all} does not have")));
    }
    if let Some(other) = taken.iter().find(|other| other.start < nodes.end && nodes.start < other.end) {
        let (first, last) = (other.start, other.end - 1);
        return Err(Broken(format!("another process has brought nodes {first}-{last} already")));
    }
    let ours = nonce()?;
    let proof = terms.proof(Side::Host, &nodes, &ours, &theirs).finalize().into_bytes().into();
    connection.send(&FromHost::Challenge { nonce: ours, proof: Proof(proof) })?;
    let FromGuest::Proof(Proof(proof)) = connection.receive(ANSWERS_IN)? else {
        return Err(Broken("it did not show that it knows the secret".to_owned()));
    };
    let expected = terms.proof(Side::Guest, &nodes, &theirs, &ours);
    expected.verify_slice(&proof).map_err(|_| Broken("it does not know the secret".to_owned()))?;
    Ok(nodes)
}

/// Calls the host until it answers, and waits until all are there.
pub(super) fn join(
    at: &Meeting,
    nodes: u32,
    terms: &Terms,
    mut look: impl FnMut() -> ControlFlow<()>,
) -> Result<Joined, NoParty> {
    terms.check(at, nodes)?;
    let looks = PATIENCE.as_millis() / LOOKS.as_millis();
    let mut last = io::Error::other("nobody has answered");
    for _ in 0..looks {
        match at.connect() {
            Ok(connection) => return greet(connection, nodes, terms),
            // The host may come later.
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

/// Shows a guest at another machine what this one's clock shows, as often as it asks.
pub(super) fn show_clock(guest: &Connection) -> Result<(), Broken> {
    if guest.own_address().is_none() {
        return Ok(()); // the same clock
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

/// How far the host's clock is ahead, in ns. Each answer gives bounds, the tighter the faster it came; what all leave is small.
fn compare_clocks(host: &Connection) -> Result<i64, Broken> {
    if host.own_address().is_none() {
        return Ok(0); // the same clock
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

/// Whether these parts are the nodes of a rack, each once and in order.
fn is_party(parts: &[Range<u32>], nodes: u32) -> bool {
    let begins = std::iter::once(0).chain(parts.iter().map(|part| part.end));
    let follow = begins.zip(parts).all(|(begin, part)| part.start == begin && !part.is_empty());
    follow && parts.last().is_some_and(|part| part.end == nodes)
}
