//! A list of projects by creation time: placed in any order, read both ways.

use std::ops::Bound;
use std::sync::Arc;

use index::{List, Lists, Place, Placed};
use store::{ModelEngine, PageRequest, Store};

/// Projects of an owner, by creation time.
static BY_OWNER: List<String, u64, u64, Vec<u8>> =
    List::new("demo.by_owner", "A project of an owner, by creation time.", 10_000, 256);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lists = Lists::new(Store::new(Arc::new(ModelEngine::default()), 0));
    let owner = "ada".to_owned();
    for (project, created) in [(1, 1_700), (2, 1_500), (3, 1_600)] {
        let place = Place::at(project, 1, created, format!("project {project}").into_bytes());
        lists.place(&BY_OWNER, &owner, &place).await?;
    }
    // Project 2 is removed at rank 3; what comes late with rank 2 changes nothing.
    lists.place(&BY_OWNER, &owner, &Place::gone(2, 3)).await?;
    let late = lists.place(&BY_OWNER, &owner, &Place::at(2, 2, 1_900, vec![])).await?;
    assert_eq!(late, Placed::Unchanged);

    let newest = lists.page(&BY_OWNER, &owner, PageRequest::last(10)).await?;
    for row in &newest.rows {
        println!("{} at {}: {}", row.entry, row.sort, String::from_utf8_lossy(&row.payload));
    }
    assert_eq!(newest.rows.iter().map(|row| row.entry).collect::<Vec<_>>(), [1, 3]);
    let (from, to) = (Bound::Included(1_500), Bound::Excluded(1_700));
    assert_eq!(lists.count_between(&BY_OWNER, &owner, from, to).await?, 1);
    println!("{:?}", lists.counts(&BY_OWNER, &owner).await?);
    Ok(())
}
