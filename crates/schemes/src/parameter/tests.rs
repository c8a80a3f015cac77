use super::*;
use crate::registry::Registry;
use crate::{choices, parameters};

choices! {
    /// A choice between two words.
    enum Way {
        /// The first word.
        One = "one",
        /// The second word.
        Other = "the-other",
    }
}

const SHARED: Parameter = Parameter::new("shared", Value::Count(1), "a shared one").within(1.0, 65_535.0);

parameters! {
    /// A parameter of each kind.
    struct Each {
        /// the first or the second word
        way: Way;
        shared: u16 = SHARED;
        /// a pause
        pause: Option<Duration> = Duration::ZERO, Duration::ZERO..=Duration::from_us(1);
        /// a rate
        rate: Rate = Rate::from_gbps(1), Rate::from_bps(1)..=Rate::from_gbps(10);
        /// a size
        size: u32 = Bytes(1_500), 64..=9_000;
        /// a number
        number: u64 = 3;
        /// a share
        share: f64 = 0.5;
        /// a flag
        flag: bool = true;
        /// a number for each priority
        eight: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7], 0..=7;
    }
}

#[test]
fn a_declaration_is_a_list_of_parameters() {
    let list = [
        Parameter::choice("way", &["one", "the-other"], "the first or the second word"),
        SHARED,
        Parameter::new("pause", Value::Duration(Duration::ZERO), "a pause").within(0.0, 1e6),
        Parameter::new("rate", Value::Rate(Rate::from_gbps(1)), "a rate").within(1.0, 1e10),
        Parameter::new("size", Value::Bytes(1_500), "a size").within(64.0, 9_000.0),
        Parameter::new("number", Value::Count(3), "a number"),
        Parameter::new("share", Value::Fraction(0.5), "a share"),
        Parameter::new("flag", Value::Flag(true), "a flag"),
        Parameter::new("eight", Value::Eight([0, 1, 2, 3, 4, 5, 6, 7]), "a number for each priority")
            .within(0.0, 7.0),
    ];
    assert_eq!(Each::LIST, list);
}

#[test]
fn settings_are_read_into_fields() {
    let defaults = Each {
        way: Way::One,
        shared: 1,
        pause: None,
        rate: Rate::from_gbps(1),
        size: 1_500,
        number: 3,
        share: 0.5,
        flag: true,
        eight: [0, 1, 2, 3, 4, 5, 6, 7],
    };
    assert_eq!(Each::default(), defaults);
    let mut settings = Settings::defaults(&Each::LIST);
    settings.set("way", Value::Choice("the-other"));
    settings.set("pause", Value::Duration(Duration::from_ns(1)));
    settings.set("shared", Value::Count(65_535));
    let set = Each { way: Way::Other, pause: Some(Duration::from_ns(1)), shared: u16::MAX, ..defaults };
    assert_eq!(Each::of(&settings), set);
}

#[test]
#[should_panic(expected = "the settings must hold exactly the parameters in `list`")]
fn settings_of_another_scheme_are_refused() {
    let _ = Each::of(&Settings::defaults(&[SHARED]));
}

#[test]
fn words_round_trip() {
    let ways: Vec<_> = Way::WORDS.iter().map(|&word| Way::of(Value::Choice(word))).collect();
    assert_eq!(ways, [Some(Way::One), Some(Way::Other)]);
    assert_eq!([Way::of(Value::Choice("another")), Way::of(Value::Count(0))], [None, None]);
}

#[test]
fn a_list_has_other_defaults() {
    let list = with_defaults(Each::LIST, &[("number", Value::Count(4)), ("way", Value::Choice("the-other"))]);
    let changed: Vec<_> = std::iter::zip(list, Each::LIST).filter(|(one, other)| one != other).collect();
    assert_eq!(changed.iter().map(|(one, _)| one.name).collect::<Vec<_>>(), ["way", "number"]);
    assert_eq!(list.map(|parameter| parameter.default)[5], Value::Count(4));
    let refused = |defaults| std::panic::catch_unwind(move || with_defaults(Each::LIST, defaults)).is_err();
    assert!(refused(&[("size", Value::Bytes(63))]), "out of range");
    assert!(refused(&[("size", Value::Count(64))]), "of another kind");
    assert!(refused(&[("another", Value::Count(1))]), "not declared");
}

/// Each of these mistakes panics here. In a declaration, the mistake is a compile error.
#[test]
fn mistakes_are_refused() {
    fn refused<T: Field>(parameter: Parameter) -> bool {
        std::panic::catch_unwind(|| declared::<T>("shared", parameter)).is_err()
    }
    assert!(!refused::<u16>(SHARED) && !refused::<u64>(SHARED.within(1.0, f64::INFINITY)));
    assert!(refused::<u8>(SHARED), "65,535 is no u8");
    assert!(refused::<u32>(SHARED.within(1.0, f64::INFINITY)), "without end");
    assert!(refused::<u16>(SHARED.within(2.0, 3.0)), "a default out of range");
    assert!(refused::<u16>(Parameter { name: "other", ..SHARED }), "another name");
    assert!(
        refused::<Duration>(SHARED) && refused::<f64>(SHARED) && refused::<Bytes>(SHARED),
        "another kind"
    );
    assert!(refused::<Way>(Parameter::choice("shared", &["two", "three"], "")), "other words");
}

#[test]
fn defaults_are_allowed() {
    for info in Registry::builtin().schemes() {
        for parameter in info.parameters {
            assert!(parameter.allows(&parameter.default), "{} of {}", parameter.name, info.name);
            assert!(!parameter.doc.is_empty() && parameter.doc.trim() == parameter.doc);
        }
    }
}

#[test]
fn limits_have_units() {
    let limits = |default, least, greatest| Parameter::new("", default, "").within(least, greatest).limits();
    assert_eq!(limits(Value::Duration(Duration::ZERO), 1e6, 6e13), "from 1 us to 60 s");
    assert_eq!(limits(Value::Bytes(1), 1.0, 9_000.0), "from 1 B to 9 KB");
    assert_eq!(limits(Value::Rate(Rate::ZERO), 1e9, f64::INFINITY), "at least 1 Gbps");
    assert_eq!(limits(Value::Count(1), 1.0, 255.0), "from 1 to 255");
    assert_eq!(limits(Value::Fraction(0.5), 0.001, 1.0), "from 0.001 to 1");
}
