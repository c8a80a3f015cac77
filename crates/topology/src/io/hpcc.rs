//! The topology files of HPCC's ns-3 simulator and its descendants. A file has the numbers of nodes, of switches and of
//! links, then the switches' ids, and then one line per link. A link's line is `src dst rate delay error_rate`, for
//! example `0 320 25Gbps 1000ns 0`.

use super::assemble::{Attributes, Edge, Element, Graph, Node, assemble};
use super::{HOST, Place, Problem, ReadError, SWITCH};
use crate::Topology;
use raddle_core::text::{Misread, Word, lines, scaled};

/// Reads a fabric from a topology file. Nodes keep their ids. A link that is listed twice becomes two parallel links.
/// As in HPCC's simulator, line breaks do not separate records, and text after the announced number of links is
/// ignored. Text from `#` to the end of a line is ignored too.
///
/// # Errors
/// Returns an error with line and column if the text is not such a file, if the file does not describe a valid fabric
/// (for example, if a link joins a node to itself), or if a link's error rate is not 0. A [`Topology`] cannot represent
/// link errors.
pub fn read_hpcc(text: &str) -> Result<Topology, ReadError> {
    let words: Vec<Word<'_>> = lines(text).flatten().collect();
    let (graph, places) = graph(&words).map_err(|Misread { line, column, problem }| ReadError {
        place: Place::Position { line, column },
        problem: Problem::Syntax(problem),
    })?;
    assemble(&graph).map_err(|(element, problem)| {
        let place = match element {
            Element::Edge(i) => places[i],
            Element::Graph | Element::Node(_) => words[0],
        };
        ReadError { place: Place::Position { line: place.line, column: place.column }, problem }
    })
}

/// Returns the graph, and the first word of each edge.
fn graph<'a>(words: &[Word<'a>]) -> Result<(Graph, Vec<Word<'a>>), Misread> {
    let mut rest = words.iter();
    let mut next = |what: &str| {
        rest.next().copied().ok_or_else(|| match words.last() {
            Some(last) => last.error(format!("the file ends here, and {what} is missing")),
            None => Misread {
                line: 1,
                column: 1,
                problem: format!("the file is empty; it must begin with {what}"),
            },
        })
    };
    let first = next("the number of nodes")?;
    let nodes: usize = first.number("a number of nodes")?;
    let switches: usize = next("the number of switches")?.number("a number of switches")?;
    let count = next("the number of links")?;
    let links: usize = count.number("a number of links")?;
    // Without this check, a short file with a large number of nodes could use up all memory.
    if nodes / 2 > links.min(words.len()) {
        return Err(first.error(format!("the file has too few links to connect {nodes} nodes")));
    }
    let mut graph = Graph::default();
    graph.nodes.extend((0..nodes).map(|node| Node { name: node.to_string(), attributes: kind(HOST) }));
    for _ in 0..switches {
        let switch = next("a switch's id")?;
        let node = graph.nodes.get_mut(switch.number::<usize>("a switch's id")?);
        let Some(node) = node else {
            return Err(switch.error(format!("the topology has no node {}", switch.text)));
        };
        node.attributes = kind(SWITCH);
    }
    let mut places = Vec::new();
    for _ in 0..links {
        let [source, target] = [next("a link's first node")?, next("a link's second node")?];
        let (rate, delay, errors) =
            (next("a link's rate")?, next("a link's delay")?, next("a link's error rate")?);
        if errors.number::<f64>("an error rate")? != 0.0 {
            return Err(errors.error(format!(
                "the error rate must be 0 (got {}); to lose packets on all links, set `loss` in [errors] of \
                 the experiment",
                errors.text
            )));
        }
        let [rate, delay] =
            [quantity(&rate, "a rate such as 100Gbps", bits)?, quantity(&delay, "a time such as 1us", ps)?];
        let attributes = [("rate_bps", rate), ("delay_ps", delay)];
        let end = |word: &Word<'_>| Ok(word.number::<usize>("a node")?.to_string());
        graph.edges.push(Edge {
            source: end(&source)?,
            target: end(&target)?,
            attributes: attributes.map(|(name, value)| (name.to_owned(), value.to_string())).into(),
        });
        places.push(source);
    }
    Ok((graph, places))
}

fn kind(kind: &str) -> Attributes {
    [("kind".to_owned(), kind.to_owned())].into()
}

/// Parses a number with a unit. Multiplies the number by the value that `base` returns for the unit.
fn quantity(word: &Word<'_>, what: &str, base: impl Fn(&str) -> Option<u64>) -> Result<u64, Misread> {
    let unit_at = word.text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.text.len());
    let (number, unit) = word.text.split_at(unit_at);
    let scale = base(unit).ok_or_else(|| word.error(format!("`{}` is not {what}", word.text)))?;
    scaled(number, scale).ok_or_else(|| {
        word.error(format!(
            "`{}` must equal a whole number of bits per second (a rate) or of picoseconds (a delay), \
             from 0 to 2^64 - 1",
            word.text
        ))
    })
}

