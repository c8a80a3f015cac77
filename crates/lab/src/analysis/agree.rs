//! Runs one experiment on the packet engine and on the flow engine, and measures how far their results differ.
//!
//! Both runs use the same fabric, flows and scheme. `[agree]` in the experiment's file sets the largest allowed
//! differences. A difference without a limit always passes. The file's `[record]` section is ignored in both runs.

use crate::experiment::keys::{Declared, Key, keys};
use crate::experiment::{self, AGREES, Document, Fraction, Problem, ROOT, Section};
use crate::notation::{self, shown_or_dash};
use crate::run::{Control, Outcome, RunState, run};
use crate::{Error, table};
use raddle_records::{FlowRecord, stats};
use serde_json::{Value, json};
use std::fmt;
use std::sync::atomic::AtomicBool;

/// The compared engines, as values of `engine.kind`. The results of the first engine are the reference.
pub const ENGINES: [&str; 2] = ["packet", "flow"];

keys! {
    /// Largest allowed distances between the results of the packet engine and the flow engine (`raddle agree`). A
    /// distance whose key is left out has no limit.
    pub(crate) AGREE = "agree" {
        /// relative difference of the flow engine's mean FCT from the mean FCT of the packet engine.
        FCT_MEAN: Fraction = Key::new("fct_mean");
        /// relative difference of the flow engine's FCT p50 from the FCT p50 of the packet engine.
        FCT_P50: Fraction = Key::new("fct_p50");
        /// relative difference of the flow engine's FCT p90 from the FCT p90 of the packet engine.
        FCT_P90: Fraction = Key::new("fct_p90");
        /// relative difference of the flow engine's FCT p99 from the FCT p99 of the packet engine.
        FCT_P99: Fraction = Key::new("fct_p99");
        /// Wasserstein-1 distance between the FCTs of both engines, divided by the packet engine's mean FCT.
        FCT_DISTANCE: Fraction = Key::new("fct_distance");
        /// sum over links of the absolute difference between the data bytes of both engines, divided by the packet
        /// engine's data bytes on all links.
        LINK_LOAD: Fraction = Key::new("link_load");
    }
}

/// The keys of all distances between the two runs.
static DISTANCES: [&Key<Fraction>; 6] = [&FCT_MEAN, &FCT_P50, &FCT_P90, &FCT_P99, &FCT_DISTANCE, &LINK_LOAD];

/// Reads the largest allowed value of each of [`DISTANCES`] from `[agree]`, in the same order. `None` means no limit.
fn thresholds(document: &Document) -> Result<[Option<f64>; DISTANCES.len()], Problem> {
    let mut root = Section::new(&document.root, &ROOT);
    let Some(mut section) = root.section(&AGREES)? else { return Ok([None; DISTANCES.len()]) };
    let mut most = [None; DISTANCES.len()];
    for (most, key) in most.iter_mut().zip(DISTANCES) {
        *most = section.get(key)?.map(|Fraction(most)| most);
    }
    section.finish()?;
    Ok(most)
}

/// A measured difference and its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Distance {
    key: &'static str,
    what: &'static str,
    /// The measured difference. A smaller absolute value means better agreement. A difference of FCTs is `None` if no
    /// flow was delivered by both engines. The difference of link loads is `None` if the packet engine's links carried
    /// no data.
    value: Option<f64>,
    most: Option<f64>,
}

impl Distance {
    /// True if the absolute value is at most the limit. A missing value fails if there is a limit.
    fn holds(&self) -> bool {
        self.most.is_none_or(|most| self.value.is_some_and(|value| value.abs() <= most))
    }
}

/// The results of one of the two engines.
struct Half {
    outcome: Outcome,
    flows: Vec<FlowRecord>,
}

