//! `[[topology.slow]]`: links with a reduced rate.

use super::super::keys::{Declared, Inner, Key, keys};
use super::super::problem::Problem;
use super::super::section::{Fraction, Section, out_of_range};
use super::super::value::At;
use super::keys::SLOW_LINKS;
use raddle_core::{LinkId, NodeId, Rate, Stream};
use raddle_topology::{Shape, Topology, Xgft};

/// One `[[topology.slow]]`.
#[derive(Debug, Clone)]
pub(super) struct Slow {
    which: Which,
    rate: SlowRate,
    /// True if the links in the opposite direction are slowed too.
    both: bool,
    /// The position of `from` or `random` in the experiment's text.
    place: At,
    /// The position of `rate` or `share` in the experiment's text.
    rate_place: At,
}

/// The links that are slowed.
#[derive(Debug, Clone, Copy)]
enum Which {
    /// All links from the first node to the second.
    Between(NodeId, NodeId),
    /// `links` random links from the switches at `level` of a tree to their parents.
    Random { level: u32, links: u32 },
}

/// The reduced rate.
#[derive(Debug, Clone, Copy)]
enum SlowRate {
    Rate(Rate),
    /// Share of the link's unreduced rate.
    Share(f64),
}

keys! {
    /// Links with a reduced rate: the links from one node to another, or random links.
    pub(super) SLOW = "topology.slow" {
        /// The node from which the links lead.
        FROM: u32 = Key::new("from").example("0");
        /// The node to which the links lead.
        TO: u32 = Key::new("to").example("1");
        /// Random links of an `xgft` or a `k_ary_n_tree`, in place of `from` and `to`. The seed determines the links.
        RANDOM: Inner = Key::new("random").table(&RANDOM_LINKS).example("{ level = 1, links = 4 }");
        /// Rate of the links.
        RATE: Rate = Key::new("rate").example("\"2.5 Gbps\"");
        /// Rate of the links as a share of their unreduced rate, in place of `rate`.
        SHARE: Fraction = Key::new("share").example("\"25%\"");
        /// If true, the links in the opposite direction are slowed in the same way.
        BOTH: bool = Key::new("both").or("false");
    }

    /// Links from the switches at one level of a tree to their parents.
    RANDOM_LINKS = "topology.slow.random" {
        /// Level of the switches. Switches with links to hosts have level 1.
        LEVEL: u32 = Key::new("level").required().example("1");
        /// Number of links.
        LINKS: u32 = Key::new("links").required().above_zero().example("4");
    }
}

impl Slow {
    /// Reads all `[[topology.slow]]` tables of an experiment.
    pub(super) fn read_all(topology: &mut Section<'_>) -> Result<Vec<Self>, Problem> {
        let tables = topology.sections(&SLOW_LINKS)?;
        let (slow, resolved): (Vec<_>, Vec<_>) =
            tables.into_iter().map(Self::read).collect::<Result<_, _>>()?;
        if topology.has(&SLOW_LINKS) {
            topology.resolve(&SLOW_LINKS, resolved);
        }
        Ok(slow)
    }

    fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let random = section.section(&RANDOM)?;
        let key: &dyn Declared = if random.is_some() { &RANDOM } else { &FROM };
        let which = match random {
            None => Which::Between(NodeId(section.read(&FROM)?), NodeId(section.read(&TO)?)),
            Some(random) => {
                let ends: [&dyn Declared; 2] = [&FROM, &TO];
                if let Some(other) = ends.into_iter().find(|key| section.has(*key)) {
                    let what = format!("a slow link cannot have both `random` and `{}`", other.name());
                    return Err(section.contradiction(
                        other,
                        what,
                        "write a separate [[topology.slow]] table for each of the two keys",
                    ));
                }
                let (which, resolved) = read_random(random)?;
                section.resolve(&RANDOM, resolved);
                which
            }
        };
        let (rate, rate_key): (_, &dyn Declared) = match (section.get(&RATE)?, section.get(&SHARE)?) {
            (Some(rate), None) => (SlowRate::Rate(rate), &RATE),
            (None, Some(Fraction(share))) => (SlowRate::Share(share), &SHARE),
            (None, None) => return Err(section.missing(&RATE)),
            (Some(_), Some(_)) => {
                let hint = "leave `rate` or `share` out";
                return Err(section.contradiction(
                    &SHARE,
                    "a slow link cannot have both `rate` and `share`",
                    hint,
                ));
            }
        };
        let both = section.read(&BOTH)?;
        let (place, rate_place) = (section.at_key(key).clone(), section.at_key(rate_key).clone());
        Ok((Self { which, rate, both, place, rate_place }, section.finish()?))
    }
}

