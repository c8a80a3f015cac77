//! Hosts whose kernels send and receive whole Ethernet frames, in lockstep. A frame from outside enters at a node,
//! crosses the fabric together with its view ([`FrameView`]), and leaves at another node.
//!
//! These nodes have no [host](raddle_core::Host) of a scheme. The runtime must be able to read frames:
//! [`Decoders::with_frames`](raddle_core::Decoders::with_frames).

use super::{Carried, Fabric, Lockstep};
use raddle_core::{Header, NodeId, Observer, Packet, Time};
use raddle_wire::{Error, FrameView};

/// Indexed by node: the arrival times and the bytes of the frames that have arrived for the node's kernel.
pub(super) type Received = Vec<Vec<(Time, Vec<u8>)>>;

impl<O: Observer> Lockstep<O> {
    /// Sends a whole Ethernet frame of a node's kernel now. `frame` must not include the frame check sequence (FCS).
    ///
    /// # Errors
    /// [`Error`], if the frame's header is incomplete, or one of its addresses is not the address of a host.
    #[allow(clippy::cast_possible_truncation, reason = "a frame must have fewer than 2^32 bytes")]
    pub fn send_frame(&mut self, node: NodeId, frame: &[u8]) -> Result<(), Error> {
        let packet = Packet::new(frame.len() as u32, Header::Frame(FrameView::read(frame)?));
        let Self { nodes, fabric, .. } = self;
        let node = &mut nodes[node.index()];
        let due = node.send_with(fabric, packet, None, |fabric, packet| {
            let mut bytes = fabric.buffer();
            bytes.extend_from_slice(frame);
            Carried { packet, bytes, body: 0 }
        });
        if due {
            node.poll(fabric);
        }
        Ok(())
    }

    /// Takes the frames that have arrived for a node's kernel, in order of arrival. Returns the arrival time and the
    /// bytes of each frame.
    pub fn take_frames(&mut self, node: NodeId) -> Vec<(Time, Vec<u8>)> {
        self.fabric.frames.get_mut(node.index()).map(std::mem::take).unwrap_or_default()
    }
}

impl<O> Fabric<O> {
    /// Stores the frame that a packet carries, for a node's kernel.
    pub(super) fn keep_frame(&mut self, node: NodeId, carried: &Carried) {
        let mut bytes = Vec::with_capacity(carried.packet.size as usize);
        carried.encode(&mut bytes);
        if self.frames.len() <= node.index() {
            self.frames.resize_with(node.index() + 1, Vec::new);
        }
        self.frames[node.index()].push((self.now, bytes));
    }
}
