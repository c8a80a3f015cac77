//! Runs the subcommands.

mod live;
mod reproduce;

use crate::Ended;
use crate::arguments::{Act, Arguments, Command, Format, Listed, Live, Run, Scale, Sweep, Topo, Torture};
use crate::cluster::Cluster;
use crate::completions;
use crate::doctor;
use crate::init::{TEMPLATES, Template, init};
use crate::show::{self, Bars};
use clap::CommandFactory as _;
use raddle_lab::analysis::{agree, select};
use raddle_lab::experiment::{Cell, Document, Problem, keys, read_all};
use raddle_lab::figure::statements;
use raddle_lab::lint::{self, Warning};
use raddle_lab::memory::Estimate;
use raddle_lab::report::Report;
use raddle_lab::sweep::search::{self, Search};
use raddle_lab::sweep::{CellEnd, Elsewhere, Refused, Results};
use raddle_lab::torture::{self, Tally};
use raddle_lab::{
    Comparison, Control, Error, Out, Prepared, RunState, Share, catalogue, figure, run_into, sweep,
    told_renamed, topo,
};
use raddle_schemes::registry::Registry;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Runs the command that the arguments select.
pub(crate) fn execute(
    arguments: &Arguments,
    registry: &Arc<Registry>,
    stop: &AtomicBool,
) -> Result<Ended, Error> {
    let output = Output { format: arguments.format, quiet: arguments.quiet };
    let session = Session { registry, output, stop };
    match &arguments.command {
        Command::Run(run) => session.run(run, "run", &[], None),
        Command::Live(Live { act: Some(Act::Exec(exec)), .. }) => Err(crate::live::exec(exec)),
        Command::Live(Live { act: Some(Act::Ctl(order)), .. }) => {
            let done = crate::live::order(order)?;
            output.print(|| done.clone(), || json!({ "done": done }))?;
            Ok(Ended::Done)
        }
        Command::Live(live) => session.live(live),
        Command::Sweep(sweep) => session.sweep(sweep),
        Command::List { what } => list(*what, registry, output),
        Command::Init { template, out } => session.init(template.as_deref(), out),
        Command::Completions { shell } => {
            show::result(&completions::script(*shell, registry))?;
            Ok(Ended::Done)
        }
        Command::Man { out } => {
            std::fs::create_dir_all(out).map_err(Error::io("create", out))?;
            let written = clap_mangen::generate_to(Arguments::command(), out);
            written.map_err(Error::io("write manual pages into", out))?;
            let out = out.display().to_string();
            output.print(|| format!("wrote manual pages into {out}"), || json!({ "written": out }))?;
            Ok(Ended::Done)
        }
        Command::Schema => {
            show::result(&format!("{:#}", keys::schema(registry)))?;
            Ok(Ended::Done)
        }
        Command::Topo { command } => session.topo(command),
        Command::Compare { directories, plot, look } => {
            compare(directories, plot.as_deref(), look.into(), output)?;
            Ok(Ended::Done)
        }
        Command::Report { directories, detail, out } => session.report(directories, detail, out),
        Command::Explain { name } => {
            let (text, json) = catalogue::explain(&name.join(" "), registry)?;
            output.print(|| text, || json)?;
            Ok(Ended::Done)
        }
        Command::Torture(which) => session.torture(which),
        Command::Doctor => {
            let (text, json) = doctor::examine()?;
            output.print(|| text, || json)?;
            Ok(Ended::Done)
        }
        Command::Select { file, set, seed, utility, search, out } => {
            let document = session.document(file, set, *seed)?;
            document.refuse_sweep(&invocation("select", file))?;
            let selection = select::select(&document, utility, search)?;
            if let Some(out) = out {
                selection.write(out)?;
            }
            output.print(|| selection.to_string(), || selection.json())?;
            Ok(Ended::Done)
        }
        Command::Agree { file, set, seed, threads } => {
            let document = session.document(file, set, *seed)?;
            document.refuse_sweep(&invocation("agree", file))?;
            let bars = Bars::new(&agree::ENGINES.map(str::to_owned), output.quiet);
            let threads = threads.unwrap_or_else(cores);
            let agreement =
                agree::agree(&document, threads, stop, &mut |run, progress| bars.update(run, progress));
            bars.clear();
            let agreement = agreement?;
            output.print(|| agreement.to_string(), || agreement.json())?;
            Ok(match (stop.load(Ordering::Relaxed), agreement.holds()) {
                (true, _) => Ended::Interrupted,
                (false, true) => Ended::Done,
                (false, false) => Ended::CheckFailed,
            })
        }
        Command::Task { directory } => {
            let task = std::io::read_to_string(std::io::stdin())
                .map_err(Error::io("read", Path::new("standard input")))?;
            sweep::do_task(&task, registry, directory, stop)?;
            Ok(Ended::Done)
        }
        Command::Reproduce { targets, scale, out, force, threads, check, within, record, cluster, look } => {
            let options = figure::Options {
                registry: Arc::clone(registry),
                selectors: targets.clone(),
                within_s: *within,
                scale: match scale {
                    Scale::Quick => figure::Scale::Quick,
                    Scale::Full => figure::Scale::Full,
                },
                out: out.clone(),
                force: *force,
                threads: threads.unwrap_or_else(cores),
                check: *check,
                look: look.into(),
            };
            session.reproduce(&options, record.as_deref(), cluster.clone())
        }
    }
}

