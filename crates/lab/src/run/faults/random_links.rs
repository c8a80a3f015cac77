//! Random failures of links in a Clos network (specifications/expeditus.md §9, Fig 15).

use crate::experiment::{At, Cause, Problem, RandomLinks, Tier};
use raddle_core::{LinkId, NodeId, Stream};
use raddle_topology::{Clos, Shape, Topology};
use std::collections::BTreeMap;

/// The two directions of a link, and the switches at its ends.
type Cable = ([LinkId; 2], [NodeId; 2]);

/// Chooses links at random. Both directions of a chosen link fail. The same seed always draws the links in the same
/// order. So, with the same seed, the links that fail in a run with few failures nearly always also fail in a run with
/// more.
pub(super) fn choose(
    random: &RandomLinks,
    topology: &Topology,
    mut stream: Stream,
    place: &At,
) -> Result<Vec<LinkId>, Problem> {
    /// Maximum number of random orders of the links that are tried. In some orders, the limit per switch leaves too few
    /// links.
    const ORDERS: usize = 1_000;
    let refuse = |what: String, hint: &str| {
        Err(Problem::at(place, Cause::Contradiction { what, hint: hint.to_owned() }))
    };
    let &Shape::Clos(size) = topology.shape() else {
        let hint = "choose kind = \"fat_tree\", \"clos\" or \"folded_clos\" in [topology], or name the failed link \
                    with `link`";
        return refuse(
            "random link failures need a Clos network, and this topology is not a Clos \
                       network"
                .to_owned(),
            hint,
        );
    };
    if let Some(pod) = random.pod.filter(|&pod| pod >= size.pods) {
        let hint = format!("give a pod from 0 to {}", size.pods - 1);
        return refuse(format!("the topology has no pod {pod}"), &hint);
    }
    let mut cables = cables(random, topology, &Clos::new(size));
    for _ in 0..ORDERS {
        stream.shuffle(&mut cables);
        if let Some(links) = first(&cables, random) {
            return Ok(links);
        }
    }
    let RandomLinks { links, most_a_switch, .. } = random;
    let what = format!(
        "cannot fail {links} of {} links: at most {most_a_switch} links may fail at each switch",
        cables.len()
    );
    refuse(what, "give fewer `links` or a larger `most_a_switch`, or leave `pod` out")
}

/// The links from which the failures are chosen.
fn cables(random: &RandomLinks, topology: &Topology, clos: &Clos) -> Vec<Cable> {
    let lower = match random.tier {
        Tier::Uplink => clos.nodes_of(1),
        Tier::Core => clos.nodes_of(2),
    };
    let in_pod = |&node: &NodeId| random.pod.is_none_or(|pod| clos.pod_of(node) == Some(pod));
    lower
        .map(NodeId)
        .filter(in_pod)
        .flat_map(|node| topology.links_from(node))
        .filter(|(_, link)| clos.level(link.to) > clos.level(link.from))
        .map(|(id, link)| ([id, topology.reverse(id)], [link.from, link.to]))
        .collect()
}

/// Both directions of the first `random.links` links in `cables` that respect the limit per switch, sorted by id;
/// `None` if there are too few such links.
fn first(cables: &[Cable], random: &RandomLinks) -> Option<Vec<LinkId>> {
    let mut failed: BTreeMap<NodeId, u32> = BTreeMap::new();
    let mut links = Vec::new();
    for (cable, ends) in cables {
        if links.len() == 2 * random.links as usize {
            break;
        }
        if ends.iter().all(|end| failed.get(end).is_none_or(|&count| count < random.most_a_switch)) {
            ends.iter().for_each(|&end| *failed.entry(end).or_default() += 1);
            links.extend(cable);
        }
    }
    (links.len() == 2 * random.links as usize).then(|| {
        links.sort_unstable();
        links
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Source;
    use raddle_core::{Duration, Rate};
    use raddle_topology::builders::{ClosRates, clos, torus};
    use raddle_topology::{ClosSize, Link};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    fn chosen(random: RandomLinks, topology: &Topology, seed: u64) -> Result<Vec<LinkId>, String> {
        let at = At { source: Arc::new(Source { name: String::new(), text: String::new() }), span: 0..0 };
        choose(&random, topology, Stream::new(seed, 0, "test"), &at).map_err(|problem| problem.to_string())
    }

    fn k12() -> Topology {
        clos(ClosSize::fat_tree(12), ClosRates::all(Rate::from_gbps(10)), Duration::from_us(2)).unwrap()
    }

    /// specifications/expeditus.md §9, Fig 15: failures in one pod, at most two per switch.
    #[test]
    fn links_are_of_their_tier_and_pod_and_few_a_switch() {
        let (topology, network) = (k12(), Clos::new(ClosSize::fat_tree(12)));
        for (tier, levels) in [(Tier::Uplink, [1, 2]), (Tier::Core, [2, 3])] {
            for (seed, links) in (0..50).zip([1, 2, 6, 9, 12].into_iter().cycle()) {
                let random = RandomLinks { tier, pod: Some(5), links, most_a_switch: 2 };
                let chosen = chosen(random, &topology, seed).unwrap();
                let both: BTreeSet<LinkId> = chosen.iter().copied().collect();
                assert_eq!((chosen.len(), both.len()), (2 * links as usize, 2 * links as usize));
                assert!(chosen.iter().all(|&link| both.contains(&topology.reverse(link))));
                let mut at: BTreeMap<NodeId, u32> = BTreeMap::new();
                let up = |link: &&Link| network.level(link.from) < network.level(link.to);
                for link in chosen.iter().filter_map(|&link| topology.link(link)).filter(up) {
                    assert_eq!([link.from, link.to].map(|node| network.level(node)), levels);
                    assert_eq!(network.pod_of(link.from), Some(5));
                    for end in [link.from, link.to] {
                        *at.entry(end).or_default() += 1;
                    }
                }
                assert!(at.values().all(|&count| count <= 2), "{at:?}");
            }
        }
    }

    #[test]
    fn seeds_choose_alike_or_differently_and_fewer_are_among_more() {
        let topology = k12();
        let of = |links, seed| {
            chosen(RandomLinks { tier: Tier::Core, pod: None, links, most_a_switch: 2 }, &topology, seed)
                .unwrap()
        };
        assert_eq!(of(4, 1), of(4, 1));
        assert_ne!(of(4, 1), of(4, 2));
        let more = of(6, 1);
        assert!(of(4, 1).iter().all(|link| more.contains(link)));
    }

    #[test]
    fn impossible_random_link_failures_are_refused() {
        let random = RandomLinks { tier: Tier::Core, pod: Some(0), links: 12, most_a_switch: 2 };
        let refused = |random, topology: &Topology| chosen(random, topology, 1).unwrap_err();
        assert_eq!(
            refused(RandomLinks { links: 13, ..random }, &k12()),
            "cannot fail 13 of 36 links: at most 2 links may fail at each switch"
        );
        assert_eq!(refused(RandomLinks { pod: Some(12), ..random }, &k12()), "the topology has no pod 12");
        let leaf_spine =
            clos(ClosSize::leaf_spine(2, 2, 2), ClosRates::all(Rate::from_gbps(10)), Duration::ZERO);
        assert_eq!(
            refused(random, &leaf_spine.unwrap()),
            "cannot fail 12 of 0 links: at most 2 links may fail at each switch"
        );
        let torus = torus(&[4, 4], Rate::from_gbps(10), Duration::ZERO).unwrap();
        assert_eq!(
            refused(random, &torus),
            "random link failures need a Clos network, and this topology is not a Clos network"
        );
    }
}
