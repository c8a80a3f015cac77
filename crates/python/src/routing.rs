//! Routings written in Python. Such a routing is a class whose objects choose egress ports in the packet engine. Its
//! base class is in `python/raddle/_routing.py`.
//!
//! Each node that forwards has its own object. The records do not depend on the number of threads if each object keeps
//! its state in itself, and draws random numbers only with `Node.random`, from the stream of its node. A thread takes
//! Python's lock for each packet that has several next hops, so the threads of a run wait for each other.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMappingProxy, PyType};
use raddle_core::{
    DropReason, Forwarder, LinkId, NodeId, Packet as Carried, PortId, PortState, Ports, Stream, Time, Verdict,
};
use raddle_lab::experiment::{keys, quantity};
use raddle_schemes::fluid::Spread;
use raddle_schemes::halt::Halt;
use raddle_schemes::parameter::{Parameter, Settings, Value};
use raddle_schemes::registry::Registry;
use raddle_schemes::routing::flow_hash::{flow_hash, salt};
use raddle_schemes::routing::next_hops::{NextHops, ShortestPaths};
use raddle_schemes::routing::reordering::{HOLD, Hold};
use raddle_schemes::scheme::{Build, Forwarders, Info, Plan, Routing, View, forwarders_where_needed};
use raddle_wire::Position;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The fields of a `raddle._routing.Definition`, which describes the class of a routing.
#[derive(FromPyObject)]
pub(crate) struct Definition {
    routing: Py<PyType>,
    name: String,
    summary: String,
    stream: String,
    parameters: Py<PyDict>,
    source: String,
}

/// The built-in schemes and the routings that `definitions` describe.
pub(crate) fn registry(py: Python<'_>, definitions: Vec<Definition>) -> PyResult<Registry> {
    definitions.into_iter().try_fold(Registry::builtin(), |registry, definition| {
        let name = &definition.name;
        let is_of = |what| {
            let what = format!("`{name}` is {what}: give the class another `name`");
            Err(PyValueError::new_err(what))
        };
        if registry.schemes().any(|info| info.name == name)
            || registry.own_routings().any(|(other, _)| other == *name)
        {
            return is_of("the name of another scheme");
        }
        if keys::explain(&format!("scheme.{name}"), &registry).is_some() {
            return is_of("a key of [scheme]");
        }
        Ok(registry.with(definition.into_routing(py)?))
    })
}

impl Definition {
    fn into_routing(self, py: Python<'_>) -> PyResult<Routing> {
        let parameters = self.parameters.bind(py).iter();
        let parameters = parameters.map(|(name, default)| parameter(&name.extract::<String>()?, &default));
        let parameters = parameters.collect::<PyResult<Box<[_]>>>()?;
        let info = Info {
            name: kept(&NAMES, self.name.as_str().into()),
            summary: kept(&NAMES, self.summary.as_str().into()),
            source: "a class in Python",
            differs: &[],
            view: View::Local,
            parameters: kept(&PARAMETERS, parameters),
        };
        let source = self.source.clone();
        let definition = Arc::new(self);
        let build = move |plan: &Plan<'_>, halt: &Halt| Ok(forwarders(plan, halt, &definition));
        Ok(Routing {
            info,
            build: Build::Interpreted { build: Arc::new(build), source },
            // The flow engine refuses a routing that is written in Python.
            spread: |_| Spread::AsForwarded,
            hold,
        })
    }
}

/// Texts of routing classes. The texts live as long as the process, and equal texts are kept once.
static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// Parameters of routing classes. The lists live as long as the process, and equal lists are kept once.
static PARAMETERS: Mutex<Vec<&'static [Parameter]>> = Mutex::new(Vec::new());

