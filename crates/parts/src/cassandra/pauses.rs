//! A node that stops in the middle of its work and goes on, again and again.
//!
//! What was sent to it meanwhile is answered late or never in time, but mostly done all the same:
//! the honest way to requests whose outcome is unknown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Server;
use crate::process::PartError;

/// A node that is paused with SIGSTOP and resumed by a thread of its own.
#[derive(Debug)]
pub struct Pauses {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(Server, u32), PartError>>>,
}

impl Pauses {
    /// Begins. `rhythm` says how long the node is awake and how long it then sleeps.
    pub fn start(
        mut server: Server,
        mut rhythm: impl FnMut() -> (Duration, Duration) + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let thread = thread::spawn(move || {
            let mut pauses = 0;
            while !asked.load(Ordering::Relaxed) {
                let (awake, asleep) = rhythm();
                thread::sleep(awake);
                server.process().pause()?;
                thread::sleep(asleep);
                server.process().resume()?;
                pauses += 1;
            }
            Ok((server, pauses))
        });
        Self { stop, thread: Some(thread) }
    }

    /// Ends after the pause that is under way. Returns the node, awake, and how often it slept.
    ///
    /// # Errors
    ///
    /// When the node died, and so could not be paused or resumed.
    ///
    /// # Panics
    ///
    /// When `rhythm` panicked.
    pub fn end(mut self) -> Result<(Server, u32), PartError> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it is ended once").join().expect("the rhythm does not panic")
    }
}

impl Drop for Pauses {
    fn drop(&mut self) {
        // A test that failed does not wait; the thread ends by itself, and the node with it.
        self.stop.store(true, Ordering::Relaxed);
    }
}
