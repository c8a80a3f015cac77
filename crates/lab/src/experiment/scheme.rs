//! `[scheme]`: the transport, the routing and the other parts that carry the flows. The registry declares their
//! parameters.

use super::keys::{Choices, Key, Kinded, Name, keys};
use super::problem::{Cause, Problem};
use super::section::{Fraction, Section, out_of_range};
use super::value::Table;
use super::{Read, table_in};
use raddle_core::{Bytes, Duration, Rate};
use raddle_schemes::parameter::{Parameter, Settings, Value as Setting};
use raddle_schemes::profile::Profile;
use raddle_schemes::queue::strict;
use raddle_schemes::registry::Registry;
use raddle_schemes::scheme::{CongestionPoint, FlowControl, Info, QueueDiscipline, Transport, View};
use raddle_topology::Topology;

/// The limits and ECN thresholds of the FIFO of an egress port. The limits count the packet in service, except at ports
/// with an agent (congestion points, D3, PDQ, RCP). At these ports, the thresholds have no effect. A port whose host
/// waits for the departure of each packet (CEE, DCQCN) has no FIFO, so it has neither limits nor thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueLimits {
    /// Maximum number of bytes in the queue; `None` for no limit.
    pub bytes: Option<Bytes>,
    /// Maximum number of packets in the queue; `None` for no limit.
    pub packets: Option<u32>,
    /// ECN threshold in bytes. An arriving packet is marked if the queue, including this packet, is longer than the
    /// threshold.
    pub mark: Option<Bytes>,
    /// ECN threshold in packets. An arriving packet is marked if the queue, including this packet, holds more packets
    /// than the threshold.
    pub mark_packets: Option<u32>,
}

/// `[scheme]`.
#[derive(Clone)]
pub struct Scheme {
    /// The transport, from the registry.
    pub transport: Transport,
    /// The state that the parts of the scheme read: only that of their own node, or also the current state of other nodes.
    pub view: View,
    /// The name of the routing, which the transport supports.
    pub routing: String,
    /// The transport's parameters.
    pub settings: Settings,
    /// The digest of the routing's source, if the routing is defined while the program runs.
    pub routing_source: Option<String>,
    /// The routing's parameters; empty if the routing is built into the transport.
    pub routing_settings: Settings,
    /// Limits and ECN thresholds of FIFO egress queues.
    pub queue: QueueLimits,
    /// The queue discipline of egress ports, and its parameters; `None` for the transport's own queues, or for FIFOs if
    /// the transport has none.
    pub discipline: Option<(QueueDiscipline, Settings)>,
    /// The flow control of links, and its parameters.
    pub flow_control: Option<(FlowControl, Settings)>,
    /// The congestion points at the ports of switches, and their parameters.
    pub congestion_points: Option<(CongestionPoint, Settings)>,
    /// Published values for the parameters that the experiment leaves out.
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

keys! {
    /// The transport, the routing and the other parts that carry the flows. The parameters of each part have their own
    /// table, such as `[scheme.r2c2]`.
    pub(crate) SCHEME = "scheme" {
        /// The transport.
        TRANSPORT: Name = Key::new("transport").required().example("\"r2c2\"").also(TCPS).registered("transport", |registry| {
            info(registry.transports().iter().map(|part| &part.info))
        });
        /// The routing. If left out, the transport's default routing.
        ROUTING: Name = Key::new("routing")
            .computed("the transport's own")
            .example("\"ecmp\"")
            .registered("routing", |registry| {
                let own = registry.own_routings();
                own.chain(info(registry.routings().iter().map(|part| &part.info))).collect()
            });
        /// Flow control of links.
        FLOW_CONTROL: Name =
            Key::new("flow_control").or("\"none\"").registered("flow control", |registry| {
                and_none(info(registry.flow_controls().iter().map(|part| &part.info)))
            });
        /// The kind of congestion points at the ports of switches.
        CONGESTION_POINTS: Name =
            Key::new("congestion_points").or("\"none\"").registered("kind of congestion points", |registry| {
                and_none(info(registry.congestion_points().iter().map(|part| &part.info)))
            });
        /// A published set of values for parameters that the experiment leaves out.
        PROFILE: Name = Key::new("profile").or("\"none\"").registered("profile", |registry| {
            and_none(registry.profiles().iter().map(|profile| (profile.name.to_owned(), profile.summary)).collect())
        });
        /// The egress queues of all ports. The default is the transport's own queues. For a transport without
        /// queues of its own, the default is `strict` queues if links have flow control, and unbounded FIFOs if not.
        QUEUE: Kinded = Key::new("queue").table(&QUEUE_KEYS).example("{ kind = \"fifo\", limit = \"150 KB\" }");
    }

    /// Egress queues. The parameters of a queue other than a FIFO have their own table, such as `[scheme.strict]`.
    QUEUE_KEYS = "scheme.queue" {
        /// The kind of queue.
        QUEUE_KIND: Name = Key::new("kind").required().example("\"fifo\"").registered("queue", |registry| {
            let fifo = [(FIFO.to_owned(), "first in, first out, with tail drop")];
            fifo.into_iter().chain(info(registry.queues().iter().map(|part| &part.info))).collect()
        });
        /// Maximum number of bytes in a FIFO. The packet in service counts, except at ports with an agent (congestion
        /// points, D3, PDQ, RCP). If left out, there is no limit.
        LIMIT: Bytes = Key::new("limit").above_zero().example("\"150 KB\"");
        /// Maximum number of packets in a FIFO. The packet in service counts, except at ports with an agent (congestion
        /// points, D3, PDQ, RCP). If left out, there is no limit.
        PACKETS: u32 = Key::new("packets").above_zero().example("100");
        /// ECN threshold of a FIFO in bytes. An arriving packet is marked if the FIFO, including this packet, holds
        /// more bytes than the threshold. Ports with an agent (congestion points, D3, PDQ, RCP) ignore the threshold.
        /// If left out, there are no marks.
        MARK: Bytes = Key::new("mark").example("\"30 KB\"");
        /// ECN threshold of a FIFO in packets. An arriving packet is marked if the FIFO, including this packet, holds
        /// more packets than the threshold. Ports with an agent (congestion points, D3, PDQ, RCP) ignore the threshold.
        /// If left out, there are no marks.
        MARK_PACKETS: u32 = Key::new("mark_packets").example("65");
    }
}

/// Short names of TCP variants. `tcp` stands for NewReno, as in textbooks.
const TCPS: &[(&str, &str)] =
    &[("tcp", "tcp-newreno"), ("reno", "tcp-reno"), ("newreno", "tcp-newreno"), ("cubic", "tcp-cubic")];

/// The name of the FIFO queue.
const FIFO: &str = "fifo";

/// Names and summaries of parts.
fn info<'a>(parts: impl Iterator<Item = &'a Info>) -> Choices {
    parts.map(|info| (info.name.to_owned(), info.summary)).collect()
}

