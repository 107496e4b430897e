//! What follows from a delegation: what it counts for, where, and from which height on. Pure.
//!
//! | calculation | tally | entry | values |
//! | --- | --- | --- | --- |
//! | overall | `staking.overall` | hash | active and total TVL, active and total number |
//! | finality provider | `staking.provider`, a part for each | hash | the same |
//! | staker | `staking.staker`, a part for each | hash | the same, and the rank |
//! | heights | `staking.heights`, a part for 144 blocks | height, kind, hash | what changes |
//!
//! The rank of an entry is the number of facts that are known of the delegation: it only grows.

use tally::{LimitError, Set, Tally};

use crate::delegation::{Counts, Delegation};
use crate::{BtcHeight, Satoshi, TxHash};

/// Blocks of one stretch of heights: about a day.
pub const STRETCH: u64 = 144;

/// Something that is counted from delegations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Calculation {
    /// Everything together. It comes first: it knows every delegation.
    OverallStats,
    /// For each finality provider.
    FinalityProvider,
    /// For each staker: sums, list of delegations, board, number of stakers, addresses.
    Staker,
    /// By the height of Bitcoin.
    Heights,
}

impl Calculation {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::OverallStats, Self::FinalityProvider, Self::Staker, Self::Heights];

    /// The paper's word, where it has one.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::OverallStats => "overall_stats",
            Self::FinalityProvider => "finality_provider",
            Self::Staker => "staker",
            Self::Heights => "heights",
        }
    }
}

/// The tally of everything.
pub(crate) fn overall() -> Result<Tally, LimitError> {
    Tally::new("staking.overall")
}

/// The tally with a part for each finality provider.
pub(crate) fn by_provider() -> Result<Tally, LimitError> {
    Tally::new("staking.provider")
}

/// The tally with a part for each staker.
pub(crate) fn by_staker() -> Result<Tally, LimitError> {
    Tally::new("staking.staker")
}

/// Who stakes: one entry for each staker, that there is one and that it is active.
pub(crate) fn stakers() -> Result<Tally, LimitError> {
    Tally::new("staking.stakers")
}

/// Finality providers: one entry for each.
pub(crate) fn providers() -> Result<Tally, LimitError> {
    Tally::new("staking.providers")
}

/// The tally with a part for each stretch of heights.
pub(crate) fn by_stretch() -> Result<Tally, LimitError> {
    Tally::new("staking.heights")
}

/// The part of a stretch.
pub(crate) fn part_of(stretch: u64) -> [u8; 8] {
    stretch.to_be_bytes()
}

impl Counts {
    /// As values of a tally.
    #[must_use]
    pub(crate) fn values(self) -> [i128; 4] {
        [self.active_tvl, self.total_tvl, self.active, self.total].map(i128::from)
    }
}

/// Why something changes at a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// The stake begins.
    Begins = 0,
    /// Its timelock has passed.
    Ends = 1,
    /// It is taken out before its time.
    Unbonds = 2,
    /// The timelock of that has passed.
    Unbonded = 3,
    /// It is taken away.
    Slashed = 4,
}

impl Turn {
    fn of_byte(byte: u8) -> Option<Self> {
        [Self::Begins, Self::Ends, Self::Unbonds, Self::Unbonded, Self::Slashed]
            .into_iter()
            .find(|turn| *turn as u8 == byte)
    }
}

/// What changes at a height because of one delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The height.
    pub height: BtcHeight,
    /// Why.
    pub turn: Turn,
    /// What is added to active and total TVL, to active and total number.
    pub values: [i128; 4],
}

/// The entry of a move in the tally of its stretch.
pub(crate) fn entry_of(height: BtcHeight, turn: Turn, hash: TxHash) -> Vec<u8> {
    [&height.0.to_be_bytes()[..], &[turn as u8], &hash.0].concat()
}

/// What an entry of a stretch says.
pub(crate) fn of_entry(entry: &[u8]) -> Option<(BtcHeight, Turn, TxHash)> {
    let (height, rest) = entry.split_first_chunk::<8>()?;
    let (turn, hash) = rest.split_first()?;
    let height = BtcHeight(u64::from_be_bytes(*height));
    Some((height, Turn::of_byte(*turn)?, TxHash(hash.try_into().ok()?)))
}

