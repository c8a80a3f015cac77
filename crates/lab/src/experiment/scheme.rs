//! `[scheme]`: which parts carry the flows, and their parameters, as the registry declares them.

use super::problem::Problem;
use super::section::{Fraction, Section, wrong_type};
use super::value::{Table, Value};
use super::{Read, table_in};
use raddle_core::{Bytes, Duration, Rate};
use raddle_schemes::parameter::{Parameter, Settings, Value as Setting};
use raddle_schemes::profile::Profile;
use raddle_schemes::queue::strict;
use raddle_schemes::registry::Registry;
use raddle_schemes::scheme::{CongestionPoint, FlowControl, Info, QueueDiscipline, Transport, View};
use raddle_topology::Topology;

/// The limits of the queue of an egress port. A port with an agent (congestion points, D3, RCP) does not count the packet in service, and a host
/// that waits until each packet has left (CEE) has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueLimits {
    /// Most bytes, the packet in service included.
    pub bytes: Option<Bytes>,
    /// Most packets, likewise.
    pub packets: Option<u32>,
    /// Bytes beyond which packets that join are marked (ECN).
    pub mark: Option<Bytes>,
    /// Packets, likewise.
    pub mark_packets: Option<u32>,
}

/// `[scheme]`.
#[derive(Clone)]
pub struct Scheme {
    /// The transport, from the registry.
    pub transport: Transport,
    /// What its parts look at.
    pub view: View,
    /// One of its routings.
    pub routing: String,
    /// The transport's parameters.
    pub settings: Settings,
    /// The routing's parameters; none if it is the transport's own.
    pub routing_settings: Settings,
    /// What plain egress queues may hold.
    pub queue: QueueLimits,
    /// Egress queues that are more than plain, and their parameters.
    pub discipline: Option<(QueueDiscipline, Settings)>,
    /// Flow control of links, and its parameters.
    pub flow_control: Option<(FlowControl, Settings)>,
    /// What the ports of switches tell of congestion, and how.
    pub congestion_points: Option<(CongestionPoint, Settings)>,
    /// Values that parameters have which the experiment does not give.
    pub profile: Option<Profile>,
}

impl std::fmt::Debug for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { transport, routing, settings, routing_settings, queue, .. } = self;
        let discipline = self.discipline.as_ref().map(|(part, settings)| (part.info.name, settings));
        let flow_control = self.flow_control.as_ref().map(|(part, settings)| (part.info.name, settings));
        let points = self.congestion_points.as_ref().map(|(part, settings)| (part.info.name, settings));
        f.debug_tuple("Scheme")
            .field(&transport.info.name)
            .field(routing)
            .field(settings)
            .field(routing_settings)
            .field(queue)
            .field(&discipline)
            .field(&flow_control)
            .field(&points)
            .finish()
    }
}

