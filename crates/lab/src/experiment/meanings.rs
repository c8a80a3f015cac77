//! Hints for words of other simulators, with Raddle's word for the same or a similar thing: `link_rate` for
//! `bandwidth`, or `dcqcn` for `hpcc`. Hints for misspelled words come from [`nearest`](super::nearest).

use super::keys;
use raddle_schemes::registry::Registry;

/// Groups of words that users of other simulators write, each with Raddle's words of the same or the closest meaning.
const MEANINGS: &[(&[&str], &[&str])] = &[
    // Keys.
    (
        &[
            "bandwidth",
            "capacity",
            "speed",
            "rate",
            "data_rate",
            "link_speed",
            "link_bandwidth",
            "link_capacity",
        ],
        &["link_rate"],
    ),
    (&["latency", "delay", "link_latency", "propagation_delay", "prop_delay"], &["link_delay"]),
    (
        &["hosts", "servers", "hosts_per_tor", "hosts_per_switch", "hosts_per_rack", "servers_per_rack"],
        &["hosts_per_leaf", "hosts_per_edge", "hosts"],
    ),
    (&["tors", "racks", "leafs", "edges"], &["leaves", "edges_per_pod"]),
    (&["cores", "tops"], &["spines", "cores_per_plane"]),
    (&["oversubscription", "oversub"], &["uplink_rate"]),
    (&["size", "shape", "dimensions", "dim"], &["dims"]),
    (&["ports", "radix", "arity"], &["k"]),
    (&["load_balancing", "load_balancer", "lb", "routing_algorithm"], &["routing"]),
    (&["congestion_control", "cc", "protocol", "tcp", "stack"], &["transport"]),
    (&["buffer", "buffer_size", "queue_size", "queue_limit", "max_queue"], &["queue", "limit"]),
    (&["ecn", "ecn_threshold", "marking_threshold"], &["mark", "queue"]),
    (&["pause"], &["flow_control"]),
    (&["pattern", "traffic", "traffic_pattern", "matrix", "destinations"], &["pairs"]),
    (&["flow_sizes", "size_distribution", "distribution", "cdf"], &["sizes"]),
    (&["interarrival", "inter_arrival", "lambda", "gap"], &["mean_gap", "arrivals"]),
    (&["num_flows", "n_flows", "flow_count", "count"], &["flows"]),
    (
        &["simulation_time", "sim_time", "stop_time", "end_time", "end", "max_time", "stop", "timeout"],
        &["time_limit"],
    ),
    (&["random_seed", "rng_seed", "rng"], &["seed"]),
    (&["simulator", "mode", "type", "name"], &["kind"]),
    // Kinds of topology.
    (
        &["dragonfly", "slim_fly", "slimfly", "hyperx", "flattened_butterfly", "xpander", "expander"],
        &["jellyfish", "file"],
    ),
    (&["butterfly", "benes", "omega"], &["k_ary_n_tree", "xgft"]),
    (&["vl2", "rail", "rail_optimized", "rail_optimised"], &["clos", "file"]),
    (&["ring", "line", "grid"], &["torus", "mesh"]),
    (&["tree"], &["k_ary_n_tree", "fat_tree"]),
    // Transports.
    (&["hpcc", "timely", "swift", "powertcp", "rocc", "roce", "rocev2", "rdma"], &["dcqcn", "dctcp"]),
    (&["pfabric", "homa", "phost", "fastpass", "pias"], &["pdq", "omniscient"]),
    (&["ndp", "eqds", "expresspass", "aeolus", "dcpim", "uec", "uet"], &["dctcp", "dcqcn"]),
    (&["bbr", "vegas", "westwood", "bic", "htcp"], &["tcp-cubic", "tcp-newreno"]),
    (&["mptcp", "xmp"], &["dctcp", "tcp-newreno"]),
    (&["qcn", "ethernet"], &["cee"]),
    // Routings.
    (&["flowlet", "conweave", "plb", "reps", "flowbender", "clove", "luxor"], &["letflow", "conga", "hula"]),
    (&["packet_spray", "random_packet_spraying", "per_packet", "round_robin"], &["spray", "rps"]),
    (&["hedera", "optimal", "oracle", "central"], &["clairvoyant"]),
    (&["static", "deterministic", "up_down", "updown"], &["d-mod-k", "ecmp"]),
    (&["adaptive", "adaptive_routing", "ar"], &["switch-ar", "drill", "conga"]),
    (&["hash", "hashing", "minimal", "shortest", "shortest_path", "spf", "ospf"], &["ecmp"]),
    (&["valiant", "ugal"], &["vlb", "spray"]),
    // Queues and flow control.
    (&["drop_tail", "droptail", "taildrop", "red"], &["fifo"]),
    (&["priority", "pq"], &["strict"]),
    (&["wrr", "dwrr", "drr", "wfq"], &["ets"]),
    (&["802.1qbb", "pause", "credit", "credits", "cbfc", "lossless"], &["pfc"]),
    // Workloads.
    (&["facebook", "meta"], &["hadoop", "cache_follower", "web_server"]),
    (&["google"], &["google_rpc"]),
    (&["vl2"], &["data_mining"]),
    (&["dctcp", "web"], &["web_search"]),
    (&["lognormal", "log_normal", "weibull", "bimodal", "custom"], &["cdf"]),
    (&["constant", "deterministic", "periodic"], &["fixed", "cbr"]),
    (&["exponential", "random"], &["poisson", "uniform"]),
    (&["many_to_one", "hotspot"], &["incast"]),
    (&["all_reduce", "all_to_all", "ring"], &["allreduce", "alltoall"]),
    // Engines.
    (&["packet_level", "ns3", "discrete_event", "des"], &["packet"]),
    (&["flow_level", "fluid"], &["flow"]),
    (&["emulation", "real", "testbed", "kernel"], &["live"]),
];

