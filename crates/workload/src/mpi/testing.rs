//! Runs ranks without a network, for tests.

use super::step::{Step, Steps};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Messages in flight, keyed by sender, receiver and tag. Each message has its size and the set of ranks
/// whose data the sender had.
type UnderWay = BTreeMap<(u32, u32, u32), VecDeque<(u64, BTreeSet<u32>)>>;

/// Runs all ranks. Returns, for each rank, the set of ranks whose data it has at the end, including its own
/// rank. Each message carries all data that its sender has at the time of sending.
///
/// # Panics
/// If the ranks deadlock, if the sizes of a message and of its receive differ, or if a message is never
/// received.
pub(super) fn play(ranks: u32, steps: impl Fn(u32) -> Steps) -> Vec<BTreeSet<u32>> {
    let mut heard: Vec<BTreeSet<u32>> = (0..ranks).map(|rank| BTreeSet::from([rank])).collect();
    let mut under_way = UnderWay::new();
    let mut programs: Vec<Steps> = (0..ranks).map(steps).collect();
    let mut waiting: Vec<Option<Step>> = (0..ranks).map(|_| None).collect();
    loop {
        let mut moved = false;
        for me in 0..ranks {
            let i = me as usize;
            if waiting[i].is_none() {
                waiting[i] = programs[i].next();
                let Some(step) = &waiting[i] else { continue };
                for message in &step.sends {
                    let sent = (message.bytes, heard[i].clone());
                    under_way.entry((me, message.peer, message.tag)).or_default().push_back(sent);
                }
                moved = true;
            }
            let step = waiting[i].as_ref().unwrap();
            let keys: Vec<_> = step.receives.iter().map(|message| (message.peer, me, message.tag)).collect();
            assert_eq!(keys.len(), keys.iter().collect::<BTreeSet<_>>().len(), "{step:?} of {me}");
            if keys.iter().all(|key| under_way.get(key).is_some_and(|sent| !sent.is_empty())) {
                for (key, message) in keys.iter().zip(&step.receives) {
                    let (bytes, news) = under_way.get_mut(key).unwrap().pop_front().unwrap();
                    assert_eq!(bytes, message.bytes, "{message:?} to {me}");
                    heard[i].extend(news);
                }
                waiting[i] = None;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    assert_eq!(waiting, vec![None; waiting.len()], "every rank must reach the end of its program");
    assert!(under_way.values().all(VecDeque::is_empty), "every message must be received");
    heard
}

/// Returns the number of messages and the number of bytes that a rank sends.
pub(super) fn sent(steps: Steps) -> (usize, u64) {
    steps.flat_map(|step| step.sends).fold((0, 0), |(count, bytes), sent| (count + 1, bytes + sent.bytes))
}
