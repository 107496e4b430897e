//! "The last N" equals a recount, for every tip of a random tree with 1 to 4 items per unit, at
//! every N, also where the edge lies inside a unit.

mod common;

use std::sync::Arc;

use common::tree::{CHAIN, ITEMS, Tree, hash, mined_rows};
use store::conformance::{full, seed};
use store::{ModelEngine, Store};
use timeline::{
    Cut, Height, Lane, NewUnit, OrderedList, Settings, Timeline, UnitRow, Watch, WriterId,
};

#[tokio::test]
async fn the_last_n_sum_equals_a_recount_at_every_tip() {
    let mut rng = fastrand::Rng::with_seed(seed("sums"));
    let store = Store::new(Arc::new(ModelEngine::default()), 0);
    let timeline = Timeline::new(store, CHAIN.to_owned(), Settings::default());
    let leading = timeline.lead(WriterId([1; 16]), &mut Watch::default()).await.expect("asks");
    let mut writer = leading.expect("nobody else leads");
    let (mut tree, mut chain): (Tree, Vec<u64>) = (Tree::default(), Vec::new());
    for _ in 0..if full() { 2_000 } else { 150 } {
        // Forks anywhere above the last few units, so that every tip of the tree is reached.
        let keep = rng.usize(chain.len().saturating_sub(5)..=chain.len());
        chain.truncate(keep);
        let id = tree.grow(chain.last().copied(), &mut rng);
        chain.push(id);
        let height = (keep as u64).checked_sub(1).map(Height);
        let cut = Cut { lane: Lane::MINED, keep: height };
        let mut attempt = writer.begin(&[cut], 1).await.expect("begins");
        let block = tree.block(id);
        let parent = block.parent.map(hash).unwrap_or_default();
        let items = block.position + block.items.len() as u64;
        let row = UnitRow { hash: hash(id), parent, of: None, items };
        let unit = NewUnit { lane: Lane::MINED, height: Height(keep as u64), row };
        writer.write_units(&mut attempt, vec![unit]).await.expect("writes");
        let rows = mined_rows(block, attempt.unit(0));
        timeline.store().put(rows).await.expect("puts");
        writer.publish(attempt).await.expect("publishes");
        check_tip(&timeline, &tree, id).await;
    }
}

async fn check_tip(timeline: &Timeline, tree: &Tree, head: u64) {
    let chain = tree.chain(head);
    let values: Vec<u128> =
        chain.iter().flat_map(|block| &block.items).map(|(_, value)| u128::from(*value)).collect();
    let view = timeline.view().await.expect("a view");
    let at = view.head(Lane::MINED).expect("a head").height;
    let unit = timeline.unit_at(&view, Lane::MINED, at).await.expect("reads").expect("the head");
    let rows = unit.1.items;
    assert_eq!(rows, values.len() as u64, "the head knows how long the list is");
    let list = OrderedList::new(timeline, &ITEMS, CHAIN.to_owned());
    for count in (1..=rows + 2).filter(|count| *count < 12 || count % 7 == 0 || *count >= rows) {
        let found = list.last(&view, rows, count).await.expect("reads").expect("rows");
        let recount: u128 = values.iter().rev().take(count as usize).sum();
        assert_eq!((found.rows, found.sums), (count.min(rows), vec![recount]), "the last {count}");
    }
}
