//! `raddle sweep` from outside: its cells, tables and pictures.

#[cfg(target_os = "linux")]
use crate::directories::begun;
use crate::shell::{SMALL, SWEEP, command, folder, json, names, raddle, stdout, swept};
use serde_json::Value;
use std::fs;
#[cfg(target_os = "linux")]
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::{Command, Output, Stdio};
#[cfg(target_os = "linux")]
use std::time::Duration;

#[test]
fn a_sweep_runs_each_cell_once() {
    let folder = swept();
    let first = raddle(folder.path(), "sweep swept.toml --threads 2");
    insta::assert_snapshot!(stdout(&first));
    let log = folder.path().join("out/swept/tcp/log.txt");
    let written = fs::metadata(&log).unwrap().modified().unwrap();
    let second = raddle(folder.path(), "sweep swept.toml");
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(fs::metadata(&log).unwrap().modified().unwrap(), written);
    let changed = raddle(folder.path(), "sweep swept.toml --seed 7 --force");
    assert_ne!(stdout(&changed), stdout(&first));
}

#[test]
fn a_cell_that_cannot_run_is_told_and_the_others_run() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = "\n[[sweep]]\nname = \"routing\"\nkey = \"scheme.routing\"\nvalues = [\"ecmp\", \"conga\"]\n";
    let grid = [&SMALL.replace("r2c2", "tcp-newreno"), sweep].concat();
    fs::write(folder.path().join("grid.toml"), &grid).unwrap();
    let swept = |options: &str| {
        let output = raddle(folder.path(), &format!("sweep grid.toml --seeds 2 {options}"));
        let [text, told] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), text, told)
    };
    let (code, text, told) = swept("");
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("1/4 conga, seed 1: cannot run: grid.toml:19:19: `conga` needs"), "{told}");
    assert!(told.contains("2/4 conga, seed 2: cannot run, for the same reason as conga, seed 1\n"), "{told}");
    assert!(
        text.contains("2 of 4 cells cannot run:\n  conga, seed 1; conga, seed 2\n    grid.toml:19:19: "),
        "{text}"
    );
    let folders = ["ecmp-seed-1", "ecmp-seed-2", "sweep_results"];
    assert_eq!(names(&folder.path().join("out/grid")), folders);
    let (code, text, _) = swept("--format json");
    let results: Value = serde_json::from_str(&text).unwrap();
    let refused = &results["refused"][1];
    assert_eq!(
        (code, &refused["labels"]["seed"], results["groups"].as_array().unwrap().len()),
        (Some(1), &"seed 2".into(), 1)
    );
    assert_eq!((&refused["error"]["line"], &refused["error"]["file"]), (&19.into(), &"grid.toml".into()));
    // A shard reports only its own cells.
    let (code, text, _) = swept("--shard 2/2 --quiet");
    assert!(
        code == Some(1) && text.contains("1 cells in") && text.contains("1 of 2 cells cannot run"),
        "{text}"
    );
    let (code, text, _) = swept("--dry-run");
    assert!(code == Some(1) && text.contains("# conga, seed 2\n# cannot run: grid.toml:19:19: "), "{text}");
    let (code, text, told) = swept("--fail-fast --out fast");
    assert!(code == Some(1) && text.starts_with("1 of 4 cells cannot run:"), "{text}");
    assert_eq!((text.matches("`conga` needs").count(), told.as_str()), (1, ""));
    assert!(!folder.path().join("fast").exists());
    // If the file is invalid or no cell can run, the command fails with exit code 2.
    let wrong = grid.replace("flows = 300", "flows = 300\nflos = 3");
    fs::write(folder.path().join("grid.toml"), wrong).unwrap();
    let (code, _, told) = swept("--out wrong");
    assert!(code == Some(2) && told.contains("unknown key `flos`"), "{told}");
    fs::write(folder.path().join("grid.toml"), grid.replace("\"ecmp\", ", "")).unwrap();
    let (code, _, told) = swept("--out none");
    assert!(code == Some(2) && told.matches("`conga` needs").count() == 1, "{told}");
    assert_eq!(names(folder.path()), ["grid.toml", "out"]);
}