fn kept<T: PartialEq + ?Sized>(known: &Mutex<Vec<&'static T>>, new: Box<T>) -> &'static T {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.iter().find(|known| ***known == *new) {
        return same;
    }
    let new = Box::leak(new);
    known.push(new);
    new
}

/// A parameter whose kind follows from its default.
fn parameter(name: &str, default: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let refused = |what: &str| Err(PyValueError::new_err(format!("the parameter `{name}` {what}")));
    let value = if let Ok(flag) = default.extract::<bool>() {
        Value::Flag(flag)
    } else if let Ok(count) = default.extract::<u64>() {
        Value::Count(count)
    } else if let Ok(number) = default.extract::<f64>() {
        Value::Fraction(number)
    } else if let Ok(text) = default.extract::<&str>() {
        match (quantity::parse(text), quantity::parse(text), quantity::parse(text)) {
            (Ok(duration), _, _) => Value::Duration(duration),
            (_, Ok(rate), _) => Value::Rate(rate),
            (_, _, Ok(raddle_core::Bytes(bytes))) => Value::Bytes(bytes),
            _ => return refused(&format!("must be a time, a rate or a size with its unit (got \"{text}\")")),
        }
    } else {
        return refused("must be a bool, an int, a float, or a str such as \"100 us\"");
    };
    let doc = if name == HOLD.name { HOLD.doc } else { "a parameter of a routing class written in Python" };
    let parameter = Parameter::new(kept(&NAMES, name.into()), value, doc).within(0.0, f64::INFINITY);
    if name == HOLD.name && !HOLD.allows(&value) {
        return refused("must be a time, such as \"100 us\"");
    }
    if !parameter.allows(&value) {
        return refused("must not be negative");
    }
    Ok(parameter)
}

/// The rule by which receivers hold packets that arrive out of order; `None` if the class has no parameter `hold`, or
/// the parameter is 0.
fn hold(settings: &Settings) -> Option<Hold> {
    settings.iter().find_map(|(parameter, value)| match value {
        Value::Duration(time) if parameter.name == HOLD.name => Hold::new(time, None),
        _ => None,
    })
}

fn forwarders(plan: &Plan<'_>, halt: &Halt, definition: &Arc<Definition>) -> Forwarders {
    let (topology, paths, seed) = (Arc::clone(plan.topology), ShortestPaths::new(plan.topology), plan.seed);
    let (halt, definition, settings) =
        (halt.clone(), Arc::clone(definition), Arc::new(plan.settings.clone()));
    forwarders_where_needed(plan.topology, move |node| Interpreted {
        next_hops: NextHops::new(node, &paths),
        salt: salt(seed, node),
        seed,
        ports: topology.port_count(node),
        settings: Arc::clone(&settings),
        definition: Arc::clone(&definition),
        object: None,
        halt: halt.clone(),
    })
}

/// The forwarder of a node.
struct Interpreted {
    next_hops: NextHops,
    salt: u64,
    seed: u64,
    /// Number of the node's ports.
    ports: usize,
    settings: Arc<Settings>,
    definition: Arc<Definition>,
    /// The node's instance of the routing class; `None` before the first packet that has several next hops.
    object: Option<Object>,
    halt: Halt,
}

/// A node's instance of the routing class.
struct Object {
    node: Py<Node>,
    /// The object's method `forward`.
    forward: Py<PyAny>,
}

impl Forwarder for Interpreted {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Carried,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        if packet.dst() == self.next_hops.node() {
            return Verdict::Deliver;
        }
        let candidates = match self.next_hops.ports(packet.dst()) {
            [] => return Verdict::Drop(DropReason::NoRoute),
            &[only] => return Verdict::Forward(only),
            several => several.iter().map(|&port| Candidate::new(now, port, ports.get(port))).collect(),
        };
        // The run is about to end with an error, and its records are not kept.
        if self.halt.error().is_some() {
            return Verdict::Drop(DropReason::NoRoute);
        }
        let packet = Packet::new(packet, arrival, self.salt);
        match Python::attach(|py| self.choose(py, now, packet, candidates)) {
            Ok(port) => Verdict::Forward(port),
            Err(error) => {
                self.halt.because(error);
                Verdict::Drop(DropReason::NoRoute)
            }
        }
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}

impl Interpreted {
    /// Asks the object for the port of a packet.
    ///
    /// # Errors
    /// The traceback of an exception, or a text about a port that is not a candidate.
    fn choose(
        &mut self,
        py: Python<'_>,
        now: Time,
        packet: Packet,
        candidates: Vec<Candidate>,
    ) -> Result<PortId, String> {
        let ports: Vec<u16> = candidates.iter().map(|candidate| candidate.port).collect();
        let chosen = self.ask(py, now, packet, candidates).map_err(|raised| {
            format!(
                "`{}` raised an exception at node {}\n{}",
                self.class(py),
                self.id(),
                traceback(py, raised)
            )
        })?;
        match chosen.extract::<u16>() {
            Ok(port) if ports.contains(&port) => Ok(PortId(port)),
            _ => {
                let shown = chosen.repr().map_or_else(|_| "an object".to_owned(), |text| text.to_string());
                let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
                Err(format!(
                    "`{}.forward` returned {shown} at node {}, but must return a candidate's port (candidates: {})",
                    self.class(py),
                    self.id(),
                    ports.join(", ")
                ))
            }
        }
    }

    fn ask<'py>(
        &mut self,
        py: Python<'py>,
        now: Time,
        packet: Packet,
        candidates: Vec<Candidate>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Object { node, forward } = match self.object.take() {
            Some(object) => self.object.insert(object),
            None => {
                let object = self.object(py)?;
                self.object.insert(object)
            }
        };
        node.get().now_ps.store(now.as_ps(), Ordering::Relaxed);
        forward.bind(py).call1((packet, PyList::new(py, candidates)?))
    }

    /// Makes the node's object.
    fn object(&self, py: Python<'_>) -> PyResult<Object> {
        let id = self.next_hops.node();
        let parameters = PyDict::new(py);
        for (parameter, value) in self.settings.iter() {
            let name = parameter.name;
            match value {
                Value::Duration(duration) => parameters.set_item(name, duration.as_ps())?,
                Value::Rate(rate) => parameters.set_item(name, rate.as_bps())?,
                Value::Bytes(number) | Value::Count(number) => parameters.set_item(name, number)?,
                Value::Fraction(number) => parameters.set_item(name, number)?,
                Value::Flag(flag) => parameters.set_item(name, flag)?,
                Value::Choice(word) => parameters.set_item(name, word)?,
                Value::Eight(numbers) => parameters.set_item(name, numbers)?,
            }
        }
        let node = Node {
            id: id.0,
            ports: self.ports,
            parameters: PyMappingProxy::new(py, parameters.as_mapping()).unbind(),
            now_ps: AtomicU64::new(0),
            random: Mutex::new(Stream::new(self.seed, id.0.into(), &self.definition.stream)),
        };
        let node = Py::new(py, node)?;
        let forward = self.definition.routing.bind(py).call1((node.clone_ref(py),))?.getattr("forward")?;
        Ok(Object { node, forward: forward.unbind() })
    }

    /// The name of the class.
    fn class(&self, py: Python<'_>) -> String {
        let name = self.definition.routing.bind(py).qualname();
        name.map_or_else(|_| self.definition.name.clone(), |name| name.to_string())
    }

    fn id(&self) -> NodeId {
        self.next_hops.node()
    }
}

