//! The links of a partition and their ports.

use super::setup::Plan;
use crate::port::{Class, Port, PortSetup, QueueDepths, Served, Special};
use crate::simulation::Switching;
use crate::wire::Wire;
use raddle_core::{LinkFlowControl, LinkId, LinkStats, Paused, PortId, PortState, Rate, Time};
use rustc_hash::FxHashMap;

/// The links of a partition, in the order of their ids: those that leave its nodes, and those that end there.
#[derive(Default)]
pub(super) struct Links {
    pub(super) ids: Vec<LinkId>,
    pub(super) ports: Vec<Port>,
    /// What the parts of nodes see of the ports.
    pub(super) states: Vec<PortState>,
    pub(super) specials: Vec<Option<Box<Special>>>,
    pub(super) classes: Vec<Class>,
    /// The partition at the far end and the link's index there. Empty if there is no other partition.
    pub(super) far: Vec<(u32, u32)>,
    /// Empty if nobody asked.
    pub(super) depths: Vec<QueueDepths>,
}

/// Bytes of memory that a link takes.
pub(crate) const BYTES_A_LINK: usize =
    size_of::<Port>() + size_of::<PortState>() + size_of::<Option<Box<Special>>>() + size_of::<LinkId>();

impl Links {
    pub(super) fn new(plan: &Plan<'_>, number: usize, mut setup: impl FnMut(LinkId) -> PortSetup) -> Self {
        let Plan { topology, division, config, .. } = plan;
        let cut_through = matches!(config.switching, Switching::CutThrough { .. });
        let mut all = Self::default();
        let mut known = FxHashMap::default();
        for &(id, from) in division.links(number) {
            let link = topology.link(id);
            let is_here = division.home(from) == number;
            let setup = if is_here { setup(id) } else { PortSetup::default() };
            let class = Class::new(link, topology.link_layer(), &setup);
            let mut special = Special::new(link.map_or(0, |link| division.place(link.from)), setup, &class);
            let is_served = special.is_some();
            let there = link.map_or(number, |link| division.home(link.to));
            if there == number
                && let noise @ Some(_) = link.and_then(|_| config.errors.on(id))
            {
                special.get_or_insert_default().noise = noise;
            }
            let is_remote = there != number;
            if division.parts() > 1 {
                let part = u32::try_from(there).expect("few partitions");
                all.far.push((part, division.place_of_link(there, id)));
            }
            let index = *known.entry(class).or_insert_with(|| {
                all.classes.push(class);
                u32::try_from(all.classes.len() - 1).expect("fewer classes than links")
            });
            all.ids.push(id);
            all.ports.push(Port {
                wire: Wire::to(link.map_or(0, |link| division.place(link.to))),
                free_at: Time::ZERO,
                queued: 0,
                stats: LinkStats::default(),
                class: index,
                reverse: link.map_or(0, |_| division.place_of_link(number, topology.reverse(id))),
                to_port: link.map_or(PortId(0), |link| link.to_port),
                up: link.is_some(),
                is_served,
                is_remote,
                has_ledger: is_here && cut_through && (is_remote || !is_served),
                ends_here: link
                    .is_some_and(|link| topology.is_host(link.to) && topology.port_count(link.to) == 1),
                settles_late: is_here && !is_remote && !is_served && !cut_through,
            });
            all.specials.push(special);
            all.states.push(PortState {
                free_at: Time::ZERO,
                rate: link.map_or(Rate::ZERO, |link| link.rate),
                up: link.is_some(),
                paused: Paused::NONE,
            });
        }
        all.depths = vec![QueueDepths::default(); if config.queue_depths { all.ids.len() } else { 0 }];
        all
    }

    /// The index of a link.
    pub(super) fn index(&self, link: LinkId) -> Option<usize> {
        self.ids.binary_search(&link).ok()
    }

    /// What a served port has.
    pub(super) fn served(&mut self, link: usize) -> Option<&mut Served> {
        self.specials[link].as_mut()?.served.as_mut()
    }

    /// Flow control of a link at the port that it leaves.
    pub(super) fn flow_control(&mut self, link: usize) -> Option<&mut (dyn LinkFlowControl + 'static)> {
        self.served(link)?.flow_control.as_deref_mut()
    }
}
