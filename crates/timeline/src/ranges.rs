//! Sets of units as ranges: what is hidden, what was popped.

use serde::{Deserialize, Serialize};

use crate::Unit;

/// A set of units, kept as sorted ranges that neither touch nor overlap.
///
/// On disk each range is its distance from the one before and its length, so that a thousand ranges
/// take a few kilobytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct UnitSet {
    /// First and last unit of each range.
    ranges: Vec<(u64, u64)>,
}

impl From<Vec<(u64, u64)>> for UnitSet {
    fn from(steps: Vec<(u64, u64)>) -> Self {
        let mut set = Self::default();
        let mut end = 0u64;
        for (gap, length) in steps {
            let first = end.saturating_add(gap);
            let last = first.saturating_add(length);
            set.add(Unit(first), Unit(last));
            end = last;
        }
        set
    }
}

impl From<UnitSet> for Vec<(u64, u64)> {
    fn from(set: UnitSet) -> Self {
        let mut end = 0;
        let step = |(first, last): (u64, u64)| {
            let step = (first - end, last - first);
            end = last;
            step
        };
        set.ranges.into_iter().map(step).collect()
    }
}

impl UnitSet {
    /// Whether `unit` is in the set. A binary search: what every visible row is asked.
    #[must_use]
    pub fn contains(&self, unit: Unit) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= unit.0);
        after
            .checked_sub(1)
            .and_then(|i| self.ranges.get(i))
            .is_some_and(|(_, last)| unit.0 <= *last)
    }

    /// Adds all units from `first` to `last`; nothing if `first` is above `last`.
    pub fn add(&mut self, first: Unit, last: Unit) {
        if first > last {
            return;
        }
        let (mut first, mut last) = (first.0, last.0);
        // Ranges that overlap or touch the new one are one run of the sorted list.
        let start = self.ranges.partition_point(|(_, end)| end.saturating_add(1) < first);
        let end = self.ranges.partition_point(|(begin, _)| *begin <= last.saturating_add(1));
        if let Some(touched) = self.ranges.get(start..end).filter(|touched| !touched.is_empty()) {
            first = touched.first().map_or(first, |range| range.0.min(first));
            last = touched.last().map_or(last, |range| range.1.max(last));
        }
        self.ranges.splice(start..end, [(first, last)]);
    }

    /// Adds one unit.
    pub fn insert(&mut self, unit: Unit) {
        self.add(unit, unit);
    }

    /// Adds all of another set. Costs as much as both have ranges.
    pub fn merge(&mut self, other: &Self) {
        let mut all = Vec::with_capacity(self.ranges.len() + other.ranges.len());
        let (mut left, mut right) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        loop {
            let from_left = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => a.0 <= b.0,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let Some(range) = (if from_left { left.next() } else { right.next() }) else { break };
            push_joined(&mut all, *range);
        }
        self.ranges = all;
    }

    /// Number of ranges.
    #[must_use]
    pub fn range_count(&self) -> usize {
        self.ranges.len()
    }

    /// Number of units.
    #[must_use]
    pub fn unit_count(&self) -> u64 {
        self.ranges.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// The units, lowest first.
    pub fn units(&self) -> impl Iterator<Item = Unit> + '_ {
        self.ranges.iter().flat_map(|(first, last)| (*first..=*last).map(Unit))
    }

    /// The units of this set that are not in `other`. Costs as much as both have ranges.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let mut rest = Vec::new();
        let mut holes = other.ranges.iter().peekable();
        for (first, last) in &self.ranges {
            let mut from = *first;
            while let Some((low, high)) = holes.peek().filter(|(low, _)| low <= last) {
                if *low > from {
                    rest.push((from, low - 1));
                }
                from = from.max(high.saturating_add(1));
                if high > last {
                    // It reaches into the next range too.
                    break;
                }
                holes.next();
            }
            if from <= *last {
                rest.push((from, *last));
            }
        }
        Self { ranges: rest }
    }

    /// Takes the `count` lowest ranges out.
    #[must_use]
    pub fn take_lowest(&mut self, count: usize) -> Self {
        let rest = self.ranges.split_off(count.min(self.ranges.len()));
        Self { ranges: std::mem::replace(&mut self.ranges, rest) }
    }
}

/// Appends a range that begins no earlier than the last one, joining them where they touch.
fn push_joined(ranges: &mut Vec<(u64, u64)>, (first, last): (u64, u64)) {
    match ranges.last_mut() {
        Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
        _ => ranges.push((first, last)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_set_equals_a_plain_set_at_random() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..200 {
            let (mut set, mut plain) = (UnitSet::default(), BTreeSet::new());
            for _ in 0..60 {
                let first = rng.u64(1..200);
                let last = first + rng.u64(0..8);
                set.add(Unit(first), Unit(last));
                plain.extend(first..=last);
            }
            let found: Vec<u64> = set.units().map(|unit| unit.0).collect();
            assert_eq!(found, plain.iter().copied().collect::<Vec<_>>());
            assert!((0..220).all(|unit| set.contains(Unit(unit)) == plain.contains(&unit)));
            let apart = set.ranges.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0);
            assert!(apart, "ranges neither touch nor overlap: {set:?}");
            assert_eq!(UnitSet::from(Vec::from(set.clone())), set);
            let (mut other, mut holes) = (UnitSet::default(), BTreeSet::new());
            for _ in 0..20 {
                let first = rng.u64(1..200);
                let last = first + rng.u64(0..12);
                other.add(Unit(first), Unit(last));
                holes.extend(first..=last);
            }
            let found: Vec<u64> = set.without(&other).units().map(|unit| unit.0).collect();
            assert_eq!(found, plain.difference(&holes).copied().collect::<Vec<_>>());
            let mut both = set.clone();
            both.merge(&other);
            let found: Vec<u64> = both.units().map(|unit| unit.0).collect();
            assert_eq!(found, plain.union(&holes).copied().collect::<Vec<_>>());
            let mut rest = set.clone();
            let mut low = rest.take_lowest(3);
            low.merge(&rest);
            assert_eq!(low, set);
        }
    }
}