/// The words in `known` whose meaning is the same as, or closest to, the meaning of `word`.
pub(super) fn of<'a>(word: &str, known: &'a [String]) -> Vec<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    let targets =
        MEANINGS.iter().filter(|(words, _)| words.contains(&word.as_str())).flat_map(|(_, targets)| *targets);
    targets.filter_map(|target| known.iter().find(|known| known == target)).map(String::as_str).collect()
}

/// The tables, other than `section`, that have a key named `key`, each in brackets. Only tables that describe a run are
/// searched.
pub(super) fn elsewhere(key: &str, section: &str) -> Vec<String> {
    const TABLES: [&str; 8] =
        ["topology", "workload", "scheme", "engine", "record", "failure", "faults", "errors"];
    let names = keys::names().into_iter().map(|(name, _)| name);
    let names = names.filter(|name| TABLES.iter().any(|table| name.split('.').next() == Some(table)));
    let of_tables = names.filter_map(|name| {
        let (table, name) = name.rsplit_once('.')?;
        (name == key).then(|| format!("[{table}]"))
    });
    let registry = Registry::builtin();
    let schemes =
        registry.schemes().filter(|info| info.parameters.iter().any(|parameter| parameter.name == key));
    let of_schemes = schemes.map(|info| format!("[scheme.{}]", info.name));
    of_tables.chain(of_schemes).filter(|table| table != section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_simulators_lead_to_ours() {
        let known = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(of("bandwidth", &known(&["kind", "link_rate", "link_delay"])), ["link_rate"]);
        assert_eq!(of("HPCC", &known(&["dctcp", "dcqcn"])), ["dcqcn", "dctcp"]);
        assert_eq!(of("bandwidth", &known(&["transport"])), [""; 0]);
    }

    #[test]
    fn a_key_of_another_table_is_found_there() {
        assert_eq!(elsewhere("seed", "[workload]"), ["[engine]"]);
        assert_eq!(elsewhere("seed", "[engine]"), [""; 0]);
        assert!(elsewhere("min_rto", "[scheme]").contains(&"[scheme.tcp-newreno]".to_owned()));
    }

    #[test]
    fn every_word_that_is_hinted_at_is_declared() {
        let registry = Registry::builtin();
        let of_keys = keys::all().flat_map(|key| {
            let names = key.choices(&registry).into_iter().map(|(name, _)| name);
            names.chain([key.name().to_owned()])
        });
        let declared: Vec<String> = of_keys.collect();
        for target in MEANINGS.iter().flat_map(|(_, targets)| *targets) {
            assert!(declared.iter().any(|name| name == target), "`{target}` is not declared");
        }
    }
}
