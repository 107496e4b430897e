//! The few statistics the reports are made of. Every function is total: no input gives NaN.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// `part / whole`, and 0 when there is nothing to divide.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How many times its fair share the largest load carries; 0 when there is no load.
pub(crate) fn max_over_mean(loads: &[u64]) -> f64 {
    let total: u64 = loads.iter().sum();
    share(loads.iter().copied().max().unwrap_or(0), total) * loads.len() as f64
}

/// Standard deviation over mean.
pub(crate) fn coefficient_of_variation(loads: &[u64]) -> f64 {
    let total: u64 = loads.iter().sum();
    if total == 0 {
        return 0.0;
    }
    let mean = total as f64 / loads.len() as f64;
    let variance = loads.iter().map(|&load| (load as f64 - mean).powi(2)).sum::<f64>();
    (variance / loads.len() as f64).sqrt() / mean
}

/// The Gini coefficient: 0 when all loads are equal, close to 1 when one carries everything.
pub(crate) fn gini(loads: &[u64]) -> f64 {
    let total: u64 = loads.iter().sum();
    if total == 0 {
        return 0.0;
    }
    let mut sorted = loads.to_vec();
    sorted.sort_unstable();
    let n = sorted.len() as f64;
    let weighted: f64 =
        sorted.iter().enumerate().map(|(i, &load)| (i as f64 + 1.0) * load as f64).sum();
    (2.0 * weighted / (n * total as f64) - (n + 1.0) / n).max(0.0)
}

/// One point of a Lorenz curve: the smallest `partitions` of all partitions hold `load` of all
/// load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LorenzPoint {
    /// Share of the partitions, smallest first, 0 to 1.
    pub partitions: f64,
    /// Share of the load they hold, 0 to 1.
    pub load: f64,
}

/// The Lorenz curve of the loads in at most `steps` steps, from (0, 0) to (1, 1).
pub(crate) fn lorenz(loads: &[u64], steps: usize) -> Vec<LorenzPoint> {
    let total: u64 = loads.iter().sum();
    if total == 0 || steps == 0 {
        return Vec::new();
    }
    let mut sorted = loads.to_vec();
    sorted.sort_unstable();
    let steps = steps.min(sorted.len());
    let mut points = vec![LorenzPoint { partitions: 0.0, load: 0.0 }];
    let (mut taken, mut sum) = (0, 0u64);
    for step in 1..=steps {
        let until = sorted.len() * step / steps;
        sum += sorted.iter().skip(taken).take(until - taken).sum::<u64>();
        taken = until;
        points.push(LorenzPoint {
            partitions: taken as f64 / sorted.len() as f64,
            load: share(sum, total),
        });
    }
    points
}

/// The value at or below which `percent` of the sorted values lie (nearest rank).
pub(crate) fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

/// Spearman's rank correlation of two orders over the same items; ties share their mean rank.
///
/// 0 when one of them is constant: nothing climbs, so nothing is monotonic.
pub(crate) fn rank_correlation<A: Ord, B: Ord>(pairs: &[(A, B)]) -> f64 {
    let left = ranks(pairs, |a, b| a.0.cmp(&b.0));
    let right = ranks(pairs, |a, b| a.1.cmp(&b.1));
    let middle = (pairs.len() as f64 - 1.0) / 2.0;
    let (mut both, mut left_square, mut right_square) = (0.0, 0.0, 0.0);
    for (l, r) in left.iter().zip(&right) {
        let (l, r) = (l - middle, r - middle);
        both += l * r;
        left_square += l * l;
        right_square += r * r;
    }
    let scale = (left_square * right_square).sqrt();
    if scale > 0.0 { both / scale } else { 0.0 }
}

fn ranks<T>(items: &[T], order: impl Fn(&T, &T) -> Ordering) -> Vec<f64> {
    let mut sorted: Vec<(usize, &T)> = items.iter().enumerate().collect();
    sorted.sort_by(|a, b| order(a.1, b.1));
    let mut ranks = vec![0.0; items.len()];
    let mut next = 0;
    for ties in sorted.chunk_by(|a, b| order(a.1, b.1) == Ordering::Equal) {
        let mean = next as f64 + (ties.len() as f64 - 1.0) / 2.0;
        for (index, _) in ties {
            if let Some(rank) = ranks.get_mut(*index) {
                *rank = mean;
            }
        }
        next += ties.len();
    }
    ranks
}

/// Of the steps that change the value, the share that go up; 0.5 when none does.
///
/// Steps between equal values are left out: many rows of one month say nothing about direction.
pub(crate) fn steps_up<T: Ord>(values: &[T]) -> f64 {
    let (mut up, mut down) = (0u64, 0u64);
    for (before, after) in values.iter().zip(values.iter().skip(1)) {
        match after.cmp(before) {
            Ordering::Greater => up += 1,
            Ordering::Less => down += 1,
            Ordering::Equal => {}
        }
    }
    if up + down == 0 { 0.5 } else { share(up, up + down) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-9, "{actual} is not {expected}");
    }

    #[test]
    fn balance_figures_of_known_loads() {
        for (loads, max_mean, variation, gini_of) in [
            (&[][..], 0.0, 0.0, 0.0),
            (&[0, 0], 0.0, 0.0, 0.0),
            (&[5, 5, 5, 5], 1.0, 0.0, 0.0),
            (&[0, 0, 0, 8], 4.0, 3f64.sqrt(), 0.75),
            (&[1, 3], 1.5, 0.5, 0.25),
        ] {
            close(max_over_mean(loads), max_mean);
            close(coefficient_of_variation(loads), variation);
            close(gini(loads), gini_of);
        }
    }

    #[test]
    fn percentiles_take_the_nearest_rank() {
        let sorted: Vec<u64> = (1..=100).collect();
        for (percent, expected) in [(50, 50), (99, 99), (100, 100), (0, 1)] {
            assert_eq!(percentile(&sorted, percent), expected);
        }
        assert_eq!(percentile(&[], 99), 0);
    }

    #[test]
    fn rank_correlation_sees_order_and_not_distance() {
        for (pairs, expected) in [
            (vec![(1, 10), (2, 20), (3, 4000)], 1.0),
            (vec![(1, 3), (2, 2), (3, 1)], -1.0),
            (vec![(1, 7), (2, 7), (3, 7)], 0.0),
            (vec![], 0.0),
        ] {
            close(rank_correlation(&pairs), expected);
        }
    }

    #[test]
    fn a_lorenz_curve_ends_at_one_and_never_rises_above_the_diagonal() {
        let seed = 42;
        println!("seed {seed}");
        let mut random = SplitMix64::new(seed);
        for _ in 0..200 {
            let count = 1 + random.below(300);
            let loads: Vec<u64> = (0..count).map(|_| 1 + random.below(1000)).collect();
            let points = lorenz(&loads, 32);
            assert!(points.len() <= 33);
            assert!(points.iter().all(|point| point.load <= point.partitions + 1e-9));
            assert!(points.windows(2).all(|pair| pair[0].load <= pair[1].load));
            let last = points.last().expect("a curve has an end");
            close(last.partitions, 1.0);
            close(last.load, 1.0);
        }
    }

    #[test]
    fn steps_between_equal_values_do_not_count() {
        close(steps_up(&[1, 1, 2, 2, 3, 1]), 2.0 / 3.0);
        close(steps_up(&[4, 4, 4]), 0.5);
    }
}
