//! Converts steps to the statements of a rank's program.

use super::step::{Message, Step};
use crate::goal::{Label, Line, Operation, Program, Statement};
use std::collections::VecDeque;

/// Returns the program that performs `steps` one after another.
pub(super) fn program(steps: impl Iterator<Item = Step> + Send + 'static) -> Program {
    Box::new(Lowered { steps, ready: VecDeque::new(), last: Vec::new(), labels: 0, lines: 0 })
}

struct Lowered<I> {
    steps: I,
    /// Statements of the current step that have not been returned yet.
    ready: VecDeque<Statement>,
    /// Operations that must finish before any later operation begins.
    last: Vec<Label>,
    /// Number of labels assigned so far.
    labels: u64,
    /// Number of statements returned so far.
    lines: usize,
}

impl<I: Iterator<Item = Step>> Iterator for Lowered<I> {
    type Item = <Program as Iterator>::Item;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            let step = self.steps.next()?;
            self.lower(&step);
        }
        let statement = self.ready.pop_front()?;
        self.lines += 1;
        Some(Ok(Line { number: self.lines, statement }))
    }
}

impl<I> Lowered<I> {
    fn lower(&mut self, step: &Step) {
        /// Maximum number of direct dependencies between two steps. If there would be more, a computation
        /// joins the steps.
        const EDGES: usize = 4;
        let ns = step.compute.as_ps() / 1_000;
        let messages = step.sends.len() + step.receives.len();
        if ns > 0 || self.last.len() * messages > EDGES {
            let joined = self.begin(Operation::Calc { ns });
            self.last = vec![joined];
        }
        if messages == 0 {
            return;
        }
        let receive = |&Message { peer, bytes, tag }: &Message| Operation::Recv {
            bytes,
            from: Some(peer),
            tag: Some(tag),
        };
        let send =
            |&Message { peer, bytes, tag }: &Message| Operation::Send { bytes, to: peer, tag: Some(tag) };
        let operations = step.receives.iter().map(receive).chain(step.sends.iter().map(send));
        self.last = operations.map(|operation| self.begin(operation)).collect();
    }

    /// Adds an operation that waits for the operations in `last`.
    fn begin(&mut self, operation: Operation) -> Label {
        self.labels += 1;
        let label = Label(self.labels);
        self.ready.push_back(Statement::Operation { label: Some(label), cpu: 0, operation });
        self.ready.extend(self.last.iter().map(|&before| Statement::Requires { after: label, before }));
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Duration;

    fn statements(steps: Vec<Step>) -> Vec<Statement> {
        program(steps.into_iter()).map(|line| line.unwrap().statement).collect()
    }

    fn operation(label: u64, operation: Operation) -> Statement {
        Statement::Operation { label: Some(Label(label)), cpu: 0, operation }
    }

    fn requires(after: u64, before: u64) -> Statement {
        Statement::Requires { after: Label(after), before: Label(before) }
    }

    #[test]
    fn a_step_waits_for_all_of_the_one_before() {
        let exchange = Step::computing(Duration::from_ns(7)).receiving(1, 3, 9).sending(2, 4, 8);
        let last = Step::default().sending(3, 1, 0);
        let (from, tag) = (Some(1), Some(9));
        let expected = [
            operation(1, Operation::Calc { ns: 7 }),
            operation(2, Operation::Recv { bytes: 3, from, tag }),
            requires(2, 1),
            operation(3, Operation::Send { bytes: 4, to: 2, tag: Some(8) }),
            requires(3, 1),
            operation(4, Operation::Send { bytes: 1, to: 3, tag: Some(0) }),
            requires(4, 2),
            requires(4, 3),
        ];
        assert_eq!(statements(vec![exchange, last]), expected);
    }

    #[test]
    fn steps_of_many_messages_meet_in_a_calc() {
        let exchange =
            |first| (first..first + 3).fold(Step::default(), |step, peer| step.sending(peer, 1, 0));
        let statements = statements(vec![exchange(0), exchange(3)]);
        assert_eq!(statements[3], operation(4, Operation::Calc { ns: 0 }));
        assert_eq!(statements[4..7], [requires(4, 1), requires(4, 2), requires(4, 3)]);
        assert_eq!(statements.len(), 3 + 1 + 3 + 3 + 3);
    }
}