/// Returns the number of bits per second in a unit of rate of ns-3, such as `Gbps`; `None` for an unknown unit.
fn bits(unit: &str) -> Option<u64> {
    let (prefix, bits) =
        ["bps", "b/s"].iter().find_map(|end| unit.strip_suffix(end)).map(|prefix| (prefix, 1)).or_else(
            || ["Bps", "B/s"].iter().find_map(|end| unit.strip_suffix(end)).map(|prefix| (prefix, 8)),
        )?;
    let factor = match prefix {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return None,
    };
    Some(factor * bits)
}

/// Returns the number of picoseconds in a unit of time of ns-3, such as `ms`; `None` for an unknown unit. A number
/// without a unit is in seconds.
fn ps(unit: &str) -> Option<u64> {
    Some(match unit {
        "ps" => 1,
        "ns" => 1_000,
        "us" => 1_000_000,
        "ms" => 1_000_000_000,
        "s" | "" => 1_000_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use raddle_core::NodeId;

    #[test]
    fn a_file_is_read_up_to_the_links_it_announces() {
        let text = "5 2 5\n3 4\n0 3 25Gbps 1000ns 0.000000\n1 3 25Gb/s 1us 0\n2 4 1.25GBps 0.001ms 0\n\
                    3 4 100Gbps 0.000001s 0\n3 4 40Gbps 1000ns 0\n\nFirst line: total node #, switch node #, link #\n";
        let topology = read_hpcc(text).unwrap();
        let hosts: Vec<_> = topology.hosts().collect();
        assert_eq!(hosts, [0, 1, 2].map(NodeId));
        let links: Vec<_> = topology
            .links()
            .filter(|(_, link)| link.from < link.to)
            .map(|(_, link)| (link.from.0, link.to.0, link.rate.as_bps() / 1_000_000, link.delay.as_ps()))
            .collect();
        let us = 1_000_000;
        let expected = [
            (0, 3, 25_000, us),
            (1, 3, 25_000, us),
            (2, 4, 10_000, us),
            (3, 4, 100_000, us),
            (3, 4, 40_000, us),
        ];
        assert_eq!(links, expected);
    }

    #[test]
    fn hosts_alone_have_an_empty_line_of_switches() {
        let pair = read_hpcc("2 0 1\n\n0 1 10Gbps 1us 0\n").unwrap();
        assert_eq!((pair.hosts().count(), pair.links().count()), (2, 2));
    }

    #[test]
    fn errors_say_where() {
        let error = |text: &str| read_hpcc(text).unwrap_err().to_string();
        let link = |link: &str| error(&format!("3 1 1\n2\n{link}"));
        assert_eq!(error(""), "line 1, column 1: the file is empty; it must begin with the number of nodes");
        assert_eq!(error("0 0 0"), "line 1, column 1: the graph has no nodes");
        assert_eq!(error("3 x 1"), "line 1, column 3: `x` is not a number of switches");
        assert_eq!(error("3 1 1\n3 0"), "line 2, column 1: the topology has no node 3");
        assert_eq!(
            error("9000000000 0 9000000000"),
            "line 1, column 1: the file has too few links to connect 9000000000 nodes"
        );
        assert_eq!(
            error("3 1 1\n2\n0"),
            "line 3, column 1: the file ends here, and a link's second node is missing"
        );
        assert_eq!(link("0 9 1Gbps 1us 0"), "line 3, column 1: the graph has no node 9");
        assert_eq!(link("0 0 1Gbps 1us 0"), "line 3, column 1: node 0 has an edge to itself");
        assert_eq!(link("0 2 1Gbit 1us 0"), "line 3, column 5: `1Gbit` is not a rate such as 100Gbps");
        assert_eq!(
            link("0 2 0bps 1us 0").rsplit(": ").next(),
            Some("`rate_bps` is `0`, but must be a whole number of bits per second above 0")
        );
        assert_eq!(
            link("0 2 1Gbps 1us 0.01"),
            "line 3, column 15: the error rate must be 0 (got 0.01); to lose packets on all links, \
             set `loss` in [errors] of the experiment"
        );
        assert_eq!(
            link("0 2 1Gbps 0.0001ns 0"),
            "line 3, column 11: `0.0001ns` must equal a whole number of bits per second (a rate) or \
             of picoseconds (a delay), from 0 to 2^64 - 1"
        );
        assert_eq!(
            link("0 2 1Gbps -1us 0"),
            "line 3, column 11: `-1us` must equal a whole number of bits per second (a rate) or of \
             picoseconds (a delay), from 0 to 2^64 - 1"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            words in prop::collection::vec(
                prop::sample::select(vec!["0", "1", "2", "3", "4", "-1", "1Gbps", "1us", "é", "\n", "18446744073709551615"]),
                0..40,
            )
        ) {
            let _ = read_hpcc(&words.join(" "));
        }
    }
}
