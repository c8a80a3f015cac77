//! The kinds of arrivals, sizes, pairs, processes and deadlines, and the other ways to describe a workload.

use super::keys::{
    ARRIVALS_KIND, COLLECTIVE, DEADLINES_KIND, FILE, GOAL, HOTSPOT, LIST, LOAD, PAIRS_KIND, PROCESS_KIND,
    SIZES_KIND, SKELETON,
};
use crate::experiment::keys::{Declared, Key, Kind, Name, described};
use raddle_workload::mpi::collectives::{ALGORITHMS, Algorithm};
use raddle_workload::mpi::{KNOWN, Known};
use raddle_workload::{PUBLISHED, Published};

/// The words under which `raddle list` shows kinds, each with the key that chooses among these kinds.
static ROLES: [(&str, &Key<Name>); 5] = [
    ("arrivals", &ARRIVALS_KIND),
    ("sizes", &SIZES_KIND),
    ("pairs", &PAIRS_KIND),
    ("process", &PROCESS_KIND),
    ("deadlines", &DEADLINES_KIND),
];

/// The names of the kinds that `raddle list` shows under the word `role`, without the published size distributions.
pub(crate) fn names(role: &str) -> impl Iterator<Item = &'static str> {
    let keys = ROLES.iter().filter(move |(other, _)| *other == role);
    keys.flat_map(|(_, key)| key.own_kinds()).map(|kind| kind.name)
}

/// The ways to describe a workload, each with a one-line description.
pub fn kinds() -> impl Iterator<Item = (String, String)> {
    let of_role = |(role, key): (&'static str, &'static Key<Name>)| {
        let line = move |kind: &Kind| (format!("{role} {}", kind.name), described(kind));
        let published = if role == "sizes" { &PUBLISHED[..] } else { &[] };
        key.own_kinds().iter().map(line).chain(published.iter().map(describe))
    };
    let ways: [&dyn Declared; 7] = [&LOAD, &HOTSPOT, &FILE, &GOAL, &SKELETON, &COLLECTIVE, &LIST];
    let line = |key: &dyn Declared| {
        let words = format!("{} {} = {}", key.words(), key.name(), key.example());
        let names = match key.name() {
            "skeleton" => KNOWN.iter().map(describe_skeleton).collect(),
            "collective" => ALGORITHMS.iter().map(describe_algorithm).collect(),
            _ => Vec::new(),
        };
        std::iter::once((key.name().to_owned(), words)).chain(names)
    };
    ROLES.into_iter().flat_map(of_role).chain(ways.into_iter().flat_map(line))
}

fn describe(published: &Published) -> (String, String) {
    let mean = published.sizes(published.unit).mean();
    let unit = match published.counts_packets() {
        true => format!(" for unit = \"{}\"", published.unit),
        false => String::new(),
    };
    (format!("sizes {}", published.name), format!("{}: mean {mean:.0} B{unit}", published.summary))
}

fn describe_skeleton(known: &Known) -> (String, String) {
    let scale = known.scale.map_or(String::new(), |scale| format!("; scaled by {scale}"));
    (format!("skeleton {}", known.name), format!("{}{scale}", known.summary))
}

fn describe_algorithm(algorithm: &Algorithm) -> (String, String) {
    let need = if algorithm.powers_of_two { "; `ranks` must be a power of two" } else { "" };
    (format!("collective {}", algorithm.operation), format!("algorithm = \"{}\"{need}", algorithm.name))
}
