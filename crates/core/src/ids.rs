//! Ids: small integers with a type each.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $raw);

        impl $name {
            /// The id as an index into an array with one element an id.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of an array index.
            ///
            /// # Panics
            /// If the index does not fit the id.
            #[must_use]
            pub fn of(index: usize) -> Self {
                Self(<$raw>::try_from(index).expect(concat!(stringify!($name), " out of range")))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    /// A port of one node; the port a packet leaves by is also the port the reverse direction arrives at.
    PortId(u16)
}
id! {
    /// A directed link, which is the same as the egress port it starts at, numbered over the whole fabric.
    LinkId(u32)
}
id! {
    /// A flow of the workload, in order of start. Known to the sender's host and to the records, not to the wire.
    FlowId(u32)
}
