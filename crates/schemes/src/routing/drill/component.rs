//! Next hops that are alike, and which of their queues is the shortest.

use super::Look;
use raddle_core::{Duration, PortId, Ports, Stream, Time};

/// Next hops that are alike, with the memory of their shortest queues.
#[derive(Debug)]
pub(super) struct Component {
    /// In order.
    ports: Box<[PortId]>,
    /// In any order: the first ones are drawn.
    deck: Box<[PortId]>,
    /// Those looked at last, the shortest first.
    seen: Vec<(Load, PortId)>,
}

/// Whether a port is down, and how long a packet would wait there.
type Load = (bool, Duration);

impl Component {
    /// Of these ports, in order.
    pub(super) fn new(ports: Vec<PortId>) -> Self {
        Self { deck: ports.clone().into(), ports: ports.into(), seen: Vec::new() }
    }

    /// Whether it is of these ports, which are in order.
    pub(super) fn is_of(&self, ports: &[PortId]) -> bool {
        *self.ports == *ports
    }

    /// The port with the shortest queue of some drawn at random and some that had the shortest ones last time.
    pub(super) fn shortest(
        &mut self,
        look: Look,
        now: Time,
        ports: &Ports<'_>,
        random: &mut Stream,
    ) -> PortId {
        let load = |port| {
            let port = ports.get(port);
            (!port.up, port.backlog(now))
        };
        let Self { deck, seen, .. } = self;
        let draws = look.samples.min(deck.len());
        for place in 0..draws {
            deck.swap(place, place + random.below((deck.len() - place) as u64) as usize);
        }
        // Drawn ones first, so that of equals they win.
        seen.truncate(look.memory);
        seen.retain(|(_, port)| !deck[..draws].contains(port));
        seen.iter_mut().for_each(|(old, port)| *old = load(*port));
        let remembered = seen.len();
        seen.extend(deck[..draws].iter().map(|&port| (load(port), port)));
        seen.rotate_left(remembered);
        seen.sort_by_key(|&(load, _)| load);
        seen[0].1
    }
}
