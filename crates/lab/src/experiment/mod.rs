//! The experiment: one TOML file. The reader keeps the position of every value in the text, and checks the whole file
//! before anything runs.
//!
//! [`Document`] is the text as a tree, to which overrides and sweeps can be applied. [`Experiment`] is the typed form
//! that runs. [`Problem`] is an error in the text, with its position.

mod aliases;
mod engine;
mod faults;
mod file;
mod frequency;
mod hosts;
pub mod keys;
mod meanings;
mod problem;
pub mod quantity;
mod scheme;
mod section;
mod sweep;
mod topology;
mod value;
mod workload;

pub(crate) use aliases::Note;
pub use engine::{Engine, EngineKind, Pcap, QueueLengths, Record};
pub use faults::{Broken, Errors, Failure, Faults, RandomLinks, Tier};
pub(crate) use file::Files;
pub use frequency::Frequency;
pub use hosts::Namespaces;
pub use problem::{Cause, Problem};
pub(crate) use problem::{meant, nearest};
pub use scheme::{QueueLimits, Scheme};
pub use section::{Fraction, Read, Section};
pub(crate) use section::{list, out_of_range};
pub use sweep::{Cell, read_all};
pub(crate) use topology::TOPOLOGY;
pub use topology::{Fabric, TopologySpec, kinds as topology_kinds};
pub use value::{At, Entry, Item, Source, Table, Value};
pub(crate) use workload::workload_names;
pub(crate) use workload::{PAIRS_KEYS, SCALE, SKELETON_KEYS, WORKLOAD, read_pairs, read_skeleton};
pub use workload::{WorkloadSpec, kinds as workload_kinds};

use crate::{Error, figure, input};
use keys::{Declared, Inner, Key, Tables, keys};
use raddle_core::Bytes;
use raddle_schemes::registry::Registry;
use raddle_topology::Topology;
use std::path::{Path, PathBuf};
use std::sync::Arc;

keys! {
    /// The tables of an experiment's file. A figure's file can have further tables: `[figure]`, `[[plot]]`,
    /// `[[claim]]`, `[scale]` and `[compute]`.
    pub(crate) ROOT = "" {
        /// The folder to which names of files in the experiment are relative. By default, the folder of the
        /// experiment's file. A relative `folder` is itself relative to that default folder.
        FOLDER: String = Key::new("folder").example("\"/home/me/experiments\"");
        /// The fabric.
        TOPOLOGIES: Inner = Key::new("topology").table(&topology::TOPOLOGY).example("{ kind = \"torus\", … }");
        /// The flows.
        WORKLOADS: Inner = Key::new("workload").table(&workload::WORKLOAD).example("{ flows = 1000, … }");
        /// The transport, the routing and the other parts that carry the flows.
        SCHEMES: Inner = Key::new("scheme").table(&scheme::SCHEME).example("{ transport = \"r2c2\", … }");
        /// The engine and its settings.
        ENGINES: Inner = Key::new("engine").table(&engine::ENGINE);
        /// The records that a run keeps.
        RECORDS: Inner = Key::new("record").table(&engine::RECORD);
        /// Failures at stated times.
        FAILURES: Tables = Key::new("failure").table(&faults::FAILURE);
        /// Failures at random times.
        RANDOM_FAULTS: Inner = Key::new("faults").table(&faults::FAULTS);
        /// Links that lose and corrupt packets.
        LINK_ERRORS: Inner = Key::new("errors").table(&faults::ERRORS);
        /// The dimensions of a grid of experiments.
        SWEEPS: Tables = Key::new("sweep").table(&sweep::SWEEP);
        /// Largest allowed distances between the results of the packet engine and the flow engine (`raddle agree`).
        AGREES: Inner = Key::new("agree").table(&crate::analysis::agree::AGREE);
        /// A search for the greatest value of a key at which a measure of the flows is still large enough.
        SEARCHES: Inner = Key::new("search").table(&crate::sweep::search::SEARCH);
        /// Title and settings of a figure.
        FIGURES: Inner = Key::new("figure").table(&figure::FIGURE);
        /// The plots of a figure.
        PLOTS: Tables = Key::new("plot").table(&figure::PLOT);
        /// The claims of a figure.
        CLAIMS: Tables = Key::new("claim").table(&figure::CLAIM);
        /// Values of keys at quick and at full scale.
        SCALES: Inner = Key::new("scale").table(&figure::SCALE);
        /// A computation whose results a figure shows in place of the results of runs.
        COMPUTES: Inner = Key::new("compute").table(&figure::COMPUTE);
    }
}

/// Tables that the file of a figure without an experiment may have, besides `[compute]`.
pub(crate) const FIGURE_TABLES: [&dyn Declared; 4] = [&FIGURES, &PLOTS, &CLAIMS, &SCALES];

/// Keys of the file that other readers read. [`Experiment`] skips them.
const OTHERS_KEYS: [&dyn Declared; 9] =
    [&FOLDER, &SWEEPS, &SEARCHES, &FIGURES, &PLOTS, &CLAIMS, &SCALES, &COMPUTES, &AGREES];

