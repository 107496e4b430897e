//! Counting in bounded memory: exact until full, and then an estimate that knows its error.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use crate::random::mix;

/// A map from 64-bit hashes that keeps a uniform sample of its keys once it is full.
///
/// A key is kept while enough low bits of its mixed hash are zero. More bits are asked for only as
/// time goes on, so a key that is in the sample was in it from its first row: its value is exact.
#[derive(Clone, Debug)]
pub(crate) struct Sample<V> {
    kept: HashMap<u64, V>,
    capacity: usize,
    /// One key in `2^level` is kept.
    level: u32,
}

impl<V: Default> Sample<V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { kept: HashMap::new(), capacity: capacity.max(1), level: 0 }
    }

    /// The value of a key, or `None` when the key is not in the sample.
    pub(crate) fn entry(&mut self, key: u64) -> Option<&mut V> {
        if !Self::passes(key, self.level) {
            return None;
        }
        if !self.kept.contains_key(&key) {
            while self.kept.len() >= self.capacity {
                self.level += 1;
                let level = self.level;
                self.kept.retain(|key, _| Self::passes(*key, level));
            }
            if !Self::passes(key, self.level) {
                return None;
            }
        }
        Some(self.kept.entry(key).or_default())
    }

    /// The number of different keys: exact at level 0.
    pub(crate) fn distinct(&self) -> u64 {
        (self.kept.len() as u64) << self.level.min(40)
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.level == 0
    }

    pub(crate) fn kept(&self) -> impl Iterator<Item = (u64, &V)> {
        self.kept.iter().map(|(key, value)| (*key, value))
    }

    /// Mixed, because the bits of a token also choose its node: sampling by them would favour
    /// nodes.
    fn passes(key: u64, level: u32) -> bool {
        mix(key).trailing_zeros() >= level
    }
}

/// The heaviest keys of a stream: Misra and Gries's counters, purged half at a time.
///
/// When full, the median counter is taken off all counters and the empty ones are dropped; the sum
/// of what was taken off bounds the error of every count.
#[derive(Clone, Debug)]
pub(crate) struct Frequent<K> {
    counts: HashMap<K, u64>,
    capacity: usize,
    missed: u64,
}

impl<K: Hash + Eq + Ord + Clone> Frequent<K> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { counts: HashMap::new(), capacity: capacity.max(2), missed: 0 }
    }

    pub(crate) fn add<Q>(&mut self, key: &Q, weight: u64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if weight == 0 {
            return;
        }
        if let Some(count) = self.counts.get_mut(key) {
            *count = count.saturating_add(weight);
            return;
        }
        self.counts.insert(key.to_owned(), weight);
        if self.counts.len() > self.capacity {
            self.purge();
        }
    }

    /// What a count may lack: the truth lies between `count` and `count + missed`.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }

    /// The `limit` heaviest keys, heaviest first; ties in key order, so that reports can be
    /// compared.
    pub(crate) fn top(&self, limit: usize) -> Vec<(K, u64)> {
        let mut all: Vec<_> = self.counts.iter().map(|(key, count)| (key, *count)).collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        all.into_iter().take(limit).map(|(key, count)| (key.clone(), count)).collect()
    }

    fn purge(&mut self) {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let median = *median;
        self.missed = self.missed.saturating_add(median);
        self.counts.retain(|_, count| {
            *count = count.saturating_sub(median);
            *count > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn a_sample_is_exact_until_it_is_full() {
        let mut sample = Sample::<u64>::new(1000);
        for key in (0..1000).chain(0..1000) {
            *sample.entry(key).expect("below the capacity every key is kept") += 1;
        }
        assert!(sample.is_exact());
        assert_eq!(sample.distinct(), 1000);
        assert!(sample.kept().all(|(_, count)| *count == 2));
    }

    #[test]
    fn a_full_sample_estimates_the_number_of_keys_and_keeps_exact_values() {
        let mut sample = Sample::<u64>::new(4096);
        for key in (0..200_000).chain(0..200_000) {
            if let Some(count) = sample.entry(key) {
                *count += 1;
            }
        }
        assert!(!sample.is_exact());
        assert!(sample.kept.len() <= 4096);
        let ratio = sample.distinct() as f64 / 200_000.0;
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
        assert!(sample.kept().all(|(_, count)| *count == 2));
    }

    #[test]
    fn heavy_keys_survive_a_long_tail_within_the_stated_error() {
        let seed = 99;
        println!("seed {seed}");
        let mut random = SplitMix64::new(seed);
        let mut frequent = Frequent::<u64>::new(256);
        let (mut heavy, mut total) = ([0u64; 3], 0u64);
        for _ in 0..100_000 {
            let weight = 1 + random.below(3);
            let key = if random.below(10) < 3 { random.below(3) } else { 10 + random.next() / 2 };
            if let Some(count) = heavy.get_mut(key as usize) {
                *count += weight;
            }
            total += weight;
            frequent.add(&key, weight);
        }
        assert!(frequent.counts.len() <= 256);
        assert!(frequent.missed() < total / 64, "{} of {total}", frequent.missed());
        for (key, truth) in heavy.iter().enumerate() {
            let (_, count) = frequent
                .top(3)
                .into_iter()
                .find(|(found, _)| *found == key as u64)
                .expect("a heavy key is among the top");
            assert!(count <= *truth && *truth <= count + frequent.missed());
        }
    }

    #[test]
    fn few_keys_are_counted_exactly() {
        let mut frequent = Frequent::<Vec<u8>>::new(4);
        for key in [b"a", b"b", b"a", b"c"] {
            frequent.add(&key[..], 1);
        }
        assert_eq!(frequent.top(1), [(b"a".to_vec(), 2)]);
        assert_eq!(frequent.missed(), 0);
    }
}
