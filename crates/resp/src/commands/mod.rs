//! Requests to answers.

mod about;
mod connection;
mod hashes;
mod keys;
mod lists;
mod sorted;
mod table;

use std::sync::Arc;
use std::time::Duration;

use crate::options::{Options, count};
use crate::reply::Reply;
use crate::session::{Session, Shared};
use crate::{Failure, Snapshot, Value};

/// Entries that are read at a time.
const PAGE: usize = 1_000;
/// Bytes that an element costs beside its own.
const OVERHEAD: u64 = 16;
/// Bytes of an unknown command that its refusal repeats.
const REPEATED: usize = 128;

/// How long the answer to a wrong password waits.
const DENIED_PAUSE: Duration = Duration::from_millis(200);

const SYNTAX: &str = "syntax error";
const NO_INTEGER: &str = "value is not an integer or out of range";
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const READ_ONLY: &str = "READONLY You can't write against a read only replica.";

/// An answer, or the error that is one.
type Answer = Result<Reply, Reply>;

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        Self::error(failure)
    }
}

/// Answers one request.
pub(crate) async fn answer(session: &mut Session, shared: &Shared, words: &[Vec<u8>]) -> Reply {
    let stats = shared.stats();
    count(&stats.commands, 1);
    let denied = session.denied;
    let working = async {
        // Never closed, so that there is always a turn to wait for.
        let _turn = shared.working.acquire().await;
        run(session, shared, words).await
    };
    let answer = match tokio::time::timeout(shared.options.command, working).await {
        Ok(answer) => answer,
        Err(_) => Err(Reply::error("the answer took too long; ask for less, or try again")),
    };
    if answer.is_err() {
        count(&stats.errors, 1);
    }
    if session.denied > denied {
        // Slows down whoever guesses, and nobody else.
        tokio::time::sleep(DENIED_PAUSE).await;
    }
    answer.unwrap_or_else(|error| error)
}

async fn run(session: &mut Session, shared: &Shared, words: &[Vec<u8>]) -> Answer {
    let Some((first, arguments)) = words.split_first() else { return Err(Reply::error(SYNTAX)) };
    let name = String::from_utf8_lossy(first).to_ascii_lowercase();
    let Some((arity, command)) = table::find(&name) else { return Err(unknown(first, arguments)) };
    if !table::fits(arity, words.len()) {
        return Err(wrong_number(&name));
    }
    if !session.authenticated && !matches!(name.as_str(), "auth" | "hello" | "quit" | "reset") {
        return Err(Reply::Error("NOAUTH Authentication required.".to_owned()));
    }
    let Some(command) = command else { return Err(Reply::Error(READ_ONLY.to_owned())) };
    if command.group == "connection" {
        return connection::run(session, shared, command.name, arguments);
    }
    if command.name == "command" {
        return about::command(arguments);
    }
    let snapshot = shared.keyspace.snapshot(session.database).await?;
    let asked = Asked { snapshot, options: &shared.options, words };
    let reply = match command.group {
        "hash" => hashes::run(&asked, command.name).await,
        "sorted-set" => sorted::run(&asked, command.name).await,
        "list" => lists::run(&asked, command.name).await,
        _ if command.name == "info" => about::info(&asked, shared).await,
        _ => keys::run(&asked, command.name).await,
    };
    // What was read from a snapshot that is too old may have holes, errors included.
    asked.snapshot.finish()?;
    reply
}

fn unknown(name: &[u8], arguments: &[Vec<u8>]) -> Reply {
    // As far as it would be printed: a zero byte ends a text of C.
    let text = |bytes: &[u8], most: usize| {
        let shown = bytes.iter().take(most).take_while(|byte| **byte != 0);
        String::from_utf8_lossy(&shown.copied().collect::<Vec<u8>>()).into_owned()
    };
    let mut given = String::new();
    for argument in arguments {
        if given.len() >= REPEATED {
            break;
        }
        given.push_str(&format!("'{}' ", text(argument, REPEATED - given.len())));
    }
    let name = text(name, REPEATED);
    Reply::error(format!("unknown command '{name}', with args beginning with: {given}"))
}

fn wrong_number(name: &str) -> Reply {
    Reply::error(format!("wrong number of arguments for '{name}' command"))
}

/// A request, and the keys at the moment it is answered.
struct Asked<'a> {
    snapshot: Arc<dyn Snapshot>,
    options: &'a Options,
    words: &'a [Vec<u8>],
}

impl<'a> Asked<'a> {
    /// A word; the name is word 0. Arities were checked, so that those a command needs are there.
    fn word(&self, index: usize) -> &'a [u8] {
        self.words.get(index).map(Vec::as_slice).unwrap_or_default()
    }

    /// The words from one on.
    fn from(&self, index: usize) -> &'a [Vec<u8>] {
        self.words.get(index..).unwrap_or_default()
    }

    fn whole(&self, index: usize) -> Result<i64, Reply> {
        whole(self.word(index))
    }

    /// What is under the key, which is word 1.
    async fn value(&self) -> Result<Option<Value>, Reply> {
        Ok(self.snapshot.find(self.word(1)).await?)
    }

    fn budget(&self) -> Budget {
        let Options { reply_elements, reply_bytes, .. } = *self.options;
        Budget {
            elements: reply_elements,
            bytes: reply_bytes,
            limits: (reply_elements, reply_bytes),
        }
    }
}

fn whole(word: &[u8]) -> Result<i64, Reply> {
    crate::number::whole(word).ok_or_else(|| Reply::error(NO_INTEGER))
}

fn is(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}

/// What an answer may still have.
struct Budget {
    elements: u64,
    bytes: u64,
    limits: (u64, u64),
}

impl Budget {
    /// Takes so many elements, before they are read.
    fn elements(&mut self, count: u64) -> Result<(), Failure> {
        let left = self.elements.checked_sub(count);
        self.elements = left.ok_or(Failure::TooLarge { limit: self.limits.0, what: "elements" })?;
        Ok(())
    }

    /// Takes the bytes of an element.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let left = self.bytes.checked_sub(bytes.len() as u64 + OVERHEAD);
        self.bytes = left.ok_or(Failure::TooLarge { limit: self.limits.1, what: "bytes" })?;
        Ok(())
    }
}

/// First position and number of entries of a range that may count from the end.
fn stretch(start: i64, stop: i64, length: u64) -> (u64, u64) {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let from_end = |index: i64| if index < 0 { length.saturating_add(index) } else { index };
    let (start, stop) = (from_end(start).max(0), from_end(stop).min(length - 1));
    let count = if start > stop { 0 } else { stop - start + 1 };
    (start.unsigned_abs(), count.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_from_either_end() {
        let cases = [
            ((0, -1), (0, 5)),
            ((-2, -1), (3, 2)),
            ((-100, 1), (0, 2)),
            ((3, 100), (3, 2)),
            ((4, 2), (4, 0)),
            ((5, 9), (5, 0)),
            ((0, -6), (0, 0)),
            ((i64::MIN, i64::MAX), (0, 5)),
        ];
        for ((start, stop), expected) in cases {
            assert_eq!(stretch(start, stop, 5), expected, "{start} {stop}");
        }
        assert_eq!(stretch(0, -1, 0), (0, 0));
    }

    #[test]
    fn an_unknown_command_is_named_with_a_part_of_its_words() {
        let long = vec![b'a'; 500];
        let Reply::Error(text) = unknown(b"FOO", &[b"bar".to_vec(), long]) else { panic!() };
        assert!(text.starts_with("ERR unknown command 'FOO', with args beginning with: 'bar' 'aa"));
        assert!(text.len() < 250);
    }
}
