//! The queue's entry in the registry.

use super::{COUNT, Ets};
use crate::parameter::{Parameter, Settings, Value};
use crate::scheme::{Info, Plan, QueueDiscipline, Queues, Unfit, View};

/// Enhanced transmission selection.
pub const QUEUE: QueueDiscipline = QueueDiscipline {
    info: Info {
        name: "ets",
        summary: "Strict traffic classes first, the rest of the link shared by percentages; heeds pauses; unbounded",
        source: "IEEE 802.1Qaz",
        differs: &[],
        view: View::Local,
        parameters: PARAMETERS,
    },
    build,
};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("classes", Value::Eight([0, 1, 2, 3, 4, 5, 6, 7]), "the traffic class of each priority")
        .within(0.0, 7.0),
    Parameter::new(
        "shares",
        Value::Eight([13, 13, 13, 13, 12, 12, 12, 12]),
        "each traffic class's percentage of what strict classes leave, 100 in all; 0 makes a class strict",
    )
    .within(0.0, 100.0),
];

/// Traffic classes of a port and what they get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// The traffic class of each priority, 0 to 7.
    classes: [u8; COUNT],
    /// Of each traffic class, bytes a turn; 0 of a strict class.
    quanta: [u64; COUNT],
    /// One bit for each strict class.
    strict: u8,
}

impl Params {
    /// Classes and shares as the registry's parameters have them, for packets of so many bytes at most.
    ///
    /// # Errors
    /// What is wrong, if the shares are not 100% in all or, with strict classes only, nothing.
    pub fn new(classes: [u8; COUNT], shares: [u8; COUNT], packet_bytes: u32) -> Result<Self, String> {
        let all: u32 = shares.iter().copied().map(u32::from).sum();
        if all != 100 && all != 0 {
            return Err(format!("the shares come to {all}%"));
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

fn of(settings: &Settings, packet_bytes: u32) -> Result<Params, Unfit> {
    Params::new(settings.eight("classes"), settings.eight("shares"), packet_bytes).map_err(|problem| Unfit {
        key: "scheme.ets.shares".to_owned(),
        problem,
        hint: "let them add up to 100; a class with 0 is strict".to_owned(),
    })
}

fn build(plan: &Plan<'_>, packet_bytes: u32) -> Result<Queues, Unfit> {
    let params = of(plan.settings, packet_bytes)?;
    Ok(Box::new(move |_| Box::new(Ets::new(params))))
}
