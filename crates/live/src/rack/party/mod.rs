//! The processes that share a rack. Each process runs some of the rack's nodes. One process is the host, and the other
//! processes are its guests. The host listens, decides when virtual time begins and when the run is over, and receives
//! the reports of all nodes. If a process is gone, the run reports the loss and ends (specifications/live.md §2,
//! docs/src/live.md).
//!
//! - Processes of one machine meet at a Unix socket. The host creates the shared memory that holds the packets of all
//!   processes.
//! - Processes of any machines meet at a TCP address. Each process has its own memory. The host forwards the [`Offer`]s
//!   that the two ends of a ring between machines need. The host's clock is the party's clock: each guest measures how
//!   far the host's clock is ahead of the guest's clock.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the constants are at most one minute, so their numbers of nanoseconds fit 64 bits"
)]

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

/// The longest silence of a process, during a run and at the run's end. After a longer silence the process counts as
/// gone.
const SILENCE: Duration = Duration::from_secs(5);

/// Delay between the moment when the last process is ready and the start of virtual time, in ns.
const BEGINS_IN_NS: u64 = 20_000_000;

/// Number of clock requests of a guest before a run.
const PINGS: u32 = 64;
/// Interval between a guest's clock requests during a run, in ns.
const PINGS_IN_NS: u64 = 100_000_000;

/// The largest single correction of a guest's clock offset, in ns. In the 100 ms between two clock requests, the clocks
/// of two machines diverge by less than 10 µs.
const MOST_STEP: i64 = 20_000;

/// The longest wait for a message in [`Party::begin`], between two calls of `meanwhile`.
const SHORTLY: Duration = Duration::from_micros(200);

/// The reason reported for a process that sends an impossible message, or a message at the wrong time.
const NONSENSE: &str = "the process sent an unexpected message";

/// A process of the party is gone, did not answer in time, or has sent an invalid message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("lost the process of nodes {}-{}: {why}", nodes.start, nodes.end.saturating_sub(1))]
pub struct Lost {
    /// The nodes of the lost process.
    pub nodes: Range<u32>,
    /// The reason, such as the connection's error or an invalid message.
    pub why: String,
}

/// The processes that share a rack, seen from one process.
#[derive(Debug)]
pub struct Party {
    /// The nodes of each process, in node order.
    parts: Vec<Range<u32>>,
    /// Index of this process in `parts`.
    own: usize,
    /// The address at which processes on other machines reach this machine. `None` if the party meets at a Unix socket.
    address: Option<IpAddr>,
    /// The host's clock minus this machine's clock.
    offset: Arc<Offset>,
    role: Role,
}

#[derive(Debug)]
enum Role {
    /// `guests` is indexed by process: the connection to the guest, or `None` for the host itself.
    Host { guests: Vec<Option<Connection>>, inbox: Receiver<Came<FromGuest>>, _door: Door },
    Guest {
        host: Connection,
        process: usize,
        inbox: Receiver<Came<FromHost>>,
        /// The time of this guest's latest clock request during the run, in ns. 0 before the first request.
        pinged_ns: AtomicU64,
        /// The time at which the host's latest answer to a clock request arrived, in ns. Before the run, the time at
        /// which this guest joined.
        ponged_ns: AtomicU64,
    },
}

/// A message that a connection delivered.
#[derive(Debug)]
struct Came<T> {
    /// Index of the sending process.
    process: usize,
    /// The time of arrival on this machine's clock, in ns.
    at_ns: u64,
    message: Result<T, Broken>,
}

impl<T> Came<T> {
    fn now(process: usize, message: Result<T, Broken>) -> Self {
        Self { process, at_ns: system_ns(), message }
    }
}

/// A message that another process has sent to this process during the run.
#[derive(Debug)]
pub(super) enum Message {
    /// The index of a guest, and reports of the guest's nodes.
    Heard(usize, Heard),
    /// The run is over. The value is true if all work was done or the time limit passed.
    Over(bool),
}

impl Party {
    /// Opens a party at `at` for a rack of `nodes` nodes, and waits until guests have joined for all nodes that are not
    /// in `terms`. The wait takes a minute at most, not counting the handshakes. The function calls `look` about every
    /// 100 ms, and stops early if `look` returns `Break`.
    ///
    /// # Errors
    /// [`NoParty`], if the terms do not fit the rack, this process cannot listen at `at`, or a party at a TCP address
    /// lacks a secret or libfabric. Also if nodes are missing after the wait, a guest is lost, or `look` returns
    /// `Break`.
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

