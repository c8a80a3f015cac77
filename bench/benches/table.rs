//! Prints a table of the packet engine's speed, with one row per workload (`docs/src/benchmarks.md` explains the
//! columns).
//!
//! `cargo bench -p raddle-bench --bench table [-- [WORK..] [--threads N]]`. By default, N is the value of the
//! environment variable `THREADS`, or 2 if the variable is not set. Each measurement runs in a separate process, so
//! that its peak memory use can be measured. Each number is the median of three measurements. Measurements on several
//! threads alternate with measurements on one thread. Rates vary on a shared machine: compare runs side by side.

use raddle_bench::allocator::Counting;
use raddle_bench::works::{WORKS, Work, work};
use raddle_core::{PacketKind, Time};
use raddle_packet_sim::{Simulation, Threads};
use std::error::Error;
use std::ops::ControlFlow;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const COLUMNS: usize = 11;

/// The measured numbers, in the order of the table's columns.
#[derive(Clone, Copy)]
struct Numbers([f64; COLUMNS]);

/// The columns' names, and the number of decimals to print.
const HEADS: [(&str, usize); COLUMNS] = [
    ("M hops/s", 2),
    ("M data/s", 2),
    ("events/hop", 3),
    ("allocs/hop", 4),
    ("B/link", 0),
    ("B/link, all", 0),
    ("B/live flow", 0),
    ("B/packet", 0),
    ("set-up ms", 1),
    ("peak MB", 1),
    ("threads", 0),
];
const RATE: usize = 0;
const THREADS: usize = 10;
const REPEATS: usize = 3;

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn measure(work: &Work, threads: usize) -> Numbers {
    let flows = work.flows();
    let before = Counting::live();
    let start = Instant::now();
    let topology = Arc::new(work.fabric());
    let mut simulation = work.simulation(&topology, flows, Threads::Always(threads), work.end);
    let set_up = start.elapsed();
    let at_rest = Counting::live() - before;

    simulation.run(|progress| {
        let warm = progress.now >= Time::ZERO + work.warm_up;
        if warm { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let (warm, calls) = (simulation.totals(), Counting::calls());
    let start = Instant::now();
    simulation.run(|_| ControlFlow::Continue(()));
    let seconds = start.elapsed().as_secs_f64();
    let calls = Counting::calls() - calls;
    let totals = simulation.totals();
    let data = |totals: &raddle_packet_sim::Totals| totals.kinds[PacketKind::Data as usize].packets;
    let hops = (totals.packet_hops - warm.packet_hops) as f64;

    // Memory that the run has added, without packets: senders, receivers, table entries of nodes, and the growth of
    // queues and of the event calendar.
    let packet = Simulation::<()>::BYTES_A_PACKET;
    let for_packets = simulation.peak_packets_inside() * packet;
    let for_flows = (Counting::live() - before).saturating_sub(at_rest + for_packets);
    let alive = totals.flows_started - totals.flows_delivered;
    Numbers([
        hops / seconds / 1e6,
        (data(&totals) - data(&warm)) as f64 / seconds / 1e6,
        (totals.events - warm.events) as f64 / hops,
        calls as f64 / hops,
        Simulation::<()>::BYTES_A_LINK as f64,
        at_rest as f64 / topology.links().count() as f64,
        for_flows as f64 / alive as f64,
        packet as f64,
        set_up.as_secs_f64() * 1e3,
        resident_peak_kb().map_or(f64::NAN, |kb| kb as f64 / 1e3),
        simulation.threads() as f64,
    ])
}

/// Returns the peak resident memory of this process in KiB, or `None` if the system does not report it. (The system
/// calls the unit `kB`.)
fn resident_peak_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Measures a workload in a separate process.
fn measure_apart(work: &Work, threads: usize) -> Result<Numbers, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let output = Command::new(program)
        .args(["--measure", work.name, "--threads", &threads.to_string()])
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!(
            "the measurement of `{}` failed (threads: {threads}): {}",
            work.name, output.status
        )
        .into());
    }
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    Ok(Numbers(
        numbers
            .try_into()
            .map_err(|_| format!("a measurement must print exactly {COLUMNS} numbers (got `{text}`)"))?,
    ))
}

fn medians(samples: &[Numbers]) -> Numbers {
    Numbers(std::array::from_fn(|column| {
        let mut values: Vec<f64> = samples.iter().map(|Numbers(numbers)| numbers[column]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }))
}

/// Returns a workload's row of medians: all numbers on one thread except the number of threads, then three numbers on
/// `threads` threads. These are the number of threads that the engine used, the rate, and the ratio of this rate to the
/// rate on one thread.
fn row(work: &Work, threads: usize) -> Result<String, Box<dyn Error>> {
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        one.push(measure_apart(work, 1)?);
        many.push(measure_apart(work, threads)?);
    }
    let (Numbers(one), Numbers(many)) = (medians(&one), medians(&many));
    let mut row = format!("{:12}", work.name);
    for ((head, decimals), number) in HEADS[..THREADS].iter().zip(one) {
        row += &format!(" {number:width$.decimals$}", width = head.len());
    }
    row += &format!(" {:9.0} {:8.2} {:5.2}", many[THREADS], many[RATE], many[RATE] / one[RATE]);
    Ok(row)
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its result")]
fn run() -> Result<(), Box<dyn Error>> {
    let mut threads = std::env::var("THREADS").ok();
    let (mut chosen, mut only_measure) = (Vec::new(), false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--threads" => threads = words.next(),
            "--measure" => only_measure = true,
            "--bench" => {} // cargo passes this argument
            name => chosen.push(work(name).ok_or_else(|| {
                let names: Vec<_> = WORKS.iter().map(|work| work.name).collect();
                format!("there is no workload `{name}`; the workloads are {}", names.join(", "))
            })?),
        }
    }
    let threads = threads.map_or(Ok(2), |threads| threads.parse())?;
    if let (true, [work]) = (only_measure, &chosen[..]) {
        let Numbers(numbers) = measure(work, threads);
        println!("{}", numbers.map(|number| number.to_string()).join(" "));
        return Ok(());
    }
    if chosen.is_empty() {
        chosen.extend(WORKS);
    }
    let heads: Vec<_> = HEADS[..THREADS].iter().map(|&(head, _)| head).collect();
    let heads = heads.join(" ");
    println!("{:12} {heads} | threads M hops/s ratio", "work");
    for work in chosen {
        println!("{}", row(work, threads)?);
    }
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a benchmark prints its errors")]
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
