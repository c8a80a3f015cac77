//! Checks the packet engine's speed, also on machines on which run times vary too much for a comparison.
//! Valgrind counts the instructions per packet-hop of most workloads, and the counts are compared with
//! the budgets in `bench/budgets.txt`.
//!
//! `make instructions` prints a table, and fails if a workload has no budget or exceeds its budget
//! by more than a margin. `make bench-baseline` writes the counts as the new budgets. A workload
//! runs for a shorter and a longer simulated time, in two processes. The difference of the two
//! counts is used, so that the cost of set-up cancels. Repeated runs of one binary give the same
//! count. Another compiler or C library may change the count a little, which the margin allows.

use raddle_bench::works::{WORKS, Work, work};
use raddle_core::Duration;
use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Child, Command, ExitCode, Stdio};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A count may exceed its budget by at most this fraction of the budget.
const MARGIN: f64 = 0.03;
const BUDGETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/budgets.txt");
const HEADER: &str = "# Instructions per packet-hop of each workload. `make bench-baseline` writes this file, and `make instructions` checks it.";

/// Starts a run of this program under valgrind.
fn start(work: &Work, limit: Duration) -> Outcome<Child> {
    let child = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["--run", work.name, &limit.as_ps().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    child.map_err(|error| format!("valgrind cannot be started ({error}); is it installed?").into())
}

/// Waits for a run to end. Returns its numbers of instructions and packet-hops.
fn finish(child: Child) -> Outcome<(u64, u64)> {
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let counted = said.lines().find_map(|line| line.split_once("refs:"));
    let (Some((_, instructions)), true) = (counted, output.status.success()) else {
        return Err(format!("a run under valgrind failed:\n{said}").into());
    };
    let hops = String::from_utf8_lossy(&output.stdout).trim().parse()?;
    Ok((instructions.trim().replace(',', "").parse()?, hops))
}

/// Counts the instructions per packet-hop between two simulated times.
fn count(work: &Work, [short, long]: [Duration; 2]) -> Outcome<f64> {
    let (shorter, longer) = (start(work, short)?, start(work, long)?);
    let (shorter, longer) = (finish(shorter)?, finish(longer)?);
    Ok((longer.0 - shorter.0) as f64 / (longer.1 - shorter.1) as f64)
}

/// The workloads whose instructions are counted, and the two simulated times for each.
fn counted() -> impl Iterator<Item = (&'static Work, [Duration; 2])> {
    WORKS.iter().filter_map(|work| Some((work, work.counted?)))
}

fn budgets() -> Outcome<BTreeMap<String, f64>> {
    let text = std::fs::read_to_string(BUDGETS).map_err(|error| format!("{BUDGETS}: {error}"))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let budget = |line: &str| {
        let (name, budget) =
            line.split_once(' ').ok_or_else(|| format!("{BUDGETS}: the line `{line}` has no budget"))?;
        work(name).ok_or_else(|| format!("{BUDGETS}: there is no workload `{name}`"))?;
        Ok((name.to_owned(), budget.trim().parse()?))
    };
    lines.map(budget).collect()
}

/// Prints the instructions per packet-hop and the budget of each counted workload. Returns true if each of these
/// workloads has a budget, and if no count exceeds its budget by more than [`MARGIN`].
#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn check() -> Outcome<bool> {
    let budgets = budgets()?;
    let mut kept = true;
    println!("{:12} {:>12} {:>8}", "work", "instructions", "budget");
    for (work, times) in counted() {
        let counted = count(work, times)?;
        let verdict = match budgets.get(work.name) {
            None => "no budget: run `make bench-baseline`",
            Some(budget) if counted > budget * (1.0 + MARGIN) => "OVER BUDGET",
            Some(budget) if counted < budget * (1.0 - MARGIN) => {
                "well below the budget: run `make bench-baseline`"
            }
            Some(_) => "",
        };
        let budget = budgets.get(work.name).copied();
        kept &= budget.is_some_and(|budget| counted <= budget * (1.0 + MARGIN));
        println!("{:12} {counted:12.1} {:8.1} {verdict}", work.name, budget.unwrap_or(f64::NAN));
    }
    Ok(kept)
}

fn write() -> Outcome<()> {
    let mut text = format!("{HEADER}\n");
    for (work, times) in counted() {
        text += &format!("{} {:.1}\n", work.name, count(work, times)?);
    }
    Ok(std::fs::write(BUDGETS, text)?)
}

#[expect(clippy::print_stdout, reason = "the parent process reads this output")]
fn run(name: &str, limit: &str) -> Outcome<()> {
    let work = work(name).ok_or_else(|| format!("there is no workload `{name}`"))?;
    println!("{}", work.run(Duration::from_ps(limit.parse()?)).totals().packet_hops);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a benchmark prints its errors")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        [] => check(),
        ["--write"] => write().map(|()| true),
        ["--run", name, limit] => run(name, limit).map(|()| true),
        _ => Err("usage: instructions [--write]".into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
