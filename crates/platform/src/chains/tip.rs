//! What a node says its tip is, and when that is worth writing down again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::clock::SECOND;
use crate::guarded::json_value;

/// A row that tells nothing new is written again after this many milliseconds, so that a reader
/// sees that the node is still asked.
const REWRITTEN_AFTER: u64 = 30 * SECOND;
/// Characters of a failure that are kept.
const FAILURE_CHARS: usize = 300;

/// What a node says its tip is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// The last height it told; none while it told none. A failure leaves it standing.
    #[serde(default)]
    pub height: Option<u64>,
    /// When this height was first seen, Unix milliseconds; 0 while there is none.
    #[serde(default)]
    pub at: u64,
    /// When the node last answered or failed, Unix milliseconds. Half a minute late at the most.
    pub asked: u64,
    /// How long that took.
    #[serde(default)]
    pub millis: u32,
    /// Why its last answer told no height, and what to do.
    #[serde(default)]
    pub failure: Option<String>,
}
json_value!(Tip, format 1);

/// An answer of a node, or that there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) height: Result<u64, String>,
    pub(super) at: u64,
    pub(super) millis: u32,
}

impl Tip {
    /// The row after an answer.
    fn after(&self, heard: &Heard) -> Self {
        let Heard { height, at: asked, millis } = heard;
        let (asked, millis) = (*asked, *millis);
        match height {
            Ok(height) if self.height == Some(*height) => {
                Self { height: self.height, at: self.at, asked, millis, failure: None }
            }
            Ok(height) => Self { height: Some(*height), at: asked, asked, millis, failure: None },
            Err(reason) => {
                let failure = Some(reason.chars().take(FAILURE_CHARS).collect());
                Self { height: self.height, at: self.at, asked, millis, failure }
            }
        }
    }

    /// Whether the row after an answer is worth a commit.
    fn is_news_after(&self, old: &Self) -> bool {
        let tells = self.height != old.height || self.failure != old.failure;
        // A clock that was set back must not keep a row from being written.
        tells || self.asked.abs_diff(old.asked) >= REWRITTEN_AFTER
    }
}

/// The rows of a chain, by the names of its nodes.
pub(super) type Rows = BTreeMap<String, Tip>;

/// How rows change: a node's new row, or none where it goes.
pub(super) type RowChanges = BTreeMap<String, Option<Tip>>;

/// What answers change. A row is there while its node is asked: others go.
pub(super) fn changes(
    rows: &Rows,
    heard: &BTreeMap<String, Heard>,
    asked: &BTreeSet<String>,
) -> RowChanges {
    let gone = rows.keys().filter(|node| !asked.contains(*node)).map(|node| (node.clone(), None));
    let none = Tip::default();
    let told =
        heard.iter().filter(|(node, _)| asked.contains(*node)).filter_map(|(node, heard)| {
            let old = rows.get(node);
            let new = old.unwrap_or(&none).after(heard);
            let news = old.is_none_or(|old| new.is_news_after(old));
            news.then(|| (node.clone(), Some(new)))
        });
    gone.chain(told).collect()
}

/// The rows after changes.
pub(super) fn apply(rows: &Rows, changes: &RowChanges) -> Rows {
    let mut rows = rows.clone();
    for (node, tip) in changes {
        match tip {
            Some(tip) => drop(rows.insert(node.clone(), tip.clone())),
            None => drop(rows.remove(node)),
        }
    }
    rows
}

/// The highest height, and the first node by name that tells it.
pub(super) fn highest(rows: &Rows) -> Option<(u64, &str)> {
    let heights = rows.iter().filter_map(|(node, tip)| Some((tip.height?, node.as_str())));
    heights.reduce(|best, other| if other.0 > best.0 { other } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(height: u64, at: u64) -> Heard {
        Heard { height: Ok(height), at, millis: 7 }
    }

    fn failed(reason: &str, at: u64) -> Heard {
        Heard { height: Err(reason.into()), at, millis: 9 }
    }

    fn names(nodes: &[&str]) -> BTreeSet<String> {
        nodes.iter().map(ToString::to_string).collect()
    }

    /// The rows after one node's answer.
    fn hear(rows: &Rows, node: &str, heard: Heard) -> (bool, Rows) {
        let changes =
            changes(rows, &BTreeMap::from([(node.to_owned(), heard)]), &names(&["a", "b", "c"]));
        (!changes.is_empty(), apply(rows, &changes))
    }

    #[test]
    fn a_row_is_written_for_news_and_else_every_half_minute() {
        let (news, rows) = hear(&Rows::new(), "a", heard(5, 1000));
        assert!(news);
        let tip = Tip { height: Some(5), at: 1000, asked: 1000, millis: 7, failure: None };
        assert_eq!(rows["a"], tip);
        let (news, rows) = hear(&rows, "a", heard(5, 30_999));
        assert!(!news, "the same again");
        let (news, rows) = hear(&rows, "a", heard(5, 31_000));
        assert!(news, "half a minute passed");
        assert_eq!(
            (rows["a"].at, rows["a"].asked),
            (1000, 31_000),
            "the height is as old as it is"
        );
        let (news, rows) = hear(&rows, "a", failed("no", 32_000));
        assert!(news);
        let failure = Some("no".to_owned());
        assert_eq!(rows["a"], Tip { asked: 32_000, millis: 9, failure, at: 1000, ..tip });
        assert!(!hear(&rows, "a", failed("no", 33_000)).0);
        assert!(hear(&rows, "a", failed("nothing", 33_000)).0);
        let (news, rows) = hear(&rows, "a", heard(5, 33_000));
        assert!(news && rows["a"].failure.is_none(), "it is well again");
        assert!(hear(&rows, "a", heard(5, 1000)).0, "the clock was set back");
    }

    #[test]
    fn a_row_goes_with_its_node_and_late_answers_bring_none_back() {
        let (_, rows) = hear(&Rows::new(), "a", heard(5, 1));
        let (_, rows) = hear(&rows, "b", heard(6, 1));
        let late = BTreeMap::from([("a".to_owned(), heard(7, 2))]);
        let changes = changes(&rows, &late, &names(&["b"]));
        assert_eq!(changes, BTreeMap::from([("a".to_owned(), None)]));
        assert_eq!(apply(&rows, &changes).into_keys().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn the_highest_is_told_by_the_first_node_that_has_it() {
        let mut rows = Rows::new();
        assert_eq!(highest(&rows), None);
        for (node, answer) in [("c", heard(9, 1)), ("b", heard(9, 1)), ("a", failed("no", 1))] {
            rows = hear(&rows, node, answer).1;
        }
        assert_eq!(highest(&rows), Some((9, "b")));
    }

    #[test]
    fn the_widest_row_is_within_its_bounds() {
        use store::Value as _;
        let (at, asked, millis) = (u64::MAX, u64::MAX, u32::MAX);
        let reason = "\u{1}".repeat(5000);
        let heard = Heard { height: Err(reason), at: asked, millis };
        let tip = Tip { height: Some(u64::MAX), at, asked, millis, failure: None }.after(&heard);
        let bytes = tip.to_bytes();
        assert!(bytes.len() <= crate::tables::TIPS.def().bounds().value_bytes, "{}", bytes.len());
        assert_eq!(Tip::from_bytes(&bytes), Ok(tip));
    }
}
