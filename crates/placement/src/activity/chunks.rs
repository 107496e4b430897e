//! A sharded collection as MongoDB keeps it: sorted documents cut into chunks, chunks dealt out to
//! shards.

use std::collections::BTreeMap;
use std::ops::Bound;

/// A shard key of two parts, the first of which decides the neighbourhood.
pub(crate) type Key = (u32, u32);

#[derive(Clone, Copy, Debug)]
struct Chunk {
    shard: usize,
    documents: u32,
}

/// A collection: where its chunks are, and how many documents stand under each key.
#[derive(Debug)]
pub(crate) struct Collection {
    /// Chunks by their lowest key; each ends where the next begins.
    chunks: BTreeMap<Key, Chunk>,
    documents: BTreeMap<Key, u32>,
    /// Chunks per shard.
    counts: Vec<u32>,
    /// A chunk with more documents is split.
    limit: u32,
}

impl Collection {
    /// One empty chunk on the first shard.
    pub(crate) fn ranged(shards: u16, limit: u32) -> Self {
        let mut collection = Self {
            chunks: BTreeMap::new(),
            documents: BTreeMap::new(),
            counts: vec![0; usize::from(shards.max(1))],
            limit: limit.max(1),
        };
        collection.add_chunk((0, 0), Chunk { shard: 0, documents: 0 });
        collection
    }

    /// Two empty chunks per shard, cutting the first part of the key evenly: right for hashes.
    pub(crate) fn hashed(shards: u16, limit: u32) -> Self {
        let mut collection = Self::ranged(shards, limit);
        let chunks = 2 * u64::from(shards.max(1));
        for index in 1..chunks {
            let lowest = ((1u64 << 32) * index / chunks) as u32;
            collection.add_chunk((lowest, 0), Chunk { shard: (index / 2) as usize, documents: 0 });
        }
        collection
    }

    /// The shard that holds a key.
    pub(crate) fn shard_of(&self, key: Key) -> usize {
        self.chunks.range(..=key).next_back().map_or(0, |(_, chunk)| chunk.shard)
    }

    /// Adds a document, and splits its chunk when that has grown too large.
    pub(crate) fn insert(&mut self, key: Key) {
        *self.documents.entry(key).or_default() += 1;
        if let Some((&lowest, chunk)) = self.chunks.range_mut(..=key).next_back() {
            chunk.documents += 1;
            if chunk.documents > self.limit {
                self.split(lowest);
            }
        }
    }

    /// Moves chunks from the fullest to the emptiest shard until counts differ by at most one.
    pub(crate) fn balance(&mut self) {
        while let Some((donor, receiver)) = self.imbalance() {
            let Some(chunk) = self.chunks.values_mut().find(|chunk| chunk.shard == donor) else {
                return;
            };
            chunk.shard = receiver;
            self.count(donor, |count| count - 1);
            self.count(receiver, |count| count + 1);
        }
    }

    pub(crate) fn chunks(&self) -> usize {
        self.chunks.len()
    }

    fn imbalance(&self) -> Option<(usize, usize)> {
        let (mut fullest, mut emptiest) = ((0, u32::MIN), (0, u32::MAX));
        for (shard, &count) in self.counts.iter().enumerate() {
            if count > fullest.1 {
                fullest = (shard, count);
            }
            if count < emptiest.1 {
                emptiest = (shard, count);
            }
        }
        (fullest.1 > emptiest.1 + 1).then_some((fullest.0, emptiest.0))
    }

    /// Splits at the median document. All documents of one key stay together: a shard key is not
    /// divisible.
    fn split(&mut self, lowest: Key) {
        let Some(chunk) = self.chunks.get(&lowest).copied() else { return };
        let above = (Bound::Excluded(lowest), Bound::Unbounded);
        let end = self.chunks.range(above).next().map(|(key, _)| *key);
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        let mut below = 0;
        let mut at = None;
        for (key, documents) in self.documents.range((Bound::Included(lowest), end)) {
            if below > 0 && below >= chunk.documents / 2 {
                at = Some(*key);
                break;
            }
            below += documents;
        }
        let Some(at) = at else { return };
        if let Some(lower) = self.chunks.get_mut(&lowest) {
            lower.documents = below;
        }
        self.add_chunk(at, Chunk { shard: chunk.shard, documents: chunk.documents - below });
    }

    fn add_chunk(&mut self, lowest: Key, chunk: Chunk) {
        self.chunks.insert(lowest, chunk);
        self.count(chunk.shard, |count| count + 1);
    }

    fn count(&mut self, shard: usize, change: impl Fn(u32) -> u32) {
        if let Some(count) = self.counts.get_mut(shard) {
            *count = change(*count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn a_full_chunk_is_split_at_its_median_and_stays_on_its_shard() {
        let mut collection = Collection::ranged(4, 10);
        for user in 0..11 {
            collection.insert((1, user));
        }
        let sizes: Vec<u32> = collection.chunks.values().map(|chunk| chunk.documents).collect();
        assert_eq!(sizes, [5, 6]);
        assert_eq!(collection.counts, [2, 0, 0, 0]);
    }

    #[test]
    fn one_key_is_never_split() {
        let mut collection = Collection::ranged(4, 3);
        (0..20).for_each(|_| collection.insert((1, 1)));
        assert_eq!(collection.chunks(), 1);
    }

    #[test]
    fn a_hashed_collection_starts_with_two_chunks_on_every_shard() {
        assert_eq!(Collection::hashed(16, 10).counts, [2; 16]);
    }

    #[test]
    fn balancing_loses_no_document_and_leaves_counts_even() {
        let seed = 20_160_502;
        println!("seed {seed}");
        let mut random = SplitMix64::new(seed);
        let mut collection = Collection::ranged(5, 8);
        for _ in 0..2000 {
            collection.insert((random.below(40) as u32, random.below(50) as u32));
        }
        collection.balance();
        let documents: u32 = collection.chunks.values().map(|chunk| chunk.documents).sum();
        assert_eq!(documents, 2000);
        let mut counted = vec![0; 5];
        collection.chunks.values().for_each(|chunk| counted[chunk.shard] += 1);
        assert_eq!(counted, collection.counts);
        let spread = counted.iter().max().expect("a shard") - counted.iter().min().expect("one");
        assert!(spread <= 1, "{counted:?}");
    }
}