/// If `problem` is about an unknown routing that other transports have, the problem that this transport does not have
/// the routing. Otherwise `problem` itself.
fn of_another_transport(problem: Problem, transport: &Transport, registry: &Registry) -> Problem {
    let Cause::UnknownName { name, known, .. } = &*problem.cause else { return problem };
    let is_own = registry.own_routings().any(|(own, _)| own == *name);
    if !is_own && registry.routing(name).is_none() {
        return problem;
    }
    let what = format!("the transport `{}` cannot use the routing `{name}`", transport.info.name);
    let hint = format!("one of: {}", known.join(", "));
    Problem::at(&problem.at, Cause::Contradiction { what, hint })
}

fn and_none(mut parts: Choices) -> Choices {
    parts.insert(0, ("none".to_owned(), "none"));
    parts
}

impl Scheme {
    pub(super) fn read(
        mut section: Section<'_>,
        registry: &Registry,
    ) -> Result<(Self, toml::Table), Problem> {
        let transports: Vec<_> =
            registry.transports().iter().map(|transport| (transport.info.name, *transport)).collect();
        let transport = section.choose(&TRANSPORT, &transports)?;
        let names = registry.routings_of(&transport);
        let routings: Vec<_> = names.iter().map(|&name| (name, name)).collect();
        let default = registry.default_routing(&transport);
        let routing = section.choose_or(&ROUTING, &routings, default);
        let routing =
            routing.map_err(|problem| of_another_transport(problem, &transport, registry))?.to_owned();
        let flow_controls = registry.flow_controls().iter().map(|part| (part.info.name, Some(*part)));
        let flow_control = section.choose(&FLOW_CONTROL, &or_none(flow_controls))?;
        let points = registry.congestion_points().iter().map(|part| (part.info.name, Some(*part)));
        let points = section.choose(&CONGESTION_POINTS, &or_none(points))?;
        let profiles = registry.profiles().iter().map(|profile| (profile.name, Some(*profile)));
        let profile = section.choose(&PROFILE, &or_none(profiles))?;
        let (queue, discipline) = read_queue(&mut section, registry, flow_control.is_some())?;
        // An experiment's file may have tables of schemes that only a sweep chooses. These tables are checked too.
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
            section.resolve_name(name, table);
        }
        let of = |name: &str| {
            let own = settings.iter().find(|(other, _)| *other == name);
            own.map_or_else(|| Settings::defaults(&[]), |(_, own)| own.clone())
        };
        let scheme = Self {
            view: registry.view(&transport, &routing),
            transport,
            settings: of(transport.info.name),
            routing_source: registry
                .routing(&routing)
                .and_then(|part| part.build.source())
                .map(str::to_owned),
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

    /// The names of the chosen parts.
    pub(crate) fn chosen(&self) -> impl Iterator<Item = &str> {
        let parts = [
            self.discipline.as_ref().map(|(part, _)| part.info.name),
            self.flow_control.as_ref().map(|(part, _)| part.info.name),
            self.congestion_points.as_ref().map(|(part, _)| part.info.name),
        ];
        [self.transport.info.name, &self.routing].into_iter().chain(parts.into_iter().flatten())
    }

    /// Sets each parameter whose default depends on the topology, unless the experiment's text or its profile gives a
    /// value. The values are also written to `resolved`, which is the experiment with all defaults.
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

/// A size or a rate in TOML; `None` for other values.
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
    let table = section.table_of(info.name)?;
    let mut table = table.unwrap_or_else(|| Section::of_parameters(&empty, format!("scheme.{}", info.name)));
    let of_profile = |name: &str| profile.and_then(|profile| profile.value(info.name, name));
    let settings = read_parameters(&mut table, info.parameters, of_profile)?;
    Ok((settings, table.finish()?))
}

/// The values of `parameters`. A parameter that `table` leaves out has the profile's value, or else its own default.
pub(super) fn read_parameters(
    table: &mut Section<'_>,
    parameters: &'static [Parameter],
    of_profile: impl Fn(&str) -> Option<Setting>,
) -> Result<Settings, Problem> {
    let mut settings = Settings::defaults(parameters);
    for parameter in parameters {
        let default = of_profile(parameter.name).unwrap_or(parameter.default);
        let value = read_parameter(table, &Parameter { default, ..*parameter })?;
        if !parameter.allows(&value) {
            let hint = format!("{}: {}", parameter.doc, parameter.limits());
            let what = format!("`{}` must be {}", parameter.name, parameter.limits());
            return Err(out_of_range(table.at_name(parameter.name), what, hint));
        }
        settings.set(parameter.name, value);
    }
    Ok(settings)
}

fn read_parameter(table: &mut Section<'_>, parameter: &Parameter) -> Result<Setting, Problem> {
    let key = parameter.name;
    Ok(match parameter.default {
        Setting::Duration(default) => Setting::Duration(table.parameter::<Duration>(key, default)?),
        Setting::Rate(default) => Setting::Rate(table.parameter(key, default)?),
        Setting::Bytes(default) => Setting::Bytes(table.parameter(key, Bytes(default))?.0),
        Setting::Count(default) => Setting::Count(table.parameter(key, default)?),
        // A fraction whose range exceeds 1 is a factor, and is not written as a percentage.
        Setting::Fraction(default) if parameter.range.1 > 1.0 => {
            Setting::Fraction(table.parameter(key, default)?)
        }
        Setting::Fraction(default) => Setting::Fraction(table.parameter(key, Fraction(default))?.0),
        Setting::Eight(default) => Setting::Eight(table.parameter(key, default)?),
        Setting::Flag(default) => Setting::Flag(table.parameter(key, default)?),
        Setting::Choice(default) => {
            Setting::Choice(table.parameter_choice(key, parameter.choices, default)?)
        }
    })
}

/// The choices of a key, preceded by `none`.
fn or_none<T>(parts: impl Iterator<Item = (&'static str, Option<T>)>) -> Vec<(&'static str, Option<T>)> {
    std::iter::once(("none", None)).chain(parts).collect()
}

/// Reads `queue = { kind = "fifo", limit = "150 KB", packets = 100, mark_packets = 65 }`. A FIFO without a limit is
/// unbounded, and a FIFO without a threshold marks no packets. `heeds` is true if ports respect pauses. The queues of
/// such ports cannot be FIFOs, and are `strict` by default.
fn read_queue(
    section: &mut Section<'_>,
    registry: &Registry,
    heeds: bool,
) -> Result<(QueueLimits, Option<QueueDiscipline>), Problem> {
    let Some(table) = section.kinded(&QUEUE)? else {
        return Ok((QueueLimits::default(), heeds.then_some(strict::QUEUE)));
    };
    let mut queue = Section::new(&table, &QUEUE_KEYS);
    let kinds = registry.queues().iter().map(|part| (part.info.name, Some(*part)));
    let kinds: Vec<_> = [(FIFO, None)].into_iter().chain(kinds).collect();
    let discipline = queue.choose(&QUEUE_KIND, &kinds)?;
    let hint = "choose kind = \"strict\", or leave `queue` out";
    queue.ensure(
        !heeds || discipline.is_some(),
        &QUEUE_KIND,
        "flow control needs a queue that respects pauses, but a FIFO does not respect pauses",
        hint,
    )?;
    if discipline.is_some() {
        section.resolve(&QUEUE, queue.finish()?);
        return Ok((QueueLimits::default(), discipline));
    }
    let limits = QueueLimits {
        bytes: queue.get(&LIMIT)?,
        packets: queue.get(&PACKETS)?,
        mark: queue.get(&MARK)?,
        mark_packets: queue.get(&MARK_PACKETS)?,
    };
    section.resolve(&QUEUE, queue.finish()?);
    Ok((limits, None))
}
