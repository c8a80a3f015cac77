//! Which operations of a program may begin: dependencies, streams, and how far ahead it is read.

use super::names::Labels;
use super::{Label, Line, Operation, Statement};
use raddle_core::text::Misread;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The place of an operation among those that are read and not finished.
pub(super) type Slot = u32;

/// An operation that has been read and has not finished.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// The number of its statement, from 0.
    place: u64,
    /// Its line.
    pub(super) line: usize,
    label: Option<Label>,
    cpu: u8,
    pub(super) operation: Operation,
    /// Dependencies still in the way.
    unmet: u32,
    pub(super) begun: bool,
    /// Whether it stands in its stream's queue.
    queued: bool,
    /// What waits for its beginning.
    at_begin: Vec<Slot>,
    /// What waits for its end.
    at_end: Vec<Slot>,
}

/// A stream: its operations run one after another. Only computing takes time: messages are handed over at once.
#[derive(Debug, Default)]
struct Cpu {
    computing: bool,
    /// Operations that nothing but the stream holds back, the earliest of the file first; and some that a dependency
    /// read since then does, which leave it when they come first.
    ready: BinaryHeap<Reverse<(u64, Slot)>>,
}

/// A program under way. It reads a window of statements ahead of what it lets begin, so a dependency may be written that
/// far behind the operation that it holds back, and keeps what has not finished.
#[derive(Debug)]
pub(super) struct Order<P> {
    pub(super) program: P,
    /// Statements.
    window: u64,
    /// Statements read.
    read: u64,
    ended: bool,
    steps: Vec<Option<Step>>,
    free: Vec<Slot>,
    labels: FxHashMap<Label, Slot>,
    finished: Labels,
    cpus: Vec<Cpu>,
    /// Operations in file order, from the first that has not begun on.
    unbegun: VecDeque<(u64, Slot)>,
    /// Operations that have not finished.
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

    /// Lets the next operation begin, if one may: of those that may, the earliest of the file.
    ///
    /// # Errors
    /// If the program cannot be read on, or a label or dependency is wrong.
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

    /// Whether the window behind the earliest operation that has not begun has been read.
    fn is_far_enough(&self) -> bool {
        self.unbegun.front().is_some_and(|&(place, _)| self.read > place + self.window)
    }

    /// The earliest operation that nothing holds back, of what has been read.
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

    /// An operation that had begun has finished.
    pub(super) fn finish(&mut self, slot: Slot) {
        let step = self.steps[slot as usize].take().expect("an operation finishes once");
        debug_assert!(step.begun, "what has not begun cannot finish");
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

    /// Whether all of it has finished.
    pub(super) fn is_finished(&self) -> bool {
        self.ended && self.unfinished == 0
    }

    /// The operations that have not finished, in file order.
    pub(super) fn unfinished(&self) -> Vec<&Step> {
        let mut steps: Vec<_> = self.steps.iter().flatten().collect();
        steps.sort_unstable_by_key(|step| step.place);
        steps
    }

    /// One of the dependencies of an operation is no longer in the way.
    fn release(&mut self, slot: Slot) {
        let step = self.step_mut(slot);
        step.unmet -= 1;
        if step.unmet == 0 && !std::mem::replace(&mut step.queued, true) {
            let (cpu, place) = (step.cpu, step.place);
            self.cpus[usize::from(cpu)].ready.push(Reverse((place, slot)));
        }
    }

    /// An operation that has not finished.
    pub(super) fn step(&self, slot: Slot) -> &Step {
        self.steps[slot as usize].as_ref().expect("the operation has not finished")
    }

    fn step_mut(&mut self, slot: Slot) -> &mut Step {
        self.steps[slot as usize].as_mut().expect("the operation has not finished")
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
                    return Err(wrong("this label is there already; labels are unique within a rank"));
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
            None => Err(wrong("a label is not defined; both must stand before the dependency")),
        };
        let (after, before) = (find(after)?, find(before)?);
        let late = |slot: &Slot| {
            self.steps[*slot as usize].as_ref().is_none_or(|step| place > step.place + self.window)
        };
        let Some(after) = after.filter(|slot| !late(slot)) else {
            let problem = format!(
                "this dependency comes more than {} statements after the operation that it holds back, which may \
                 have begun; write it nearer",
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
            Slot::try_from(self.steps.len() - 1).expect("fewer than 2^32 operations under way")
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
