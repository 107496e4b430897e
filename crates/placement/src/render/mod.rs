//! A report for people and for programs: text, JSON, one HTML page.
//!
//! The page is complete in itself: no script, no font, no image from elsewhere, so that it can be
//! mailed, archived or opened from disk. Everything that came from outside is escaped.

mod activity_page;
mod charts;
mod format;
mod page;
mod table_page;
mod text;

use serde::{Deserialize, Serialize};

use crate::activity::Comparison;
use crate::report::Report;

/// Everything one shard report shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShardReport {
    /// The tables, in the order they are shown.
    pub tables: Vec<Report>,
    /// The comparison of shard keys for paper 001, when it was asked for.
    pub activity: Option<Comparison>,
}

/// The report for a terminal of 100 columns.
#[must_use]
pub fn text(report: &ShardReport) -> String {
    text::render(report)
}

/// The report as one self-contained HTML page.
#[must_use]
pub fn html(report: &ShardReport) -> String {
    page::render(report)
}

/// The report as JSON, indented.
///
/// # Errors
/// Never for a report that an [`Observer`](crate::report::Observer) made: all of it is plain data.
pub fn json(report: &ShardReport) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::activity::{Model, compare};
    use crate::report::{DeclaredQuery, Observation, Observer, TableFacts, Touches};

    /// A good table, a bad one, an empty one with a hostile name, and a small comparison.
    /// Made once: the comparison takes a second without optimisation.
    pub(crate) fn example() -> &'static ShardReport {
        static EXAMPLE: OnceLock<ShardReport> = OnceLock::new();
        EXAMPLE.get_or_init(make_example)
    }

    fn make_example() -> ShardReport {
        let query = |name: &str, touches| DeclaredQuery { name: name.into(), touches, weight: 1 };
        let mut good = Observer::new(TableFacts {
            name: "activity".into(),
            placement: "hashed(user)".into(),
            queries: vec![query("a user's month", Touches::One)],
        });
        let mut bad = Observer::new(TableFacts {
            name: "feed".into(),
            placement: "bucketed(sequence, 5000)".into(),
            queries: vec![query("the latest page", Touches::Few(2)), query("all", Touches::All)],
        });
        for at in 0..30_000u64 {
            good.observe(Observation::row(&(at % 3000).to_be_bytes(), 120).at(at));
            bad.observe(Observation::row(&(at / 5000).to_be_bytes(), 120).at(at));
        }
        let hostile = Observer::new(TableFacts {
            name: "<script>alert('\u{1b}[31m')</script>".into(),
            placement: "\"&<>'".into(),
            queries: vec![query("<b>", Touches::One)],
        });
        let mut good = good.finish();
        good.compare("cassandra", 2900, 5_400_000);
        let model = Model { users: 60, chunk_documents: 30, ..Model::default() };
        ShardReport {
            tables: vec![good, bad.finish(), hostile.finish()],
            activity: Some(compare(&model)),
        }
    }

    #[test]
    fn json_can_be_read_back() {
        let report = example();
        let read: ShardReport =
            serde_json::from_str(&json(report).expect("plain data")).expect("the same shape");
        assert_eq!(read.tables.len(), report.tables.len());
        assert_eq!(read.tables[0].verdicts, report.tables[0].verdicts);
        // A fraction may come back with another last digit.
        let figures = |report: &ShardReport| {
            let view = report.tables[0].engine.as_ref().expect("an opinion");
            (view.engine.clone(), view.partitions, view.bytes)
        };
        assert_eq!(figures(&read), figures(report));
    }

    #[test]
    fn an_engines_estimate_is_shown_as_a_ratio_where_it_has_one() {
        let report = example();
        let view = report.tables[0].engine.as_ref().expect("an opinion");
        assert!((view.partitions_ratio - 2900.0 / 3000.0).abs() < 1e-9, "{view:?}");
        assert!((view.bytes_ratio - 1.5).abs() < 1e-9, "{view:?}");
        for (shown, wanted) in [(text(report), "0.97"), (html(report), "<td>0.97</td>")] {
            assert!(shown.contains(wanted), "{wanted} is not in {shown}");
            assert_eq!(shown.matches("cassandra itself").count(), 1, "one table of three");
        }
        let mut empty = Observer::new(TableFacts::default()).finish();
        empty.compare("cassandra", 5, 5);
        assert_eq!(empty.engine, None, "nothing was seen");
    }

    #[test]
    fn an_empty_report_renders_everywhere() {
        let empty = ShardReport::default();
        assert!(text(&empty).contains("No tables"));
        assert!(html(&empty).contains("No tables"));
        assert!(json(&empty).is_ok());
    }
}