    /// Joins the party at `at` with the nodes in `terms`. Waits a minute at most until the host listens, not counting
    /// the attempts to connect, which take up to 2 s each. Then waits about a minute at most until all processes have
    /// joined.
    ///
    /// # Errors
    /// [`NoParty`], if the terms do not fit the rack, no host listens at `at`, or a party at a TCP address lacks a
    /// secret or libfabric. Also if the host refuses these terms or does not know the secret, the host is lost, or
    /// `look` returns `Break`.
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

    /// The address at which processes on other machines reach this machine. `None` if the party meets at a Unix socket.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// The host's clock minus this machine's clock.
    pub(super) fn offset(&self) -> &Arc<Offset> {
        &self.offset
    }

    /// The nodes of each process, in node order.
    pub(super) fn parts(&self) -> &[Range<u32>] {
        &self.parts
    }

    /// Index of this process in [`parts`](Self::parts).
    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// Returns true if this process is the host, which receives the reports of all nodes.
    pub(super) fn is_host(&self) -> bool {
        matches!(self.role, Role::Host { .. })
    }

    /// The error for a process that is gone.
    pub(super) fn lost(&self, process: usize, why: impl fmt::Display) -> Lost {
        let nodes = self.parts.get(process).cloned().unwrap_or_default();
        Lost { nodes, why: why.to_string() }
    }

    /// The error for a host that is gone, seen from a guest.
    fn lost_host(&self, why: impl fmt::Display) -> Lost {
        let Role::Guest { process, .. } = self.role else { return self.lost(self.own, why) };
        self.lost(process, why)
    }

    /// Returns the memory of `words` words that all processes share. The host creates the memory, and sends its
    /// descriptor to the guests.
    ///
    /// # Errors
    /// [`NoMemory`], if the system refuses the memory, or a process cannot send or receive the memory's descriptor.
    /// Also if the memory of the received descriptor has another length, or could become shorter.
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

