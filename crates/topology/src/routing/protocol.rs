//! The routing protocols by name.

use std::fmt;
use std::str::FromStr;

/// The direction that dimension-order routing takes around a ring if the paths in both directions are equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tie {
    /// Up if the source's coordinate in this dimension is even, down if the coordinate is odd. The other rules treat
    /// all sources alike.
    Parity,
    /// Each packet draws one of the directions with probability 1/2.
    Split,
    /// Always up.
    Plus,
}

/// The protocol by which a flow's packets choose their paths. For each protocol, [`Routing`](super::Routing) draws
/// paths and computes the expected traversals of links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Random packet spraying: at each hop, each port that leads one hop closer to the destination has the same
    /// probability (Dixit et al., INFOCOM 2013).
    Rps,
    /// Each packet takes a random shortest path; all shortest paths have the same probability.
    RpsPath,
    /// Dimension order, lowest dimension first. On a torus this is destination-tag routing. Tori and meshes only.
    Dor(Tie),
    /// Valiant: a shortest path to a waypoint, then a shortest path to the destination. The waypoint is drawn uniformly
    /// among all hosts that are not cut off.
    Vlb,
    /// Weighted locality-aware routing: the randomized local balance of Singh et al. (SPAA 2002). Each packet draws a
    /// direction in each dimension, and a waypoint. Tori only.
    Wlb,
    /// Like `Wlb`, but without a waypoint: each hop takes a random dimension with steps left, in the direction that was
    /// drawn for this dimension. Tori only.
    WlbHop,
    /// `Wlb` restricted to shortest paths (Nesson and Johnsson 1995). Tori only.
    Romm,
    /// One shortest path per flow, drawn by the flow's key.
    Ecmp,
}

/// The error for a word that names no protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown routing protocol `{0}`")]
pub struct UnknownProtocol(pub String);

/// For each protocol: its name, the protocol, and a one-line summary.
const NAMES: [(&str, Protocol, &str); 10] = [
    (
        "rps",
        Protocol::Rps,
        "random packet spraying: at each hop, a random port on a shortest path (Dixit et al., INFOCOM 2013)",
    ),
    (
        "rps_path",
        Protocol::RpsPath,
        "each packet takes a random shortest path; all shortest paths have the same probability",
    ),
    (
        "dor",
        Protocol::Dor(Tie::Split),
        "dimension-order routing, lowest dimension first; if both directions around a ring are equally long, \
         each packet takes a random direction",
    ),
    (
        "dor_parity",
        Protocol::Dor(Tie::Parity),
        "dimension-order routing, lowest dimension first; if both directions around a ring are equally long, \
         packets go up from even coordinates and down from odd coordinates",
    ),
    (
        "dor_plus",
        Protocol::Dor(Tie::Plus),
        "dimension-order routing, lowest dimension first; if both directions around a ring are equally long, \
         packets go up to higher coordinates",
    ),
    (
        "vlb",
        Protocol::Vlb,
        "Valiant load balancing: each packet takes a shortest path to a random host, and from there a \
         shortest path to the destination",
    ),
    (
        "wlb",
        Protocol::Wlb,
        "weighted locality-aware routing, tori only (randomized local balance; Singh et al., SPAA 2002): \
         packets take the short direction of a ring more often than the long direction",
    ),
    (
        "wlb_hop",
        Protocol::WlbHop,
        "like wlb, but without a waypoint: each packet draws its direction in each dimension, and each hop \
         follows a random dimension",
    ),
    ("romm", Protocol::Romm, "wlb restricted to shortest paths, tori only (Nesson and Johnsson, SPAA 1995)"),
    ("ecmp", Protocol::Ecmp, "each flow takes one shortest path, selected by a hash of the flow"),
];

impl Protocol {
    /// Returns all protocols; each tie rule of dimension order is a separate protocol.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|&(_, protocol, _)| protocol)
    }

    /// Returns the one-line summary of the protocol.
    #[must_use]
    pub fn summary(self) -> &'static str {
        NAMES.iter().find(|&&(_, protocol, _)| protocol == self).map_or("", |&(.., summary)| summary)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, protocol, _)| protocol == self).map_or("", |(name, ..)| name);
        f.write_str(name)
    }
}

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(word: &str) -> Result<Self, UnknownProtocol> {
        let known = NAMES.iter().find(|(name, ..)| *name == word);
        known.map(|&(_, protocol, _)| protocol).ok_or_else(|| UnknownProtocol(word.into()))
    }
}
