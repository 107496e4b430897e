//! What happens over time: load per window, and a sample of values in their order.

use std::collections::{BTreeMap, BinaryHeap};

use crate::random::mix;

/// Values longer than this are compared by their beginning.
const VALUE_BYTES: usize = 64;
/// Sampled values per window.
const WINDOW_SAMPLE: usize = 256;

/// A sampled value: ordered by position, then by arrival.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sighting {
    pub(crate) position: u64,
    arrival: u64,
    pub(crate) value: Box<[u8]>,
}

/// The sightings with the lowest priorities. Priorities are a fixed function of the arrival number,
/// so this is a uniform sample, two of them merge into one, and the same input gives the same
/// sample.
#[derive(Clone, Debug)]
struct LowestPriorities {
    heap: BinaryHeap<(u64, Sighting)>,
    capacity: usize,
}

impl LowestPriorities {
    fn new(capacity: usize) -> Self {
        Self { heap: BinaryHeap::new(), capacity }
    }

    fn offer(&mut self, position: u64, arrival: u64, value: &[u8]) {
        let priority = mix(arrival);
        let full = self.heap.len() >= self.capacity;
        if full && self.heap.peek().is_none_or(|(highest, _)| *highest <= priority) {
            return;
        }
        let value = value.get(..VALUE_BYTES).unwrap_or(value).into();
        self.push(priority, Sighting { position, arrival, value });
    }

    fn push(&mut self, priority: u64, sighting: Sighting) {
        self.heap.push((priority, sighting));
        if self.heap.len() > self.capacity {
            self.heap.pop();
        }
    }

    fn absorb(&mut self, other: Self) {
        for (priority, sighting) in other.heap {
            self.push(priority, sighting);
        }
    }

    fn in_order(&self) -> Vec<Sighting> {
        let mut sightings: Vec<_> =
            self.heap.iter().map(|(_, sighting)| sighting.clone()).collect();
        sightings.sort_unstable();
        sightings
    }
}

/// One window: rows per range of the ring, and sampled values.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) rows: Vec<u64>,
    sample: LowestPriorities,
}

/// Windows of equal width over the positions seen. When there are too many, neighbours merge and
/// the width doubles, so the number of windows is bounded whatever the span.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    width: u64,
    windows: BTreeMap<u64, Window>,
    limit: u64,
    ranges: usize,
    whole: LowestPriorities,
    arrivals: u64,
}

impl Timeline {
    pub(crate) fn new(limit: usize, ranges: usize, sample: usize) -> Self {
        Self {
            width: 1,
            windows: BTreeMap::new(),
            limit: limit.max(2) as u64,
            ranges,
            whole: LowestPriorities::new(sample.max(2)),
            arrivals: 0,
        }
    }

    pub(crate) fn add(&mut self, position: u64, range: usize, rows: u64, value: &[u8]) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.whole.offer(position, arrival, value);
        while !self.fits(position / self.width) {
            self.double();
        }
        let ranges = self.ranges;
        let window = self.windows.entry(position / self.width).or_insert_with(|| Window {
            rows: vec![0; ranges],
            sample: LowestPriorities::new(WINDOW_SAMPLE),
        });
        if let Some(sum) = window.rows.get_mut(range) {
            *sum += rows;
        }
        window.sample.offer(position, arrival, value);
    }

    /// Positions per window, once anything was seen.
    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// The windows that saw rows, each with the position it starts at.
    pub(crate) fn windows(&self) -> impl Iterator<Item = (u64, &Window)> {
        self.windows.iter().map(|(index, window)| (index * self.width, window))
    }

    /// Whether every observation is among the [`sightings`](Self::sightings).
    pub(crate) fn is_exact(&self) -> bool {
        self.arrivals as usize <= self.whole.capacity
    }

    /// A sample over the whole span, in order.
    pub(crate) fn sightings(&self) -> Vec<Sighting> {
        self.whole.in_order()
    }

    /// Samples of at most `groups` neighbouring stretches of time, each in order.
    pub(crate) fn grouped(&self, groups: usize) -> Vec<Vec<Sighting>> {
        let windows: Vec<&Window> = self.windows.values().collect();
        let size = windows.len().div_ceil(groups.max(1)).max(1);
        let in_group = |group: &[&Window]| {
            let mut all: Vec<_> =
                group.iter().flat_map(|window| window.sample.in_order()).collect();
            all.sort_unstable();
            all
        };
        windows.chunks(size).map(in_group).collect()
    }

    fn fits(&self, index: u64) -> bool {
        let first = self.windows.keys().next().copied().unwrap_or(index).min(index);
        let last = self.windows.keys().next_back().copied().unwrap_or(index).max(index);
        last - first < self.limit
    }

    fn double(&mut self) {
        self.width = self.width.saturating_mul(2);
        for (index, window) in std::mem::take(&mut self.windows) {
            match self.windows.get_mut(&(index / 2)) {
                None => {
                    self.windows.insert(index / 2, window);
                }
                Some(merged) => {
                    merged.rows.iter_mut().zip(&window.rows).for_each(|(sum, rows)| *sum += rows);
                    merged.sample.absorb(window.sample);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    #[test]
    fn windows_widen_until_any_span_fits_and_lose_no_row() {
        let seed = 5;
        println!("seed {seed}");
        let mut random = SplitMix64::new(seed);
        let mut timeline = Timeline::new(64, 4, 100);
        for _ in 0..5000 {
            timeline.add(random.below(u64::MAX), random.below(4) as usize, 3, b"v");
        }
        assert!(timeline.windows().count() <= 64);
        let rows: u64 = timeline.windows().flat_map(|(_, window)| &window.rows).sum();
        assert_eq!(rows, 15_000);
        assert_eq!(timeline.sightings().len(), 100);
        assert!(!timeline.is_exact());
    }

    #[test]
    fn a_short_span_keeps_one_window_per_position() {
        let mut timeline = Timeline::new(64, 1, 100);
        (1_700_000_000..1_700_000_010).for_each(|at| timeline.add(at, 0, 1, b"v"));
        assert_eq!((timeline.width(), timeline.windows().count()), (1, 10));
        assert!(timeline.is_exact());
    }

    #[test]
    fn sightings_come_back_in_order_of_time() {
        let mut timeline = Timeline::new(8, 1, 100);
        for position in [5, 1, 3, 2, 4] {
            timeline.add(position, 0, 1, &[position as u8]);
        }
        let values: Vec<u8> = timeline.sightings().iter().map(|s| s.value[0]).collect();
        assert_eq!(values, [1, 2, 3, 4, 5]);
        assert_eq!(timeline.grouped(2).iter().map(Vec::len).collect::<Vec<_>>(), [3, 2]);
    }
}
