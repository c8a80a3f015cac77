//! Workloads whose flows are drawn at random: their arrivals, sizes, pairs and number of flows.

use super::keys::{
    APP_RATE, ARRIVALS, ARRIVALS_KEYS, ARRIVALS_KIND, ARRIVALS_LOAD, BELOW, BURST, BY, CDF, DEADLINE,
    DEADLINES, DEADLINES_KEYS, DEADLINES_KIND, DURATION, EDGE, EXACT, FIXED_SIZE, FLOWS, FRACTION, FRAME,
    FROM, GAP, JITTER, MAX, MEAN, MEAN_DEADLINE, MEAN_GAP, MEAN_SIZE, MIN, MIN_DEADLINE, ONCE, PAIRS,
    PAIRS_KEYS, PAIRS_KIND, POD, PODS, RADIX, RATE, RECEIVER, SENDER_LOAD, SENDERS, SHAPE, SIZES, SIZES_KEYS,
    SIZES_KIND, TIMES, TRUNCATE, UNIT,
};
use super::process::read_process;
use super::read_weight_and_priority;
use crate::experiment::file::Files;
use crate::experiment::keys::{Declared, Key, Kinded};
use crate::experiment::problem::{Cause, Problem};
use crate::experiment::section::{Fraction, Section};
use crate::experiment::value::Table;
use raddle_core::{Bytes, Duration, NodeId, Process};
use raddle_workload::{
    Amount, Arrivals, Deadlines, Digits, PUBLISHED, Pairs, PerHost, Published, SizeCdf, Sizes, Workload,
};

/// Reads a workload whose flows are drawn.
pub(super) fn read_generated(section: &mut Section<'_>, files: &Files) -> Result<Workload, Problem> {
    let arrivals = part(section, &ARRIVALS)?;
    let (arrivals, frame, resolved) = read_arrivals(Section::new(&arrivals, &ARRIVALS_KEYS))?;
    let sizes = match frame {
        Some(_) if section.has(&SIZES) => {
            let what = "`sizes` cannot be combined with this kind of `arrivals`";
            let hint = "leave `sizes` out, and set the frame size by `frame` in `arrivals`";
            return Err(section.contradiction(&SIZES, what, hint));
        }
        Some(frame) => Sizes::Fixed(frame),
        None => {
            let sizes = part(section, &SIZES)?;
            let (sizes, resolved) = read_sizes(Section::new(&sizes, &SIZES_KEYS), files)?;
            section.resolve(&SIZES, resolved);
            sizes
        }
    };
    section.resolve(&ARRIVALS, resolved);
    let pairs = read_pairs(section, &PAIRS)?;
    let amount = read_amount(section)?;
    let (deadlines, deadlines_below, resolved) = match section.kinded(&DEADLINES)? {
        Some(table) => read_deadlines(Section::new(&table, &DEADLINES_KEYS))?,
        None => (Deadlines::None, None, toml::Table::new()),
    };
    if deadlines != Deadlines::None {
        section.resolve(&DEADLINES, resolved);
    }
    let app_rate = section.get(&APP_RATE)?;
    let process = read_process(section)?;
    let (weight, priority) = read_weight_and_priority(section)?;
    Ok(Workload {
        arrivals,
        sizes,
        pairs,
        amount,
        app_rate,
        process,
        weight,
        priority,
        deadlines,
        deadlines_below,
    })
}

/// The table at `key`, which is required. A string is read as a table with that `kind` and no other keys.
fn part(section: &mut Section<'_>, key: &Key<Kinded>) -> Result<Table, Problem> {
    section.kinded(key)?.ok_or_else(|| section.missing(key))
}

/// Reads what determines the number of flows: `flows`, `duration` or `once`.
fn read_amount(section: &mut Section<'_>) -> Result<Amount, Problem> {
    let (flows, window) = (section.get(&FLOWS)?, section.get(&DURATION)?);
    let once = section.get(&ONCE)?.unwrap_or(false);
    match (flows, window, once) {
        (Some(flows), None, false) => Ok(Amount::Flows(flows as usize)),
        (None, Some(window), false) => Ok(Amount::Within(window)),
        (None, None, true) => Ok(Amount::OnePerPair),
        (None, None, false) => Err(section.missing(&FLOWS)),
        _ => {
            let what = "only one of `flows`, `duration` and `once` can set the number of flows";
            let hint = "keep only `flows` (the number of flows), `duration` (all flows that start before \
                        this time), or `once` (one flow per pair)";
            let key: &dyn Declared = if once { &ONCE } else { &DURATION };
            Err(section.contradiction(key, what, hint))
        }
    }
}

