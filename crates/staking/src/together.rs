//! Small calls at the same time are taken as one: whoever gets a turn takes what all have brought.
//!
//! A call costs several syncs of the disk, however many messages it has. So that hundreds of
//! clients with one event each do not pay them all, a call that waits for its turn leaves its
//! messages where the one before it finds them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, oneshot};

use crate::ingest::Refused;
use crate::intake::{BATCH, Message, Taken};
use crate::staking::Staking;

/// Turns at the same time: one is taken while the next gathers.
const TURNS: usize = 2;
/// Messages that may wait for a turn; more are told to come later.
const WAITING: usize = 20 * BATCH;
/// Calls of so many messages go alone: they are shared enough.
pub(crate) const LARGE: usize = 500;

/// Calls that wait for a turn.
#[derive(Debug)]
pub(crate) struct Together {
    waiting: Mutex<VecDeque<Call>>,
    turns: Semaphore,
}

#[derive(Debug)]
struct Call {
    messages: Vec<Message>,
    answer: oneshot::Sender<Vec<Taken>>,
}

impl Default for Together {
    fn default() -> Self {
        Self { waiting: Mutex::default(), turns: Semaphore::new(TURNS) }
    }
}

impl Together {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Call>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call wait, unless too many messages do.
    fn enter(&self, call: Call) -> bool {
        let mut waiting = self.waiting();
        let before: usize = waiting.iter().map(|call| call.messages.len()).sum();
        let has_room = before + call.messages.len() <= WAITING;
        if has_room {
            waiting.push_back(call);
        }
        has_room
    }

    /// The first calls, as many as fit one batch.
    fn first(&self) -> Vec<Call> {
        let mut waiting = self.waiting();
        let (mut calls, mut messages) = (Vec::new(), 0);
        while let Some(call) = waiting.pop_front() {
            if messages + call.messages.len() > BATCH {
                waiting.push_front(call);
                break;
            }
            messages += call.messages.len();
            calls.push(call);
        }
        calls
    }
}

impl Staking {
    /// Takes messages together with those of other calls.
    pub(crate) async fn take_together(&self, messages: Vec<Message>) -> Vec<Taken> {
        let count = messages.len();
        let (answer, mut answered) = oneshot::channel();
        let together = &self.inner.together;
        if !together.enter(Call { messages, answer }) {
            return later(count, "too many messages wait; send them again");
        }
        loop {
            let turn = tokio::select! {
                biased;
                taken = &mut answered => return taken.unwrap_or_else(|_| ended(count)),
                turn = together.turns.acquire() => turn,
            };
            let calls = together.first();
            // All that waited are in the turn of somebody else, this call too.
            if calls.is_empty() {
                drop(turn);
                return answered.await.unwrap_or_else(|_| ended(count));
            }
            self.take_calls(calls).await;
        }
    }

    async fn take_calls(&self, calls: Vec<Call>) {
        let mut all = Vec::with_capacity(calls.iter().map(|call| call.messages.len()).sum());
        let mut answers = Vec::with_capacity(calls.len());
        for Call { messages, answer } in calls {
            answers.push((messages.len(), answer));
            all.extend(messages);
        }
        let mut taken = self.take_batch(&all, Refused::Kept).await.into_iter();
        for (count, answer) in answers {
            // Whoever no longer waits for its answer sends its messages again.
            let _ = answer.send(taken.by_ref().take(count).collect());
        }
    }
}

/// Whoever had the turn was ended in the middle of it.
fn ended(count: usize) -> Vec<Taken> {
    later(count, "the call that they were taken with was ended; send them again")
}

fn later(count: usize, reason: &str) -> Vec<Taken> {
    vec![Taken::Later(reason.to_owned()); count]
}
