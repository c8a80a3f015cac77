//! How applications with a rate produce frames.

use super::kinds::names;
use super::{kinded, positive};
use crate::experiment::problem::Problem;
use crate::experiment::section::Section;
use raddle_core::Process;

/// Reads `process`; constant if it is not there.
pub(super) fn read_process(section: &mut Section<'_>) -> Result<Process, Problem> {
    let Some(table) = section.item("process").map(kinded).transpose()? else { return Ok(Process::Constant) };
    let (process, resolved) = read(Section::new(&table, "workload.process"))?;
    section.resolve("process", resolved);
    Ok(process)
}

/// Refuses a process where there is no rate.
pub(super) fn needs_rate(section: &mut Section<'_>, rate: bool) -> Result<(), Problem> {
    if rate || section.item("process").is_none() {
        return Ok(());
    }
    let hint = "give `app_rate`, or leave `process` out";
    Err(section.contradiction("process", "a process of applications that have no rate", hint))
}

fn read(mut section: Section<'_>) -> Result<(Process, toml::Table), Problem> {
    let kinds: Vec<_> = names("process").collect();
    let process = match section.choice("kind", "kind of process", &kinds, None)? {
        "poisson" => Process::Poisson,
        "bernoulli" => Process::Bernoulli,
        "on_off" => Process::OnOff { burst: positive(&mut section, "burst")? },
        _ => Process::Constant,
    };
    Ok((process, section.finish()?))
}
