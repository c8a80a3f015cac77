//! Warns of a queue limit below the size of a full packet: such a queue drops every full packet.

use super::{Finding, Subject};
use raddle_core::Bytes;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let (packet, limits) = (subject.packet(), subject.prepared.experiment.scheme.queue);
    let Some(limit) = limits.bytes.filter(|limit| limit.0 < packet && subject.has_queues()) else {
        return Vec::new();
    };
    vec![Finding::new(
        "scheme.queue.limit",
        format!(
            "`limit` is {limit}, less than a full packet ({packet} B with headers), so queues drop every full \
             packet"
        ),
        format!(
            "give `limit` at least {}, or leave `limit` out for queues without a limit in bytes",
            Bytes(packet)
        ),
    )]
}
