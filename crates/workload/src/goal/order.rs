//! Decides which operations of a program may begin. Dependencies, streams and the read-ahead window can delay
//! operations.

use super::names::Labels;
use super::{Label, Line, Operation, Statement};
use raddle_core::text::Misread;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Index in `Order::steps` of an operation that has been read but has not finished.
pub(super) type Slot = u32;

/// An operation that has been read but has not finished.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Index of the operation's statement in the program, from 0.
    place: u64,
    /// Line of the operation in the file.
    pub(super) line: usize,
    label: Option<Label>,
    cpu: u8,
    pub(super) operation: Operation,
    /// Number of dependencies that are not yet met.
    unmet: u32,
    pub(super) begun: bool,
    /// True if the operation is in its stream's `ready` queue, or has begun.
    queued: bool,
    /// Operations that wait until this operation begins.
    at_begin: Vec<Slot>,
    /// Operations that wait until this operation finishes.
    at_end: Vec<Slot>,
}

/// A stream of operations. While one of its computations runs, no other operation of the stream
/// begins. A send or a receive does not occupy the stream.
#[derive(Debug, Default)]
struct Cpu {
    computing: bool,
    /// Operations that had no unmet dependency when they were queued, in file order. A dependency that is read later
    /// can block a queued operation. Such an operation is removed when it reaches the head of the queue.
    ready: BinaryHeap<Reverse<(u64, Slot)>>,
}

/// A program in execution. An operation begins only after the next `window` statements, or all
/// remaining statements, have been read. A dependency may therefore follow the operation that it
/// delays, by at most one window. Of finished operations, only the labels are kept in memory.
#[derive(Debug)]
pub(super) struct Order<P> {
    pub(super) program: P,
    /// Length of the read-ahead window, in statements.
    window: u64,
    /// Number of statements read so far.
    read: u64,
    ended: bool,
    steps: Vec<Option<Step>>,
    free: Vec<Slot>,
    labels: FxHashMap<Label, Slot>,
    finished: Labels,
    cpus: Vec<Cpu>,
    /// Operations in file order, from the first operation that has not begun.
    unbegun: VecDeque<(u64, Slot)>,
    /// Number of operations that have been read but have not finished.
    unfinished: u64,
}

impl<P: Iterator<Item = Result<Line, Misread>>> Order<P> {
    pub(super) fn new(program: P, window: u64) -> Self {
        Self {
            program,
            window,
            read: 0,
            ended: false,
            steps: Vec::new(),
            free: Vec::new(),
            labels: FxHashMap::default(),
            finished: Labels::default(),
            cpus: Vec::new(),
            unbegun: VecDeque::new(),
            unfinished: 0,
        }
    }

    /// Begins the earliest operation in the file that may begin. Returns `None` if no operation may begin.
    ///
    /// # Errors
    /// If the program cannot be read further, or a label or dependency is wrong.
    pub(super) fn begin(&mut self) -> Result<Option<(Slot, Operation)>, Misread> {
        loop {
            match self.first_ready() {
                Some((place, slot)) if self.ended || self.read > place + self.window => {
                    return Ok(Some(self.begin_at(slot)));
                }
                None if self.ended || self.is_far_enough() => return Ok(None),
                _ => self.read_on()?,
            }
        }
    }

    /// True if the whole window after the earliest operation that has not begun has been read.
    fn is_far_enough(&self) -> bool {
        self.unbegun.front().is_some_and(|&(place, _)| self.read > place + self.window)
    }

    /// Returns the earliest operation read so far that is blocked neither by a dependency nor by a
    /// computation on its stream.
    fn first_ready(&mut self) -> Option<(u64, Slot)> {
        let steps = &mut self.steps;
        let mut first = |cpu: &mut Cpu| loop {
            let &Reverse((place, slot)) = cpu.ready.peek()?;
            let step = steps[slot as usize].as_mut()?;
            if step.unmet == 0 {
                return Some((place, slot));
            }
            step.queued = false;
            cpu.ready.pop();
        };
        self.cpus.iter_mut().filter(|cpu| !cpu.computing).filter_map(&mut first).min()
    }

    fn begin_at(&mut self, slot: Slot) -> (Slot, Operation) {
        let step = self.step_mut(slot);
        step.begun = true;
        let (cpu, operation) = (step.cpu, step.operation);
        let followers = std::mem::take(&mut step.at_begin);
        while let Some(&(place, slot)) = self.unbegun.front()
            && self.steps[slot as usize].as_ref().is_none_or(|step| step.begun || step.place != place)
        {
            self.unbegun.pop_front();
        }
        let cpu = &mut self.cpus[usize::from(cpu)];
        cpu.ready.pop();
        cpu.computing = matches!(operation, Operation::Calc { .. });
        followers.into_iter().for_each(|follower| self.release(follower));
        (slot, operation)
    }