/// Reads arrivals. The second result is the size of a frame, if each flow is a frame or a burst of frames.
fn read_arrivals(mut section: Section<'_>) -> Result<(Arrivals, Option<Bytes>, toml::Table), Problem> {
    let mut frame = None;
    let arrivals = match section.kind(&ARRIVALS_KIND)? {
        "poisson" => read_poisson(&mut section)?,
        "fixed" => Arrivals::Fixed { gap: section.read(&GAP)? },
        "all_at_once" => Arrivals::AllAtOnce { jitter: section.read(&JITTER)? },
        kind => {
            let load = section.read(&SENDER_LOAD)?;
            frame = Some(section.read(&FRAME)?);
            let process = match kind {
                "cbr" => Process::Constant,
                "bernoulli" => Process::Bernoulli,
                _ => Process::OnOff { burst: section.read(&BURST)? },
            };
            Arrivals::PerHost(PerHost { process, load, whole_bursts: kind == "bursty" })
        }
    };
    Ok((arrivals, frame, section.finish()?))
}

/// Reads how often flows of a Poisson process start: `mean_gap`, `rate` or `load`.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
fn read_poisson(section: &mut Section<'_>) -> Result<Arrivals, Problem> {
    let ways: [&dyn Declared; 3] = [&ARRIVALS_LOAD, &RATE, &MEAN_GAP];
    let given: Vec<_> = ways.into_iter().filter(|key| section.has(*key)).collect();
    if let [first, second, ..] = given[..] {
        let hint = "keep only one of `load`, `rate` and `mean_gap`";
        let what = format!("`arrivals` cannot have both `{}` and `{}`", first.name(), second.name());
        return Err(section.contradiction(first, what, hint));
    }
    if let Some(load) = section.get(&ARRIVALS_LOAD)? {
        let mean_size = section.get(&MEAN_SIZE)?;
        return Ok(Arrivals::Load { load, mean_size, exact: section.read(&EXACT)? });
    }
    if let Some(rate) = section.get(&RATE)? {
        return Ok(Arrivals::Poisson { mean_gap: Duration::from_ps(rate.mean_gap_ps().round() as u64) });
    }
    Ok(Arrivals::Poisson { mean_gap: section.read(&MEAN_GAP)? })
}

fn read_sizes(mut section: Section<'_>, files: &Files) -> Result<(Sizes, toml::Table), Problem> {
    let published = PUBLISHED.iter().map(|published| (published.name, published.name));
    let kinds: Vec<_> =
        SIZES_KIND.own_kinds().iter().map(|kind| (kind.name, kind.name)).chain(published).collect();
    let kind = section.choose(&SIZES_KIND, &kinds)?;
    if let Some(published) = Published::named(kind) {
        let unit =
            if published.counts_packets() { section.or(&UNIT, published.unit)? } else { published.unit };
        let sizes = read_truncated(&mut section, published.sizes(unit))?;
        return Ok((sizes, section.finish()?));
    }
    let sizes = match kind {
        "fixed" => Sizes::Fixed(section.read(&FIXED_SIZE)?),
        "pareto" => Sizes::Pareto { shape: section.read(&SHAPE)?, mean: section.read(&MEAN)? },
        "exponential" => Sizes::Exponential { mean: section.read(&MEAN)? },
        "uniform" => {
            let (min, max) = (section.read(&MIN)?, section.read(&MAX)?);
            section.ensure(
                min <= max,
                &MAX,
                "`max` must be at least `min`",
                "give a larger `max`, or a smaller `min`",
            )?;
            Sizes::Uniform { min, max }
        }
        _ => {
            let at = section.at_key(&CDF).clone();
            let (file, text) = files.read(&mut section, &CDF)?;
            let cdf = SizeCdf::parse(&text).map_err(|error| {
                Problem::at(&at, Cause::BadFile { file, what: "size distribution", why: error.to_string() })
            })?;
            read_truncated(&mut section, cdf)?
        }
    };
    Ok((sizes, section.finish()?))
}