fn read_random(mut section: Section<'_>) -> Result<(Which, toml::Table), Problem> {
    let which = Which::Random { level: section.read(&LEVEL)?, links: section.read(&LINKS)? };
    Ok((which, section.finish()?))
}

impl SlowRate {
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn of(self, line: Rate) -> Rate {
        match self {
            Self::Rate(rate) => rate,
            Self::Share(share) => Rate::from_bps((line.as_bps_f64() * share).round() as u64),
        }
    }
}

/// The topology with reduced rates on the links of `slow`. Each element of `slow` with random links has a random stream
/// of its own.
///
/// # Errors
/// If the topology does not have the links of `slow`, or the reduced rate would be 0 or greater than the link's
/// unreduced rate.
pub(super) fn slowed(mut topology: Topology, slow: &[Slow], seed: u64) -> Result<Topology, Problem> {
    for (number, slow) in (0..).zip(slow) {
        let mut links = match slow.which {
            Which::Between(from, to) => between(&topology, from, to, &slow.place)?,
            Which::Random { level, links } => {
                let mut uplinks = uplinks(&topology, level, &slow.place)?;
                let count = uplinks.len();
                if (links as usize) > count {
                    let what = format!(
                        "`links` must be at most {count}, the number of links that lead up from level \
                         {level} (got {links})"
                    );
                    return Err(out_of_range(&slow.place, what, "give fewer `links`"));
                }
                Stream::new(seed, number, "topology/slow").shuffle(&mut uplinks);
                uplinks.truncate(links as usize);
                uplinks
            }
        };
        if slow.both {
            let back: Vec<LinkId> = links.iter().map(|&link| topology.reverse(link)).collect();
            links.extend(back);
        }
        for id in links {
            let line = topology.link(id).expect("every slow link must exist in the topology").line_rate;
            let rate = slow.rate.of(line);
            if rate == Rate::ZERO || rate > line {
                let what = format!(
                    "the rate must be greater than 0 and at most the link's rate of {line} (got \
                                    {rate})"
                );
                return Err(out_of_range(&slow.rate_place, what, "give another `rate` or `share`"));
            }
            topology = topology.slowed(id, rate);
        }
    }
    Ok(topology)
}

/// The links from one node to another. Returns an error if there are none.
fn between(topology: &Topology, from: NodeId, to: NodeId, place: &At) -> Result<Vec<LinkId>, Problem> {
    let nodes = topology.node_count();
    let known = from.index() < nodes;
    let leaving = known.then(|| topology.links_from(from)).into_iter().flatten();
    let links: Vec<LinkId> = leaving.filter(|(_, link)| link.to == to).map(|(id, _)| id).collect();
    if links.is_empty() {
        let what = format!("no link leads from node {from} to node {to}");
        let last = nodes.saturating_sub(1);
        let hint = format!("name two adjacent nodes; the topology's nodes are 0 to {last}");
        return Err(out_of_range(place, what, hint));
    }
    Ok(links)
}

