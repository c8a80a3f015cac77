//! The features that each engine supports. This is the only place that says so. The packet engine supports every
//! feature except those that belong to one other engine, such as the flow engine's grid and the live engine's dilation.

use crate::experiment::EngineKind;
use crate::run::prepare::Prepared;
use raddle_schemes::scheme::View;

/// A feature that an experiment may ask for and that some engines lack.
struct Feature {
    /// The key by which the experiment asks for it.
    key: &'static str,
    is_asked: fn(&Prepared) -> bool,
    /// For each engine the reason why it lacks the feature.
    lacks: Lacks,
}

/// For each engine the reason why it lacks a feature; `None` if the engine supports it.
#[derive(Default)]
struct Lacks {
    packet: Option<&'static str>,
    flow: Option<&'static str>,
    lockstep: Option<&'static str>,
    live: Option<&'static str>,
}

impl Lacks {
    const NOBODY: Self = Self { packet: None, flow: None, lockstep: None, live: None };

    const fn of(&self, engine: EngineKind) -> Option<&'static str> {
        match engine {
            EngineKind::Packet => self.packet,
            EngineKind::Flow => self.flow,
            EngineKind::Lockstep => self.lockstep,
            EngineKind::Live => self.live,
        }
    }
}

const ENGINES: [EngineKind; 4] =
    [EngineKind::Packet, EngineKind::Flow, EngineKind::Lockstep, EngineKind::Live];