/// The text of an experiment as a tree of values. Each value keeps its position in the text.
#[derive(Debug, Clone)]
pub struct Document {
    /// The registry whose schemes the experiment can name.
    pub registry: Arc<Registry>,
    /// The tree.
    pub root: Table,
    /// The folder of the text. Names of files are relative to it, unless the text has the key `folder`.
    pub folder: PathBuf,
    /// The largest memory that a run may need; `None` for the limit of the system.
    pub memory: Option<Bytes>,
}

impl Document {
    /// Reads an experiment's file.
    ///
    /// # Errors
    /// If the file cannot be read or is not TOML.
    pub fn load(path: &Path) -> Result<Self, Problem> {
        let text = input::read_to_string(path).map_err(|error| Problem::unreadable(path, &error))?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        Self::parse(&path.display().to_string(), text, folder)
    }

    /// Reads an experiment's text. Messages call the text `name`.
    ///
    /// # Errors
    /// If the text is not TOML.
    pub fn parse(name: &str, text: String, folder: PathBuf) -> Result<Self, Problem> {
        let root = Table::parse(Source { name: name.to_owned(), text })?;
        Ok(Self { registry: Registry::builtin().into(), root, folder, memory: None })
    }

    /// The same document, with the schemes of `registry` in place of the built-in schemes.
    #[must_use]
    pub fn with_registry(mut self, registry: &Arc<Registry>) -> Self {
        self.registry = Arc::clone(registry);
        self
    }

    /// The same document with a memory limit. A run that is expected to need more than `memory` is refused. `None`
    /// stands for the limit of the system.
    #[must_use]
    pub fn with_memory(self, memory: Option<Bytes>) -> Self {
        Self { memory, ..self }
    }

    /// Applies overrides of the form `key=value`, in order.
    ///
    /// # Errors
    /// If an override is malformed, or its key cannot be set.
    pub fn with_overrides<'a>(
        mut self,
        overrides: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Problem> {
        for assignment in overrides {
            self.root.set_from(assignment)?;
        }
        Ok(self)
    }

    /// The same experiment with declared names in place of aliases, and the aliases that were replaced.
    pub(crate) fn without_aliases(&self) -> (Self, Vec<Note>) {
        let mut document = self.clone();
        let notes = aliases::replace(&mut document.root, &self.registry);
        (document, notes)
    }

    /// Builds only the topology. Besides `[topology]`, this reads only `[engine]`, for the seed, and the key `folder`.
    ///
    /// # Errors
    /// If the table `[topology]` is missing, or if `[topology]`, `[engine]` or `folder` is wrong.
    pub fn topology(&self) -> Result<Arc<Topology>, Problem> {
        let (document, _) = self.without_aliases();
        let mut root = Section::new(&document.root, &ROOT);
        let section = needed(&mut root, &TOPOLOGIES, "kind = \"torus\"")?;
        let (topology, _) = TopologySpec::read(section, &document.files()?, &self.registry)?;
        let (engine, _) = read_engine(&mut root)?;
        topology.build(engine.seed)
    }

    /// A reader of the files that the text names.
    ///
    /// # Errors
    /// If the key `folder` is wrong.
    pub(crate) fn files(&self) -> Result<Files, Problem> {
        Ok(Files::new(match Section::new(&self.root, &ROOT).get(&FOLDER)? {
            Some(folder) => self.folder.join(folder),
            None => self.folder.clone(),
        }))
    }

    /// Reads only `[engine]`, for the seed.
    ///
    /// # Errors
    /// If `[engine]` is wrong.
    pub(crate) fn seed(&self) -> Result<u64, Problem> {
        let (document, _) = self.without_aliases();
        Ok(read_engine(&mut Section::new(&document.root, &ROOT))?.0.seed)
    }

    /// Reads only `[record]`.
    ///
    /// # Errors
    /// If `[record]` is wrong.
    pub(crate) fn record(&self) -> Result<Record, Problem> {
        let (document, _) = self.without_aliases();
        Ok(read_record(&mut Section::new(&document.root, &ROOT))?.0)
    }

    /// Reads and checks the whole experiment.
    ///
    /// # Errors
    /// If the experiment is wrong. Only the first problem that is found is returned.
    pub fn experiment(&self) -> Result<Experiment, Problem> {
        Experiment::read(&self.without_aliases().0)
    }
}

/// A fabric, the flows that cross it, the scheme that carries them, and the settings of the run.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The fabric.
    pub topology: TopologySpec,
    /// The flows.
    pub workload: WorkloadSpec,
    /// The scheme.
    pub scheme: Scheme,
    /// The settings of the run.
    pub engine: Engine,
    /// Failures at stated times.
    pub failures: Vec<Failure>,
    /// Failures at random times.
    pub faults: Option<Faults>,
    /// Random loss and corruption of packets on links.
    pub errors: Option<Errors>,
    /// The records that the run keeps.
    pub record: Record,
    /// The experiment as TOML, defaults included. Tables that do not describe a single run, such as `[[sweep]]`, are
    /// left out.
    pub resolved: toml::Table,
    /// The folder to which names of files are relative.
    pub folder: PathBuf,
    /// The SHA-256 digests of the files that the experiment names, in the order in which they were read.
    pub files: Vec<String>,
}

