//! Profiles: named sets of parameter values for several schemes, from a deployment or a published study.

use crate::parameter::Value;
use raddle_core::Rate;

/// A named set of parameter values for a transport and for the schemes that work with it, such as congestion points.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// The profile's name, as in `scheme.profile`.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// Source of the values.
    pub source: &'static str,
    /// The transport for which the values are meant.
    pub transport: &'static str,
    /// Rate of the host links for which the values are meant.
    pub rate: Rate,
    /// For each value: the name of the scheme, the name of the scheme's parameter, and the value itself.
    pub values: &'static [(&'static str, &'static str, Value)],
}

impl Profile {
    /// The profile's value for `parameter` of the scheme `part`; `None` if the profile does not set the parameter.
    #[must_use]
    pub fn value(&self, part: &str, parameter: &str) -> Option<Value> {
        let mut values = self.values.iter();
        values.find(|(of, name, _)| (*of, *name) == (part, parameter)).map(|&(.., value)| value)
    }
}

#[cfg(test)]
mod tests {
    use crate::registry::Registry;

    #[test]
    fn profiles_give_values_that_their_parts_allow() {
        let registry = Registry::builtin();
        assert_eq!(registry.profiles().len(), 3);
        for profile in registry.profiles() {
            assert!(registry.transport(profile.transport).is_some(), "{}", profile.name);
            for (part, name, value) in profile.values {
                let info = registry.schemes().find(|info| info.name == *part).expect("a part");
                let parameter = info.parameters.iter().find(|of| of.name == *name).expect("a parameter");
                assert!(parameter.allows(value), "{}: {part}.{name}", profile.name);
            }
        }
    }
}