/// The command's options for printing.
#[derive(Clone, Copy)]
struct Output {
    format: Format,
    quiet: bool,
}

impl Output {
    fn print(self, text: impl FnOnce() -> String, json: impl FnOnce() -> Value) -> Result<(), Error> {
        match self.format {
            Format::Text => show::result(&text()),
            Format::Json => show::result(&format!("{:#}", json())),
        }
    }

    /// Calls `show`, which prints a note on stderr, if the output format is text.
    fn note(self, show: impl FnOnce()) {
        if self.format == Format::Text {
            show();
        }
    }
}

/// The context of one call of the command.
#[derive(Clone, Copy)]
struct Session<'a> {
    registry: &'a Arc<Registry>,
    output: Output,
    stop: &'a AtomicBool,
}

impl Session<'_> {
    /// Writes a report on runs.
    fn report(self, directories: &[PathBuf], detail: &[PathBuf], out: &Path) -> Result<Ended, Error> {
        let [directories, detail] =
            [directories, detail].map(|paths| paths.iter().map(PathBuf::as_path).collect::<Vec<_>>());
        let report = Report::read(&directories, &detail, self.registry)?;
        report.write(out)?;
        let (written, runs, detailed) = (out.display().to_string(), report.runs(), report.detailed());
        let shown = if detailed < runs { format!(", {detailed} of them in detail") } else { String::new() };
        self.output.print(
            || format!("{written}: a report on {runs} run{}{shown}", if runs == 1 { "" } else { "s" }),
            || json!({ "written": written, "runs": runs, "runs_in_detail": detailed }),
        )?;
        Ok(Ended::Done)
    }

    /// Runs random experiments.
    fn torture(self, which: &Torture) -> Result<Ended, Error> {
        let Torture { seed, count, minutes, ref out } = *which;
        let minutes = minutes.or_else(|| count.is_none().then_some(1.0));
        let time = minutes.map(|minutes| Duration::try_from_secs_f64(60.0 * minutes));
        let time = time.transpose().map_err(|_| Error::Usage {
            what: "`--minutes` must be a number of at least 0".to_owned(),
            hint: "give a number such as 10 or 0.5".to_owned(),
        })?;
        let options = torture::Options { seed, count, time, out: out.clone() };
        let show = |tally: &Tally, seed: u64| {
            if !self.output.quiet && tally.experiments.is_multiple_of(100) {
                show::line(&format!("{} experiments so far; the last seed is {seed}", tally.experiments));
            }
        };
        let tally = torture::torture(&options, self.registry, self.stop, &mut { show })?;
        self.output.print(|| tally.text(), || tally.json())?;
        Ok(match (tally.failures.is_empty(), self.stop.load(Ordering::Relaxed)) {
            (false, _) => Ended::CheckFailed,
            (true, true) => Ended::Interrupted,
            (true, false) => Ended::Done,
        })
    }

    /// Loads an experiment with overrides and a seed.
    fn document(self, file: &Path, set: &[String], seed: Option<u64>) -> Result<Document, Error> {
        let seed = seed.map(|seed| format!("engine.seed={seed}"));
        let overrides = set.iter().chain(&seed).map(String::as_str);
        Ok(Document::load(file)?.with_registry(self.registry).with_overrides(overrides)?)
    }

    /// Loads the experiment. The overrides from the command line apply first, then `own`, the overrides that the
    /// command itself sets.
    fn load(self, run: &Run, own: &[&str]) -> Result<Document, Error> {
        let engine = run.engine.as_ref().map(|engine| format!("engine.kind={engine}"));
        let pcap = run.pcap.as_deref().map(|links| format!("record.pcap={}", toml::Value::from(links)));
        let overrides = engine.iter().chain(&pcap).map(String::as_str).chain(own.iter().copied());
        Ok(self.document(&run.file, &run.set, run.seed)?.with_overrides(overrides)?.with_memory(run.memory))
    }

    fn show_namespaces(self, prepared: &Prepared) {
        for (host, address) in prepared.namespaces() {
            let line = format!(
                "host {host} has the address {address}; run a program there with: raddle live exec \
                                --host {host} -- COMMAND"
            );
            self.output.note(|| show::line(&line));
        }
    }

    fn run(self, run: &Run, command: &str, own: &[&str], share: Option<Share>) -> Result<Ended, Error> {
        let Self { output, stop, .. } = self;
        let document = self.load(run, own)?;
        document.refuse_sweep(&invocation(command, &run.file))?;
        let name = name(&run.file);
        if run.dry_run {
            return dry_run(&[(name, document)], output, run.deny_warnings);
        }
        let bars = Bars::new(std::slice::from_ref(&name), output.quiet);
        let threads = run.threads.unwrap_or_else(cores);
        let control = Control {
            stop,
            progress: &mut |progress| bars.update(0, progress),
            threads: raddle_lab::Threads::UpTo(threads),
        };
        let directory = directory(run);
        let renamed = Renamed::default();
        let told = |from: &Path, to: &Path| renamed.add(from, to);
        let warned = Warned::new(output, run.deny_warnings);
        let warned = |_: &str, warnings: &[Warning]| warned.hear(warnings);
        let out = Out { path: &directory, force: run.force, renamed: &told, warned: &warned };
        if let Some(search) = Search::read(&document)? {
            let found = search::run_into(&search, &document, out, control);
            bars.clear();
            renamed.tell();
            let found = found?;
            output.print(|| format!("{found}\nkept in      {}", directory.display()), || json!(found))?;
            return Ok(Ended::Done);
        }
        let prepared = document.prepare()?;
        let prepared = match share {
            None => prepared,
            Some(share) => prepared.shared(share)?,
        };
        self.show_namespaces(&prepared);
        let summary = run_into(prepared, out, &name, control);
        bars.clear();
        renamed.tell();
        let summary = summary?;
        output.print(|| format!("{summary}\nkept in      {}", directory.display()), || summary.json())?;
        Ok(match summary.failure() {
            _ if stop.load(Ordering::Relaxed) => Ended::Interrupted,
            Some(failure) => {
                output.note(|| show::error(failure));
                Ended::RunFailed
            }
            None => Ended::Done,
        })
    }

    fn init(self, template: Option<&str>, out: &Path) -> Result<Ended, Error> {
        let output = self.output;
        let Some(template) = template else {
            let row = |template: &Template| vec![template.name.to_owned(), template.summary.to_owned()];
            let rows: Vec<Vec<String>> = TEMPLATES.iter().map(row).collect();
            let hint = "run `raddle init NAME` to write the files of a template";
            let text = || format!("{}\n\n{hint}", raddle_lab::table(&rows).trim_end());
            let json = |template: &Template| json!({ "name": template.name, "summary": template.summary });
            output.print(text, || json!({ "templates": TEMPLATES.iter().map(json).collect::<Vec<_>>() }))?;
            return Ok(Ended::Done);
        };
        let paths = init(template, out)?;
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let text = || format!("wrote {}\nnext: raddle sweep {} --seeds 3", names.join(" and "), names[0]);
        output.print(text, || json!({ "written": names }))?;
        Ok(Ended::Done)
    }

    fn sweep(self, Sweep { run, seeds, shard, cluster, fail_fast, look }: &Sweep) -> Result<Ended, Error> {
        let Self { output, stop, .. } = self;
        let look = look.overrides();
        let document = self.load(run, &look.iter().map(String::as_str).collect::<Vec<_>>())?;
        let mut cells = sweep::replicated(&document, *seeds)?;
        if let Some(shard) = shard {
            cells = shard.of(cells);
        }
        if run.dry_run {
            figure::check_plots(&document)?;
            read_all(&cells)?;
            let documents: Vec<_> = cells.iter().map(|cell| (cell.name(), cell.document.clone())).collect();
            return dry_run(&documents, output, run.deny_warnings);
        }
        let names: Vec<String> = cells.iter().map(Cell::name).collect();
        let bars = Bars::new(&names, output.quiet);
        let threads = run.threads.unwrap_or_else(cores);
        let directory = directory(run);
        let renamed = Renamed::default();
        let told = |from: &Path, to: &Path| renamed.add(from, to);
        let warned = Warned::new(output, run.deny_warnings);
        let warned = |_: &str, warnings: &[Warning]| warned.hear(warnings);
        let out = Out { path: &directory, force: run.force, renamed: &told, warned: &warned };
        let progress = |i: usize, progress: &RunState| bars.update(i, progress);
        if Search::read(&document)?.is_some() {
            if cluster.is_some() {
                let what = "a sweep of an experiment with `[search]` cannot run on a cluster".to_owned();
                return Err(Error::Usage { what, hint: "leave out --cluster".to_owned() });
            }
            let found = search::sweep(&cells, out, threads, stop, &progress);
            bars.clear();
            renamed.tell();
            let found: Vec<_> = names.into_iter().zip(found?).collect();
            let json = || found.iter().map(|(name, found)| json!({ "run": name, "found": found })).collect();
            output.print(|| search::table(&found), json)?;
            return Ok(Ended::Done);
        }
        let cluster = cluster.clone().map(Cluster::new);
        if shard.is_none() {
            Results::check(out)?;
        }
        let ended = |i: usize, end: &CellEnd| bars.end_cell(i, end);
        let control = sweep::Control {
            threads,
            stop,
            fail_fast: *fail_fast,
            shard: *shard,
            elsewhere: cluster.as_ref().map(|cluster| cluster as &dyn Elsewhere),
            progress: &progress,
            ended: &ended,
        };
        let ends = sweep::sweep(&cells, out, &control);
        bars.clear();
        renamed.tell();
        let ends = ends?;
        let refused = Refused::of(&cells, &ends);
        let is_interrupted = stop.load(Ordering::Relaxed);
        if *fail_fast && !refused.is_empty() {
            output.print(|| refused.to_string(), || json!({ "refused": refused.json() }))?;
            return Ok(Ended::CheckFailed);
        }
        let is_left = |end: &&Option<CellEnd>| end.as_ref().is_none_or(CellEnd::is_stopped);
        let left = ends.iter().filter(is_left).count();
        let done = cells.len() - left - refused.iter().count();
        let mut has_failed = false;
        if shard.is_none()
            && (left == 0 || is_interrupted)
            && let Some(results) = Results::write(&document, &cells, &ends, out)?
        {
            renamed.tell();
            output.print(|| results.to_string(), || results.json())?;
            has_failed = !results.failures().is_empty();
        }
        if left > 0 {
            show::warn(&format!(
                "{done} of {} cells have run; repeat the command to continue in {}",
                cells.len(),
                directory.display()
            ));
            return Ok(if is_interrupted { Ended::Interrupted } else { Ended::RunFailed });
        }
        if let Some(shard) = shard {
            let mut text = format!("shard {shard} is done: {done} cells in {}", directory.display());
            if !refused.is_empty() {
                text += &format!("\n{refused}");
            }
            let json = || json!({ "shard": shard.to_string(), "cells": names, "refused": refused.json() });
            output.print(|| text, json)?;
        }
        Ok(if has_failed {
            Ended::RunFailed
        } else if refused.is_empty() {
            Ended::Done
        } else {
            Ended::CheckFailed
        })
    }

    fn topo(self, command: &Topo) -> Result<Ended, Error> {
        let output = self.output;
        let (Topo::Show { file } | Topo::Check { file } | Topo::Convert { file, .. }) = command;
        let topology = self.document(file, &[], None)?.topology()?;
        let facts = topo::Facts::of(&topology);
        match command {
            Topo::Convert { to, .. } => {
                topo::convert(&topology, to)?;
                let to = to.display().to_string();
                output.print(
                    || format!("{to}: {facts}"),
                    || json!({ "written": to, "topology": facts.json() }),
                )?;
            }
            Topo::Show { .. } => output.print(|| facts.to_string(), || facts.json())?,
            Topo::Check { .. } => {
                let text = if facts.connected() {
                    "the topology is connected"
                } else {
                    "the topology is not connected"
                };
                output.print(|| text.to_owned(), || json!({ "connected": facts.connected() }))?;
                if !facts.connected() {
                    return Ok(Ended::CheckFailed);
                }
            }
        }
        Ok(Ended::Done)
    }
}

