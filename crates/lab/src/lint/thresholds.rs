//! Warns of parameters that do not fit the fabric's rates and delays: values below half of their default, profiles for
//! links of another rate, and marking thresholds that are too low for DCTCP to keep a link busy. Also warns of
//! thresholds at which pauses or drops begin before marks have their full effect. (PFC without headroom is an error.)

use super::marks::threshold;
use super::{Finding, Subject, bytes};
use raddle_core::{Bytes, Rate};
use raddle_schemes::parameter::{Settings, Value};

pub(super) fn find(subject: &Subject<'_>) -> Vec<Finding> {
    if !subject.has_queues() {
        return Vec::new();
    }
    let scheme = &subject.prepared.experiment.scheme;
    let points = scheme.congestion_points.as_ref().map(|(part, settings)| (part.info.name, settings));
    let control = scheme.flow_control.as_ref().map(|(part, settings)| (part.info.name, settings));
    let transport = (scheme.transport.info.name, &scheme.settings);
    let parts = [Some(transport), points, control].into_iter().flatten();
    let mut findings: Vec<Finding> =
        parts.flat_map(|(name, settings)| small(subject, name, settings)).collect();
    findings.extend(profile_of_other_links(subject));
    findings.extend(marks_after_pauses(points, control));
    findings.extend(marks_of_queue(subject));
    findings
}

/// Finds parameters of `part` whose value is below half of their default for this fabric.
fn small<'a>(
    subject: &'a Subject<'_>,
    part: &'a str,
    settings: &'a Settings,
) -> impl Iterator<Item = Finding> + 'a {
    let (rate, delay) = (subject.line_rate(), subject.longest_delay());
    // A profile's values come from a publication, so they are intended.
    let profile = subject.prepared.experiment.scheme.profile;
    let is_published = move |key, value| profile.and_then(|profile| profile.value(part, key)) == Some(value);
    settings.iter().filter_map(move |(parameter, value)| {
        let fitting = parameter.default_on(rate, delay)?;
        let (is_small, shown, default) = match (value, fitting) {
            (Value::Bytes(value), Value::Bytes(default)) => {
                (value < default / 2, Bytes(value).to_string(), Bytes(default).to_string())
            }
            (Value::Rate(value), Value::Rate(default)) => {
                (value.as_bps() < default.as_bps() / 2, value.to_string(), default.to_string())
            }
            _ => return None,
        };
        let key = parameter.name;
        (is_small && !is_published(key, value)).then(|| {
            Finding::new(
                format!("scheme.{part}.{key}"),
                format!(
                    "`{key}` is {shown}, less than half of the default {default} for host links of {rate} \
                         and link delays of {delay}"
                ),
                format!("leave `{key}` out, or give about {default}"),
            )
        })
    })
}

/// Finds a profile for links of another rate.
fn profile_of_other_links(subject: &Subject<'_>) -> Option<Finding> {
    let (profile, rate) = (subject.prepared.experiment.scheme.profile?, subject.line_rate());
    (profile.rate != rate).then(|| {
        Finding::new(
            "scheme.profile",
            format!(
                "the profile {} is for host links of {}, but the host links of this topology have {rate}",
                profile.name, profile.rate
            ),
            format!(
                "choose a profile for host links of {rate}, or leave `profile` out for defaults that fit this \
                 rate"
            ),
        )
    })
}

/// Finds a `k_max` above `xoff`: pauses then begin at a backlog at which not all packets are marked yet.
fn marks_after_pauses(
    points: Option<(&str, &Settings)>,
    control: Option<(&str, &Settings)>,
) -> Option<Finding> {
    let ((points, of_points), (_, of_control)) = (points?, control?);
    let (marks, pauses) = (bytes(of_points, "k_max")?, bytes(of_control, "xoff")?);
    (marks > pauses).then(|| {
        Finding::new(
            format!("scheme.{points}.k_max"),
            format!(
                "`k_max` is {}, above `xoff` = {}, so ports pause their neighbours before all packets are \
                 marked",
                Bytes(marks),
                Bytes(pauses)
            ),
            format!(
                "give `k_max` at most {}, or a larger `xoff` and `buffer` in [scheme.pfc]",
                Bytes(pauses)
            ),
        )
    })
}

/// Finds a marking threshold of FIFO queues that is not below the queue limit. With DCTCP, also finds a marking
/// threshold below DCTCP's minimum.
fn marks_of_queue(subject: &Subject<'_>) -> Option<Finding> {
    let (scheme, packet) = (&subject.prepared.experiment.scheme, subject.packet());
    let limits = scheme.queue;
    let packets = |count: u32| u64::from(count) * packet;
    let (key, mark) = match (limits.mark, limits.mark_packets) {
        (Some(bytes), _) => ("mark", bytes.0),
        (None, count) => ("mark_packets", packets(count?)),
    };
    let place = format!("scheme.queue.{key}");
    let limit = [limits.bytes.map(|bytes| bytes.0), limits.packets.map(packets)].into_iter().flatten().min();
    if let Some(limit) = limit.filter(|&limit| mark >= limit) {
        let what = format!(
            "the marking threshold `{key}` is {}, but queues are full at {}, so packets are dropped before \
             any packet is marked",
            Bytes(mark),
            Bytes(limit)
        );
        return Some(Finding::new(place, what, format!("give a threshold below {}", Bytes(limit))));
    }
    if scheme.transport.info.name != "dctcp" {
        return None;
    }
    let (least, round_trip) = threshold(subject)?;
    let rate: Rate = subject.line_rate();
    (mark < least).then(|| {
        Finding::new(
            place,
            format!(
                "`{key}` is {}, less than C x RTT / 7 = {} (eq. 13 of the DCTCP paper, C = {rate}, RTT = \
                 {round_trip}), so queues run empty and links are not fully used",
                Bytes(mark),
                Bytes(least)
            ),
            format!("give a threshold of at least {}", Bytes(least)),
        )
    })
}
