//! Compares Raddle with independent computations, called witnesses: closed forms, bounds and a linear program
//! that share no code with Raddle. The comparisons run as tests and also generate the page
//! `docs/src/agreement.md`.

mod fabric;
mod max_min;
mod page;
mod pauses;
mod queues;
mod rates;
mod rfc;
mod saturation;
mod windows;
mod witness;

use std::sync::LazyLock;
use witness::Witness;

/// Defines the list of comparisons and, for each comparison, a test of the same name.
macro_rules! witnesses {
    ($($file:ident: $($name:ident),+;)+) => {
        /// All comparisons with independent computations, in the order of `docs/src/agreement.md`. Each
        /// comparison is computed once, for its test and for the generated page.
        static WITNESSES: LazyLock<Vec<Named>> = LazyLock::new(|| vec![$($(Named {
            test: concat!(stringify!($file), "::", stringify!($name)),
            witness: LazyLock::new($file::$name),
        }),+),+]);

        /// One test for each comparison.
        mod agrees {
            $(mod $file {
                $(#[test]
                fn $name() {
                    crate::assert_agrees(concat!(stringify!($file), "::", stringify!($name)));
                })+
            })+
        }
    };
}

/// A comparison with an independent computation, and the name of its test.
struct Named {
    test: &'static str,
    witness: LazyLock<Witness>,
}

/// Asserts that Raddle agrees with the independent computation in all cases of a test. The failure message
/// lists the cases that disagree.
fn assert_agrees(test: &str) {
    let named = WITNESSES.iter().find(|named| named.test == test).expect("a witness of that name");
    let wrong: Vec<String> = named
        .witness
        .cases
        .iter()
        .filter(|case| !case.agrees())
        .map(|case| {
            format!("{}: {} and not {} ({:+.4})", case.name, case.ours, case.theirs, case.difference())
        })
        .collect();
    assert!(!named.witness.cases.is_empty() && wrong.is_empty(), "{test}: {wrong:#?}");
}

witnesses! {
    queues: m_d_1, m_g_1, tandem;
    max_min: linear_program;
    saturation: torus;
    pauses: headroom;
    windows: dctcp, queue_limit, periodic_loss;
    rates: dcqcn;
    rfc: slow_start, fast_retransmit, retransmission_timeout;
}
