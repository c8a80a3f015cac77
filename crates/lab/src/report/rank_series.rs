//! The activity of a program's ranks over time, in the form that the page needs.

use super::axis::{Axis, column};
use super::run::short;
use super::series::base64;
use crate::Error;
use raddle_records::Table;
use serde_json::{Value, json};
use std::path::Path;

/// Maximum number of ranks that the page draws. If there are more ranks, it draws the slowest and the fastest ranks.
const MOST_RANKS: usize = 64;

/// The times for which each drawn rank computed, sent and received, from the table in `file`. `ends` are the end times
/// of all ranks in us; `None` for a rank that did not finish. Returns `None` if the run did not record these times.
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
    let lane = |name: &str| -> Result<Value, Error> {
        let (mut shares, mut sums) = (vec![0; drawn.len() * count], vec![0; drawn.len()]);
        for (i, time) in column(&table, name)?.into_iter().enumerate() {
            let rank = usize::try_from(ranks[i]).unwrap_or(usize::MAX);
            let Some(place) = places.get(rank).copied().flatten() else { continue };
            shares[place * count + axis.interval(i)] = share(time, axis.length_ps(i));
            sums[place] += time;
        }
        let us: Vec<f64> = sums.into_iter().map(|ps: u64| short(ps as f64 / 1e6)).collect();
        Ok(json!({ "shares": base64(&shares), "us": us }))
    };
    Ok(Some(json!({
        "begin_us": axis.begin_us(),
        "interval_us": axis.interval_us(),
        "count": count,
        "ranks": drawn,
        "computing": lane("computing_ps")?,
        "sending": lane("sending_ps")?,
        "receiving": lane("receiving_ps")?,
    })))
}

/// The share of `time` in an interval of length `of`, as a byte: 255 for the whole interval. Any time above 0 gives at
/// least 1, so that the page draws it.
fn share(time: u64, of: u64) -> u8 {
    u8::try_from((u128::from(time) * 255).div_ceil(u128::from(of)).min(255)).expect("at most 255")
}

/// The ranks that the page draws: all in order of their numbers, or the slowest ranks and then the fastest ranks.
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
    use raddle_records::{RankSeriesRecord, TableWriter};

    #[test]
    fn of_many_ranks_the_slowest_and_the_fastest_are_drawn() {
        assert_eq!(drawn(&[Some(2.0), None, Some(1.0)]), [0, 1, 2]);
        let ends: Vec<_> = (0..1_000).map(|rank| (rank != 7).then_some(f64::from(rank))).collect();
        let drawn = drawn(&ends);
        assert_eq!((drawn.len(), drawn[0], drawn[1], drawn[63]), (64, 7, 999, 0));
        assert!(drawn[31] > 900 && drawn[32] < 100, "{drawn:?}");
    }

    #[test]
    fn the_sums_of_short_times_are_exact() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rank_series.parquet");
        let mut table = TableWriter::create(&file).expect("a file");
        for i in 0..100 {
            let (from_ps, to_ps) = (i * 2_000_000, (i + 1) * 2_000_000);
            let row =
                RankSeriesRecord { from_ps, to_ps, computing_ps: 10_000, ..RankSeriesRecord::default() };
            table.push(&row).expect("written");
        }
        table.finish(true, &[]).expect("written");
        let json = json(&file, &[Some(200.0)]).expect("a table").expect("rows");
        assert_eq!((&json["computing"]["us"], &json["sending"]["us"]), (&json!([1.0]), &json!([0.0])));
    }

    #[test]
    fn a_share_of_an_interval_is_a_byte() {
        assert_eq!([share(0, 10), share(1, 1_000_000), share(5, 10), share(11, 10)], [0, 1, 128, 255]);
    }
}
