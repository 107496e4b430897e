//! Ports of the loopback address that nobody uses.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Where ports are taken from.
///
/// Below 32768, where Linux begins to take the ports of outgoing connections: a part that is killed
/// and started again on its port must not find that a client's connection has taken it meanwhile.
const PORTS: Range<u16> = 20_000..32_000;

/// Ports this process has already given out; one is never given twice.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A TCP port on 127.0.0.1 that was free a moment ago and that this process never gave out before.
///
/// Two processes start their search at different places, so they rarely meet; when they do, the
/// part that comes second fails to bind and says so in its log.
///
/// # Errors
///
/// When no port of the range is free.
pub fn free_port() -> io::Result<u16> {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    // Neighbouring process ids start 97 ports apart.
    let first = std::process::id() as usize * 97 % PORTS.len();
    for port in PORTS.skip(first).chain(PORTS.take(first)) {
        if !given.contains(&port) && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            given.insert(port);
            return Ok(port);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        format!(
            "no free port on 127.0.0.1 from {} to {}; end what uses them",
            PORTS.start, PORTS.end
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_never_repeated() {
        let ports: BTreeSet<u16> = (0..50).map(|_| free_port().expect("a port")).collect();
        assert_eq!(ports.len(), 50);
        assert!(ports.iter().all(|port| PORTS.contains(port)));
    }

    #[test]
    fn a_used_port_is_not_given() {
        let port = free_port().expect("a port");
        let _held = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("it is free");
        assert!((0..10).all(|_| free_port().expect("a port") != port));
    }
}
