//! The FCT of a flow that has its path to itself: the yardstick of slowdown.

use raddle_core::{Bytes, Duration, Rate};

/// How a transport cuts a flow into packets, and what these take on links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Application bytes in a full packet, at least 1.
    pub payload: u32,
    /// Header bytes in every packet.
    pub header: u32,
    /// Bytes that the link layer puts around every packet.
    pub overhead: u32,
    /// Least bytes that a packet takes on a link, these included.
    pub least: u32,
}

impl Framing {
    /// What a packet of `size` bytes, its header included, takes on a link.
    #[must_use]
    pub fn on_wire(self, size: u64) -> Bytes {
        Bytes((size + u64::from(self.overhead)).max(self.least.into()))
    }

    /// Number of packets, at least one, and the sizes on the wire of a full and of the last one.
    #[must_use]
    pub fn packets(self, size: Bytes) -> (u64, Bytes, Bytes) {
        let (payload, header) = (u64::from(self.payload), u64::from(self.header));
        let packets = size.0.div_ceil(payload).max(1);
        let last = size.0 - (packets - 1) * payload;
        (packets, self.on_wire(payload + header), self.on_wire(last + header))
    }

    /// What all packets of a flow of `size` bytes take on a link.
    #[must_use]
    pub fn on_wire_in_all(self, size: Bytes) -> Bytes {
        let (packets, full, last) = self.packets(size);
        Bytes(full.0.saturating_mul(packets - 1).saturating_add(last.0))
    }

    /// The packets of a flow of `size` bytes, and the bytes of these, headers included, as counters of links see them.
    #[must_use]
    pub fn counted(self, size: Bytes) -> (u64, Bytes) {
        let (packets, ..) = self.packets(size);
        (packets, Bytes(size.0 + packets * u64::from(self.header)))
    }
}

