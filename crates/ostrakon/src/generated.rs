//! The shard report on generated activity: paper 001's three shard keys, side by side.
//!
//! The comparison is a simulation of the paper's own setting: ranges of keys, split and moved. The
//! key that wins it is also judged as what it is here, a hashed partition sorted by month, by the
//! same observer that judges real tables.

use placement::activity::{Model, ShardKey, compare};
use placement::render::ShardReport;
use placement::report::{DeclaredQuery, Observation, Observer, Report, TableFacts, Touches};
use placement::{Placement, Route, RouteError};

/// Bytes of a user's document of one month: some thirty days of counts, as the paper keeps them.
const DOCUMENT_BYTES: u64 = 400;

/// The report. `nodes` adds a cluster size to the usual ones.
pub(crate) fn activity(nodes: Option<u16>) -> Result<ShardReport, RouteError> {
    let model = Model::default();
    let table = by_hashed_user(&model, nodes)?;
    Ok(ShardReport { tables: vec![table], activity: Some(compare(&model)) })
}

/// One document per user and month, in the order in which months pass.
fn by_hashed_user(model: &Model, nodes: Option<u16>) -> Result<Report, RouteError> {
    let query = |name: &str| DeclaredQuery { name: name.into(), touches: Touches::One, weight: 1 };
    let facts = TableFacts {
        name: format!("activity by {}", ShardKey::HashedUser),
        placement: "hashed(user), sorted by year and month".to_owned(),
        queries: vec![query("a user's month"), query("a user's year")],
    };
    let mut observer = Observer::with_limits(facts, crate::shard_report::limits(nodes));
    let months = u64::from(model.last_year.saturating_sub(model.first_year) + 1) * 12;
    let mut partition = Vec::new();
    for month in 0..months {
        for user in 0..model.users {
            partition.clear();
            Placement::Hashed.locate(&user.to_be_bytes(), Route::Key, &mut partition)?;
            observer.observe(Observation::row(&partition, DOCUMENT_BYTES).at(month));
        }
    }
    Ok(observer.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_keys_are_compared_and_the_best_one_is_judged() {
        let report = activity(Some(7)).expect("the route fits");
        let [table] = &report.tables[..] else { panic!("one table") };
        assert_eq!((table.rows, table.partitions.count), (252_000, 1000));
        assert!(!table.joins.is_empty(), "keys moved are shown");
        assert!(table.balance.iter().any(|balance| balance.nodes == 7));
        let whole = table.trend.as_ref().expect("months were given").whole;
        assert!(whole.correlation.abs() < 0.1, "{whole:?}");
        assert!(report.activity.is_some());
    }
}
