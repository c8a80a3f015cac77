//! Reserves cores for the threads that poll a rack of Linux hosts. The other cores run the hosts' programs, and all
//! the work of the hosts' kernels on a frame that has crossed the rack (receive packet steering). A polling thread
//! only hands the frame over.
//!
//! A kernel answers an acknowledgement with further segments at once. Without reserved cores, the polling thread that
//! hands over the acknowledgement would do this work. In measurements, this work took most of the thread's time, and a
//! switch carried half as much TCP traffic.

use super::namespace::running;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::io::{self, Write};

/// The division of the cores that this process may use.
#[derive(Debug)]
pub(in crate::rack) struct Cores {
    /// Indexed by polling thread: the thread's core.
    polling: Vec<usize>,
    others: CpuSet,
}

impl Cores {
    /// Divides the cores that this thread may use and that have no polling thread of another run. Returns `None` if
    /// there are too few cores. In this case polling threads share their cores with all other work.
    pub(super) fn divide(threads: usize) -> Option<Self> {
        let mut free = sched_getaffinity(None).ok()?;
        for run in running() {
            // The affinity of a run's main thread lacks the cores of the run's polling threads, and the cores that
            // other runs' polling threads had when that run started.
            let Some(kept) =
                Pid::from_raw(run.process as i32).and_then(|run| sched_getaffinity(Some(run)).ok())
            else {
                continue;
            };
            numbers(&free).filter(|&core| !kept.is_set(core)).for_each(|core| free.unset(core));
        }
        Self::of(free, threads)
    }

    fn of(free: CpuSet, threads: usize) -> Option<Self> {
        if free.count() as usize <= threads {
            return None;
        }
        // The first core usually serves the machine's devices, so the polling threads get the last cores.
        let mut polling: Vec<usize> = numbers(&free).collect();
        let polling = polling.split_off(polling.len() - threads);
        let mut others = free;
        polling.iter().for_each(|&core| others.unset(core));
        Some(Self { polling, others })
    }

    /// Moves this thread, which is polling thread number `thread`, to its core.
    pub(in crate::rack) fn poll(&self, thread: usize) {
        let mut own = CpuSet::new();
        own.set(self.polling[thread]);
        // If the system refuses, for example because the core is offline, the thread keeps the cores that it could use
        // before.
        let _ = sched_setaffinity(None, &own);
    }

    /// Keeps this thread, and the threads that it will start, off the cores of polling threads. Also keeps all cores
    /// awake. Dropping the returned value ends both effects.
    pub(in crate::rack) fn leave(&self) -> Left {
        let before = sched_getaffinity(None).ok();
        let _ = sched_setaffinity(None, &self.others);
        Left { before, _awake: keep_awake() }
    }

    /// The cores without a polling thread.
    pub(super) fn others(&self) -> CpuSet {
        self.others
    }

    /// The cores without a polling thread, as a mask in the kernel's format: groups of 32 cores in hexadecimal, the
    /// highest group first.
    pub(super) fn mask_of_others(&self) -> String {
        let groups = numbers(&self.others).last().map_or(0, |last| last / 32 + 1);
        let group = |group: usize| {
            let bits = (0..32)
                .filter(|bit| self.others.is_set(group * 32 + bit))
                .fold(0_u32, |all, bit| all | 1 << bit);
            format!("{bits:08x}")
        };
        (0..groups).rev().map(group).collect::<Vec<_>>().join(",")
    }
}

/// Until this value is dropped, a thread is kept off the cores of polling threads, and all cores are kept awake.
pub(in crate::rack) struct Left {
    before: Option<CpuSet>,
    _awake: Option<File>,
}

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Asks Linux to keep idle cores awake while the returned file is open (Linux documentation, `pm_qos_interface`).
/// Waking a core takes longer than a frame takes to cross a switch. On a machine without this interface, idle cores
/// may sleep.
fn keep_awake() -> Option<File> {
    let mut latency = File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    let most_us: i32 = 0;
    latency.write_all(&most_us.to_ne_bytes()).ok()?;
    Some(latency)
}

/// Keeps this thread off the cores of the polling threads of another process's run.
///
/// # Errors
/// If the process does not exist, or the system refuses.
pub(super) fn leave_those_of(process: u32) -> io::Result<()> {
    let Some(run) = Pid::from_raw(process as i32) else { return Ok(()) };
    Ok(sched_setaffinity(None, &sched_getaffinity(Some(run))?)?)
}

/// The indices of the cores in a set.
fn numbers(set: &CpuSet) -> impl Iterator<Item = usize> + use<> {
    let set = *set;
    (0..CpuSet::MAX_CPU).filter(move |&core| set.is_set(core))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(cores: &[usize]) -> CpuSet {
        let mut set = CpuSet::new();
        cores.iter().for_each(|&core| set.set(core));
        set
    }

    #[test]
    fn polling_threads_get_the_last_cores_and_everything_else_the_others() {
        let cores = Cores::of(set(&[0, 3, 33, 70]), 2).expect("enough");
        assert_eq!((&cores.polling[..], cores.mask_of_others().as_str()), (&[33, 70][..], "00000009"));
        let cores = Cores::of(set(&[1, 64, 70]), 1).expect("enough");
        assert_eq!(cores.mask_of_others(), "00000001,00000000,00000002");
        assert!(Cores::of(set(&[4, 5]), 2).is_none(), "no core would be left");
    }

    #[test]
    fn a_thread_is_kept_from_polled_cores_for_a_while() {
        let all = sched_getaffinity(None).expect("a thread has cores");
        let Some(cores) = Cores::of(all, 1) else { return };
        let left = cores.leave();
        assert_eq!(sched_getaffinity(None).ok(), Some(cores.others));
        drop(left);
        assert_eq!(sched_getaffinity(None).ok(), Some(all));
    }
}
