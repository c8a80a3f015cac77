//! Requests to a live run, by its control socket: what they mean for its links.

use crate::run::faults;
use raddle_core::{Duration, LinkId, NodeId};
use raddle_live::control::Control;
use raddle_live::rack::{Orders, Rack};
use raddle_topology::Topology;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long topology discovery takes to tell every node of what was ordered.
const DISCOVERY: Duration = Duration::from_ms(1);

/// Why a rack of several processes takes no orders.
const SHARED: &str = "the run has several processes, and an order would reach one of them alone; \
                      give the failure in the experiment, as [[failure]]";

/// Whoever gives a live run orders, and what was ordered so far.
pub(super) struct Desk {
    control: Control,
    /// None in a rack of several processes: an order would reach the ends of links at one process alone.
    orders: Option<Orders>,
    topology: Arc<Topology>,
    /// The links that are down because somebody wanted that.
    down: BTreeSet<LinkId>,
}

impl Desk {
    /// Takes orders for a rack from now on, or refuses them if the rack has several processes. `None` if the system lets no other process
    /// call.
    pub(super) fn open(rack: &mut Rack, topology: &Arc<Topology>, is_shared: bool) -> Option<Self> {
        let control = Control::open().ok()?;
        let orders = (!is_shared).then(|| rack.orders());
        Some(Self { control, orders, topology: Arc::clone(topology), down: BTreeSet::new() })
    }

    /// Does what was asked meanwhile.
    pub(super) fn serve(&mut self) {
        let Self { control, orders, topology, down } = self;
        control.answer(|request| {
            let orders = orders.as_ref().ok_or(SHARED)?;
            let (up, links, said) = read(request, topology, down)?;
            orders.change(&links, up, DISCOVERY);
            for link in links {
                if up {
                    down.remove(&link)
                } else {
                    down.insert(link)
                };
            }
            Ok(said)
        });
    }
}

/// What a request wants: the new state of links, and what is answered.
fn read(
    request: &str,
    topology: &Topology,
    down: &BTreeSet<LinkId>,
) -> Result<(bool, Vec<LinkId>, String), String> {
    let words: Vec<&str> = request.split_whitespace().collect();
    let ["link", state @ ("down" | "up"), a, b] = words[..] else {
        return Err(format!("`{request}` is no request; `link down A B` and `link up A B` are"));
    };
    let node = |text: &str| text.parse().map(NodeId).map_err(|_| format!("`{text}` is no node"));
    let (a, b) = (node(a)?, node(b)?);
    let links = faults::links_at(topology, a, |other| other == b);
    if links.is_empty() {
        return Err(format!("no link joins node {a} and node {b}"));
    }
    let up = state == "up";
    let are_down = links.iter().all(|link| down.contains(link));
    match (up, are_down) {
        (true, false) => Err(format!("nobody has ordered the link {a}-{b} down")),
        (false, true) => Err(format!("the link {a}-{b} is down already")),
        _ => Ok((up, links, format!("link {a}-{b} {state}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Rate;
    use raddle_topology::builders::folded_clos;

    #[test]
    fn requests_are_for_links_that_there_are() {
        let rate = Rate::from_gbps(1);
        let topology = folded_clos(2, 2, 2, rate, rate, Duration::from_us(1)).expect("a leaf-spine");
        let mut down = BTreeSet::new();
        let (up, links, said) = read("link down 4 6", &topology, &down).expect("a link");
        assert_eq!((up, links.len(), &said[..]), (false, 2, "link 4-6 down"));
        down.extend(links);
        let refused = |request: &str| read(request, &topology, &down).expect_err("refused");
        assert_eq!(refused("link down 6 4"), "the link 6-4 is down already");
        assert_eq!(refused("link up 4 7"), "nobody has ordered the link 4-7 down");
        assert_eq!(refused("link down 0 1"), "no link joins node 0 and node 1");
        assert_eq!(refused("link down 99 1"), "no link joins node 99 and node 1");
        assert_eq!(refused("link down 4 x"), "`x` is no node");
        for other in ["", "link", "link down 4", "link sideways 4 6", "node down 4 6"] {
            assert!(refused(other).contains("is no request"), "{other}");
        }
        assert!(read("link up 6 4", &topology, &down).is_ok());
    }
}
