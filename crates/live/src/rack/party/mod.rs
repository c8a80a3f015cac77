//! The processes that share a rack. Each has some of its nodes. One process is the host: it listens, says when time begins and when the
//! run is over, and hears from the others, its guests, what their nodes report. A process that is gone is reported and ends the run:
//! nobody waits for it (specs/live.md §2, docs/src/live.md).
//!
//! - At a Unix socket meet processes of one machine. The host makes the memory in which the packets of all are.
//! - At a TCP address meet processes of any machines. Each has a memory of its own, and the host passes on what the ends of rings
//!   between machines must know of each other. The host's clock is that of all: guests measure how far it is ahead of theirs.

mod connection;
mod handshake;
mod hearing;
mod message;
mod socket;

pub use handshake::{NoParty, Terms};
pub(super) use hearing::Hearing;
pub(super) use message::{Count, Ended, Heard, Known, Look, Offer};
pub use socket::Meeting;

use super::clock::{Offset, system_ns};
use super::shared::{NoMemory, Region};
use connection::{Broken, Connection};
use handshake::{Guest, Joined, PATIENCE};
use message::{FromGuest, FromHost};
use serde::{Deserialize, Serialize};
use socket::Door;
use std::fmt;
use std::net::IpAddr;
use std::ops::{ControlFlow, Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::time::Duration;

/// How long a process may be silent before it counts as gone, and how long the others wait for its last word.
const SILENCE: Duration = Duration::from_secs(5);

/// How long after the last process is ready time begins.
const BEGINS_IN_NS: u64 = 20_000_000;

/// How often a guest asks for the host's clock before a run, and how far apart in the run.
const PINGS: u32 = 64;
const PINGS_IN_NS: u64 = 100_000_000;

/// How much a guest's clock is set at once, in ns. Clocks of machines go apart by less than 100 µs in a second.
const MOST_STEP: i64 = 20_000;

/// How long a process waits for one thing while it does others.
const SHORTLY: Duration = Duration::from_micros(200);

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
    /// The address of this machine by which the others reach it, if they may be on other machines.
    address: Option<IpAddr>,
    /// Between this machine's clock and the host's.
    offset: Arc<Offset>,
    role: Role,
}

#[derive(Debug)]
enum Role {
    /// By process, the guest; none where the host itself is.
    Host { guests: Vec<Option<Connection>>, inbox: Receiver<Came<FromGuest>>, _door: Door },
    Guest {
        host: Connection,
        process: usize,
        inbox: Receiver<Came<FromHost>>,
        /// When this guest last asked for the host's clock, and when the host last answered.
        pinged_ns: AtomicU64,
        ponged_ns: AtomicU64,
    },
}

/// What came by a connection.
#[derive(Debug)]
struct Came<T> {
    /// From which process.
    process: usize,
    /// What this machine's clock showed then, in ns.
    at_ns: u64,
    message: Result<T, Broken>,
}

