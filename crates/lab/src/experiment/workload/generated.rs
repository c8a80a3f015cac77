//! Workloads drawn from a seed: arrivals, sizes, pairs, and how many.

use super::kinds::names;
use super::long_flows::read_load;
use super::process::read_process;
use super::{kinded, positive, read_app_rate, read_weight_and_priority};
use crate::experiment::file::Files;
use crate::experiment::frequency::Frequency;
use crate::experiment::problem::{Cause, Problem};
use crate::experiment::section::{Fraction, Section};
use crate::experiment::value::Table;
use raddle_core::{Bytes, Duration, NodeId, Process};
use raddle_workload::{
    Amount, Arrivals, Deadlines, Digits, PUBLISHED, Pairs, PerHost, Published, SizeCdf, Sizes, Workload,
};

/// A frame if nothing else is said (specs/cee.md §0).
const FRAME: Bytes = Bytes(1_500);

/// Reads what is generated.
pub(super) fn read_generated(section: &mut Section<'_>, files: &Files<'_>) -> Result<Workload, Problem> {
    let arrivals = part(section, "arrivals", "{ kind = \"poisson\", mean_gap = \"1 us\" }")?;
    let (arrivals, frame, resolved) = read_arrivals(Section::new(&arrivals, "workload.arrivals"))?;
    let sizes = match frame {
        Some(_) if section.item("sizes").is_some() => {
            let hint = "leave `sizes` out: flows are of a frame or a burst, and arrivals have a `frame`";
            return Err(section.contradiction("sizes", "sizes of flows that are frames", hint));
        }
        Some(frame) => Sizes::Fixed(frame),
        None => {
            let sizes = part(section, "sizes", "{ kind = \"pareto\", shape = 1.05, mean = \"100 KB\" }")?;
            let (sizes, resolved) = read_sizes(Section::new(&sizes, "workload.sizes"), files)?;
            section.resolve("sizes", resolved);
            sizes
        }
    };
    section.resolve("arrivals", resolved);
    let pairs = read_pairs(section)?;
    let amount = read_amount(section)?;
    let deadlines = section.item("deadlines").map(kinded).transpose()?;
    let (deadlines, deadlines_below, resolved) = match &deadlines {
        Some(table) => read_deadlines(Section::new(table, "workload.deadlines"))?,
        None => (Deadlines::None, None, toml::Table::new()),
    };
    if deadlines != Deadlines::None {
        section.resolve("deadlines", resolved);
    }
    let app_rate = read_app_rate(section)?;
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

/// A table that must be there, or its kind alone.
fn part(section: &mut Section<'_>, key: &str, example: &str) -> Result<Table, Problem> {
    section.item(key).map(kinded).transpose()?.ok_or_else(|| section.missing(key, example))
}

/// How many flows: `flows`, `duration` or `once`.
fn read_amount(section: &mut Section<'_>) -> Result<Amount, Problem> {
    let (flows, window) = (section.optional::<u32>("flows")?, section.optional::<Duration>("duration")?);
    let once = section.optional::<bool>("once")?.unwrap_or(false);
    match (flows, window, once) {
        (Some(flows), None, false) => {
            section.ensure(flows > 0, "flows", "a workload without flows", "give a number above zero")?;
            Ok(Amount::Flows(flows as usize))
        }
        (None, Some(window), false) => {
            let hint = "give a time above zero";
            section.ensure(window > Duration::ZERO, "duration", "arrivals that last no time", hint)?;
            Ok(Amount::Within(window))
        }
        (None, None, true) => Ok(Amount::OnePerPair),
        (None, None, false) => Err(section.missing("flows", "1000")),
        _ => {
            let hint = "keep `flows` (so many), `duration` (as many as start by then) or `once` (one a pair)";
            let key = if once { "once" } else { "duration" };
            Err(section.contradiction(key, "the number of flows is given twice", hint))
        }
    }
}

/// Reads arrivals, and the size of a frame where flows are frames.
fn read_arrivals(mut section: Section<'_>) -> Result<(Arrivals, Option<Bytes>, toml::Table), Problem> {
    let mut frame = None;
    let arrivals =
        match section.choice("kind", "kind of arrivals", &names("arrivals").collect::<Vec<_>>(), None)? {
            "poisson" => read_poisson(&mut section)?,
            "fixed" => Arrivals::Fixed { gap: positive(&mut section, "gap")? },
            "all_at_once" => Arrivals::AllAtOnce { jitter: section.or("jitter", Duration::ZERO)? },
            kind => {
                let load = read_load(&mut section)?;
                let size = section.or("frame", FRAME)?;
                section.ensure(size > Bytes(0), "frame", "frames of no bytes", "give a size above zero")?;
                frame = Some(size);
                let process = match kind {
                    "cbr" => Process::Constant,
                    "bernoulli" => Process::Bernoulli,
                    _ => Process::OnOff { burst: positive(&mut section, "burst")? },
                };
                Arrivals::PerHost(PerHost { process, load, whole_bursts: kind == "bursty" })
            }
        };
    Ok((arrivals, frame, section.finish()?))
}

/// Reads how dense a Poisson process is: `mean_gap`, `rate` or `load`.
fn read_poisson(section: &mut Section<'_>) -> Result<Arrivals, Problem> {
    let given: Vec<_> =
        ["load", "rate", "mean_gap"].into_iter().filter(|key| section.item(key).is_some()).collect();
    if let [first, second, ..] = given[..] {
        let hint = "keep one: a rate is one over the mean gap, a load the same by sizes and the hosts' links";
        return Err(section.contradiction(
            first,
            format!("arrivals with both `{first}` and `{second}`"),
            hint,
        ));
    }
    match given.first() {
        Some(&"load") => {
            let load: f64 = section.required("load")?;
            let hint = "give a share of the hosts' links such as 0.5";
            section.ensure(load > 0.0, "load", "a load of nothing", hint)?;
            let mean_size = section.optional("mean_size")?;
            let hint = "leave `mean_size` out for the mean of `sizes`";
            section.ensure(mean_size != Some(Bytes(0)), "mean_size", "flows of no bytes", hint)?;
            Ok(Arrivals::Load { load, mean_size, exact: section.or("exact", false)? })
        }
        Some(&"rate") => {
            let rate: Frequency = section.required("rate")?;
            let mean_gap = Duration::from_ps(rate.mean_gap_ps().round() as u64);
            let fits = mean_gap > Duration::ZERO && rate.per_second() > 0.0;
            let hint = "give flows in a time such as \"5000 / s\", at most one a picosecond";
            section.ensure(fits, "rate", "no rate at which flows arrive", hint)?;
            Ok(Arrivals::Poisson { mean_gap })
        }
        _ => Ok(Arrivals::Poisson { mean_gap: positive(section, "mean_gap")? }),
    }
}

fn read_sizes(mut section: Section<'_>, files: &Files<'_>) -> Result<(Sizes, toml::Table), Problem> {
    let published = PUBLISHED.iter().map(|published| (published.name, published.name));
    let kinds: Vec<_> = names("sizes").chain(published).collect();
    let kind = section.choice("kind", "kind of sizes", &kinds, None)?;
    if let Some(published) = Published::named(kind) {
        let unit =
            if published.counts_packets() { section.or("unit", published.unit)? } else { published.unit };
        section.ensure(unit > Bytes(0), "unit", "packets of no bytes", "give a size above zero")?;
        let sizes = read_truncated(&mut section, published.sizes(unit))?;
        return Ok((sizes, section.finish()?));
    }
    let sizes = match kind {
        "fixed" => Sizes::Fixed(positive(&mut section, "size")?),
        "pareto" => {
            let shape: f64 = section.required("shape")?;
            let hint = "the mean of a Pareto distribution is finite only if its shape is more than 1";
            section.ensure(shape > 1.0, "shape", "a Pareto shape of 1 or less", hint)?;
            Sizes::Pareto { shape, mean: positive(&mut section, "mean")? }
        }
        "exponential" => Sizes::Exponential { mean: positive(&mut section, "mean")? },
        "uniform" => {
            let (min, max): (Bytes, Bytes) = (positive(&mut section, "min")?, section.required("max")?);
            section.ensure(
                min <= max,
                "max",
                "the largest size is below the smallest",
                "give at least `min`",
            )?;
            Sizes::Uniform { min, max }
        }
        _ => {
            let at = section.at_key("file").clone();
            let (file, text) = files.read(&mut section)?;
            let cdf = SizeCdf::parse(&text).map_err(|error| {
                Problem::at(&at, Cause::BadFile { file, what: "size distribution", why: error.to_string() })
            })?;
            read_truncated(&mut section, cdf)?
        }
    };
    Ok((sizes, section.finish()?))
}

/// A distribution without the share `truncate` of flows, the largest ones.
fn read_truncated(section: &mut Section<'_>, cdf: SizeCdf) -> Result<Sizes, Problem> {
    let Some(Fraction(share)) = section.optional("truncate")? else { return Ok(Sizes::Cdf(cdf)) };
    section.ensure(share < 1.0, "truncate", "no flows are left", "give a share of flows such as \"1%\"")?;
    Ok(Sizes::Cdf(cdf.without_largest(share)))
}

/// Reads deadlines, and the size from which on flows have none.
fn read_deadlines(mut section: Section<'_>) -> Result<(Deadlines, Option<Bytes>, toml::Table), Problem> {
    let deadlines =
        match section.choice("kind", "kind of deadlines", &names("deadlines").collect::<Vec<_>>(), None)? {
            "fixed" => Deadlines::Fixed(positive(&mut section, "deadline")?),
            "exponential" => {
                let mean = positive(&mut section, "mean")?;
                Deadlines::Exponential { mean, min: section.or("min", Duration::ZERO)? }
            }
            _ => Deadlines::None,
        };
    let below = match deadlines {
        Deadlines::None => None,
        _ => section.optional("below")?,
    };
    section.ensure(
        below != Some(Bytes(0)),
        "below",
        "deadlines of flows of no bytes",
        "give a size above zero",
    )?;
    Ok((deadlines, below, section.finish()?))
}

/// Reads `pairs`.
pub(super) fn read_pairs(section: &mut Section<'_>) -> Result<Pairs, Problem> {
    let pairs = part(section, "pairs", "\"uniform\"")?;
    let (pairs, resolved) = read_pattern(Section::new(&pairs, "workload.pairs"))?;
    section.resolve("pairs", resolved);
    Ok(pairs)
}

fn read_pattern(mut section: Section<'_>) -> Result<(Pairs, toml::Table), Problem> {
    let pairs = match section.choice("kind", "kind of pairs", &names("pairs").collect::<Vec<_>>(), None)? {
        "uniform" => Pairs::Uniform,
        "permutation" => {
            let Fraction(fraction) = section.or("fraction", Fraction(1.0))?;
            section.ensure(
                fraction > 0.0,
                "fraction",
                "a permutation of no hosts",
                "give a fraction above 0",
            )?;
            let times = section.or("times", 1_u32)?;
            section.ensure(times > 0, "times", "no permutation at all", "leave `times` out for one")?;
            Pairs::Permutation { fraction, times }
        }
        "all_to_all" => Pairs::AllToAll,
        "inter_pod" => {
            let pods: Option<Vec<u32>> = section.optional("pods")?;
            let hint = "name at least two, or leave `pods` out for all of them";
            section.ensure(pods.as_ref().is_none_or(|pods| pods.len() > 1), "pods", "too few pods", hint)?;
            Pairs::InterPod { pods: pods.unwrap_or_default() }
        }
        "bijection" => Pairs::Bijection,
        "random_other_pod" => Pairs::RandomOtherPod,
        "staggered" => {
            let (Fraction(edge), Fraction(pod)) = (section.required("edge")?, section.required("pod")?);
            let hint = "`edge` and `pod` are at most 1 together";
            section.ensure(edge + pod <= 1.0, "pod", "more flows near by than there are", hint)?;
            Pairs::Staggered { edge, pod }
        }
        "nearest_neighbour" => Pairs::NearestNeighbour,
        "bit_complement" => digits(&mut section, Digits::Complement)?,
        "bit_reversal" => digits(&mut section, Digits::Reversal)?,
        "bit_rotation" => digits(&mut section, Digits::Rotation)?,
        "perfect_shuffle" => digits(&mut section, Digits::Shuffle)?,
        "transpose" => digits(&mut section, Digits::Transpose)?,
        "butterfly" => digits(&mut section, Digits::Butterfly)?,
        "exchange" => Pairs::Exchange { by: positive(&mut section, "by")? },
        "random_permutation" => Pairs::RandomPermutation,
        "tornado" => Pairs::Tornado,
        "neighbor" => Pairs::Stride { by: 1 },
        "stride" => Pairs::Stride { by: positive::<u32>(&mut section, "by")? as usize },
        _ => Pairs::Incast {
            senders: positive::<u32>(&mut section, "senders")? as usize,
            receiver: section.optional("receiver")?.map(NodeId),
        },
    };
    Ok((pairs, section.finish()?))
}

/// A pattern of digits, and their radix if it is given.
fn digits(section: &mut Section<'_>, pattern: Digits) -> Result<Pairs, Problem> {
    let radix = section.optional::<u32>("radix")?;
    let hint = "give 2 or more, of which the number of hosts is a power";
    section.ensure(radix.is_none_or(|radix| radix > 1), "radix", "a radix without digits", hint)?;
    Ok(Pairs::Digits { pattern, radix })
}
