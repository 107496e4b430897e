//! Publishes two blocks, switches to another branch, and follows the journal.

use std::sync::Arc;

use store::{ModelEngine, Store};
use timeline::{Cut, Height, Lane, NewUnit, Settings, Timeline, UnitRow, Watch, Writer, WriterId};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let timeline = Timeline::new(store, "demo".to_owned(), Settings::default());
    let mut writer = timeline
        .lead(WriterId([7; 16]), &mut Watch::default())
        .await?
        .ok_or("another writer leads")?;
    publish(&mut writer, None, &["", "genesis", "a1"]).await?;
    publish(&mut writer, Some(Height(0)), &["genesis", "b1", "b2"]).await?;
    let view = timeline.view().await?;
    println!("head: {:?}", view.head(Lane::MINED));
    for (number, switch) in timeline.follow(0).await? {
        println!("switch {number}: popped {:?}, pushed {:?}", switch.popped, switch.pushed);
    }
    Ok(())
}

/// Keeps the chain up to a height and pushes every name but the first, which is already there.
async fn publish(
    writer: &mut Writer,
    keep: Option<Height>,
    names: &[&str],
) -> Result<(), Box<dyn std::error::Error>> {
    let mut attempt =
        writer.begin(&[Cut { lane: Lane::MINED, keep }], names.len() as u64 - 1).await?;
    let first = keep.map_or(0, |height| height.0 + 1);
    let unit = |(height, pair): (u64, &[&str])| {
        let [parent, hash] = [0, 1].map(|i| pair.get(i).map_or(vec![], |s| s.as_bytes().to_vec()));
        let row = UnitRow { hash, parent, of: None, items: 0 };
        NewUnit { lane: Lane::MINED, height: Height(height), row }
    };
    let units = (first..).zip(names.windows(2)).map(unit).collect();
    writer.write_units(&mut attempt, units).await?;
    // Here a service puts its own rows, stamped with `attempt.unit(i)`.
    writer.publish(attempt).await?;
    Ok(())
}
