//! Decides whether a run that delivered no flow has failed, and finds the reasons.

use crate::Error;
use crate::run::prepare::Prepared;
use raddle_core::{Bytes, Time};
use raddle_records::{FlowRecord, TotalsRecord};
use std::fmt;

/// The reasons why a run delivered none of its flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undelivered {
    /// Number of flows that had started.
    flows: usize,
    /// The reasons, each as a clause about packets, senders or the run.
    reasons: Vec<String>,
    /// A correction for the user, if one is known.
    hint: Option<String>,
}

impl Undelivered {
    /// The failure of a run that ended at `now` and delivered none of `flows`. Returns `None` if the run did not fail.
    /// This is so in three cases:
    /// - No flow had started.
    /// - The time limit ended the run before any flow could be complete.
    /// - The time limit ended the run after data packets had been sent.
    pub(crate) fn of(
        flows: &[FlowRecord],
        totals: &TotalsRecord,
        prepared: &Prepared,
        now: Time,
    ) -> Option<Self> {
        let earliest = flows.iter().map(|flow| flow.start_ps.saturating_add(flow.ideal_fct_ps)).min()?;
        let limit_reached = prepared.experiment.engine.time_limit.filter(|&limit| now >= limit);
        if limit_reached.is_some() && (earliest > now.as_ps() || totals.data.packets > 0) {
            return None;
        }
        let drops = &totals.drops;
        let packet = u64::from(prepared.parts.header_bytes + prepared.parts.mtu);
        let limit = prepared.experiment.scheme.queue.bytes;
        let too_small = limit.filter(|limit| drops.queue_full > 0 && limit.0 < packet);
        let detail = too_small.map_or(String::new(), |limit| {
            format!(": the limit {limit} is smaller than a packet of {packet} B")
        });
        let dropped = [
            (drops.queue_full, format!("were dropped at full queues{detail}")),
            (drops.link_down, "were lost at links that were down".to_owned()),
            (drops.no_route, "had no route".to_owned()),
            (drops.malformed, "were damaged on links".to_owned()),
            (drops.lost, "were lost on links".to_owned()),
        ];
        let mut reasons: Vec<String> = dropped
            .into_iter()
            .filter(|&(packets, _)| packets > 0)
            .map(|(packets, what)| format!("{packets} packets {what}"))
            .collect();
        let ended = flows.iter().filter(|flow| flow.sender_done_ps.is_some()).count();
        if ended > 0 {
            reasons.push(format!("the senders of {ended} flows finished or gave up"));
        }
        if reasons.is_empty() {
            reasons.push("no packet was dropped, but no flow finished".to_owned());
        }
        if let Some(limit) = limit_reached {
            reasons.push(format!("the time limit of {} ended the run", limit.since(Time::ZERO)));
        }
        let hint = too_small.map(|_| {
            format!(
                "raise `limit` in [scheme.queue] to at least {}, or leave `limit` out for a queue \
                 without a byte limit",
                Bytes(packet)
            )
        });
        Some(Self { flows: flows.len(), reasons, hint })
    }

    /// The error with which the command ends.
    #[must_use]
    pub fn error(&self) -> Error {
        Error::Undelivered { what: self.to_string(), hint: self.hint.clone() }
    }
}

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "none of the {} flows was delivered: {}", self.flows, self.reasons.join("; "))
    }
}
