//! Lists and explains schemes, topologies, workloads, keys and figures, as text and as JSON.

use crate::definitions;
use crate::experiment::keys::{self, default_of};
use crate::experiment::{meant, topology_kinds, workload_kinds};
use crate::figure::{self, Described, Ledger};
use crate::{Error, table, tables};
use raddle_schemes::parameter::Parameter;
use raddle_schemes::profile::Profile;
use raddle_schemes::registry::Registry;
use raddle_schemes::scheme::Info;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A titled list of names, each with a one-line description.
#[derive(Debug, Clone)]
pub struct Part {
    title: &'static str,
    items: Vec<(String, String)>,
}

impl Part {
    /// A list with the title `title` and the entries `items`.
    #[must_use]
    pub fn new(title: &'static str, items: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { title, items: items.into_iter().collect() }
    }
}

fn part(title: &'static str, items: impl IntoIterator<Item = (&'static str, &'static str)>) -> Part {
    Part::new(title, items.into_iter().map(|(name, summary)| (name.to_owned(), summary.to_owned())))
}

/// Lists of the schemes and profiles of the registry, and of the routings that transports provide themselves.
#[must_use]
pub fn schemes(registry: &Registry) -> Vec<Part> {
    fn of<'a>(title: &'static str, infos: impl IntoIterator<Item = &'a Info>) -> Part {
        part(title, infos.into_iter().map(|info| (info.name, info.summary)))
    }
    vec![
        of("transports", registry.transports().iter().map(|part| &part.info)),
        of("routings", registry.routings().iter().map(|part| &part.info)),
        transport_routings(registry),
        of("flow_controls", registry.flow_controls().iter().map(|part| &part.info)),
        of("congestion_points", registry.congestion_points().iter().map(|part| &part.info)),
        of("queues", registry.queues().iter().map(|part| &part.info)),
        profiles(registry),
    ]
}

/// The profiles: sets of parameter values from publications.
fn profiles(registry: &Registry) -> Part {
    let line = |profile: &Profile| format!("{} ({})", profile.summary, profile.source);
    let profiles = registry.profiles().iter().map(|profile| (profile.name.to_owned(), line(profile)));
    Part::new("profiles", profiles)
}

/// The routings that transports provide themselves.
fn transport_routings(registry: &Registry) -> Part {
    let routings = registry.own_routings().map(|(name, summary)| (name, summary.to_owned()));
    Part::new("transport_routings", routings)
}

/// The kinds of fabric.
#[must_use]
pub fn topologies(registry: &Registry) -> Part {
    let others = registry.topologies().iter().map(|kind| (kind.info.name, kind.info.summary.to_owned()));
    let kinds = topology_kinds().chain(others).map(|(name, summary)| (name.to_owned(), summary));
    Part::new("topologies", kinds)
}

/// The keys of an experiment's file, without the parameters of schemes.
#[must_use]
pub fn keys() -> Part {
    Part::new("keys", keys::names())
}

/// The names of schemes, topologies, workloads, keys and figures, which [`explain`] describes.
#[must_use]
pub fn names(registry: &Registry) -> Vec<String> {
    let mut parts = schemes(registry);
    parts.extend([topologies(registry), workloads(), keys()]);
    let names = parts.into_iter().flat_map(|part| part.items).map(|(name, _)| name);
    names.chain(figure::names()).collect()
}

/// An embedded figure, as the list of figures shows it.
#[derive(Debug, Clone, Serialize)]
pub struct ListedFigure {
    /// Paper and figure, such as `r2c2/fig10`.
    pub name: String,
    /// The title.
    pub summary: String,
    /// The time that it took to reproduce the figure.
    pub seconds: Seconds,
}

/// The time that it took to reproduce a figure for Raddle's ledger, in seconds. `None` at a scale for which the ledger
/// has no entry of the figure.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Seconds {
    /// At quick scale.
    pub quick: Option<f64>,
    /// At full scale.
    pub full: Option<f64>,
}

impl Seconds {
    fn of(name: &str, ledger: &Ledger) -> Self {
        let at = |scale: figure::Scale| ledger.last(name, scale.name()).map(|entry| entry.seconds);
        Self { quick: at(figure::Scale::Quick), full: at(figure::Scale::Full) }
    }
}

/// The embedded figures.
///
/// # Errors
/// If a figure's file or the ledger is malformed.
pub fn figures() -> Result<Vec<ListedFigure>, Error> {
    let ledger = Ledger::builtin()?;
    let listed = |name: String| {
        let summary = figure::title(&name)?.unwrap_or_default();
        Ok(ListedFigure { summary, seconds: Seconds::of(&name, &ledger), name })
    };
    figure::names().into_iter().map(listed).collect()
}

