//! htsim connection matrices (`.cm` files): `Nodes`, `Connections`, then one line per flow, such as `0->5 id 1 start 0
//! size 2000000`.

use crate::hpcc::number;
use raddle_core::text::{Misread, Word, lines};
use raddle_core::{Bytes, Flow, FlowId, NodeId, Time};
use raddle_topology::Topology;

/// Reads a connection matrix. Its nodes are the hosts of `topology`, in order. Starts are in picoseconds and sizes in
/// bytes, as in htsim. `prio` becomes the flow's priority. Flows are numbered in order of start, and `id` is ignored.
///
/// # Errors
/// Returns an error with line and column if a line is malformed, if there are more nodes than hosts, or if
/// `Connections` is missing or is not the number of flows. Also returns an error if flows start on a trigger or
/// links fail, because a list of flows cannot express this.
pub fn read_htsim(text: &str, topology: &Topology) -> Result<Vec<Flow>, Misread> {
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let mut flows = Vec::new();
    let mut announced = None;
    for words in lines(text) {
        let [first, rest @ ..] = &words[..] else { continue };
        match first.text {
            "Nodes" => {
                let nodes: usize = only(first, rest)?.number("a number of nodes")?;
                if nodes > hosts.len() {
                    let problem = format!(
                        "the file has {nodes} nodes, and the topology has only {} hosts",
                        hosts.len()
                    );
                    return Err(rest[0].error(problem));
                }
            }
            "Connections" => {
                let count = only(first, rest)?;
                announced = Some((count, count.number::<usize>("a number of connections")?));
            }
            "Triggers" | "Failures" => {
                let count = only(first, rest)?;
                if count.number::<u32>("a number")? > 0 {
                    return Err(count.error(format!("{}: {UNKNOWN}", first.text)));
                }
            }
            _ => flows.push(flow(first, rest, &hosts)?),
        }
    }
    let Some((count, announced)) = announced else {
        let problem = "`Connections`, the number of flows, is missing".to_owned();
        return Err(Misread { line: 1, column: 1, problem });
    };
    if flows.len() != announced {
        return Err(count.error(format!("the file announces {announced} flows, but has {}", flows.len())));
    }
    number(&mut flows);
    Ok(flows)
}

/// The error text for statements and attributes that are not supported.
const UNKNOWN: &str = "only flows with a start time are supported, not triggers or link failures; use a GOAL \
                       program if messages must wait for other messages";

/// Returns the only word that follows a key.
fn only<'a>(key: &Word<'_>, rest: &[Word<'a>]) -> Result<Word<'a>, Misread> {
    match rest {
        [value] => Ok(*value),
        _ => Err(key.error(format!("`{}` must be followed by one number", key.text))),
    }
}

/// Parses a flow between two hosts, `0->5`, and its attributes: pairs of a name and a number.
fn flow(ends: &Word<'_>, attributes: &[Word<'_>], hosts: &[NodeId]) -> Result<Flow, Misread> {
    let Some((src, dst)) = ends.text.split_once("->") else {
        return Err(ends.error(format!(
            "`{}` is neither a flow such as 0->5 nor a known keyword: {UNKNOWN}",
            ends.text
        )));
    };
    let host = |text: &str| {
        let number: Option<usize> = text.parse().ok();
        let host = number.and_then(|number| hosts.get(number));
        host.copied().ok_or_else(|| {
            ends.error(format!("`{text}` must be a host number: a whole number below {}", hosts.len()))
        })
    };
    let (src, dst) = (host(src)?, host(dst)?);
    if src == dst {
        return Err(ends.error("the flow goes from a host to itself".to_owned()));
    }
    let (mut size, mut start, mut priority) = (None, None, 0);
    for pair in attributes.chunks(2) {
        let [name, value] = pair else {
            return Err(pair[0].error(format!("the value of `{}` is missing", pair[0].text)));
        };
        match name.text {
            "start" => start = Some(start_time(value)?),
            "size" => size = Some(bytes(value)?),
            "id" => {
                value.number::<u64>("a number")?;
            }
            "prio" => {
                priority = value.number("a priority")?;
                if priority > 15 {
                    return Err(value.error(format!("the priority must be at most 15 (got {priority})")));
                }
            }
            other => return Err(name.error(format!("`{other}`: {UNKNOWN}"))),
        }
    }
    let missing = |what| ends.error(format!("the flow has no `{what}`"));
    let (size, start) = (size.ok_or_else(|| missing("size"))?, start.ok_or_else(|| missing("start"))?);
    Ok(Flow { priority, ..Flow::new(FlowId(0), src, dst, size, start) })
}

fn bytes(value: &Word<'_>) -> Result<Bytes, Misread> {
    match value.number("a number of bytes")? {
        0 => Err(value.error("a flow must have at least 1 byte".to_owned())),
        bytes => Ok(Bytes(bytes)),
    }
}

