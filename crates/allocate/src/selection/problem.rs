//! The flows whose routing is chosen, the available protocols, and the load of each choice on each link.

use raddle_core::{LinkId, NodeId};
use raddle_topology::routing::{Protocol, Routing, RoutingError};

/// A flow that lasts long enough for its routing to matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongFlow {
    /// Source.
    pub src: NodeId,
    /// Destination, different from the source.
    pub dst: NodeId,
    /// The flow's key, which determines the path under [`Protocol::Ecmp`].
    pub key: u64,
    /// The flow's weight relative to other flows of its class, above 0.
    pub weight: f64,
    /// The flow's class; class 0 is served first.
    pub class: u8,
    /// The maximum rate that the flow can use, bit/s; may be infinite.
    pub demand_bps: f64,
    /// The owner of the flow, for [`Utility::PerTenant`](super::Utility::PerTenant).
    pub tenant: u32,
}

impl LongFlow {
    /// Creates a flow of weight 1 and unlimited demand, in the first class, of tenant 0.
    #[must_use]
    pub const fn new(src: NodeId, dst: NodeId) -> Self {
        Self { src, dst, key: 0, weight: 1.0, class: 0, demand_bps: f64::INFINITY, tenant: 0 }
    }
}

/// For each flow, in order, the index of its protocol in [`Problem::protocols`].
pub type Assignment = Vec<u8>;

/// The reason why a problem cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// A protocol is not defined on the fabric.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// The number of protocols to choose from is not between 1 and 256.
    #[error("the number of routing protocols must be 1 to 256 (got {0})")]
    Protocols(usize),
    /// No path leads from a flow's source to its destination, or the source is the destination.
    #[error("flow {0} has no path, or its source is its destination")]
    NoPath(usize),
}

/// All values in rows are multiples of this number. Sums of such values, multiplied by integer weights of flows, are
/// exact if they stay below 8,192. The result therefore depends neither on the order of additions nor on values that
/// were added and subtracted again.
const GRAIN: f64 = 1.0 / (1_u64 << 40) as f64;

/// A row that uses at least 1 / `DENSE` of all links is dense: it is stored as an array with an entry for
/// each link.
const DENSE: usize = 8;

