//! Ids that packets name: nodes, flows and classes.

use std::fmt;

/// Defines an id: a separate type that holds a small integer.
#[macro_export]
macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub $raw);

        impl $name {
            /// Returns the id as an index into an array with one element per id.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the id of an array index.
            ///
            /// # Panics
            /// If the index does not fit the id.
            #[must_use]
            pub fn of(index: usize) -> Self {
                Self(<$raw>::try_from(index).expect(concat!(stringify!($name), " out of range")))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A host, a switch, or a rack node that is both.
    NodeId(u32)
}
id! {
    /// The class of a packet in queues and in flow control: a priority of IEEE 802.1Q, 0 to 7, or [`Class::CONTROL`].
    Class(u8)
}

impl Class {
    /// The class of packets whose header states no class.
    pub const DEFAULT: Self = Self(0);
    /// The class of PFC frames, PFQ's credits and topology discovery's packets, which go from neighbour to neighbour,
    /// and of congestion notices. Queues that distinguish classes serve this class before all priorities. This class is
    /// never paused, and PFC, QCN and RED do not count its bytes.
    pub const CONTROL: Self = Self(8);
}

impl Default for Class {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A flow's name on the wire. Sender and receiver use the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct FlowKey(pub u64);

/// The name of the R2C2 flow with this handle.
impl From<u32> for FlowKey {
    fn from(handle: u32) -> Self {
        Self(handle.into())
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
