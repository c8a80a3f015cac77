//! The command-line arguments.

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
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
    after_help = "Exit codes: 0 success; 1 a claim or check failed, or cells of a sweep cannot run; 2 bad input; 3 a \
                  run or an access to a file failed; 130 interrupted."
)]
pub(crate) struct Arguments {
    /// The command to run.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Format of the results on stdout.
    #[arg(long, global = true, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Do not show progress on stderr.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// Returns true if the arguments ask for JSON, even if clap rejects the arguments.
pub(crate) fn ask_for_json(arguments: impl IntoIterator<Item = OsString>) -> bool {
    let options: Vec<OsString> = arguments.into_iter().take_while(|argument| argument != "--").collect();
    options.iter().any(|argument| argument == "--format=json")
        || options.windows(2).any(|pair| pair[0] == "--format" && pair[1] == "json")
}

/// Converts an error that clap reports. The first paragraph of clap's text becomes the message, and the other
/// paragraphs become the hint.
pub(crate) fn misuse(error: &clap::Error) -> Error {
    let text = error.to_string();
    let text = text.trim().trim_start_matches("error: ");
    let (what, hint) = text.split_once("\n\n").unwrap_or((text, "try `raddle --help`"));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Error::Usage { what: words(what), hint: words(hint) }
}

/// The format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write an example experiment to start from, or list the templates.
    Init {
        /// The template; if it is left out, all templates are listed.
        template: Option<String>,
        /// The folder for the files.
        #[arg(long, default_value = ".")]
        out: PathBuf,
    },
    /// Run an experiment.
    Run(Run),
    /// Run every experiment of a sweep. A finished run is kept if its files are intact and it came from the same inputs
    /// and the same program. A live run that was disturbed by the machine runs again.
    Sweep(Sweep),
    /// Run an experiment live, with nodes that move real bytes in real time, or act on a live run.
    Live(Live),
    /// Run an experiment on the packet engine and on the flow engine, and show how far their results differ. The exit
    /// code is 1 if they differ by more than `[agree]` in the file allows.
    Agree {
        /// The experiment, a TOML file.
        file: PathBuf,
        /// Override a key: `--set workload.flows=512`. May be given several times.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// The seed, as with `--set engine.seed=N`.
        #[arg(long)]
        seed: Option<u64>,
        /// Largest number of threads for the packet engine; by default one per core.
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Choose a routing protocol for each flow of an experiment as if all flows were active at once (R2C2, §3.4).
    Select {
        /// The experiment, a TOML file.
        file: PathBuf,
        /// Override a key: `--set workload.flows=512`. May be given several times.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// The seed, as with `--set engine.seed=N`.
        #[arg(long)]
        seed: Option<u64>,
        /// The utility to maximize: aggregate (sum of all rates), minimum (lowest ratio of a flow's rate to its
        /// weight), or tenant (sum, over all sources, of the square root of the source's total rate).
        #[arg(long, default_value = "aggregate")]
        utility: String,
        /// The search method: genetic, hill-climbing, log-linear, annealing, random, or exhaustive.
        #[arg(long, default_value = "genetic")]
        search: String,
        /// Write the flows' protocols and rates to this CSV file.
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Run the experiments of a paper's figures and compare the results with the paper's claims.
    Reproduce {
        /// Papers such as `r2c2`, figures such as `r2c2/fig10`, or your own figure files such as `mine.toml`; by
        /// default all papers. A few figures, which need a privilege or take hours, are run only if you name them.
        targets: Vec<String>,
        /// Size of the experiments: with `quick` most figures take less than a minute, `full` is the paper's size.
        #[arg(long, value_enum, default_value = "quick")]
        scale: Scale,
        /// Directory for the results, with one folder per figure. An earlier result of the same experiments is
        /// replaced.
        #[arg(long, default_value = "out/reproduce")]
        out: PathBuf,
        /// Replace the figures' folders even if they hold other results. These other results are deleted. If a folder
        /// holds files that Raddle did not write, or files that were changed, the folder is renamed to `FOLDER.old-…`
        /// instead.
        #[arg(long)]
        force: bool,
        /// Largest number of runs at the same time; by default one per core.
        #[arg(long)]
        threads: Option<usize>,
        /// Compare with Raddle's ledger of recorded results. The exit code is 1 if a figure with reproducible results
        /// has changed results, verdicts or ranges, or is not in the ledger. With this option, a claim that fails does
        /// not make the exit code 1.
        #[arg(long)]
        check: bool,
        /// Run only figures that took at most this many seconds when they were recorded in the ledger.
        #[arg(long, value_name = "SECONDS")]
        within: Option<f64>,
        /// Record the results in this ledger, such as papers/ledger.json.
        #[arg(long, value_name = "FILE")]
        record: Option<PathBuf>,
        /// Spread the runs over the Ray cluster at this address, as `raddle sweep --cluster` does.
        #[arg(long, value_name = "ADDRESS")]
        cluster: Option<String>,
        #[command(flatten)]
        look: Look,
    },
    /// Do one task of a run with `--cluster`; the task is read from standard input.
    #[command(hide = true)]
    Task {
        /// The run's directory.
        directory: PathBuf,
    },
    /// List schemes, topologies, workloads, figures, keys and other names.
    List {
        /// The part of the list; by default schemes, topologies and workloads.
        #[arg(value_enum)]
        what: Option<Listed>,
    },
    /// Print the completions of a shell: `raddle completions bash > /etc/bash_completion.d/raddle`. In bash and zsh
    /// they include the names of templates, papers, figures, schemes and keys.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual pages, one for each command.
    Man {
        /// The folder for the pages, such as `/usr/local/share/man/man1`.
        #[arg(long, default_value = "man")]
        out: PathBuf,
    },
    /// Print the JSON Schema of experiment files. Editors use it to complete and check these files.
    Schema,
    /// Describe, check or convert a topology.
    Topo {
        #[command(subcommand)]
        command: Topo,
    },
    /// Compare finished runs; each measured number is also shown relative to the first run.
    Compare {
        /// Run directories.
        #[arg(required = true)]
        directories: Vec<PathBuf>,
        /// Draw slowdown by size and the distribution of FCTs into this file, whose name ends in .svg, .png, .pdf or
        /// .html.
        #[arg(long, value_name = "FILE")]
        plot: Option<PathBuf>,
        #[command(flatten)]
        look: Look,
    },
    /// Write a report on finished runs: one HTML file with charts, which needs no network.
    Report {
        /// Run directories, and directories of sweeps and figures.
        #[arg(required = true)]
        directories: Vec<PathBuf>,
        /// A run to show in detail, such as `out/sweep/ecmp-seed-2`; may be given several times. By default, the first
        /// run of each group of runs that differ only in their seed, up to 8 runs and about 24 MB of data.
        #[arg(long, value_name = "DIR")]
        detail: Vec<PathBuf>,
        /// The file. An earlier file is replaced.
        #[arg(long, value_name = "FILE", default_value = "report.html")]
        out: PathBuf,
    },
    /// Describe a scheme (parameters, source, differences from the source), a key of an experiment, a figure, or any
    /// other name in `raddle list`.
    Explain {
        /// The name, as in `raddle list`: `r2c2`, `vlb`, `torus`, `sizes web_search`, `engine.grid`, `r2c2/fig10`.
        #[arg(required = true)]
        name: Vec<String>,
    },
    /// Run small random experiments over all schemes, and check properties that hold for every experiment: no panic,
    /// packets are conserved, results do not depend on the number of threads and are the same in lockstep runs. A
    /// failing experiment is shrunk to a smaller experiment that still fails. The smaller experiment is written to a
    /// file, and the exit code is 1.
    Torture(Torture),
    /// Report what this machine can run.
    Doctor,
}

/// The random experiments to run.
#[derive(Debug, Args)]
pub(crate) struct Torture {
    /// The number of the first experiment. The numbers of the next experiments follow in order, so `--seed N --count 1`
    /// repeats experiment N.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Largest number of experiments; by default there is no limit.
    #[arg(long)]
    pub(crate) count: Option<u64>,
    /// Start no experiment after this many minutes, such as 0.5. If neither this option nor `--count` is given, the
    /// limit is 1 minute.
    #[arg(long)]
    pub(crate) minutes: Option<f64>,
    /// Directory for experiments that fail.
    #[arg(long, default_value = "out/torture")]
    pub(crate) out: PathBuf,
}

/// An experiment and how to run it.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The experiment, a TOML file.
    pub(crate) file: PathBuf,
    /// Override a key: `--set scheme.transport=pfq`. May be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed, as with `--set engine.seed=N`.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// The engine, as with `--set engine.kind=NAME`.
    #[arg(long)]
    pub(crate) engine: Option<String>,
    /// Capture the packets of these links in `packets.pcapng`, as with `--set record.pcap=LINKS`. LINKS is `all`, or a
    /// list of node pairs and link numbers, such as `3->12,12->3,40`.
    #[arg(long, value_name = "LINKS")]
    pub(crate) pcap: Option<String>,
    /// Largest number of threads; by default one per core. Several threads share one run if that is faster than one
    /// thread. In a sweep, each thread may take one run. Results do not depend on the number of threads.
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// The run's directory; by default `out/NAME` for `NAME.toml`. An earlier run of the same experiment is replaced.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Replace the directory even if it holds other runs. These other runs are deleted. If the directory holds files
    /// that Raddle did not write, or files that were changed, it is renamed to `DIR.old-…` instead.
    #[arg(long)]
    pub(crate) force: bool,
    /// Limit of a run's estimated memory, such as `8 GB`; by default the memory available on the machine or the limit
    /// of this process's control group, whichever is lower.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory: Option<Bytes>,
    /// Check the experiment and print it with all defaults and its estimated memory; run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Refuse an experiment that causes a warning, with exit code 2.
    #[arg(long)]
    pub(crate) deny_warnings: bool,
}

/// The look of pictures.
#[derive(Debug, Args)]
pub(crate) struct Look {
    /// The purpose of pictures, as with the key `figure.style`.
    #[arg(long, value_enum)]
    pub(crate) style: Option<Style>,
    /// Pixels per inch of pictures in PNG, as with the key `figure.dpi`.
    #[arg(long, value_parser = clap::value_parser!(u32).range(30..=2400))]
    pub(crate) dpi: Option<u32>,
}

/// The purpose of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    /// A screen: two plots side by side.
    Screen,
    /// A column of a paper: 3.3 inches wide, type of 8 points, readable in gray.
    Paper,
    /// Slides: 16:9, large type.
    Slides,
}

