//! The ideal FCT of a flow: its completion time without other traffic. It is the denominator of slowdown.

use raddle_core::{Bytes, Duration, Rate};

/// The sizes of a flow's packets in bytes, with and without link-layer overhead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// Application bytes in a full packet, at least 1.
    pub payload: u32,
    /// Header bytes in every packet.
    pub header: u32,
    /// Bytes that the link layer adds to every packet, such as the preamble.
    pub overhead: u32,
    /// Minimum size of a packet on a link in bytes, including `overhead`.
    pub least: u32,
}

impl Framing {
    /// Returns the size on a link of a packet with `size` bytes, which include the header.
    #[must_use]
    pub fn on_wire(self, size: u64) -> Bytes {
        Bytes((size + u64::from(self.overhead)).max(self.least.into()))
    }

    /// Returns the number of packets of a flow (at least one), the size on a link of a full packet, and the
    /// size on a link of the last packet.
    #[must_use]
    pub fn packets(self, size: Bytes) -> (u64, Bytes, Bytes) {
        let (payload, header) = (u64::from(self.payload), u64::from(self.header));
        let packets = size.0.div_ceil(payload).max(1);
        let last = size.0 - (packets - 1) * payload;
        (packets, self.on_wire(payload + header), self.on_wire(last + header))
    }

    /// Returns the total size on a link of all packets of a flow of `size` bytes.
    #[must_use]
    pub fn on_wire_in_all(self, size: Bytes) -> Bytes {
        let (packets, full, last) = self.packets(size);
        Bytes(full.0.saturating_mul(packets - 1).saturating_add(last.0))
    }

    /// Returns the number of packets of a flow of `size` bytes, and their total bytes with headers. Link counters count
    /// the same bytes.
    #[must_use]
    pub fn counted(self, size: Bytes) -> (u64, Bytes) {
        let (packets, ..) = self.packets(size);
        (packets, Bytes(size.0 + packets * u64::from(self.header)))
    }
}

/// Computes the ideal FCT if nodes forward a packet after they have received all of it. Each link of `path` is given by
/// its rate and its propagation delay.
#[must_use]
pub fn ideal_store_and_forward(
    size: Bytes,
    framing: Framing,
    path: impl IntoIterator<Item = (Rate, Duration)>,
) -> Duration {
    let (packets, full, last) = framing.packets(size);
    let (mut delay, mut sum, mut slowest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    // Time at which the last packet has left the current link, without propagation delays.
    let mut done = Duration::ZERO;
    for (rate, link_delay) in path {
        let full = rate.time_for(full);
        delay = delay + link_delay;
        sum = sum + full;
        slowest = slowest.max(full);
        // All packets before the last have the same size, so the slowest link up to this link determines when
        // they leave. The last packet waits until they have left.
        let before = if packets == 1 { Duration::ZERO } else { sum + slowest * (packets - 2) };
        done = done.max(before) + rate.time_for(last);
    }
    done + delay
}

/// Computes the ideal FCT if nodes forward a packet after they have received its first `lookahead` bytes, or all of a
/// shorter packet. A link that is faster than the previous link starts later, so that it can send the packet without a
/// gap. Each link of `path` is given by its rate and its propagation delay.
#[must_use]
pub fn ideal_cut_through(
    size: Bytes,
    framing: Framing,
    lookahead: Bytes,
    path: impl IntoIterator<Item = (Rate, Duration)>,
) -> Duration {
    let lookahead = framing.on_wire(lookahead.0);
    let (packets, full, last) = framing.packets(size);
    // Returns the earliest start of a packet on a link if the previous link began to send the packet at `start`.
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
    // Start times of the first and of the last packet on the current link, without propagation delays.
    let (mut first_start, mut last_start, mut before) = (Duration::ZERO, Duration::ZERO, None);
    for (rate, link_delay) in path {
        delay = delay + link_delay;
        slowest = slowest.max(rate.time_for(full));
        first_start = cut(first_start, before, rate, full);
        last_start = cut(last_start, before, rate, last);
        if packets > 1 {
            // All packets before the last have the same size, so the slowest link up to this link determines when they
            // leave. The last packet waits until they have left.
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
        // Three packets of 1,500 B and one packet of 140 B cross two links. A full packet takes 1.2 us. The
        // last packet waits at the second link until the third packet has left.
        let fct = ideal_store_and_forward(Bytes(3 * 1_460 + 100), FRAMING, path(&[10, 10]));
        assert_eq!(fct, Duration::from_ns(4 * 1_200 + 112 + 200));
    }

    #[test]
    fn the_last_packet_alone_crosses_links_after_the_bottleneck() {
        // Two full packets cross links of 10, 1 and 10 Gbps in 1.2 + 12 + 12 + 1.2 us, plus the propagation delays.
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

    /// A packet of 1,500 B goes from a link of 40 Gbps to a link of 100 Gbps: both links finish at the same time. A
    /// packet of 41 B is shorter than the lookahead, so the faster link waits for the whole packet.
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

    /// Simulates every packet on every link. A link starts to send a packet when the packet has arrived and the
    /// previous packet has left.
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

    /// specifications/expeditus.md §11.6: the path has six links of 10 Gbps and 2 us. SYN and SYN-ACK precede the
    /// data. In the specification's formula, a shorter last packet does not wait behind the full packet before it on
    /// the later links. In a FIFO queue it does wait, so our value is larger by exactly this wait.
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
        // The time that the last acknowledgement needs for its way back.
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
