//! What a connection knows: its protocol, its name, and whether it gave the password.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use crate::options::{Options, count};
use crate::reply::{Protocol, Reply};
use crate::{Keyspace, Stats};

/// Databases that SELECT takes.
pub(crate) const DATABASES: u8 = 16;
/// Bytes of a name or of what a library says of itself.
const NAME_BYTES: usize = 256;

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) keyspace: Arc<dyn Keyspace>,
    pub(crate) options: Options,
    pub(crate) started: Instant,
    pub(crate) port: u16,
    /// Bounds the commands that run at a time.
    pub(crate) working: Semaphore,
}

impl Shared {
    pub(crate) fn new(keyspace: Arc<dyn Keyspace>, options: Options, port: u16) -> Self {
        let working = Semaphore::new(options.working.clamp(1, Semaphore::MAX_PERMITS));
        Self { keyspace, options, started: Instant::now(), port, working }
    }

    pub(crate) fn stats(&self) -> &Stats {
        &self.options.stats
    }
}

/// One connection.
pub(crate) struct Session {
    pub(crate) id: u64,
    pub(crate) peer: SocketAddr,
    pub(crate) begun: Instant,
    pub(crate) protocol: Protocol,
    pub(crate) database: u8,
    pub(crate) name: Vec<u8>,
    pub(crate) library: Vec<u8>,
    pub(crate) library_version: Vec<u8>,
    pub(crate) authenticated: bool,
    /// Wrong passwords it gave.
    pub(crate) denied: u64,
    /// The connection ends after this answer.
    pub(crate) closing: bool,
}

impl Session {
    pub(crate) fn new(id: u64, peer: SocketAddr, shared: &Shared) -> Self {
        Self {
            id,
            peer,
            begun: Instant::now(),
            protocol: Protocol::Two,
            database: 0,
            name: Vec::new(),
            library: Vec::new(),
            library_version: Vec::new(),
            authenticated: shared.options.password.is_none(),
            denied: 0,
            closing: false,
        }
    }

    /// As if it had just begun.
    pub(crate) fn reset(&mut self, shared: &Shared) {
        self.protocol = Protocol::Two;
        self.database = 0;
        self.name.clear();
        self.authenticated = shared.options.password.is_none();
    }

    /// Takes a user and a password, or says why not. The only user is called `default`.
    pub(crate) fn authenticate(
        &mut self,
        shared: &Shared,
        user: &[u8],
        password: &[u8],
    ) -> Result<(), Reply> {
        let right = match &shared.options.password {
            // Who is not asked for a password may give any.
            None => true,
            Some(expected) => expected.as_bytes().ct_eq(password).into(),
        };
        if user == b"default" && right {
            self.authenticated = true;
            return Ok(());
        }
        count(&shared.stats().denied, 1);
        self.denied += 1;
        let text = "WRONGPASS invalid username-password pair or user is disabled.";
        Err(Reply::Error(text.to_owned()))
    }

    /// Takes a name, or says what is wrong with it. An empty one takes the name away.
    pub(crate) fn rename(&mut self, name: &[u8]) -> Result<(), Reply> {
        check_name(name, "Client names cannot contain spaces, newlines or special characters.")?;
        self.name = name.to_vec();
        Ok(())
    }

    /// The line of CLIENT INFO and CLIENT LIST.
    pub(crate) fn line(&self, command: &str) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let resp = if self.protocol == Protocol::Three { 3 } else { 2 };
        format!(
            "id={} addr={} name={} age={} idle=0 flags=r db={} cmd={command} user=default \
             lib-name={} lib-ver={} resp={resp}\n",
            self.id,
            self.peer,
            text(&self.name),
            self.begun.elapsed().as_secs(),
            self.database,
            text(&self.library),
            text(&self.library_version),
        )
    }
}

/// Whether a name has only what can stand in one word of a line.
pub(crate) fn check_name(name: &[u8], wrong: &str) -> Result<(), Reply> {
    if name.iter().any(|byte| !(b'!'..=b'~').contains(byte)) {
        return Err(Reply::error(wrong));
    }
    if name.len() > NAME_BYTES {
        return Err(Reply::error(format!("a name has at most {NAME_BYTES} bytes")));
    }
    Ok(())
}