/// Parses a start in picoseconds. Fractions and exponents are allowed, because htsim reads starts as floats.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
fn start_time(value: &Word<'_>) -> Result<Time, Misread> {
    /// Start times must be below this number of ps. The largest `Time` is 1.8e19 ps (213 days).
    const LAST: f64 = 1e19;
    let float: f64 = value.number("a time in picoseconds")?;
    if !(0.0..LAST).contains(&float) {
        return Err(value
            .error(format!("the start time must be at least 0 and below 1e19 ps (got {} ps)", value.text)));
    }
    // Parse whole numbers as integers: they stay exact beyond 2^53.
    Ok(Time::from_ps(value.text.parse().unwrap_or(float.round() as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clos, star};
    use proptest::prelude::*;

    #[test]
    fn connections_are_read_by_the_hosts_numbers_and_sorted_by_start() {
        let text = "Nodes 4\nConnections 3\nTriggers 0\n# a comment\n0->3 id 1 start 2000000 size 2000000\n\
                    2->1 id 2 start 0 size 1 prio 3\n3->0 id 3 start 1.5e6 size 10\n";
        let flows = read_htsim(text, &star(4)).unwrap();
        let rows: Vec<_> = flows
            .iter()
            .map(|flow| (flow.id.0, flow.src.0, flow.dst.0, flow.size.0, flow.start.as_ps(), flow.priority))
            .collect();
        assert_eq!(
            rows,
            [(0, 2, 1, 1, 0, 3), (1, 3, 0, 10, 1_500_000, 0), (2, 0, 3, 2_000_000, 2_000_000, 0)]
        );
    }

    #[test]
    fn malformed_files_are_refused_at_their_place() {
        let error = |text: &str| read_htsim(text, &star(4)).unwrap_err().to_string();
        let flow = |flow: &str| error(&format!("Nodes 4\nConnections 1\n{flow}"));
        assert_eq!(
            error("0->1 start 0 size 1"),
            "line 1, column 1: `Connections`, the number of flows, is missing"
        );
        assert_eq!(
            error("Nodes 5"),
            "line 1, column 7: the file has 5 nodes, and the topology has only 4 hosts"
        );
        assert_eq!(error("Nodes"), "line 1, column 1: `Nodes` must be followed by one number");
        assert_eq!(error("Connections x"), "line 1, column 13: `x` is not a number of connections");
        assert_eq!(
            error("Connections 2\n0->1 start 0 size 1"),
            "line 1, column 13: the file announces 2 flows, but has 1"
        );
        assert_eq!(
            flow("0->4 start 0 size 1"),
            "line 3, column 1: `4` must be a host number: a whole number below 4"
        );
        assert_eq!(flow("1->1 start 0 size 1"), "line 3, column 1: the flow goes from a host to itself");
        assert_eq!(flow("0->1 start 0 size 0"), "line 3, column 19: a flow must have at least 1 byte");
        assert_eq!(flow("0->1 start 0 size"), "line 3, column 14: the value of `size` is missing");
        assert_eq!(
            flow("0->1 start -1 size 1"),
            "line 3, column 12: the start time must be at least 0 and below 1e19 ps (got -1 ps)"
        );
        assert_eq!(flow("0->1 start 0"), "line 3, column 1: the flow has no `size`");
        assert_eq!(flow("0->1 size 1"), "line 3, column 1: the flow has no `start`");
        assert_eq!(
            flow("0->1 start 0 size 1 prio 16"),
            "line 3, column 26: the priority must be at most 15 (got 16)"
        );
        let unknown = "only flows with a start time are supported, not triggers or link failures; use a GOAL \
                       program if messages must wait for other messages";
        assert_eq!(error("Triggers 1"), format!("line 1, column 10: Triggers: {unknown}"));
        assert_eq!(flow("0->1 trigger 1 size 1"), format!("line 3, column 6: `trigger`: {unknown}"));
        assert!(
            flow("trigger id 1 oneshot")
                .starts_with("line 3, column 1: `trigger` is neither a flow such as 0->5")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            text in prop::collection::vec(
                prop::sample::select(vec!["Nodes", "Connections", "0->1", "->", "start", "size", "1", "-", "é", "\n", "#"]),
                0..30,
            )
        ) {
            let _ = read_htsim(&text.join(" "), &clos([2, 1, 1, 1, 2], [1; 3]));
        }

        #[test]
        fn generated_matrices_are_read(ends in prop::collection::vec((0..4_usize, 1..4_usize, 0..9 * 10_u64.pow(18), 1..u64::MAX), 0..20)) {
            let rows = ends.iter().map(|(src, step, start, size)| {
                format!("{src}->{} id 1 start {start} size {size}\n", (src + step) % 4)
            });
            let text = format!("Nodes 4\nConnections {}\n{}", ends.len(), rows.collect::<String>());
            let flows = read_htsim(&text, &star(4)).unwrap();
            let mut starts: Vec<_> = ends.iter().map(|end| end.2).collect();
            starts.sort_unstable();
            prop_assert!(flows.iter().map(|flow| flow.start.as_ps()).eq(starts));
        }
    }
}
