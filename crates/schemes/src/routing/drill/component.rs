//! A set of next hops with equal capacity behind them, and the selection of the shortest queue among them.

use super::Look;
use raddle_core::{Duration, PortId, Ports, Stream, Time};

/// Next hops with equal capacity behind them, and the ports compared for the previous packet.
#[derive(Debug)]
pub(super) struct Component {
    /// The ports in ascending order.
    ports: Box<[PortId]>,
    /// The same ports in a random order, because each draw moves the drawn ports to the front.
    deck: Box<[PortId]>,
    /// The ports that were compared for the previous packet, with their loads, the shortest queue first.
    seen: Vec<(Load, PortId)>,
}

/// A port's load: true if the port is down, and the time that a new packet would wait in the port's queue.
type Load = (bool, Duration);

impl Component {
    /// A component of `ports`, which must be in ascending order.
    pub(super) fn new(ports: Vec<PortId>) -> Self {
        Self { deck: ports.clone().into(), ports: ports.into(), seen: Vec::new() }
    }

    /// True if the component consists of exactly these ports, which are in ascending order.
    pub(super) fn is_of(&self, ports: &[PortId]) -> bool {
        *self.ports == *ports
    }

    /// The port with the shortest queue among some ports drawn at random and the remembered ports.
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
            deck.swap(place, place + random.index(deck.len() - place));
        }
        // The drawn ports come first in the list, so that a drawn port wins a tie against a remembered port.
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
