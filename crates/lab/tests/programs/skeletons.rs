//! Tests generated programs as workloads: skeletons, halos and collective operations.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_lab::experiment::Document;
use raddle_lab::run::run;
use raddle_lab::{Control, Outcome, Threads};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Makes an experiment with the workload on 16 hosts of one switch.
fn document(workload: &str) -> Document {
    let text = format!(
        "[topology]\nkind = \"single_switch\"\nhosts = 16\nlink_rate = \"10 Gbps\"\nlink_delay = \"100 ns\"\n\
         [workload]\n{workload}\n[scheme]\ntransport = \"udp\"\n"
    );
    Document::parse("ranks.toml", text, PathBuf::new()).unwrap()
}

fn outcome(workload: &str) -> Outcome {
    let control =
        Control { stop: &AtomicBool::new(false), progress: &mut |_| (), threads: Threads::Always(1) };
    run(document(workload).prepare().unwrap(), &mut |_| Ok(()), control).unwrap()
}

/// Returns the number of messages, and of bytes, that all ranks of a finished run sent.
fn sent(outcome: &Outcome) -> (u64, u64) {
    assert!(outcome.makespan_ps().is_some(), "all ranks finished");
    let total = |(messages, bytes), (more, and_bytes)| (messages + more, bytes + and_bytes);
    outcome.ranks.iter().map(|rank| (rank.sent_messages, rank.sent_bytes)).fold((0, 0), total)
}

fn problem(workload: &str) -> String {
    let document = document(workload);
    document.prepare().err().unwrap().to_string()
}

#[test]
fn every_program_runs_to_its_end() {
    for name in ["bt", "cg", "ft", "is", "mg"] {
        let workload = format!("skeleton = \"{name}\"\nranks = 16\nclass = \"S\"\niterations = 1\n");
        assert!(sent(&outcome(&workload)).0 >= 240, "{name}");
    }
    for name in ["wrf", "namd", "liso", "airbus"] {
        let workload = format!("skeleton = \"{name}\"\nranks = 15\niterations = 1\n");
        assert!(sent(&outcome(&workload)).0 >= 80, "{name}");
    }
}

/// Four ranks on a line exchange data with their neighbors twice in each of 3 iterations. The ranks compute before
/// each exchange.
#[test]
fn a_halo_is_what_its_numbers_say() {
    let halo = "skeleton = \"halo\"\ngrid = [4]\nsizes = [\"1 KB\", \"2 KB\"]\niterations = 3\n";
    let (silent, busy) = (outcome(halo), outcome(&format!("{halo}compute = \"40 us\"\n")));
    assert_eq!([sent(&silent), sent(&busy)], [(36, 54_000); 2]);
    assert!(busy.ranks.iter().all(|rank| rank.computed_ps == 120_000_000), "{:?}", busy.ranks);
    let ring = outcome(&format!("{halo}wraps = true\nscale = 10\n"));
    assert_eq!(sent(&ring), (48, 720_000));
    assert!(busy.makespan_ps().unwrap() > 120_000_000 + silent.makespan_ps().unwrap() / 2);
}

#[test]
fn collectives_run_by_the_algorithm_asked_for() {
    let allreduce = "collective = \"allreduce\"\nranks = 16\nsize = \"160 KB\"\niterations = 2\n";
    assert_eq!(sent(&outcome(allreduce)), (2 * 16 * 4, 2 * 16 * 4 * 160_000));
    let ring = format!("{allreduce}algorithm = \"ring\"\n");
    assert_eq!(sent(&outcome(&ring)), (2 * 16 * 30, 2 * 16 * 30 * 10_000));
    assert_eq!(sent(&outcome("collective = \"barrier\"\nranks = 9\n")), (9 * 4, 9 * 4));
}

#[test]
fn published_factors_scale_messages() {
    let liso = "skeleton = \"liso\"\nranks = 4\niterations = 1\n";
    let (messages, bytes) = sent(&outcome(liso));
    assert_eq!(sent(&outcome(&format!("{liso}scaled = true\n"))), (messages, 10 * bytes));
}

#[test]
fn resolved_programs_resolve_to_themselves() {
    for workload in [
        "skeleton = \"mg\"\nranks = 16\nscaled = true\nclass = \"S\"\n",
        "skeleton = \"halo\"\ngrid = [4, 2]\nsizes = [\"1 KB\"]\n",
        "collective = \"allgather\"\nranks = 5\nsize = \"1 KB\"\n",
    ] {
        let resolved = document(workload).experiment().unwrap().resolved.to_string();
        let again = Document::parse("resolved.toml", resolved.clone(), PathBuf::new()).unwrap();
        assert_eq!(again.experiment().unwrap().resolved.to_string(), resolved);
    }
}

#[test]
fn programs_that_cannot_be_are_refused() {
    for (workload, refusal) in [
        ("skeleton = \"lu\"\nranks = 4\n", "lu"),
        ("skeleton = \"cg\"\nranks = 12\n", "the number of ranks must be a power of two of at least 2"),
        ("skeleton = \"bt\"\nranks = 8\n", "must be a square"),
        ("skeleton = \"cg\"\nranks = 4\nclass = \"E\"\n", "class"),
        ("skeleton = \"cg\"\nranks = 32\nclass = \"S\"\n", "the program has 32 ranks"),
        ("skeleton = \"wrf\"\nranks = 4\nclass = \"S\"\n", "class"),
        ("skeleton = \"wrf\"\nranks = 0\n", "`ranks` must be greater than 0 (got 0)"),
        ("skeleton = \"wrf\"\nranks = 4\niterations = 0\n", "`iterations` must be greater than 0"),
        ("skeleton = \"namd\"\nranks = 4\nscaled = true\n", "needs a published factor"),
        (
            "skeleton = \"wrf\"\nranks = 4\nscaled = true\nscale = 2\n",
            "`scale` and `scaled` cannot be combined",
        ),
        (
            "skeleton = \"halo\"\ngrid = [0]\nsizes = [\"1 KB\"]\n",
            "`grid` must be one to three numbers above 0",
        ),
        ("skeleton = \"halo\"\ngrid = [1]\nsizes = [\"1 KB\"]\n", "(got 1)"),
        ("skeleton = \"halo\"\ngrid = [4]\nsizes = []\n", "`sizes` must be one or more sizes"),
        ("collective = \"allgather\"\nalgorithm = \"binomial\"\nranks = 4\nsize = \"1 KB\"\n", "binomial"),
        ("collective = \"alltoall\"\nranks = 4\nsize = \"0 B\"\n", "`size` must be greater than 0"),
        (
            "collective = \"allgather\"\nalgorithm = \"recursive_doubling\"\nranks = 12\nsize = \"1 KB\"\n",
            "must be a power of two",
        ),
        ("collective = \"gather\"\nranks = 4\nsize = \"1000 TB\"\nscale = 1_000_000\n", "(got 2000000"),
        ("collective = \"gather\"\nranks = 16\nsize = \"100_000 TB\"\n", "at most 2^60 bytes"),
        (
            "skeleton = \"halo\"\ngrid = [2]\nsizes = [\"18_000_000 TB\", \"18_000_000 TB\"]\n",
            "(got 18000000000000000000 bytes)",
        ),
    ] {
        let problem = problem(workload);
        assert!(problem.contains(refusal), "{workload}: {problem}");
    }
}
