//! Lets other processes do runs, usually on the machines of a cluster.
//!
//! A run becomes a task: a text with the resolved experiment. [`do_task`] does the task in any process of the same
//! program, and the files of the run's directory come back. The files are put in place like the results of a run in
//! this process.

use crate::experiment::{Cell, Document, EngineKind};
use crate::run::Control;
use crate::run::directory::{Contents, EXPERIMENT, Origin, Out, Part};
use crate::run::graceful::Graceful;
use crate::{Error, Threads, run_into};
use raddle_records::write_file;
use raddle_schemes::registry::Registry;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The files of a run's directory: their names and contents.
pub type Files = Vec<(String, Vec<u8>)>;

/// Runs tasks in other processes.
pub trait Elsewhere: Sync {
    /// Runs the tasks, in any order. For each task that has ended, calls `done` with the index of the task and the
    /// files of its run. Begins no further task, and returns early, once `is_over` returns true.
    ///
    /// # Errors
    /// If a task fails, or the other processes cannot be reached. Before such an error is returned, the remaining tasks
    /// are run if that is possible. An error of `done` is returned at once.
    fn run(
        &self,
        tasks: &[String],
        is_over: &(dyn Fn() -> bool + Sync),
        done: &mut (dyn FnMut(usize, Files) -> Result<(), Error> + Send),
    ) -> Result<(), Error>;
}

/// A run that another process does.
#[derive(Serialize, Deserialize)]
struct Task {
    title: String,
    /// The resolved experiment, as TOML.
    experiment: String,
}

/// Does a task in this process, on one thread. Writes the results into a new directory.
///
/// # Errors
/// If the text is not a task, if its experiment is wrong, or in the cases of [`run_into`].
pub fn do_task(
    task: &str,
    registry: &Arc<Registry>,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let task: Task = serde_json::from_str(task).map_err(|why| Error::Usage {
        what: format!("the text is not a task of a sweep: {why}"),
        hint: "give a task that `raddle sweep --cluster` made".to_owned(),
    })?;
    let document = Document::parse(EXPERIMENT, task.experiment, PathBuf::new())?.with_registry(registry);
    let control = Control { stop, progress: &mut |_| (), threads: Threads::UpTo(1) };
    run_into(document.prepare()?, directory, &task.title, control).map(drop)
}

/// A run that another process is to do, and the place for its results.
pub(crate) struct Job<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) origin: &'a Origin,
    pub(crate) out: Out<'a>,
}

impl Job<'_> {
    fn task(&self) -> Result<String, Error> {
        let experiment = self.cell.document.experiment()?;
        let text = experiment.movable(experiment.resolved.clone())?;
        let task = Task { title: self.cell.name(), experiment: text };
        serde_json::to_string(&task).map_err(|why| Error::Run(why.to_string()))
    }

    /// Checks the files of the run, and puts them at the place for its results.
    fn accept(&self, files: Files) -> Result<(), Error> {
        let part = Part::create(self.out, self.origin.clone())?;
        for (name, content) in files {
            if Path::new(&name).file_name() != Some(name.as_ref()) {
                let what = format!("the name of a result file must have no folders (got `{name}`)");
                return Err(Error::Run(what));
            }
            write_file(&part.file(&name), &content)?;
        }
        if !Contents::read(part.path())?.is_finished(self.origin) {
            return Err(Error::Usage {
                what: format!(
                    "the results of `{}` are damaged, or come from another build of Raddle or from other input files",
                    self.cell.name()
                ),
                hint: "install the same build of Raddle on all machines, and give them the same files"
                    .to_owned(),
            });
        }
        part.finish_copy()
    }
}

/// True if another process can run the cell. A live run stays in this process, because it needs this machine's clock
/// and cores.
///
/// # Errors
/// If the experiment is wrong.
pub(crate) fn can_leave(cell: &Cell) -> Result<bool, Error> {
    Ok(cell.document.experiment()?.engine.kind != EngineKind::Live)
}

