//! A step: the actions of a rank between two waits.

use raddle_core::Duration;

/// A message, from the view of one of its endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The rank at the other endpoint.
    pub peer: u32,
    /// Size in bytes. A message of 0 bytes is sent as 1 byte.
    pub bytes: u64,
    /// The tag. Messages with the same pair of ranks and the same tag are received in the order in which they are sent.
    pub tag: u32,
}

/// A computation, followed by messages that are sent and received concurrently. The next step begins when all
/// messages have finished.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Time that the rank computes before the messages.
    pub compute: Duration,
    /// Messages that the rank sends after the computation.
    pub sends: Vec<Message>,
    /// Messages that the rank receives, concurrently with the sends.
    pub receives: Vec<Message>,
}

/// The steps of one rank, in order, generated lazily.
pub type Steps = Box<dyn Iterator<Item = Step> + Send>;

impl Step {
    /// Creates a step that begins with a computation.
    #[must_use]
    pub fn computing(compute: Duration) -> Self {
        Self { compute, ..Self::default() }
    }

    /// Adds a message that the rank sends in this step.
    #[must_use]
    pub fn sending(mut self, peer: u32, bytes: u64, tag: u32) -> Self {
        self.sends.push(Message { peer, bytes, tag });
        self
    }

    /// Adds a message that the rank receives in this step.
    #[must_use]
    pub fn receiving(mut self, peer: u32, bytes: u64, tag: u32) -> Self {
        self.receives.push(Message { peer, bytes, tag });
        self
    }
}

/// Returns a computation followed by `steps`.
pub(super) fn after(compute: Duration, steps: impl Iterator<Item = Step>) -> impl Iterator<Item = Step> {
    std::iter::once(Step::computing(compute)).chain(steps)
}
