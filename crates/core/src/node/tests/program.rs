//! Tests of a program above the host.

use super::*;

/// A program that answers polls according to a script, and has no requests after the script has ended.
struct Errand {
    requests: VecDeque<Request>,
    log: Log,
}

impl Application for Errand {
    fn begins(&self) -> Time {
        ns(5)
    }

    fn hear(&mut self, _: Time, report: &Report) {
        self.log.push(Heard(*report));
    }

    fn poll(&mut self, _: Time) -> Request {
        self.log.push(Wanted);
        self.requests.pop_front().unwrap_or(Request::Finished)
    }

    fn waits_for(&self) -> Option<String> {
        (!self.requests.is_empty()).then(|| "the clock".to_owned())
    }
}

/// A node whose program and host answer polls with these requests and outputs.
fn node_with(requests: Vec<Request>, outputs: Vec<Output>) -> (Node<Fake>, Fake) {
    let (_, runtime) = node(vec![], None);
    let log = runtime.log.clone();
    let application = Errand { requests: requests.into(), log: log.clone() };
    let parts = Parts {
        host: Some(Box::new(Script { outputs: outputs.into(), log })),
        application: Some(Box::new(application)),
        ..Parts::default()
    };
    (Node::new(parts, ()), runtime)
}

#[test]
fn a_program_is_polled_before_its_host_each_time_and_hears_what_the_host_reports() {
    let (flow, key) = (Flow::stream(FlowId(9), NodeId(0), NodeId(1), ns(10)), FlowKey(3));
    let opened = |flow| Report::Opened { flow, key };
    let bytes = Bytes(7);
    let requests = vec![
        Request::Open(flow),
        Request::Append { flow: flow.id, bytes },
        Request::WakeAt(ns(30)),
        Request::WakeAt(ns(30)),
        Request::WakeAt(ns(10)),
        Request::WakeAt(ns(20)),
    ];
    let outputs = vec![
        Output::Report(opened(flow.id)),
        Output::Report(opened(FlowId(0))),
        Output::Idle,
        Output::WakeAt(ns(40)),
    ];
    let (mut node, mut runtime) = node_with(requests, outputs);
    assert_eq!(node.wake(), ns(5), "the program begins at 5 ns");
    node.woken(&mut runtime);
    let began = Report::Began { key, dst: NodeId(1), size: Bytes(0) };
    let expected = [
        vec![Wanted, Started(flow.id), Wanted, Appended(flow.id, bytes), Wanted, Polled],
        vec![Heard(opened(flow.id)), Reported(began)],
        // The report of a flow of the workload reaches the observer unchanged.
        vec![Wanted, Polled, Heard(opened(FlowId(0))), Reported(opened(FlowId(0)))],
        // If the program asks to be woken now, the program and the host are polled again. The node then
        // requests the earlier of their two wake-ups.
        vec![Wanted, Polled, Wanted, Polled, WakeAt(20)],
    ];
    assert_eq!(runtime.log.take(), expected.concat());
    assert_eq!(runtime.totals.flows_started, 0, "only flows of the workload are counted");
}

#[test]
fn the_end_of_a_program_is_reported_once_and_after_all_that_its_host_had_to_do() {
    let requests = vec![Request::Close { flow: FlowId(9) }];
    let (mut node, mut runtime) = node_with(requests, vec![send(1, None)]);
    assert_eq!(node.application().and_then(Application::waits_for), Some("the clock".to_owned()));
    node.poll(&mut runtime);
    let expected = [
        vec![Wanted, Closed(FlowId(9)), Wanted, Polled, Leaves(1, None, PortId(0))],
        vec![Wanted, Polled, Reported(Report::Finished), Wanted, Polled],
    ];
    assert_eq!(runtime.log.take(), expected.concat());
    assert_eq!(node.application().and_then(Application::waits_for), None);
    node.poll(&mut runtime);
    assert_eq!(runtime.log.take(), [Wanted, Polled]);
}