/// The links from the switches at one level of a tree to their parents, ordered by switch. Returns an error if there
/// are none.
fn uplinks(topology: &Topology, level: u32, place: &At) -> Result<Vec<LinkId>, Problem> {
    let Shape::Xgft(size) = topology.shape() else {
        let what = "`level` needs a topology of kind `xgft` or `k_ary_n_tree`";
        return Err(out_of_range(
            place,
            what,
            "choose topology.kind = \"xgft\" or \"k_ary_n_tree\", or name the link by `from` and `to`",
        ));
    };
    let tree = Xgft::new(size.clone());
    let level = level as usize;
    if level == 0 || level >= tree.levels() {
        let what = format!("the switches of level {level} have no links upwards");
        let hint = match tree.levels() {
            1 => "this tree has only one level of switches, so no switch has links upwards".to_owned(),
            levels => format!("give a level from 1 to {}", levels - 1),
        };
        return Err(out_of_range(place, what, hint));
    }
    let up = tree.uplinks(level);
    let switches = tree.nodes_of(level).map(NodeId);
    let links = switches.flat_map(|switch| topology.links_from(switch));
    Ok(links.filter(|(_, link)| up.contains(&link.from_port.0)).map(|(id, _)| id).collect())
}

#[cfg(test)]
mod tests {
    use crate::experiment::Document;
    use raddle_core::{NodeId, Rate};
    use raddle_topology::Topology;
    use std::sync::Arc;

    /// The slowed links of a 2-ary 3-tree (hosts 0 to 7, switches 8 to 19): source, destination and rate in Mb/s.
    fn slow(tables: &str, seed: u64) -> Vec<(u32, u32, u64)> {
        let text = format!(
            "[topology]\nkind = \"k_ary_n_tree\"\nk = 2\nn = 3\nlink_rate = \"10 Gbps\"\nlink_delay = \"50 ns\"\n\n\
             {tables}\n\n[engine]\nseed = {seed}"
        );
        let document = Document::parse("tree.toml", text, std::path::PathBuf::default()).expect("TOML");
        let topology: Arc<Topology> = document.topology().map_err(|problem| problem.to_string()).unwrap();
        assert!(topology.links().all(|(_, link)| link.line_rate == Rate::from_gbps(10)));
        let slower = topology.links().filter(|(_, link)| link.rate < link.line_rate);
        slower.map(|(_, link)| (link.from.0, link.to.0, link.rate.as_bps() / 1_000_000)).collect()
    }

    #[test]
    fn named_links_are_slowed_one_way_or_both() {
        // These are three of the four slow links of specifications/cee.md §6.4. They lead down from the roots towards
        // the second half of the hosts.
        let tables = [(16, 14, "rate = \"2.5 Gbps\""), (18, 14, "share = 0.1"), (17, 15, "share = \"10%\"")]
            .map(|(from, to, rate)| format!("[[topology.slow]]\nfrom = {from}\nto = {to}\n{rate}\n"))
            .join("\n");
        assert_eq!(slow(&tables, 1), [(16, 14, 2_500), (17, 15, 1_000), (18, 14, 1_000)]);
        let both = "[[topology.slow]]\nfrom = 16\nto = 14\nshare = 0.5\nboth = true";
        assert_eq!(slow(both, 1), [(14, 16, 5_000), (16, 14, 5_000)]);
    }

    #[test]
    fn the_seed_chooses_among_the_links_of_a_level() {
        let random = "[[topology.slow]]\nrandom = { level = 1, links = 1 }\nshare = 0.33\nboth = true";
        let chosen: Vec<_> = (0..40).map(|seed| slow(random, seed)).collect();
        for links in &chosen {
            let [(low, high, rate), back] = links[..] else { panic!("{links:?}") };
            assert!((8..12).contains(&low) && (12..16).contains(&high), "{links:?}");
            assert_eq!((back, rate), ((high, low, rate), 3_300));
        }
        assert_eq!(chosen[7], slow(random, 7));
        // Each of the 40 seeds chooses one of 8 links. With a probability of 96%, 40 random choices include all 8
        // links. The choices of these seeds do.
        let mut different = chosen.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), 8);
        let all = slow("[[topology.slow]]\nrandom = { level = 2, links = 8 }\nshare = 0.5", 1);
        assert_eq!(all.len(), 8);
        assert!(all.iter().all(|&(low, high, _)| (12..16).contains(&low) && (16..20).contains(&high)));
        assert!(NodeId(all[0].0) < NodeId(all[0].1), "the links lead upwards");
    }
}
