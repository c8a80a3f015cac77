//! The features that some engines lack. The packet engine supports every feature except features that only one other
//! engine has, such as the flow engine's grid and the live engine's dilation.

use crate::experiment::EngineKind;
use crate::run::prepare::Prepared;
use raddle_schemes::scheme::View;

/// A feature that an experiment may ask for and that some engines lack.
struct Feature {
    /// The key with which the experiment asks for the feature.
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
        lacks: Lacks { flow: Some("the flow engine cannot run programs"), ..Lacks::NOBODY },
    },
    Feature {
        key: "engine.hosts",
        is_asked: |prepared| prepared.experiment.engine.hosts.is_some(),
        lacks: Lacks {
            packet: Some("hosts in namespaces need a live run"),
            flow: Some("hosts in namespaces need a live run"),
            lockstep: Some("hosts in namespaces need a live run"),
            live: None,
        },
    },
    Feature {
        key: "failure",
        is_asked: |prepared| !prepared.experiment.failures.is_empty(),
        lacks: Lacks {
            flow: Some("the flow engine does not support failures"),
            lockstep: Some("the lockstep engine does not support failures"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "faults",
        is_asked: |prepared| prepared.experiment.faults.is_some(),
        lacks: Lacks {
            flow: Some("the flow engine does not support failures"),
            lockstep: Some("the lockstep engine does not support failures"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "errors",
        is_asked: |prepared| prepared.experiment.errors.is_some(),
        lacks: Lacks {
            flow: Some("the flow engine has no packets that could be lost or damaged"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "engine.cut_through",
        is_asked: |prepared| prepared.experiment.engine.cut_through,
        lacks: Lacks {
            lockstep: Some("the lockstep engine supports only store-and-forward switching"),
            live: Some("live runs support only store-and-forward switching"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "engine.grid",
        is_asked: |prepared| prepared.experiment.engine.grid.is_some(),
        lacks: Lacks {
            packet: Some("only the flow engine can restrict its rate computations to a grid of times"),
            lockstep: Some("only the flow engine can restrict its rate computations to a grid of times"),
            live: Some("only the flow engine can restrict its rate computations to a grid of times"),
            flow: None,
        },
    },
    Feature {
        key: "engine.discovery",
        is_asked: |prepared| prepared.experiment.engine.hellos.is_some(),
        lacks: Lacks {
            flow: Some("the flow engine has no packets, so nodes cannot send hellos"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "engine.dilation",
        is_asked: |prepared| prepared.experiment.engine.dilation.is_some(),
        lacks: Lacks {
            packet: Some("only a live run supports time dilation"),
            flow: Some("only a live run supports time dilation"),
            lockstep: Some("only a live run supports time dilation"),
            live: None,
        },
    },
    Feature {
        key: "engine.polling_threads",
        is_asked: |prepared| prepared.experiment.engine.polling_threads.is_some(),
        lacks: Lacks {
            packet: Some("only a live run has polling threads"),
            flow: Some("only a live run has polling threads"),
            lockstep: Some("only a live run has polling threads"),
            live: None,
        },
    },
    Feature {
        key: "engine.provider",
        is_asked: |prepared| prepared.experiment.engine.provider.is_some(),
        lacks: Lacks {
            packet: Some("only a live run can use a libfabric provider"),
            flow: Some("only a live run can use a libfabric provider"),
            lockstep: Some("only a live run can use a libfabric provider"),
            live: None,
        },
    },
    Feature {
        key: "scheme",
        is_asked: |prepared| prepared.experiment.scheme.view == View::Global,
        lacks: Lacks {
            live: Some("this scheme reads the state of other nodes, which is impossible in a live run"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "scheme.routing",
        is_asked: |prepared| prepared.experiment.scheme.routing_source.is_some(),
        lacks: Lacks {
            flow: Some("a routing scheme written in Python runs only in the packet engine"),
            lockstep: Some("a routing scheme written in Python runs only in the packet engine"),
            live: Some("a routing scheme written in Python runs only in the packet engine"),
            packet: None,
        },
    },
    Feature {
        key: "engine.watchdog",
        is_asked: |prepared| prepared.experiment.engine.watchdog.is_some(),
        lacks: Lacks {
            flow: Some("the flow engine does not pause ports, so links cannot deadlock"),
            lockstep: Some("the lockstep engine does not search for deadlocks"),
            live: Some("live runs do not search for deadlocks"),
            packet: None,
        },
    },
    Feature {
        key: "record.queues",
        is_asked: |prepared| prepared.experiment.record.queues,
        lacks: Lacks {
            flow: Some("the flow engine has no queues"),
            lockstep: Some("the lockstep engine keeps no histograms of queue lengths"),
            live: Some("live runs keep no histograms of queue lengths"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "record.queue_lengths",
        is_asked: |prepared| prepared.experiment.record.queue_lengths.is_some(),
        lacks: Lacks {
            flow: Some("the flow engine has no queues"),
            lockstep: Some("the lockstep engine does not sample queues"),
            live: Some("live runs do not sample queues"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "record.series",
        is_asked: |prepared| prepared.experiment.record.series,
        lacks: Lacks {
            lockstep: Some("the lockstep engine does not sample queues"),
            live: Some("live runs do not sample queues"),
            ..Lacks::NOBODY
        },
    },
    Feature {
        key: "record.imbalance",
        is_asked: |prepared| prepared.experiment.record.imbalance.is_some(),
        lacks: Lacks { flow: Some("the flow engine does not measure imbalance"), ..Lacks::NOBODY },
    },
    Feature {
        key: "record.throughput",
        is_asked: |prepared| prepared.experiment.record.throughput.is_some(),
        lacks: Lacks { flow: Some("the flow engine has no packet arrivals to count"), ..Lacks::NOBODY },
    },
    Feature {
        key: "record.pcap",
        is_asked: |prepared| prepared.experiment.record.pcap.is_some(),
        lacks: Lacks { flow: Some("the flow engine has no packets to capture"), ..Lacks::NOBODY },
    },
];

/// A feature that the experiment asks for and that its engine lacks.
pub(crate) struct Lacking {
    /// The key with which the experiment asks for the feature.
    pub(crate) key: &'static str,
    /// The reason why the engine lacks the feature.
    pub(crate) why: String,
    /// A correction that is suggested to the user.
    pub(crate) hint: String,
}

/// The engines that support the key with this dotted name; empty if all engines support the key.
pub(crate) fn engines_of(key: &str) -> Vec<EngineKind> {
    // The features of `workload` and `scheme` concern particular values. All engines support the tables themselves.
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
        let change = match feature.key {
            key @ ("scheme" | "workload") => format!("choose another {key}"),
            key => format!("leave `{key}` out"),
        };
        let hint = format!("{change}, or choose {} in [engine]", others.join(" or "));
        Some(Lacking { key: feature.key, why: why.to_owned(), hint })
    };
    FEATURES.iter().find_map(lacking)
}
