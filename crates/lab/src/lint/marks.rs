//! Warns of DCTCP if no port marks packets: it then behaves like TCP NewReno. (DCQCN without `red` is an error.)

use super::{Finding, Subject};
use raddle_core::Bytes;

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let scheme = &subject.prepared.experiment.scheme;
    let marks = scheme.queue.mark.is_some()
        || scheme.queue.mark_packets.is_some()
        || scheme.congestion_points.is_some()
        || subject.prepared.own.agents;
    if scheme.transport.info.name != "dctcp" || marks || !subject.has_queues() {
        return Vec::new();
    }
    let least = threshold(subject).map_or(Bytes(30_000), |(least, _)| Bytes(least));
    vec![Finding::new(
        "scheme.queue",
        "no queue marks packets, so `dctcp` behaves like `tcp-newreno`",
        format!(
            "give `queue` a marking threshold, for example mark = \"{least}\" (C x RTT / 7, eq. 13 of the DCTCP \
             paper), or choose congestion_points = \"red\""
        ),
    )]
}

/// DCTCP's smallest marking threshold in bytes, C x RTT / 7 (Alizadeh et al., SIGCOMM 2010, §3.4, eq. 13), but at least
/// a full packet. C is the rate of the fastest host link, and RTT is the longest base round trip. Returns the threshold
/// and the RTT; `None` without flows and ranks.
pub(super) fn threshold(subject: &Subject<'_>) -> Option<(u64, raddle_core::Duration)> {
    let (round_trip, ..) = subject.base_round_trip()?;
    let product = subject.line_rate().bytes_in(round_trip).0;
    Some(((product / 7).max(subject.packet()), round_trip))
}