impl Scheme {
    pub(super) fn read(
        mut section: Section<'_>,
        registry: &Registry,
    ) -> Result<(Self, toml::Table), Problem> {
        let transports: Vec<_> =
            registry.transports().iter().map(|transport| (transport.info.name, *transport)).collect();
        let transport = section.choice("transport", "transport", &transports, None)?;
        let names = registry.routings_of(&transport);
        let routings: Vec<_> = names.iter().map(|&name| (name, name)).collect();
        let default = registry.default_routing(&transport);
        let routing = section.choice("routing", "routing of this transport", &routings, default)?.to_owned();
        let none = [("none", None)];
        let flow_controls = registry.flow_controls().iter().map(|part| (part.info.name, Some(*part)));
        let flow_controls: Vec<_> = none.into_iter().chain(flow_controls).collect();
        let flow_control =
            section.choice("flow_control", "flow control of links", &flow_controls, Some("none"))?;
        let none = [("none", None)];
        let points = registry.congestion_points().iter().map(|part| (part.info.name, Some(*part)));
        let points: Vec<_> = none.into_iter().chain(points).collect();
        let points =
            section.choice("congestion_points", "kind of congestion points", &points, Some("none"))?;
        let profiles = registry.profiles().iter().map(|profile| (profile.name, Some(*profile)));
        let profiles: Vec<_> = [("none", None)].into_iter().chain(profiles).collect();
        let profile = section.choice("profile", "profile", &profiles, Some("none"))?;
        let (queue, discipline) = read_queue(&mut section, registry, flow_control.is_some())?;
        // The tables of other schemes may stand here for a sweep to use: they are checked too.
        let mut read = |info: &Info| read_settings(&mut section, info, profile.as_ref());
        let chosen: Vec<&str> = [transport.info.name, &routing]
            .into_iter()
            .chain(discipline.map(|part| part.info.name))
            .chain(flow_control.map(|part| part.info.name))
            .chain(points.map(|part| part.info.name))
            .collect();
        let mut settings: Vec<(&str, Settings)> = Vec::new();
        let mut resolved = Vec::new();
        for info in registry.schemes() {
            let (own, table) = read(info)?;
            if chosen.contains(&info.name) {
                settings.push((info.name, own));
                if !table.is_empty() || info.name == transport.info.name {
                    resolved.push((info.name, table));
                }
            }
        }
        for (name, table) in resolved {
            section.resolve(name, table);
        }
        let of = |name: &str| {
            let own = settings.iter().find(|(other, _)| *other == name);
            own.map_or_else(|| Settings::defaults(&[]), |(_, own)| own.clone())
        };
        let scheme = Self {
            view: registry.view(&transport, &routing),
            transport,
            settings: of(transport.info.name),
            routing_settings: of(&routing),
            queue,
            discipline: discipline.map(|part| (part, of(part.info.name))),
            flow_control: flow_control.map(|part| (part, of(part.info.name))),
            congestion_points: points.map(|part| (part, of(part.info.name))),
            profile,
            routing,
        };
        Ok((scheme, section.finish()?))
    }

    /// The names of the parts that are chosen.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = &str> {
        let parts = [
            self.discipline.as_ref().map(|(part, _)| part.info.name),
            self.flow_control.as_ref().map(|(part, _)| part.info.name),
            self.congestion_points.as_ref().map(|(part, _)| part.info.name),
        ];
        [self.transport.info.name, &self.routing].into_iter().chain(parts.into_iter().flatten())
    }

    /// Gives parameters their defaults on that fabric, which neither the experiment's text nor its profile says. `resolved`
    /// is the experiment with all defaults.
    pub(crate) fn fit(&mut self, topology: &Topology, root: &Table, resolved: &mut toml::Table) {
        let host_links = topology.hosts().flat_map(|host| topology.links_from(host));
        let rate = host_links.map(|(_, link)| link.line_rate).max().unwrap_or(Rate::ZERO);
        let delay = topology.links().map(|(_, link)| link.delay).max().unwrap_or_default();
        let profile = self.profile;
        let mut resolved = resolved.get_mut("scheme").and_then(toml::Value::as_table_mut);
        let mut fit = |name: &str, settings: &mut Settings| {
            let given = table_in(root, &["scheme", name]);
            let parameters: Vec<_> = settings.iter().map(|(parameter, _)| parameter).collect();
            for parameter in parameters {
                let key = parameter.name;
                let is_said = given.is_some_and(|table| table.get(key).is_some())
                    || profile.is_some_and(|profile| profile.value(name, key).is_some());
                let Some(value) = parameter.default_on(rate, delay).filter(|_| !is_said) else { continue };
                settings.set(key, value);
                let table = resolved.as_mut().and_then(|scheme| scheme.get_mut(name)?.as_table_mut());
                if let (Some(table), Some(text)) = (table, show(value)) {
                    table.insert(key.to_owned(), text);
                }
            }
        };
        fit(self.transport.info.name, &mut self.settings);
        fit(&self.routing, &mut self.routing_settings);
        if let Some((part, settings)) = &mut self.discipline {
            fit(part.info.name, settings);
        }
        if let Some((part, settings)) = &mut self.flow_control {
            fit(part.info.name, settings);
        }
        if let Some((part, settings)) = &mut self.congestion_points {
            fit(part.info.name, settings);
        }
    }
}

/// A size or a rate, as an experiment has it.
fn show(value: Setting) -> Option<toml::Value> {
    match value {
        Setting::Bytes(bytes) => Some(Bytes(bytes).show()),
        Setting::Rate(rate) => Some(rate.show()),
        _ => None,
    }
}

