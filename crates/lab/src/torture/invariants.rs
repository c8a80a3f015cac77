//! The properties that every run must have, whatever the experiment. Two checks are not here, because every run makes
//! them itself: packets are conserved, and no packet is lost under flow control.

use super::ran::Ran;
use crate::Error;
use crate::experiment::EngineKind;
use crate::run::prepare::Prepared;
use raddle_core::{Bytes, LinkId, Time};
use raddle_records::{FlowRecord, LinkRecord};

/// The violated property, and a description of the violation.
pub(super) type Seen = (&'static str, String);

type Check = fn(&Ran, &Prepared) -> Result<(), Seen>;

const CHECKS: [Check; 7] =
    [recorded_once, no_unknown_reports, times, ideals, queues_in_limits, capacities, arrivals_and_ends];

/// Checks all properties of a run that reached its end.
pub(super) fn check(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    CHECKS.iter().try_for_each(|check| check(ran, prepared))
}

/// True if packets can be lost: on links, in full queues, or because of failures.
fn loses(prepared: &Prepared) -> bool {
    let experiment = &prepared.experiment;
    let queue = experiment.scheme.queue;
    !prepared.changes.is_empty()
        || experiment.errors.is_some()
        || queue.bytes.is_some()
        || queue.packets.is_some()
}

/// True if the run may end with this error. A program may wait for ever if packets can be lost or senders can give up
/// flows. Paths around a failed link may make links wait for each other in a cycle.
pub(super) fn may_fail(error: &Error, prepared: &Prepared) -> bool {
    let waits = matches!(error, Error::Run(why) if why.contains("programs have not finished"));
    let circle = matches!(error, Error::Run(why) if why.contains("wait for each other in a cycle"));
    (waits && (loses(prepared) || gives_up(prepared))) || (circle && !prepared.changes.is_empty())
}

/// True if the lint `rto` warns that a retransmission timeout can be shorter than a round trip. A sender may then use
/// up its retries before the first answer arrives.
fn gives_up(prepared: &Prepared) -> bool {
    prepared.warnings.iter().any(|warning| warning.lint == "rto")
}

/// Checks that each flow has one record, and that the run and the records have the same number of delivered flows.
/// Flows that have not started by the end of the run have no record.
#[allow(clippy::cast_possible_truncation, reason = "flows are counted in `u32`")]
fn recorded_once(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    const PROPERTY: &str = "every flow is recorded once";
    let end = ran.outcome.totals.simulated_ps;
    let begun = ran.outcome.flows - prepared.flows.len() as u64;
    let started = prepared.flows.iter().take_while(|flow| flow.start.as_ps() <= end).map(|flow| flow.id.0);
    let by_programs = (0..begun).map(|place| (prepared.flows.len() as u64 + place) as u32);
    let all: Vec<u32> = started.chain(by_programs).collect();
    let recorded: Vec<u32> = ran.flows.iter().map(|flow| flow.id).collect();
    let delivered = ran.flows.iter().filter(|flow| flow.fct_ps.is_some()).count() as u64;
    if recorded == all && delivered == ran.outcome.delivered {
        return Ok(());
    }
    let counted = ran.outcome.delivered;
    Err((
        PROPERTY,
        format!(
            "the records contain the flows {recorded:?}, {delivered} of them delivered, but the run had \
             the flows {all:?}, {counted} of them delivered"
        ),
    ))
}

/// Checks that hosts report no unknown flows, and no flows that have already finished. Runs with corruption are not
/// checked, because a damaged packet may appear to belong to another flow.
fn no_unknown_reports(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    const PROPERTY: &str = "a flow is delivered once, and hosts report only their own flows";
    let damaged = prepared.experiment.errors.as_ref().is_some_and(|errors| errors.corruption > 0.0);
    match ran.outcome.unmatched {
        0 => Ok(()),
        _ if damaged => Ok(()),
        unmatched => {
            Err((PROPERTY, format!("hosts sent {unmatched} reports about unknown or finished flows")))
        }
    }
}

fn times(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    const PROPERTY: &str = "no flow ends after the run, and the run ends within its time limit";
    let end = ran.outcome.totals.simulated_ps;
    let limit = prepared.experiment.engine.time_limit.unwrap_or(Time::NEVER).as_ps();
    let last =
        ran.flows.iter().filter_map(|flow| Some(flow.start_ps + flow.fct_ps.max(flow.sender_done_ps)?)).max();
    match last {
        Some(last) if last > end => {
            Err((PROPERTY, format!("a flow ends at {last} ps, but the run ends at {end} ps")))
        }
        _ if end > limit => Err((PROPERTY, format!("the run ends at {end} ps, but its limit is {limit} ps"))),
        _ => Ok(()),
    }
}

/// Checks lower bounds of FCTs. In every fabric, an FCT is at least the time in which all links of the receiver
/// together carry the flow's bytes, plus the shortest propagation delay of the fabric for each hop of the ideal path.
/// In a tree, an FCT is at least the ideal FCT, too, unless packets wait less than the ideal FCT assumes (see below).
/// Elsewhere a flow can use several paths at once, and its FCT can be less than the ideal FCT on one path.
///
/// Runs in which packets can be damaged are not checked: damaged packets can make a receiver believe that it has bytes
/// that never arrived.
fn ideals(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    const ALONE: &str = "no flow is faster than it would be alone";
    const POSSIBLE: &str = "no flow is faster than its receiver's links and the propagation delays allow";
    const TAGS: [&str; 3] = ["expeditus", "conga", "conga-flow"];
    let damaged = prepared.experiment.errors.as_ref().is_some_and(|errors| errors.corruption > 0.0);
    if damaged {
        return Ok(());
    }
    let topology = &prepared.topology;
    let is_tree = topology.links().count() == 2 * (topology.node_count() - 1);
    let delay = topology.links().map(|(_, link)| link.delay.as_ps()).min().unwrap_or(0);
    // The packet engine rounds times up to whole picoseconds: at each link, in each direction, twice with a handshake,
    // and for each packet. The flow engine rounds only once. So its FCT may be smaller, by up to 1 ps for each
    // rounding.
    let is_fluid = prepared.experiment.engine.kind == EngineKind::Flow;
    let rounding = |flow: &FlowRecord| {
        let packets = prepared.framing().packets(Bytes(flow.size_bytes)).0;
        if is_fluid { 4 * u64::from(flow.hops) + packets } else { 0 }
    };
    // With cut-through, a packet waits at a link that is faster than the preceding link. The flow engine ignores this
    // wait, and the wait is shorter for a packet to which a switch has added a tag.
    let rates = || topology.links().map(|(_, link)| link.line_rate.min(link.rate));
    let experiment = &prepared.experiment;
    let waits = experiment.engine.cut_through && rates().min() != rates().max();
    let waits_less = waits && (is_fluid || TAGS.contains(&experiment.scheme.routing.as_str()));
    for flow in &ran.flows {
        let Some(fct) = flow.fct_ps.map(|fct| fct + rounding(flow)) else { continue };
        let into = topology.links().filter(|(_, link)| link.to.0 == flow.dst);
        let rate: u128 = into.map(|(_, link)| u128::from(link.rate.as_bps())).sum();
        let transfer = u128::from(flow.size_bytes) * 8 * 1_000_000_000_000 / rate.max(1);
        let least = u128::from(u64::from(flow.hops) * delay) + transfer;
        if u128::from(fct) < least {
            return Err((POSSIBLE, format!("{flow:?} took less than {least} ps")));
        }
        if is_tree && !waits_less && fct < flow.ideal_fct_ps {
            return Err((ALONE, format!("{flow:?}")));
        }
    }
    Ok(())
}

/// Checks that no queue exceeds its limit in bytes. At a port with an agent, the packet in service does not count
/// towards the limit. A host's port that reports departures has no limit.
fn queues_in_limits(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    const PROPERTY: &str = "no queue is longer than its limit";
    let Some(limit) = prepared.experiment.scheme.queue.bytes else { return Ok(()) };
    let has_agents = prepared.own.agents || prepared.experiment.scheme.congestion_points.is_some();
    let in_service = if has_agents { prepared.parts.mtu + prepared.parts.header_bytes } else { 0 };
    let most = limit.0 + u64::from(in_service);
    let has_limit = |link: &&LinkRecord| !prepared.tells_departures(LinkId(link.link));
    match ran.outcome.links.iter().filter(has_limit).find(|link| link.peak_queue_bytes > most) {
        Some(link) => Err((PROPERTY, format!("the queue limit is {limit}, but a queue is longer: {link:?}"))),
        None => Ok(()),
    }
}

/// Checks that no link carries more than its rate. A run that ended by itself has empty queues, so all packets that
/// ports accepted have left. Other runs, and runs with failures, are not checked.
fn capacities(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    const PROPERTY: &str = "no link carries more than its rate";
    if !at_rest(ran, prepared) || !prepared.changes.is_empty() {
        return Ok(());
    }
    let end = ran.outcome.totals.simulated_ps;
    for ((_, link), row) in prepared.topology.links().zip(&ran.outcome.links) {
        // The flow engine rounds the bytes of a link, so one byte is left out.
        let bits = u128::from(row.data_bytes.saturating_sub(1)) * 8;
        if bits * 1_000_000_000_000 > u128::from(link.rate.as_bps()) * u128::from(end) {
            let seen = format!("a link at {} carried too many bytes in {end} ps: {row:?}", link.rate);
            return Err((PROPERTY, seen));
        }
    }
    Ok(())
}

/// True if the run ended by itself, before its limit.
fn at_rest(ran: &Ran, prepared: &Prepared) -> bool {
    let limit = prepared.experiment.engine.time_limit.unwrap_or(Time::NEVER).as_ps();
    ran.outcome.complete && ran.outcome.totals.simulated_ps < limit
}

fn arrivals_and_ends(ran: &Ran, prepared: &Prepared) -> Result<(), Seen> {
    const CROSSES: &str = "all delivered bytes arrived over a link of the receiver";
    const ENDS: &str = "if no packet is lost, every flow is delivered or given up";
    for host in prepared.topology.hosts() {
        let delivered = ran.flows.iter().filter(|flow| flow.dst == host.0 && flow.fct_ps.is_some());
        let delivered: u64 = delivered.map(|flow| flow.size_bytes).sum();
        let came: u64 =
            ran.outcome.links.iter().filter(|link| link.to == host.0).map(|link| link.data_bytes).sum();
        if delivered > came {
            let seen = format!("host {host}: {delivered} bytes were delivered, but only {came} arrived");
            return Err((CROSSES, seen));
        }
    }
    let lost = ran.outcome.totals.drops.total() > 0 || prepared.experiment.errors.is_some();
    if lost || gives_up(prepared) || !prepared.changes.is_empty() || !at_rest(ran, prepared) {
        return Ok(());
    }
    // D3 and PDQ give up a flow that cannot meet its deadline, without a report.
    let left =
        |flow: &&FlowRecord| flow.fct_ps.or(flow.sender_done_ps).is_none() && flow.deadline_ps.is_none();
    match ran.flows.iter().find(left) {
        Some(flow) => {
            let engine = if prepared.experiment.engine.kind == EngineKind::Flow { "flow" } else { "packet" };
            Err((
                ENDS,
                format!("{engine} engine: the run has stopped, but this flow is unfinished: {flow:?}"),
            ))
        }
        None => Ok(()),
    }
}
