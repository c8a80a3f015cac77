//! A step: the actions of a rank between two waits.

use raddle_core::Duration;

/// A message, as one of its ends sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The rank at the other end.
    pub peer: u32,
    /// Bytes; 0 is sent as 1.
    pub bytes: u64,
    /// The tag; messages of one pair and tag are received in the order in which they are sent.
    pub tag: u32,
}

/// Some computing, then messages that are all under way at once. The next step begins when they are done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// How long the rank computes first.
    pub compute: Duration,
    /// What it then sends.
    pub sends: Vec<Message>,
    /// What it waits for at the same time.
    pub receives: Vec<Message>,
}

/// The steps of one rank, one after another, made as they are asked for.
pub type Steps = Box<dyn Iterator<Item = Step> + Send>;

impl Step {
    /// A step that begins with computing.
    #[must_use]
    pub fn computing(compute: Duration) -> Self {
        Self { compute, ..Self::default() }
    }

    /// The step with one more message to send.
    #[must_use]
    pub fn sending(mut self, peer: u32, bytes: u64, tag: u32) -> Self {
        self.sends.push(Message { peer, bytes, tag });
        self
    }

    /// The step with one more message to wait for.
    #[must_use]
    pub fn receiving(mut self, peer: u32, bytes: u64, tag: u32) -> Self {
        self.receives.push(Message { peer, bytes, tag });
        self
    }
}

/// `steps` after some computing.
pub(super) fn after(compute: Duration, steps: impl Iterator<Item = Step>) -> impl Iterator<Item = Step> {
    std::iter::once(Step::computing(compute)).chain(steps)
}