/// When a delegation changes what is staked. It leaves once: at whichever comes first of its own
/// end, its unbonding and its slashing; the others are kept with nothing to count, because
/// timelocks are found by them.
#[must_use]
pub fn moves(delegation: &Delegation) -> Vec<Move> {
    let Some(staked) = &delegation.staked else { return Vec::new() };
    let Satoshi(value) = staked.value;
    let (value, one) = if staked.is_overflow { (0, 0) } else { (i128::from(value), 1) };
    // What a sender says to have happened before the stake began happened when it began.
    let at = |height: BtcHeight| height.max(staked.start);
    let unbonds = delegation.unbonding.as_ref().map(|unbonding| at(unbonding.start));
    let slashed = delegation.slashing.as_ref().map(|slashing| at(slashing.height));
    let leaves = [
        Some((staked.end(), Turn::Ends)),
        unbonds.map(|height| (height, Turn::Unbonds)),
        slashed.map(|height| (height, Turn::Slashed)),
    ];
    let first = leaves.into_iter().flatten().min();
    let mut moves =
        vec![Move { height: staked.start, turn: Turn::Begins, values: [value, value, one, one] }];
    moves.extend(leaves.into_iter().flatten().map(|(height, turn)| {
        let leaves = first == Some((height, turn));
        let values = if leaves { [-value, 0, -one, 0] } else { [0; 4] };
        Move { height, turn, values }
    }));
    if let Some(unbonding) = &delegation.unbonding {
        let (height, turn) = (at(unbonding.end()), Turn::Unbonded);
        moves.push(Move { height, turn, values: [0; 4] });
    }
    moves
}

/// What is to be counted now that a delegation is what it is, and was something else.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    pub(crate) counts: Vec<Set>,
    /// Stretches that are counted in.
    pub(crate) stretches: Vec<u64>,
    /// Whether the staker's sums change.
    pub(crate) of_staker: bool,
}

/// Derives what is to be counted of the calculations.
pub(crate) fn sets(
    hash: TxHash,
    before: &Delegation,
    after: &Delegation,
    calculations: &[Calculation],
) -> Result<Sets, LimitError> {
    let mut sets = Sets::default();
    let Some(staked) = &after.staked else { return Ok(sets) };
    let rank = after.rank();
    let (entry, values) = (&hash.0, after.counts().values());
    let counts_change = before.staked.is_none() || before.counts() != after.counts();
    for calculation in calculations {
        match calculation {
            Calculation::OverallStats if counts_change => {
                sets.counts.push(Set::new(&overall()?, entry, rank, &values)?);
            }
            Calculation::FinalityProvider if counts_change => {
                let provider = &staked.provider.0;
                sets.counts.push(Set::of_part(&by_provider()?, provider, entry, rank, &values)?);
                if before.staked.is_none() {
                    sets.counts.push(Set::new(&providers()?, provider, 1, &[1])?);
                }
            }
            Calculation::Staker if counts_change => {
                let [active_tvl, total_tvl, active, total] = values;
                // The ranks add up to a rank of the staker's own sums.
                let values = [active_tvl, total_tvl, active, total, i128::from(rank)];
                let staker = &staked.staker.0;
                sets.counts.push(Set::of_part(&by_staker()?, staker, entry, rank, &values)?);
                sets.of_staker = true;
            }
            Calculation::Heights => height_sets(hash, before, after, &mut sets)?,
            _ => {}
        }
    }
    Ok(sets)
}

fn height_sets(
    hash: TxHash,
    before: &Delegation,
    after: &Delegation,
    sets: &mut Sets,
) -> Result<(), LimitError> {
    let known = moves(before);
    for turn in moves(after).into_iter().filter(|turn| !known.contains(turn)) {
        let stretch = turn.height.0 / STRETCH;
        let entry = entry_of(turn.height, turn.turn, hash);
        let (part, rank) = (part_of(stretch), after.rank());
        sets.counts.push(Set::of_part(&by_stretch()?, &part, &entry, rank, &turn.values)?);
        sets.stretches.push(stretch);
    }
    Ok(())
}
