//! Growing delays for those who guess.
//!
//! Two counts, because each alone can be walked around: per account (many addresses, one victim)
//! and per client address (one address, many victims).

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use moka::ops::compute::Op;
use moka::sync::Cache;

use crate::clock::{DAY, HOUR, MINUTE, SECOND};

use super::Throttle;

/// Keys that are remembered in memory at the most.
const REMEMBERED: u64 = 65_536;
/// The longest delay. It also bounds how long somebody else's guesses keep an owner out.
const LONGEST: u64 = 15 * MINUTE;

/// When delays begin and when attempts are forgotten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Attempts without a delay.
    free: u32,
    /// Quiet milliseconds after which all is forgotten.
    forget: u64,
}

/// For one account: people mistype a few times.
pub(crate) const ACCOUNT: Policy = Policy { free: 5, forget: DAY };
/// For one address: a whole office may stand behind it.
pub(crate) const ADDRESS: Policy = Policy { free: 30, forget: HOUR };

impl Policy {
    /// Counts an attempt at `now`, or says how many milliseconds to wait.
    pub(crate) fn attempt(self, old: Throttle, now: u64) -> Result<Throttle, u64> {
        let old =
            if now.saturating_sub(old.last) > self.forget { Throttle::default() } else { old };
        // A clock that was set back must not keep anybody out for longer than the longest delay.
        let wait = old.until.saturating_sub(now).min(LONGEST);
        if wait > 0 {
            return Err(wait);
        }
        let attempts = old.attempts.saturating_add(1);
        Ok(Throttle { attempts, until: now + self.delay(attempts), last: now })
    }

    /// What the attempt with this number lets the next one wait.
    fn delay(self, attempts: u32) -> u64 {
        match attempts.saturating_sub(self.free) {
            0 => 0,
            beyond => (SECOND << (beyond - 1).min(20)).min(LONGEST),
        }
    }
}

/// Seconds to tell a person: never none.
pub(crate) fn seconds(millis: u64) -> u64 {
    millis.div_ceil(SECOND).max(1)
}

/// What stands for a client: its IPv4 address, or the /64 of its IPv6 address, because whoever has
/// one address of that network has them all.
#[must_use]
pub fn client_key(address: IpAddr) -> [u8; 8] {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, d] = v4.octets();
            [0, 0, 0, 0, a, b, c, d]
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => client_key(IpAddr::V4(v4)),
            None => (u128::from(v6) >> 64).to_be_bytes().last_chunk().copied().unwrap_or([0; 8]),
        },
    }
}

/// Counts in memory, bounded, under keys that are hashed with a secret of this process: nobody can
/// choose keys that meet, and no address is kept.
#[derive(Debug)]
pub(crate) struct Counts {
    policy: Policy,
    hasher: RandomState,
    counts: Cache<u64, Throttle>,
}

impl Counts {
    pub(crate) fn new(policy: Policy) -> Self {
        let counts = Cache::builder()
            .max_capacity(REMEMBERED)
            .time_to_idle(Duration::from_millis(policy.forget))
            .build();
        Self { policy, hasher: RandomState::new(), counts }
    }

    /// Counts an attempt, or says how many milliseconds to wait.
    pub(crate) fn attempt(&self, key: &[u8], now: u64) -> Result<(), u64> {
        let mut wait = None;
        let _ = self.counts.entry(self.hasher.hash_one(key)).and_compute_with(|old| {
            let old = old.map(|entry| *entry.value()).unwrap_or_default();
            match self.policy.attempt(old, now) {
                Ok(new) => Op::Put(new),
                Err(millis) => {
                    wait = Some(millis);
                    Op::Nop
                }
            }
        });
        wait.map_or(Ok(()), Err)
    }

    /// Takes one attempt back: it was right. Not all of them, or a guesser with an account of their
    /// own would log in now and then to begin anew.
    pub(crate) fn was_right(&self, key: &[u8]) {
        let _ = self.counts.entry(self.hasher.hash_one(key)).and_compute_with(|old| match old {
            None => Op::Nop,
            Some(entry) => {
                let old = *entry.value();
                Op::Put(Throttle { attempts: old.attempts.saturating_sub(1), until: 0, ..old })
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_begin_late_grow_and_have_an_end() {
        let mut throttle = Throttle::default();
        let mut now = DAY;
        let mut waits = Vec::new();
        for _ in 0..20 {
            throttle = ACCOUNT.attempt(throttle, now).expect("waited long enough");
            waits.push(throttle.until - now);
            if throttle.until > now {
                let early = ACCOUNT.attempt(throttle, throttle.until - 1);
                assert_eq!(early, Err(1), "an early attempt does not count, and waits on");
            }
            now = throttle.until;
        }
        assert_eq!(waits[..7], [0, 0, 0, 0, 0, SECOND, 2 * SECOND]);
        assert!(waits.is_sorted());
        assert_eq!(waits.last(), Some(&LONGEST));
        let quiet = ACCOUNT.attempt(throttle, now + DAY + 1).expect("forgotten");
        assert_eq!(quiet.attempts, 1);
    }

    #[test]
    fn a_clock_set_back_keeps_nobody_out_for_long() {
        let throttle = Throttle { attempts: 9, until: 100 * DAY, last: 100 * DAY };
        assert_eq!(ACCOUNT.attempt(throttle, DAY), Err(LONGEST));
    }

    #[test]
    fn an_address_is_counted_and_a_right_login_takes_back_its_own_attempt_only() {
        let counts = Counts::new(ADDRESS);
        for _ in 0..=ADDRESS.free {
            assert_eq!(counts.attempt(b"one", 5), Ok(()));
        }
        assert_eq!(counts.attempt(b"one", 5), Err(SECOND));
        assert_eq!(counts.attempt(b"two", 5), Ok(()));
        counts.was_right(b"one");
        assert_eq!(counts.attempt(b"one", 5), Ok(()));
        assert_eq!(counts.attempt(b"one", 5), Err(SECOND));
    }

    #[test]
    fn an_ipv6_network_is_one_client() {
        let key = |text: &str| client_key(text.parse().expect("an address"));
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:2"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:10.0.0.1"), key("10.0.0.1"));
        assert_ne!(key("10.0.0.2"), key("10.0.0.1"));
    }
}