impl<T> Came<T> {
    fn now(process: usize, message: Result<T, Broken>) -> Self {
        Self { process, at_ns: system_ns(), message }
    }
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
    /// Invites others to a rack of so many nodes, and waits there until they have all nodes that are not in `terms`: at most a
    /// minute, and as long as `look`, asked about every 100 ms, says to go on.
    ///
    /// # Errors
    /// [`NoParty`], if nobody can listen there, nodes are missing when the patience is over, or `look` says to stop.
    pub fn invite(
        at: impl Into<Meeting>,
        nodes: u32,
        terms: &Terms,
        look: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Self, NoParty> {
        let at = at.into();
        terms.check(&at, nodes)?;
        let door = Door::open(&at)?;
        let mut guests = handshake::gather(&door, nodes, terms, look)?;
        guests.sort_by_key(|guest| guest.nodes.start);
        let own = guests.iter().take_while(|guest| guest.nodes.start < terms.nodes.start).count();
        let mut parts: Vec<_> = guests.iter().map(|guest| guest.nodes.clone()).collect();
        parts.insert(own, terms.nodes.clone());
        let (sender, inbox) = mpsc::channel();
        let mut connections = Vec::new();
        for Guest { nodes, connection } in guests {
            let process = connections.len() + usize::from(connections.len() >= own);
            let welcome = FromHost::Welcome { parts: parts.clone(), own: process, host: own };
            let welcomed = connection.send(&welcome);
            let compared = welcomed.and_then(|()| handshake::show_clock(&connection));
            compared.map_err(|why| NoParty::Broken { nodes, why })?;
            connection.listen(sender.clone(), move |message| Came::now(process, message));
            connections.push(Some(connection));
        }
        connections.insert(own, None);
        let address = match at {
            Meeting::Socket(_) => None,
            Meeting::Address(address) => Some(address.ip()),
        };
        let role = Role::Host { guests: connections, inbox, _door: door };
        Ok(Self { parts, own, address, offset: Arc::default(), role })
    }

    /// Joins the party there, with the nodes that are in `terms`. Waits for the host, and for the other guests, as
    /// [`invite`](Self::invite) does.
    ///
    /// # Errors
    /// [`NoParty`], if nobody invites, the host refuses these terms, or `look` says to stop.
    pub fn join(
        at: impl Into<Meeting>,
        nodes: u32,
        terms: &Terms,
        look: impl FnMut() -> ControlFlow<()>,
    ) -> Result<Self, NoParty> {
        let Joined { host, process, parts, own, offset } = handshake::join(&at.into(), nodes, terms, look)?;
        let (_, inbox) = mpsc::channel();
        let address = host.own_address();
        let (pinged_ns, ponged_ns) = (AtomicU64::new(0), AtomicU64::new(system_ns()));
        let role = Role::Guest { host, process, inbox, pinged_ns, ponged_ns };
        Ok(Self { parts, own, address, offset: Arc::new(Offset::new(offset)), role })
    }

    /// The address of this machine by which the others reach it, if they may be on other machines.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Between this machine's clock and the host's.
    pub(super) fn offset(&self) -> &Arc<Offset> {
        &self.offset
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

    /// A process is gone.
    pub(super) fn lost(&self, process: usize, why: impl fmt::Display) -> Lost {
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
            Role::Guest { host, process, inbox, .. } => {
                let region = Region::of(&host.take(PATIENCE).map_err(no_memory)?, words)?;
                *inbox = listening(host, *process);
                Ok(region)
            }
        }
    }

    /// Gives the others what their ends of rings between machines must know of this process' ends, and gets the same of them.
    ///
    /// # Errors
    /// [`Lost`], if one is gone meanwhile.
    #[cfg_attr(
        not(feature = "libfabric"),
        expect(dead_code, reason = "only rings between machines have offers")
    )]
    pub(super) fn trade(&mut self, offers: Vec<Offer>) -> Result<Vec<Offer>, Lost> {
        if let Role::Guest { host, process, inbox, .. } = &mut self.role {
            *inbox = listening(host, *process);
        }
        self.swap(offers).inspect_err(|lost| self.call_off(lost))
    }

    /// The host lets the others know who is gone before the run has begun.
    fn call_off(&self, lost: &Lost) {
        self.tell_who_is_there(&FromHost::Stop { complete: false, lost: Some(lost.clone()) });
    }

    fn swap(&self, offers: Vec<Offer>) -> Result<Vec<Offer>, Lost> {
        match &self.role {
            Role::Guest { host, inbox, .. } => {
                host.send(&FromGuest::Offers(offers)).map_err(|why| self.lost_host(why))?;
                match inbox.recv_timeout(PATIENCE).map(|came| came.message) {
                    Ok(Ok(FromHost::Offers(offers))) => Ok(offers),
                    Ok(Ok(FromHost::Stop { lost: Some(lost), .. })) => Err(lost),
                    Ok(Ok(_)) => Err(self.lost_host(NONSENSE)),
                    Ok(Err(why)) => Err(self.lost_host(why)),
                    Err(_) => Err(self.lost_host("it has not told the others' ends of rings")),
                }
            }
            Role::Host { guests, inbox, .. } => {
                let mut by_process: Vec<Vec<Offer>> = guests.iter().map(|_| Vec::new()).collect();
                let mut sort = |from: usize, offers: Vec<Offer>| {
                    for offer in offers {
                        let of =
                            by_process.get_mut(offer.process).ok_or_else(|| self.lost(from, NONSENSE))?;
                        of.push(Offer { process: from, ..offer });
                    }
                    Ok(())
                };
                sort(self.own, offers)?;
                for _ in guests.iter().flatten() {
                    let Ok(Came { process, message, .. }) = inbox.recv_timeout(PATIENCE) else {
                        return Err(self.lost(usize::MAX, "it did not tell its ends of rings"));
                    };
                    match message {
                        Ok(FromGuest::Offers(offers)) => sort(process, offers)?,
                        Ok(_) => return Err(self.lost(process, "it spoke before its turn")),
                        Err(why) => return Err(self.lost(process, why)),
                    }
                }
                let own = std::mem::take(&mut by_process[self.own]);
                for (process, (guest, offers)) in guests.iter().zip(by_process).enumerate() {
                    if let Some(guest) = guest {
                        guest.send(&FromHost::Offers(offers)).map_err(|why| self.lost(process, why))?;
                    }
                }
                Ok(own)
            }
        }
    }

    /// Waits until all are ready, and agrees on when time begins: what the host's clock will show then, in ns. Meanwhile does
    /// what `meanwhile` does again and again, which says whether this process is ready.
    ///
    /// # Errors
    /// [`Lost`], if one is gone meanwhile.
    pub(super) fn begin(&self, meanwhile: impl FnMut() -> Result<bool, Lost>) -> Result<u64, Lost> {
        self.agree_on_begin(meanwhile).inspect_err(|lost| self.call_off(lost))
    }

    fn agree_on_begin(&self, mut meanwhile: impl FnMut() -> Result<bool, Lost>) -> Result<u64, Lost> {
        let patient_until = system_ns() + PATIENCE.as_nanos() as u64;
        let mut is_ready = false;
        let mut waiting: Vec<bool> = match &self.role {
            Role::Host { guests, .. } => guests.iter().map(Option::is_some).collect(),
            Role::Guest { .. } => Vec::new(),
        };
        while system_ns() < patient_until {
            // One that is gone is told as the connection has it, if both say so.
            let done = meanwhile();
            match &self.role {
                Role::Host { inbox, .. } => {
                    match inbox.recv_timeout(SHORTLY) {
                        Ok(Came { process, message: Ok(FromGuest::Ready), .. }) => waiting[process] = false,
                        Ok(Came { process, message: Ok(_), .. }) => {
                            return Err(self.lost(process, "it spoke before its turn"));
                        }
                        Ok(Came { process, message: Err(why), .. }) => return Err(self.lost(process, why)),
                        Err(_) => {}
                    }
                    if done? && !waiting.contains(&true) {
                        let at = system_ns() + BEGINS_IN_NS;
                        self.tell_all(&FromHost::Begin(at))?;
                        return Ok(at);
                    }
                }
                Role::Guest { host, inbox, .. } => {
                    match inbox.recv_timeout(SHORTLY).map(|came| came.message) {
                        Ok(Ok(FromHost::Begin(at))) if is_ready && self.is_soon(at) => return Ok(at),
                        Ok(Ok(FromHost::Stop { lost: Some(lost), .. })) => return Err(lost),
                        Ok(Ok(_)) => return Err(self.lost_host(NONSENSE)),
                        Ok(Err(why)) => return Err(self.lost_host(why)),
                        Err(_) => {}
                    }
                    if done? && !is_ready {
                        is_ready = true;
                        host.send(&FromGuest::Ready).map_err(|why| self.lost_host(why))?;
                    }
                }
            }
        }
        match waiting.iter().position(|&waits| waits) {
            Some(process) => Err(self.lost(process, "it did not get ready")),
            None if is_ready => Err(self.lost_host("it did not begin")),
            None => Err(self.lost(self.own, "its rings to other machines do not come about")),
        }
    }

    /// Whether a run may begin when the host's clock shows so many ns.
    fn is_soon(&self, at: u64) -> bool {
        let (now, longest) = (self.offset.host_ns(), SILENCE.as_nanos() as u64);
        (now.saturating_sub(longest)..=now + longest).contains(&at)
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

    /// A guest tells the host what its nodes have reported, and asks for the host's clock now and then if that is another
    /// machine's.
    pub(super) fn tell(&self, heard: Heard) -> Result<(), Lost> {
        let Role::Guest { host, pinged_ns, ponged_ns, .. } = &self.role else { return Ok(()) };
        for heard in heard.ahead_by(self.offset.ns()).in_pieces() {
            host.send(&FromGuest::Heard(heard)).map_err(|why| self.lost_host(why))?;
        }
        let now = system_ns();
        if self.address.is_some() && now > pinged_ns.load(Ordering::Relaxed) + PINGS_IN_NS {
            if now > ponged_ns.load(Ordering::Relaxed) + SILENCE.as_nanos() as u64 {
                return Err(self.lost_host(format!("it was silent for {SILENCE:?}")));
            }
            pinged_ns.store(now, Ordering::Relaxed);
            host.send(&FromGuest::Ping(system_ns())).map_err(|why| self.lost_host(why))?;
        }
        Ok(())
    }

    /// The host's clock came, at `at_ns` of this machine's.
    fn follow(&self, ping: u64, heard: u64, said: u64, at_ns: u64) {
        self.offset.follow(&between(ping, heard, said, at_ns), MOST_STEP);
        if let Role::Guest { ponged_ns, .. } = &self.role {
            ponged_ns.store(at_ns, Ordering::Relaxed);
        }
    }

    /// What another process has said, if one has.
    ///
    /// # Errors
    /// [`Lost`], if one is gone.
    pub(super) fn hear(&self) -> Result<Option<Message>, Lost> {
        match &self.role {
            Role::Host { guests, inbox, .. } => {
                while let Ok(Came { process, at_ns, message }) = inbox.try_recv() {
                    match message {
                        Ok(FromGuest::Heard(heard)) => return Ok(Some(Message::Heard(process, heard))),
                        Ok(FromGuest::Ping(ping)) => {
                            let pong = FromHost::Pong { ping, heard: at_ns, said: system_ns() };
                            let answered = guests[process].as_ref().map_or(Ok(()), |guest| guest.send(&pong));
                            answered.map_err(|why| self.lost(process, why))?;
                        }
                        Ok(FromGuest::Ended(_)) => return Err(self.lost(process, "it has stopped")),
                        Ok(_) => return Err(self.lost(process, NONSENSE)),
                        Err(why) => return Err(self.lost(process, why)),
                    }
                }
                Ok(None)
            }
            Role::Guest { inbox, .. } => loop {
                return match inbox.try_recv().map(|came| (came.at_ns, came.message)) {
                    Ok((at_ns, Ok(FromHost::Pong { ping, heard, said }))) => {
                        self.follow(ping, heard, said, at_ns);
                        continue;
                    }
                    Ok((_, Ok(FromHost::Stop { lost: Some(lost), .. }))) => Err(lost),
                    Ok((_, Ok(FromHost::Stop { complete, .. }))) => Ok(Some(Message::Over(complete))),
                    Ok((_, Ok(_))) => Err(self.lost_host(NONSENSE)),
                    Ok((_, Err(why))) => Err(self.lost_host(why)),
                    Err(TryRecvError::Empty) => Ok(None),
                    Err(TryRecvError::Disconnected) => Err(self.lost_host("it hung up")),
                };
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
                    let Ok(Came { process, message, .. }) = inbox.recv_timeout(SILENCE) else {
                        return Err(self.lost(silent, format!("it was silent for {SILENCE:?}")));
                    };
                    match message {
                        Ok(FromGuest::Heard(heard)) => hearing(process, heard),
                        Ok(FromGuest::Ping(_)) => {} // its clock does not matter any more
                        Ok(FromGuest::Ended(ended)) if ended.is_possible() => {
                            has_ended[process] = true;
                            all.push(*ended);
                        }
                        Ok(_) => return Err(self.lost(process, NONSENSE)),
                        Err(why) if !has_ended[process] => return Err(self.lost(process, why)),
                        Err(_) => {} // it has said its last word, and hung up
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

/// From now on what the host says comes here.
fn listening(host: &Connection, process: usize) -> Receiver<Came<FromHost>> {
    let (sender, inbox) = mpsc::channel();
    host.listen(sender, move |message| Came::now(process, message));
    inbox
}

/// How far the host's clock can be ahead, in ns: it heard the ping after that was sent, and answered before that came. All but `heard` and
/// `said` are of this machine's clock.
fn between(ping: u64, heard: u64, said: u64, at_ns: u64) -> RangeInclusive<i64> {
    said.wrapping_sub(at_ns).cast_signed()..=heard.wrapping_sub(ping).cast_signed()
}

#[cfg(test)]
mod tests;