/// An exception as Python prints it.
fn traceback(py: Python<'_>, raised: PyErr) -> String {
    let short = raised.to_string();
    let lines = py
        .import("traceback")
        .and_then(|module| module.call_method1("format_exception", (raised.into_value(py),)))
        .and_then(|lines| lines.extract::<Vec<String>>());
    lines.map_or(short, |lines| lines.concat().trim_end().to_owned())
}

/// A node that forwards packets, as the object of a :class:`~raddle.Routing` sees it.
#[pyclass(frozen, module = "raddle")]
pub(crate) struct Node {
    /// The node's number.
    #[pyo3(get)]
    id: u32,
    /// The number of the node's ports, which are numbered from 0.
    #[pyo3(get)]
    ports: usize,
    /// The values of the routing's parameters: times in picoseconds, rates in bit/s, sizes in bytes.
    #[pyo3(get)]
    parameters: Py<PyMappingProxy>,
    now_ps: AtomicU64,
    random: Mutex<Stream>,
}

#[pymethods]
impl Node {
    /// The simulated time of the latest call of ``forward``, in picoseconds; 0 before the first call.
    #[getter]
    fn now_ps(&self) -> u64 {
        self.now_ps.load(Ordering::Relaxed)
    }

    /// A random number from 0 to ``bound - 1``, from the node's own stream under the run's seed.
    fn random(&self, bound: u64) -> PyResult<u64> {
        if bound == 0 {
            return Err(PyValueError::new_err("`bound` must be greater than 0 (got 0)"));
        }
        Ok(self.random.lock().unwrap_or_else(PoisonError::into_inner).below(bound))
    }

