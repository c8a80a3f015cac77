//! The flows whose routing is to be chosen, the protocols to choose from, and what each choice puts on each link.

use raddle_core::{LinkId, NodeId};
use raddle_topology::routing::{Protocol, Routing, RoutingError};

/// A flow that lasts long enough for its routing to matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongFlow {
    /// Where it comes from.
    pub src: NodeId,
    /// Where it goes; another node.
    pub dst: NodeId,
    /// Its key, which picks the path under [`Protocol::Ecmp`].
    pub key: u64,
    /// Its share relative to others of its class, above 0.
    pub weight: f64,
    /// Its class, 0 served first.
    pub class: u8,
    /// The most it can use, bit/s; may be infinite.
    pub demand_bps: f64,
    /// Whom it belongs to, for [`Utility::PerTenant`](super::Utility::PerTenant).
    pub tenant: u32,
}

impl LongFlow {
    /// A flow of weight 1 and unlimited demand, in the first class, of tenant 0.
    #[must_use]
    pub const fn new(src: NodeId, dst: NodeId) -> Self {
        Self { src, dst, key: 0, weight: 1.0, class: 0, demand_bps: f64::INFINITY, tenant: 0 }
    }
}

/// For each flow, in their order, the place of its protocol in [`Problem::protocols`].
pub type Assignment = Vec<u8>;

/// Why there is nothing to choose.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A protocol is not defined on the fabric.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// The number of protocols to choose from is not between 1 and 256.
    #[error("the number of routing protocols must be 1 to 256 (got {0})")]
    Protocols(usize),
    /// No path leads from a flow's source to its destination, or they are the same node.
    #[error("flow {0} crosses no link")]
    NoPath(usize),
}

/// Rows are made of multiples of this: sums of fewer than 8,192 of them, times integer weights of flows, are exact, so
/// that neither the order of adding nor what was added and taken away again leaves a trace.
const GRAIN: f64 = 1.0 / (1_u64 << 40) as f64;

/// A row with at least one in so many links is kept as an array over all of them.
const DENSE: usize = 8;

