//! Warns of timeouts (`rto`, `initial_rto`, `syn_timeout`) that are shorter than a base round trip, so that packets are
//! retransmitted before their acknowledgements can arrive. Also warns of a minimum RTO below the 1 s of RFC 6298 on a
//! network with wide-area round trips.

use super::{Finding, Subject, duration};
use raddle_core::Duration;

/// Base round trips longer than this are considered wide-area.
const WIDE_AREA: Duration = Duration::from_ms(10);

/// The minimum RTO of RFC 6298 §2.4.
const RFC_6298: Duration = Duration::from_ms(1_000);

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    let scheme = &subject.prepared.experiment.scheme;
    let (name, settings) = (scheme.transport.info.name, &scheme.settings);
    let timeouts = ["rto", "initial_rto", "syn_timeout"];
    let timeouts = timeouts.map(|key| (key, duration(settings, key)));
    let least = duration(settings, "min_rto");
    if !subject.has_queues() || timeouts.iter().all(|timeout| timeout.1.is_none()) {
        return Vec::new();
    }
    let Some((round_trip, src, dst)) = subject.base_round_trip() else { return Vec::new() };
    let path = format!("the base round trip from node {src} to node {dst} takes {round_trip}");
    let short = |&(key, timeout): &(&str, Option<Duration>)| {
        let timeout = timeout.filter(|&timeout| timeout < round_trip)?;
        Some(Finding::new(
            format!("scheme.{name}.{key}"),
            format!(
                "`{key}` is {timeout}, but {path}: packets are retransmitted before their ACKs can arrive"
            ),
            format!(
                "give `{key}` at least {}; outside data centers, RFC 6298 §2.1 recommends 1 s",
                round_trip * 3
            ),
        ))
    };
    let mut findings: Vec<Finding> = timeouts.iter().filter_map(short).collect();
    if let Some(least) = least.filter(|&least| least < RFC_6298 && round_trip > WIDE_AREA) {
        findings.push(Finding::new(
            format!("scheme.{name}.min_rto"),
            format!("`min_rto` is {least}, below the 1 s of RFC 6298, but on this wide-area network {path}"),
            "give min_rto = \"1 s\" (RFC 6298 §2.4) for results that are comparable with Internet hosts",
        ));
    }
    findings
}
