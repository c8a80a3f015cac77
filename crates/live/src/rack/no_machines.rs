//! Replaces `machines` in a build without libfabric. No packet goes to other machines.

use super::fabric::Fabric;
use super::shared::Region;
use super::{Config, NoRack, Rack};
use raddle_core::Time;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// The links of a polling thread to and from other machines. There are none.
pub(super) struct Crossing(Infallible);

/// A process that a polling thread can no longer reach.
pub(super) struct Gone {
    pub(super) process: usize,
    pub(super) why: String,
}

/// Never called: in a build without libfabric, a process cannot join a party over several machines.
pub(super) fn cross(_: &mut Rack, _: &Config, _: &Arc<Region>, _: IpAddr) -> Result<Receiver<Gone>, NoRack> {
    Err(NoRack::Machines("this program was built without libfabric".to_owned()))
}

/// The names of the libfabric providers that are available on this machine: none.
pub(crate) fn providers() -> Vec<&'static str> {
    Vec::new()
}

impl Crossing {
    pub(super) fn is_connected(&mut self, _: u64) -> bool {
        match self.0 {}
    }

    pub(super) fn take_in(&mut self, _: &mut Fabric, _: Time) {
        match self.0 {}
    }

    pub(super) fn send_out(&mut self, _: &mut Fabric, _: u64) {
        match self.0 {}
    }

    pub(super) fn first_due(&self) -> Time {
        match self.0 {}
    }
}