/// The expected traversals of each link per packet of a flow under a protocol.
#[derive(Debug, Clone, Copy)]
pub(super) enum Row<'a> {
    /// The links that the flow uses, each with its traversals.
    Sparse(&'a [(u32, f32)]),
    /// The traversals of every link, 0 for a link that the flow does not use.
    Dense(&'a [f32]),
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Sparse(usize, usize),
    Dense(usize),
}

/// Flows, the available protocols, and the links that the flows share.
#[derive(Debug, Clone)]
pub struct Problem {
    protocols: Vec<Protocol>,
    flows: Vec<LongFlow>,
    /// Usable capacity of each link, bit/s.
    capacity: Vec<f64>,
    /// The location of each row in `sparse` or `dense`, indexed by flow and then by protocol.
    places: Vec<Place>,
    sparse: Vec<(u32, f32)>,
    dense: Vec<f32>,
    /// For each link, the index in `users` at which the link's entries end.
    user_ends: Vec<u32>,
    /// The flows and protocols whose sparse rows use each link, grouped by link.
    users: Vec<(u32, u8)>,
    /// The flows of each class, in order of classes.
    classes: Vec<Vec<u32>>,
    /// For each flow, the index of its tenant among all tenants.
    tenants: Vec<usize>,
    tenant_count: usize,
}

impl Problem {
    /// Creates a problem in which each of `flows` uses one of `protocols`. `usable` holds the usable capacity of each
    /// link slot, in bit/s. The function [`usable`](crate::usable) computes these capacities from the links' rates.
    ///
    /// # Errors
    /// If a protocol is not defined on the fabric, there are no protocols or too many, a flow has no path, or the
    /// source of a flow is its destination.
    ///
    /// # Panics
    /// If a flow's weight is not above 0, its demand is negative, or `usable` does not have exactly one capacity per
    /// link slot.
    pub fn new(
        routing: &Routing,
        usable: &[f64],
        flows: Vec<LongFlow>,
        protocols: &[Protocol],
    ) -> Result<Self, SelectionError> {
        for &protocol in protocols {
            routing.supports(protocol)?;
        }
        assert_eq!(
            usable.len(),
            routing.topology().link_slots(),
            "`usable` must have one capacity per link slot"
        );
        let mut weights: Vec<(LinkId, f32)> = Vec::new();
        Self::of_rows(usable, flows, protocols, |flow, protocol, row| {
            if flow.src != flow.dst && routing.distance(flow.src, flow.dst).is_some() {
                routing.weights(protocol, flow.src, flow.dst, flow.key, &mut weights);
                row.extend(weights.iter().map(|&(link, weight)| (link.0, weight)));
            }
        })
    }

    /// Creates a problem without a fabric. Flow number `i` has the weight `weights[i]`, and one of the rows `splits[i]` of
    /// links and expected traversals. The row at place `p`, modulo their number, stands for protocol `p`.
    ///
    /// # Errors
    /// If a row is empty, or a flow has more rows than there are protocols.
    ///
    /// # Panics
    /// If a flow has no rows, or `weights` and `splits` differ in length.
    pub fn of_splits(
        usable: &[f64],
        weights: &[f64],
        splits: &[Vec<Vec<(u32, f32)>>],
    ) -> Result<Self, SelectionError> {
        assert_eq!(weights.len(), splits.len(), "there must be one list of splits per weight");
        let most = splits.iter().map(Vec::len).max().unwrap_or(1);
        let protocols: Vec<Protocol> = Protocol::all().take(most).collect();
        if protocols.len() < most {
            return Err(SelectionError::Protocols(most));
        }
        // The key is the place of the flow, as nothing else needs it.
        let flow = |(key, &weight)| LongFlow { key, weight, ..LongFlow::new(NodeId(0), NodeId(1)) };
        let flows = (0..).zip(weights).map(flow).collect();
        let row_of = |flow: &LongFlow, protocol, row: &mut Vec<(u32, f32)>| {
            let place = protocols.iter().position(|&other| other == protocol).expect("one of the protocols");
            let splits = &splits[usize::try_from(flow.key).expect("a place")];
            row.extend_from_slice(&splits[place % splits.len()]);
        };
        Self::of_rows(usable, flows, &protocols, row_of)
    }

    /// Creates a problem like [`Problem::new`], but without a routing: `row_of` appends the row of a flow under a
    /// protocol to the given vector.
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
        let tenant = |flow: &LongFlow| {
            tenants
                .binary_search(&flow.tenant)
                .expect("the tenant of each flow must be in the list of tenants")
        };
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
            assert!(
                flow.weight > 0.0 && flow.demand_bps >= 0.0,
                "flow {i} must have a weight above 0 and a demand of at least 0"
            );
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

    #[allow(clippy::cast_possible_truncation, reason = "an `f32` is precise enough for a link weight")]
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

    /// Builds `users` and `user_ends`: for each link, the flows and protocols whose sparse row uses the link.
    fn list_users(&mut self) {
        let mut ends = vec![0_u32; self.capacity.len()];
        for &(link, _) in &self.sparse {
            ends[link as usize] += 1;
        }
        let mut end = 0;
        for slot in &mut ends {
            // Replaces the number of each link's users by the index in `users` at which they start.
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

    /// Returns every combination of a flow and a protocol.
    fn choices(&self) -> impl Iterator<Item = (u32, u8)> + use<> {
        let flows = u32::try_from(self.flows.len()).expect("there must be fewer than 2^32 flows");
        let protocols = self.protocols.len();
        (0..flows).flat_map(move |flow| (0..=u8::MAX).take(protocols).map(move |protocol| (flow, protocol)))
    }

    /// Returns the flows.
    #[must_use]
    pub fn flows(&self) -> &[LongFlow] {
        &self.flows
    }

    /// Returns the available protocols.
    #[must_use]
    pub fn protocols(&self) -> &[Protocol] {
        &self.protocols
    }

    /// Returns the memory of the rows of all flows and protocols, in bytes.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        size_of_val(self.sparse.as_slice()) + size_of_val(self.dense.as_slice())
    }

    /// Returns the assignment of all flows to one protocol, given by its index in [`Problem::protocols`].
    #[must_use]
    pub fn uniform(&self, protocol: u8) -> Assignment {
        vec![protocol; self.flows.len()]
    }

    /// Returns the number of possible assignments, if it fits in 64 bits.
    #[must_use]
    pub fn assignments(&self) -> Option<u64> {
        (self.protocols.len() as u64).checked_pow(u32::try_from(self.flows.len()).ok()?)
    }

    /// Returns the usable capacity of each link, bit/s.
    pub(super) fn capacity(&self) -> &[f64] {
        &self.capacity
    }

    pub(super) fn row(&self, flow: usize, protocol: u8) -> Row<'_> {
        match self.places[flow * self.protocols.len() + usize::from(protocol)] {
            Place::Sparse(start, end) => Row::Sparse(&self.sparse[start..end]),
            Place::Dense(start) => Row::Dense(&self.dense[start..start + self.capacity.len()]),
        }
    }

    /// Returns the flows and protocols whose sparse row uses the link.
    pub(super) fn users(&self, link: usize) -> &[(u32, u8)] {
        let start = if link == 0 { 0 } else { self.user_ends[link - 1] };
        &self.users[start as usize..self.user_ends[link] as usize]
    }

    /// Returns the flows of each class, in order of classes.
    pub(super) fn classes(&self) -> &[Vec<u32>] {
        &self.classes
    }

    /// Returns, for each flow, the index of its tenant among all tenants, and the number of tenants.
    pub(super) fn tenants(&self) -> (&[usize], usize) {
        (&self.tenants, self.tenant_count)
    }
}