/// Formats the list of figures as a table, with the times at quick scale.
#[must_use]
pub fn figures_text(figures: &[ListedFigure]) -> String {
    let heads = ["figure", "time at quick scale", "title"].map(str::to_owned).to_vec();
    let row = |figure: &ListedFigure| {
        let took = figure.seconds.quick.map_or("-".to_owned(), |seconds| format!("{seconds:.1} s"));
        vec![figure.name.clone(), took, figure.summary.clone()]
    };
    table(&std::iter::once(heads).chain(figures.iter().map(row)).collect::<Vec<_>>())
}

/// Formats the list of figures as a JSON document.
#[must_use]
pub fn figures_json(figures: &[ListedFigure]) -> Value {
    json!({ "figures": figures })
}

/// The kinds of arrivals, sizes, pairs, processes and deadlines, and the other ways to describe a workload.
#[must_use]
pub fn workloads() -> Part {
    Part::new("workloads", workload_kinds())
}

/// Formats lists as text.
#[must_use]
pub fn text(parts: &[Part]) -> String {
    let mut text = String::new();
    for (i, part) in parts.iter().enumerate() {
        let gap = if i > 0 { "\n" } else { "" };
        writeln!(text, "{gap}{}", part.title).expect("writing to a string never fails");
        let width = part.items.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, summary) in &part.items {
            writeln!(text, "  {name:<width$}  {summary}").expect("writing to a string never fails");
        }
    }
    text
}

/// Formats lists as a JSON document.
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

/// Explains a name in the lists, a figure, a key, a value of a key, a parameter of a scheme, an alias, or the name of a
/// number in results, as text and as JSON. For a name of two words, such as `sizes web_search`, the second word
/// suffices. All names with this second word are then explained.
///
/// # Errors
/// If nothing has that name, or if a figure's file or the ledger is malformed.
pub fn explain(name: &str, registry: &Registry) -> Result<(String, Value), Error> {
    match (explain_listed(name, registry), definitions::explain(name)) {
        (Ok((mut text, mut json)), Some((meaning, number))) => {
            write!(text, "\n{meaning}").expect("writing to a string never fails");
            json["number"] = number;
            Ok((text, json))
        }
        (Err(Error::Usage { .. }), Some((meaning, number))) => Ok((meaning, json!({ "number": number }))),
        (listed, _) => listed,
    }
}

fn explain_listed(name: &str, registry: &Registry) -> Result<(String, Value), Error> {
    if let Some(explained) = explain_declared(name, registry)? {
        return Ok(explained);
    }
    for meant in keys::meant(name, registry) {
        if let Some((text, json)) = explain_declared(&meant, registry)? {
            return Ok((format!("`{name}` is read as `{meant}`\n\n{text}"), json));
        }
    }
    if let Some((text, json)) = keys::explain_value(name, registry) {
        return Ok((text, json!({ "values": json })));
    }
    let lists = lists(registry);
    let listed = lists.iter().flat_map(|part| part.items.iter().map(|(name, _)| name.clone()));
    let listed = listed.chain(registry.schemes().map(|info| info.name.to_owned()));
    let last = |name: &String| name.rsplit('.').next().map(str::to_owned);
    let keys = keys::names().into_iter().flat_map(|(name, _)| [last(&name), Some(name)]).flatten();
    let listed = listed.chain(keys).chain(definitions::names()).chain(tables::names());
    let hint = meant(name, &listed.collect::<Vec<_>>()).unwrap_or_else(|| {
        "`raddle list`, `raddle list figures` and `raddle list keys` print the names of schemes, topologies, \
         workloads, figures and keys"
            .to_owned()
    });
    Err(Error::Usage { what: format!("unknown name `{name}`"), hint })
}

/// The lists of transports' own routings, of profiles, of topologies and of workloads.
fn lists(registry: &Registry) -> [Part; 4] {
    [transport_routings(registry), profiles(registry), topologies(registry), workloads()]
}

