//! Rates for tables of flows, in which a key identifies each flow. The rates of each table are computed from the rates
//! of the previous table.

use super::Incremental;

/// A table's flows and their rates. Successive tables differ by few flows, so the rates of a table are
/// computed from the rates of the previous table. The rates are nevertheless a bit-exact function of the
/// table.
#[derive(Debug, Clone)]
pub struct RateTable<K> {
    /// Flows in order of keys, each with its slot.
    flows: Vec<(K, usize)>,
    /// Working memory: the flows of the previous table that are also in the new table.
    kept: Vec<(K, usize)>,
    incremental: Incremental,
}

impl<K: Ord + Copy> RateTable<K> {
    /// Creates an empty table over links with these usable capacities, in bit/s.
    #[must_use]
    pub fn new(links: &[f64]) -> Self {
        Self { flows: Vec::new(), kept: Vec::new(), incremental: Incremental::new(links) }
    }

    /// Returns the rates of the flows with these keys, in bit/s and in the order of `keys`, which must be ascending.
    /// A key that the previous table also had must stand for the same flow. If the previous table did not have a key,
    /// `insert` inserts its flow and returns the flow's slot.
    pub fn rates(
        &mut self,
        keys: &[K],
        mut insert: impl FnMut(&K, &mut Incremental) -> usize,
    ) -> impl ExactSizeIterator<Item = f64> {
        debug_assert!(keys.is_sorted());
        let mut wanted = keys.iter().peekable();
        self.kept.clear();
        for (key, slot) in self.flows.drain(..) {
            while wanted.next_if(|&&wanted| wanted < key).is_some() {}
            if wanted.peek() == Some(&&key) {
                self.kept.push((key, slot));
            } else {
                self.incremental.remove(slot);
            }
        }
        let mut kept = self.kept.iter().peekable();
        for key in keys {
            let slot = match kept.next_if(|(kept, _)| kept == key) {
                Some(&(_, slot)) => slot,
                None => insert(key, &mut self.incremental),
            };
            self.flows.push((*key, slot));
        }
        self.incremental.settle();
        self.flows.iter().map(|&(_, slot)| self.incremental.rate(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_edited_into_the_next() {
        let mut table = RateTable::new(&[1.0, 2.0]);
        let mut inserted = Vec::new();
        let mut rates = |keys: &[u32]| -> Vec<f64> {
            let mut insert = |key: &u32, flows: &mut Incremental| {
                inserted.push(*key);
                flows.insert(1.0, 0, f64::INFINITY, [(key % 2, 1.0)])
            };
            table.rates(keys, &mut insert).collect()
        };
        assert_eq!(rates(&[2, 3, 5]), [1.0, 1.0, 1.0]);
        assert_eq!(rates(&[1, 3, 4, 8]), [1.0, 1.0, 0.5, 0.5]);
        assert_eq!(rates(&[1]), [2.0]);
        assert_eq!(inserted, [2, 3, 5, 1, 4, 8], "only new flows must be inserted");
    }
}
