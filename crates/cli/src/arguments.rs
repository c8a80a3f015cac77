//! The command-line arguments.

use clap::{Args, Parser, Subcommand, ValueEnum};
use raddle_core::Bytes;
use raddle_lab::Error;
use raddle_lab::sweep::Shard;
use raddle_live::rack::Meeting;
use std::ffi::OsString;
use std::net::ToSocketAddrs as _;
use std::ops::Range;
use std::path::PathBuf;

/// Design, compare and run data-center and rack fabrics.
#[derive(Debug, Parser)]
#[command(name = "raddle", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 a claim or check failed, 2 bad input, 3 a run failed, 130 interrupted."
)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// How results are printed on stdout.
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// No progress on stderr.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// Returns true if the arguments ask for JSON, even where they cannot be parsed as a whole.
pub(crate) fn ask_for_json(arguments: impl IntoIterator<Item = OsString>) -> bool {
    let options: Vec<OsString> = arguments.into_iter().take_while(|argument| argument != "--").collect();
    options.iter().any(|argument| argument == "--format=json")
        || options.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json")
}

/// The error that clap found in the arguments: its first paragraph, with the others as the hint.
pub(crate) fn misuse(error: &clap::Error) -> Error {
    let text = error.to_string();
    let text = text.trim().trim_start_matches("error: ");
    let (what, hint) = text.split_once("\n\n").unwrap_or((text, "try `raddle --help`"));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Error::Usage { what: words(what), hint: words(hint) }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment.
    Run(Run),
    /// Run every experiment of a sweep. A run that is finished, whole, and made from the same inputs by the same program is
    /// not run again.
    Sweep(Sweep),
    /// Run an experiment live: nodes that move real bytes in real time; or act on a live run.
    Live(Live),
    /// Run an experiment on the packet engine and on the flow engine, and say how far they are apart; exit code 1 if farther than
    /// `[agree]` in the file allows.
    Agree {
        /// The experiment, a TOML file.
        file: PathBuf,
        /// Override a key: `--set workload.flows=512`; again for more.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// The seed, for `--set engine.seed=N`.
        #[arg(long)]
        seed: Option<u64>,
        /// Most threads for the packet engine; all cores if left out.
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Choose a routing protocol for each flow of an experiment, all taken as live at once (R2C2, §3.4).
    Select {
        /// The experiment, a TOML file.
        file: PathBuf,
        /// Override a key: `--set workload.flows=512`; again for more.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// The seed, for `--set engine.seed=N`.
        #[arg(long)]
        seed: Option<u64>,
        /// What rates are worth: aggregate, minimum, or tenant.
        #[arg(long, default_value = "aggregate")]
        utility: String,
        /// How to look for the best: genetic, hill-climbing, log-linear, annealing, random, or exhaustive.
        #[arg(long, default_value = "genetic")]
        search: String,
        /// Write the flows' protocols and rates to this CSV file.
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Run a paper's figures and hold them against what it claims.
    Reproduce {
        /// Papers, or figures: `r2c2`, `r2c2/fig10`; or a figure's file of your own: `mine.toml`; everything if
        /// left out.
        targets: Vec<String>,
        /// How large: `quick` takes about a minute, `full` is the paper's size.
        #[arg(long, value_enum, default_value = "quick")]
        scale: Scale,
        /// Where figures and records go, each in a folder of its own. An earlier figure of the same experiments there is
        /// replaced.
        #[arg(long, default_value = "out/reproduce")]
        out: PathBuf,
        /// Replace whatever the figures' folders hold: other figures are deleted; a folder with files that Raddle did not
        /// write, or that were changed, is renamed to `FOLDER.old-…`.
        #[arg(long)]
        force: bool,
        /// Runs at a time; all cores if left out.
        #[arg(long)]
        threads: Option<usize>,
        /// Compare with the ledger of claims that comes with Raddle: exit 1 if a result, a verdict or a range is another one, and
        /// 0 if all is as it was, claims that fail included.
        #[arg(long)]
        check: bool,
        /// Only figures that took no more seconds than this when they were put into the ledger.
        #[arg(long, value_name = "SECONDS")]
        within: Option<f64>,
        /// Put the results into this ledger of claims, such as papers/ledger.json.
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
    },
    /// List what there is.
    List {
        /// Which part; all of it if left out.
        #[arg(value_enum)]
        what: Option<Listed>,
    },
    /// Print the JSON Schema of experiment files, by which editors complete and check them.
    Schema,
    /// Look at a topology, or check it.
    Topo {
        #[command(subcommand)]
        command: Topo,
    },
    /// Put finished runs side by side, every number over that of the first one.
    Compare {
        /// Run directories.
        #[arg(required = true)]
        directories: Vec<PathBuf>,
        /// Draw slowdown by size and the distribution of FCTs into this file, .svg or .png.
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
    },
    /// Describe a scheme (parameters, source, differences from the source), a key of an experiment, a figure, or whatever else
    /// `raddle list` names.
    Explain {
        /// Its name, as `raddle list` gives it: `r2c2`, `vlb`, `torus`, `sizes web_search`, `engine.grid`,
        /// `r2c2/fig10`.
        #[arg(required = true)]
        name: Vec<String>,
    },
    /// Run random small experiments over all schemes, and hold each against what must be true of any experiment: nothing
    /// panics, packets are conserved, threads and lockstep change nothing. An experiment that fails is made as small as
    /// possible and written to a file; exit code 1.
    Torture(Torture),
    /// Say what this machine can run.
    Doctor,
}

/// Which random experiments.
#[derive(Debug, Args)]
pub(crate) struct Torture {
    /// The first experiment. The others are the numbers after it, so that `--seed N --count 1` repeats experiment N.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Most experiments; no limit if left out.
    #[arg(long)]
    pub(crate) count: Option<u64>,
    /// Begin no experiment after so many minutes, such as 0.5; 1 if neither this nor `--count` is given.
    #[arg(long)]
    pub(crate) minutes: Option<f64>,
    /// Where experiments that fail are written.
    #[arg(long, default_value = "out/torture")]
    pub(crate) out: PathBuf,
}

/// An experiment and how to run it.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The experiment, a TOML file.
    pub(crate) file: PathBuf,
    /// Override a key: `--set scheme.transport=pfq`; again for more.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed, for `--set engine.seed=N`.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The engine, for `--set engine.kind=NAME`.
    #[arg(long)]
    pub(crate) engine: Option<String>,
    /// Capture the packets of these links (`all`, or as in `3->12,12->3,40`, by their ends and numbers) in
    /// `packets.pcapng`, for `--set record.pcap=LINKS`.
    #[arg(long, value_name = "LINKS")]
    pub(crate) pcap: Option<String>,
    /// Most threads, all cores if left out: they share a run while that is faster than one, or take one run of a sweep each.
    /// Results do not depend on it.
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// The run's directory; `out/NAME` of `NAME.toml` if left out. An earlier run of the same experiment there is replaced.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Replace whatever the directory holds: other runs are deleted; a directory with files that Raddle did not write, or
    /// that were changed, is renamed to `DIR.old-…`.
    #[arg(long)]
    pub(crate) force: bool,
    /// The most memory that a run may be expected to take, as in `8 GB`; what the machine and the control group have if left
    /// out.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Bytes>,
    /// Check the experiment and print it with every default, and the memory that it is expected to take; run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Refuse an experiment about which there is a warning, with exit code 2.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

/// A sweep and which of its cells run.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Run each cell with so many seeds: the experiment's own and those after it. Tables then show means and 95% confidence
    /// intervals.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// Run only every N-th cell, from the I-th on, as in `2/4`: the other shards run elsewhere, into the same directory. When all
    /// are done, the same command without `--shard` makes the tables of the whole sweep.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// Begin no further cell after one that failed.
    #[arg(long)]
    pub(crate) fail_fast: bool,
}

/// Parses a shard, such as `2/4`.
fn shard(text: &str) -> Result<Shard, String> {
    let parts =
        text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    let shard = parts.and_then(|(index, count)| Shard::new(index, count));
    shard.ok_or_else(|| format!("`{text}` is not a shard such as `2/4`, the second of four"))
}

/// What can be done in a live run.
#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Run a program of this machine at a host of a live run whose hosts are namespaces.
    Exec(Exec),
    /// Give a live run an order.
    Ctl(Ctl),
}

