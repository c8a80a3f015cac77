//! `raddle doctor`: reports which engines, fabric sizes and live runs this machine supports.

use raddle_lab::memory::{self, Feasible, Limit};
use raddle_lab::{Error, disk};
use raddle_live::doctor::Finding;
use serde_json::{Value, json};
use std::path::Path;

/// Lists the engines, estimates how large the fabrics of runs can be, and checks whether live runs work. Returns the
/// result as text and as JSON.
pub(crate) fn examine() -> Result<(String, Value), Error> {
    let engines = ["packet", "flow", "lockstep", "live"];
    let findings = raddle_live::doctor::examine();
    let memory = Limit::of_system();
    let disk = disk::free(Path::new(".")).ok();
    let feasible = memory.map(|limit| memory::feasible(limit.bytes)).transpose()?.unwrap_or_default();

    let row = |what: &str, found: String, note: &str| vec![what.to_owned(), found, note.to_owned()];
    let unknown = || "unknown: the system does not report it".to_owned();
    let mut rows = vec![
        row("raddle", raddle_lab::VERSION.to_owned(), ""),
        row("engines", engines.join(", "), "all of them run without privileges"),
        row(
            "memory for runs",
            memory.map_or_else(unknown, |limit| limit.to_string()),
            "a run that needs more is refused",
        ),
        row(
            "disk",
            disk.map_or_else(unknown, |free| format!("{} free", memory::show(free.0))),
            "of this folder",
        ),
    ];
    rows.extend(findings.iter().map(|Finding { what, found, lacks }| {
        let verdict =
            lacks.as_ref().map_or("ok for live runs".to_owned(), |lacks| format!("PROBLEM: {lacks}"));
        row(what, found.clone(), &verdict)
    }));
    let mut text = raddle_lab::table(&rows);
    if !feasible.is_empty() {
        let sizes: Vec<_> = feasible
            .iter()
            .map(|fabric| {
                let hosts = format!("{} hosts", fabric.hosts);
                let (family, memory) = (format!("  {}", fabric.family), memory::show(fabric.memory.0));
                vec![family, hosts, memory, fabric.topology.clone()]
            })
            .collect();
        text.push_str(&format!("\nlargest fabrics for the memory ({})\n", memory::ASSUMED));
        text.push_str(&raddle_lab::table(&sizes));
    }

    let live: Vec<_> = findings
        .iter()
        .map(|finding| json!({ "what": finding.what, "found": finding.found, "lacks": finding.lacks }))
        .collect();
    let json = json!({
        "version": raddle_lab::VERSION,
        "engines": engines,
        "memory_bytes": memory.map(|limit| limit.bytes.0),
        "free_disk_bytes": disk.map(|free| free.0),
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "feasible": feasible.iter().map(Feasible::json).collect::<Vec<_>>(),
        "feasible_assumes": memory::ASSUMED,
        "live": live,
    });
    Ok((text, json))
}
