//! Declares a scheme's parameters as the fields of a struct. Macros derive the [`Parameter`]s from these fields.

use super::{Parameter, Settings, Value, is_same};
use raddle_core::{Bytes, Duration, Rate};
use std::ops::{RangeFrom, RangeInclusive};

/// Declares a scheme's parameters as a struct. Each field is a parameter with a name, a type, a default and optionally
/// a range. The field's doc comment is [`Parameter::doc`]. A mistake in a declaration is a compile error.
///
/// The default decides the kind of [`Value`] in an experiment: `2` is a count, `0.1` a fraction, `Bytes(1_500)` a size.
/// A field of an integer type may hold a size in bytes. A field of type `Option<Duration>` or `Option<Rate>` is `None`
/// if the value is 0. Two forms refer to a declaration elsewhere:
/// - `mode: Mode;`, where [`choices!`](crate::choices) declares the words of `Mode`. The first word is the default.
/// - `hold: Duration = HOLD;` is a [`Parameter`] that several schemes share.
///
/// The struct gets three items: the constant `LIST` for [`Info::parameters`](crate::scheme::Info::parameters), the
/// function `of` that reads the struct from [`Settings`], and an implementation of [`Default`].
///
/// ```
/// use raddle_core::{Bytes, Duration};
/// use raddle_schemes::parameter::{Settings, Value};
///
/// raddle_schemes::choices! {
///     /// The node that draws a path.
///     pub enum At {
///         /// Each switch.
///         Hop = "hop",
///         /// The sender.
///         Source = "source",
///     }
/// }
///
/// raddle_schemes::parameters! {
///     /// The parameters of a scheme.
///     pub struct Parameters {
///         /// which node draws a path
///         at: At;
///         /// number of next hops drawn at random for each packet
///         samples: usize = 2, 1..=65_536;
///         /// payload bytes of a full packet
///         mtu: u16 = Bytes(1_500), 1..=9_000;
///         /// how often to probe
///         period: Duration = Duration::from_us(200);
///     }
/// }
///
/// let mut settings = Settings::defaults(&Parameters::LIST);
/// settings.set("at", Value::Choice("source"));
/// let parameters = Parameters::of(&settings);
/// assert_eq!((parameters.at, parameters.samples, parameters.mtu), (At::Source, 2, 1_500));
/// ```
#[macro_export]
macro_rules! parameters {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident {
        $(
            $(#[doc = $doc:literal])*
            $field:ident: $type:ty $(= $default:expr $(, $range:expr)?)?;
        )+
    }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        $visibility struct $name {
            $(
                $(#[doc = $doc])*
                $(#[doc = concat!("\n\nDefault: `", stringify!($default), "`")])?
                $visibility $field: $type,
            )+
        }

        impl $name {
            /// The parameters as data.
            $visibility const LIST: [$crate::parameter::Parameter; [$(stringify!($field)),+].len()] = [$(
                $crate::parameter::declared::<$type>(
                    stringify!($field),
                    $crate::parameters!(@one $type, stringify!($field), concat!($($doc),*) $(, $default $(, $range)?)?),
                )
            ),+];

            /// The struct with the values of `settings`.
            ///
            /// # Panics
            /// If `settings` holds other parameters than `LIST`.
            #[must_use]
            $visibility fn of(settings: &$crate::parameter::Settings) -> Self {
                let mut values = settings.values_of(&Self::LIST);
                Self { $($field: $crate::parameter::read(&mut values)),+ }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::of(&$crate::parameter::Settings::defaults(&Self::LIST))
            }
        }
    };
    (@one $type:ty, $name:expr, $doc:expr) => {
        $crate::parameter::Parameter::choice($name, <$type as $crate::parameter::Field>::WORDS, $doc.trim_ascii())
    };
    (@one $type:ty, $name:expr, $doc:expr, $default:expr) => {
        $crate::parameter::Literal($default).parameter($name, $doc.trim_ascii())
    };
    (@one $type:ty, $name:expr, $doc:expr, $default:expr, $range:expr) => {{
        let (least, greatest) = $crate::parameter::Literal($range).bounds();
        $crate::parameter::Literal($default).parameter($name, $doc.trim_ascii()).within(least, greatest)
    }};
}

/// Declares the words that a parameter can take in an experiment, the default first. The macro either defines a new
/// enum with one word per variant, or assigns words to an existing type: `choices!(for Type { "word" => value })`.
#[macro_export]
macro_rules! choices {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident {
        $($(#[$of_variant:meta])* $variant:ident = $word:literal),+ $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $name {
            $($(#[$of_variant])* $variant),+
        }

        $crate::choices!(for $name { $($word => $name::$variant),+ });
    };
    (for $type:ty { $($word:literal => $value:expr),+ $(,)? }) => {
        impl $crate::parameter::Field for $type {
            const LIKE: $crate::parameter::Value = $crate::parameter::Value::Choice(Self::WORDS[0]);
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn of(value: $crate::parameter::Value) -> Option<Self> {
                match value {
                    $($crate::parameter::Value::Choice($word) => Some($value),)+
                    _ => None,
                }
            }
        }
    };
}

/// A type that a field of [`parameters!`](crate::parameters) may have.
pub trait Field: Sized {
    /// A value of the kind that the field holds. For counts, this is the greatest value that the type can hold.
    const LIKE: Value;

    /// The allowed words if the field is a choice, the default first; otherwise empty.
    const WORDS: &'static [&'static str] = &[];

    /// Converts an experiment's value to the field's type; `None` if the value is of another kind, too large for the
    /// type, or a word that is not in `WORDS`.
    fn of(value: Value) -> Option<Self>;
}

macro_rules! fields {
    ($($type:ty: $like:expr, $value:pat => $field:expr;)+) => {$(
        impl Field for $type {
            const LIKE: Value = $like;

            fn of(value: Value) -> Option<Self> {
                match value {
                    $value => $field,
                    _ => None,
                }
            }
        }
    )+};
}

macro_rules! counts {
    ($($type:ty),+) => {
        fields! {$(
            $type: Value::Count(<$type>::MAX as u64), Value::Count(n) | Value::Bytes(n) => n.try_into().ok();
        )+}
    };
}

fields! {
    Duration: Value::Duration(Duration::ZERO), Value::Duration(span) => Some(span);
    Option<Duration>: Value::Duration(Duration::ZERO), Value::Duration(span) => Some((span > Duration::ZERO).then_some(span));
    Rate: Value::Rate(Rate::ZERO), Value::Rate(rate) => Some(rate);
    Option<Rate>: Value::Rate(Rate::ZERO), Value::Rate(rate) => Some((rate > Rate::ZERO).then_some(rate));
    Bytes: Value::Bytes(0), Value::Bytes(n) => Some(Bytes(n));
    f64: Value::Fraction(0.0), Value::Fraction(x) => Some(x);
    bool: Value::Flag(false), Value::Flag(on) => Some(on);
    [u8; 8]: Value::Eight([0; 8]), Value::Eight(numbers) => Some(numbers);
}
counts!(u8, u16, u32, u64, usize);

/// A default or a range in a declaration. The type `T` decides the parameter's kind of [`Value`].
#[derive(Debug, Clone, Copy)]
pub struct Literal<T>(pub T);

macro_rules! literals {
    ($($type:ty: $name:ident => $value:expr;)+) => {$(
        impl Literal<$type> {
            /// The parameter with this default.
            #[must_use]
            pub const fn parameter(self, name: &'static str, doc: &'static str) -> Parameter {
                let $name = self.0;
                Parameter::new(name, $value, doc)
            }
        }
    )+};
}

literals! {
    Duration: span => Value::Duration(span);
    Rate: rate => Value::Rate(rate);
    Bytes: bytes => Value::Bytes(bytes.0);
    u64: n => Value::Count(n);
    f64: x => Value::Fraction(x);
    bool: on => Value::Flag(on);
    [u8; 8]: numbers => Value::Eight(numbers);
}

impl Literal<Parameter> {
    /// The shared parameter itself, which has its own doc text.
    ///
    /// # Panics
    /// If `doc` is not empty.
    #[must_use]
    pub const fn parameter(self, _: &str, doc: &str) -> Parameter {
        assert!(doc.is_empty(), "a parameter that schemes share must not get a second description");
        self.0
    }
}

macro_rules! ranges {
    ($($type:ty: $bound:ident => $number:expr;)+) => {$(
        impl Literal<RangeInclusive<$type>> {
            /// Least and greatest value, as in [`Parameter::range`].
            #[must_use]
            pub const fn bounds(self) -> (f64, f64) {
                const fn number($bound: $type) -> f64 {
                    $number
                }
                (number(*self.0.start()), number(*self.0.end()))
            }
        }
    )+};
}

ranges! {
    Duration: span => span.as_ps() as f64;
    Rate: rate => rate.as_bps_f64();
    u64: n => n as f64;
    f64: x => x;
}

impl Literal<RangeFrom<Duration>> {
    /// Least and greatest value, as in [`Parameter::range`].
    #[must_use]
    pub const fn bounds(self) -> (f64, f64) {
        (self.0.start.as_ps() as f64, f64::INFINITY)
    }
}

/// Checks the parameter of a field of type `T` and returns it. The macro [`parameters!`](crate::parameters) calls this
/// function.
///
/// # Panics
/// If the parameter's name is not `field`, if the field cannot hold all values in the parameter's range, or if the
/// default is outside the range.
#[doc(hidden)]
#[must_use]
pub const fn declared<T: Field>(field: &str, parameter: Parameter) -> Parameter {
    assert!(is_same(field, parameter.name), "a field must have the name of its parameter");
    let holds = match (T::LIKE, parameter.default) {
        (Value::Count(u64::MAX), Value::Count(_) | Value::Bytes(_)) => true,
        (Value::Count(most), Value::Count(_) | Value::Bytes(_)) => parameter.range.1 <= most as f64,
        (like, _) => Parameter { range: (0.0, f64::INFINITY), ..parameter }.allows(&like),
    };
    assert!(holds, "a field must be able to hold every value that its parameter allows");
    assert!(parameter.allows(&parameter.default), "a default must be in its parameter's range");
    parameter
}

/// Reads the next field of a struct. The macro [`parameters!`](crate::parameters) calls this function.
///
/// # Panics
/// If there is no next value, or if the field cannot hold the value. [`declared`] and [`Settings::values_of`] rule out
/// both cases.
#[doc(hidden)]
#[must_use]
pub fn read<T: Field>(values: &mut impl Iterator<Item = Value>) -> T {
    values.next().and_then(T::of).expect("a field must be able to hold every value that its parameter allows")
}

impl Settings {
    /// The values in order of declaration. The macro [`parameters!`](crate::parameters) calls this function.
    ///
    /// # Panics
    /// If these settings hold other parameters than `list`.
    #[doc(hidden)]
    pub fn values_of(&self, list: &[Parameter]) -> impl Iterator<Item = Value> + '_ {
        let names = |list: &[Parameter]| list.iter().map(|parameter| parameter.name).collect::<Vec<_>>();
        assert_eq!(
            names(self.parameters),
            names(list),
            "the settings must hold exactly the parameters in `list`"
        );
        self.values.iter().copied()
    }
}