    /// Records that an operation has finished. The operation must have begun.
    pub(super) fn finish(&mut self, slot: Slot) {
        let step = self.steps[slot as usize].take().expect("an operation must finish only once");
        debug_assert!(step.begun, "an operation must begin before it finishes");
        self.free.push(slot);
        self.unfinished -= 1;
        if let Some(label) = step.label {
            self.labels.remove(&label);
            self.finished.insert(label);
        }
        if let Operation::Calc { .. } = step.operation {
            self.cpus[usize::from(step.cpu)].computing = false;
        }
        step.at_end.into_iter().for_each(|follower| self.release(follower));
    }

    /// True if every operation of the program has finished.
    pub(super) fn is_finished(&self) -> bool {
        self.ended && self.unfinished == 0
    }

    /// Returns the operations that have not finished, in file order.
    pub(super) fn unfinished(&self) -> Vec<&Step> {
        let mut steps: Vec<_> = self.steps.iter().flatten().collect();
        steps.sort_unstable_by_key(|step| step.place);
        steps
    }

    /// Records that one dependency of an operation is met.
    fn release(&mut self, slot: Slot) {
        let step = self.step_mut(slot);
        step.unmet -= 1;
        if step.unmet == 0 && !std::mem::replace(&mut step.queued, true) {
            let (cpu, place) = (step.cpu, step.place);
            self.cpus[usize::from(cpu)].ready.push(Reverse((place, slot)));
        }
    }

    /// Returns an operation that has not finished.
    pub(super) fn step(&self, slot: Slot) -> &Step {
        self.steps[slot as usize].as_ref().expect("the operation must be unfinished")
    }

    fn step_mut(&mut self, slot: Slot) -> &mut Step {
        self.steps[slot as usize].as_mut().expect("the operation must be unfinished")
    }

    fn read_on(&mut self) -> Result<(), Misread> {
        let Some(line) = self.program.next() else {
            self.ended = true;
            return Ok(());
        };
        let Line { number, statement } = line?;
        let wrong = |problem: &str| Misread { line: number, column: 1, problem: problem.to_owned() };
        let place = self.read;
        self.read += 1;
        let (after, before, at_begin) = match statement {
            Statement::Operation { label, cpu, operation } => {
                if label
                    .is_some_and(|label| self.labels.contains_key(&label) || self.finished.contains(label))
                {
                    return Err(wrong(
                        "another operation of this rank has the same label; labels must be unique \
                                      within a rank",
                    ));
                }
                self.add(Step {
                    place,
                    line: number,
                    label,
                    cpu,
                    operation,
                    unmet: 0,
                    begun: false,
                    queued: true,
                    at_begin: Vec::new(),
                    at_end: Vec::new(),
                });
                return Ok(());
            }
            Statement::Requires { after, before } => (after, before, false),
            Statement::Irequires { after, before } => (after, before, true),
        };
        let find = |label| match self.labels.get(&label) {
            Some(&slot) => Ok(Some(slot)),
            None if self.finished.contains(label) => Ok(None),
            None => Err(wrong(
                "this dependency uses a label that is not yet defined; define both operations before the \
                 dependency",
            )),
        };
        let (after, before) = (find(after)?, find(before)?);
        let late = |slot: &Slot| {
            self.steps[*slot as usize].as_ref().is_none_or(|step| place > step.place + self.window)
        };
        let Some(after) = after.filter(|slot| !late(slot)) else {
            let problem = format!(
                "this dependency is more than {} statements after the operation that it delays; the \
                 operation may already have begun, so move the dependency closer to the operation",
                self.window
            );
            return Err(wrong(&problem));
        };
        let Some(before) = before else { return Ok(()) };
        self.depend(after, before, at_begin);
        Ok(())
    }

    fn add(&mut self, step: Step) {
        let (place, cpu, label) = (step.place, usize::from(step.cpu), step.label);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.steps.push(None);
            Slot::try_from(self.steps.len() - 1).expect("there must be fewer than 2^32 unfinished operations")
        });
        self.steps[slot as usize] = Some(step);
        self.labels.extend(label.map(|label| (label, slot)));
        if cpu >= self.cpus.len() {
            self.cpus.resize_with(cpu + 1, Cpu::default);
        }
        self.cpus[cpu].ready.push(Reverse((place, slot)));
        self.unbegun.push_back((place, slot));
        self.unfinished += 1;
    }

    fn depend(&mut self, after: Slot, before: Slot, at_begin: bool) {
        let earlier = self.step_mut(before);
        if at_begin {
            if earlier.begun {
                return;
            }
            earlier.at_begin.push(after);
        } else {
            earlier.at_end.push(after);
        }
        self.step_mut(after).unmet += 1;
    }
}
