//! `[compute] kind = "header-limits"`: what R2C2's and Expeditus' headers can hold, computed from their wire formats.

use super::keys::PACKET;
use super::run;
use crate::experiment::{Problem, Section};
use crate::figure::runs::{Data, Run};
use raddle_wire::exp::Tag;
use raddle_wire::r2c2::{Announcement, Assignment, Event, EventKind, Route, UNLIMITED_KBPS};

/// Number of bits that name the link of a hop (R2C2 §4.2).
const HOP_BITS: u32 = 3;

/// Computes every limit. Each limit is the largest possible value:
/// - `nodes`: the number of nodes that the source field of an event can distinguish
/// - `hops`: the number of hops of a source route
/// - `demand`: a demand in bit/s
/// - `fields`: the number of the paper's fields (R2C2 §4.2) that an event of 16 bytes holds
/// - `assignments`: the number of assignments in an announcement of `packet` bytes
/// - `loads`: the number of loads in an Expeditus tag
pub(super) fn read_off(section: &mut Section<'_>) -> Result<Vec<Run>, Problem> {
    let packet = section.read(&PACKET)?;
    let assignments = packet.0.saturating_sub(Announcement::LEN as u64) / Assignment::LEN as u64;
    let is_route = |hops: &usize| Route::from_ports(vec![0_u16; *hops], HOP_BITS).is_ok();
    let limits = [
        ("nodes", values(|event: &Event| event.src)),
        ("hops", (1..=128).take_while(is_route).count() as f64),
        ("demand", f64::from(UNLIMITED_KBPS - 1) * 1e3),
        ("fields", fields() as f64),
        ("assignments", assignments as f64),
        ("loads", Tag::MOST as f64),
    ];
    Ok(limits.map(|(limit, number)| run(&[("limit", limit)], Data::Number(number))).into())
}

/// Number of values that a field of an event can have. The argument is a function that reads the field. Its result type
/// gives the field's size.
fn values<T>(_: fn(&Event) -> T) -> f64 {
    (1_u64 << (8 * size_of::<T>())) as f64
}

/// The number of fields of an event that its 16 bytes hold. The event holds a field if the decoder returns each new value
/// of the field, with all other fields as before. It holds a checksum if the decoder refuses the event after any
/// change of one bit.
fn fields() -> usize {
    let event = Event {
        kind: EventKind::Start,
        tree: 0x5A,
        src: 0x1234,
        dst: 0x5678,
        weight: 1,
        priority: 5,
        protocol: 9,
        demand_kbps: 0x1357_9BDF,
        lid: 0x2468,
    };
    let changes: [fn(&mut Event); 7] = [
        |event| event.src = !event.src,
        |event| event.dst = !event.dst,
        |event| event.weight = !event.weight,
        |event| event.priority ^= 15,
        |event| event.demand_kbps = !event.demand_kbps,
        |event| event.tree = !event.tree,
        |event| event.protocol ^= 15,
    ];
    let is_held = |change: &fn(&mut Event)| {
        let mut changed = event;
        change(&mut changed);
        changed != event && Event::decode(&changed.encode()) == Ok(changed)
    };
    let is_refused = |bit: usize| {
        let mut bytes = event.encode();
        bytes[bit / 8] ^= 1 << (bit % 8);
        Event::decode(&bytes).is_err()
    };
    let has_checksum = (0..8 * Event::LEN).all(is_refused);
    changes.iter().filter(|change| is_held(change)).count() + usize::from(has_checksum)
}

#[cfg(test)]
mod tests {
    use super::super::tests::numbers;

    #[test]
    fn limits_are_those_of_the_wire_formats() {
        let limits = |packet: &str| {
            let text = format!("[compute]\nkind = \"header-limits\"\npacket = \"{packet}\"\n");
            let numbers = numbers(&text).expect("limits");
            numbers.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
        };
        assert_eq!(limits("1500 B"), [65_536.0, 42.0, 4_294_967_294e3, 8.0, 297.0, 127.0]);
        assert_eq!(limits("10 B").get(4), Some(&0.0), "not even the header fits");
    }
}
