//! Traffic patterns on the pods of a Clos network (specifications/expeditus.md §8.10). In a leaf-spine, which has only
//! one pod, each leaf counts as a pod.

use crate::WorkloadError;
use raddle_core::{NodeId, Stream};
use raddle_topology::{ClosSize, Shape, Topology};

/// The hosts of a Clos network by rack and pod. Hosts are the first nodes, ordered by pod and, within a pod, by rack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pods {
    /// Number of pods, or of leaves of a leaf-spine. It is at least 2.
    count: usize,
    /// Hosts per pod.
    pub(super) size: usize,
    /// Hosts per rack.
    rack: usize,
}

type List = Vec<(NodeId, NodeId)>;

impl Pods {
    pub(super) fn of(topology: &Topology, pattern: &'static str) -> Result<Self, WorkloadError> {
        let &Shape::Clos(ClosSize { pods, edges, hosts, .. }) = topology.shape() else {
            return Err(WorkloadError::NotAClos { pattern });
        };
        let (count, racks) = if pods == 1 { (edges, 1) } else { (pods, edges) };
        if count < 2 {
            return Err(WorkloadError::OnePod { pattern });
        }
        let [count, size, rack] = [count, racks * hosts, hosts].map(|number| number as usize);
        Ok(Self { count, size, rack })
    }

    fn hosts(&self) -> usize {
        self.count * self.size
    }

    /// Returns the hosts of the given pods, pod by pod. If `pods` is empty, returns the hosts of all pods.
    pub(super) fn members(&self, pods: &[u32]) -> Result<Vec<NodeId>, WorkloadError> {
        let members = |pod: usize| (pod * self.size..(pod + 1) * self.size).map(NodeId::of);
        if pods.is_empty() {
            return Ok((0..self.count).flat_map(members).collect());
        }
        let mut named: Vec<usize> = pods.iter().map(|&pod| pod as usize).collect();
        named.sort_unstable();
        if let Some(pod) = named.iter().find(|&&pod| pod >= self.count) {
            return Err(WorkloadError::parameter("pod", pod, "a pod of the topology, counted from 0"));
        }
        if let Some([twice, _]) = named.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(WorkloadError::parameter("pod", twice, "named only once in the list of pods"));
        }
        if named.len() < 2 {
            return Err(WorkloadError::parameter("number of pods", &named.len(), "at least 2"));
        }
        Ok(named.into_iter().flat_map(members).collect())
    }

    /// Returns those of the `pairs` whose sender is in one of the pods `from`.
    pub(super) fn sent_from(&self, from: &[u32], pairs: &[(NodeId, NodeId)]) -> Result<List, WorkloadError> {
        let pod = |host: NodeId| host.index() / self.size;
        if let Some(silent) =
            from.iter().find(|&&from| !pairs.iter().any(|pair| pod(pair.0) == from as usize))
        {
            return Err(WorkloadError::parameter("sending pod", silent, "one of the pods that take part"));
        }
        Ok(pairs
            .iter()
            .copied()
            .filter(|pair| from.iter().any(|&from| pod(pair.0) == from as usize))
            .collect())
    }

    /// Pairs each host with one host of another pod. Each host also receives from exactly one host. At first, each host
    /// sends to the host at the same position in another pod, a random number of pods further on. One such number is
    /// drawn for each position in a pod. Then the destinations of randomly drawn pairs of hosts are swapped, unless a
    /// host would get a destination in its own pod. Drawing random permutations until a valid permutation is found
    /// would take far too long.
    pub(super) fn bijection(&self, stream: &mut Stream) -> List {
        /// Number of attempted swaps per host. About `ln(hosts) / 2` attempts per host are enough to mix the
        /// destinations.
        const SWAPS: usize = 32;
        let hosts = self.hosts();
        let pod = |host: usize| host / self.size;
        let mut to = vec![0; hosts];
        for place in 0..self.size {
            let shift = 1 + stream.index(self.count - 1);
            for from in 0..self.count {
                to[from * self.size + place] = (from + shift) % self.count * self.size + place;
            }
        }
        for _ in 0..SWAPS * hosts {
            let [a, b] = [(); 2].map(|()| stream.index(hosts));
            if pod(a) != pod(to[b]) && pod(b) != pod(to[a]) {
                to.swap(a, b);
            }
        }
        to.into_iter().enumerate().map(|(src, dst)| (NodeId::of(src), NodeId::of(dst))).collect()
    }

    /// Pairs each host with a random host of another pod. A host may receive from several hosts.
    pub(super) fn random(&self, stream: &mut Stream) -> List {
        self.each(|src| outside(src, self.size, self.hosts(), stream))
    }

    /// Pairs each host with a random host: with probability `edge` in its own rack, with probability `pod` in
    /// another rack of its pod, and otherwise in another pod.
    pub(super) fn staggered(&self, edge: f64, pod: f64, stream: &mut Stream) -> Result<List, WorkloadError> {
        let bad = WorkloadError::parameter;
        if !(edge >= 0.0 && pod >= 0.0 && edge + pod <= 1.0) {
            return Err(bad(
                "sum of staggered probabilities",
                &(edge + pod),
                "at most 1, and each probability at least 0",
            ));
        }
        if edge > 0.0 && self.rack < 2 {
            return Err(bad("staggered probability within the rack", &edge, "0 if racks have only one host"));
        }
        if pod > 0.0 && self.size == self.rack {
            return Err(bad("staggered probability within the pod", &pod, "0 if pods have only one rack"));
        }
        Ok(self.each(|src| {
            let draw = stream.unit();
            let (group, of) = if draw < edge {
                (1, self.rack)
            } else if draw < edge + pod {
                (self.rack, self.size)
            } else {
                (self.size, self.hosts())
            };
            let first = src / of * of;
            first + outside(src - first, group, of, stream)
        }))
    }

    fn each(&self, mut to: impl FnMut(usize) -> usize) -> List {
        (0..self.hosts()).map(|src| (NodeId::of(src), NodeId::of(to(src)))).collect()
    }
}

/// Draws a uniformly random member of `0..count` outside the group of `member`. Each group consists of
/// `group` consecutive members.
pub(super) fn outside(member: usize, group: usize, count: usize, stream: &mut Stream) -> usize {
    let drawn = stream.index(count - group);
    if drawn >= member / group * group { drawn + group } else { drawn }
}
