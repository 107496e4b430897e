//! What a reader checks: the chain it sees is the chain that ends with the head it sees, whole.

use std::cell::RefCell;

use store::{Order, PageRequest, Sequenced};
use timeline::{Height, Lane, OrderedList, Timeline, View, ViewError};

use super::tree::{BY_MINER, CHAIN, ITEMS, MINERS, RECEIPTS, Tree, hash, id_of};

/// A view that does not fit together, in words.
pub(crate) type Torn = String;

/// Id, first position and items of a block.
type Expected = (u64, u64, Vec<(u8, u64)>);

/// Reads everything through one view. Ok(false) means that the view grew too old to judge.
pub(crate) async fn check(
    timeline: &Timeline,
    tree: &RefCell<Tree>,
    view: &View,
    last: u64,
) -> Result<bool, Torn> {
    let read = |error: ViewError| format!("cannot read: {error}");
    let mut expected: Vec<Expected> = Vec::new();
    if let Some(head) = view.head(Lane::MINED) {
        let tree = tree.borrow();
        let chain = tree.chain(id_of(&head.hash));
        expected = chain.iter().map(|b| (b.id, b.position, b.items.clone())).collect();
    }
    let top = |lane| view.head(lane).map_or(Height(0), |head| head.height);
    let units = timeline.units_between(view, Lane::MINED, Height(0), top(Lane::MINED)).await;
    let units = units.map_err(read)?;
    let (items, sums) = read_items(timeline, view, last).await.map_err(read)?;
    let miners = read_miners(timeline, view).await.map_err(read)?;
    let executed = timeline.units_between(view, Lane::EXECUTED, Height(0), top(Lane::EXECUTED));
    let executed = executed.await.map_err(read)?;
    let receipts = read_receipts(timeline, view).await.map_err(read)?;
    // Only now: what was read after rows were swept proves nothing.
    if timeline.check_age(view).is_err() {
        return Ok(false);
    }
    let found: Vec<u64> = units.iter().map(|(_, _, row)| id_of(&row.hash)).collect();
    let ids: Vec<u64> = expected.iter().map(|(id, ..)| *id).collect();
    same("units", &found, &ids)?;
    same_items(&expected, &items, sums, last)?;
    same_miners(&expected, &miners)?;
    let depth = view.head(Lane::EXECUTED).map_or(0, |head| head.height.0 + 1);
    let lower = ids.get(..usize::try_from(depth).expect("small"));
    let lower = lower.ok_or("executed above mined")?.to_vec();
    let found: Vec<u64> = executed.iter().map(|(_, _, row)| id_of(&row.hash)).collect();
    same("executed units", &found, &lower)?;
    same("receipts", &receipts, &lower)?;
    Ok(true)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), Torn> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}")) }
}

type Items = Vec<(u64, (u64, u8), u128)>;

async fn read_items(
    timeline: &Timeline,
    view: &View,
    last: u64,
) -> Result<(Items, Option<u128>), ViewError> {
    let list = OrderedList::new(timeline, &ITEMS, CHAIN.to_owned());
    let mut items: Items = Vec::new();
    loop {
        let rows = list.page(view, items.len() as u64, Order::Ascending, 40).await?;
        if rows.is_empty() {
            break;
        }
        items.extend(rows.into_iter().map(|(at, row)| (at, row.value, row.sums[0])));
    }
    let summed = list.last(view, items.len() as u64, last).await?;
    Ok((items, summed.map(|summed| summed.sums[0])))
}

async fn read_miners(
    timeline: &Timeline,
    view: &View,
) -> Result<Vec<(u8, u64, Vec<u8>)>, ViewError> {
    let mut found = Vec::new();
    for miner in 0..MINERS {
        let mut request = PageRequest::first(20);
        loop {
            let partition = (CHAIN.to_owned(), miner);
            let page = timeline.visible_page(view, &BY_MINER, &partition, request.clone()).await?;
            found.extend(page.rows.into_iter().map(|((at, _), block)| (miner, at, block)));
            request.cursor = page.next;
            if request.cursor.is_none() {
                break;
            }
        }
    }
    Ok(found)
}

async fn read_receipts(timeline: &Timeline, view: &View) -> Result<Vec<u64>, ViewError> {
    let mut found = Vec::new();
    // A little beyond the head: what stands there must be invisible.
    for bucket in 0..4 {
        let partition = Sequenced(CHAIN.to_owned(), bucket * 16);
        let request = PageRequest::first(1000);
        let page = timeline.visible_page(view, &RECEIPTS, &partition, request).await?;
        found.extend(page.rows.iter().map(|(_, block)| id_of(block)));
    }
    Ok(found)
}

fn same_items(
    expected: &[Expected],
    items: &Items,
    summed: Option<u128>,
    last: u64,
) -> Result<(), Torn> {
    let (mut sum, mut flat, mut values) = (0, Vec::new(), Vec::new());
    for (id, position, block) in expected {
        for (at, (miner, value)) in (*position..).zip(block) {
            sum += u128::from(*value);
            values.push(u128::from(*value));
            flat.push((at, (*id, *miner), sum));
        }
    }
    same("items", items, &flat)?;
    let count = usize::try_from(last).expect("small");
    let recount: u128 = values.iter().rev().take(count).sum();
    same("sum of the last items", &summed.unwrap_or(0), &recount)
}

fn same_miners(expected: &[Expected], found: &[(u8, u64, Vec<u8>)]) -> Result<(), Torn> {
    let mut flat = Vec::new();
    for (id, position, block) in expected {
        for (at, (miner, _)) in (*position..).zip(block) {
            flat.push((*miner, at, hash(*id)));
        }
    }
    flat.sort();
    same("items by miner", &found.to_vec(), &flat)
}