impl Experiment {
    /// Reads a document whose aliases have been replaced by declared names.
    pub(crate) fn read(document: &Document) -> Result<Self, Problem> {
        let mut root = Section::new(&document.root, &ROOT);
        for key in OTHERS_KEYS {
            root.item(key);
        }
        let files = document.files()?;
        let section = needed(&mut root, &TOPOLOGIES, "kind = \"torus\"")?;
        let (topology, resolved) = TopologySpec::read(section, &files, &document.registry)?;
        root.resolve(&TOPOLOGIES, resolved);
        let workload = match root.section(&WORKLOADS)? {
            Some(section) => {
                let (workload, resolved) = WorkloadSpec::read(section, &files)?;
                root.resolve(&WORKLOADS, resolved);
                workload
            }
            None if has_programs(&document.root) => WorkloadSpec::of_programs(root.at()),
            None => return Err(missing(&root, &WORKLOADS, "flows = 1000")),
        };
        let section = needed(&mut root, &SCHEMES, "transport = \"r2c2\"")?;
        let (scheme, resolved) = Scheme::read(section, &document.registry)?;
        root.resolve(&SCHEMES, resolved);
        let (engine, resolved) = read_engine(&mut root)?;
        root.resolve(&ENGINES, resolved);
        let failures = Failure::read_all(&mut root)?;
        let faults = root.section(&RANDOM_FAULTS)?.map(Faults::read).transpose()?;
        let faults = faults.map(|(faults, resolved)| {
            root.resolve(&RANDOM_FAULTS, resolved);
            faults
        });
        let errors = root.section(&LINK_ERRORS)?.map(Errors::read).transpose()?;
        let errors = errors.map(|(errors, resolved)| {
            root.resolve(&LINK_ERRORS, resolved);
            errors
        });
        let (record, resolved) = read_record(&mut root)?;
        root.resolve(&RECORDS, resolved);
        let resolved = root.finish()?;
        let (folder, files) = files.into_parts();
        Ok(Self {
            topology,
            workload,
            scheme,
            engine,
            failures,
            faults,
            errors,
            record,
            resolved,
            folder,
            files,
        })
    }

    /// `resolved` as the text of a file that can be run in any folder. If the experiment names files, the text has the
    /// key `folder`.
    ///
    /// # Errors
    /// If the folder of the files cannot be found.
    pub(crate) fn movable(&self, mut resolved: toml::Table) -> Result<String, Error> {
        if !self.files.is_empty() {
            // The canonical path is the same for every run with this folder. The texts of runs with different seeds
            // then differ only in the seed, so the runs count as replicas.
            let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
            let folder = folder.canonicalize().map_err(Error::io("find", folder))?.display().to_string();
            resolved.insert(FOLDER.name().to_owned(), folder.into());
        }
        Ok(resolved.to_string())
    }
}

/// The position of the value of a dotted key in the text. If the key does not exist, the position of the innermost
/// value that exists on the key's path.
pub(crate) fn place(root: &Table, key: &str) -> At {
    let (mut table, mut at) = (root, &root.at);
    for part in key.split('.') {
        let Some(item) = table.get(part) else { break };
        at = &item.at;
        match &item.value {
            Value::Table(inner) => table = inner,
            _ => break,
        }
    }
    at.clone()
}

/// The table at a path of table names; `None` if there is no such table.
pub(crate) fn table_in<'a>(root: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(root, |table, name| match &table.get(name)?.value {
        Value::Table(table) => Some(table),
        _ => None,
    })
}

/// Reads `[engine]`, which may be left out.
fn read_engine(root: &mut Section<'_>) -> Result<(Engine, toml::Table), Problem> {
    let absent = engine::absent(root.at());
    let section = root.section(&ENGINES)?;
    Engine::read(section.unwrap_or_else(|| Section::new(&absent, &engine::ENGINE)))
}

/// Reads `[record]`, which may be left out.
fn read_record(root: &mut Section<'_>) -> Result<(Record, toml::Table), Problem> {
    let absent = engine::absent(root.at());
    let section = root.section(&RECORDS)?;
    Record::read(section.unwrap_or_else(|| Section::new(&absent, &engine::RECORD)))
}

/// The table at `key`, which every experiment must have. `begins` is an example of the table's first line, for the
/// message that the table is missing.
fn needed<'a>(
    root: &mut Section<'a>,
    key: &Key<Inner>,
    begins: &'static str,
) -> Result<Section<'a>, Problem> {
    root.section(key)?.ok_or_else(|| missing(root, key, begins))
}

fn missing(root: &Section<'_>, key: &Key<Inner>, begins: &'static str) -> Problem {
    Problem::at(root.at(), Cause::MissingTable { name: key.name(), begins })
}

/// True if `[engine]` has the key `hosts`. The workload may then be left out, because programs at the hosts can send
/// traffic.
fn has_programs(root: &Table) -> bool {
    let engine = root.get("engine").map(|item| &item.value);
    matches!(engine, Some(Value::Table(engine)) if engine.get("hosts").is_some())
}
