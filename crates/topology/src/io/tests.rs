use super::*;
use crate::builders::{dumbbell, folded_clos, hypercube, mesh, torus};
use crate::{Builder, Shape};
use proptest::prelude::*;
use raddle_core::{Duration, PortId, Rate};

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_ns(100);

type Fields<'a> = (Vec<(bool, usize)>, Vec<Option<&'a Link>>);

/// Returns each node's kind (true for hosts) and number of ports, and the link of each port.
fn fields(topology: &Topology) -> Fields<'_> {
    let nodes = topology.nodes().map(|node| (topology.is_host(node), topology.port_count(node))).collect();
    let slots = topology.nodes().flat_map(|node| {
        (0..topology.port_count(node)).map(move |port| topology.link_at(node, PortId::of(port)))
    });
    (nodes, slots.collect())
}

fn survives_both_formats(topology: &Topology) {
    let by_json = read_node_link(&write_node_link(topology).unwrap()).unwrap();
    assert_eq!(fields(&by_json), fields(topology));
    let by_xml = read_graphml(&write_graphml(topology).unwrap()).unwrap();
    assert_eq!(fields(&by_xml), fields(topology));
    assert_eq!(by_xml.shape(), &Shape::General);
}

#[test]
fn builders_topologies_survive() {
    survives_both_formats(&torus(&[4, 3, 2], RATE, DELAY).unwrap());
    survives_both_formats(&mesh(&[3, 1, 4], RATE, DELAY).unwrap());
    survives_both_formats(&hypercube(4, RATE, DELAY).unwrap());
    survives_both_formats(&folded_clos(3, 2, 2, RATE, Rate::from_gbps(40), DELAY).unwrap());
    survives_both_formats(&dumbbell(2, 3, RATE, Rate::from_bps(1), Duration::ZERO).unwrap());
}

proptest! {
    #[test]
    fn any_multigraph_survives(
        nodes in prop::collection::vec((any::<bool>(), 0_usize..4), 2..8),
        links in prop::collection::vec((0_usize..8, 1_usize..7, 1_u64..=u64::MAX, any::<u64>()), 0..24),
    ) {
        let mut builder = Builder::default();
        for &(host, ports) in &nodes {
            if host { builder.host(ports) } else { builder.switch(ports) };
        }
        for (a, step, rate, delay) in links {
            let a = a % nodes.len();
            let b = (a + 1 + (step - 1) % (nodes.len() - 1)) % nodes.len();
            builder.join(NodeId::of(a), NodeId::of(b), Rate::from_bps(rate), Duration::from_ps(delay));
        }
        survives_both_formats(&builder.build(Shape::General));
    }

    #[test]
    fn damaged_files_give_errors(at in 0_usize..2000, byte in 0x20_u8..0x7f) {
        let topology = dumbbell(1, 2, RATE, RATE, DELAY).unwrap();
        for (text, read) in [
            (write_node_link(&topology).unwrap(), read_node_link as fn(&str) -> Result<Topology, ReadError>),
            (write_graphml(&topology).unwrap(), read_graphml),
        ] {
            let at = at % text.len();
            let mut damaged = text.clone().into_bytes();
            damaged[at] = byte;
            // The damaged text may be accepted or refused, but reading it must not panic.
            let _ = read(std::str::from_utf8(&damaged).unwrap());
            prop_assert!(at + 1 == text.len() || read(&text[..at]).is_err());
        }
    }
}

#[test]
fn networkx_node_link_is_read() {
    // The output of `networkx.node_link_data` (networkx 3.6). The test also reads this text with the older
    // name `links` instead of `edges`.
    let written = r#"{"directed": false, "multigraph": true, "graph": {},
        "nodes": [{"kind": "host", "pos": [0, 1], "id": "a"}, {"kind": "switch", "id": [0, 1]}],
        "edges": [
            {"rate_bps": 10000000000.0, "delay_ps": 100000, "source": "a", "target": [0, 1], "key": 0},
            {"rate_bps": 40000000000, "delay_ps": 0, "source_port": 0, "source": "a", "target": [0, 1], "key": 1}
        ]}"#;
    for text in [written.to_owned(), written.replace("\"edges\"", "\"links\"")] {
        let topology = read_node_link(&text).unwrap();
        let rates: Vec<_> = topology.links_from(NodeId(0)).map(|(_, link)| link.rate.as_bps()).collect();
        assert_eq!(
            rates,
            [40_000_000_000, 10_000_000_000],
            "the chosen port is kept, the other edge takes the next"
        );
        assert_eq!((topology.is_host(NodeId(0)), topology.is_host(NodeId(1))), (true, false));
    }
}

