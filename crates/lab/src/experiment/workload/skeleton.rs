//! Workloads that Raddle generates as programs: skeletons of known programs, halo exchanges on a grid, and collective
//! operations.

use super::keys::{
    ALGORITHM, CLASS, COLLECTIVE, COMPUTE, CORNERS, GRID, HALO_SIZES, ITERATIONS, RANKS, SCALED, SIZE,
    SKELETON, WRAPS,
};
use crate::experiment::keys::Declared;
use crate::experiment::problem::Problem;
use crate::experiment::section::Section;
use raddle_core::Bytes;
use raddle_workload::WorkloadError;
use raddle_workload::mpi::collectives::{ALGORITHMS, Algorithm, Collective};
use raddle_workload::mpi::nas::Class;
use raddle_workload::mpi::{Halo, KNOWN, Known, Skeleton};

/// The name of the skeleton for which the user gives all parameters.
pub(super) const HALO: &str = "halo";

/// Reads the skeleton that the key `skeleton` names. The second result is the published factor by which message sizes
/// are multiplied, if `scaled` is true.
pub(crate) fn read_skeleton(section: &mut Section<'_>) -> Result<(Skeleton, Option<u64>), Problem> {
    let names: Vec<_> = KNOWN.iter().map(|known| (known.name, Some(known))).chain([(HALO, None)]).collect();
    let (skeleton, known) = match section.choose(&SKELETON, &names)? {
        Some(known) => (read_known(section, known)?, Some(known)),
        None => (read_halo(section)?, None),
    };
    let skeleton = read_rhythm(section, skeleton)?;
    if !section.read(&SCALED)? {
        return Ok((skeleton, None));
    }
    let Some(scale) = known.and_then(|known| known.scale) else {
        let hint = "leave `scaled` out, and give the factor in `scale`";
        return Err(section.contradiction(
            &SCALED,
            "`scaled` needs a published factor, but this skeleton has no published factor",
            hint,
        ));
    };
    Ok((skeleton, Some(scale)))
}

fn read_known(section: &mut Section<'_>, known: &Known) -> Result<Skeleton, Problem> {
    let ranks = section.read(&RANKS)?;
    let class = match known.class() {
        None => None,
        Some(usual) => {
            let usual = Class::ALL.iter().find(|&&(_, class)| class == usual).map(|&(letter, _)| letter);
            Some(section.choose_or(&CLASS, &Class::ALL, usual)?)
        }
    };
    let sums = if known.sums_vectors() { Some(read_algorithm(section, "allreduce")?) } else { None };
    known.skeleton_with(class, ranks, sums).map_err(|error| refused(section, &RANKS, &error))
}

fn read_halo(section: &mut Section<'_>) -> Result<Skeleton, Problem> {
    let dims = section.read(&GRID)?;
    let grid = std::array::from_fn(|axis| dims.get(axis).copied().unwrap_or(1));
    let sizes = section.read(&HALO_SIZES)?;
    let halo = Halo::new(grid, 0).map_err(|error| refused(section, &GRID, &error))?;
    let halo = Halo {
        wraps: section.read(&WRAPS)?,
        corners: section.read(&CORNERS)?,
        exchanges: sizes.into_iter().map(|Bytes(bytes)| [bytes; 3]).collect(),
        ..halo
    };
    Ok(Skeleton::new(halo))
}

/// Reads the collective operation that the key `collective` names.
pub(super) fn read_collective(section: &mut Section<'_>) -> Result<Skeleton, Problem> {
    let mut operations: Vec<_> = ALGORITHMS.iter().map(|a| (a.operation, a.operation)).collect();
    operations.dedup();
    let operation = section.choose(&COLLECTIVE, &operations)?;
    let algorithm = read_algorithm(section, operation)?;
    let ranks = section.read(&RANKS)?;
    // A barrier has no `size`, since its messages carry no data. The value 1 has no effect.
    let Bytes(bytes) = if operation == "barrier" { Bytes(1) } else { section.read(&SIZE)? };
    let collective = Collective::new(algorithm, ranks, bytes).map_err(|error| {
        let of_size = matches!(error, WorkloadError::Parameter { name: "size", .. });
        let key: &dyn Declared = if of_size { &SIZE } else { &RANKS };
        refused(section, key, &error)
    })?;
    read_rhythm(section, Skeleton::new(collective))
}

/// Reads the algorithm for an operation, or takes the operation's first algorithm.
fn read_algorithm(section: &mut Section<'_>, operation: &str) -> Result<Algorithm, Problem> {
    let algorithms: Vec<_> = Algorithm::of(operation).map(|algorithm| (algorithm.name, algorithm)).collect();
    let usual = algorithms.first().map(|&(name, _)| name);
    section.choose_or(&ALGORITHM, &algorithms, usual)
}

/// Reads the number of iterations, and the time for which ranks compute in each iteration.
fn read_rhythm(section: &mut Section<'_>, skeleton: Skeleton) -> Result<Skeleton, Problem> {
    let iterations = section.or(&ITERATIONS, skeleton.iterations)?;
    let compute = section.or(&COMPUTE, skeleton.compute)?;
    Ok(Skeleton { iterations, compute, ..skeleton })
}

fn refused(section: &Section<'_>, key: &dyn Declared, error: &WorkloadError) -> Problem {
    section.contradiction(key, error.to_string(), "see `raddle list workloads`")
}