impl Look {
    /// Returns the look as overrides of the keys `figure.style` and `figure.dpi`.
    pub(crate) fn overrides(&self) -> Vec<String> {
        let style = self.style.and_then(|style| style.to_possible_value());
        let style = style.map(|style| format!("figure.style={}", style.get_name()));
        style.into_iter().chain(self.dpi.map(|dpi| format!("figure.dpi={dpi}"))).collect()
    }
}

impl From<&Look> for raddle_lab::figure::Look {
    fn from(look: &Look) -> Self {
        use raddle_lab::figure::Style as Drawn;
        let style = look.style.map(|style| match style {
            Style::Screen => Drawn::Screen,
            Style::Paper => Drawn::Paper,
            Style::Slides => Drawn::Slides,
        });
        Self { style, dpi: look.dpi, size: None }
    }
}

/// A sweep, and the selection of the cells to run.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Run each cell with this number of successive seeds; the first is the experiment's seed. Tables then show means
    /// and 95% confidence intervals. The default is `seeds` of `[figure]` if the file has it, and 1 otherwise.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: Option<u64>,
    /// Run only every N-th cell, starting with the I-th cell, as in `2/4`. The other shards run elsewhere and write
    /// into the same directory. When all shards are done, the same command without `--shard` makes the tables of the
    /// whole sweep.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// Spread the cells over the Ray cluster at this address, such as `10.0.0.1:6379`. This needs Python with the
    /// packages `raddle` and `ray`; the variable RADDLE_PYTHON names its interpreter (by default python3).
    #[arg(long, value_name = "ADDRESS", conflicts_with = "shard")]
    pub(crate) cluster: Option<String>,
    /// Do not start further cells after a cell has failed, and start no cell if one of them cannot run.
    #[arg(long)]
    pub(crate) fail_fast: bool,
    #[command(flatten)]
    pub(crate) look: Look,
}

