//! Finds small whole numbers in nearly the same proportions as the capacities (WCMP §4.2, Algorithm 1).

/// The number of entries of each next hop in a table of at most `table` entries. The next hops of one destination are a
/// group, and each is a member of the group. Each member has at least one entry, even if the table is too small.
///
/// If exact proportions fit in the table, the result is exact. Otherwise the group starts with one entry per member and
/// grows by one entry at a time. The overload of a member is the ratio of its actual share to its intended share. The
/// new entry goes to the member whose overload with this entry is the least. Of the groups of all sizes, the result is
/// the group whose greatest overload is the least. (The paper's algorithm instead grows a group until its greatest
/// overload is at most a given value, and lowers the demands until all groups of a switch fit.)
///
/// # Panics
/// If a capacity is zero.
pub(super) fn fit(capacities: &[u128], table: usize) -> Vec<usize> {
    assert!(capacities.iter().all(|&capacity| capacity > 0), "every next hop must have a capacity above 0");
    let unit = capacities.iter().copied().reduce(gcd).unwrap_or(1);
    let total: u128 = capacities.iter().sum();
    if total / unit <= table as u128 {
        return capacities.iter().map(|&capacity| (capacity / unit) as usize).collect();
    }
    let share = |capacity: u128| capacity as f64 / total as f64;
    let shares: Vec<f64> = capacities.iter().map(|&capacity| share(capacity)).collect();
    let mut entries = vec![1; capacities.len()];
    let mut best = (oversubscription(&entries, &shares), entries.clone());
    for _ in entries.len()..table {
        // The total number of entries after growth does not depend on the member that grows, so the comparison omits
        // the total.
        let load = |i: &usize| (entries[*i] + 1) as f64 / shares[*i];
        let member = (0..entries.len()).min_by(|a, b| load(a).total_cmp(&load(b))).expect("a member");
        entries[member] += 1;
        let now = oversubscription(&entries, &shares);
        if now < best.0 {
            best = (now, entries.clone());
        }
    }
    best.1
}

/// The greatest ratio of a member's actual share to its intended share (WCMP §4.1, equation 2).
fn oversubscription(entries: &[usize], shares: &[f64]) -> f64 {
    let total: usize = entries.iter().sum();
    let load = |(&entries, share): (&usize, &f64)| entries as f64 / (total as f64 * share);
    entries.iter().zip(shares).map(load).fold(0.0, f64::max)
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weights_that_fit_the_table_are_exact() {
        assert_eq!(fit(&[10, 20], 16), [1, 2]);
        assert_eq!(fit(&[20, 20, 20, 20], 16), [1; 4]);
        assert_eq!(fit(&[30; 20], 16), [1; 20], "a table that is too small for its members");
        assert_eq!(fit(&[5, 6, 5], 16), [5, 6, 5]);
        assert_eq!(fit(&[7], 16), [1]);
    }

    /// Six switches lead to 35 core paths, because one switch has lost a core: 5, 6, 6, 6, 6, 6. With one entry each,
    /// the first switch gets 35/30 = 1.167 times its share. Then the other five switches get a second entry, one by
    /// one. When all five have two entries, each gets 2·35/(11·6) = 1.061 times its share. With 16 entries, the
    /// greatest ratio would be 3·35/(16·6) = 1.094, so eleven entries are better.
    #[test]
    fn oracle_one_core_of_six_lost() {
        assert_eq!(fit(&[5, 6, 6, 6, 6, 6], 16), [1, 2, 2, 2, 2, 2]);
        assert_eq!(fit(&[5, 6, 6, 6, 6, 6], 35), [5, 6, 6, 6, 6, 6]);
        assert_eq!(fit(&[5, 6, 6, 6, 6, 6], 9), [1; 6], "nothing up to nine entries is better than one each");
    }

    proptest! {
        #[test]
        fn tables_hold_all_members_and_larger_ones_are_no_worse(
            capacities in prop::collection::vec(1_u128..50, 1..12),
        ) {
            let total: u128 = capacities.iter().sum();
            let shares: Vec<f64> = capacities.iter().map(|&c| c as f64 / total as f64).collect();
            let mut last = f64::INFINITY;
            for table in 1..40 {
                let entries = fit(&capacities, table);
                prop_assert!(entries.iter().all(|&n| n > 0));
                prop_assert!(entries.iter().sum::<usize>() <= table.max(capacities.len()));
                let now = oversubscription(&entries, &shares);
                prop_assert!(now <= last + 1e-9, "{} {:?}", table, entries);
                last = now;
            }
        }
    }
}
