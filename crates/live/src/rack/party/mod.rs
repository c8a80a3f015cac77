//! The processes of a machine that share a rack. Each has some of its nodes; the packets of all are in one piece of memory.
//!
//! One process is the host: it listens at a Unix socket, makes the memory, says when time begins and when the run is over, and
//! hears from the others, its guests, what their nodes report. A process that is gone is reported and ends the run: nobody waits
//! for it (specs/live.md §2, docs/src/live.md).

mod connection;
mod handshake;
mod hearing;
mod message;
mod socket;

pub use handshake::{NoParty, Terms};
pub(super) use hearing::Hearing;
pub(super) use message::{Count, Ended, Heard, Look};

use super::clock::system_ns;
use super::shared::{NoMemory, Region};
use connection::{Broken, Connection};
use handshake::{Guest, Joined, PATIENCE};
use message::{FromGuest, FromHost};
use serde::{Deserialize, Serialize};
use socket::Socket;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// How long a process may be silent before it counts as gone, and how long the others wait for its last word.
const SILENCE: Duration = Duration::from_secs(5);

/// How long after the last process is ready time begins.
const BEGINS_IN_NS: u64 = 20_000_000;

/// What is said of a process that says something at the wrong time, or something that cannot be.
const NONSENSE: &str = "it says what no process says then";

/// A process of the party is gone, or has said what none says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the process of nodes {}-{} is gone: {why}", nodes.start, nodes.end.saturating_sub(1))]
pub struct Lost {
    /// Its nodes.
    pub nodes: Range<u32>,
    /// What was seen of it.
    pub why: String,
}

/// The processes that share a rack, seen from one of them.
#[derive(Debug)]
pub struct Party {
    /// The nodes of each process, in their order.
    parts: Vec<Range<u32>>,
    /// Which of them is this process.
    own: usize,
    role: Role,
}

#[derive(Debug)]
enum Role {
    /// By process, the guest; none where the host itself is.
    Host {
        guests: Vec<Option<Connection>>,
        inbox: Receiver<(usize, Result<FromGuest, Broken>)>,
        _socket: Socket,
    },
    Guest {
        host: Connection,
        process: usize,
        inbox: Receiver<Result<FromHost, Broken>>,
    },
}

/// What a process hears while it runs.
#[derive(Debug)]
pub(super) enum Message {
    /// What a guest's nodes have reported.
    Heard(usize, Heard),
    /// The run is over: whether it came to its end.
    Over(bool),
}

