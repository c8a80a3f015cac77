//! Completions of shells, and manual pages.

use crate::shell::{names, raddle, stdout};
use std::fs;
use std::process::Command;

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let script = stdout(&raddle(folder.path(), "completions bash"));
    stdout(&raddle(folder.path(), "man --out man"));
    let pages = names(&folder.path().join("man"));
    for command in ["init", "run", "sweep", "live", "reproduce", "explain", "compare", "doctor"] {
        assert!(script.contains(command), "{command}");
        assert!(pages.contains(&format!("raddle-{command}.1")), "{command}: {pages:?}");
    }
}

#[cfg(unix)]
#[test]
fn bash_completes_the_names_of_templates_figures_and_keys() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("script"), stdout(&raddle(folder.path(), "completions bash"))).unwrap();
    for (command, begun, word) in [
        ("init", "le", "leaf-spine"),
        ("reproduce", "pdq/fig3", "pdq/fig3a"),
        ("reproduce", "pd", "pdq"),
        ("explain", "dct", "dctcp"),
        ("explain", "topology.link_r", "topology.link_rate"),
        ("explain", "r2c2/fig2", "r2c2/fig2"),
    ] {
        let line = format!(
            "source ./script; COMP_WORDS=(raddle {command} {begun}); COMP_CWORD=2; _raddle raddle {begun} {command}; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let completed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(completed.lines().any(|completed| completed == word), "{command} {begun}: {output:?}");
    }
}

/// zsh completes the names of figures together with the user's files. A script that sets the words of a command line
/// cannot call zsh's completion, so the test reads the script.
#[test]
fn zsh_completes_names_of_figures_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let script = stdout(&raddle(folder.path(), "completions zsh"));
    assert!(script.contains("only if you name them:_raddle_targets' \\\n"), "{script}");
    let names = "_raddle_targets() {\n    _alternative 'figures:figure:(cee cee/fig10-conflict ";
    assert!(
        script.contains(names) && script.contains(" r2c2/workloads-cause)' 'files:file:_files'\n}\n"),
        "{script}"
    );
}
