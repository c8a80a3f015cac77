//! The page of the book that shows all comparisons.

use crate::WITNESSES;
use crate::witness::{Case, MEASURED};
use std::fmt::Write;
use std::path::Path;

const OPENING: &str = "\
# Agreement with independent witnesses

Each row compares a number that Raddle computes or simulates with the number of a witness that shares no code with it: a closed form, a
bound or a linear program. The difference is a share of the witness's number. A test fails if the difference is
outside the asserted range. Ranges were derived from theory before the run that judges them. If a witness failed and another one was
written after that, the description of the experiment says so. A row with `measured` asserts nothing: its witness leaves something
out, and the description of the experiment says what.

The tests of `crates/lab/tests/agreement` generate this page: `RADDLE_WRITE=1 cargo test -p raddle-lab --test agreement page`. A test
fails if the page is not current. `cargo test -p raddle-lab --test agreement NAME` runs one comparison.

| quantity | case | Raddle | witness | difference | asserted | test |
|---|---|---|---|---|---|---|
";

/// Formats a number with four significant digits, at most four decimals, and all digits before the decimal point.
fn number(number: f64) -> String {
    let digits = [1_000.0, 100.0, 10.0, 1.0].iter().filter(|&&power| number.abs() < power).count();
    format!("{number:.digits$}")
}

/// Formats a fraction in percent. A difference below half a ten-thousandth of a percent is a rounding error and is
/// shown as 0.
fn percent(share: f64) -> String {
    let percent = (share * 1e6).round() / 1e4;
    match percent.abs() {
        0.0 => "0%".to_owned(),
        small if small < 0.1 => format!("{percent:+.4}%"),
        _ => format!("{percent:+.1}%"),
    }
}

fn row(quantity: &str, test: &str, case: &Case) -> String {
    let [ours, theirs] = [case.ours, case.theirs].map(number);
    let range = match case.within == MEASURED {
        true => "measured".to_owned(),
        false => format!("{} to {}", percent(*case.within.start()), percent(*case.within.end())),
    };
    let difference = percent(case.difference());
    format!("| {quantity} | {} | {ours} | {theirs} | {difference} | {range} | `{test}` |", case.name)
}

fn page() -> String {
    let mut page = OPENING.to_owned();
    for named in WITNESSES.iter() {
        for case in &named.witness.cases {
            writeln!(page, "{}", row(named.witness.quantity, named.test, case))
                .expect("writing to a string never fails");
        }
    }
    page.push_str("\n## Witnesses and experiments\n\n| test | witness | experiment |\n|---|---|---|\n");
    for named in WITNESSES.iter() {
        let (form, experiment) = (named.witness.form, named.witness.experiment);
        writeln!(page, "| `{}` | {form} | {experiment} |", named.test)
            .expect("writing to a string never fails");
    }
    page
}

/// Compares the page with the computed comparisons. The command `RADDLE_WRITE=1 cargo test -p raddle-lab
/// --test agreement page` writes the page.
#[test]
fn the_page_of_agreement_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/agreement.md");
    let page = page();
    if std::env::var_os("RADDLE_WRITE").is_some() {
        std::fs::write(&path, &page).expect("written");
        return;
    }
    let hint = "run: RADDLE_WRITE=1 cargo test -p raddle-lab --test agreement page";
    assert!(std::fs::read_to_string(path).is_ok_and(|old| old == page), "the page is old; {hint}");
}

#[test]
fn a_difference_outside_of_its_range_disagrees() {
    let case = |ours| Case { name: String::new(), ours, theirs: 100.0, within: -0.02..=0.01 };
    let agree = [98.1, 100.9, 97.9, 101.1, f64::NAN].map(|ours| case(ours).agrees());
    assert_eq!(agree, [true, true, false, false, false]);
}

#[test]
fn numbers_have_four_significant_digits() {
    assert_eq!(
        [0.3333, 1.5, 23.456, 234.56, 23_456.7].map(number),
        ["0.3333", "1.500", "23.46", "234.6", "23457"]
    );
    assert_eq!([0.0123, -0.000_51, 1e-9, -1e-9].map(percent), ["+1.2%", "-0.0510%", "0%", "0%"]);
}