/// The differences between the two engines. `Display` formats them as a text table.
#[derive(Debug, Clone)]
pub struct Agreement {
    distances: Vec<Distance>,
    /// Number of flows that both engines delivered.
    compared: usize,
    /// Number of flows that only the packet engine delivered, and number of flows that only the flow engine delivered.
    only: [usize; 2],
    /// Mean, p50, p90 and p99 of the FCTs in microseconds, one array for each engine. Only flows that both engines
    /// delivered count.
    fct_us: [[Option<f64>; 4]; 2],
    /// Wall-clock duration of each engine's run, in seconds.
    seconds: [f64; 2],
    /// True if neither run was stopped before its end.
    complete: bool,
}

/// Runs an experiment on both engines. An engine that can use several threads uses up to `threads` of them. `progress`
/// is called with the index of the engine in [`ENGINES`] and the state of that engine's run.
///
/// # Errors
/// If the experiment is wrong, if an engine cannot run it, or if a run fails or delivers no flow.
pub fn agree(
    document: &Document,
    threads: usize,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(usize, &RunState),
) -> Result<Agreement, Error> {
    let most = thresholds(document)?;
    let mut halves = Vec::new();
    for (number, engine) in ENGINES.into_iter().enumerate() {
        let mut flows = Vec::new();
        let mut take = |flow: &FlowRecord| {
            flows.push(*flow);
            Ok(())
        };
        let control = Control {
            stop,
            progress: &mut |now| progress(number, now),
            threads: crate::Threads::UpTo(threads),
        };
        let outcome = run(on(document, engine)?.prepare()?, &mut take, control)?;
        if let Some(why) = &outcome.undelivered {
            return Err(why.error());
        }
        halves.push(Half { outcome, flows });
    }
    let [packet, flow] = <[Half; 2]>::try_from(halves).unwrap_or_else(|_| unreachable!("two engines"));
    Ok(Agreement::of(&packet, &flow, most))
}

/// The experiment for one engine, without `[record]`, so that only flows and links are recorded. The flow engine's key
/// `grid` is also left out for the packet engine.
fn on(document: &Document, engine: &str) -> Result<Document, Problem> {
    let mut document = document.clone();
    document.root.entries.retain(|entry| entry.key != "record");
    if engine != "flow"
        && let Some(entry) = document.root.entries.iter_mut().find(|entry| entry.key == "engine")
        && let experiment::Value::Table(table) = &mut entry.item.value
    {
        table.entries.retain(|entry| entry.key != "grid");
    }
    document.with_overrides([format!("engine.kind={engine}").as_str()])
}

/// Converts FCTs from picoseconds to microseconds, and sorts them.
fn sorted_us(flows: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut fcts: Vec<f64> = flows.map(|ps| ps as f64 / 1e6).collect();
    stats::sort(&mut fcts);
    fcts
}

impl Agreement {
    fn of(packet: &Half, flow: &Half, most: [Option<f64>; DISTANCES.len()]) -> Self {
        let delivered = |half: &Half| {
            let mut fcts: Vec<(u32, u64)> =
                half.flows.iter().filter_map(|flow| Some((flow.id, flow.fct_ps?))).collect();
            fcts.sort_unstable();
            fcts
        };
        let (of_packet, of_flow) = (delivered(packet), delivered(flow));
        let mut pairs = Vec::new();
        let mut rest = of_flow.iter().peekable();
        for &(id, fct) in &of_packet {
            while rest.next_if(|other| other.0 < id).is_some() {}
            if let Some(&(_, other)) = rest.next_if(|other| other.0 == id) {
                pairs.push((fct, other));
            }
        }
        let fcts = [
            sorted_us(pairs.iter().map(|&(packet, _)| packet)),
            sorted_us(pairs.iter().map(|&(_, flow)| flow)),
        ];
        let fct_us = fcts.each_ref().map(|fcts| {
            let at = |p| stats::percentile(fcts, p);
            [stats::mean(fcts), at(50.0), at(90.0), at(99.0)]
        });
        let over = |i: usize| Some(fct_us[1][i]? / fct_us[0][i]? - 1.0);
        let apart: Vec<f64> = fcts[0].iter().zip(&fcts[1]).map(|(a, b)| (a - b).abs()).collect();
        let distance = || Some(stats::mean(&apart)? / fct_us[0][0]?);
        let values =
            [over(0), over(1), over(2), over(3), distance(), link_load(&packet.outcome, &flow.outcome)];
        let distances = DISTANCES.iter().zip(values).zip(most);
        let distances = distances.map(|((key, value), most)| Distance {
            key: key.name(),
            what: key.words().trim_end_matches('.'),
            value,
            most,
        });
        Self {
            distances: distances.collect(),
            compared: pairs.len(),
            only: [of_packet.len() - pairs.len(), of_flow.len() - pairs.len()],
            fct_us,
            seconds: [packet.outcome.seconds, flow.outcome.seconds],
            complete: packet.outcome.complete && flow.outcome.complete,
        }
    }