#[test]
fn seeds_of_a_sweep_are_replicas_with_an_interval_and_a_row_each() {
    let folder = swept();
    fs::write(
        folder.path().join("drawn.toml"),
        fs::read_to_string(folder.path().join("swept.toml")).unwrap()
            + "\n[[plot]]\nkind = \"bars\"\nx = \"scheme\"\nof = \"fct\"\nstat = \"p99\"\nerrors = \"interval\"\n",
    )
    .unwrap();
    let output = raddle(folder.path(), "sweep drawn.toml --seeds 3 --out d");
    let text = stdout(&output);
    let group = text.lines().find(|line| line.starts_with("TCP")).unwrap();
    assert!(group.split_whitespace().nth(1) == Some("3") && group.contains('±'), "{text}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("6/6 ") && told.contains(" s in all"), "{told}");
    let results = folder.path().join("d/sweep_results");
    let pictures = ["figure.html", "figure.pdf", "figure.png", "figure.svg"];
    let files = [&pictures[..], &["labels.json", "manifest.json", "sweep.csv", "sweep.parquet"]].concat();
    assert_eq!(names(&results), files);
    assert!(fs::read_to_string(results.join("figure.svg")).unwrap().contains("mean of n = 3 seeds"));
    let table = fs::read_to_string(results.join("sweep.csv")).unwrap();
    assert_eq!(table.lines().count(), 7, "{table}");
    assert!(table.starts_with("scheme,seed,complete,delivered,digest,"), "{table}");
    let twice = raddle(folder.path(), "sweep drawn.toml --seeds 3 --out d --quiet --format json");
    let means = &json(&twice)["groups"][1]["measures"]["fct_mean_us"];
    assert!(means["mean"].as_f64().unwrap() > 0.0 && means["margin_95"].as_f64().unwrap() > 0.0, "{means}");
}

#[test]
fn replicas_come_from_the_figure_or_from_a_sweep_of_the_seed() {
    let folder = folder();
    let figure = "\n[figure]\ntitle = \"FCT\"\nseeds = 2\n";
    let seeds = "\n[[sweep]]\nname = \"seed\"\nkey = \"engine.seed\"\nvalues = [1, 2]\n";
    let groups = |name: &str, added: &str, options: &str| {
        fs::write(folder.path().join(name), [SMALL, added].concat()).unwrap();
        json(&raddle(folder.path(), &format!("sweep {name} --format json {options}")))["groups"].clone()
    };
    let of_figure = groups("figure.toml", figure, "");
    assert_eq!((&of_figure[0]["n"], &of_figure[1]), (&2.into(), &Value::Null));
    assert_eq!(groups("figure.toml", figure, "--seeds 1 --out one")[0]["n"], 1);
    let of_sweep = groups("swept.toml", seeds, "");
    assert_eq!(
        (&of_sweep[0]["labels"], &of_sweep[0]["measures"]),
        (&of_figure[0]["labels"], &of_figure[0]["measures"])
    );
    let table = fs::read_to_string(folder.path().join("out/swept/sweep_results/sweep.csv")).unwrap();
    let rows: Vec<_> = table.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(rows, ["seed", "1", "2"]);
    fs::write(folder.path().join("both.toml"), [SMALL, figure, seeds].concat()).unwrap();
    let both = raddle(folder.path(), "sweep both.toml");
    assert!(
        String::from_utf8_lossy(&both.stderr).contains("the experiment already has a sweep called `seed`"),
        "{both:?}"
    );
}

#[test]
fn pictures_have_the_style_and_the_resolution_that_are_asked_for() {
    let folder = swept();
    let text = fs::read_to_string(folder.path().join("swept.toml")).unwrap()
        + "\n[[plot]]\nkind = \"bars\"\nx = \"scheme\"\nof = \"fct\"\n[figure]\nsize = [3.0, 2.0]\nstyle = \"slides\"\n";
    fs::write(folder.path().join("drawn.toml"), text).unwrap();
    let width = |options: &str| {
        stdout(&raddle(folder.path(), &format!("sweep drawn.toml --out d {options}")));
        let picture = fs::read(folder.path().join("d/sweep_results/figure.png")).unwrap();
        u32::from_be_bytes(picture[16..20].try_into().unwrap())
    };
    // The picture is three inches wide, in each of three resolutions: 144 pixels per inch (the style `slides` of the
    // file), 600 (the style `paper`), and 100 (`--dpi`).
    assert_eq!(["", "--style paper", "--style paper --dpi 100"].map(width), [432, 1_800, 300]);
    let strange = raddle(folder.path(), "compare d/r2c2 d/tcp --plot a.jpg");
    assert_eq!(strange.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&strange.stderr).contains(".svg, .png, .pdf or .html"));
    assert_eq!(raddle(folder.path(), "sweep drawn.toml --out d --set figure.dpi=7").status.code(), Some(2));
}