const FEATURES: &[Feature] = &[
    Feature {
        key: "workload",
        is_asked: |prepared| prepared.job.is_some(),
        lacks: Lacks {
            flow: Some("programs run on hosts, which the flow engine has none of"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "engine.hosts",
        is_asked: |prepared| prepared.experiment.engine.hosts.is_some(),
        lacks: Lacks {
            packet: Some("programs of this machine run in real time alone"),
            flow: Some("programs of this machine run in real time alone"),
            lockstep: Some("programs of this machine run in real time alone"),
            live: None,
        },
    },
    Feature {
        key: "failure",
        is_asked: |prepared| !prepared.experiment.failures.is_empty(),
        lacks: Lacks {
            flow: Some("nothing fails in the flow engine"),
            lockstep: Some("nothing fails in lockstep"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "faults",
        is_asked: |prepared| prepared.experiment.faults.is_some(),
        lacks: Lacks {
            flow: Some("nothing fails in the flow engine"),
            lockstep: Some("nothing fails in lockstep"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "errors",
        is_asked: |prepared| prepared.experiment.errors.is_some(),
        lacks: Lacks { flow: Some("fluids cannot be lost or damaged on a link"), ..Lacks::NOBODY },
    },
    Feature {
        key: "engine.cut_through",
        is_asked: |prepared| prepared.experiment.engine.cut_through,
        lacks: Lacks {
            lockstep: Some("lockstep is store-and-forward"),
            live: Some("a live rack is store-and-forward"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "engine.grid",
        is_asked: |prepared| prepared.experiment.engine.grid.is_some(),
        lacks: Lacks {
            packet: Some("only the flow engine works out rates"),
            lockstep: Some("only the flow engine works out rates"),
            live: Some("only the flow engine works out rates"),
            flow: None,
        },
    },
    Feature {
        key: "engine.discovery",
        is_asked: |prepared| prepared.experiment.engine.hellos.is_some(),
        lacks: Lacks { flow: Some("the flow engine has no packets, and so no hellos"), ..Lacks::NOBODY },
    },
    Feature {
        key: "engine.dilation",
        is_asked: |prepared| prepared.experiment.engine.dilation.is_some(),
        lacks: Lacks {
            packet: Some("only a live run has a clock to slow down"),
            flow: Some("only a live run has a clock to slow down"),
            lockstep: Some("only a live run has a clock to slow down"),
            live: None,
        },
    },
    Feature {
        key: "engine.polling_threads",
        is_asked: |prepared| prepared.experiment.engine.polling_threads.is_some(),
        lacks: Lacks {
            packet: Some("only the nodes of a live run are polled"),
            flow: Some("only the nodes of a live run are polled"),
            lockstep: Some("only the nodes of a live run are polled"),
            live: None,
        },
    },
    Feature {
        key: "engine.provider",
        is_asked: |prepared| prepared.experiment.engine.provider.is_some(),
        lacks: Lacks {
            packet: Some("only a live run has other machines to send to"),
            flow: Some("only a live run has other machines to send to"),
            lockstep: Some("only a live run has other machines to send to"),
            live: None,
        },
    },
    Feature {
        key: "scheme",
        is_asked: |prepared| prepared.experiment.scheme.view == View::Global,
        lacks: Lacks {
            live: Some("these parts look at nodes elsewhere, which live nodes cannot"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "engine.watchdog",
        is_asked: |prepared| prepared.experiment.engine.watchdog.is_some(),
        lacks: Lacks {
            flow: Some("no port is paused in the flow engine"),
            lockstep: Some("nobody looks for circles of pauses in lockstep"),
            live: Some("nobody looks for circles of pauses in a live rack"),
            packet: None,
        },
    },
    Feature {
        key: "record.queues",
        is_asked: |prepared| prepared.experiment.record.queues,
        lacks: Lacks { flow: Some("fluids do not queue"), ..Lacks::NOBODY },
    },
    Feature {
        key: "record.queue_lengths",
        is_asked: |prepared| prepared.experiment.record.queue_lengths.is_some(),
        lacks: Lacks {
            flow: Some("fluids do not queue"),
            lockstep: Some("lockstep ports are not looked into"),
            live: Some("ports of a live rack are not looked into"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "record.imbalance",
        is_asked: |prepared| prepared.experiment.record.imbalance.is_some(),
        lacks: Lacks { flow: Some("the flow engine samples no links"), ..Lacks::NOBODY },
    },
    Feature {
        key: "record.throughput",
        is_asked: |prepared| prepared.experiment.record.throughput.is_some(),
        lacks: Lacks { flow: Some("the flow engine counts bytes of whole flows only"), ..Lacks::NOBODY },
    },
    Feature {
        key: "record.pcap",
        is_asked: |prepared| prepared.experiment.record.pcap.is_some(),
        lacks: Lacks { flow: Some("fluids have no packets to capture"), ..Lacks::NOBODY },
    },
];

/// A feature that the experiment asks for and that its engine lacks.
pub(crate) struct Lacking {
    /// The key by which the experiment asks for it.
    pub(crate) key: &'static str,
    /// The reason why the engine lacks it.
    pub(crate) why: String,
    /// A correction for the user.
    pub(crate) hint: String,
}

/// The engines that heed the key of that dotted name, if not all do; otherwise none.
pub(crate) fn engines_of(key: &str) -> Vec<EngineKind> {
    // Of these tables, only some values are not for all engines.
    let feature =
        FEATURES.iter().find(|feature| feature.key == key && !["workload", "scheme"].contains(&key));
    let heeds = |feature: &Feature| {
        ENGINES.into_iter().filter(|&engine| feature.lacks.of(engine).is_none()).collect()
    };
    feature.map_or_else(Vec::new, heeds)
}

/// The first feature that the experiment asks for and that its engine lacks.
pub(crate) fn lacking(prepared: &Prepared) -> Option<Lacking> {
    let engine = prepared.experiment.engine.kind;
    let lacking = |feature: &Feature| {
        let why = feature.lacks.of(engine).filter(|_| (feature.is_asked)(prepared))?;
        let others = ENGINES.iter().filter(|&&other| feature.lacks.of(other).is_none());
        let others: Vec<_> = others.map(|other| format!("kind = \"{}\"", other.name())).collect();
        let hint = format!("leave it out, or choose {} in [engine]", others.join(" or "));
        Some(Lacking { key: feature.key, why: why.to_owned(), hint })
    };
    FEATURES.iter().find_map(lacking)
}