/// The distribution without its largest flows. The key `truncate` gives the share of the flows to leave out.
fn read_truncated(section: &mut Section<'_>, cdf: SizeCdf) -> Result<Sizes, Problem> {
    let Some(Fraction(share)) = section.get(&TRUNCATE)? else { return Ok(Sizes::Cdf(cdf)) };
    Ok(Sizes::Cdf(cdf.without_largest(share)))
}

/// Reads deadlines. The second result is a flow size: flows of at least this size have no deadline.
fn read_deadlines(mut section: Section<'_>) -> Result<(Deadlines, Option<Bytes>, toml::Table), Problem> {
    let deadlines = match section.kind(&DEADLINES_KIND)? {
        "fixed" => Deadlines::Fixed(section.read(&DEADLINE)?),
        "exponential" => {
            Deadlines::Exponential { mean: section.read(&MEAN_DEADLINE)?, min: section.read(&MIN_DEADLINE)? }
        }
        _ => Deadlines::None,
    };
    let below = match deadlines {
        Deadlines::None => None,
        _ => section.get(&BELOW)?,
    };
    Ok((deadlines, below, section.finish()?))
}

/// Reads the pairs at `key`.
pub(crate) fn read_pairs(section: &mut Section<'_>, key: &Key<Kinded>) -> Result<Pairs, Problem> {
    let pairs = part(section, key)?;
    let (pairs, resolved) = read_pattern(Section::new(&pairs, &PAIRS_KEYS))?;
    section.resolve(key, resolved);
    Ok(pairs)
}

fn read_pattern(mut section: Section<'_>) -> Result<(Pairs, toml::Table), Problem> {
    let pairs = match section.kind(&PAIRS_KIND)? {
        "uniform" => Pairs::Uniform,
        "permutation" => {
            let Fraction(fraction) = section.read(&FRACTION)?;
            Pairs::Permutation { fraction, times: section.read(&TIMES)? }
        }
        "all_to_all" => Pairs::AllToAll,
        "inter_pod" => Pairs::InterPod {
            pods: section.get(&PODS)?.unwrap_or_default(),
            from: section.get(&FROM)?.unwrap_or_default(),
        },
        "bijection" => Pairs::Bijection,
        "random_other_pod" => Pairs::RandomOtherPod,
        "staggered" => {
            let (Fraction(edge), Fraction(pod)) = (section.read(&EDGE)?, section.read(&POD)?);
            let hint = "give smaller probabilities";
            section.ensure(
                edge + pod <= 1.0,
                &POD,
                "the sum of the probabilities `edge` and `pod` must be at most 1",
                hint,
            )?;
            Pairs::Staggered { edge, pod, times: section.read(&TIMES)? }
        }
        "nearest_neighbour" => Pairs::NearestNeighbour,
        "bit_complement" => digits(&mut section, Digits::Complement)?,
        "bit_reversal" => digits(&mut section, Digits::Reversal)?,
        "bit_rotation" => digits(&mut section, Digits::Rotation)?,
        "perfect_shuffle" => digits(&mut section, Digits::Shuffle)?,
        "transpose" => digits(&mut section, Digits::Transpose)?,
        "butterfly" => digits(&mut section, Digits::Butterfly)?,
        "exchange" => Pairs::Exchange { by: section.read(&BY)? },
        "random_permutation" => Pairs::RandomPermutation,
        "tornado" => Pairs::Tornado,
        "neighbor" => Pairs::Stride { by: 1 },
        "stride" => Pairs::Stride { by: section.read(&BY)? as usize },
        _ => Pairs::Incast {
            senders: section.read(&SENDERS)? as usize,
            receiver: section.get(&RECEIVER)?.map(NodeId),
        },
    };
    Ok((pairs, section.finish()?))
}

/// Makes the pairs of `pattern`, which reorders or complements the digits of a host's number. Reads the radix of the
/// digits from the key `radix`, if the key is given.
fn digits(section: &mut Section<'_>, pattern: Digits) -> Result<Pairs, Problem> {
    Ok(Pairs::Digits { pattern, radix: section.get(&RADIX)? })
}
