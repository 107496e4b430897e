//! The queries a table declares, and what they touch.

use serde::{Deserialize, Serialize};

/// How many partitions a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Touches {
    /// One partition.
    One,
    /// A known, small number of partitions.
    Few(u32),
    /// All partitions: a scan of the cluster.
    All,
}

impl std::fmt::Display for Touches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::One => write!(f, "one partition"),
            Self::Few(count) => write!(f, "{count} partitions"),
            Self::All => write!(f, "all partitions"),
        }
    }
}

/// A query that a table is made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredQuery {
    /// What it asks, in words.
    pub name: String,
    /// What it reads.
    pub touches: Touches,
    /// How often it is asked, relative to the others; 1 when nothing is known.
    pub weight: u32,
}

/// Shares of the declared queries, by weight, and the queries themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryShares {
    /// Share that touch one partition.
    pub one: f64,
    /// Share that touch a few.
    pub few: f64,
    /// Share that touch all.
    pub all: f64,
    /// What was declared.
    pub declared: Vec<DeclaredQuery>,
}

impl QueryShares {
    pub(crate) fn of(declared: Vec<DeclaredQuery>) -> Self {
        let weight = |wanted: fn(&Touches) -> bool| {
            let chosen = declared.iter().filter(|query| wanted(&query.touches));
            chosen.map(|query| u64::from(query.weight)).sum::<u64>()
        };
        let total = weight(|_| true);
        let share = |wanted| crate::stats::share(weight(wanted), total);
        Self {
            one: share(|touches| matches!(touches, Touches::One | Touches::Few(0 | 1))),
            few: share(|touches| matches!(touches, Touches::Few(2..))),
            all: share(|touches| matches!(touches, Touches::All)),
            declared,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_weights() {
        let query = |touches, weight| DeclaredQuery { name: String::new(), touches, weight };
        for (declared, one, few, all) in [
            (vec![], 0.0, 0.0, 0.0),
            (vec![query(Touches::One, 3), query(Touches::All, 1)], 0.75, 0.0, 0.25),
            (vec![query(Touches::Few(1), 1), query(Touches::Few(12), 1)], 0.5, 0.5, 0.0),
            (vec![query(Touches::All, 0)], 0.0, 0.0, 0.0),
        ] {
            let shares = QueryShares::of(declared);
            assert_eq!((shares.one, shares.few, shares.all), (one, few, all));
        }
    }
}
