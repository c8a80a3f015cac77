//! Clairvoyant's entry in the registry.

use super::switch::{Seer, Selector};
use super::world::World;
use crate::fluid::Spread;
use crate::parameters;
use crate::routing::expeditus::Counters;
use crate::routing::expeditus::path_table::{Clock, Lookup, PathTable};
use crate::routing::expeditus::scheme::{
    ALPHA, BITS, Mode, PST_CAPACITY, PST_CLOCK, PST_LOOKUP, PST_TIMEOUT, T_DRE, clos_of,
};
use crate::routing::flow_hash::salt;
use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View};
use raddle_core::{Dre, Duration, Forwarder, PortId, Stream};
use raddle_topology::Clos;
use std::sync::{Arc, Mutex};

/// Clairvoyant.
pub const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::LeastLoaded, hold: |_| None };

const INFO: Info = Info {
    name: "clairvoyant",
    summary: "In a Clos network, each flow takes the path whose maximum link load is lowest when the flow \
              begins",
    source: "Expeditus (SoCC 2016) §5.1, under the names Clairvoyant and ideal",
    differs: &[
        "not specified in the paper: ties are broken at random, and loads are rounded as in Expeditus",
        "an edge switch avoids its own failed links at once, and other failed links after their failure has \
         been discovered",
    ],
    view: View::Global,
    parameters: &Parameters::LIST,
};

parameters! {
    struct Parameters {
        /// select paths for both directions, or only for the direction of the SYN, as the authors' simulation code
        /// does
        mode: Mode;
        t_dre: Duration = T_DRE;
        alpha: f64 = ALPHA;
        bits: u32 = BITS;
        pst_capacity: usize = PST_CAPACITY;
        pst_timeout: Duration = PST_TIMEOUT;
        pst_clock: Clock = PST_CLOCK;
        pst_lookup: Lookup = PST_LOOKUP;
    }
}

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let Plan { topology, seed, .. } = *plan;
    let Parameters { mode, t_dre, alpha, bits, pst_capacity, pst_timeout, pst_clock, pst_lookup } =
        Parameters::of(plan.settings);
    let size = clos_of(topology, INFO.name)?;
    let clos = Clos::new(size);
    let (paths, counters) = (ShortestPaths::new(topology), Arc::<Counters>::default());
    let table = || PathTable::new(pst_capacity, pst_timeout, pst_clock, pst_lookup, &counters);
    let world = World::new(topology, size, Dre::new(t_dre, alpha, bits), table);
    let world = Arc::new(Mutex::new(world));
    let forward_only = mode == Mode::Authsim;
    Ok(Box::new(move |node| {
        let level = clos.level(node);
        if level == 0 {
            return None;
        }
        let stream = || Stream::new(seed, node.0.into(), "clairvoyant/ties");
        let forwarder: Box<dyn Forwarder> = Box::new(Seer {
            next_hops: NextHops::new(node, &paths),
            salt: salt(seed, node),
            below: clos.hosts_below(node),
            first_link: paths.topology().link_id(node, PortId(0)),
            host_ports: if level == 1 { clos.uplinks(level).start } else { 0 },
            selector: (level == 1).then(|| Selector { stream: stream(), forward_only }),
            world: Arc::clone(&world),
        });
        Some(forwarder)
    }))
}
