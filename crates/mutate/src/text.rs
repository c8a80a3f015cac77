//! Mutations of texts. Words and lines are changed, because a reader would refuse most texts with changes of single
//! characters.

use crate::Mutator;

/// Words that often expose errors in readers.
const WORDS: [&str; 24] = [
    "",
    "0",
    "-1",
    "1",
    "00",
    "255",
    "65536",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "99999999999999999999999999",
    "0.0",
    "-0.5",
    "1e308",
    "1e-320",
    "nan",
    "inf",
    "\"",
    "[",
    "}",
    "\n",
    "\t",
    "é",
    "\u{0}",
];

/// Splits a text into words and the separators between them. A run of separators is an element of its own.
fn words(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    let mut words = Vec::new();
    let (mut start, mut was_word) = (0, true);
    for (at, c) in text.char_indices() {
        if is_word(c) != was_word && at > start {
            words.push(&text[start..at]);
            start = at;
        }
        was_word = is_word(c);
    }
    words.push(&text[start..]);
    words
}

impl Mutator {
    /// Returns a random text of the corpus with random changes.
    pub fn text(&mut self, corpus: &[String]) -> String {
        let mut text = self.pick::<String>(corpus).clone();
        for _ in 0..=self.below(4) {
            text = self.changed(corpus, &text);
        }
        text
    }

    fn changed(&mut self, corpus: &[String], text: &str) -> String {
        if self.below(4) == 0 {
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let Some(last) = lines.len().checked_sub(1) else { return String::new() };
            let (at, other) = (self.below(last + 1), self.below(last + 1));
            match self.below(5) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[other]),
                2 => lines.swap(at, other),
                3 => lines.truncate(at),
                _ => {
                    let others: Vec<&str> = self.pick::<String>(corpus).split_inclusive('\n').collect();
                    if !others.is_empty() {
                        lines.insert(at, *self.pick(&others));
                    }
                }
            }
            return lines.concat();
        }
        let mut all = words(text);
        let at = self.below(all.len());
        match self.below(6) {
            0 => drop(all.remove(at)),
            1 => all.insert(at, *self.pick::<&str>(&WORDS)),
            2 | 3 => all[at] = *self.pick::<&str>(&WORDS),
            4 => {
                let others = words(self.pick::<String>(corpus));
                all[at] = *self.pick::<&str>(&others);
            }
            _ => {
                let word = all[at];
                let cut = word.char_indices().map(|(at, _)| at).nth(self.below(word.chars().count().max(1)));
                all[at] = &word[..cut.unwrap_or(0)];
            }
        }
        all.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_words() {
        assert_eq!(words("rate = \"10 Gbps\"\n"), ["rate", " = \"", "10", " ", "Gbps", "\"\n"]);
        assert_eq!(words("").concat(), "");
    }

    #[test]
    fn a_seed_makes_one_row_of_mutations_and_most_are_new() {
        let corpus = ["kind = \"torus\"\ndims = [4, 4]\n".to_owned()];
        let row = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..100).map(|_| mutator.text(&corpus)).collect::<Vec<_>>()
        };
        assert_eq!(row(1), row(1));
        assert!(row(1) != row(2));
        assert!(row(1).iter().filter(|text| **text != corpus[0]).count() > 80);
    }
}
