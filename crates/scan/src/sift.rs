//! An account's transactions of one direction: sifted out of the whole list, a stated number of
//! entries at a time, because directions have no lists of their own.

use store::Order;
use timeline::ViewError;

use crate::Address;
use crate::query::{Scan, Stretch};
use crate::tables::{AccountLine, Direction};

/// Entries that one answer looks through before it ends with what it has.
const LOOKED_THROUGH: usize = 20_000;
/// Entries that are read at a time.
const PAGE: usize = 1000;

/// Which transactions of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// What it receives.
    In,
    /// What it sends, also to create a contract.
    Out,
    /// What it sends to itself.
    Own,
    /// What creates a contract: by it, or it itself.
    Create,
}

impl Wanted {
    /// All of them with their words in addresses.
    pub const ALL: [(&'static str, Self); 4] =
        [("in", Self::In), ("out", Self::Out), ("self", Self::Own), ("create", Self::Create)];

    /// Whether an entry is one of them. What an account sends to itself goes in and out.
    #[must_use]
    pub fn fits(self, direction: Direction) -> bool {
        match self {
            Self::In => matches!(direction, Direction::In | Direction::Own),
            Self::Out => matches!(direction, Direction::Out | Direction::Own | Direction::Create),
            Self::Own => direction == Direction::Own,
            Self::Create => direction == Direction::Create,
        }
    }
}

/// What was sifted out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sifted {
    /// The entries with their positions.
    pub lines: Vec<(u64, AccountLine)>,
    /// The last position that was looked at: the next answer goes on behind it.
    pub last: Option<u64>,
}

impl Scan<'_> {
    /// Transactions of an account, all of them or those that are wanted. There may be more behind
    /// fewer than asked for.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn account_sifted(
        &self,
        address: Address,
        (start, order, limit): Stretch,
        wanted: Option<Wanted>,
    ) -> Result<Sifted, ViewError> {
        let Some(wanted) = wanted else {
            let lines = self.account(address, (start, order, limit)).await?;
            let last = lines.last().map(|(position, _)| *position);
            return Ok(Sifted { lines, last });
        };
        let (mut found, mut next, mut looked) = (Sifted::default(), Some(start), 0);
        while let Some(from) = next.filter(|_| looked < LOOKED_THROUGH) {
            let lines = self.account(address, (from, order, PAGE)).await?;
            looked += lines.len();
            let ended = lines.len() < PAGE;
            for (position, line) in lines {
                if found.lines.len() == limit {
                    return Ok(found);
                }
                found.last = Some(position);
                if wanted.fits(line.direction) {
                    found.lines.push((position, line));
                }
            }
            next = match order {
                _ if ended => None,
                Order::Ascending => found.last.map(|last| last + 1),
                Order::Descending => found.last.and_then(|last| last.checked_sub(1)),
            };
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_account_sends_to_itself_goes_in_and_out() {
        let check = |wanted: Wanted, expected: &[Direction]| {
            let all = [Direction::In, Direction::Out, Direction::Own, Direction::Create];
            let fitting: Vec<Direction> = all.into_iter().filter(|it| wanted.fits(*it)).collect();
            assert_eq!(fitting, expected, "{wanted:?}");
        };
        check(Wanted::In, &[Direction::In, Direction::Own]);
        check(Wanted::Out, &[Direction::Out, Direction::Own, Direction::Create]);
        check(Wanted::Own, &[Direction::Own]);
        check(Wanted::Create, &[Direction::Create]);
    }
}
