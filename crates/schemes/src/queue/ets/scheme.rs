//! The registry's entry for enhanced transmission selection, and its parameters.

use super::{COUNT, Ets};
use crate::parameters;
use crate::scheme::{Info, Plan, QueueDiscipline, Queues, Unfit, View};

/// The registry's entry for enhanced transmission selection.
pub(crate) const QUEUE: QueueDiscipline = QueueDiscipline {
    info: Info {
        name: "ets",
        summary: "Serves strict traffic classes first, and divides the remaining rate among the other \
                  classes by percentages; respects pauses; the queue has no size limit",
        source: "IEEE 802.1Qaz",
        differs: &[],
        view: View::Local,
        parameters: &Parameters::LIST,
    },
    build,
};

parameters! {
    struct Parameters {
        /// traffic class of each priority
        classes: [u8; COUNT] = [0, 1, 2, 3, 4, 5, 6, 7], 0..=7;
        /// for each traffic class, its percentage of the rate that strict classes leave; 0 makes a class strict; the
        /// sum must be 100, or 0 if all classes are strict
        shares: [u8; COUNT] = [13, 13, 13, 13, 12, 12, 12, 12], 0..=100;
    }
}

/// The traffic classes of a port and their quanta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Params {
    /// The traffic class of each priority, 0 to 7.
    classes: [u8; COUNT],
    /// Quantum in bytes per turn for each traffic class; 0 for a strict class.
    quanta: [u64; COUNT],
    /// One bit for each strict class.
    strict: u8,
}

impl Params {
    /// Computes the quanta. `classes` and `shares` are the parameters with these names, and `packet_bytes` is the size
    /// of the largest packet. A class with a share of 0 is strict.
    ///
    /// # Errors
    /// If the shares add up neither to 100% nor to 0.
    pub(crate) fn new(classes: [u8; COUNT], shares: [u8; COUNT], packet_bytes: u32) -> Result<Self, String> {
        let all: u32 = shares.iter().copied().map(u32::from).sum();
        if all != 100 && all != 0 {
            return Err(format!(
                "the `shares` must add up to 100%, or all be 0 if every class is strict (got {all}%)"
            ));
        }
        let least = shares.into_iter().filter(|&share| share > 0).min().unwrap_or(1);
        let bytes_a_percent = u64::from(packet_bytes).div_ceil(least.into());
        let strict = (0..COUNT).filter(|&class| shares[class] == 0).fold(0, |mask, class| mask | 1 << class);
        Ok(Self { classes, quanta: shares.map(|share| u64::from(share) * bytes_a_percent), strict })
    }

    pub(super) fn class_of(&self, priority: usize) -> usize {
        self.classes[priority].into()
    }

    pub(super) fn quantum(&self, class: usize) -> u64 {
        self.quanta[class]
    }

    pub(super) fn strict(&self) -> u8 {
        self.strict
    }
}

fn build(plan: &Plan<'_>, packet_bytes: u32) -> Result<Queues, Unfit> {
    let Parameters { classes, shares } = Parameters::of(plan.settings);
    let params = Params::new(classes, shares, packet_bytes).map_err(|problem| Unfit {
        key: "scheme.ets.shares".to_owned(),
        problem,
        hint: "give percentages that add up to 100; a class with share 0 is strict".to_owned(),
    })?;
    Ok(Box::new(move |_| Box::new(Ets::new(params))))
}
