//! A program on a node, driven between the polls of the node's host.

use crate::{Application, Bytes, FlowId, Host, Input, NodeId, Report, Request, Time};

/// A program, and the node's state for it.
pub(super) struct Program {
    pub(super) application: Box<dyn Application>,
    /// Id, receiver and size of each flow that the program has opened and whose key the host has not yet reported.
    unnamed: Vec<(FlowId, NodeId, Bytes)>,
    /// Time at which the program asks to be polled again.
    pub(super) wake: Time,
    end: End,
}

/// The end of a program: still to come, reached, or reached and reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    ToCome,
    /// The program has ended, and this has not been reported.
    Reached,
    Told,
}

impl Program {
    pub(super) fn new(application: Box<dyn Application>) -> Self {
        Self { application, unnamed: Vec::new(), wake: Time::NEVER, end: End::ToCome }
    }

    /// Passes all present requests of the program to the host.
    pub(super) fn advance(&mut self, now: Time, host: &mut dyn Host) {
        self.wake = loop {
            match self.application.poll(now) {
                Request::Open(flow) => {
                    self.unnamed.push((flow.id, flow.dst, flow.size));
                    host.handle(now, Input::Flow(&flow));
                }
                Request::Append { flow, bytes } => host.handle(now, Input::Append { flow, bytes }),
                Request::Close { flow } => host.handle(now, Input::Close { flow }),
                Request::WakeAt(at) => break at,
                Request::Idle => break Time::NEVER,
                Request::Finished => {
                    if self.end == End::ToCome {
                        self.end = End::Reached;
                    }
                    break Time::NEVER;
                }
            }
        };
    }

    /// Passes a report of the host to the program. Returns the report for the observer: [`Report::Began`] in place of
    /// [`Report::Opened`] if the program opened the flow, otherwise the same report.
    pub(super) fn hear(&mut self, now: Time, report: Report) -> Report {
        self.application.hear(now, &report);
        if let Report::Opened { flow, key } = report
            && let Some(place) = self.unnamed.iter().position(|&(id, ..)| id == flow)
        {
            let (_, dst, size) = self.unnamed.swap_remove(place);
            return Report::Began { key, dst, size };
        }
        report
    }

    /// True if the program has ended and its end has not been reported. Returns true only once.
    pub(super) fn takes_leave(&mut self) -> bool {
        let reached = self.end == End::Reached;
        if reached {
            self.end = End::Told;
        }
        reached
    }
}
