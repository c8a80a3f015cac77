//! Topology discovery as a protocol (specifications/live.md §4): nodes detect by themselves which links are down.
//!
//! All nodes know the fabric as it was built, and that all links are up at the start. A [`Discovery`] is one node's
//! part of the protocol. It does no I/O and reads no clock. It requests actions from its node by [effects](Effect).
//!
//! - **Hellos.** In each period a node sends a hello over each of its links whose port is up. A node considers a link
//!   down if it has received nothing from the neighbour for three whole periods, or if the neighbour reports that it
//!   does not hear the node. A link that fails in one direction is therefore down for both ends. It is up again when
//!   both ends hear each other. Any packet of the neighbour proves that the neighbour is alive, but only a hello brings
//!   a link up.
//! - **Link states.** The node at which a directed link starts numbers the link's changes, and floods each change.
//!   Other nodes forward a state the first time that they receive it, and keep the state with the highest number. A
//!   link is down unless the states of both its directions are up.
//! - **Catching up.** A hello carries a digest of all link states that its sender knows. If the hello says that its
//!   sender hears the neighbour, and the neighbour has another digest, the neighbour answers with all link states that
//!   it knows, at most once per period. Nodes that were separated thus catch up, and lost link states are sent again.
//!   There are few link states: a link that has never changed has none.
//!
//! Within ten periods without a change or a loss, all nodes of a component (nodes that working links connect) know the
//! state of each link with an end in the component. They learn nothing new about other links.
//!
//! A period in which the node itself fell behind by more than half a period is not counted as a miss of any neighbour:
//! the runtime may not have read some hellos yet. If the node stays behind but does not fall further behind, it counts
//! periods again. Link states of links that do not exist, or with invalid numbers, are ignored and counted.
//!
//! Hellos cost one packet per directed link and period, and no memory. Only changes take memory: 8 bytes for each
//! directed link that has ever changed.

mod database;
mod rest;

pub use rest::Rest;

use crate::{Duration, LinkId, Packet, PortId, Ports, Time};
use database::{Age, Database};
use raddle_wire::discovery::{Hello, LinkState, LinkStates};
use raddle_wire::{Header, HeaderInfo};
use std::collections::VecDeque;
use std::sync::Arc;

/// The reverse direction of each directed link of a fabric. All nodes share this table.
#[derive(Debug, Clone)]
pub struct Cables(Arc<[Option<LinkId>]>);

impl Cables {
    /// Creates the table. `others` gives the reverse direction of each link, indexed by [`LinkId`]; `None` for a port
    /// without a link.
    pub fn new(others: impl IntoIterator<Item = Option<LinkId>>) -> Self {
        Self(others.into_iter().collect())
    }

    /// The reverse direction of a link; `None` if there is no such link.
    #[must_use]
    pub fn other(&self, link: LinkId) -> Option<LinkId> {
        self.0.get(link.index()).copied().flatten()
    }
}

/// An action that the node must carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Send a packet by a port.
    Send(Packet, PortId),
    /// Tell the scheme that a link went down or came up.
    Link {
        /// Both directions of the link, in ascending order.
        links: [LinkId; 2],
        /// True if the link is now up.
        up: bool,
    },
}

/// Counts of the link states and hellos that a node has ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ignored {
    /// Number of link states that were already known. Floods bring each state over several links.
    pub known: u64,
    /// Number of invalid hellos and link states: the hello arrived by the wrong link, the state's link does not exist,
    /// or the state's sequence number is invalid.
    pub absurd: u64,
}

/// The far end of a link, as a node sees it.
#[derive(Debug, Clone, Copy)]
struct Neighbour {
    /// True if anything has been received since the latest tick; true at the start.
    is_heard: bool,
    /// Number of successive whole periods in which nothing was received, at most [`Discovery::MISSES`].
    /// Periods in which this node fell behind are not counted.
    misses: u8,
    /// True if both ends hear each other.
    is_up: bool,
    /// True if this node has sent the neighbour all link states since the latest tick.
    is_told: bool,
}

impl Neighbour {
    /// True if fewer than [`Discovery::MISSES`] successive periods have passed without a packet from the neighbour. The
    /// node's hellos report this value.
    fn hears(self) -> bool {
        self.misses < Discovery::MISSES
    }
}

/// Topology discovery at one node.
#[derive(Debug)]
pub struct Discovery {
    cables: Cables,
    /// The first of the links that start at this node, one per port.
    first_link: LinkId,
    period: Duration,
    next_tick: Time,
    /// Delay of the latest tick after its scheduled time.
    lag: Duration,
    /// Indexed by port; `None` for a port without a link.
    neighbours: Vec<Option<Neighbour>>,
    database: Database,
    /// Time of the latest change of which the scheme was told; [`Time::ZERO`] if there was none.
    changed_at: Time,
    ignored: Ignored,
    effects: VecDeque<Effect>,
}