impl Party {
    /// Invites others to a rack of so many nodes, at a Unix socket that this makes, and waits until they have all nodes that are
    /// not in `terms`: at most a minute, and as long as `look`, asked about every 100 ms, says to go on.
    ///
    /// # Errors
    /// [`NoParty`], if the socket cannot be made, nodes are missing when the patience is over, or `look` says to stop.
    pub fn invite(
        socket: &Path,
        nodes: u32,
        terms: &Terms,
        look: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Self, NoParty> {
        let socket = Socket::bind(socket)?;
        let mut guests = handshake::gather(&socket, nodes, terms, look)?;
        guests.sort_by_key(|guest| guest.nodes.start);
        let own = guests.iter().take_while(|guest| guest.nodes.start < terms.nodes.start).count();
        let mut parts: Vec<_> = guests.iter().map(|guest| guest.nodes.clone()).collect();
        parts.insert(own, terms.nodes.clone());
        let (sender, inbox) = mpsc::channel();
        let mut connections = Vec::new();
        for Guest { nodes, connection } in guests {
            let process = connections.len() + usize::from(connections.len() >= own);
            let welcome = FromHost::Welcome { parts: parts.clone(), own: process, host: own };
            connection.send(&welcome).map_err(|why| NoParty::Broken { nodes, why })?;
            connection.listen(sender.clone(), move |message| (process, message));
            connections.push(Some(connection));
        }
        connections.insert(own, None);
        Ok(Self { parts, own, role: Role::Host { guests: connections, inbox, _socket: socket } })
    }

    /// Joins the party at a Unix socket, with the nodes that are in `terms`. Waits for the host, and for the other guests, as
    /// [`invite`](Self::invite) does.
    ///
    /// # Errors
    /// [`NoParty`], if nobody invites, the host refuses these terms, or `look` says to stop.
    pub fn join(
        socket: &Path,
        nodes: u32,
        terms: &Terms,
        look: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Self, NoParty> {
        let Joined { host, process, parts, own } = handshake::join(socket, nodes, terms, look)?;
        let (_, inbox) = mpsc::channel();
        Ok(Self { parts, own, role: Role::Guest { host, process, inbox } })
    }

    /// The nodes of each process, in their order.
    pub(super) fn parts(&self) -> &[Range<u32>] {
        &self.parts
    }

    /// Which of them is this process.
    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// Whether this process hears what the nodes of all report.
    pub(super) fn is_host(&self) -> bool {
        matches!(self.role, Role::Host { .. })
    }

    fn lost(&self, process: usize, why: impl fmt::Display) -> Lost {
        let nodes = self.parts.get(process).cloned().unwrap_or_default();
        Lost { nodes, why: why.to_string() }
    }

    /// The host is gone, seen from a guest.
    fn lost_host(&self, why: impl fmt::Display) -> Lost {
        let Role::Guest { process, .. } = self.role else { return self.lost(self.own, why) };
        self.lost(process, why)
    }

    /// The memory that all share, of so many words.
    ///
    /// # Errors
    /// [`NoMemory`], if the system has none, or what the host has sent is none.
    pub(super) fn memory(&mut self, words: usize) -> Result<Arc<Region>, NoMemory> {
        let no_memory = |why| NoMemory { bytes: words * super::shared::WORD, why };
        match &mut self.role {
            Role::Host { guests, .. } => {
                let (region, descriptor) = Region::shared(words)?;
                for guest in guests.iter().flatten() {
                    guest.give(&descriptor).map_err(no_memory)?;
                }
                Ok(region)
            }
            Role::Guest { host, inbox, .. } => {
                let region = Region::of(&host.take(PATIENCE).map_err(no_memory)?, words)?;
                let (sender, messages) = mpsc::channel();
                host.listen(sender, |message| message);
                *inbox = messages;
                Ok(region)
            }
        }
    }

    /// Waits until all are ready, and agrees on when time begins: what the system's clock will show then, in ns.
    ///
    /// # Errors
    /// [`Lost`], if one is gone meanwhile.
    pub(super) fn begin(&self) -> Result<u64, Lost> {
        match &self.role {
            Role::Host { guests, inbox, .. } => {
                for _ in guests.iter().flatten() {
                    match inbox.recv_timeout(PATIENCE) {
                        Ok((_, Ok(FromGuest::Ready))) => {}
                        Ok((process, Ok(_))) => return Err(self.lost(process, "it spoke before its turn")),
                        Ok((process, Err(why))) => return Err(self.lost(process, why)),
                        Err(_) => return Err(self.lost(usize::MAX, "it did not get ready")),
                    }
                }
                let at = system_ns() + BEGINS_IN_NS;
                self.tell_all(&FromHost::Begin(at))?;
                Ok(at)
            }
            Role::Guest { host, inbox, .. } => {
                host.send(&FromGuest::Ready).map_err(|why| self.lost_host(why))?;
                match inbox.recv_timeout(PATIENCE) {
                    Ok(Ok(FromHost::Begin(at))) if at <= system_ns() + BEGINS_IN_NS => Ok(at),
                    Ok(Ok(_)) => Err(self.lost_host(NONSENSE)),
                    Ok(Err(why)) => Err(self.lost_host(why)),
                    Err(_) => Err(self.lost_host("it did not begin")),
                }
            }
        }
    }

    fn tell_all(&self, message: &FromHost) -> Result<(), Lost> {
        let Role::Host { guests, .. } = &self.role else { return Ok(()) };
        for (process, guest) in guests.iter().enumerate() {
            if let Some(guest) = guest {
                guest.send(message).map_err(|why| self.lost(process, why))?;
            }
        }
        Ok(())
    }

    fn tell_who_is_there(&self, message: &FromHost) {
        let Role::Host { guests, .. } = &self.role else { return };
        for guest in guests.iter().flatten() {
            let _ = guest.send(message);
        }
    }

    /// A guest tells the host what its nodes have reported.
    pub(super) fn tell(&self, heard: Heard) -> Result<(), Lost> {
        let Role::Guest { host, .. } = &self.role else { return Ok(()) };
        for heard in heard.in_pieces() {
            host.send(&FromGuest::Heard(heard)).map_err(|why| self.lost_host(why))?;
        }
        Ok(())
    }

    /// What another process has said, if one has.
    ///
    /// # Errors
    /// [`Lost`], if one is gone.
    pub(super) fn hear(&self) -> Result<Option<Message>, Lost> {
        match &self.role {
            Role::Host { inbox, .. } => match inbox.try_recv() {
                Ok((process, Ok(FromGuest::Heard(heard)))) => Ok(Some(Message::Heard(process, heard))),
                Ok((process, Ok(FromGuest::Ended(_)))) => Err(self.lost(process, "it has stopped")),
                Ok((process, Ok(_))) => Err(self.lost(process, NONSENSE)),
                Ok((process, Err(why))) => Err(self.lost(process, why)),
                Err(_) => Ok(None),
            },
            Role::Guest { inbox, .. } => match inbox.try_recv() {
                Ok(Ok(FromHost::Stop { lost: Some(lost), .. })) => Err(lost),
                Ok(Ok(FromHost::Stop { complete, .. })) => Ok(Some(Message::Over(complete))),
                Ok(Ok(_)) => Err(self.lost_host(NONSENSE)),
                Ok(Err(why)) => Err(self.lost_host(why)),
                Err(TryRecvError::Empty) => Ok(None),
                Err(TryRecvError::Disconnected) => Err(self.lost_host("it hung up")),
            },
        }
    }

    /// The run is over here. The host says so to all and hears their last words, which it gives to `hearing`; a guest says its own.
    /// Returns what the guests leave.
    ///
    /// # Errors
    /// [`Lost`], if one does not say its last word.
    pub(super) fn end(
        &self,
        complete: bool,
        lost: Option<&Lost>,
        own: impl FnOnce() -> Ended,
        mut hearing: impl FnMut(usize, Heard),
    ) -> Result<Vec<Ended>, Lost> {
        match &self.role {
            Role::Guest { host, .. } => {
                let ended = FromGuest::Ended(Box::new(own()));
                host.send(&ended).map_err(|why| self.lost_host(why))?;
                Ok(Vec::new())
            }
            Role::Host { guests, inbox, .. } => {
                // Who is gone already is found out below.
                self.tell_who_is_there(&FromHost::Stop { complete, lost: lost.cloned() });
                let mut all = Vec::new();
                let mut has_ended: Vec<bool> = guests.iter().map(Option::is_none).collect();
                while let Some(silent) = has_ended.iter().position(|has_ended| !has_ended) {
                    match inbox.recv_timeout(SILENCE) {
                        Ok((process, Ok(FromGuest::Heard(heard)))) => hearing(process, heard),
                        Ok((process, Ok(FromGuest::Ended(ended)))) if ended.is_possible() => {
                            has_ended[process] = true;
                            all.push(*ended);
                        }
                        Ok((process, Ok(_))) => return Err(self.lost(process, NONSENSE)),
                        Ok((process, Err(why))) if !has_ended[process] => return Err(self.lost(process, why)),
                        Ok((_, Err(_))) => {} // it has said its last word, and hung up
                        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                            return Err(self.lost(silent, format!("it was silent for {SILENCE:?}")));
                        }
                    }
                }
                Ok(all)
            }
        }
    }

    /// Whether a process that was last heard then counts as gone.
    ///
    /// # Errors
    /// [`Lost`], if so.
    pub(super) fn check_silence(&self, hearing: &Hearing) -> Result<(), Lost> {
        let longest = SILENCE.as_nanos() as u64;
        match hearing.silent_for(system_ns()) {
            Some((process, ns)) if self.is_host() && ns > longest => {
                Err(self.lost(process, format!("it was silent for {SILENCE:?}")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
