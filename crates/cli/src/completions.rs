//! `raddle completions`: scripts with which shells complete commands, options and names.

use crate::arguments::Arguments;
use crate::init::TEMPLATES;
use clap::CommandFactory as _;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use raddle_lab::{catalogue, figure};
use raddle_schemes::registry::Registry;
use std::collections::BTreeSet;

/// The completion script for a shell. It completes the names of templates, figures, papers, schemes, topologies,
/// workloads and keys. The command's parser accepts any text for these arguments, such as the path of a user's figure
/// file, so the names are added here.
pub(crate) fn script(shell: Shell, registry: &Registry) -> String {
    let words = |names: Vec<String>| -> BTreeSet<String> {
        names.iter().flat_map(|name| name.split_whitespace()).map(str::to_owned).collect()
    };
    let figures = figure::names();
    let papers = figures.iter().filter_map(|name| Some(name.split_once('/')?.0.to_owned()));
    let arguments = [
        ("init", "template", TEMPLATES.iter().map(|template| template.name.to_owned()).collect()),
        ("reproduce", "targets", papers.chain(figures.clone()).collect()),
        ("explain", "name", catalogue::names(registry)),
    ];
    let mut command = Arguments::command();
    for (subcommand, argument, names) in arguments {
        let parser = PossibleValuesParser::new(words(names));
        command = command.mut_subcommand(subcommand, |subcommand| {
            subcommand.mut_arg(argument, |argument| argument.value_parser(parser))
        });
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "raddle", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Zsh { with_files(&script) } else { script }
}

/// The script for zsh, in which `raddle reproduce` completes files as well as the names of figures. In zsh, unlike in
/// other shells, an argument with a list of values completes only these values.
fn with_files(script: &str) -> String {
    let mut names = String::new();
    let lines = script.lines().map(|line| match line.split_once("'*::targets -- ") {
        Some((before, rest)) => {
            let (help, values) = rest.rsplit_once(":(").unwrap_or((rest, ""));
            values.trim_end_matches("' \\").clone_into(&mut names);
            format!("{before}'*::targets -- {help}:_raddle_targets' \\\n")
        }
        None => format!("{line}\n"),
    });
    let script: String = lines.collect();
    let list = format!("'figures:figure:({names}' 'files:file:_files'");
    let function = format!("_raddle_targets() {{\n    _alternative {list}\n}}\n\n");
    // The last lines of the script call its functions.
    match script.rfind("if [ \"$funcstack[1]\"") {
        Some(at) => format!("{}{function}{}", &script[..at], &script[at..]),
        None => script + &function,
    }
}
