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

    let unknown = || "unknown: the system does not report it".to_owned();
    let memory_text =
        memory.map_or_else(unknown, |limit| format!("{limit}; a run that needs more memory is refused"));
    let disk_text = disk.map_or_else(unknown, |free| {
        format!("{} free on the file system of this folder", memory::show(free.0))
    });
    let mut text = lines(&[
        ("raddle", raddle_lab::VERSION.to_owned()),
        ("engines", format!("{}; all engines run without privileges", engines.join(", "))),
        ("memory for runs", memory_text),
        ("disk", disk_text),
    ]);
    text.push_str("\nfor live runs only, not for simulations\n");
    let live_lines: Vec<_> = findings
        .iter()
        .map(|Finding { what, found, lacks }| {
            (*what, lacks.as_ref().map_or(format!("ok: {found}"), |lacks| format!("{found}; {lacks}")))
        })
        .collect();
    text.push_str(&lines(&live_lines));
    if !feasible.is_empty() {
        let sizes: Vec<_> = feasible
            .iter()
            .map(|fabric| {
                let hosts = format!("{} hosts", fabric.hosts);
                let (family, memory) = (format!("  {}", fabric.family), memory::show(fabric.memory.0));
                vec![family, hosts, memory, fabric.topology.clone()]
            })
            .collect();
        text.push_str(&format!("\nlargest fabrics that fit in the memory ({})\n", memory::ASSUMED));
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

/// A line for each name and its text. The texts begin in the same column.
fn lines(named: &[(&str, String)]) -> String {
    let width = named.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    named.iter().map(|(name, text)| format!("{name:width$}  {text}\n")).collect()
}