/// Ideal FCT over a path of (rate, propagation delay), where nodes pass on a packet once they have all of it.
#[must_use]
pub fn ideal_store_and_forward(
    size: Bytes,
    framing: Framing,
    path: impl IntoIterator<Item = (Rate, Duration)>,
) -> Duration {
    let (packets, full, last) = framing.packets(size);
    let (mut delay, mut sum, mut slowest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    // When the last packet has left the link so far reached, propagation aside.
    let mut done = Duration::ZERO;
    for (rate, link_delay) in path {
        let full = rate.time_for(full);
        delay = delay + link_delay;
        sum = sum + full;
        slowest = slowest.max(full);
        // The packets before the last are alike, so the slowest link so far sets their pace; the last waits for them.
        let before = if packets == 1 { Duration::ZERO } else { sum + slowest * (packets - 2) };
        done = done.max(before) + rate.time_for(last);
    }
    done + delay
}

/// Ideal FCT over a path of (rate, propagation delay), where nodes pass on a packet once they have its first
/// `lookahead` bytes, or all of a shorter one. A link that is faster than the one before it begins so late that it does not
/// run dry.
#[must_use]
pub fn ideal_cut_through(
    size: Bytes,
    framing: Framing,
    lookahead: Bytes,
    path: impl IntoIterator<Item = (Rate, Duration)>,
) -> Duration {
    let lookahead = framing.on_wire(lookahead.0);
    let (packets, full, last) = framing.packets(size);
    // When a link can begin with a packet that the link before it began to send at `start`.
    let cut = |start: Duration, before: Option<Rate>, rate: Rate, packet: Bytes| match before {
        None => start,
        Some(before) => {
            let head = start + before.time_for(packet.min(lookahead));
            let tail = start + before.time_for(packet);
            let length = rate.time_for(packet);
            if tail > length { head.max(tail - length) } else { head }
        }
    };
    let (mut delay, mut slowest) = (Duration::ZERO, Duration::ZERO);
    // When the link so far reached begins with the first packet and with the last one, propagation aside.
    let (mut first_start, mut last_start, mut before) = (Duration::ZERO, Duration::ZERO, None);
    for (rate, link_delay) in path {
        delay = delay + link_delay;
        slowest = slowest.max(rate.time_for(full));
        first_start = cut(first_start, before, rate, full);
        last_start = cut(last_start, before, rate, last);
        if packets > 1 {
            // The packets before the last are alike, so the slowest link so far sets their pace; the last waits for them.
            last_start = last_start.max(first_start + slowest * (packets - 2) + rate.time_for(full));
        }
        before = Some(rate);
    }
    last_start + before.map_or(Duration::ZERO, |rate| rate.time_for(last)) + delay
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FRAMING: Framing = Framing { payload: 1_460, header: 40, overhead: 0, least: 0 };
    const DELAY: Duration = Duration::from_ns(100);

    fn path(gbps: &[u64]) -> Vec<(Rate, Duration)> {
        gbps.iter().map(|&gbps| (Rate::from_gbps(gbps), DELAY)).collect()
    }

    #[test]
    fn equal_links_pipeline_full_packets() {
        // Three packets of 1,500 B and one of 140 B over two links at 1.2 us a full packet: the last waits at the
        // second link until the third has left it.
        let fct = ideal_store_and_forward(Bytes(3 * 1_460 + 100), FRAMING, path(&[10, 10]));
        assert_eq!(fct, Duration::from_ns(4 * 1_200 + 112 + 200));
    }

    #[test]
    fn the_last_packet_alone_crosses_links_after_the_bottleneck() {
        // 10, then 1, then 10 Gbps; two full packets: 1.2 + 12 + 12 + 1.2 us.
        let fct = ideal_store_and_forward(Bytes(2_920), FRAMING, path(&[10, 1, 10]));
        assert_eq!(fct, Duration::from_ns(1_200 + 24_000 + 1_200 + 300));
    }

    #[test]
    fn one_small_packet_is_serialised_on_every_link() {
        let fct = ideal_store_and_forward(Bytes(10), FRAMING, path(&[10, 10, 10]));
        assert_eq!(fct, Duration::from_ns(3 * 40 + 300));
    }

    #[test]
    fn cut_through_serialises_once() {
        let fct = ideal_cut_through(Bytes(2_920), FRAMING, Bytes(40), path(&[10, 10, 10]));
        assert_eq!(fct, Duration::from_ns(2_400 + 2 * 32 + 300));
    }

    /// 1,500 B from 40 to 100 Gbps: the faster link ends when the last bit has come. 41 B, of which it waits for all.
    #[test]
    fn a_faster_link_ends_with_the_slower_one_and_a_short_packet_is_not_waited_for() {
        let mixed = path(&[40, 100]);
        let fct = ideal_cut_through(Bytes(1_460), FRAMING, Bytes(64), mixed.clone());
        assert_eq!(fct, Duration::from_ns(300 + 200));
        let fct = ideal_cut_through(Bytes(1), FRAMING, Bytes(64), mixed);
        assert_eq!(fct, Duration::from_ps(8_200 + 3_280 + 200_000));
    }

    #[test]
    fn gigabytes_do_not_overflow() {
        let fct = ideal_store_and_forward(Bytes(1 << 40), FRAMING, path(&[1]));
        assert!((fct.as_secs_f64() - (1_u64 << 40) as f64 * 8e-9 * 1_500.0 / 1_460.0).abs() < 1e-3);
    }

    #[test]
    fn more_than_can_be_counted_takes_for_ever() {
        let framing = Framing { payload: 1, ..FRAMING };
        let cut = ideal_cut_through(Bytes(1 << 60), framing, Bytes(40), path(&[10]));
        let forwarded = ideal_store_and_forward(Bytes(1 << 60), framing, path(&[10]));
        assert_eq!([cut, forwarded], [Duration::from_ps(u64::MAX); 2]);
    }

    /// Every packet on every link: each starts when it is there and the one before has left.
    fn packet_by_packet(size: u64, path: &[(Rate, Duration)]) -> Duration {
        let mut left = vec![Duration::ZERO; path.len()];
        let mut rest = size;
        let mut arrived = Duration::ZERO;
        while rest > 0 {
            let payload = rest.min(FRAMING.payload.into());
            rest -= payload;
            arrived = Duration::ZERO;
            for (left, &(rate, delay)) in left.iter_mut().zip(path) {
                *left = arrived.max(*left) + rate.time_for(Bytes(payload + u64::from(FRAMING.header)));
                arrived = *left + delay;
            }
        }
        arrived
    }

    /// specs/expeditus.md §11.6: six links of 10 Gbps and 2 us; SYN and SYN-ACK, then the data. The formula there lets
    /// the last packet, if it is shorter, cross the links after the first one without waiting for the full packet
    /// before it, which no FIFO does: ours is that much more, exactly.
    #[test]
    fn oracle_11_6_ideal_fct_between_pods() {
        let ethernet = Framing { overhead: 38, least: 84, ..FRAMING };
        let path = || (0..6).map(|_| (Rate::from_gbps(10), Duration::from_us(2)));
        let fct = |size| {
            let one_way = |size| ideal_store_and_forward(Bytes(size), ethernet, path()).as_ps() as f64 / 1e6;
            2.0 * one_way(0) + one_way(size)
        };
        let values = [
            (1_460, 44.2, 0.0),
            (10_000, 50.5, 5.0 * (1_538.0 - 1_318.0) * 8e-4),
            (100_000, 124.3, 5.0 * (1_538.0 - 798.0) * 8e-4),
            (1_000_000, 885.3, 5.0 * (1_538.0 - 1_438.0) * 8e-4),
            (10_000_000, 8_466.4, 5.0 * (1_538.0 - 538.0) * 8e-4),
            (50_000_000, 42_177.5, 5.0 * (1_538.0 - 918.0) * 8e-4),
        ];
        for (size, formula, waits) in values {
            let difference = fct(size) - (formula + waits);
            assert!(difference.abs() < 0.051, "{size}: {} us and not {formula}", fct(size));
        }
        // The last acknowledgement's way back.
        let back = ideal_store_and_forward(Bytes(0), ethernet, path());
        assert_eq!(back, Duration::from_ps(12_403_200));
    }

    proptest! {
        #[test]
        fn store_and_forward_equals_the_simulation_packet_by_packet(
            size in 1_u64..20_000,
            path in proptest::collection::vec((1_u64..10, 0_u64..3_000), 1..6),
        ) {
            let link = |(gbps, ns)| (Rate::from_gbps(gbps), Duration::from_ns(ns));
            let path: Vec<_> = path.into_iter().map(link).collect();
            let ideal = ideal_store_and_forward(Bytes(size), FRAMING, path.iter().copied());
            prop_assert_eq!(ideal, packet_by_packet(size, &path));
        }
    }
}
