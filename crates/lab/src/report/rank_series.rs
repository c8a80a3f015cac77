//! The activity of a program's ranks over time, in the form that the page needs.

use super::axis::{Axis, column};
use super::series::base64;
use crate::Error;
use raddle_records::Table;
use serde_json::{Value, json};
use std::path::Path;

/// The largest number of ranks that the page draws. Of more ranks it draws the slowest and the fastest.
const MOST_RANKS: usize = 64;

/// The times in `file`. `ends` are the ends of all ranks in us; `None` for a rank that did not finish. Returns `None` if
/// the run did not record any.
pub(super) fn json(file: &Path, ends: &[Option<f64>]) -> Result<Option<Value>, Error> {
    if !file.exists() {
        return Ok(None);
    }
    let table = Table::read(file)?;
    let Some(axis) = Axis::read(&table)? else { return Ok(None) };
    let ranks = column(&table, "rank")?;
    let count = axis.count;
    let drawn = drawn(ends);
    let mut places = vec![None; ends.len()];
    for (place, &rank) in drawn.iter().enumerate() {
        places[rank] = Some(place);
    }
    let shares = |name: &str| -> Result<String, Error> {
        let mut bytes = vec![0; drawn.len() * count];
        for (i, time) in column(&table, name)?.into_iter().enumerate() {
            let rank = usize::try_from(ranks[i]).unwrap_or(usize::MAX);
            let Some(place) = places.get(rank).copied().flatten() else { continue };
            bytes[place * count + axis.interval(i)] = share(time, axis.length_ps(i));
        }
        Ok(base64(&bytes))
    };
    Ok(Some(json!({
        "begin_us": axis.begin_us(),
        "interval_us": axis.interval_us(),
        "count": count,
        "ranks": drawn,
        "computing": shares("computing_ps")?,
        "sending": shares("sending_ps")?,
        "receiving": shares("receiving_ps")?,
    })))
}

/// A share of an interval as a byte, 255 for the whole interval.
fn share(time: u64, of: u64) -> u8 {
    u8::try_from((u128::from(time) * 255).div_ceil(u128::from(of)).min(255)).expect("at most 255")
}

/// The ranks that the page draws: all in order, or the slowest ones and then the fastest ones.
fn drawn(ends: &[Option<f64>]) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..ends.len()).collect();
    if ranks.len() > MOST_RANKS {
        let end = |rank: usize| ends[rank].unwrap_or(f64::INFINITY);
        ranks.sort_by(|&a, &b| end(b).total_cmp(&end(a)));
        ranks.drain(MOST_RANKS / 2..ranks.len() - MOST_RANKS / 2);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_ranks_the_slowest_and_the_fastest_are_drawn() {
        assert_eq!(drawn(&[Some(2.0), None, Some(1.0)]), [0, 1, 2]);
        let ends: Vec<_> = (0..1_000).map(|rank| (rank != 7).then_some(f64::from(rank))).collect();
        let drawn = drawn(&ends);
        assert_eq!((drawn.len(), drawn[0], drawn[1], drawn[63]), (64, 7, 999, 0));
        assert!(drawn[31] > 900 && drawn[32] < 100, "{drawn:?}");
    }

    #[test]
    fn a_share_of_an_interval_is_a_byte() {
        assert_eq!([share(0, 10), share(1, 1_000_000), share(5, 10), share(11, 10)], [0, 1, 128, 255]);
    }
}
