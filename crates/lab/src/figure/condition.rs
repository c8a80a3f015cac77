//! Conditions that select the flows, switches or links of a measure.

use crate::experiment::{At, Cause, Problem, quantity};
use crate::run::records::FlowRow;
use raddle_core::Bytes;

/// The condition that selects the flows, links or switches of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// Flows by size: `size < 100 KB`.
    Sizes(Sizes),
    /// Switches by tier. The tier is the number of links to the nearest host: 1 for `tier = tor` and `tier = leaf`, 2
    /// for `tier = aggregation`.
    Tier(u64),
    /// One flow, by its number: `flow = 4`.
    Flow(u64),
    /// Flows by source: `src = 0`.
    Source(u64),
    /// Flows by destination: `dst = 31`.
    Destination(u64),
    /// The links from one node to another: `link = 16->14`. `*` stands for any node (`link = 32->*`), and two dots for a
    /// range (`link = 32..35->*`).
    Link(Nodes, Nodes),
}

/// The nodes from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nodes {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Nodes {
    fn contain(self, node: u64) -> bool {
        (self.first..=self.last).contains(&node)
    }
}

/// The tiers of switches that have uplinks, by their names in Clos networks.
const TIERS: [(&str, u64); 3] = [("tor", 1), ("leaf", 1), ("aggregation", 2)];

impl Where {
    pub(super) fn read(text: &str, at: &At) -> Result<Self, Problem> {
        let Some((subject, value)) =
            text.split_once('=').filter(|(subject, _)| !subject.contains(['<', '>']))
        else {
            return if text.trim().starts_with("tier") {
                tier("", at)
            } else {
                Sizes::read(text, at).map(Self::Sizes)
            };
        };
        let number = |text: &str| {
            text.trim().parse().map_err(|_| {
                let what = format!("`{}` is not the number of a flow or a node", text.trim());
                let hint = "for example: \"flow = 4\", \"dst = 31\", or \"link = 16->14\"".to_owned();
                Problem::at(at, Cause::OutOfRange { what, hint })
            })
        };
        match subject.trim() {
            "tier" => tier(value.trim(), at),
            "flow" => number(value).map(Self::Flow),
            "src" => number(value).map(Self::Source),
            "dst" => number(value).map(Self::Destination),
            "link" => {
                let (from, to) = value.split_once("->").unwrap_or((value, ""));
                let nodes = |text: &str| {
                    let (first, last) = match text.trim() {
                        "*" => (0, u64::MAX),
                        text => {
                            let (first, last) = text.split_once("..").unwrap_or((text, text));
                            (number(first)?, number(last)?)
                        }
                    };
                    Ok(Nodes { first, last })
                };
                Ok(Self::Link(nodes(from)?, nodes(to)?))
            }
            _ => Sizes::read(text, at).map(Self::Sizes),
        }
    }

    /// True if the condition selects the flow `flow`.
    pub(super) fn takes_flow(self, flow: &FlowRow) -> bool {
        match self {
            Self::Sizes(Sizes { least, most }) => (least..=most).contains(&flow.size),
            Self::Flow(id) => flow.id == id,
            Self::Source(node) => flow.src == node,
            Self::Destination(node) => flow.dst == node,
            Self::Tier(_) | Self::Link(..) => false,
        }
    }

    /// True if the condition selects the links from the first to the second node in `ends`.
    pub(super) fn takes_link(self, ends: (u64, u64)) -> bool {
        let Self::Link(from, to) = self else { return false };
        from.contain(ends.0) && to.contain(ends.1)
    }

    /// True if the condition selects the switches of the tier `tier`.
    pub(super) fn takes_tier(self, tier: u64) -> bool {
        self == Self::Tier(tier)
    }
}

/// The condition for the tier `name`.
fn tier(name: &str, at: &At) -> Result<Where, Problem> {
    match TIERS.iter().find(|(known, _)| *known == name) {
        Some(&(_, tier)) => Ok(Where::Tier(tier)),
        None => {
            let known = TIERS.map(|(name, _)| name.to_owned()).into();
            Err(Problem::at(at, Cause::UnknownName { what: "tier", name: name.to_owned(), known }))
        }
    }
}