/// Parses a shard, such as `2/4`.
fn shard(text: &str) -> Result<Shard, String> {
    let parts =
        text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
    let shard = parts.and_then(|(index, count)| Shard::new(index, count));
    shard.ok_or_else(|| format!("`{text}` is not a shard; for example, `2/4` is the second of four shards"))
}

/// An action in a live run.
#[derive(Debug, Subcommand)]
pub(crate) enum Act {
    /// Run a program of this machine at a host of a live run whose hosts are network namespaces.
    Exec(Exec),
    /// Change a live run, for example take a link down.
    Ctl(Ctl),
}

/// The arguments of `raddle live ctl`: the live run, and the change to make in it.
#[derive(Debug, Args)]
pub(crate) struct Ctl {
    /// The process id of the live run; needed only if you have several live runs on this machine.
    #[arg(long, value_name = "PROCESS")]
    pub(crate) run: Option<u32>,
    #[command(subcommand)]
    pub(crate) order: Order,
}

/// The change to make in a live run.
#[derive(Debug, Subcommand)]
pub(crate) enum Order {
    /// Take the link between two nodes down, or bring the link up again.
    Link {
        /// The new state of the link.
        #[arg(value_enum)]
        state: LinkState,
        /// The node at one end of the link.
        a: u32,
        /// The node at the other end of the link.
        b: u32,
    },
}