/// An order for a live run.
#[derive(Debug, Args)]
pub(crate) struct Ctl {
    /// The process of the live run, if several run on this machine.
    #[arg(long, value_name = "PROCESS")]
    pub(crate) run: Option<u32>,
    #[command(subcommand)]
    pub(crate) order: Order,
}

/// What can be ordered.
#[derive(Debug, Subcommand)]
pub(crate) enum Order {
    /// Let the link between two nodes fail, or work again.
    Link {
        /// Its new state.
        #[arg(value_enum)]
        state: LinkState,
        /// A node at one end.
        a: u32,
        /// The node at the other end.
        b: u32,
    },
}

/// The state of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkState {
    /// It has failed, and what is on it is lost.
    Down,
    /// It works again.
    Up,
}

/// A program at a host.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// The host.
    #[arg(long, value_name = "N")]
    pub(crate) host: u32,
    /// The process of the live run, if several run on this machine.
    #[arg(long, value_name = "PROCESS")]
    pub(crate) run: Option<u32>,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// A live run and what this process has of it, or something to do in one that runs.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Live {
    /// What to do in a live run.
    #[command(subcommand)]
    pub(crate) act: Option<Act>,
    #[command(flatten)]
    pub(crate) run: Option<Run>,
    /// Run these nodes alone, as in `0-7`; other processes run the others.
    #[arg(long, value_name = "FIRST-LAST", value_parser = nodes, requires = "meeting")]
    pub(crate) nodes: Option<Range<u32>>,
    #[command(flatten)]
    pub(crate) meeting: Place,
    /// A file with a secret that all processes know. Without it, only your own processes of this machine are let in, at a socket.
    #[arg(long, value_name = "FILE", requires = "nodes")]
    pub(crate) secret: Option<PathBuf>,
}

