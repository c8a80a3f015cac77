//! What there is to choose from, as text and as JSON.

use crate::Error;
use crate::experiment::{topology_kinds, workload_kinds};
use raddle_core::Bytes;
use raddle_schemes::parameter::{Parameter, Value as Setting};
use raddle_schemes::registry::{self, CONGESTION_POINTS, FLOW_CONTROLS, Info, QUEUES, ROUTINGS, TRANSPORTS};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A list with a title: names, each with a line of description.
#[derive(Debug, Clone)]
pub struct Part {
    title: &'static str,
    items: Vec<(String, String)>,
}

impl Part {
    /// A list of `title`.
    #[must_use]
    pub fn new(title: &'static str, items: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { title, items: items.into_iter().collect() }
    }
}

fn part(title: &'static str, items: impl IntoIterator<Item = (&'static str, &'static str)>) -> Part {
    Part::new(title, items.into_iter().map(|(name, summary)| (name.to_owned(), summary.to_owned())))
}

/// The lists of the registry.
#[must_use]
pub fn schemes() -> Vec<Part> {
    fn of<'a>(title: &'static str, infos: impl IntoIterator<Item = &'a Info>) -> Part {
        part(title, infos.into_iter().map(|info| (info.name, info.summary)))
    }
    vec![
        of("transports", TRANSPORTS.iter().map(|part| &part.info)),
        of("routings", ROUTINGS.iter().map(|part| &part.info)),
        of("flow_controls", FLOW_CONTROLS.iter().map(|part| &part.info)),
        of("congestion_points", CONGESTION_POINTS.iter().map(|part| &part.info)),
        of("queues", QUEUES.iter().map(|part| &part.info)),
    ]
}

/// The kinds of fabric.
#[must_use]
pub fn topologies() -> Part {
    part("topologies", topology_kinds().iter().copied())
}

/// The kinds of arrivals, sizes and pairs.
#[must_use]
pub fn workloads() -> Part {
    Part::new("workloads", workload_kinds())
}

/// Lists as text.
#[must_use]
pub fn text(parts: &[Part]) -> String {
    let mut text = String::new();
    for (i, part) in parts.iter().enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        writeln!(text, "{gap}{}", part.title).expect("a string takes any text");
        let width = part.items.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, summary) in &part.items {
            writeln!(text, "  {name:<width$}  {summary}").expect("a string takes any text");
        }
    }
    text
}

/// Lists as a JSON document.
#[must_use]
pub fn json(parts: &[Part]) -> Value {
    let items = |part: &Part| {
        part.items
            .iter()
            .map(|(name, summary)| json!({ "name": name, "summary": summary }))
            .collect::<Value>()
    };
    Value::Object(parts.iter().map(|part| (part.title.to_owned(), items(part))).collect())
}

/// What a scheme is, as text and as JSON.
///
/// # Errors
/// If there is no scheme of that name.
pub fn explain(name: &str) -> Result<(String, Value), Error> {
    let (transport, routing) = (registry::transport(name), registry::routing(name));
    let Some(info) = registry::all().find(|info| info.name == name) else {
        let names: Vec<_> = registry::all().map(|info| info.name).collect();
        let hint = format!("one of: {}", names.join(", "));
        return Err(Error::Usage { what: format!("unknown scheme `{name}`"), hint });
    };
    let routings = transport.map(registry::Transport::routings).unwrap_or_default();
    let rows: Vec<Vec<String>> = info
        .parameters
        .iter()
        .map(|parameter| {
            let mut doc = parameter.doc.to_owned();
            if !parameter.choices.is_empty() {
                write!(doc, " ({})", parameter.choices.join(", ")).expect("a string takes any text");
            }
            vec![format!("  {} = {}", parameter.name, default(parameter)), doc]
        })
        .collect();
    let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let mut text = format!("{}\n{}\n\nsource\n  {}\n", info.name, info.summary, info.source);
    let mut line = |line: String| writeln!(text, "{line}").expect("a string takes any text");
    match transport {
        Some(_) => line(format!("\nrouting (the first is the default)\n  {}", routings.join(", "))),
        None if routing.is_some() => {
            line("\nis a routing, for every transport that brings none of its own".to_owned());
        }
        None => line("\nis a part of ports, for every transport that brings no queues of its own".to_owned()),
    }
    if !info.parameters.is_empty() {
        line(format!("\nparameters of [scheme.{}], with their defaults", info.name));
    }
    for row in &rows {
        line(format!("{:<width$}  # {}", row[0], row[1]));
    }
    if !info.differs.is_empty() {
        line("\ndiffers from its source".to_owned());
        info.differs.iter().for_each(|differs| line(format!("  - {differs}")));
    }
    let parameters: Vec<_> = info
        .parameters
        .iter()
        .map(|parameter| {
            json!({ "name": parameter.name, "default": default(parameter), "doc": parameter.doc, "choices": parameter.choices })
        })
        .collect();
    let json = json!({
        "name": info.name,
        "summary": info.summary,
        "source": info.source,
        "routings": routings,
        "parameters": parameters,
        "differs": info.differs,
    });
    Ok((text, json))
}

/// A parameter's default as it is written in an experiment.
fn default(parameter: &Parameter) -> String {
    match parameter.default {
        Setting::Duration(span) => format!("\"{span}\""),
        Setting::Rate(rate) => format!("\"{rate}\""),
        Setting::Bytes(bytes) => format!("\"{}\"", Bytes(bytes)),
        Setting::Count(count) => count.to_string(),
        Setting::Fraction(fraction) => fraction.to_string(),
        Setting::Eight(numbers) => format!("{numbers:?}"),
        Setting::Flag(flag) => flag.to_string(),
        Setting::Choice(word) => format!("\"{word}\""),
    }
}
