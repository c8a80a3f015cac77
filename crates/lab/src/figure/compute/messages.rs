//! `[compute] kind = "messages"`: sizes of the messages that skeletons of programs send in a run with one iteration.
//!
//! Quantities of each program: the bytes of the `mean` and the `largest` message, multiplied by `scale`, or by the
//! published factor if `scaled` is true. With the key `rendezvous`, there is also the `mean with requests`. It counts
//! each message whose size before scaling is at least `rendezvous` as three: the request, the answer and the message
//! itself. The bytes of requests and answers do not count.

use super::keys::{PROGRAM_LABEL, PROGRAMS, RENDEZVOUS};
use super::{needed, run};
use crate::experiment::{Problem, SCALE, Section, read_skeleton};
use crate::figure::runs::{Data, Run};
use raddle_core::Bytes;
use raddle_workload::goal::{Operation, Statement};
use raddle_workload::mpi::Skeleton;

/// Computes every quantity of every program.
pub(super) fn measure(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let mut runs = Vec::new();
    for mut program in needed(section, &PROGRAMS)? {
        let label = program.read(&PROGRAM_LABEL)?;
        let (skeleton, published) = read_skeleton(&mut program)?;
        let scale = published.map_or_else(|| program.read(&SCALE), Ok)? as f64;
        let rendezvous = program.get(&RENDEZVOUS)?;
        program.finish()?;
        let skeleton = Skeleton { iterations: 1, ..skeleton };
        let traffic = skeleton.traffic();
        let mut put = |quantity, bytes: f64| {
            runs.push(run(&[("quantity", quantity), ("program", &label)], Data::Number(bytes * scale)));
        };
        put("mean", traffic.mean());
        put("largest", traffic.largest() as f64);
        if let Some(least) = rendezvous {
            let total = traffic.total();
            let counted = total.messages + 2 * large_messages(&skeleton, least);
            put("mean with requests", total.bytes as f64 / counted as f64);
        }
    }
    Ok(runs)
}

/// The number of messages of at least `least` bytes that all ranks send.
fn large_messages(skeleton: &Skeleton, least: Bytes) -> u64 {
    // Generated programs contain no errors, so `flatten` drops nothing.
    let lines = (0..skeleton.ranks()).flat_map(|rank| skeleton.program(rank)).flatten();
    let is_large = |statement: &Statement| matches!(*statement, Statement::Operation { operation: Operation::Send { bytes, .. }, .. } if bytes >= least.0);
    lines.filter(|line| is_large(&line.statement)).count() as u64
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;

    #[test]
    fn messages_are_of_one_iteration_and_scaled() {
        let programs = |keys: &str| {
            let text = format!(
                "[compute]\nkind = \"messages\"\nprograms = [{{ label = \"halo\", skeleton = \"halo\", grid = [2], {keys} }}]\n"
            );
            let numbers = numbers(&text).expect("programs");
            numbers.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
        };
        assert_eq!(programs("sizes = [\"3 KB\", \"1 KB\"]"), [2e3, 3e3]);
        assert_eq!(programs("sizes = [\"3 KB\", \"1 KB\"], iterations = 7, scale = 10"), [2e4, 3e4]);
        // Each rank sends 4 KB in two messages. The larger message counts as three messages, so the mean is 1 KB before
        // scaling.
        assert_eq!(
            programs("sizes = [\"3 KB\", \"1 KB\"], rendezvous = \"3 KB\", scale = 10"),
            [2e4, 3e4, 1e4]
        );
    }
}