    fn __repr__(&self) -> String {
        format!("<raddle.Node {}>", self.id)
    }
}

/// A packet that a node forwards.
#[pyclass(frozen, get_all, module = "raddle")]
pub(crate) struct Packet {
    /// The node that sent the packet.
    source: u32,
    /// The node to which the packet is addressed.
    destination: u32,
    /// Size in bytes, headers included. The overhead of the link layer is not included.
    size_bytes: u32,
    /// Bytes of the application; 0 for control packets, such as acknowledgements.
    payload_bytes: u32,
    /// The key of the flow in the header of a data packet; ``None`` for control packets.
    flow: Option<u64>,
    /// The sequence number of a data packet as its header gives it, such as TCP's; ``None`` for control packets.
    sequence: Option<u64>,
    /// 64 bits that are the same for all packets of a flow in one direction, and differ between nodes and seeds.
    hash: u64,
    /// The port by which the packet arrived; ``None`` if it comes from the node's own host.
    arrival: Option<u16>,
}

impl Packet {
    fn new(packet: &Carried, arrival: Option<PortId>, salt: u64) -> Self {
        let range = packet.range();
        Self {
            source: packet.src().0,
            destination: packet.dst().0,
            size_bytes: packet.size,
            payload_bytes: packet.payload(),
            flow: range.map(|range| range.key.0),
            sequence: range.map(|range| match range.position {
                Position::Byte(byte) => byte,
                Position::WrappedByte(number) | Position::Packet(number) => number.into(),
            }),
            hash: flow_hash(packet, salt),
            arrival: arrival.map(|port| port.0),
        }
    }
}

#[pymethods]
impl Packet {
    fn __repr__(&self) -> String {
        format!("<raddle.Packet from {} to {}, {} B>", self.source, self.destination, self.size_bytes)
    }
}

/// A port on a shortest path to a packet's destination.
#[pyclass(frozen, get_all, module = "raddle")]
pub(crate) struct Candidate {
    /// The port's number.
    port: u16,
    /// False if the link is down and its failure has not been discovered yet.
    is_up: bool,
    /// Bytes in the egress queue, the unsent part of the packet in service included.
    queue_bytes: u64,
    /// Time until the egress queue has drained, in picoseconds, if the port is not paused.
    wait_ps: u64,
    /// Rate of the link in bit/s.
    rate_bps: u64,
}

impl Candidate {
    fn new(now: Time, id: PortId, port: &PortState) -> Self {
        Self {
            port: id.0,
            is_up: port.up,
            queue_bytes: port.waiting(now).0,
            wait_ps: port.backlog(now).as_ps(),
            rate_bps: port.rate.as_bps(),
        }
    }
}

#[pymethods]
impl Candidate {
    fn __repr__(&self) -> String {
        format!("<raddle.Candidate port {}, {} B in its queue>", self.port, self.queue_bytes)
    }
}
