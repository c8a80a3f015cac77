//! The scheme's entry in the registry.

use super::{CentralNode, Params, Push};
use crate::fluid::Sharing;
use crate::parameters;
use crate::scheme::{Built, Info, Make, Plan, Streams, Transport, Unfit, View};
use crate::transport::r2c2::{self, setup};
use raddle_core::{Duration, NodeId};

/// R2C2 with a central controller.
pub const TRANSPORT: Transport = Transport {
    info: INFO,
    make: Make::Whole { routings: setup::ROUTINGS, build },
    fluid: Some(fluid),
    streams: Streams::NOT_BUILT,
};

const INFO: Info = Info {
    name: "r2c2-central",
    summary: "R2C2 with a central controller: one node computes all rates and sends them to the other nodes, without \
              broadcasts",
    source: "Costa, Ballani, Razavi, Kash: R2C2: A Network Stack for Rack-scale Computers, SIGCOMM 2015, Fig. 19",
    differs: &[
        "message formats are reconstructions, with 36 bytes of header and 6 bytes per rate; the paper's numbers \
         suggest about 12 bytes of header and 4 bytes per rate",
        "messages contain rates in Kbit/s, rounded down; a flow has no rate limit until its first rate arrives",
        "messages that full queues drop are not retransmitted; nodes report their flows again when they \
         learn of a topology change, and the controller sends all rates again at its next computation",
        "nodes that cannot reach the controller keep their last rates",
    ],
    view: View::Local,
    parameters: &Parameters::LIST,
};

parameters! {
    struct Parameters {
        /// number of the host at which the controller runs; the host also sends and receives flows
        controller: u32 = 0, 0..=65_535;
        /// when the controller sends rates: at every event, or at ticks
        push: Push;
        /// interval between ticks; a tick ends a period of demand estimation
        rho: Duration = Duration::from_us(500), Duration::from_us(1)..;
        headroom: f64 = setup::HEADROOM;
        only_lasting: bool = setup::ONLY_LASTING;
        synchronous: bool = setup::SYNCHRONOUS;
        mtu: u16 = setup::MTU;
        nic_packets: u64 = setup::NIC_PACKETS;
        hop_bits: u32 = setup::HOP_BITS;
    }
}

impl Params {
    /// The parameters of the nodes in a plan.
    ///
    /// # Errors
    /// If the controller's node is not a host.
    pub fn of(plan: &Plan<'_>) -> Result<Self, Unfit> {
        let Parameters {
            controller,
            push,
            rho,
            headroom,
            only_lasting,
            synchronous,
            mtu,
            nic_packets,
            hop_bits,
        } = Parameters::of(plan.settings);
        let controller = NodeId(controller);
        if controller.index() >= plan.topology.node_count() || !plan.topology.is_host(controller) {
            return Err(Unfit {
                key: format!("scheme.{}.controller", INFO.name),
                problem: format!("`controller` must be a host of the topology (got node {controller})"),
                hint: "give the number of a host, such as 0".into(),
            });
        }
        let r2c2 = r2c2::Params {
            protocol: setup::protocol(plan),
            rho,
            headroom,
            only_lasting,
            synchronous,
            mtu,
            nic_packets,
            hop_bits,
            trees: 1, // no node uses a broadcast tree
            ..r2c2::Params::default()
        };
        Ok(Self { r2c2, controller, push })
    }
}

/// The fluid model of R2C2. The model leaves out the traffic and the delay of the controller's messages.
fn fluid(plan: &Plan<'_>) -> Result<Sharing, Unfit> {
    Ok(setup::fluid(plan, &Params::of(plan)?.r2c2))
}

fn build(plan: &Plan<'_>) -> Result<Built, Unfit> {
    let params = Params::of(plan)?;
    setup::check(plan, INFO.name, &params.r2c2)?;
    let seed = plan.seed;
    Ok(setup::build(plan, params.r2c2, move |fabric, id| {
        Box::new(CentralNode::new(fabric, &params, id, seed))
    }))
}