    /// True if the absolute value of each difference is at most its limit in the file. A difference without a limit
    /// always passes.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.distances.iter().all(Distance::holds)
    }

    /// The difference whose key in `[agree]` is `key`. `None` if there is no such key, or if the difference could not
    /// be measured.
    #[must_use]
    pub fn distance(&self, key: &str) -> Option<f64> {
        self.distances.iter().find(|distance| distance.key == key)?.value
    }

    /// The comparison as a JSON document.
    #[must_use]
    pub fn json(&self) -> Value {
        let distance = |distance: &Distance| {
            let &Distance { key, what, value, most } = distance;
            json!({ "distance": key, "what": what, "value": value, "most": most, "ok": distance.holds() })
        };
        let engine = |i: usize| {
            let [mean, p50, p90, p99] = self.fct_us[i];
            json!({
                "fct_mean_us": mean,
                "fct_p50_us": p50,
                "fct_p90_us": p90,
                "fct_p99_us": p99,
                "delivered_here_only": self.only[i],
                "wall_seconds": self.seconds[i],
            })
        };
        json!({
            "flows": self.compared,
            "complete": self.complete,
            ENGINES[0]: engine(0),
            ENGINES[1]: engine(1),
            "distances": self.distances.iter().map(distance).collect::<Vec<_>>(),
            "ok": self.holds(),
        })
    }
}

/// The sum over links of the absolute difference in data bytes between the two engines, divided by all data bytes on
/// the packet engine's links. `None` if these links carried no data.
fn link_load(packet: &Outcome, flow: &Outcome) -> Option<f64> {
    let bytes: u64 = packet.links.iter().map(|link| link.data_bytes).sum();
    let pairs = packet.links.iter().zip(&flow.links);
    let apart: u64 = pairs.map(|(packet, flow)| packet.data_bytes.abs_diff(flow.data_bytes)).sum();
    (bytes > 0).then(|| apart as f64 / bytes as f64)
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.complete {
            writeln!(
                f,
                "stopped early: the FCTs below cover only the flows that both engines finished; the link \
                 load also counts unfinished flows"
            )?;
        }
        let [only_packet, only_flow] = self.only;
        writeln!(
            f,
            "flows delivered: {} by both engines, {only_packet} only by the packet engine, {only_flow} only \
             by the flow engine\n",
            self.compared
        )?;
        let heads = ["engine", "FCT mean us", "p50", "p90", "p99", "wall s"].map(str::to_owned).to_vec();
        let row = |i: usize| {
            let numbers = self.fct_us[i].into_iter().chain([Some(self.seconds[i])]).map(shown_or_dash);
            [ENGINES[i].to_owned()].into_iter().chain(numbers).collect()
        };
        writeln!(f, "{}", table(&[heads, row(0), row(1)]))?;
        let percent = |share: Option<f64>| share.map_or("-".to_owned(), notation::percent);
        let mut rows = vec![["distance", "is", "may be", ""].map(str::to_owned).to_vec()];
        rows.extend(self.distances.iter().map(|distance| {
            let verdict = if distance.holds() { "" } else { "above the limit" };
            vec![
                distance.what.to_owned(),
                percent(distance.value),
                percent(distance.most),
                verdict.to_owned(),
            ]
        }));
        write!(f, "{}", table(&rows).trim_end())
    }
}