/// Starts a sweep of `file` into `s` on one thread. Interrupts it when the cell in the folder `cell` has begun and the
/// process has then computed for `computed`.
#[cfg(target_os = "linux")]
fn stopped(folder: &Path, file: &str, cell: &str, computed: Duration) -> Output {
    let mut sweep = command(folder, &format!("sweep {file} --threads 1 --out s"));
    let sweep = sweep.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !folder.join("s").exists() {
        std::thread::yield_now();
    }
    begun(&folder.join("s"), &format!(".{cell}.part-"));
    let since = processor_time(sweep.id());
    while processor_time(sweep.id()) < since + computed {
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-INT", &sweep.id().to_string()]).status().unwrap().success());
    sweep.wait_with_output().unwrap()
}

/// The time for which a process has computed, from `/proc/PID/stat` (proc(5): fields 14 and 15, in hundredths of a
/// second).
#[cfg(target_os = "linux")]
fn processor_time(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after_name = stat.rsplit(')').next().unwrap().split_whitespace();
    Duration::from_millis(after_name.skip(11).take(2).map(|ticks| 10 * ticks.parse::<u64>().unwrap()).sum())
}

/// The first two columns of the table of the sweep in `s`.
#[cfg(target_os = "linux")]
fn rows(folder: &Path) -> Vec<String> {
    let table = fs::read_to_string(folder.join("s/sweep_results/sweep.csv")).unwrap();
    table.lines().map(|line| line.split(',').take(2).collect::<Vec<_>>().join(" ")).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_sweep_that_is_stopped_has_the_table_of_what_is_there() {
    let folder = folder();
    // Large flows make the second cell long, but leave its set-up short.
    let sizes = "\n[[sweep]]\nname = \"mean\"\nkey = \"workload.sizes.mean\"\nvalues = [\"100 KB\", \"10 GB\", \"20 GB\"]\n";
    fs::write(folder.path().join("sizes.toml"), [SMALL, sizes].concat()).unwrap();
    let one = sizes.replace(", \"10 GB\", \"20 GB\"", "");
    fs::write(folder.path().join("one.toml"), [SMALL, &one].concat()).unwrap();
    let stopped = || stopped(folder.path(), "sizes.toml", "10-gb", Duration::from_millis(300));
    let rows = || rows(folder.path());
    let output = stopped();
    let [text, told] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(
        told.contains("\n10 GB: stopped early: the records are partial\n") && !told.contains("10 GB: done"),
        "{told}"
    );
    assert!(told.ends_with("1 of 3 cells have run; repeat the command to continue in s\n"), "{told}");
    assert!(text.lines().any(|line| line.starts_with("100 KB ")), "{text}");
    assert!(
        !text.contains("10 GB") && text.ends_with("unfinished cells: 2; the means leave them out\n"),
        "{text}"
    );
    assert_eq!(rows(), ["mean complete", "100 KB true", "10 GB false"]);
    // A complete table replaces this one, and then stays when a sweep is stopped.
    stdout(&raddle(folder.path(), "sweep one.toml --out s"));
    assert_eq!(rows(), ["mean complete", "100 KB true"]);
    assert_eq!(stopped().status.code(), Some(130));
    assert_eq!(rows(), ["mean complete", "100 KB true"]);
}

/// The second cell has 65,536 hosts, so the interrupt nearly always comes while it is set up.
#[cfg(target_os = "linux")]
#[test]
fn a_sweep_that_is_stopped_while_a_cell_is_set_up_has_its_table_too() {
    let folder = folder();
    let sizes = "\n[[sweep]]\nname = \"k\"\nkey = \"topology.k\"\nvalues = [4, 64]\n";
    let tree =
        SMALL.replace("\"torus\"\ndims = [3, 3]", "\"fat_tree\"\nk = 4").replace("r2c2", "tcp-newreno");
    fs::write(folder.path().join("trees.toml"), [&tree, sizes].concat()).unwrap();
    let output = stopped(folder.path(), "trees.toml", "64", Duration::ZERO);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.ends_with("1 of 2 cells have run; repeat the command to continue in s\n"), "{told}");
    assert_eq!(rows(folder.path())[..2], ["k complete", "4 true"], "{told}");
}

#[test]
fn shards_make_a_sweep_together() {
    let folder = swept();
    let first = stdout(&raddle(folder.path(), "sweep swept.toml --shard 1/2 --out d"));
    assert!(first.starts_with("shard 1-of-2 is done: 1 cells"), "{first}");
    assert_eq!(names(&folder.path().join("d")), ["r2c2"]);
    stdout(&raddle(folder.path(), "sweep swept.toml --shard 2/2 --out d"));
    let whole = raddle(folder.path(), "sweep swept.toml --out d");
    assert!(String::from_utf8_lossy(&whole.stderr).contains("2/2 TCP: already finished"), "{whole:?}");
    assert_eq!(
        stdout(&whole).replace("d/sweep", "out/swept/sweep"),
        stdout(&raddle(folder.path(), "sweep swept.toml"))
    );
    for shard in ["0/2", "3/2", "1", "a/b"] {
        assert_eq!(
            raddle(folder.path(), &format!("sweep swept.toml --shard {shard}")).status.code(),
            Some(2)
        );
    }
}

#[test]
fn a_sweep_that_fails_fast_begins_no_further_cell() {
    let folder = folder();
    // The queue is shorter than a packet, so no packet fits into it.
    let text = fs::read_to_string(folder.path().join("small.toml")).unwrap();
    let sweep = "\n[[sweep]]\nname = \"limit\"\nkey = \"scheme.queue.limit\"\nvalues = [\"1 B\", \"2 B\"]\n";
    fs::write(folder.path().join("dead.toml"), text + sweep).unwrap();
    let limit = "--set scheme.transport=tcp-newreno --set workload.flows=5 --set scheme.tcp-newreno.handshake=true \
                 --set scheme.queue.kind=fifo --threads 1 --quiet";
    let all = raddle(folder.path(), &format!("sweep dead.toml --out all {limit}"));
    assert_eq!(names(&folder.path().join("all")), ["1-b", "2-b", "sweep_results"], "{all:?}");
    let fast = raddle(folder.path(), &format!("sweep dead.toml --out fast --fail-fast {limit}"));
    assert_eq!(names(&folder.path().join("fast")), ["1-b"], "{fast:?}");
    assert_eq!((all.status.code(), fast.status.code()), (Some(3), Some(3)));
}

#[test]
fn a_plot_that_cannot_be_drawn_is_refused_before_the_runs() {
    let folder = folder();
    let plot = "\n[[plot]]\nkind = \"cdf\"\nof = \"fct\"\nby = \"nothing\"\n";
    fs::write(folder.path().join("swept.toml"), [SMALL, SWEEP, plot].concat()).unwrap();
    for command in ["sweep swept.toml", "sweep swept.toml --shard 1/2", "sweep swept.toml --dry-run"] {
        let refused = raddle(folder.path(), command);
        assert_eq!(refused.status.code(), Some(2), "{command}");
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(told.contains("there is no sweep called `nothing`"), "{command}: {told}");
        assert!(!folder.path().join("out").exists(), "{command}");
    }
}

#[test]
fn a_sweep_is_not_taken_for_one_experiment() {
    let folder = swept();
    fs::write(
        folder.path().join("misspelt.toml"),
        [SMALL, &SWEEP.replace("scheme.transport", "scheme.tranport")].concat(),
    )
    .unwrap();
    let mut golden = String::new();
    for arguments in [
        "run swept.toml",
        "run swept.toml --dry-run",
        "run swept.toml --set scheme.routing=rps",
        "run misspelt.toml",
        "live swept.toml",
        "agree swept.toml",
        "select swept.toml",
    ] {
        let output = raddle(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        golden.push_str(&format!("$ raddle {arguments}\n{}\n", String::from_utf8_lossy(&output.stderr)));
        assert_eq!(names(folder.path()), ["misspelt.toml", "swept.toml"], "{arguments}");
    }
    insta::assert_snapshot!(golden);
    let chosen = json(&raddle(folder.path(), "run swept.toml --set scheme.transport=pfq --format json"));
    let resolved = fs::read_to_string(folder.path().join("out/swept/experiment.toml")).unwrap();
    assert!(resolved.contains("transport = \"pfq\"") && !resolved.contains("sweep"), "{resolved}");
    let again = json(&raddle(folder.path(), "run out/swept/experiment.toml --out again --format json"));
    assert_eq!(again["digest"], chosen["digest"]);
    let cell = stdout(&raddle(folder.path(), "sweep swept.toml --out cells --quiet"));
    assert!(cell.contains("TCP") || cell.contains("tcp"), "{cell}");
    stdout(&raddle(folder.path(), "run cells/tcp/experiment.toml --out tcp"));
}
