//! The link states that a node knows.

use super::Cables;
use crate::LinkId;
use raddle_wire::discovery::LinkState;

/// Maximum number of changes of a link that a node may have missed. A sequence number further ahead is invalid.
const MOST_MISSED: u32 = 1 << 24;

/// Age of a link state relative to the known state of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    /// The state is newer.
    Newer,
    /// The state is the known state of the link, or an older state.
    Known,
    /// The link does not exist, or the sequence number is invalid.
    Absurd,
}

/// The newest known state of each directed link.
#[derive(Debug)]
pub(super) struct Database {
    cables: Cables,
    /// The states of the links that have ever changed, in order of link id. All other links are up.
    states: Vec<LinkState>,
    digest: u64,
}

impl Database {
    pub(super) fn new(cables: Cables) -> Self {
        Self { cables, states: Vec::new(), digest: 0 }
    }

    /// A hash of all known states. Nodes that know different states almost always have different digests.
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// All known states. A link that has never changed has no state.
    pub(super) fn states(&self) -> &[LinkState] {
        &self.states
    }

    /// The state of a directed link.
    pub(super) fn get(&self, link: LinkId) -> LinkState {
        let place = self.states.binary_search_by_key(&link.0, |state| state.link);
        place.map_or(LinkState { link: link.0, sequence: 0 }, |place| self.states[place])
    }

    /// True if a link counts as down: the state of this link or of its reverse direction is down. A link and its
    /// reverse direction are down together.
    pub(super) fn is_down(&self, link: LinkId) -> bool {
        let other = self.cables.other(link);
        self.get(link).is_down() || other.is_some_and(|other| self.get(other).is_down())
    }

    pub(super) fn age(&self, state: LinkState) -> Age {
        let link = LinkId(state.link);
        if self.cables.other(link).is_none() {
            return Age::Absurd;
        }
        let known = self.get(link).sequence;
        if (1..=MOST_MISSED).contains(&state.sequence.wrapping_sub(known)) {
            Age::Newer
        } else if known.wrapping_sub(state.sequence) <= MOST_MISSED {
            Age::Known
        } else {
            Age::Absurd
        }
    }

    /// Replaces the known state of a link, which must exist.
    pub(super) fn set(&mut self, state: LinkState) {
        self.digest ^= mix(self.get(LinkId(state.link))) ^ mix(state);
        match self.states.binary_search_by_key(&state.link, |state| state.link) {
            Ok(place) => self.states[place] = state,
            Err(place) => self.states.insert(place, state),
        }
    }
}

/// The contribution of a state to the digest: the finaliser of SplitMix64 (Steele et al., OOPSLA 2014). A link that has
/// never changed contributes nothing.
fn mix(LinkState { link, sequence }: LinkState) -> u64 {
    if sequence == 0 {
        return 0;
    }
    let mut bits = u64::from(link) << 32 | u64::from(sequence);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(link: u32, sequence: u32) -> LinkState {
        LinkState { link, sequence }
    }

    /// Links 0 and 1 are the two directions of a cable, and there is no link 2.
    fn database() -> Database {
        Database::new(Cables::new([Some(LinkId(1)), Some(LinkId(0)), None]))
    }

    #[test]
    fn a_cable_is_down_if_either_end_says_so() {
        let mut database = database();
        for (change, is_down) in [((1, 1), true), ((0, 3), true), ((1, 2), true), ((0, 4), false)] {
            database.set(state(change.0, change.1));
            assert_eq!([0, 1].map(|link| database.is_down(LinkId(link))), [is_down; 2]);
        }
        assert_eq!(database.states(), [state(0, 4), state(1, 2)]);
    }

    #[test]
    fn the_digest_depends_only_on_the_known_link_states() {
        let [mut one, mut other] = [database(), database()];
        assert_eq!(one.digest(), 0);
        one.set(state(0, 1));
        one.set(state(1, 1));
        one.set(state(0, 2));
        other.set(state(1, 1));
        assert_ne!(one.digest(), other.digest());
        other.set(state(0, 2));
        assert_eq!(one.digest(), other.digest());
        assert_ne!(one.digest(), 0);
    }

    #[test]
    fn sequence_numbers_wrap_and_may_not_leap() {
        let mut database = database();
        assert_eq!(database.age(state(0, 0)), Age::Known);
        assert_eq!(database.age(state(0, MOST_MISSED)), Age::Newer);
        assert_eq!(database.age(state(0, MOST_MISSED + 1)), Age::Absurd);
        database.set(state(0, u32::MAX));
        assert_eq!(database.age(state(0, 1)), Age::Newer);
        assert_eq!(database.age(state(0, u32::MAX - 1)), Age::Known);
        assert_eq!(database.age(state(0, u32::MAX / 2)), Age::Absurd);
        for link in [2, 3, u32::MAX] {
            assert_eq!(database.age(state(link, 1)), Age::Absurd, "there is no link {link}");
        }
    }
}
