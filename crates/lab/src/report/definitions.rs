//! The definitions of the book's page, as plain text. The report and the book therefore say the same.

use serde::Serialize;

const PAGE: &str = include_str!("../../../../docs/src/definitions.md");

/// A term and its meaning.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Definition {
    term: String,
    meaning: String,
}

/// The definitions in the order of the page. A definition is a list item that begins with a bold term.
pub(super) fn all() -> Vec<Definition> {
    let mut found: Vec<Definition> = Vec::new();
    let mut is_open = false;
    for line in PAGE.lines() {
        if let Some((term, meaning)) = line.strip_prefix("- **").and_then(|rest| rest.split_once("**")) {
            found.push(Definition { term: plain(term), meaning: plain(meaning.trim_start_matches(": ")) });
            is_open = true;
        } else if let (Some(last), true) = (found.last_mut(), is_open && line.starts_with("  ")) {
            last.meaning.push(' ');
            last.meaning.push_str(&plain(line.trim().trim_start_matches("- ")));
        } else {
            is_open = false;
        }
    }
    found
}

/// Markdown without its marks: the text of links, and no asterisks and backticks.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((words, (_, after))) =
            link.split_once("](").and_then(|(words, to)| Some((words, to.split_once(')')?)))
        else {
            // A bracket that begins no link, such as that of `[record]`.
            text.extend([before, "["]);
            rest = link;
            continue;
        };
        text.push_str(before);
        text.push_str(words);
        rest = after;
    }
    text.push_str(rest);
    text.replace(['*', '`'], "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_of_the_report_are_defined() {
        let all = all();
        for term in ["FCT", "Ideal FCT", "Slowdown", "Goodput", "Queue", "Drops", "Digest", "Makespan"] {
            assert!(all.iter().any(|definition| definition.term == term), "{term}");
        }
        assert!(
            all.iter().all(|Definition { term, meaning }| !format!("{term}{meaning}").contains(['*', '`'])
                && !meaning.contains("]("))
        );
    }

    #[test]
    fn a_definition_has_all_its_lines() {
        let all = all();
        let ideal = all.iter().find(|definition| definition.term == "Ideal FCT").expect("a definition");
        assert!(ideal.meaning.starts_with("the FCT of the flow alone on one shortest path."));
        assert!(ideal.meaning.ends_with("their frames count."), "{}", ideal.meaning);
    }
}