/// Where the processes of a run meet.
#[derive(Debug, Args)]
#[group(id = "meeting", multiple = false, requires = "nodes")]
pub(crate) struct Place {
    /// Wait for the others, and keep the results of all: at this Unix socket, which this makes, for processes of this machine, or at
    /// this address of this machine, as in `127.0.0.1:7000`, for processes of any machines.
    #[arg(long, value_name = "SOCKET|ADDRESS", value_parser = meeting)]
    pub(crate) listen: Option<Meeting>,
    /// Go to the process that listens there.
    #[arg(long, value_name = "SOCKET|ADDRESS", value_parser = meeting)]
    pub(crate) join: Option<Meeting>,
}

/// Parses an address with a port, or the path of a socket. A path that contains a colon must contain a slash, as in
/// `./a:b`.
fn meeting(text: &str) -> Result<Meeting, String> {
    if text.contains('/') || !text.contains(':') {
        return Ok(Meeting::Socket(text.into()));
    }
    let mut addresses = text.to_socket_addrs().map_err(|why| {
        format!("`{text}` is no address of a machine with a port, as in `127.0.0.1:7000`: {why}; a socket's path that has a colon needs a slash")
    })?;
    addresses.next().map(Meeting::Address).ok_or_else(|| format!("`{text}` has no address"))
}

/// Parses a size in the notation of experiment files.
fn size(text: &str) -> Result<Bytes, String> {
    raddle_lab::experiment::quantity::parse(text).map_err(|error| error.to_string())
}

/// Parses a range of nodes such as `0-7`, or one node such as `3`.
fn nodes(text: &str) -> Result<Range<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number =
        |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is no node; nodes are `0-7` or `3`"));
    let (first, last) = (number(first)?, number(last)?);
    if last < first || last == u32::MAX {
        return Err(format!("`{text}` are no nodes; the first comes first, as in `0-7`"));
    }
    Ok(first..last + 1)
}

/// How large a reproduction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// About a minute.
    Quick,
    /// The paper's size.
    Full,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Transports and routings.
    Schemes,
    /// Kinds of fabric.
    Topologies,
    /// Kinds of arrivals, sizes and pairs.
    Workloads,
    /// Keys of an experiment's file.
    Keys,
    /// Figures that can be reproduced.
    Figures,
    /// Statements of the papers' evaluations, and which of them hold.
    Statements,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Topo {
    /// Nodes, links, rates, diameter of an experiment's topology.
    Show {
        /// An experiment.
        file: PathBuf,
    },
    /// Whether every host reaches every other; exit code 1 if not.
    Check {
        /// An experiment.
        file: PathBuf,
    },
    /// Write an experiment's topology as a graph.
    Convert {
        /// An experiment.
        file: PathBuf,
        /// A file that ends in `.graphml` or `.json` (NetworkX node-link).
        to: PathBuf,
    },
}