#[test]
fn networkx_graphml_is_read() {
    // The output of `networkx.generate_graphml` (networkx 3.6), with a default value, a comment, character references
    // and a CDATA section added.
    let topology = read_graphml(
        r#"<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d2" for="edge" attr.name="delay_ps" attr.type="long"><default>500</default></key>
  <key id="d1" for="edge" attr.name="rate_bps" attr.type="double" />
  <key id="d0" for="node" attr.name="kind" attr.type="string" />
  <graph edgedefault="undirected"><!-- a comment -->
    <node id="a&lt;b&#38;"><data key="d0"> &#104;ost </data></node>
    <node id="s"><data key="d0"><![CDATA[switch]]></data></node>
    <edge source="a&lt;b&amp;" target="s" id="0"><data key="d1">10000000000.0</data></edge>
    <edge source="s" target="a&lt;b&#38;" id="1">
      <data key="d1">1e9</data>
      <data key="d2">100000</data>
    </edge>
  </graph>
</graphml>"#,
    )
    .unwrap();
    let links: Vec<_> = topology.links().map(|(_, link)| (link.rate.as_bps(), link.delay.as_ps())).collect();
    assert_eq!(links, [(10_000_000_000, 500), (1_000_000_000, 100_000)].repeat(2));
}

#[test]
fn node_link_errors_say_where() {
    let node = |id: &str| format!(r#"{{"id": {id}, "kind": "host"}}"#);
    let document = |nodes: &str, edges: &str| format!("{{\"nodes\": [{nodes}],\n \"edges\": [{edges}]}}");
    let two = format!("{}, {}", node("1"), node("2"));
    let edge = |rest: &str| format!(r#"{{"source": 1, "target": 2, "rate_bps": 1, "delay_ps": 0{rest}}}"#);
    let cases = [
        ("{\n  \"nodes\": [}".to_owned(), "line 2, column 13: expected value"),
        ("{\"nodes\": []}".to_owned(), "line 1, column 13: missing field `edges`"),
        (
            r#"{"directed": true, "nodes": [], "edges": []}"#.to_owned(),
            "directed: the graph must be undirected: each edge is a link in both directions",
        ),
        (document("", ""), "nodes: the graph has no nodes"),
        (document(&format!("{0}, {0}", node("1")), ""), "nodes[1]: two nodes have the name 1"),
        (document(r#"{"id": 1}"#, ""), "nodes[0]: `kind` is missing"),
        (
            document(r#"{"id": 1, "kind": "router"}"#, ""),
            "nodes[0]: `kind` is `router`, but must be `host` or `switch`",
        ),
        (document(r#"{"kind": "host"}"#, ""), "nodes[0]: `id` is missing"),
        (document(&two, r#"{"source": 1, "target": "2"}"#), "edges[0]: the graph has no node \"2\""),
        (document(&two, r#"{"source": 1, "target": 1}"#), "edges[0]: node 1 has an edge to itself"),
        (document(&two, r#"{"source": 1, "target": 2, "delay_ps": 0}"#), "edges[0]: `rate_bps` is missing"),
        (
            document(&two, r#"{"source": 1, "target": 2, "rate_bps": 0}"#),
            "edges[0]: `rate_bps` is `0`, but must be a whole number of bits per second above 0",
        ),
        (
            document(&two, r#"{"source": 1, "target": 2, "rate_bps": 1, "delay_ps": 0.5}"#),
            "edges[0]: `delay_ps` is `0.5`, but must be a whole number of picoseconds",
        ),
        (
            document(&two, &edge(r#", "source_port": 65536"#)),
            "edges[0]: `source_port` is `65536`, but must be a whole number below 65536",
        ),
        (
            document(&two, &[edge(r#", "target_port": 3"#), edge(r#", "target_port": 3"#)].join(",")),
            "edges[1]: two edges end at port 3 of node 2",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read_node_link(&text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn graphml_errors_say_where() {
    let document = |inside: &str| {
        format!(
            "<graphml>\n<key id=\"k\" attr.name=\"kind\"/>\n<graph edgedefault=\"undirected\">\n{inside}</graph></graphml>"
        )
    };
    let host = |id: &str| format!("<node id=\"{id}\"><data key=\"k\">host</data></node>\n");
    let cases = [
        (String::new(), "line 1, column 1: the file contains no element `graph` inside an element `graphml`"),
        (
            "<graphml>\n<graph edgedefault=\"directed\"/></graphml>".to_owned(),
            "line 2, column 1: the graph must be undirected: each edge is a link in both directions",
        ),
        ("<graphml>\n <graph/></graphml>".to_owned(), "line 2, column 2: `edgedefault` is missing"),
        (
            "<graphml>\n <graph edgedefault=\"undirected\">".to_owned(),
            "line 2, column 34: the file ends inside the element `graph`",
        ),
        (document(""), "line 3, column 1: the graph has no nodes"),
        (document("<node id='a'/>"), "line 4, column 1: `kind` is missing"),
        (document(&(host("a") + &host("a"))), "line 5, column 1: two nodes have the name a"),
        (
            document(&(host("a") + "  <edge source='a' target='b'/>")),
            "line 5, column 3: the graph has no node b",
        ),
        (
            document("<node id='a'><data key='no'>1</data></node>"),
            "line 4, column 14: the file declares no key `no` before this element",
        ),
        (document("<node id='a'>&no;</node>"), "line 4, column 14: unknown XML entity `no`"),
        (document("<hyperedge/>"), "line 4, column 1: a `hyperedge` is not supported"),
        (document("<node id='a'><graph/></node>"), "line 4, column 14: a nested `graph` is not supported"),
    ];
    for (text, expected) in cases {
        assert_eq!(read_graphml(&text).unwrap_err().to_string(), expected, "{text}");
    }
    let crossed = read_graphml("<graphml>\n<graph edgedefault=\"undirected\"></graphml>").unwrap_err();
    assert_eq!(crossed.place, Place::Position { line: 2, column: 33 }, "{crossed}");
}

#[test]
fn a_short_file_cannot_ask_for_all_memory() {
    let node = |id: usize| format!(r#"{{"id": {id}, "kind": "host", "ports": 65535}}"#);
    let nodes: Vec<_> = (0..300).map(node).collect();
    let text = format!(r#"{{"nodes": [{}], "edges": []}}"#, nodes.join(","));
    assert!(matches!(read_node_link(&text).unwrap_err().problem, Problem::TooMany(_)));
}

#[test]
fn a_link_without_a_way_back_is_not_written() {
    let ring = torus(&[3], RATE, DELAY).unwrap();
    let gone = ring.link_id(NodeId(1), PortId(0));
    let error = WriteError::OneWay { from: NodeId(2), to: NodeId(1) };
    assert_eq!(write_node_link(&ring.surviving(|link| link != gone)), Err(error));
    assert_eq!(write_graphml(&ring.surviving(|link| link != gone)), Err(error));
    let back = ring.reverse(gone);
    survives_both_formats(&ring.surviving(|link| link != gone && link != back));
}

#[test]
fn a_slowed_link_is_not_written() {
    let ring = torus(&[3], RATE, DELAY).unwrap();
    let slow = ring.link_id(NodeId(1), PortId(0));
    let error = WriteError::Slowed { from: NodeId(1), to: NodeId(2) };
    let slowed = ring.clone().slowed(slow, Rate::from_gbps(1));
    assert_eq!(write_node_link(&slowed), Err(error));
    assert_eq!(write_graphml(&slowed), Err(error));
    survives_both_formats(&slowed.slowed(slow, RATE));
    let link = ring.link(slow).unwrap();
    assert_eq!((link.rate, link.line_rate), (RATE, RATE));
}

/// Returns a topology in which host 0 is connected to switch 3, host 2 to switch 4, and host 1 to both
/// switches. `relay` is an optional attribute of host 1.
fn two_rails(relay: &str) -> Topology {
    let text = format!(
        r#"{{ "nodes": [ {{ "id": 0, "kind": "host" }}, {{ "id": 1, "kind": "host" {relay} }}, {{ "id": 2, "kind": "host" }},
               {{ "id": 3, "kind": "switch" }}, {{ "id": 4, "kind": "switch" }} ],
             "edges": [ {{ "source": 0, "target": 3, "rate_bps": 1e9, "delay_ps": 0 }},
               {{ "source": 1, "target": 3, "rate_bps": 1e9, "delay_ps": 0 }},
               {{ "source": 1, "target": 4, "rate_bps": 1e9, "delay_ps": 0 }},
               {{ "source": 2, "target": 4, "rate_bps": 1e9, "delay_ps": 0 }} ] }}"#
    );
    read_node_link(&text).expect("a graph")
}

#[test]
fn hosts_beside_switches_relay_only_if_they_are_asked_to() {
    let distance = |topology: &Topology, src, dst| {
        let routing = crate::routing::Routing::new(std::sync::Arc::new(topology.clone()));
        routing.distance(NodeId(src), NodeId(dst))
    };
    for silent in [two_rails(""), two_rails(r#", "relay": false"#)] {
        assert_eq!(
            [(0, 1), (1, 2), (0, 2)].map(|(src, dst)| distance(&silent, src, dst)),
            [Some(2), Some(2), None]
        );
        assert_eq!(crate::Hops::of(&silent).unreachable(), Some((NodeId(0), NodeId(2))));
        assert!(silent.has_endpoints());
        let again = read_graphml(&write_graphml(&silent).unwrap()).unwrap();
        assert!(!again.relays(NodeId(1)), "written as it was");
    }
    let asked = two_rails(r#", "relay": true"#);
    assert_eq!((distance(&asked, 0, 2), asked.has_endpoints()), (Some(4), false));
    let again = read_node_link(&write_node_link(&asked).unwrap()).unwrap();
    assert_eq!(distance(&again, 0, 2), Some(4), "written as it was");
}

/// A switch whose `relay` is false still does not relay after the topology is written and read again, in both formats.
#[test]
fn a_switch_that_does_not_relay_survives() {
    let graph = r#"{ "nodes": [ { "id": 0, "kind": "host" }, { "id": 1, "kind": "switch", "relay": false } ],
        "edges": [ { "source": 0, "target": 1, "rate_bps": 1, "delay_ps": 0 } ] }"#;
    let topology = read_node_link(graph).expect("a graph");
    let by_json = read_node_link(&write_node_link(&topology).expect("JSON")).expect("a graph");
    let by_xml = read_graphml(&write_graphml(&topology).expect("XML")).expect("a graph");
    assert!([topology, by_json, by_xml].iter().all(|topology| !topology.relays(NodeId(1))));
}

/// In a graph that has only hosts, hosts forward packets by default.
#[test]
fn hosts_of_a_graph_without_switches_relay_unasked() {
    let line = r#"{ "nodes": [ { "id": 0, "kind": "host" }, { "id": 1, "kind": "host" }, { "id": 2, "kind": "host" } ],
        "edges": [ { "source": 0, "target": 1, "rate_bps": 1e9, "delay_ps": 0 },
                   { "source": 1, "target": 2, "rate_bps": 1e9, "delay_ps": 0 } ] }"#;
    let unasked = |text: &str| {
        let topology = read_node_link(text).expect("a graph");
        topology.hosts().filter(|&host| topology.relays(host) && topology.relays_unasked(host)).count()
    };
    assert_eq!(unasked(line), 1, "the one in the middle");
    assert_eq!(unasked(&line.replace(r#""id": 1, "#, r#""id": 1, "relay": true, "#)), 0);
    let written = write_node_link(&read_node_link(line).unwrap()).unwrap();
    assert_eq!(unasked(&written), 0, "what is written says so");
}
