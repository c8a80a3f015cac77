//! Flow files of HPCC's ns-3 simulator and its descendants: the number of flows, then one line per flow, `src dst
//! priority_group dst_port bytes start_seconds`.

use crate::WorkloadError;
use crate::pairs::check_pair;
use raddle_core::text::{self, Misread, Word};
use raddle_core::{Bytes, Flow, FlowId, NodeId, Time};
use raddle_topology::Topology;
use std::fmt::Write;

const COLUMNS: [&str; 6] = ["src", "dst", "priority_group", "dst_port", "bytes", "start_seconds"];
/// The destination port that HPCC's own generator writes.
const DST_PORT: u16 = 100;

/// Reads a flow file for the hosts of `topology`. The priority group becomes the flow's priority. The port is ignored.
/// Flows are numbered in order of start. Starts up to 1,000 s are exact to a picosecond. As in HPCC's simulator, the
/// first line gives the number of flow lines to read. Lines after these are ignored.
///
/// # Errors
/// Returns an error with line and column if a line is malformed, an endpoint is not a host, a host sends to itself, or
/// the file has fewer flow lines than the first line announces.
pub fn read_hpcc(text: &str, topology: &Topology) -> Result<Vec<Flow>, Misread> {
    let mut lines = text::lines(text);
    let Some(head) = lines.next() else {
        let problem = "the number of flows is missing".to_owned();
        return Err(Misread { line: 1, column: 1, problem });
    };
    let [count] = text::row(&head, ["flows"])?;
    let expected: u32 = count.number("a number of flows")?;
    let rows = lines.take(expected as usize);
    let mut flows = rows.map(|words| flow(&words, topology)).collect::<Result<Vec<_>, _>>()?;
    if flows.len() != expected as usize {
        return Err(count.error(format!("the file announces {expected} flows, but has {}", flows.len())));
    }
    number(&mut flows);
    Ok(flows)
}

/// Sorts flows by start and numbers them.
pub(crate) fn number(flows: &mut [Flow]) {
    flows.sort_by_key(|flow| flow.start);
    for (i, flow) in flows.iter_mut().enumerate() {
        flow.id = FlowId::of(i);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
fn flow(words: &[Word<'_>], topology: &Topology) -> Result<Flow, Misread> {
    let [src, dst, priority, port, size, start] = text::row(words, COLUMNS)?;
    let (from, to) = (NodeId(src.number("a node")?), NodeId(dst.number("a node")?));
    check_pair(topology, from, to).map_err(|error| match error {
        WorkloadError::NotAHost { node } if node == from.0 => src.error(error.to_string()),
        error => dst.error(error.to_string()),
    })?;
    port.number::<u16>("a port")?;
    let class: u8 = priority.number("a priority group")?;
    if class > 15 {
        return Err(priority.error(format!("the priority group must be at most 15 (got {class})")));
    }
    let bytes: u64 = size.number("a number of bytes")?;
    if bytes == 0 {
        return Err(size.error("a flow must have at least 1 byte".to_owned()));
    }
    let seconds: f64 = start.number("a time in seconds")?;
    // A double is exact to 1 ps up to 2^52 ps (75 minutes). The largest `Time` is 1.8e7 s (213 days).
    if !(0.0..1e7).contains(&seconds) {
        return Err(start
            .error(format!("the start time must be at least 0 and below 10,000,000 s (got {seconds} s)")));
    }
    Ok(Flow {
        priority: class,
        ..Flow::new(FlowId(0), from, to, Bytes(bytes), Time::from_ps((seconds * 1e12).round() as u64))
    })
}

/// Writes a flow file. The format cannot express weights, application rates and deadlines.
#[must_use]
pub fn write_hpcc(flows: &[Flow]) -> String {
    const PS_PER_S: u64 = 1_000_000_000_000;
    let mut text = format!("{}\n", flows.len());
    for flow in flows {
        let (seconds, ps) = (flow.start.as_ps() / PS_PER_S, flow.start.as_ps() % PS_PER_S);
        let Flow { src, dst, priority, size: Bytes(bytes), .. } = flow;
        writeln!(text, "{src} {dst} {priority} {DST_PORT} {bytes} {seconds}.{ps:012}")
            .expect("writing to a string must succeed");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::star;
    use crate::{Pairs, Workload};

    #[test]
    fn flows_come_back_as_they_were_written() {
        let flows: Vec<_> =
            Workload::new(Pairs::Uniform, 1_000).generate(&star(8), 1).unwrap().iter().collect();
        assert_eq!(read_hpcc(&write_hpcc(&flows), &star(8)).unwrap(), flows);
    }

    #[test]
    fn flows_are_sorted_by_start_and_numbered() {
        let flows = read_hpcc("2\n1 2 3 100 5000 2.000000002\n0 3 3 100 10 2\n", &star(4)).unwrap();
        assert_eq!(flows[0].start, Time::from_ps(2_000_000_000_000));
        assert_eq!(flows[1].start, Time::from_ps(2_000_000_002_000));
        assert_eq!((flows[1].id, flows[1].src, flows[1].dst), (FlowId(1), NodeId(1), NodeId(2)));
        assert_eq!((flows[1].size, flows[1].priority), (Bytes(5_000), 3));
    }

    /// The example file of HPCC's simulator also has further lines after the announced flows.
    #[test]
    fn lines_after_the_announced_flows_are_ignored() {
        let text =
            "1\n2 1 3 100 200 2\n3 1 3 100 200 2\n\nFirst line: # of flows\nsrc0 dst0 3 dst_port0 size0\n";
        assert_eq!(read_hpcc(text, &star(4)).unwrap().len(), 1);
    }

    #[test]
    fn malformed_files_are_refused_at_their_place() {
        let error = |text| read_hpcc(text, &star(4)).unwrap_err().to_string();
        assert_eq!(error(""), "line 1, column 1: the number of flows is missing");
        assert_eq!(error("2\n0 1 3 100 1 0"), "line 1, column 1: the file announces 2 flows, but has 1");
        assert!(
            error("1\n0 1 3 100 1").starts_with("line 2, column 1: the number of columns must be 6 (got 5)")
        );
        assert_eq!(error("1\n0 9 3 100 1 0"), "line 2, column 3: node 9 is not a host of the topology");
        assert_eq!(error("1\n4 1 3 100 1 0"), "line 2, column 1: node 4 is not a host of the topology");
        assert_eq!(error("1\n1 1 3 100 1 0"), "line 2, column 3: node 1 cannot send to itself");
        assert_eq!(
            error("1\n0 1 16 100 1 0"),
            "line 2, column 5: the priority group must be at most 15 (got 16)"
        );
        assert_eq!(error("1\n0 1 3 100 0 0"), "line 2, column 11: a flow must have at least 1 byte");
        assert_eq!(error("1\n0 1 3 100 x 0"), "line 2, column 11: `x` is not a number of bytes");
        assert!(error("1\n0 1 3 100 1 -1").starts_with("line 2, column 13"));
        assert!(error("1\n0 1 3 100 1 NaN").starts_with("line 2, column 13"));
    }
}