/// Prints one part of the list of names that experiments and commands accept. If `what` is `None`, prints schemes,
/// topologies and workloads.
fn list(what: Option<Listed>, registry: &Registry, output: Output) -> Result<Ended, Error> {
    let parts = match what {
        None => {
            let mut parts = catalogue::schemes(registry);
            parts.extend([catalogue::topologies(registry), catalogue::workloads()]);
            parts
        }
        Some(Listed::Schemes) => catalogue::schemes(registry),
        Some(Listed::Topologies) => vec![catalogue::topologies(registry)],
        Some(Listed::Workloads) => vec![catalogue::workloads()],
        Some(Listed::Keys) => vec![catalogue::keys()],
        Some(Listed::Figures) => {
            let figures = catalogue::figures()?;
            output.print(|| catalogue::figures_text(&figures), || catalogue::figures_json(&figures))?;
            return Ok(Ended::Done);
        }
        Some(Listed::Statements) => {
            let rows = statements::listed()?;
            output.print(|| show::statements(&rows), || json!({ "statements": rows }))?;
            return Ok(Ended::Done);
        }
    };
    output.print(|| catalogue::text(&parts), || catalogue::json(&parts))?;
    Ok(Ended::Done)
}

/// The command and the experiment's file, as error messages print them.
fn invocation(command: &str, file: &Path) -> [String; 2] {
    [command.to_owned(), file.display().to_string()]
}

