//! What happens to delegations, made from a seed: skewed, in a believable order, some told twice.

/// Finality providers. A few of them have most of the delegations.
const PROVIDERS: usize = 200;
/// So many delegations for each staker, on average.
const EACH_STAKER: usize = 5;
/// Of a hundred delegations, so many are unbonded.
const UNBONDED: usize = 60;
/// Of a hundred events, so many come again.
const DOUBLED: usize = 10;
/// Satoshi: what the first phase allowed, in steps of a thousand.
const VALUES: std::ops::RangeInclusive<i64> = 50..=5_000;

/// The two states that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// The delegation counts from now on.
    Active,
    /// It counts no longer.
    Unbonded,
}

impl State {
    /// As it stands in the key of a lock.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Unbonded => "unbonded",
        }
    }
}

/// A delegation reaches a state. Hash and keys are hexadecimal, as messages have them.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Of the staking transaction.
    pub(crate) hash: String,
    pub(crate) staker: String,
    pub(crate) provider: String,
    /// Satoshi.
    pub(crate) value: i64,
    pub(crate) state: State,
}

impl Event {
    /// The key of its lock, as the paper has it.
    pub(crate) fn lock(&self) -> String {
        format!("{}:{}", self.hash, self.state.name())
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
    bytes.into_iter().flat_map(|byte| [digit(byte >> 4), digit(byte)]).collect()
}

/// Thirty-two random bytes in hexadecimal: a hash, a key.
fn random32(rng: &mut fastrand::Rng) -> String {
    hex(std::iter::repeat_with(|| rng.u8(..)).take(32))
}

/// One of so many, the first ones more often.
fn skewed(rng: &mut fastrand::Rng, count: usize, power: i32) -> usize {
    ((rng.f64().powi(power) * count as f64) as usize).min(count.saturating_sub(1))
}

/// The events of so many delegations in the order in which they are told: a delegation is unbonded
/// after it was active, and an event comes again some time after the first.
pub(crate) fn events(seed: u64, delegations: usize) -> Vec<Event> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let keys = |rng: &mut fastrand::Rng, count: usize| -> Vec<String> {
        (0..count).map(|_| random32(rng)).collect()
    };
    let providers = keys(&mut rng, PROVIDERS);
    let stakers = keys(&mut rng, (delegations / EACH_STAKER).max(1));
    let mut timed = Vec::new();
    for began in 0..delegations {
        let active = Event {
            hash: random32(&mut rng),
            staker: stakers[skewed(&mut rng, stakers.len(), 2)].clone(),
            provider: providers[skewed(&mut rng, PROVIDERS, 3)].clone(),
            value: 1_000 * rng.i64(VALUES),
            state: State::Active,
        };
        if rng.usize(0..100) < UNBONDED {
            let unbonded = Event { state: State::Unbonded, ..active.clone() };
            timed.push((began + rng.usize(1..=delegations), unbonded));
        }
        timed.push((began, active));
    }
    for index in 0..timed.len() {
        if rng.usize(0..100) < DOUBLED {
            let (first, event) = timed[index].clone();
            timed.push((first + rng.usize(0..=delegations / 10), event));
        }
    }
    // Stable, so the order is a function of the seed.
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, event)| event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_seed_makes_the_events_that_were_asked_for() {
        let made = events(7, 5_000);
        assert_eq!(made.len(), events(7, 5_000).len());
        let distinct: HashSet<String> = made.iter().map(Event::lock).collect();
        let active = distinct.iter().filter(|lock| lock.ends_with(":active")).count();
        assert_eq!(active, 5_000);
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        assert!((0.57..0.63).contains(&share(distinct.len() - active, active)));
        assert!((0.08..0.12).contains(&share(made.len() - distinct.len(), distinct.len())));
        let providers: HashSet<_> = made.iter().map(|event| &event.provider).collect();
        assert!(providers.len() > PROVIDERS * 9 / 10 && providers.len() <= PROVIDERS);
    }

    #[test]
    fn no_delegation_is_unbonded_before_it_is_active() {
        let mut active = HashSet::new();
        for event in events(8, 2_000) {
            match event.state {
                State::Active => drop(active.insert(event.hash)),
                State::Unbonded => assert!(active.contains(&event.hash)),
            }
        }
    }

    #[test]
    fn hex_has_two_digits_a_byte() {
        assert_eq!(hex([0, 0x0f, 0xa5]), "000fa5");
    }
}
