//! Compares the default number of threads with one thread, on ten workloads from 12 to 4,096 nodes. The comparison is
//! made twice: on the machine as it is, and with additional busy processes beside the benchmark.
//!
//! `cargo bench -p raddle-bench --bench threads [-- WORK..] [--busy N] [--pairs N]`. Each row shows medians over pairs
//! of runs. A pair is a run on one thread and a run on the default number of threads. The order of these two runs
//! alternates between pairs. The benchmark itself starts and ends the busy processes.

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Threads};
use raddle_records::Digest;
use std::error::Error;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A benchmark workload: a fabric, its traffic and its scheme, as fragments of an experiment file.
struct Work {
    name: &'static str,
    topology: &'static str,
    delay: &'static str,
    workload: &'static str,
    scheme: &'static str,
}

const TCP: &str =
    "transport = \"tcp-newreno\"\nrouting = \"ecmp\"\nqueue = { kind = \"fifo\", packets = 100 }";
const R2C2: &str = "transport = \"r2c2\"";
const PFC: &str =
    "transport = \"cee\"\nrouting = \"d-mod-k\"\nqueue = { kind = \"strict\" }\nflow_control = \"pfc\"";
const WEB_SEARCH: &str = "arrivals = { kind = \"poisson\", load = 0.5 }\nsizes = { kind = \"web_search\" }\n\
                          pairs = \"uniform\"\nflows = 1_000";

/// The workloads, from the smallest to the largest fabric.
const WORKS: [Work; 10] = [
    Work {
        name: "mesh-12",
        topology: "kind = \"mesh\"\ndims = [4, 3]",
        delay: "100 ns",
        workload: "arrivals = { kind = \"poisson\", mean_gap = \"4 us\" }\nsizes = { kind = \"fixed\", size = \"20 KB\" }\n\
                   pairs = \"uniform\"\nflows = 10_000",
        scheme: TCP,
    },
    Work {
        name: "fat-tree-4",
        topology: "kind = \"fat_tree\"\nk = 4",
        delay: "1 us",
        workload: "arrivals = { kind = \"all_at_once\" }\nsizes = { kind = \"fixed\", size = \"10 MB\" }\n\
                   pairs = \"permutation\"\nflows = 16",
        scheme: TCP,
    },
    Work {
        name: "torus-4",
        topology: "kind = \"torus\"\ndims = [4, 4, 4]",
        delay: "100 ns",
        workload: "arrivals = { kind = \"poisson\", mean_gap = \"2 us\" }\nsizes = { kind = \"pareto\", mean = \"50 KB\", shape = 1.2 }\n\
                   pairs = \"uniform\"\nflows = 5_000",
        scheme: R2C2,
    },
    Work {
        name: "incast",
        topology: "kind = \"single_switch\"\nhosts = 65",
        delay: "1 us",
        workload: "arrivals = { kind = \"all_at_once\" }\nsizes = { kind = \"fixed\", size = \"1 MB\" }\n\
                   pairs = { kind = \"incast\", senders = 64, receiver = 64 }\nflows = 640",
        scheme: TCP,
    },
    Work {
        name: "web-search",
        topology: "kind = \"clos\"\npods = 4\nedges_per_pod = 4\naggregations_per_pod = 4\ncores_per_plane = 2\nhosts_per_edge = 4",
        delay: "2 us",
        workload: WEB_SEARCH,
        scheme: "transport = \"dctcp\"\nrouting = \"ecmp\"\nqueue = { kind = \"fifo\", packets = 250, mark_packets = 65 }",
    },
    Work {
        name: "fat-tree-8",
        topology: "kind = \"fat_tree\"\nk = 8",
        delay: "1 us",
        workload: "arrivals = { kind = \"all_at_once\" }\nsizes = { kind = \"fixed\", size = \"5 MB\" }\n\
                   pairs = \"permutation\"\nflows = 128",
        scheme: TCP,
    },
    Work {
        name: "torus-8",
        topology: "kind = \"torus\"\ndims = [8, 8, 8]",
        delay: "100 ns",
        workload: "arrivals = { kind = \"poisson\", mean_gap = \"1 us\" }\nsizes = { kind = \"pareto\", mean = \"50 KB\", shape = 1.2 }\n\
                   pairs = \"uniform\"\nflows = 5_000",
        scheme: R2C2,
    },
    Work {
        name: "lossless",
        topology: "kind = \"k_ary_n_tree\"\nk = 8\nn = 3",
        delay: "50 ns",
        workload: "pairs = \"random_permutation\"\nload = 0.9\nduration = \"2 ms\"",
        scheme: PFC,
    },
    Work {
        name: "fat-tree-16",
        topology: "kind = \"fat_tree\"\nk = 16",
        delay: "1 us",
        workload: "arrivals = { kind = \"all_at_once\" }\nsizes = { kind = \"fixed\", size = \"1 MB\" }\n\
                   pairs = \"permutation\"\nflows = 1_024",
        scheme: TCP,
    },
    Work {
        name: "torus-16",
        topology: "kind = \"torus\"\ndims = [16, 16, 16]",
        delay: "100 ns",
        workload: "arrivals = { kind = \"all_at_once\" }\nsizes = { kind = \"fixed\", size = \"100 KB\" }\n\
                   pairs = \"permutation\"\nflows = 4_096",
        scheme: TCP,
    },
];

