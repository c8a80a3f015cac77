//! The observer of a run. It receives the hosts' reports, and every packet if a measure needs packets.

use crate::Error;
use crate::observe::capture::Capture;
use crate::observe::rank_series::RankSeries;
use crate::observe::rate_series::RateSeries;
use crate::observe::series::Series;
use crate::observe::throughput::Throughput;
use crate::observe::uplinks::Uplinks;
use raddle_core::{FlowKey, LinkId, NodeId, Observer, Packet, Report, Time};
use raddle_flow_sim::{Listener, Sent};
use raddle_records::{Digest, FlowRecord, Recorder};

/// Observes an engine and produces records.
pub(crate) struct Gather<'a> {
    pub(crate) recorder: Recorder,
    pub(crate) digest: Digest,
    pub(crate) uplinks: Option<Uplinks>,
    pub(crate) throughput: Option<Throughput>,
    pub(crate) series: Option<Series>,
    pub(crate) rates: Option<RateSeries>,
    pub(crate) ranks: Option<RankSeries>,
    pub(crate) capture: Option<Capture>,
    pub(crate) flow: &'a mut dyn FnMut(&FlowRecord) -> Result<(), Error>,
    /// Time of the latest complete delivery of a flow.
    pub(crate) last_delivery: Option<Time>,
    /// The first error from `flow` or from the packet capture.
    pub(crate) result: Result<(), Error>,
}

impl Gather<'_> {
    /// True if the observer needs an event for every packet, or for every part of a fluid flow.
    pub(crate) fn hears_packets(&self) -> bool {
        self.uplinks.is_some() || self.throughput.is_some() || self.series.is_some() || self.capture.is_some()
    }

    pub(crate) fn take(&mut self, record: &FlowRecord) {
        self.digest.add(record);
        if let Some(series) = &mut self.series {
            series.ended(record);
        }
        let delivered = record.fct_ps.map(|fct| Time::from_ps(record.start_ps + fct));
        self.last_delivery = self.last_delivery.max(delivered);
        if self.result.is_ok() {
            self.result = (self.flow)(record);
        }
    }

    /// Tells `rates` and `ranks` that a flow has opened, and tells `ranks` that a flow was delivered at `node`.
    fn follow(&mut self, now: Time, node: NodeId, report: &Report) {
        match *report {
            Report::Opened { key, .. } | Report::Began { key, .. } => {
                let Some(flow) = self.recorder.record_of(key) else { return };
                if let Some(rates) = &mut self.rates {
                    rates.opened(flow);
                }
                if let Some(ranks) = &mut self.ranks {
                    ranks.opened(now, NodeId(flow.src), NodeId(flow.dst));
                }
            }
            Report::Delivered { key, .. } => {
                let flow = self.recorder.record_of(key).filter(|flow| flow.dst == node.0);
                if let (Some(flow), Some(ranks)) = (flow, &mut self.ranks) {
                    ranks.delivered(now, NodeId(flow.src), NodeId(flow.dst));
                }
            }
            _ => {}
        }
    }

    pub(crate) fn heard(&mut self, now: Time, node: NodeId, report: Report) {
        if let Some(throughput) = &mut self.throughput {
            throughput.report(now, &report, &self.recorder);
        }
        // The recorder has a flow's record only after the report of the opening, and the report of the delivery may
        // remove the record.
        let is_end = matches!(report, Report::Delivered { .. });
        if is_end {
            self.follow(now, node, &report);
        }
        let record = self.recorder.report(now, node, report);
        if !is_end {
            self.follow(now, node, &report);
        }
        if let Some(record) = record {
            self.take(&record);
        }
    }

    /// Called when a packet is forwarded. `bytes` are the packet's bytes, if the packet carries the payload of another
    /// system, such as a kernel.
    pub(crate) fn forwarded(
        &mut self,
        now: Time,
        sent: Time,
        link: LinkId,
        packet: &Packet,
        bytes: Option<&[u8]>,
    ) {
        if let Some(uplinks) = &mut self.uplinks {
            uplinks.count(sent, link, packet.size);
        }
        if let Some(throughput) = &mut self.throughput {
            throughput.count(sent, link, packet, &self.recorder);
        }
        if let Some(series) = &mut self.series {
            let arrived = series.count(sent, link, packet, &self.recorder);
            if let (Some(rates), Some(flow)) = (&mut self.rates, arrived) {
                rates.count(sent, flow, packet.payload());
            }
        }
        if let Some(capture) = &mut self.capture
            && self.result.is_ok()
        {
            self.result = capture.accepted(now, sent, link, packet, bytes);
        }
    }
}

impl Observer for Gather<'_> {
    fn report(&mut self, now: Time, node: NodeId, report: Report) {
        self.heard(now, node, report);
    }
}

impl Listener for Gather<'_> {
    fn report(&mut self, at: Time, node: NodeId, report: Report) {
        self.heard(at, node, report);
    }
}

/// An observer that receives every packet, or every part of a fluid flow.
pub(crate) struct Sampled<'a>(pub(crate) Gather<'a>);

impl<'a> From<Sampled<'a>> for Gather<'a> {
    fn from(sampled: Sampled<'a>) -> Self {
        sampled.0
    }
}

impl Observer for Sampled<'_> {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, node: NodeId, report: Report) {
        self.0.heard(now, node, report);
    }

    fn forwarded(&mut self, now: Time, sent: Time, link: LinkId, packet: &Packet) {
        self.0.forwarded(now, sent, link, packet, None);
    }

    fn forwarded_whole(&mut self, now: Time, sent: Time, link: LinkId, packet: &Packet, bytes: &[u8]) {
        self.0.forwarded(now, sent, link, packet, Some(bytes));
    }
}

impl Listener for Sampled<'_> {
    const SENT: bool = true;

    fn report(&mut self, at: Time, node: NodeId, report: Report) {
        self.0.heard(at, node, report);
    }

    fn sent(&mut self, sent: &Sent<'_>) {
        let Some(flow) = self.0.recorder.record_of(FlowKey(sent.flow.id.0.into())) else { return };
        if let Some(series) = &mut self.0.series {
            series.sent(sent);
        }
        if let Some(rates) = &mut self.0.rates {
            rates.sent(sent, flow);
        }
    }
}
