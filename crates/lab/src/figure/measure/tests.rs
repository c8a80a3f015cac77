use super::*;
use crate::figure::condition::Sizes;
use crate::figure::condition::tests::one_link;
use crate::figure::runs::{SEED, Spread, spread};
use crate::run::records::Records;

fn flow(id: u64) -> FlowRow {
    FlowRow { id, dst: 1, size: 1 + id, fct_us: Some(1.0), slowdown: Some(1.0), ..FlowRow::default() }
}

fn run(scheme: &str, rho: &str, rates: &[(u64, Option<f64>)]) -> Run {
    let flow = |&(id, assigned_gbps)| FlowRow { assigned_gbps, ..flow(id) };
    let records = Records { flows: rates.iter().map(flow).collect(), ..Records::default() };
    let labels = [("scheme", scheme), ("rho", rho)].map(|(sweep, label)| (sweep.into(), label.into()));
    Run { labels: labels.into(), data: Data::Records(records) }
}

pub(super) fn against(rho: &str, wanted: Option<Where>) -> Measure {
    let against = vec![("rho".to_owned(), rho.to_owned())];
    Measure { wanted, against, ..of(Of::AssignedRate, Stat::Percentile(50.0)) }
}

#[test]
fn flows_are_compared_with_themselves_in_the_other_run() {
    let runs = [
        run("A", "0", &[(3, Some(4.0)), (1, Some(10.0)), (2, None), (5, Some(0.0))]),
        run("B", "0", &[(1, Some(1.0))]),
        run("A", "1 ms", &[(1, Some(8.0)), (2, Some(7.0)), (3, Some(6.0)), (4, Some(1.0)), (5, Some(0.0))]),
    ];
    // In the run with `rho` = 0, flow 2 has no assigned rate and flow 4 is missing, so only flows 1, 3 and 5 are
    // compared.
    assert_eq!(against("0", None).sample(&runs[2], &runs), [0.0, 0.2, 0.5]);
    assert_eq!(against("0", None).of_run(&runs[2], &runs), Some(0.2));
    assert_eq!(against("0", Some(Where::Sizes(Sizes { least: 0, most: 3 }))).sample(&runs[2], &runs), [0.2]);
    assert_eq!(against("0", None).sample(&runs[0], &runs), [0.0; 3]);
    assert_eq!(against("5 ms", None).of_run(&runs[2], &runs), None);
    let times = Measure { comparison: Comparison::Ratio, ..against("0", None) };
    assert_eq!(times.sample(&runs[2], &runs), [0.8, 1.0, 1.5]);
}

#[test]
fn a_total_may_be_what_it_is_beyond_that_of_another_run() {
    let loaded = |rho, bytes: &[f64]| {
        let link = |&control_bytes: &f64| LinkRow { control_bytes, ..LinkRow::default() };
        let links = bytes.iter().map(link).collect();
        let data = Data::Records(Records { links, ..Records::default() });
        Run { data, ..run("A", rho, &[]) }
    };
    let runs = [loaded("0", &[5.0, 7.0]), loaded("1 ms", &[20.0, 8.0])];
    let mut measure = Measure { of: Of::ControlBytes, stat: Stat::Total, ..against("0", None) };
    measure.beyond = std::mem::take(&mut measure.against);
    assert_eq!(measure.of_run(&runs[1], &runs), Some(16.0));
    assert_eq!(measure.of_run(&runs[0], &runs), Some(0.0));
    measure.relative = measure.beyond.clone();
    assert_eq!(measure.of_run(&runs[1], &runs), Some(16.0 / 12.0));
    measure.beyond[0].1 = "5 ms".to_owned();
    assert_eq!(measure.of_run(&runs[1], &runs), None);
}

#[test]
fn links_are_all_or_those_from_one_node_to_another() {
    let link = |ends, data_bytes, paused| LinkRow { ends, data_bytes, paused, ..LinkRow::default() };
    let links = vec![link((1, 2), 5.0, Some(0.5)), link((2, 1), 7.0, None), link((1, 2), 9.0, Some(0.0))];
    let run = Run { data: Data::Records(Records { links, ..Records::default() }), ..run("A", "0", &[]) };
    let there = Some(one_link(1, 2));
    let sample = |what, wanted| Measure { wanted, ..of(what, Stat::Mean) }.sample(&run, &[]);
    assert_eq!(sample(Of::DataBytes, None), [5.0, 7.0, 9.0]);
    assert_eq!(sample(Of::DataBytes, there), [5.0, 9.0]);
    assert_eq!(sample(Of::Paused, None), [0.0, 0.5], "the sample must have only links with flow control");
}