impl Work {
    /// Runs the workload. Returns the run time in seconds, and the digest of the results.
    fn run(&self, threads: Threads) -> Outcome<(f64, Digest)> {
        let Self { name, topology, delay, workload, scheme } = self;
        let text = format!(
            "[topology]\n{topology}\nlink_rate = \"10 Gbps\"\nlink_delay = \"{delay}\"\n\n[workload]\n{workload}\n\n\
             [scheme]\n{scheme}\n\n[engine]\nseed = 1\n"
        );
        let prepared = Document::parse(name, text, PathBuf::new())?.prepare()?;
        let control = Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads };
        let outcome = run(prepared, &mut |_| Ok(()), control)?;
        Ok((outcome.seconds, outcome.digest))
    }

    /// Returns the median run time on one thread in seconds, and the median ratio of the run time with the setting
    /// `default` to the run time on one thread.
    fn compare(&self, default: Threads, pairs: usize) -> Outcome<(f64, f64)> {
        let (mut seconds, mut ratios) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            // The second run of a pair profits from warm caches, so the order alternates.
            let order =
                if pair % 2 == 0 { [Threads::Always(1), default] } else { [default, Threads::Always(1)] };
            let mut runs = [self.run(order[0])?, self.run(order[1])?];
            if pair % 2 == 1 {
                runs.reverse();
            }
            let [(alone, expected), (by_default, digest)] = runs;
            if digest != expected {
                return Err(format!(
                    "the digest of `{}` must not depend on the number of threads: {digest} by default, \
                     {expected} on one thread",
                    self.name
                )
                .into());
            }
            seconds.push(alone);
            ratios.push(by_default / alone);
        }
        Ok((median(seconds), median(ratios)))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Processes that keep cores busy. They are killed when this value is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start(processes: usize) -> Outcome<Self> {
        let program = std::env::current_exe()?;
        let mut busy = Self(Vec::new());
        for _ in 0..processes {
            // The child reads its standard input, which ends when this process ends. The child therefore
            // never outlives this process.
            busy.0.push(Command::new(&program).arg("--spin").stdin(Stdio::piped()).spawn()?);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Keeps a core busy until the end of the standard input.
fn spin() {
    std::thread::spawn(|| {
        loop {
            std::hint::spin_loop();
        }
    });
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn table() -> Outcome<()> {
    let (mut busy, mut pairs, mut chosen) = (4, 5, Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().ok_or_else(|| format!("`{word}` needs a number"));
        match word.as_str() {
            "--busy" => busy = number()?.parse()?,
            "--pairs" => pairs = number()?.parse()?,
            "--bench" => {} // cargo passes this argument
            name => chosen.push(
                WORKS
                    .iter()
                    .find(|work| work.name == name)
                    .ok_or_else(|| format!("there is no workload `{name}`"))?,
            ),
        }
    }
    if chosen.is_empty() {
        chosen.extend(&WORKS);
    }
    let cores = std::thread::available_parallelism()?.get();
    println!(
        "run time by default (up to {cores} threads) divided by run time on one thread; medians of {pairs} \
         pairs of runs"
    );
    println!("{:12} {:>8} {:>6}   {busy} busy: {:>8} {:>6}", "work", "one s", "ratio", "one s", "ratio");
    for work in chosen {
        let (seconds, ratio) = work.compare(Threads::UpTo(cores), pairs)?;
        let beside = Busy::start(busy)?;
        let (busy_seconds, busy_ratio) = work.compare(Threads::UpTo(cores), pairs)?;
        drop(beside);
        println!("{:12} {seconds:8.3} {ratio:6.2}           {busy_seconds:8.3} {busy_ratio:6.2}", work.name);
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a benchmark prints its errors")]
fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--spin") {
        spin();
        return ExitCode::SUCCESS;
    }
    match table() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
