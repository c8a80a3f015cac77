//! Work that several threads share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The results of `work` for the numbers below `count`, in order. If `work` fails, the error is that of the lowest number.
/// Neither depends on the number of threads.
pub(super) fn in_parallel<T: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let share = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return;
            }
            let result = work(i);
            results.lock().unwrap_or_else(PoisonError::into_inner).push((i, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(share);
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|&(i, _)| i);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::in_parallel;

    #[test]
    fn results_and_errors_do_not_depend_on_the_number_of_threads() {
        for threads in [1, 2, 7] {
            assert_eq!(in_parallel(threads, 9, Ok), Ok((0..9).collect()));
            let late = |i: usize| if i < 3 { Ok(i) } else { Err(i.to_string()) };
            assert_eq!(in_parallel(threads, 9, late), Err("3".to_owned()));
        }
    }
}