/// The state of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkState {
    /// The link has failed, and packets on it are lost.
    Down,
    /// The link works again.
    Up,
}

/// The arguments of `raddle live exec`: the program, and the host at which it runs.
#[derive(Debug, Args)]
pub(crate) struct Exec {
    /// The node number of the host.
    #[arg(long, value_name = "N")]
    pub(crate) host: u32,
    /// The process id of the live run; needed only if several live runs on this machine have a host with this number.
    #[arg(long, value_name = "PROCESS")]
    pub(crate) run: Option<u32>,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// The arguments of a new live run, or the action to perform in a running live run.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Live {
    /// The action to perform in a running live run.
    #[command(subcommand)]
    pub(crate) act: Option<Act>,
    #[command(flatten)]
    pub(crate) run: Option<Run>,
    /// Run only these nodes, such as `0-7`; other processes run the other nodes.
    #[arg(long, value_name = "FIRST-LAST", value_parser = nodes, requires = "meeting")]
    pub(crate) nodes: Option<Range<u32>>,
    #[command(flatten)]
    pub(crate) meeting: Place,
    /// A file with a secret that all processes of the run share. Without a secret, only your own processes on this
    /// machine can join, through a Unix socket.
    #[arg(long, value_name = "FILE", requires = "nodes")]
    pub(crate) secret: Option<PathBuf>,
}

/// The socket or address at which the processes of a run meet.
#[derive(Debug, Args)]
#[group(id = "meeting", multiple = false, requires = "nodes")]
pub(crate) struct Place {
    /// Be the host process, which waits for the other processes and collects their results. The value is the path of a
    /// Unix socket, for processes of this machine, or an address of this machine such as `10.0.0.5:7000`, for processes
    /// of any machine. An address needs `--secret`.
    #[arg(long, value_name = "SOCKET|ADDRESS", value_parser = meeting)]
    pub(crate) listen: Option<Meeting>,
    /// Join the process that listens at this socket or address.
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
        format!(
            "`{text}` is not an address with a port, such as `127.0.0.1:7000`: {why}; to name a \
             Unix socket, write `./{text}`"
        )
    })?;
    addresses.next().map(Meeting::Address).ok_or_else(|| format!("`{text}` does not resolve to an address"))
}

/// Parses a size in the notation of experiment files.
fn size(text: &str) -> Result<Bytes, String> {
    raddle_lab::experiment::quantity::parse(text).map_err(|error| error.to_string())
}

/// Parses a range of nodes such as `0-7`, or one node such as `3`.
fn nodes(text: &str) -> Result<Range<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| {
        text.parse::<u32>().map_err(|_| {
            format!(
                "`{text}` is not a node number; give a range such as \
         `0-7`, or one node such as `3`"
            )
        })
    };
    let (first, last) = (number(first)?, number(last)?);
    if last < first || last == u32::MAX {
        return Err(format!("`{text}` is not a range of nodes: the lower number must be first, as in `0-7`"));
    }
    Ok(first..last + 1)
}

/// The size of a reproduction's experiments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// Small experiments. Most figures take less than a minute.
    Quick,
    /// Experiments of the paper's size.
    Full,
}

/// The parts of the output of `raddle list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Transports, routings, flow controls, congestion points, queues and profiles.
    Schemes,
    /// Kinds of fabric.
    Topologies,
    /// Kinds of arrivals, flow sizes, sender-receiver pairs, processes and deadlines, and other ways to describe a
    /// workload.
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
    /// Show the numbers of hosts, switches and links, the link rates and the diameter of an experiment's topology.
    Show {
        /// The experiment, a TOML file.
        file: PathBuf,
    },
    /// Check that links connect all hosts and switches of a topology. The exit code is 1 if not.
    Check {
        /// The experiment, a TOML file.
        file: PathBuf,
    },
    /// Write an experiment's topology as a graph.
    Convert {
        /// The experiment, a TOML file.
        file: PathBuf,
        /// The output file, whose name ends in `.graphml` or `.json` (NetworkX node-link).
        to: PathBuf,
    },
}
