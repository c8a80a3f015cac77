//! The skeletons by name.

use super::nas::{Bt, Cg, Class, Ft, Is, Mg};
use super::{Application, Halo, Skeleton};
use crate::WorkloadError;
use std::sync::Arc;

type Build = fn(Class, u32) -> Result<Arc<dyn Application>, WorkloadError>;

/// A program whose skeleton can be generated.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The class that is meant if none is named, for programs that have classes: that of specs/cee.md §6.5.
    pub class: Option<Class>,
    /// What its messages are multiplied by in specs/cee.md §6.5, Table II, if it stands there.
    pub scale: Option<u64>,
    build: Build,
}

impl Known {
    /// The program of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// Its skeleton for so many ranks, of a class or its usual one. Programs without classes heed none.
    ///
    /// # Errors
    /// If it cannot be for that number of ranks.
    pub fn skeleton(&self, class: Option<Class>, ranks: u32) -> Result<Skeleton, WorkloadError> {
        Ok((self.build)(class.or(self.class).unwrap_or(Class::A), ranks)?.into())
    }
}

/// All programs, NAS first.
pub const KNOWN: [Known; 9] = [
    Known {
        name: "bt",
        summary: "NAS BT, block-tridiagonal solver: sweeps over a square of ranks",
        class: Some(Class::C),
        scale: Some(10),
        build: |class, ranks| Ok(Arc::new(Bt::new(class, ranks)?)),
    },
    Known {
        name: "cg",
        summary: "NAS CG, conjugate gradients: sums over rows of ranks and a transposition; a power of two of ranks",
        class: Some(Class::D),
        scale: Some(10),
        build: |class, ranks| Ok(Arc::new(Cg::new(class, ranks)?)),
    },
    Known {
        name: "ft",
        summary: "NAS FT, Fourier transform: all to all; a power of two of ranks",
        class: Some(Class::C),
        scale: Some(30),
        build: |class, ranks| Ok(Arc::new(Ft::new(class, ranks)?)),
    },
    Known {
        name: "is",
        summary: "NAS IS, integer sort: sums of buckets, all to all; a power of two of ranks",
        class: Some(Class::A),
        scale: Some(1_000),
        build: |class, ranks| Ok(Arc::new(Is::new(class, ranks)?)),
    },
    Known {
        name: "mg",
        summary: "NAS MG, multigrid: faces in three dimensions, on all levels; a power of two of ranks",
        class: Some(Class::C),
        scale: Some(100),
        build: |class, ranks| Ok(Arc::new(Mg::new(class, ranks)?)),
    },
    Known {
        name: "wrf",
        summary: "like the weather model WRF: halos in two dimensions, few large and many small",
        class: None,
        scale: Some(100),
        build: |_, ranks| Ok(Arc::new(Halo::wrf(ranks)?)),
    },
    Known {
        name: "namd",
        summary: "like the molecular dynamics of NAMD: 26 neighbours in three dimensions with wrap-around",
        class: None,
        scale: None,
        build: |_, ranks| Ok(Arc::new(Halo::namd(ranks)?)),
    },
    Known {
        name: "liso",
        summary: "like the solver LISO: small halos in two dimensions",
        class: None,
        scale: Some(10),
        build: |_, ranks| Ok(Arc::new(Halo::liso(ranks)?)),
    },
    Known {
        name: "airbus",
        summary: "like the flow around an aircraft: faces in three dimensions and a sum",
        class: None,
        scale: None,
        build: |_, ranks| Ok(Arc::new(Halo::airbus(ranks)?)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and largest message of a skeleton's main loop, at the paper's number of ranks.
    fn measured(name: &str) -> (f64, f64) {
        let ranks = if ["bt", "wrf"].contains(&name) { 256 } else { 128 };
        let skeleton = Known::named(name).unwrap().skeleton(None, ranks).unwrap();
        let traffic = Skeleton { iterations: 1, ..skeleton }.traffic();
        (traffic.mean(), traffic.largest() as f64)
    }

    #[test]
    fn print_table() {
        for name in ["bt", "cg", "ft", "is", "liso", "mg", "wrf", "namd", "airbus"] {
            let known = Known::named(name).unwrap();
            let ranks = if ["bt", "wrf"].contains(&name) { 256 } else { 128 };
            let skeleton = known.skeleton(None, ranks).unwrap();
            let (mean, max) = measured(name);
            eprintln!("{name} {mean} {max} {:?}", skeleton.compute);
        }
    }
}