/// A run of scheme A whose flows have these completion times, in microseconds; `None` for a flow that never
/// finished.
fn took(seed: &str, fcts: &[Option<f64>]) -> Run {
    let flow = |(id, &fct_us): (u64, &Option<f64>)| FlowRow { fct_us, ..flow(id) };
    let records = Records { flows: (0..).zip(fcts).map(flow).collect(), ..Records::default() };
    let labels = [("scheme", "A"), (SEED, seed)].map(|(sweep, label)| (sweep.into(), label.into()));
    Run { labels: labels.into(), data: Data::Records(records) }
}

pub(super) fn of(of: Of, stat: Stat) -> Measure {
    let (window, none) = (Window::default(), Labels::new);
    Measure {
        of,
        stat,
        wanted: None,
        window,
        above: Bytes(0),
        against: none(),
        comparison: Comparison::Deviation,
        beyond: none(),
        relative: none(),
        relative_where: None,
        distance_to: none(),
    }
}

#[test]
fn a_statistic_is_of_each_seed_and_then_averaged() {
    let runs = [took("1", &[Some(1.0), Some(9.0)]), took("2", &[Some(2.0), Some(4.0), Some(6.0)])];
    let at = [("scheme".to_owned(), "A".to_owned())];
    let most = of(Of::Fct, Stat::Percentile(100.0));
    assert_eq!(most.number(&runs, &at, Seeds::All), Some(7.5));
    assert_eq!(most.number(&runs, &at, Seeds::One("1")), Some(9.0));
    assert_eq!(most.number(&runs, &at, Seeds::One("3")), None);
    let far = spread(&runs, |seeds| most.number(&runs, &at, seeds));
    // The half-width is Student's t, 12.706, times the standard error of the mean of the two seeds, 1.5.
    let margin = Some(12.706 * 1.5);
    assert_eq!(far, Some(Spread { least: 6.0, most: 9.0, margin, seeds: 2 }));
    // This is the mean of the two seeds' means, 4.5. It is not the mean over the flows of both seeds.
    assert_eq!(of(Of::Fct, Stat::Mean).number(&runs, &at, Seeds::All), Some(4.5));
    assert_eq!(spread(&[run("A", "0", &[])], |_| Some(1.0)), None);
}

#[test]
fn flows_that_never_finish_are_counted_and_in_no_other_sample() {
    let runs = [took("1", &[Some(1.0), None, Some(3.0)])];
    let count = |what| of(what, Stat::Count).number(&runs, &[], Seeds::All);
    assert_eq!([Of::Unfinished, Of::Fct, Of::Goodput].map(count), [1.0, 2.0, 2.0].map(Some));
    let rare = of(Of::Fct, Stat::Percentile(99.9));
    assert!(rare.remark(&runs, &[Labels::new()]).is_some_and(|text| text.contains("of only 2 samples")));
    assert_eq!(of(Of::Fct, Stat::Mean).remark(&runs, &[Labels::new()]), None);
}

#[test]
fn deadlines_are_met_by_flows_that_have_them() {
    let met = [Some(true), None, Some(false), Some(true), Some(true)];
    let flow = |(id, &met): (u64, &Option<bool>)| FlowRow { met, fct_us: None, ..flow(id) };
    let records = Records { flows: (0..).zip(&met).map(flow).collect(), ..Records::default() };
    let runs = [Run { data: Data::Records(records), ..run("A", "0", &[]) }];
    assert_eq!(of(Of::Met, Stat::Mean).number(&runs, &[], Seeds::All), Some(0.75));
    assert_eq!(of(Of::Met, Stat::Mean).number(&[run("A", "0", &[(1, None)])], &[], Seeds::All), None);
}

#[test]
fn lateness_is_of_live_runs() {
    let late = |lateness_us| {
        let data = Data::Records(Records { lateness_us, ..Records::default() });
        of(Of::Lateness, Stat::Mean).number(&[Run { data, ..run("A", "0", &[]) }], &[], Seeds::All)
    };
    assert_eq!((late(Some(0.5)), late(None)), (Some(0.5), None));
}

#[test]
fn a_makespan_is_of_programs_that_came_to_their_end() {
    let ended = |makespan_ms| {
        let data = Data::Records(Records { makespan_ms, ..Records::default() });
        of(Of::Makespan, Stat::Mean).number(&[Run { data, ..run("A", "0", &[]) }], &[], Seeds::All)
    };
    assert_eq!((ended(Some(1.5)), ended(None)), (Some(1.5), None));
    let seed = |seed, makespan_ms| {
        let data = Data::Records(Records { makespan_ms, ..Records::default() });
        Run { data, ..took(seed, &[]) }
    };
    let mean = |second| {
        let runs = [seed("1", Some(1.0)), seed("2", second)];
        of(Of::Makespan, Stat::Mean).number(&runs, &[], Seeds::All)
    };
    assert_eq!(
        (mean(Some(2.0)), mean(None)),
        (Some(1.5), None),
        "there must be no mean if the programs of one run never ended"
    );
}
