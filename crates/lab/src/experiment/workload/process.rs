//! The process that determines when an application with a given rate produces frames.

use super::keys::{PROCESS, PROCESS_BURST, PROCESS_KEYS, PROCESS_KIND};
use crate::experiment::problem::Problem;
use crate::experiment::section::Section;
use raddle_core::Process;

/// Reads `process`. Without the key, frames are evenly spaced.
pub(super) fn read_process(section: &mut Section<'_>) -> Result<Process, Problem> {
    let Some(table) = section.kinded(&PROCESS)? else { return Ok(Process::Constant) };
    let (process, resolved) = read(Section::new(&table, &PROCESS_KEYS))?;
    section.resolve(&PROCESS, resolved);
    Ok(process)
}

/// Returns an error if `process` is given without a rate.
pub(super) fn needs_rate(section: &mut Section<'_>, rate: bool) -> Result<(), Problem> {
    if rate || !section.has(&PROCESS) {
        return Ok(());
    }
    let hint = "give `app_rate`, or leave `process` out";
    Err(section.contradiction(
        &PROCESS,
        "`process` needs `app_rate`, the rate at which applications produce data",
        hint,
    ))
}

fn read(mut section: Section<'_>) -> Result<(Process, toml::Table), Problem> {
    let process = match section.kind(&PROCESS_KIND)? {
        "poisson" => Process::Poisson,
        "bernoulli" => Process::Bernoulli,
        "on_off" => Process::OnOff { burst: section.read(&PROCESS_BURST)? },
        _ => Process::Constant,
    };
    Ok((process, section.finish()?))
}