fn read_settings(
    section: &mut Section<'_>,
    info: &Info,
    profile: Option<&Profile>,
) -> Result<(Settings, toml::Table), Problem> {
    let empty = super::engine::absent(section.at());
    let table = section.section(info.name)?;
    let mut table = table.unwrap_or_else(|| Section::new(&empty, info.name));
    let of_profile = |name: &str| profile.and_then(|profile| profile.value(info.name, name));
    let settings = read_parameters(&mut table, info.parameters, of_profile)?;
    Ok((settings, table.finish()?))
}

/// The values of parameters, which stand in `table`; if they do not, those of a profile or their defaults.
pub(super) fn read_parameters(
    table: &mut Section<'_>,
    parameters: &'static [Parameter],
    of_profile: impl Fn(&str) -> Option<Setting>,
) -> Result<Settings, Problem> {
    let mut settings = Settings::defaults(parameters);
    for parameter in parameters {
        let default = of_profile(parameter.name).unwrap_or(parameter.default);
        let value = read_parameter(table, &Parameter { default, ..*parameter })?;
        let hint = format!("{}: {}", parameter.doc, parameter.limits());
        let what = format!("`{}` is out of range", parameter.name);
        table.ensure(parameter.allows(&value), parameter.name, &what, &hint)?;
        settings.set(parameter.name, value);
    }
    Ok(settings)
}

fn read_parameter(table: &mut Section<'_>, parameter: &Parameter) -> Result<Setting, Problem> {
    let key = parameter.name;
    Ok(match parameter.default {
        Setting::Duration(default) => Setting::Duration(table.or::<Duration>(key, default)?),
        Setting::Rate(default) => Setting::Rate(table.or(key, default)?),
        Setting::Bytes(default) => Setting::Bytes(table.or(key, Bytes(default))?.0),
        Setting::Count(default) => Setting::Count(table.or(key, default)?),
        // A factor may be more than 1, and is no percentage.
        Setting::Fraction(default) if parameter.range.1 > 1.0 => Setting::Fraction(table.or(key, default)?),
        Setting::Fraction(default) => Setting::Fraction(table.or(key, Fraction(default))?.0),
        Setting::Eight(default) => Setting::Eight(table.or(key, default)?),
        Setting::Flag(default) => Setting::Flag(table.or(key, default)?),
        Setting::Choice(default) => {
            let choices: Vec<_> = parameter.choices.iter().map(|&name| (name, name)).collect();
            Setting::Choice(table.choice(key, "choice", &choices, Some(default))?)
        }
    })
}

/// `queue = { kind = "fifo", limit = "150 KB", packets = 100, mark_packets = 65 }`: unbounded where no limit is given,
/// and without marks where no threshold is.
///
/// Queues that have to heed pauses are of another kind, `strict` if none is named.
fn read_queue(
    section: &mut Section<'_>,
    registry: &Registry,
    heeds: bool,
) -> Result<(QueueLimits, Option<QueueDiscipline>), Problem> {
    let Some(item) = section.item("queue") else {
        return Ok((QueueLimits::default(), heeds.then_some(strict::QUEUE)));
    };
    let Value::Table(table) = &item.value else {
        return Err(wrong_type(item, "a queue such as { kind = \"fifo\", limit = \"150 KB\" }"));
    };
    let mut queue = Section::new(table, "scheme.queue");
    let kinds = registry.queues().iter().map(|part| (part.info.name, Some(*part)));
    let kinds: Vec<_> = [("fifo", None)].into_iter().chain(kinds).collect();
    let discipline = queue.choice("kind", "queue", &kinds, None)?;
    let hint = "choose kind = \"strict\", or leave `queue` out";
    queue.ensure(!heeds || discipline.is_some(), "kind", "a plain FIFO does not heed pauses", hint)?;
    if discipline.is_some() {
        section.resolve("queue", queue.finish()?);
        return Ok((QueueLimits::default(), discipline));
    }
    let limits = QueueLimits {
        bytes: queue.optional("limit")?,
        packets: queue.optional("packets")?,
        mark: queue.optional("mark")?,
        mark_packets: queue.optional("mark_packets")?,
    };
    let hint = "leave the limit out for an unbounded queue";
    queue.ensure(limits.bytes != Some(Bytes(0)), "limit", "a queue that holds nothing", hint)?;
    queue.ensure(limits.packets != Some(0), "packets", "a queue that holds nothing", hint)?;
    section.resolve("queue", queue.finish()?);
    Ok((limits, None))
}
