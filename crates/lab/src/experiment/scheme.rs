//! `[scheme]`: which parts carry the flows, and their parameters, as the registry declares them.

use super::problem::Problem;
use super::section::{Fraction, Section, wrong_type};
use super::value::Value;
use raddle_core::{Bytes, Duration};
use raddle_schemes::parameter::{Parameter, Settings, Value as Setting};
use raddle_schemes::registry::{Info, ROUTINGS, TRANSPORTS, Transport, View};

/// What may wait at an egress port.
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
    pub transport: &'static Transport,
    /// One of its routings.
    pub routing: String,
    /// The transport's parameters.
    pub settings: Settings,
    /// The routing's parameters; none if it is the transport's own.
    pub routing_settings: Settings,
    /// Egress queues.
    pub queue: QueueLimits,
}

impl std::fmt::Debug for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { transport, routing, settings, routing_settings, queue } = self;
        f.debug_tuple("Scheme")
            .field(&transport.info.name)
            .field(routing)
            .field(settings)
            .field(routing_settings)
            .field(queue)
            .finish()
    }
}

impl Scheme {
    pub(super) fn read(mut section: Section<'_>) -> Result<(Self, toml::Table), Problem> {
        let transports: Vec<_> =
            TRANSPORTS.iter().map(|transport| (transport.info.name, transport)).collect();
        let transport = section.choice("transport", "transport", &transports, None)?;
        let names = transport.routings();
        let routings: Vec<_> = names.iter().map(|&name| (name, name)).collect();
        let default = names.first().copied();
        let routing = section.choice("routing", "routing of this transport", &routings, default)?.to_owned();
        let queue = read_queue(&mut section)?;
        // The tables of other schemes may stand here for a sweep to use: they are checked too.
        let mut settings = Settings::defaults(&[]);
        let mut routing_settings = Settings::defaults(&[]);
        let all = TRANSPORTS.iter().map(|transport| &transport.info);
        for info in all.chain(ROUTINGS.iter().map(|routing| &routing.info)) {
            let (own, resolved) = read_settings(&mut section, info)?;
            if info.name == transport.info.name {
                section.resolve(info.name, resolved);
                settings = own;
            } else if info.name == routing {
                if !resolved.is_empty() {
                    section.resolve(info.name, resolved);
                }
                routing_settings = own;
            }
        }
        Ok((Self { transport, routing, settings, routing_settings, queue }, section.finish()?))
    }

    /// What its parts look at.
    #[must_use]
    pub fn view(&self) -> View {
        self.transport.view(&self.routing)
    }
}

fn read_settings(section: &mut Section<'_>, info: &Info) -> Result<(Settings, toml::Table), Problem> {
    let parameters = info.parameters;
    let mut settings = Settings::defaults(parameters);
    let empty = super::engine::absent(section.at());
    let table = section.section(info.name)?;
    let mut table = table.unwrap_or_else(|| Section::new(&empty, info.name));
    for parameter in parameters {
        let value = read_parameter(&mut table, parameter)?;
        let hint = format!("{}: {}", parameter.doc, parameter.limits());
        let what = format!("`{}` is out of range", parameter.name);
        table.ensure(parameter.allows(&value), parameter.name, &what, &hint)?;
        settings.set(parameter.name, value);
    }
    Ok((settings, table.finish()?))
}

fn read_parameter(table: &mut Section<'_>, parameter: &Parameter) -> Result<Setting, Problem> {
    let key = parameter.name;
    Ok(match parameter.default {
        Setting::Duration(default) => Setting::Duration(table.or::<Duration>(key, default)?),
        Setting::Rate(default) => Setting::Rate(table.or(key, default)?),
        Setting::Bytes(default) => Setting::Bytes(table.or(key, Bytes(default))?.0),
        Setting::Count(default) => Setting::Count(table.or(key, default)?),
        Setting::Fraction(default) => Setting::Fraction(table.or(key, Fraction(default))?.0),
        Setting::Flag(default) => Setting::Flag(table.or(key, default)?),
        Setting::Choice(default) => {
            let choices: Vec<_> = parameter.choices.iter().map(|&name| (name, name)).collect();
            Setting::Choice(table.choice(key, "choice", &choices, Some(default))?)
        }
    })
}

/// `queue = { kind = "fifo", limit = "150 KB", packets = 100, mark_packets = 65 }`: unbounded where no limit is given,
/// and without marks where no threshold is.
fn read_queue(section: &mut Section<'_>) -> Result<QueueLimits, Problem> {
    let Some(item) = section.item("queue") else {
        return Ok(QueueLimits::default());
    };
    let Value::Table(table) = &item.value else {
        return Err(wrong_type(item, "a queue such as { kind = \"fifo\", limit = \"150 KB\" }"));
    };
    let mut queue = Section::new(table, "scheme.queue");
    queue.choice("kind", "queue", &[("fifo", ())], None)?;
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
    Ok(limits)
}
