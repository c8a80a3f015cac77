//! `raddle select`.

use crate::shell::{folder, json, names, raddle, stdout};
use std::fs;

#[test]
fn a_selection_prints_what_it_is_held_against_and_writes_a_line_a_flow() {
    let folder = folder();
    let selection = "select small.toml --set topology.dims=[4,4] --set workload.flows=14";
    insta::assert_snapshot!(stdout(&raddle(folder.path(), &format!("{selection} --out chosen.csv"))));
    assert_eq!(names(folder.path()), ["chosen.csv", "small.toml"]);
    let chosen = fs::read_to_string(folder.path().join("chosen.csv")).unwrap();
    let lines: Vec<&str> = chosen.lines().collect();
    assert_eq!((lines[0], lines.len()), ("flow,src,dst,protocol,rate_bps", 15));
    let sum = |lines: &[&str]| -> f64 {
        lines.iter().map(|line| line.rsplit_once(',').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    let found = |search: &str| json(&raddle(folder.path(), &format!("{selection} {search} --format json")));
    let genetic = found("");
    assert!((genetic["found"].as_f64().unwrap() * 1e9 - sum(&lines[1..])).abs() < 14.0);
    let best = found("--search exhaustive")["found"].as_f64().unwrap();
    for search in ["genetic", "hill-climbing", "log-linear", "annealing", "random"] {
        let found = found(&format!("--search {search}"))["found"].as_f64().unwrap();
        assert!(found <= best * (1.0 + 1e-9), "{search}: {found} above {best}");
    }
    let tail = found("--utility minimum");
    assert!(tail["found"].as_f64().unwrap() >= tail["baselines"]["all vlb"].as_f64().unwrap());
    let other = found("--seed 2");
    assert_ne!(other["baselines"], genetic["baselines"]);
}

#[test]
fn selections_that_cannot_be_are_refused() {
    let folder = folder();
    let mistakes = [
        "select small.toml --search genetical",
        "select small.toml --utility fair",
        "select small.toml --search exhaustive",
        "select small.toml --set scheme.transport=tcp-newreno",
        "select absent.toml",
    ];
    let mut golden = String::new();
    for arguments in mistakes {
        let output = raddle(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        golden.push_str(&format!("$ raddle {arguments}\n{}\n", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(names(folder.path()), ["small.toml"], "{arguments}");
    }
    insta::assert_snapshot!(golden);
}