impl Discovery {
    /// Default time between two hellos (specifications/live.md §4).
    pub const PERIOD: Duration = Duration::from_ms(1);
    /// Number of whole periods without any packet after which a link is down (specifications/live.md §4).
    pub const MISSES: u8 = 3;
    /// Number of periods without a change or a loss after which all nodes of a component agree. This number is
    /// a sum: three missed periods, up to two periods until both ends of a link have ticked, two periods of hellos
    /// until both ends know that they hear each other, one period to catch up, and two periods for the delays of
    /// packets.
    pub const SETTLES: u64 = 10;

    /// Creates the topology discovery of a node with `ports` ports. Port `i` has the link `first_link` + `i`.
    ///
    /// The node sends the first hello at `begins`, which must be after the start of the run, and then a hello in every
    /// `period`.
    ///
    /// # Panics
    /// If the period is zero.
    #[must_use]
    pub fn new(cables: Cables, first_link: LinkId, ports: usize, period: Duration, begins: Time) -> Self {
        assert!(period > Duration::ZERO, "the hello period must be greater than 0");
        let alive = Neighbour { is_heard: true, misses: 0, is_up: true, is_told: false };
        let link = |port: usize| LinkId::of(first_link.index() + port);
        let neighbours = (0..ports).map(|port| cables.other(link(port)).map(|_| alive)).collect();
        Self {
            database: Database::new(cables.clone()),
            cables,
            first_link,
            period,
            next_tick: begins,
            lag: Duration::ZERO,
            neighbours,
            changed_at: Time::ZERO,
            ignored: Ignored::default(),
            effects: VecDeque::new(),
        }
    }

    /// Time between two hellos.
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Time at which the node must call [`tick`](Self::tick).
    #[must_use]
    pub fn next_tick(&self) -> Time {
        self.next_tick
    }

    /// Returns true if the node knows that a link is down. Both directions of a link are down together.
    #[must_use]
    pub fn is_down(&self, link: LinkId) -> bool {
        self.database.is_down(link)
    }

    /// Time at which the node learned of the latest change; [`Time::ZERO`] if the node knows of no change.
    #[must_use]
    pub fn changed_at(&self) -> Time {
        self.changed_at
    }

    /// Returns the counts of the link states and hellos that the node has ignored so far.
    #[must_use]
    pub fn ignored(&self) -> Ignored {
        self.ignored
    }

    /// Returns the next action that the node must carry out. After each call of [`tick`](Self::tick), and after each
    /// call of [`take`](Self::take) that returns true, the node repeats this call until it returns `None`.
    pub fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// A packet has arrived by a port: the neighbour there is alive.
    #[inline]
    pub fn heard(&mut self, port: PortId) {
        if let Some(Some(neighbour)) = self.neighbours.get_mut(port.index()) {
            neighbour.is_heard = true;
        }
    }

    /// Handles a packet of topology discovery that has arrived by a port, and returns true. Ignores any other packet,
    /// and returns false.
    pub fn take(&mut self, now: Time, header: &Header, port: PortId) -> bool {
        match header {
            Header::Hello(hello) => self.greeted(now, *hello, port),
            Header::LinkStates(LinkStates { states }) => self.learn(now, states, port),
            _ => return false,
        }
        true
    }

    /// Ends a period. Sends a hello over each link that is up according to the state of the node's own port.
    pub fn tick(&mut self, now: Time, ports: &Ports<'_>) {
        let lag = now.since(self.next_tick);
        let lag_before = std::mem::replace(&mut self.lag, lag);
        let is_late = lag > lag_before + self.period / 2;
        self.next_tick = if lag > self.period / 2 { now + self.period } else { self.next_tick + self.period };
        for port in (0..self.neighbours.len()).map(PortId::of) {
            let Some(neighbour) = &mut self.neighbours[port.index()] else { continue };
            if std::mem::take(&mut neighbour.is_heard) {
                neighbour.misses = 0;
            } else if !is_late && neighbour.misses < Self::MISSES {
                neighbour.misses += 1;
            }
            neighbour.is_told = false;
            if !neighbour.hears() {
                self.set_up(now, port, false);
            }
        }
        let digest = self.database.digest();
        for port in (0..self.neighbours.len()).map(PortId::of) {
            let Some(neighbour) = self.neighbours[port.index()] else { continue };
            if ports.get(port).up {
                let hello = Hello { link: self.link(port).0, hears: neighbour.hears(), digest };
                self.effects.push_back(Effect::Send(packet(Header::Hello(hello)), port));
            }
        }
    }

    /// The link behind a port.
    fn link(&self, port: PortId) -> LinkId {
        LinkId(self.first_link.0 + u32::from(port.0))
    }