/// Explains a scheme (its name or `scheme.NAME`), a table, a figure, an entry of a list, a key or a parameter. `None` if none of them has this name.
fn explain_declared(name: &str, registry: &Registry) -> Result<Option<(String, Value)>, Error> {
    let scheme = name.strip_prefix("scheme.").unwrap_or(name);
    if let Some(info) = registry.schemes().find(|info| info.name == scheme) {
        return Ok(Some(explain_scheme(info, registry)));
    }
    if let Some(explained) = tables::explain(name) {
        return Ok(Some(explained));
    }
    if let Some(figure) = figure::describe(name)? {
        return explain_figure(name, &figure).map(Some);
    }
    let lists = lists(registry);
    let all = || lists.iter().flat_map(|part| part.items.iter().map(|item| (part.title, item)));
    let named = |is: &dyn Fn(&str) -> bool| all().filter(|(_, (name, _))| is(name)).collect::<Vec<_>>();
    let last_word = |item: &str| item.rsplit(' ').next() == Some(name);
    let exact = named(&|item| item == name);
    let found = if exact.is_empty() { named(&last_word) } else { exact };
    if !found.is_empty() {
        return Ok(Some(explain_kinds(&found, registry)));
    }
    if let Some((text, json)) = keys::explain(name, registry) {
        return Ok(Some((text, json!({ "keys": json }))));
    }
    if let Some(found) = explain_parameters(name, registry) {
        return Ok(Some(found));
    }
    let ending = format!(".{name}");
    let named: Vec<_> = keys::names().into_iter().filter(|(path, _)| path.ends_with(&ending)).collect();
    if named.is_empty() {
        return Ok(None);
    }
    let found: Vec<_> = named.iter().filter_map(|(path, _)| keys::explain(path, registry)).collect();
    let text = found.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join("\n");
    let keys: Vec<Value> = found.into_iter().map(|(_, json)| json).collect();
    Ok(Some((text, json!({ "keys": keys }))))
}

/// Explains entries of lists, each given with the list's title.
fn explain_kinds(found: &[(&str, &(String, String))], registry: &Registry) -> (String, Value) {
    let mut text = String::new();
    let mut entries = Vec::new();
    for &(title, (name, summary)) in found {
        let transports = registry.transports().iter();
        let transports =
            transports.filter(|transport| registry.routings_of(transport).contains(&name.as_str()));
        let transports: Vec<_> = transports.map(|transport| transport.info.name).collect();
        let place = match title {
            "topologies" => format!("`{name}` is a value of `kind` in [topology]"),
            "workloads" => format!("`{name}` belongs to the table [workload]"),
            "profiles" => format!("`{name}` is a value of `profile` in [scheme]"),
            _ => format!("`{name}` is a routing of {}", transports.join(", ")),
        };
        let gap = if entries.is_empty() { "" } else { "\n" };
        writeln!(text, "{gap}{name}\n{summary}\n\n{place}").expect("writing to a string never fails");
        entries.push(json!({ "list": title, "name": name, "summary": summary, "transports": transports }));
    }
    (text, json!({ "entries": entries }))
}

fn explain_figure(name: &str, figure: &figure::Description) -> Result<(String, Value), Error> {
    let mut text = format!("{name}\n{}\n\nrun it with `raddle reproduce {name}`\n", figure.title);
    let seconds = Seconds::of(name, &Ledger::builtin()?);
    for (scale, seconds) in [("quick", seconds.quick), ("full", seconds.full)] {
        if let Some(seconds) = seconds {
            writeln!(text, "the run in Raddle's ledger of results took {seconds} s at {scale} scale")
                .expect("writing to a string never fails");
        }
    }
    if !figure.claims.is_empty() {
        text.push_str("\nclaims\n");
    }
    for Described { id, section, says, .. } in &figure.claims {
        writeln!(text, "  {id} ({section}): {says}").expect("writing to a string never fails");
    }
    let claim = |claim: &Described| json!({ "claim": claim.id, "section": claim.section, "says": claim.says, "ours": claim.ours });
    let claims: Vec<_> = figure.claims.iter().map(claim).collect();
    let json = json!({
        "name": name, "title": figure.title, "claims": claims,
        "seconds": seconds,
    });
    Ok((text, json))
}

/// Explains the parameters with this name. `min_rto` selects the parameters `min_rto` of all schemes. `dctcp.min_rto`
/// selects only the parameter of DCTCP, which an experiment sets in the table `[scheme.dctcp]`.
fn explain_parameters(name: &str, registry: &Registry) -> Option<(String, Value)> {
    let name = name.strip_prefix("scheme.").unwrap_or(name);
    let (scheme, name) = name.rsplit_once('.').map_or((None, name), |(scheme, name)| (Some(scheme), name));
    let mut text = String::new();
    let mut entries = Vec::new();
    for info in registry.schemes().filter(|info| scheme.is_none_or(|scheme| info.name == scheme)) {
        for parameter in info.parameters.iter().filter(|parameter| parameter.name == name) {
            let gap = if entries.is_empty() { "" } else { "\n" };
            let (key, default) = (format!("scheme.{}.{name}", info.name), default_of(parameter));
            writeln!(text, "{gap}{key}\n{}\n\ndefault   {default}", described(parameter))
                .expect("writing to a string never fails");
            if parameter.choices.is_empty() {
                writeln!(text, "range     {}", parameter.limits()).expect("writing to a string never fails");
            }
            entries.push(json!({ "key": key, "doc": parameter.doc, "default": default }));
        }
    }
    (!entries.is_empty()).then(|| (text, json!({ "parameters": entries })))
}

