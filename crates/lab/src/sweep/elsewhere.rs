//! Runs that other processes do, usually on the machines of a cluster.
//!
//! A run becomes a task: a text with the resolved experiment. [`do_task`] does it in any process of the same program, and
//! the files of the run's directory come back. They are put in place like the results of a run in this process.

use crate::experiment::{Cell, Document, EngineKind};
use crate::run::Control;
use crate::run::directory::{Contents, EXPERIMENT, Origin, Out, Part};
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
    /// Runs the tasks, in any order. Calls `done` with the index of each task that has ended, and the files of its run.
    /// Begins no further task, and returns early, once `is_over` is true.
    ///
    /// # Errors
    /// If a task fails, or the other processes cannot be reached. The remaining tasks are run first where that is
    /// possible. An error of `done` is returned at once.
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
    /// The folder to which paths in the experiment are relative.
    folder: PathBuf,
}

/// Does a task in this process, on one thread, into a new directory.
///
/// # Errors
/// If the text is not a task, or in the cases of [`run_into`].
pub fn do_task(
    task: &str,
    registry: &Arc<Registry>,
    directory: &Path,
    stop: &AtomicBool,
) -> Result<(), Error> {
    let task: Task = serde_json::from_str(task).map_err(|why| Error::Usage {
        what: format!("the text is not a task: {why}"),
        hint: "tasks are made by `raddle sweep --cluster`".to_owned(),
    })?;
    let document = Document::parse(EXPERIMENT, task.experiment, task.folder)?.with_registry(registry);
    let control = Control { stop, progress: &mut |_| (), threads: Threads::UpTo(1) };
    run_into(document.prepare()?, directory, &task.title, control).map(drop)
}

/// A run that is to be done elsewhere, and the place for its results.
pub(crate) struct Job<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) origin: &'a Origin,
    pub(crate) out: Out<'a>,
}

impl Job<'_> {
    fn task(&self) -> Result<String, Error> {
        let document = &self.cell.document;
        let folder = std::env::current_dir().map_err(Error::io("find", Path::new(".")))?;
        let task = Task {
            title: self.cell.name(),
            experiment: document.experiment()?.resolved.to_string(),
            folder: folder.join(&document.folder),
        };
        serde_json::to_string(&task).map_err(|why| Error::Run(why.to_string()))
    }

    /// Puts the files of the run in place.
    fn accept(&self, files: Files) -> Result<(), Error> {
        let part = Part::create(self.out, self.origin.clone())?;
        for (name, content) in files {
            if Path::new(&name).file_name() != Some(name.as_ref()) {
                return Err(Error::Run(format!("`{name}` is not the name of a file of a run")));
            }
            write_file(&part.file(&name), &content)?;
        }
        if !Contents::read(part.path())?.is_finished(self.origin) {
            return Err(Error::Usage {
                what: format!(
                    "the results of `{}` are not those of this program and these input files",
                    self.cell.name()
                ),
                hint: "install the same build of Raddle on all machines, and give them the same files"
                    .to_owned(),
            });
        }
        part.finish_copy()
    }
}

/// True if another process can run the cell. A live run stays on the machine whose clock and cores it needs.
///
/// # Errors
/// If the experiment is wrong.
pub(crate) fn can_leave(cell: &Cell) -> Result<bool, Error> {
    Ok(cell.document.experiment()?.engine.kind != EngineKind::Live)
}

/// Does the jobs elsewhere, and puts their results in place. Calls `ended` with the index of each job that has ended.
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
    let mut done = |job: usize, files| {
        jobs[job].accept(files)?;
        ended(job)
    };
    elsewhere.run(&tasks, is_over, &mut done)
}
