//! The audit: everything is counted again from the delegations and compared with the sums.

use std::collections::{BTreeMap, HashMap};

use store::{Entry, KeyReader, Maintenance, ReadError, Value as _};

use crate::delegation::Delegation;
use crate::derive::{self, STRETCH};
use crate::query::standing;
use crate::staking::{Staking, StakingError};
use crate::tables::{DELEGATIONS, Standing};
use crate::{PublicKey, TxHash};

/// Entries that are walked at a time.
const PAGE: usize = 1_000;
/// Sums that are compared at a time.
const TALLIES: usize = 1_000;
/// Differences that are named.
const NAMED: usize = 100;

/// What was counted and what differs.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Delegations that are known.
    pub delegations: u64,
    /// Delegations of which only later steps are known.
    pub parked: u64,
    /// Stakers.
    pub stakers: u64,
    /// Finality providers.
    pub providers: u64,
    /// Stretches of heights.
    pub stretches: u64,
    /// The differences, the first hundred of them.
    pub findings: Vec<String>,
    /// How many there are.
    pub findings_total: u64,
}

impl Audit {
    fn compare<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, counted: &T, stored: &T) {
        if counted == stored {
            return;
        }
        self.findings_total += 1;
        if self.findings.len() < NAMED {
            let text = format!("{what}: delegations say {counted:?}, the sums say {stored:?}");
            self.findings.push(text);
        }
    }
}

/// What delegations add up to.
#[derive(Debug, Default)]
struct Counted {
    overall: Standing,
    stakers: HashMap<PublicKey, Standing>,
    providers: BTreeMap<PublicKey, Standing>,
    stretches: BTreeMap<u64, [i128; 4]>,
    height: u64,
}

impl Counted {
    fn add(&mut self, delegation: &Delegation) {
        let Some(staked) = &delegation.staked else { return };
        let counts = delegation.counts();
        let of = [
            &mut self.overall,
            self.stakers.entry(staked.staker).or_default(),
            self.providers.entry(staked.provider).or_default(),
        ];
        for standing in of {
            standing.active_tvl += counts.active_tvl;
            standing.total_tvl += counts.total_tvl;
            standing.active_delegations += counts.active;
            standing.total_delegations += counts.total;
        }
        for turn in derive::moves(delegation) {
            let sums = self.stretches.entry(turn.height.0 / STRETCH).or_default();
            for (sum, value) in sums.iter_mut().zip(turn.values) {
                *sum += value;
            }
        }
    }
}

impl Staking {
    /// Counts all delegations of `engine` again and compares them with the sums. Meant for a store
    /// that nobody writes: what changes meanwhile looks like a difference.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn audit(
        &self,
        engine: &dyn Maintenance,
        tell: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Audit, StakingError> {
        let mut audit = Audit::default();
        let height = self.bitcoin().await?.height;
        let mut counted = Counted { height, ..Counted::default() };
        self.walk(engine, &mut audit, &mut counted, tell).await?;
        audit.stakers = counted.stakers.len() as u64;
        audit.providers = counted.providers.len() as u64;
        audit.stretches = counted.stretches.len() as u64;
        let overall = self.overall().await?;
        audit.compare("everything", &counted.overall, &overall.standing);
        let staked = counted.stakers.values().filter(|of| of.total_delegations > 0);
        audit.compare("total stakers", &(staked.count() as u64), &overall.total_stakers);
        let active = counted.stakers.values().filter(|of| of.active_delegations > 0);
        audit.compare("active stakers", &(active.count() as u64), &overall.active_stakers);
        self.compare_parties(&counted, &mut audit).await?;
        self.compare_heights(&counted, &mut audit).await?;
        Ok(audit)
    }

    async fn walk(
        &self,
        engine: &dyn Maintenance,
        audit: &mut Audit,
        counted: &mut Counted,
        tell: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), StakingError> {
        let walker = engine.walk().await?;
        let mut position = None;
        loop {
            let page = walker.page(DELEGATIONS.def(), position, PAGE).await?;
            for entry in page.entries {
                let Entry::Row { key, value } = entry else { continue };
                let delegation = Delegation::from_bytes(&value).map_err(ReadError::from)?;
                if delegation.staked.is_some() {
                    audit.delegations += 1;
                } else {
                    audit.parked += 1;
                }
                let hash =
                    KeyReader::whole(key.partition()).map(TxHash).map_err(ReadError::from)?;
                self.check_timelock(hash, &delegation, counted.height, audit);
                counted.add(&delegation);
            }
            tell(audit.delegations + audit.parked);
            position = page.next;
            if position.is_none() {
                return Ok(());
            }
        }
    }

    /// Whether a timelock has passed that a delegation does not know of.
    fn check_timelock(&self, hash: TxHash, found: &Delegation, height: u64, audit: &mut Audit) {
        let mut expired = found.clone();
        expired.expire(crate::BtcHeight(height));
        audit.compare(&format!("timelocks of {hash}"), &expired.state(), &found.state());
    }

    async fn compare_parties(
        &self,
        counted: &Counted,
        audit: &mut Audit,
    ) -> Result<(), StakingError> {
        let stakers: Vec<_> = counted.stakers.iter().collect();
        for some in stakers.chunks(TALLIES) {
            let keys: Vec<[u8; 32]> = some.iter().map(|(key, _)| key.0).collect();
            let sums = self.inner.tallies.part_sums(&derive::by_staker()?, &keys).await?;
            for ((key, expected), sums) in some.iter().zip(sums) {
                audit.compare(&format!("staker {key}"), *expected, &standing(&sums));
            }
        }
        let providers: Vec<_> = counted.providers.iter().collect();
        for some in providers.chunks(TALLIES) {
            let keys: Vec<[u8; 32]> = some.iter().map(|(key, _)| key.0).collect();
            let sums = self.inner.tallies.part_sums(&derive::by_provider()?, &keys).await?;
            for ((key, expected), sums) in some.iter().zip(sums) {
                audit.compare(&format!("provider {key}"), *expected, &standing(&sums));
            }
        }
        Ok(())
    }

    async fn compare_heights(
        &self,
        counted: &Counted,
        audit: &mut Audit,
    ) -> Result<(), StakingError> {
        let stretches: Vec<_> = counted.stretches.iter().collect();
        for some in stretches.chunks(TALLIES) {
            let parts: Vec<_> = some.iter().map(|(s, _)| derive::part_of(**s)).collect();
            let sums = self.inner.tallies.part_sums(&derive::by_stretch()?, &parts).await?;
            for ((stretch, expected), sums) in some.iter().zip(sums) {
                let stored = [0, 1, 2, 3].map(|column| sums.values.get(column));
                let first = *stretch * STRETCH;
                audit.compare(&format!("heights from {first} on"), *expected, &stored);
            }
        }
        Ok(())
    }
}
