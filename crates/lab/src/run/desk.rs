//! Requests on a live run's control socket, and their effect on the run's links.

use crate::run::faults;
use raddle_core::{Duration, LinkId, NodeId};
use raddle_live::control::Control;
use raddle_live::rack::{Orders, Rack};
use raddle_topology::Topology;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Time that topology discovery takes to inform every node of a change.
const DISCOVERY: Duration = Duration::from_ms(1);

/// The answer to a request if the run has several processes.
const SHARED: &str = "a run in several processes accepts no requests: a request would reach only one \
     process. Add a [[failure]] table to the experiment instead";

/// Serves the control requests of a live run.
pub(super) struct Desk {
    control: Control,
    /// `None` if the rack runs in several processes: a request would change only this process's ends of the links.
    orders: Option<Orders>,
    topology: Arc<Topology>,
    /// The links that are down because of a request.
    down: BTreeSet<LinkId>,
}

impl Desk {
    /// Opens the control socket of a rack. If the rack has several processes (`is_shared`), every request is refused.
    /// Returns `None` if the socket cannot be opened.
    pub(super) fn open(rack: &mut Rack, topology: &Arc<Topology>, is_shared: bool) -> Option<Self> {
        let control = Control::open().ok()?;
        let orders = (!is_shared).then(|| rack.orders());
        Some(Self { control, orders, topology: Arc::clone(topology), down: BTreeSet::new() })
    }

    /// Carries out and answers the requests that have arrived.
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

/// Parses a request into the new state of links (true for up), the links, and the answer to the user.
fn read(
    request: &str,
    topology: &Topology,
    down: &BTreeSet<LinkId>,
) -> Result<(bool, Vec<LinkId>, String), String> {
    let words: Vec<&str> = request.split_whitespace().collect();
    let ["link", state @ ("down" | "up"), a, b] = words[..] else {
        return Err(format!(
            "unknown request `{request}`; the requests are `link down A B` and `link up A B`"
        ));
    };
    let node = |text: &str| text.parse().map(NodeId).map_err(|_| format!("`{text}` is not a node number"));
    let (a, b) = (node(a)?, node(b)?);
    let links = faults::links_at(topology, a, |other| other == b);
    if links.is_empty() {
        return Err(format!("there is no link between node {a} and node {b}"));
    }
    let up = state == "up";
    let are_down = links.iter().all(|link| down.contains(link));
    match (up, are_down) {
        (true, false) => Err(format!("link {a}-{b} cannot be brought up: no request has taken it down")),
        (false, true) => Err(format!("the link {a}-{b} is already down")),
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
        assert_eq!(refused("link down 6 4"), "the link 6-4 is already down");
        assert_eq!(refused("link up 4 7"), "link 4-7 cannot be brought up: no request has taken it down");
        assert_eq!(refused("link down 0 1"), "there is no link between node 0 and node 1");
        assert_eq!(refused("link down 99 1"), "there is no link between node 99 and node 1");
        assert_eq!(refused("link down 4 x"), "`x` is not a node number");
        for other in ["", "link", "link down 4", "link sideways 4 6", "node down 4 6"] {
            assert!(refused(other).contains("unknown request"), "{other}");
        }
        assert!(read("link up 6 4", &topology, &down).is_ok());
    }
}
