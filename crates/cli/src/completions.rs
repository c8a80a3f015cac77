//! `raddle completions`: scripts with which shells complete commands, options and names.

use crate::arguments::Arguments;
use crate::init::TEMPLATES;
use clap::CommandFactory as _;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use raddle_lab::{catalogue, figure};
use raddle_schemes::registry::Registry;
use std::collections::BTreeSet;

/// The completion script for a shell. It has the names of templates, figures, papers, schemes, topologies, workloads
/// and keys. For zsh, the names for `raddle reproduce` are left out. The command's parser does not have these names,
/// because it must accept other texts too, such as the user's figure files.
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
        if shell == Shell::Zsh && argument == "targets" {
            continue; // In zsh, the names would replace the completion of the user's files.
        }
        let parser = PossibleValuesParser::new(words(names));
        command = command.mut_subcommand(subcommand, |subcommand| {
            subcommand.mut_arg(argument, |argument| argument.value_parser(parser))
        });
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "raddle", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