/// A range of flow sizes in bytes, from `least` to `most`, both included. `size < 100 KB` gives the range from 0 to
/// 99,999 bytes. Other examples are `size >= 1 MB` and `100 KB <= size <= 1 MB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Sizes {
    fn read(text: &str, at: &At) -> Result<Self, Problem> {
        let wrong = || {
            let what = format!("`{text}` is not a valid condition");
            let hint = "for example: \"size < 100 KB\", or \"100 KB <= size <= 1 MB\"".to_owned();
            Problem::at(at, Cause::OutOfRange { what, hint })
        };
        let (left, right) = text.split_once("size").ok_or_else(wrong)?;
        let (left, right) = (left.trim(), right.trim());
        if left.is_empty() && right.is_empty() {
            return Err(wrong());
        }
        let limit = |size: &str| match quantity::parse::<Bytes>(size.trim()) {
            Ok(Bytes(size)) => Ok(size),
            Err(error) => Err(Problem::at(at, error.into())),
        };
        let mut sizes = Self { least: 0, most: u64::MAX };
        if let Some(size) = left.strip_suffix("<=") {
            sizes.least = limit(size)?;
        } else if let Some(size) = left.strip_suffix('<') {
            sizes.least = limit(size)?.checked_add(1).ok_or_else(wrong)?;
        } else if !left.is_empty() {
            return Err(wrong());
        }
        if let Some(size) = right.strip_prefix("<=") {
            sizes.most = limit(size)?;
        } else if let Some(size) = right.strip_prefix('<') {
            sizes.most = limit(size)?.checked_sub(1).ok_or_else(wrong)?;
        } else if !left.is_empty() && !right.is_empty() {
            return Err(wrong());
        } else if let Some(size) = right.strip_prefix(">=") {
            sizes.least = limit(size)?;
        } else if let Some(size) = right.strip_prefix('>') {
            sizes.least = limit(size)?.checked_add(1).ok_or_else(wrong)?;
        } else if !right.is_empty() {
            return Err(wrong());
        }
        if sizes.least > sizes.most { Err(wrong()) } else { Ok(sizes) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::experiment::{Source, Table};

    /// The condition for the link between two nodes.
    pub(in crate::figure) fn one_link(from: u64, to: u64) -> Where {
        let [from, to] = [from, to].map(|node| Nodes { first: node, last: node });
        Where::Link(from, to)
    }

    fn condition(text: &str) -> Option<Where> {
        let source = Source { name: "test".to_owned(), text: String::new() };
        let root = Table::parse(source).expect("an empty table");
        Where::read(text, &root.at).ok()
    }

    fn read(text: &str) -> Option<(u64, u64)> {
        match condition(text)? {
            Where::Sizes(Sizes { least, most }) => Some((least, most)),
            _ => None,
        }
    }

    #[test]
    fn tiers_have_names() {
        let tiers = ["tier = tor", "tier=aggregation", "tier = leaf"].map(condition);
        assert_eq!(tiers, [1, 2, 1].map(Where::Tier).map(Some));
        assert_eq!([condition("tier = core"), condition("tier")], [None, None]);
        assert!(
            Where::Tier(1).takes_tier(1)
                && !Where::Tier(1).takes_tier(2)
                && !Where::Sizes(Sizes { least: 0, most: 9 }).takes_tier(1)
        );
    }

    #[test]
    fn flows_and_links_go_by_numbers() {
        let conditions = ["flow = 4", "src=0", "dst = 31", "link = 16->14", "link = 16 -> 14"].map(condition);
        let link = one_link(16, 14);
        let expected = [Where::Flow(4), Where::Source(0), Where::Destination(31), link, link];
        assert_eq!(conditions, expected.map(Some));
        assert!(link.takes_link((16, 14)) && !link.takes_link((14, 16)));
        let any = condition("link = 16->*").expect("a condition");
        assert!(any.takes_link((16, 14)) && any.takes_link((16, 15)) && !any.takes_link((14, 16)));
        let range = condition("link = *->14 .. 16").expect("a condition");
        let taken = [13, 14, 16, 17].map(|to| range.takes_link((3, to)));
        assert_eq!(taken, [false, true, true, false]);
        assert!(!Where::Flow(16).takes_link((16, 14)));
        for wrong in ["flow = a", "dst =", "link = 16", "link = ->14", "link = 16..->14", "host = 3"] {
            assert_eq!(condition(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn limits_are_in_or_out_as_written() {
        assert_eq!(read("size < 100 KB"), Some((0, 99_999)));
        assert_eq!(read("size <= 100 KB"), Some((0, 100_000)));
        assert_eq!(read("size > 1 MB"), Some((1_000_001, u64::MAX)));
        assert_eq!(read("size >= 1 MB"), Some((1_000_000, u64::MAX)));
        assert_eq!(read("100 KB <= size <= 1 MB"), Some((100_000, 1_000_000)));
        assert_eq!(read("100 KB < size < 1 MB"), Some((100_001, 999_999)));
        assert_eq!(read("100 KB <= size"), Some((100_000, u64::MAX)));
    }

    #[test]
    fn what_no_flow_can_meet_is_refused() {
        let wrong =
            ["size", "size = 1 KB", "fct < 1 KB", "size < 0 B", "1 MB < size < 1 KB", "1 KB < size > 1 B"];
        for text in wrong.into_iter().chain(["1 KB > size", "size < 1", ""]) {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
