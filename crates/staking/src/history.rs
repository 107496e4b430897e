//! Statistics as of a height of Bitcoin, and over time.
//!
//! Each stretch of 144 heights has a tally of what changes in it. What is staked at a height is the
//! sum of all stretches before its own, and of those entries of its own that are not above it.

use crate::BtcHeight;
use crate::derive::{STRETCH, by_stretch, of_entry, part_of};
use crate::staking::{Staking, StakingError};
use crate::tables::{Directory, Standing};

/// Entries of a stretch that are read at a time.
const PAGE: usize = 1_000;
/// Points of a series at the most.
pub const POINTS: usize = 1_000;

/// What is staked at a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The height.
    pub height: u64,
    /// The sums there.
    pub standing: Standing,
}

/// Changes that add up.
#[derive(Clone, Copy, Debug, Default)]
struct Running([i128; 4]);

impl Running {
    fn add(&mut self, values: &tally::Values) {
        for (column, sum) in self.0.iter_mut().enumerate() {
            *sum += values.get(column);
        }
    }

    fn standing(&self) -> Standing {
        let [active_tvl, total_tvl, active_delegations, total_delegations] =
            self.0.map(|sum| u64::try_from(sum).unwrap_or_default());
        Standing { active_tvl, total_tvl, active_delegations, total_delegations }
    }
}

impl Staking {
    /// What is staked at a height: stakes that began by then, without those that were unbonded,
    /// slashed or ran out by then.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn as_of(&self, height: BtcHeight) -> Result<Standing, StakingError> {
        let own = height.0 / STRETCH;
        let stretches = self.directory(Directory::Heights).await?;
        let before: Vec<u64> = stretches.into_iter().filter(|stretch| *stretch <= own).collect();
        let mut running = Running::default();
        let whole: Vec<u64> = before.iter().copied().filter(|stretch| *stretch < own).collect();
        for (_, sums) in self.stretch_sums(&whole).await? {
            running.add(&sums);
        }
        if before.last() == Some(&own) {
            self.add_part(own, height, &mut running).await?;
        }
        Ok(running.standing())
    }

    /// What is staked at the ends of stretches between two heights, at most [`POINTS`] of them,
    /// evenly chosen; the last one is that of the upper height.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn over_time(
        &self,
        from: BtcHeight,
        to: BtcHeight,
        points: usize,
    ) -> Result<Vec<Point>, StakingError> {
        let last = to.0 / STRETCH;
        let stretches = self.directory(Directory::Heights).await?;
        let known: Vec<u64> = stretches.into_iter().filter(|stretch| *stretch < last).collect();
        let sums = self.stretch_sums(&known).await?;
        let first = from.0.div_ceil(STRETCH).max(known.first().copied().unwrap_or(last));
        // The point of the upper height is one of them.
        let points = points.clamp(2, POINTS) as u64 - 1;
        let step = last.saturating_sub(first).div_ceil(points).max(1);
        let (mut running, mut sums) = (Running::default(), sums.into_iter().peekable());
        let mut series = Vec::new();
        for stretch in (first..last).step_by(usize::try_from(step).unwrap_or(1)) {
            while let Some((_, values)) = sums.next_if(|(known, _)| *known <= stretch) {
                running.add(&values);
            }
            let height = (stretch + 1) * STRETCH - 1;
            series.push(Point { height, standing: running.standing() });
        }
        series.push(Point { height: to.0, standing: self.as_of(to).await? });
        Ok(series)
    }

    async fn stretch_sums(
        &self,
        stretches: &[u64],
    ) -> Result<Vec<(u64, tally::Values)>, StakingError> {
        let parts: Vec<_> = stretches.iter().map(|stretch| part_of(*stretch)).collect();
        let sums = self.inner.tallies.part_sums(&by_stretch()?, &parts).await?;
        Ok(stretches.iter().copied().zip(sums.into_iter().map(|sums| sums.values)).collect())
    }

    /// Adds what changes in a stretch up to a height.
    async fn add_part(
        &self,
        stretch: u64,
        upto: BtcHeight,
        running: &mut Running,
    ) -> Result<(), StakingError> {
        let (tally, part, mut position) = (by_stretch()?, part_of(stretch), None);
        loop {
            let page = self.inner.tallies.part_entries(&tally, &part, position, PAGE).await?;
            for (entry, counted) in &page.entries {
                if of_entry(entry).is_some_and(|(height, _, _)| height <= upto) {
                    running.add(&counted.values);
                }
            }
            position = page.next;
            if position.is_none() {
                return Ok(());
            }
        }
    }
}
