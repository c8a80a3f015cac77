//! `[compute] kind = "messages"`: sizes of the messages that skeletons of programs send in one iteration.
//!
//! Quantities of each program: the bytes of the `mean` and the `largest` message, multiplied by `scale`, or by the
//! published factor if `scaled` is true.

use super::keys::{PROGRAM_LABEL, PROGRAMS};
use super::{needed, run};
use crate::experiment::{Problem, SCALE, Section, read_skeleton};
use crate::figure::runs::{Data, Run};
use raddle_workload::mpi::Skeleton;

/// Computes every quantity of every program.
pub(super) fn measure(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let mut runs = Vec::new();
    for mut program in needed(section, &PROGRAMS)? {
        let label = program.read(&PROGRAM_LABEL)?;
        let (skeleton, published) = read_skeleton(&mut program)?;
        let scale = published.map_or_else(|| program.read(&SCALE), Ok)? as f64;
        program.finish()?;
        let traffic = Skeleton { iterations: 1, ..skeleton }.traffic();
        for (quantity, bytes) in [("mean", traffic.mean()), ("largest", traffic.largest() as f64)] {
            runs.push(run(&[("quantity", quantity), ("program", &label)], Data::Number(bytes * scale)));
        }
    }
    Ok(runs)
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
    }
}
