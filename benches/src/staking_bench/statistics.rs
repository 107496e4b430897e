//! Sums of all, of each finality provider and of each staker; and the plain list to compare with.

use std::collections::{BTreeMap, HashSet};

use anyhow::ensure;

use super::events::{Event, State};

/// What is counted. Satoshi and delegations; what is unbonded leaves only the active ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) active_tvl: i64,
    pub(crate) total_tvl: i64,
    pub(crate) active_delegations: i64,
    pub(crate) total_delegations: i64,
}

impl Sums {
    /// What an event changes.
    pub(crate) fn change(event: &Event) -> Self {
        match event.state {
            State::Active => Self {
                active_tvl: event.value,
                total_tvl: event.value,
                active_delegations: 1,
                total_delegations: 1,
            },
            State::Unbonded => {
                Self { active_tvl: -event.value, active_delegations: -1, ..Self::default() }
            }
        }
    }

    /// Adds another.
    pub(crate) fn add(&mut self, other: Self) {
        self.active_tvl += other.active_tvl;
        self.total_tvl += other.total_tvl;
        self.active_delegations += other.active_delegations;
        self.total_delegations += other.total_delegations;
    }
}

/// All sums, under the keys of those they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub(crate) overall: Sums,
    pub(crate) providers: BTreeMap<String, Sums>,
    pub(crate) stakers: BTreeMap<String, Sums>,
}

impl Statistics {
    /// Those of a plain list: whatever comes again is passed over.
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut seen = HashSet::new();
        let mut found = Self::default();
        for event in events.iter().filter(|event| seen.insert((&event.hash, event.state))) {
            let change = Sums::change(event);
            found.overall.add(change);
            found.providers.entry(event.provider.clone()).or_default().add(change);
            found.stakers.entry(event.staker.clone()).or_default().add(change);
        }
        found
    }

    /// Compares all sums.
    ///
    /// # Errors
    /// With the first that differs.
    pub(crate) fn compare(&self, expected: &Self) -> anyhow::Result<()> {
        let (found, wanted) = (self.overall, expected.overall);
        ensure!(found == wanted, "overall: counted {found:?}, and it is {wanted:?}");
        let kinds = [
            ("provider", &self.providers, &expected.providers),
            ("staker", &self.stakers, &expected.stakers),
        ];
        for (kind, found, wanted) in kinds {
            for (key, wanted) in wanted {
                let found = found.get(key).copied().unwrap_or_default();
                ensure!(found == *wanted, "{kind} {key}: counted {found:?}, and it is {wanted:?}");
            }
            let (found, wanted) = (found.len(), wanted.len());
            ensure!(found == wanted, "{found} keys of kind {kind} were counted, not {wanted}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::events;
    use super::*;

    fn delegation(hash: &str, value: i64, state: State) -> Event {
        let (staker, provider) = ("s".to_owned(), "p".to_owned());
        Event { hash: hash.to_owned(), staker, provider, value, state }
    }

    #[test]
    fn each_state_of_a_delegation_counts_once() {
        let told = [
            delegation("a", 5, State::Active),
            delegation("b", 7, State::Active),
            delegation("a", 5, State::Active),
            delegation("a", 5, State::Unbonded),
            delegation("a", 5, State::Unbonded),
        ];
        let found = Statistics::of(&told);
        let sums =
            Sums { active_tvl: 7, total_tvl: 12, active_delegations: 1, total_delegations: 2 };
        assert_eq!(found.overall, sums);
        assert_eq!(found.providers.get("p"), Some(&sums));
        assert_eq!(found.stakers.get("s"), Some(&sums));
    }

    #[test]
    fn a_lost_count_is_noticed() {
        let told = events(3, 100);
        let whole = Statistics::of(&told);
        assert!(whole.compare(&whole).is_ok());
        let mut lossy = whole.clone();
        lossy.overall.active_delegations -= 1;
        assert!(lossy.compare(&whole).is_err());
        let mut lossy = whole.clone();
        lossy.stakers.pop_first();
        assert!(lossy.compare(&whole).is_err());
        let mut more = whole.clone();
        more.providers.insert("nobody".to_owned(), Sums::default());
        assert!(more.compare(&whole).is_err());
    }
}