/// The description of a parameter, its choices, and the growth of its default with link rates and link delays.
fn described(parameter: &Parameter) -> String {
    let mut doc = parameter.doc.to_owned();
    if !parameter.choices.is_empty() {
        write!(doc, " ({})", parameter.choices.join(", ")).expect("writing to a string never fails");
    }
    if let Some(growth) = parameter.growth {
        write!(
            doc,
            "; if the fastest host link exceeds {}, the default grows in proportion to its rate",
            growth.rate
        )
        .expect("writing to a string never fails");
    }
    if let Some(delay) = parameter.growth.and_then(|growth| growth.delay) {
        write!(doc, "; if the longest link delay exceeds {delay}, the default also grows with this delay")
            .expect("writing to a string never fails");
    }
    doc
}

/// Explains a scheme.
fn explain_scheme(info: &Info, registry: &Registry) -> (String, Value) {
    let (transport, routing) = (registry.transport(info.name), registry.routing(info.name));
    let routings = transport.map(|transport| registry.routings_of(transport)).unwrap_or_default();
    let rows: Vec<Vec<String>> = info
        .parameters
        .iter()
        .map(|parameter| {
            vec![format!("  {} = {}", parameter.name, default_of(parameter)), described(parameter)]
        })
        .collect();
    let width = rows.iter().map(|row| row[0].chars().count()).max().unwrap_or(0);
    let mut text = format!("{}\n{}\n\nsource\n  {}\n", info.name, info.summary, info.source);
    let mut line = |line: String| writeln!(text, "{line}").expect("writing to a string never fails");
    match transport {
        Some(_) => line(format!("\nrouting (the first is the default)\n  {}", routings.join(", "))),
        None if routing.is_some() => {
            line(format!("\n`{}` is a routing for every transport without its own routing", info.name));
        }
        None => line(format!(
            "\n`{}` runs at ports, and works with every transport without its own queues",
            info.name
        )),
    }
    if !info.parameters.is_empty() {
        line(format!("\nparameters of [scheme.{}], with their defaults", info.name));
    }
    for row in &rows {
        line(format!("{:<width$}  # {}", row[0], row[1]));
    }
    if !info.differs.is_empty() {
        line("\ndifferences from the source".to_owned());
        info.differs.iter().for_each(|differs| line(format!("  - {differs}")));
    }
    if text.contains("specifications/") {
        text.push_str(
            "\nthe files in specifications/ form the chapter \"Specifications\" of Raddle's book\n",
        );
    }
    let parameters: Vec<_> = info
        .parameters
        .iter()
        .map(|parameter| {
            let range = parameter.choices.is_empty().then(|| parameter.limits());
            json!({
                "name": parameter.name,
                "default": default_of(parameter),
                "doc": parameter.doc,
                "choices": parameter.choices,
                "range": range,
            })
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
    (text, json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str) -> String {
        match explain(name, &Registry::builtin()) {
            Ok((text, _)) => text,
            Err(error) => panic!("{name}: {error}"),
        }
    }

    #[test]
    fn aliases_and_values_of_keys_are_explained() {
        assert!(told("tcp").starts_with("`tcp` is read as `tcp-newreno`\n\ntcp-newreno\n"));
        assert!(told("leaf_spine").contains("\nfolded_clos\n"));
        assert_eq!(told("scheme.dctcp"), told("dctcp"));
        assert!(told("flows.parquet").contains("\nfct_ps "));
        assert!(told("by_size").starts_with("plot.kind = \"by_size\"\n"));
        assert!(told("hula").ends_with("the chapter \"Specifications\" of Raddle's book\n"));
    }

    #[test]
    fn a_transport_of_another_simulator_is_no_misspelling() {
        let Err(Error::Usage { what, hint }) = explain("ndp", &Registry::builtin()) else {
            panic!("explained")
        };
        assert_eq!(what, "unknown name `ndp`");
        assert_eq!(hint, "Raddle has no `ndp`; names with a similar meaning: `dctcp`, `dcqcn`");
        let Err(Error::Usage { hint, .. }) = explain("bandwidth", &Registry::builtin()) else {
            panic!("explained")
        };
        assert_eq!(hint, "did you mean `link_rate`?");
    }
}