    /// The port of this node at which a link starts; `None` if the link starts at another node.
    fn port(&self, link: LinkId) -> Option<PortId> {
        let port = link.index().checked_sub(self.first_link.index())?;
        (port < self.neighbours.len()).then(|| PortId::of(port))
    }

    /// Handles a hello of the neighbour at a port.
    fn greeted(&mut self, now: Time, hello: Hello, port: PortId) {
        let expected = self.cables.other(self.link(port));
        let neighbour = self.neighbours.get_mut(port.index()).and_then(Option::as_mut);
        let Some(neighbour) = neighbour.filter(|_| expected == Some(LinkId(hello.link))) else {
            self.ignored.absurd += 1;
            return;
        };
        neighbour.is_heard = true;
        neighbour.misses = 0;
        self.set_up(now, port, hello.hears);
        if hello.hears && hello.digest != self.database.digest() {
            self.tell_all(port);
        }
    }

    /// Sets whether the link behind a port works in both directions.
    /// If this has changed, stores a new state of the link and floods it.
    fn set_up(&mut self, now: Time, port: PortId, up: bool) {
        let Some(neighbour) = &mut self.neighbours[port.index()] else { return };
        if neighbour.is_up == up {
            return;
        }
        neighbour.is_up = up;
        let LinkState { link, sequence } = self.database.get(self.link(port));
        let state = LinkState { link, sequence: sequence.wrapping_add(1) };
        self.store(now, state);
        self.flood(&[state], None);
    }

    /// Sends all link states to the neighbour at a port, because the neighbour's digest differs. Does nothing if this
    /// node has already done so in the current period.
    fn tell_all(&mut self, port: PortId) {
        let Some(neighbour) = &mut self.neighbours[port.index()] else { return };
        if std::mem::replace(&mut neighbour.is_told, true) {
            return;
        }
        for states in self.database.states().chunks(LinkStates::MOST) {
            let header = Header::LinkStates(LinkStates { states: states.into() });
            self.effects.push_back(Effect::Send(packet(header), port));
        }
    }

    /// Handles link states from the neighbour at a port.
    fn learn(&mut self, now: Time, states: &[LinkState], port: PortId) {
        let mut news = Vec::new();
        for &state in states {
            match self.database.age(state) {
                Age::Newer => {}
                Age::Known => {
                    self.ignored.known += 1;
                    continue;
                }
                Age::Absurd => {
                    self.ignored.absurd += 1;
                    continue;
                }
            }
            if let Some(own) = self.port(LinkId(state.link)) {
                self.overrule(now, state, own);
            } else {
                self.store(now, state);
                news.push(state);
            }
        }
        self.flood(&news, Some(port));
    }

    /// Handles a state of a link that starts at this node, if the state has a higher number than the state that this
    /// node knows. Such a state may come from a time before a restart of this node. This node floods a state whose
    /// number is higher than the number of the received state.
    fn overrule(&mut self, now: Time, told: LinkState, port: PortId) {
        let is_up = self.neighbours[port.index()].is_some_and(|neighbour| neighbour.is_up);
        let ahead = if told.is_down() == is_up { 1 } else { 2 };
        let state = LinkState { sequence: told.sequence.wrapping_add(ahead), ..told };
        self.store(now, state);
        self.flood(&[state], None);
    }

    /// Stores a link's state, and adds an effect if the link went down or came up.
    fn store(&mut self, now: Time, state: LinkState) {
        let link = LinkId(state.link);
        let was_down = self.database.is_down(link);
        self.database.set(state);
        let is_down = self.database.is_down(link);
        if was_down != is_down {
            let other = self.cables.other(link).unwrap_or(link);
            self.changed_at = now;
            self.effects.push_back(Effect::Link { links: [link.min(other), link.max(other)], up: !is_down });
        }
    }

    /// Sends link states over all working links except the link by which the states arrived.
    fn flood(&mut self, states: &[LinkState], arrival: Option<PortId>) {
        for states in states.chunks(LinkStates::MOST) {
            let states: Arc<[LinkState]> = states.into();
            for port in (0..self.neighbours.len()).map(PortId::of) {
                let is_up = self.neighbours[port.index()].is_some_and(|neighbour| neighbour.is_up);
                if is_up && Some(port) != arrival {
                    let header = Header::LinkStates(LinkStates { states: Arc::clone(&states) });
                    self.effects.push_back(Effect::Send(packet(header), port));
                }
            }
        }
    }
}

/// A packet of topology discovery, which has no payload.
fn packet(header: Header) -> Packet {
    Packet::new(u32::try_from(header.wire_len()).expect("a header's size in bytes must fit 32 bits"), header)
}

#[cfg(test)]
mod tests;