/// The experiment's name: its file name without the extension.
fn name(file: &Path) -> String {
    file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn directory(run: &Run) -> PathBuf {
    run.out.clone().unwrap_or_else(|| Path::new("out").join(name(&run.file)))
}

/// Prints the experiments with their defaults. If some of them cannot run, their errors are printed instead. If none of
/// them can run, the first error is returned.
fn dry_run(documents: &[(String, Document)], output: Output, deny: bool) -> Result<Ended, Error> {
    let mut resolved = Vec::new();
    let mut refused: Vec<(&String, Problem)> = Vec::new();
    let warned = Warned::new(output, deny);
    for (name, document) in documents {
        match document.prepare() {
            Ok(prepared) => {
                warned.hear(&prepared.warnings)?;
                resolved.push((name, prepared.experiment.resolved, prepared.estimate));
            }
            Err(problem) => refused.push((name, problem)),
        }
    }
    if resolved.is_empty()
        && let Some((_, problem)) = refused.first()
    {
        return Err(problem.clone().into());
    }
    let text = || {
        let titled = |(name, table, memory): &(&String, toml::Table, Estimate)| match resolved.len() {
            1 => format!("# memory: {memory}\n{table}"),
            _ => format!("# {name}\n# memory: {memory}\n{table}"),
        };
        let failed = |(name, problem): &(&String, Problem)| {
            format!("# {name}\n# cannot run: {}\n", problem.in_one_line())
        };
        resolved.iter().map(titled).chain(refused.iter().map(failed)).collect::<Vec<_>>().join("\n")
    };
    output.print(text, || {
        let entry = |(name, table, memory): &(&String, toml::Table, Estimate)| {
            json!({ "run": name, "experiment": table, "memory": memory.json() })
        };
        let failed = |(name, problem): &(&String, Problem)| {
            json!({ "run": name, "error": Error::from(problem.clone()).json()["error"] })
        };
        resolved.iter().map(entry).chain(refused.iter().map(failed)).collect()
    })?;
    Ok(if refused.is_empty() { Ended::Done } else { Ended::CheckFailed })
}

/// The directories that were renamed because they held files of the user. A message reports them once the progress bars
/// are gone.
#[derive(Default)]
struct Renamed(Mutex<Vec<String>>);

impl Renamed {
    fn add(&self, from: &Path, to: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(told_renamed(from, to));
    }

    fn tell(&self) {
        for told in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            show::warn(&told);
        }
    }
}

/// Shows each warning once if the output format is text, even if several runs cause it. If warnings are denied, a
/// warning is an error.
struct Warned {
    shown: Mutex<HashSet<String>>,
    output: Output,
    deny: bool,
}

impl Warned {
    fn new(output: Output, deny: bool) -> Self {
        Self { shown: Mutex::default(), output, deny }
    }

    fn hear(&self, warnings: &[Warning]) -> Result<(), Error> {
        if let Some(error) = lint::denied(warnings).filter(|_| self.deny) {
            return Err(error);
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in warnings.iter().map(ToString::to_string) {
            if shown.insert(warning.clone()) {
                self.output.note(|| show::warn(&warning));
            }
        }
        Ok(())
    }
}

/// Compares runs and prints the comparison. If `plot` is given, also draws the comparison into this file.
fn compare(
    directories: &[PathBuf],
    plot: Option<&Path>,
    look: figure::Look,
    output: Output,
) -> Result<Comparison, Error> {
    let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
    let comparison = Comparison::read(&directories)?;
    if let Some(file) = plot {
        comparison.plot(file, look)?;
    }
    output.print(|| comparison.to_string(), || comparison.json())?;
    Ok(comparison)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