    /// Exchanges offers (descriptions of ring ends) for the rings between machines. The process at the other end of
    /// each ring receives this process's offer, and this process receives the other process's offer.
    ///
    /// # Errors
    /// [`Lost`], if a process is lost during the exchange.
    #[cfg_attr(
        not(feature = "libfabric"),
        expect(dead_code, reason = "only packet rings between machines need this method")
    )]
    pub(super) fn trade(&mut self, offers: Vec<Offer>) -> Result<Vec<Offer>, Lost> {
        if let Role::Guest { host, process, inbox, .. } = &mut self.role {
            *inbox = listening(host, *process);
        }
        self.swap(offers).inspect_err(|lost| self.call_off(lost))
    }

    /// If this process is the host, tells the remaining guests which process was lost before the run began.
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
                    Err(_) => Err(self.lost_host(
                        "the host process did not forward the other processes' packet ring descriptions in \
                         time",
                    )),
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
                let is_guest = |process: &usize| guests[*process].is_some();
                let mut silent: Vec<usize> = (0..guests.len()).filter(is_guest).collect();
                while let Some(&next) = silent.first() {
                    let Ok(Came { process, message, .. }) = inbox.recv_timeout(PATIENCE) else {
                        return Err(self.lost(next, "the process did not describe its packet rings in time"));
                    };
                    match message {
                        Ok(FromGuest::Offers(offers)) if silent.contains(&process) => {
                            silent.retain(|other| *other != process);
                            sort(process, offers)?;
                        }
                        Ok(_) => return Err(self.lost(process, "the process sent a message too early")),
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

    /// Waits until all processes are ready, and returns the agreed start of virtual time, in ns of the host's clock.
    /// Calls `meanwhile` repeatedly during the wait. `meanwhile` must return true once this process is ready.
    ///
    /// # Errors
    /// [`Lost`], if a process is lost during the wait, or is not ready after about a minute.
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
            // If both `meanwhile` and the connection report a lost process, the connection's reason is returned.
            let done = meanwhile();
            match &self.role {
                Role::Host { inbox, .. } => {
                    match inbox.recv_timeout(SHORTLY) {
                        Ok(Came { process, message: Ok(FromGuest::Ready), .. }) => waiting[process] = false,
                        Ok(Came { process, message: Ok(_), .. }) => {
                            return Err(self.lost(process, "the process sent a message too early"));
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
            Some(process) => Err(self.lost(process, "the process was not ready in time")),
            None if is_ready => Err(self.lost_host("the host process did not start the run in time")),
            None => {
                Err(self.lost(self.own, "this process could not set up its packet rings to other machines"))
            }
        }
    }

    /// Returns true if `at`, in ns of the host's clock, is within [`SILENCE`] of the present.
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

    /// If this process is a guest, sends the reports of its nodes to the host. If the host may be on another machine,
    /// the guest also asks for the time of the host's clock at regular intervals.
    pub(super) fn tell(&self, heard: Heard) -> Result<(), Lost> {
        let Role::Guest { host, pinged_ns, ponged_ns, .. } = &self.role else { return Ok(()) };
        for heard in heard.ahead_by(self.offset.ns()).in_pieces() {
            host.send(&FromGuest::Heard(heard)).map_err(|why| self.lost_host(why))?;
        }
        let now = system_ns();
        if self.address.is_some() && now > pinged_ns.load(Ordering::Relaxed) + PINGS_IN_NS {
            if now > ponged_ns.load(Ordering::Relaxed) + SILENCE.as_nanos() as u64 {
                return Err(self.lost_host(format!("the process sent nothing for {SILENCE:?}")));
            }
            pinged_ns.store(now, Ordering::Relaxed);
            host.send(&FromGuest::Ping(system_ns())).map_err(|why| self.lost_host(why))?;
        }
        Ok(())
    }

    /// Corrects the clock offset with the host's answer to a clock request. The function [`between`] explains the
    /// times.
    fn follow(&self, ping: u64, heard: u64, said: u64, at_ns: u64) {
        self.offset.follow(&between(ping, heard, said, at_ns), MOST_STEP);
        if let Role::Guest { ponged_ns, .. } = &self.role {
            ponged_ns.store(at_ns, Ordering::Relaxed);
        }
    }

    /// The next message from another process, if one has arrived.
    ///
    /// # Errors
    /// [`Lost`], if a process is gone or has sent an unexpected message.
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
                        Ok(FromGuest::Ended(_)) => {
                            return Err(self.lost(process, "the process ended its run early"));
                        }
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
                    Err(TryRecvError::Disconnected) => {
                        Err(self.lost_host("the process closed the connection"))
                    }
                };
            },
        }
    }

    /// Ends the run at this process. A guest sends its last message. The host tells all guests to stop, waits for their
    /// last messages, and calls `hearing` with the reports that still arrive. Returns the last messages of all guests.
    /// At a guest, the returned list is empty.
    ///
    /// # Errors
    /// [`Lost`], if a process does not send its last message, or sends an unexpected message.
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
                // If a guest is already gone, this step reports no error, because the loop below detects the loss.
                self.tell_who_is_there(&FromHost::Stop { complete, lost: lost.cloned() });
                let mut all = Vec::new();
                let mut has_ended: Vec<bool> = guests.iter().map(Option::is_none).collect();
                while let Some(silent) = has_ended.iter().position(|has_ended| !has_ended) {
                    let Ok(Came { process, message, .. }) = inbox.recv_timeout(SILENCE) else {
                        return Err(self.lost(silent, format!("the process sent nothing for {SILENCE:?}")));
                    };
                    match message {
                        Ok(FromGuest::Heard(heard)) => hearing(process, heard),
                        Ok(FromGuest::Ping(_)) => {} // the guest's clock no longer matters
                        Ok(FromGuest::Ended(ended)) if ended.is_possible() => {
                            has_ended[process] = true;
                            all.push(*ended);
                        }
                        Ok(_) => return Err(self.lost(process, NONSENSE)),
                        Err(why) if !has_ended[process] => return Err(self.lost(process, why)),
                        Err(_) => {} // the guest has sent its last message and closed the connection
                    }
                }
                Ok(all)
            }
        }
    }

    /// Checks that the latest look of every process began at most [`SILENCE`] ago. Skips processes from which no look
    /// has arrived yet. Only the host checks.
    ///
    /// # Errors
    /// [`Lost`], if the latest look of a process is older.
    pub(super) fn check_silence(&self, hearing: &Hearing) -> Result<(), Lost> {
        let longest = SILENCE.as_nanos() as u64;
        match hearing.silent_for(system_ns()) {
            Some((process, ns)) if self.is_host() && ns > longest => {
                Err(self.lost(process, format!("the process sent nothing for {SILENCE:?}")))
            }
            _ => Ok(()),
        }
    }
}

/// Starts to receive the host's messages in the background. The messages arrive in the returned channel.
fn listening(host: &Connection, process: usize) -> Receiver<Came<FromHost>> {
    let (sender, inbox) = mpsc::channel();
    host.listen(sender, move |message| Came::now(process, message));
    inbox
}

/// Lower and upper bound, in ns, of the host's clock minus this machine's clock. This machine sent a clock request at
/// `ping` and received the answer at `at_ns`, both on its own clock. The host received the request at `heard` and
/// answered at `said`, both on the host's clock.
fn between(ping: u64, heard: u64, said: u64, at_ns: u64) -> RangeInclusive<i64> {
    said.wrapping_sub(at_ns).cast_signed()..=heard.wrapping_sub(ping).cast_signed()
}

#[cfg(test)]
mod tests;
