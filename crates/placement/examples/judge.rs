//! Judges a placement before a table exists: rows as they would come, and the report on them.
//!
//!     cargo run -p placement --example judge            text
//!     cargo run -p placement --example judge -- html    one page, with paper 001's keys compared

use placement::activity::{Model, compare};
use placement::render::{self, ShardReport};
use placement::report::{DeclaredQuery, Observation, Observer, TableFacts, Touches};
use placement::{Placement, Route, RouteError};

fn main() -> Result<(), RouteError> {
    let placement = Placement::Bucketed { size: 1000 };
    let page =
        DeclaredQuery { name: "a page of a list".into(), touches: Touches::Few(2), weight: 1 };
    let mut observer = Observer::new(TableFacts {
        name: "history".into(),
        placement: "bucketed(sequence, 1000)".into(),
        queries: vec![page],
    });
    // 300 lists that grow side by side; the first twenty of them ten times as fast.
    for round in 0..2000u64 {
        for list in 0..300u64 {
            let growth = if list < 20 { 10 } else { 1 };
            let mut partition = Vec::new();
            let route = Route::Sequence(round * growth);
            placement.locate(&list.to_be_bytes(), route, &mut partition)?;
            let rows = Observation { rows: growth, ..Observation::row(&partition, 90 * growth) };
            observer.observe(rows.at(round));
        }
    }
    let mut report = ShardReport { tables: vec![observer.finish()], activity: None };
    if std::env::args().nth(1).as_deref() == Some("html") {
        report.activity = Some(compare(&Model::default()));
        print!("{}", render::html(&report));
    } else {
        print!("{}", render::text(&report));
    }
    Ok(())
}
