//! Arrays that are functions of a key, computed on first use.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

/// Greatest total number of elements in the arrays of a [`Memo`]. A single larger array is still stored, alone.
const MOST: usize = 1 << 22;

/// A cache of arrays. If a further array would make the total number of elements exceed the limit, the cache first
/// drops all other arrays. No cache therefore grows with the square of the number of nodes. The limit affects memory
/// and speed, but no result.
#[derive(Debug)]
pub struct Memo<K, T> {
    known: RwLock<Known<K, T>>,
}

#[derive(Debug)]
struct Known<K, T> {
    arrays: FxHashMap<K, Arc<[T]>>,
    elements: usize,
}

impl<K, T> Default for Memo<K, T> {
    fn default() -> Self {
        Self { known: RwLock::new(Known { arrays: FxHashMap::default(), elements: 0 }) }
    }
}

impl<K: Eq + Hash, T> Memo<K, T> {
    /// Returns the array of `key`. If the array is not in the cache, `make` computes it.
    pub fn get(&self, key: K, make: impl FnOnce() -> Vec<T>) -> Arc<[T]> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(array) = known.arrays.get(&key) {
            return Arc::clone(array);
        }
        drop(known);
        let array: Arc<[T]> = make().into();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.elements + array.len() > MOST {
            known.arrays.clear();
            known.elements = 0;
        }
        // Another thread may have stored the same array meanwhile.
        if known.arrays.insert(key, Arc::clone(&array)).is_none() {
            known.elements += array.len();
        }
        array
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_remembered_until_they_are_too_many() {
        let memo = Memo::default();
        let mut made = 0;
        let mut get = |key: usize| {
            let array = memo.get(key, || {
                made += 1;
                vec![key as u8; MOST / 4]
            });
            assert!(array.len() == MOST / 4 && array[0] == key as u8);
            made
        };
        assert_eq!([get(0), get(1), get(2), get(3), get(0), get(3)], [1, 2, 3, 4, 4, 4]);
        assert_eq!([get(4), get(4), get(0)], [5, 5, 6], "storing the fifth array must remove the first four");
    }
}
