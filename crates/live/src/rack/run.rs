//! The run of a rack: the polling threads, and the thread that started them, which receives their events.

use super::Rack;
use super::clock::system_ns;
use super::fidelity::{Meter, Steal};
use super::ip::Cores;
use super::machines::Gone;
use super::party::{Count, Heard, Hearing, Known, Look, Lost, Message, Party};
use super::told::Word;
use super::worker::Standing;
use raddle_core::{Observer, Progress};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;

/// Interval at which the thread that started a rack receives the events of the polling threads. In a party, this
/// interval is [`SELDOM`] times as long. The interval is short, so that few events arrive each time. If all cores poll,
/// the receiving thread takes a core from a polling thread, and delays that thread's packets.
const LISTENS: std::time::Duration = std::time::Duration::from_millis(1);

/// Number of intervals of [`LISTENS`], together 10 ms, after which the thread that started a rack calls the caller's
/// `look`. In a party, this thread then also exchanges messages with the other processes.
const SELDOM: u32 = 10;

/// The longest time for which the last messages of an unreachable process may still be on their way, in ns.
const LAST_WORDS_NS: u64 = 1_000_000_000;

impl Rack {
    /// Runs until the rack is at rest, or until the time limit. A rack is at rest if no program uses the rack, no
    /// packet waits or is in flight, and either all flows are delivered or no node has more to do. Packets of topology
    /// discovery do not count. Calls `look` about every 10 ms, and stops if `look` returns `Break`. Returns true unless
    /// `look` or the loss of a process stopped the run. The calling thread receives the polling threads' events during
    /// the run.
    ///
    /// In a party, all processes run, and the host's observer receives the events of all nodes. If a process is gone,
    /// the run ends, and [`lost`](Self::lost) names the process.
    #[expect(clippy::too_many_lines, reason = "the function lists the steps of a run in their order")]
    pub fn run<O: Observer>(
        &mut self,
        observer: &mut O,
        mut look: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> bool {
        self.steal.0 = Steal::now();
        // Virtual time begins only when everything is ready.
        let Self { workers, party, gone, .. } = &mut *self;
        let begin = party.as_ref().map(|party| {
            let at = party.begin(|| {
                gone.try_recv().map_or(Ok(()), |gone| Err(party.lost(gone.process, gone.why)))?;
                let mut are_all = true;
                for crossing in workers.iter_mut().filter_map(|worker| worker.crossing.as_mut()) {
                    are_all &= crossing.is_connected(system_ns());
                }
                Ok(are_all)
            });
            Ok(workers[0].fabric.clock.begun_at(at?, party.offset()))
        });
        let clock = match begin {
            None => self.workers[0].fabric.clock.begun(),
            Some(Ok(clock)) => clock,
            Some(Err(lost)) => {
                self.lost = Some(lost);
                return false;
            }
        };
        let processes = self.party.as_ref().map_or(1, |party| party.parts().len());
        let known = Known {
            topology: Arc::clone(&self.workers[0].fabric.topology),
            nodes: self.layout.nodes(),
            flows: self.all_flows,
            decoders: self.decoders.clone(),
        };
        let mut hearing = Hearing::new(processes, known);
        let mut load = self.generator.take();
        let speaker = self.workers[0].fabric.teller.words.clone();
        let Self { workers, words, all_flows, programs, party, lost, gone, generator, cores, .. } = self;
        let (generator, cores) = (&*generator, cores.as_ref());
        let left = cores.map(Cores::leave);
        let party = party.as_ref();
        let stop = AtomicBool::new(false);
        let standings: Vec<Standing> = workers.iter().map(|_| Standing::default()).collect();
        // For each process that a polling thread can no longer reach: the time of the report, in ns, and the process.
        let mut missing = Vec::new();
        let (ended, panics, loaded) = thread::scope(|scope| {
            let mut polling = Vec::new();
            for (thread, (worker, standing)) in workers.iter_mut().zip(&standings).enumerate() {
                worker.fabric.clock.clone_from(&clock);
                worker.fabric.meter = Meter::new();
                // If the observer asks for forwarded packets, this process reports all packets that it forwards. In a
                // party, the reports go to the observer of the host process.
                worker.fabric.teller.of_packets = O::FORWARDED;
                let stop = &stop;
                polling.push(scope.spawn(move || {
                    if let Some(cores) = cores {
                        cores.poll(thread);
                    }
                    worker.poll(standing, stop);
                }));
            }
            let loading = load.as_mut().map(|load| {
                let (clock, stop) = (&clock, &stop);
                scope.spawn(move || generator.run(load, clock, speaker, stop))
            });
            let mut times: u32 = 0;
            let ended = loop {
                thread::park_timeout(LISTENS);
                times = times.wrapping_add(1);
                let looks = times.is_multiple_of(SELDOM);
                if party.is_some() && !looks {
                    continue;
                }
                let has_programs = Arc::strong_count(programs) > 1 || generator.runs();
                let count = || {
                    let count = Standing::count(&standings);
                    let flows_delivered = count.flows_delivered + generator.delivered();
                    Count { flows_delivered, has_programs, ..count }
                };
                let seen = seen(count, words);
                let over = match party {
                    None => {
                        hearing.add_own(0, seen);
                        Ok(None)
                    }
                    Some(party) => exchange(party, &mut hearing, seen).and_then(|over| {
                        missing.extend(gone.try_iter().map(|gone| (system_ns(), gone)));
                        if over.is_none() {
                            refuse_gone(party, &missing)?;
                        }
                        Ok(over)
                    }),
                };
                hearing.let_go(observer);
                match over {
                    Err(gone) => {
                        *lost = Some(gone);
                        break false;
                    }
                    Ok(Some(complete)) => break complete,
                    Ok(None) => {}
                }
                let is_guest = party.is_some_and(|party| !party.is_host());
                if !is_guest && (hearing.is_at_rest(*all_flows) || hearing.is_over()) {
                    break true;
                }
                if polling.iter().any(thread::ScopedJoinHandle::is_finished)
                    && !Standing::count(&standings).is_over
                {
                    break false; // a polling thread has panicked
                }
                if looks && look(hearing.progress()).is_break() {
                    break false;
                }
            };
            stop.store(true, Ordering::Relaxed);
            let panics: Vec<_> = polling.into_iter().filter_map(|thread| thread.join().err()).collect();
            let loaded = loading.map(thread::ScopedJoinHandle::join);
            (ended, panics, loaded)
        });
        drop(left);
        let loaded = loaded.map(|joined| joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        match loaded.transpose() {
            Ok(counts) => {
                let totals = &mut self.workers[0].fabric.totals;
                totals.flows_started += counts.map_or(0, |counts| counts.started);
                totals.flows_delivered += counts.map_or(0, |counts| counts.delivered);
            }
            Err(why) => self.load_failed = Some(why),
        }
        self.took_ns = clock.real_ns();
        // Dropping the streams ends the waits of all programs, even after an error.
        self.workers.iter_mut().for_each(|worker| worker.fabric.streams = None);
        if let Some(panic) = panics.into_iter().next() {
            std::panic::resume_unwind(panic);
        }
        self.steal.1 = self.steal.0.zip(Steal::now()).map(|(before, after)| before.share_until(after));
        self.take_leave(ended, &mut hearing);
        hearing.let_all_go(observer);
        ended && self.lost.is_none()
    }

    /// Exchanges the last messages of a run between the processes of a party: each guest process sends its last
    /// message, and the host process receives these messages.
    fn take_leave(&mut self, ended: bool, hearing: &mut Hearing) {
        let own = self.party.as_ref().map_or(0, Party::own);
        let last = seen(Count::default, &self.words);
        let others = match &self.party {
            Some(party) if !party.is_host() => party
                .tell(Heard::new(&last))
                .and_then(|()| party.end(ended, None, || self.own_end(), |_, _| {})),
            Some(party) => {
                hearing.add_own(own, last);
                let lost = self.lost.as_ref();
                party.end(ended, lost, || self.own_end(), |process, heard| hearing.add(process, heard))
            }
            None => {
                hearing.add_own(own, last);
                Ok(Vec::new())
            }
        };
        match others {
            Ok(others) => self.others = others,
            // If another process was lost earlier, the run ended because of that loss, so `lost` keeps that loss.
            Err(lost) => self.lost = self.lost.take().or(Some(lost)),
        }
    }

    /// Handles all events as fast as possible, in order, until none is left, only hello messages are left, or the time
    /// limit passes. Benchmarks use this function to measure the throughput of a polling thread that never waits.
    ///
    /// # Panics
    /// If there are several polling threads.
    pub fn rush<O: Observer>(&mut self, observer: &mut O) {
        let [worker] = &mut self.workers[..] else {
            panic!("`rush` needs a rack with exactly one polling thread")
        };
        worker.fabric.teller.of_packets = O::FORWARDED;
        worker.rush();
        listen(&self.words, observer);
    }
}

/// The current progress of this process's nodes, and their new events.
fn seen(count: impl FnOnce() -> Count, words: &Receiver<Word>) -> Look {
    let began_ns = system_ns();
    let count = count();
    Look { began_ns, count, words: words.try_iter().collect() }
}

/// Adds this process's [`Look`] to `hearing`, and handles the messages of the other processes of a party. A guest sends
/// its `Look` to the host, and adds only the progress to `hearing`. Returns `Some` if the host has ended the run. The
/// value is true if all work was done or the time limit passed.
fn exchange(party: &Party, hearing: &mut Hearing, look: Look) -> Result<Option<bool>, Lost> {
    if party.is_host() {
        hearing.add_own(party.own(), look);
    } else {
        party.tell(Heard::new(&look))?;
        hearing.add_own(party.own(), Look { words: Vec::new(), ..look });
    }
    while let Some(message) = party.hear()? {
        match message {
            Message::Heard(process, heard) => hearing.add(process, heard),
            Message::Over(complete) => return Ok(Some(complete)),
        }
    }
    party.check_silence(hearing)?;
    Ok(None)
}

/// Checks that no process has been unreachable for longer than [`LAST_WORDS_NS`]. A process that has ended its run in
/// good order also becomes unreachable, but its last messages may still be on their way.
fn refuse_gone(party: &Party, missing: &[(u64, Gone)]) -> Result<(), Lost> {
    match missing.first() {
        Some((since, gone)) if system_ns() > since + LAST_WORDS_NS => {
            Err(party.lost(gone.process, &gone.why))
        }
        _ => Ok(()),
    }
}

/// Passes to the observer all events that the polling threads have reported so far.
pub(super) fn listen(words: &Receiver<Word>, observer: &mut impl Observer) {
    words.try_iter().for_each(|word| word.tell(observer));
}
