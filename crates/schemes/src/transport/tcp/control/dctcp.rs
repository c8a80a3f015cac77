//! DCTCP's window (RFC 8257). Marks reduce the window at most once per round trip, in proportion to the share of marked
//! bytes.

use super::{Acknowledged, CongestionControl, LossSign, Window};
use crate::scheme::{Info, Make, Streams, Transport};
use crate::transport::tcp::scheme;
use raddle_wire::Ecn;

/// DCTCP.
pub(crate) const TRANSPORT: Transport = Transport {
    info: Info {
        name: "dctcp",
        summary: "DCTCP with selective acknowledgements; queues must mark packets",
        source: "RFC 8257, 3168, with the loss recovery of tcp-newreno",
        differs: &[
            "ECN is used without negotiation, and retransmitted segments may be marked like all other segments",
            "the sender ignores the ECN marks of segments that arrive out of order",
            scheme::DIFFERS[0],
            scheme::DIFFERS[1],
            scheme::DIFFERS[2],
            scheme::DIFFERS[3],
        ],
        ..scheme::INFO
    },
    make: Make::Hosts(scheme::build::<Dctcp>),
    fluid: Some(scheme::fluid),
    streams: Streams::Carried,
};

/// Weight of the newest observation window in the estimate of the share of marked bytes (`g`, §4.2).
const GAIN: f64 = 1.0 / 16.0;

/// DCTCP's state of one flow.
#[derive(Debug)]
pub(crate) struct Dctcp {
    /// Estimate of the share of marked bytes (`DCTCP.Alpha`).
    alpha: f64,
    /// One past the highest sequence number that had been sent when the current observation window began
    /// (`DCTCP.WindowEnd`). The observation window ends when later data is acknowledged.
    window_end: u64,
    /// Bytes acknowledged in the current observation window.
    acked: u64,
    /// Marked bytes among the acknowledged bytes.
    marked: u64,
    /// One past the highest sequence number that had been sent when a mark last reduced the window. Marks on data below
    /// this number belong to the same congestion event as that mark.
    reduced: u64,
    /// True if no CWR has been sent since the last reduction of the window.
    untold: bool,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self { alpha: 1.0, window_end: 0, acked: 0, marked: 0, reduced: 0, untold: false }
    }
}

impl Dctcp {
    /// Updates alpha, the average share of marked bytes over observation windows (§3.3).
    fn observe(&mut self, ack: &Acknowledged) {
        self.acked += ack.bytes;
        self.marked += if ack.marked { ack.bytes } else { 0 };
        if ack.una > self.window_end {
            self.alpha += GAIN * (self.marked as f64 / self.acked as f64 - self.alpha);
            (self.acked, self.marked) = (0, 0);
            self.window_end = ack.max;
        }
    }
}

impl CongestionControl for Dctcp {
    const ECN: Ecn = Ecn::Ect0;

    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn acknowledged(&mut self, window: &mut Window, ack: &Acknowledged) {
        self.observe(ack);
        if !ack.marked {
            if ack.may_grow {
                window.grow(ack.bytes, ack.mss);
            }
        } else if !ack.recovering && ack.una > self.reduced {
            window.set_ssthresh((window.cwnd() as f64 * (1.0 - self.alpha / 2.0)) as u64, ack.mss);
            // After a timeout, the window may be smaller than the minimum of `ssthresh`. A mark must not enlarge the
            // window.
            window.set_cwnd(window.ssthresh().min(window.cwnd()));
            self.reduced = ack.max;
            self.untold = true;
        }
    }

    fn lost(&mut self, window: &mut Window, flight: u64, mss: u16, _: LossSign) {
        window.set_ssthresh(flight / 2, mss); // as in standard TCP, §3.5
        self.untold = true;
    }

    fn take_reduced(&mut self) -> bool {
        std::mem::take(&mut self.untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::Params;
    use raddle_core::{Duration, Time};

    const MSS: u16 = 1_000;

    /// A flow that has ten segments outstanding before each acknowledgement.
    struct Flow {
        dctcp: Dctcp,
        window: Window,
        una: u64,
    }

    impl Flow {
        fn new() -> Self {
            let params =
                Params { mss: MSS, initial_window: 100, initial_ssthresh: 2_000, ..Params::default() };
            Self { dctcp: Dctcp::default(), window: Window::new(&params), una: 1 }
        }

        /// Acknowledges the next segment. Returns the number of bytes by which the window shrank.
        fn acknowledge(&mut self, marked: bool, recovering: bool) -> u64 {
            let before = self.window.cwnd();
            self.una += u64::from(MSS);
            let ack = Acknowledged {
                now: Time::ZERO,
                bytes: MSS.into(),
                una: self.una,
                max: self.una + 9 * u64::from(MSS),
                mss: MSS,
                round_trip: Duration::from_us(100),
                marked,
                may_grow: false,
                recovering,
            };
            self.dctcp.acknowledged(&mut self.window, &ack);
            before - self.window.cwnd()
        }
    }

    /// RFC 8257 §3.3. The first acknowledgement ends the first observation window, which has one segment. All later
    /// observation windows have ten segments.
    #[test]
    fn oracle_7_3_alpha_follows_the_share_of_marks() {
        let mut flow = Flow::new();
        let mut expected = 1.0;
        // Number of marked segments in each observation window.
        for marks in [0, 10, 10, 5, 0, 0, 3] {
            let window = flow.dctcp.window_end;
            let mut number = 0;
            let mut segments = 0;
            loop {
                flow.acknowledge(number < marks, true);
                number += 1;
                segments += 1;
                if flow.dctcp.window_end != window {
                    break;
                }
            }
            let share = f64::from(marks.min(segments)) / f64::from(segments);
            expected = expected * 15.0 / 16.0 + share / 16.0;
            assert!((flow.dctcp.alpha - expected).abs() < 1e-12, "{} after {marks}", flow.dctcp.alpha);
            assert!(segments == 1 || segments == 10, "{segments}");
        }
    }

    #[test]
    fn oracle_7_3_the_window_is_cut_by_half_of_alpha_once_a_window() {
        let mut flow = Flow::new();
        flow.dctcp.alpha = 0.25;
        flow.dctcp.window_end = u64::MAX; // the observation window never ends, so alpha does not change
        let cuts: Vec<u64> = (0..25).map(|_| flow.acknowledge(true, false)).collect();
        let mut expected = [0; 25];
        // Alpha is 0.25, so the window of 100,000 bytes shrinks by an eighth, once per ten segments.
        (expected[0], expected[10], expected[20]) = (12_500, 10_938, 9_571);
        assert_eq!(cuts, expected);
        assert_eq!(flow.window.ssthresh(), flow.window.cwnd(), "slow start has ended");
        assert!(flow.dctcp.take_reduced() && !flow.dctcp.take_reduced(), "CWR is sent once");
    }

    #[test]
    fn a_mark_never_widens_the_window() {
        let mut flow = Flow::new();
        flow.window.set_cwnd(MSS.into());
        assert_eq!(flow.acknowledge(true, false), 0);
        assert_eq!((flow.window.cwnd(), flow.window.ssthresh()), (1_000, 2_000));
    }

    #[test]
    fn marks_while_a_loss_is_repaired_and_unmarked_segments_cut_nothing() {
        let mut flow = Flow::new();
        assert_eq!((0..30).map(|_| flow.acknowledge(true, true)).sum::<u64>(), 0);
        assert_eq!((0..30).map(|_| flow.acknowledge(false, false)).sum::<u64>(), 0);
    }
}