/// The expected traversals of each link by a packet of a flow under a protocol.
#[derive(Debug, Clone, Copy)]
pub(super) enum Row<'a> {
    /// The links that it uses, by number.
    Sparse(&'a [(u32, f32)]),
    /// All links.
    Dense(&'a [f32]),
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Sparse(usize, usize),
    Dense(usize),
}

/// Flows, the protocols that each may use, and the links that they share.
#[derive(Debug, Clone)]
pub struct Problem {
    protocols: Vec<Protocol>,
    flows: Vec<LongFlow>,
    /// Usable capacity of each link, bit/s.
    capacity: Vec<f64>,
    /// By flow, then protocol.
    places: Vec<Place>,
    sparse: Vec<(u32, f32)>,
    dense: Vec<f32>,
    /// Per link, where its flows end in `users`.
    user_ends: Vec<u32>,
    /// Of each link, the flows and protocols whose sparse row has it.
    users: Vec<(u32, u8)>,
    /// The flows of each class, the first class first.
    classes: Vec<Vec<u32>>,
    /// Of each flow, its tenant's place among all tenants.
    tenants: Vec<usize>,
    tenant_count: usize,
}

impl Problem {
    /// The choice among `protocols` for each of `flows`, on links of which `usable` gives the capacity by slot, in
    /// bit/s ([`usable`](crate::usable) leaves headroom).
    ///
    /// # Errors
    /// If a protocol is not defined on the fabric, there are none or too many, or a flow has no path.
    ///
    /// # Panics
    /// If a flow's weight is not above 0, its demand is negative, or `usable` does not cover the fabric's links.
    pub fn new(
        routing: &Routing,
        usable: &[f64],
        flows: Vec<LongFlow>,
        protocols: &[Protocol],
    ) -> Result<Self, SelectionError> {
        for &protocol in protocols {
            routing.supports(protocol)?;
        }
        assert_eq!(usable.len(), routing.topology().link_slots(), "a capacity for each link slot");
        let mut weights: Vec<(LinkId, f32)> = Vec::new();
        Self::of_rows(usable, flows, protocols, |flow, protocol, row| {
            if flow.src != flow.dst && routing.distance(flow.src, flow.dst).is_some() {
                routing.weights(protocol, flow.src, flow.dst, flow.key, &mut weights);
                row.extend(weights.iter().map(|&(link, weight)| (link.0, weight)));
            }
        })
    }

    /// As [`Problem::new`], with the row of each flow and protocol as `row_of` appends it.
    pub(super) fn of_rows(
        usable: &[f64],
        flows: Vec<LongFlow>,
        protocols: &[Protocol],
        mut row_of: impl FnMut(&LongFlow, Protocol, &mut Vec<(u32, f32)>),
    ) -> Result<Self, SelectionError> {
        if protocols.is_empty() || protocols.len() > 256 {
            return Err(SelectionError::Protocols(protocols.len()));
        }
        let mut tenants: Vec<u32> = flows.iter().map(|flow| flow.tenant).collect();
        tenants.sort_unstable();
        tenants.dedup();
        let tenant = |flow: &LongFlow| tenants.binary_search(&flow.tenant).expect("each tenant is listed");
        let mut classes: Vec<u8> = flows.iter().map(|flow| flow.class).collect();
        classes.sort_unstable();
        classes.dedup();
        let members = |&class: &u8| (0..).zip(&flows).filter(move |(_, flow)| flow.class == class);
        let mut problem = Self {
            protocols: protocols.to_vec(),
            capacity: usable.to_vec(),
            places: Vec::with_capacity(flows.len() * protocols.len()),
            sparse: Vec::new(),
            dense: Vec::new(),
            user_ends: Vec::new(),
            users: Vec::new(),
            classes: classes.iter().map(|class| members(class).map(|(flow, _)| flow).collect()).collect(),
            tenants: flows.iter().map(tenant).collect(),
            tenant_count: tenants.len(),
            flows,
        };
        let mut row = Vec::new();
        for i in 0..problem.flows.len() {
            let flow = problem.flows[i];
            assert!(flow.weight > 0.0 && flow.demand_bps >= 0.0, "flow {i} has a weight and a demand");
            for &protocol in protocols {
                row.clear();
                row_of(&flow, protocol, &mut row);
                if row.is_empty() {
                    return Err(SelectionError::NoPath(i));
                }
                problem.keep(&mut row);
            }
        }
        problem.list_users();
        Ok(problem)
    }

    fn keep(&mut self, row: &mut [(u32, f32)]) {
        for (_, weight) in row.iter_mut() {
            *weight = ((f64::from(*weight) / GRAIN).round() * GRAIN) as f32;
        }
        let links = self.capacity.len();
        if row.len() * DENSE >= links {
            let start = self.dense.len();
            self.dense.resize(start + links, 0.0);
            for &(link, weight) in &*row {
                self.dense[start + link as usize] = weight;
            }
            self.places.push(Place::Dense(start));
        } else {
            let start = self.sparse.len();
            self.sparse.extend_from_slice(row);
            self.places.push(Place::Sparse(start, self.sparse.len()));
        }
    }

    /// Turns the sparse rows around.
    fn list_users(&mut self) {
        let mut ends = vec![0_u32; self.capacity.len()];
        for &(link, _) in &self.sparse {
            ends[link as usize] += 1;
        }
        let mut end = 0;
        for slot in &mut ends {
            // Where the link's users begin, for now.
            end += std::mem::replace(slot, end);
        }
        let mut users = vec![(0, 0); self.sparse.len()];
        for (flow, protocol) in self.choices() {
            if let Row::Sparse(row) = self.row(flow as usize, protocol) {
                for &(link, _) in row {
                    let at = &mut ends[link as usize];
                    users[*at as usize] = (flow, protocol);
                    *at += 1;
                }
            }
        }
        (self.user_ends, self.users) = (ends, users);
    }

    /// Every flow with every protocol.
    fn choices(&self) -> impl Iterator<Item = (u32, u8)> + use<> {
        let flows = u32::try_from(self.flows.len()).expect("fewer than 2^32 flows");
        let protocols = self.protocols.len();
        (0..flows).flat_map(move |flow| (0..=u8::MAX).take(protocols).map(move |protocol| (flow, protocol)))
    }

    /// The flows.
    #[must_use]
    pub fn flows(&self) -> &[LongFlow] {
        &self.flows
    }

    /// The protocols to choose from.
    #[must_use]
    pub fn protocols(&self) -> &[Protocol] {
        &self.protocols
    }

    /// Bytes that the flows' weights on links take, under all protocols.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        size_of_val(self.sparse.as_slice()) + size_of_val(self.dense.as_slice())
    }

    /// All flows on one protocol, by its place in [`Problem::protocols`].
    #[must_use]
    pub fn uniform(&self, protocol: u8) -> Assignment {
        vec![protocol; self.flows.len()]
    }

    /// The number of assignments there are, if it fits.
    #[must_use]
    pub fn assignments(&self) -> Option<u64> {
        (self.protocols.len() as u64).checked_pow(u32::try_from(self.flows.len()).ok()?)
    }

    /// Usable capacity of each link, bit/s.
    pub(super) fn capacity(&self) -> &[f64] {
        &self.capacity
    }

    pub(super) fn row(&self, flow: usize, protocol: u8) -> Row<'_> {
        match self.places[flow * self.protocols.len() + usize::from(protocol)] {
            Place::Sparse(start, end) => Row::Sparse(&self.sparse[start..end]),
            Place::Dense(start) => Row::Dense(&self.dense[start..start + self.capacity.len()]),
        }
    }

    /// The flows and protocols whose sparse row has the link.
    pub(super) fn users(&self, link: usize) -> &[(u32, u8)] {
        let start = if link == 0 { 0 } else { self.user_ends[link - 1] };
        &self.users[start as usize..self.user_ends[link] as usize]
    }

    /// The flows of each class, the first class first.
    pub(super) fn classes(&self) -> &[Vec<u32>] {
        &self.classes
    }

    /// Of each flow, its tenant's place among all; and how many there are.
    pub(super) fn tenants(&self) -> (&[usize], usize) {
        (&self.tenants, self.tenant_count)
    }
}
