//! The placements a table can declare, and the arithmetic of each.

use crate::token;

/// How the rows of a table are spread over partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placement {
    /// The key alone is the partition; the engine hashes it.
    Hashed,
    /// An ordered list cut into partitions of `size` consecutive sequence numbers, so that no list
    /// is one endless partition.
    Bucketed {
        /// Sequence numbers per partition.
        size: u64,
    },
    /// Paper 001's formula over year and month stands before the key.
    Periodic,
    /// One hot key split into `shards` logical shards by its entries (paper 004).
    Logical {
        /// Number of logical shards.
        shards: u16,
    },
    /// One partition for the whole table: for a handful of rows only.
    Single,
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hashed => write!(f, "hashed"),
            Self::Bucketed { size } => write!(f, "bucketed({size})"),
            Self::Periodic => write!(f, "periodic"),
            Self::Logical { shards } => write!(f, "logical({shards})"),
            Self::Single => write!(f, "single"),
        }
    }
}

/// What a placement needs to know beside the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route<'a> {
    /// Nothing: `Hashed` and `Single`.
    Key,
    /// A position in an ordered list: `Bucketed`.
    Sequence(u64),
    /// A calendar month: `Periodic`.
    Month(YearMonth),
    /// The entry that is counted: `Logical`.
    Entry(&'a [u8]),
}

/// A calendar month. Years 0 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct YearMonth {
    year: u16,
    month: u8,
}

impl YearMonth {
    /// A month of a year, or `None` when it is not on the calendar.
    #[must_use]
    pub fn new(year: u16, month: u8) -> Option<Self> {
        (year <= 9999 && (1..=12).contains(&month)).then_some(Self { year, month })
    }

    /// The year.
    #[must_use]
    pub fn year(self) -> u16 {
        self.year
    }

    /// The month, 1 to 12.
    #[must_use]
    pub fn month(self) -> u8 {
        self.month
    }
}

/// A placement was given a route it cannot use: the caller and the table disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteError {
    placement: Placement,
    route: &'static str,
}

impl std::fmt::Display for RouteError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "a table placed by {:?} cannot be reached by {}; pass the route its placement asks for",
            self.placement, self.route
        )
    }
}

impl std::error::Error for RouteError {}

impl Placement {
    /// Appends the partition key of `key` under this placement to `out`.
    ///
    /// # Errors
    /// When the route is not the one this placement asks for.
    pub fn locate(self, key: &[u8], route: Route<'_>, out: &mut Vec<u8>) -> Result<(), RouteError> {
        match (self, route) {
            (Self::Hashed, Route::Key) => out.extend_from_slice(key),
            (Self::Bucketed { size }, Route::Sequence(sequence)) => {
                out.extend_from_slice(key);
                out.extend_from_slice(&(sequence / size.max(1)).to_be_bytes());
            }
            (Self::Periodic, Route::Month(month)) => {
                out.extend_from_slice(&paper_shard(month).to_be_bytes());
                out.extend_from_slice(key);
            }
            (Self::Logical { shards }, Route::Entry(entry)) => {
                out.extend_from_slice(key);
                out.extend_from_slice(&logical_shard(entry, shards).to_be_bytes());
            }
            // Cassandra refuses an empty partition key, so the single partition has one byte.
            (Self::Single, Route::Key) => out.push(0),
            (placement, route) => {
                let route = match route {
                    Route::Key => "a plain key",
                    Route::Sequence(_) => "a sequence number",
                    Route::Month(_) => "a month",
                    Route::Entry(_) => "an entry",
                };
                return Err(RouteError { placement, route });
            }
        }
        Ok(())
    }
}

/// The logical shard of an entry: a function of the entry alone, so that a duplicate meets its
/// first copy.
fn logical_shard(entry: &[u8], shards: u16) -> u16 {
    let shards = u64::from(shards.max(1));
    u16::try_from(token(entry).cast_unsigned() % shards).unwrap_or(0)
}

/// The formula of paper 001: each digit of the year plus one, and the month, multiplied.
///
/// Kept because the paper asks for it; the shard report shows why `{hash(user), year, month}` is
/// better.
#[must_use]
pub fn paper_shard(month: YearMonth) -> u32 {
    let year = u32::from(month.year);
    let digits = [year / 1000 % 10, year / 100 % 10, year / 10 % 10, year % 10];
    digits.iter().map(|digit| digit + 1).product::<u32>() * u32::from(month.month)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(placement: Placement, key: &[u8], route: Route<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        placement.locate(key, route, &mut out).expect("the route fits the placement");
        out
    }

    #[test]
    fn may_2016_gives_shard_210() {
        assert_eq!(paper_shard(YearMonth::new(2016, 5).expect("a month")), 210);
    }

    #[test]
    fn buckets_cut_a_sequence_into_equal_partitions() {
        let bucket = Placement::Bucketed { size: 1000 };
        assert_eq!(
            located(bucket, b"k", Route::Sequence(0)),
            located(bucket, b"k", Route::Sequence(999))
        );
        assert_ne!(
            located(bucket, b"k", Route::Sequence(999)),
            located(bucket, b"k", Route::Sequence(1000))
        );
    }

    #[test]
    fn a_logical_shard_is_a_function_of_its_entry() {
        let logical = Placement::Logical { shards: 8 };
        assert_eq!(
            located(logical, b"k", Route::Entry(b"e")),
            located(logical, b"k", Route::Entry(b"e"))
        );
        let shards: std::collections::HashSet<_> =
            (0..1000u32).map(|e| located(logical, b"k", Route::Entry(&e.to_be_bytes()))).collect();
        assert_eq!(shards.len(), 8);
    }

    #[test]
    fn a_wrong_route_is_refused() {
        let error = Placement::Hashed
            .locate(b"k", Route::Sequence(1), &mut Vec::new())
            .expect_err("refused");
        assert!(error.to_string().contains("sequence number"));
    }

    #[test]
    fn months_off_the_calendar_are_refused() {
        assert_eq!(YearMonth::new(2016, 0), None);
        assert_eq!(YearMonth::new(2016, 13), None);
    }
}