/// Lets other processes do the jobs, and puts the results in place. Calls `ended` with the index of each job that has
/// ended.
///
/// # Errors
/// If a run fails, its results cannot be put in place, or the other processes cannot be reached.
pub(crate) fn spread(
    jobs: &[Job<'_>],
    elsewhere: &dyn Elsewhere,
    is_over: &(dyn Fn() -> bool + Sync),
    ended: &mut (dyn FnMut(usize) -> Result<(), Error> + Send),
) -> Result<(), Error> {
    let tasks = jobs.iter().map(Job::task).collect::<Result<Vec<_>, _>>()?;
    if tasks.is_empty() {
        return Ok(());
    }
    let _graceful = Graceful::begin();
    let mut done = |job: usize, files| {
        jobs[job].accept(files)?;
        ended(job)
    };
    elsewhere.run(&tasks, is_over, &mut done)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sweep::{self, CellEnd, CellRun, sweep};
    use std::sync::Mutex;

    /// Does tasks in this process, in temporary directories and in reverse order.
    #[derive(Default)]
    pub(crate) struct OtherDirectories {
        /// The number of tasks that were given to this value, whether they were done or not.
        pub(crate) tasks: Mutex<usize>,
        /// Name of a file whose content is lost on the way.
        loses: Option<&'static str>,
    }

    impl Elsewhere for OtherDirectories {
        fn run(
            &self,
            tasks: &[String],
            is_over: &(dyn Fn() -> bool + Sync),
            done: &mut (dyn FnMut(usize, Files) -> Result<(), Error> + Send),
        ) -> Result<(), Error> {
            *self.tasks.lock().expect("no panic") += tasks.len();
            for (i, task) in tasks.iter().enumerate().rev().take_while(|_| !is_over()) {
                let folder = tempfile::tempdir().expect("a folder");
                let run = folder.path().join("run");
                do_task(task, &Registry::builtin().into(), &run, &AtomicBool::new(false))?;
                let entries = std::fs::read_dir(&run).expect("a directory");
                let read = |path: PathBuf| {
                    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                    let is_lost = self.loses == Some(&*name);
                    (name, if is_lost { Vec::new() } else { std::fs::read(path).expect("a file") })
                };
                done(i, entries.map(|entry| read(entry.expect("an entry").path())).collect())?;
            }
            Ok(())
        }
    }

    const GRID: &str = r#"
[topology]
kind = "torus"
dims = [4, 4]
link_rate = "10 Gbps"
link_delay = "100 ns"
[workload]
flows = 20
arrivals = { kind = "poisson", mean_gap = "1 us" }
sizes = { kind = "fixed", size = "9 KB" }
pairs = "uniform"
[scheme]
transport = "r2c2"
[[sweep]]
name = "delay"
key = "topology.link_delay"
values = ["100 ns", "2 us"]
"#;

    /// Runs the sweep `GRID` into `out`. Returns the runs, and the number of cells that ended.
    fn swept(
        out: &Path,
        elsewhere: Option<&dyn Elsewhere>,
        stop: bool,
    ) -> Result<(Vec<Option<CellRun>>, usize), Error> {
        let document = Document::parse("grid.toml", GRID.to_owned(), PathBuf::new())?;
        let count = Mutex::new(0);
        let control = sweep::Control {
            threads: 1,
            stop: &AtomicBool::new(stop),
            fail_fast: false,
            shard: None,
            elsewhere,
            progress: &|_, _| (),
            ended: &|_, _| *count.lock().expect("no panic") += 1,
        };
        let ran = |end| match end {
            CellEnd::Ran(run) => *run,
            CellEnd::Refused(problem) => panic!("{problem}"),
        };
        let ends = sweep(&document.cells()?, out, &control)?;
        let runs = ends.into_iter().map(|end| end.map(ran)).collect();
        let count = *count.lock().expect("no panic");
        Ok((runs, count))
    }

    #[test]
    fn runs_of_other_processes_are_like_those_of_this_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let [there, here] = ["there", "here"].map(|name| folder.path().join(name));
        let elsewhere = OtherDirectories::default();
        let (runs, ended) = swept(&there, Some(&elsewhere), false).expect("runs");
        assert_eq!((runs.len(), ended, *elsewhere.tasks.lock().expect("no panic")), (2, 2, 2));
        assert!(runs.iter().flatten().all(|run| run.summary.is_none() && !run.was_there));
        swept(&here, None, false).expect("runs");
        for run in ["100-ns", "2-us"] {
            for file in ["flows.parquet", EXPERIMENT] {
                let [there, here] =
                    [&there, &here].map(|out| std::fs::read(out.join(run).join(file)).expect("a file"));
                assert!(there == here, "{run}/{file}");
            }
        }
        // A second sweep finds the results of the first.
        let (runs, _) = swept(&there, Some(&elsewhere), false).expect("runs");
        assert!(runs.iter().flatten().all(|run| run.was_there));
        assert_eq!(*elsewhere.tasks.lock().expect("no panic"), 2);
    }

    #[test]
    fn another_process_finds_the_files_that_the_experiment_names() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("sizes.txt"), "1000 0\n9000 100\n").expect("a file");
        let text = GRID.replace("kind = \"fixed\", size = \"9 KB\"", "kind = \"cdf\", file = \"sizes.txt\"");
        let document = Document::parse("grid.toml", text, folder.path().to_owned()).expect("TOML");
        let cells = document.cells().expect("cells");
        let (origin, run) =
            (cells[0].document.prepare().expect("an experiment").origin(), folder.path().join("run"));
        let origin = origin.expect("an origin");
        let task = Job { cell: &cells[0], origin: &origin, out: Out::from(&run) }.task().expect("a task");
        do_task(&task, &Registry::builtin().into(), &run, &AtomicBool::new(false)).expect("a run");
        assert!(Contents::read(&run).expect("a directory").is_finished(&origin));
    }

    #[test]
    fn damaged_results_are_refused_and_leave_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let elsewhere = OtherDirectories { loses: Some("flows.parquet"), ..OtherDirectories::default() };
        let error = swept(folder.path(), Some(&elsewhere), false).expect_err("refused");
        assert_eq!(
            error.to_string(),
            "the results of `2 us` are damaged, or come from another build of Raddle or from other input files"
        );
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn a_sweep_that_is_stopped_begins_no_task() {
        let folder = tempfile::tempdir().expect("a folder");
        let (runs, ended) = swept(folder.path(), Some(&OtherDirectories::default()), true).expect("no runs");
        assert!(runs.iter().all(Option::is_none) && ended == 0);
    }
}
