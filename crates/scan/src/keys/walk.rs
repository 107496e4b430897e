//! All keys one after the other, for SCAN and KEYS.
//!
//! ```text
//! phase   0 single keys   1 epochs   2 blocks   3 miners   4 transactions, and the accounts
//! cursor  position in the phase × 8 + phase                  that have their first one here
//! ```
//!
//! Each list is walked by its positions, so a cursor stays good while the chain grows. When epochs
//! are popped, what took their place is found, and what is new behind the cursor may be missed: it
//! was not there all the time, which is all that SCAN promises.

use resp::{Found, Kind, Scanned};
use store::Order;
use timeline::OrderedList;

use super::name::{ACCOUNT, BLOCK, EPOCH, Key, MINER, SINGLE, TRANSACTION};
use super::{Moment, failure, text};
use crate::message;
use crate::tables::BLOCKS_IN_ORDER;
use crate::{Address, Hash};

/// Numbers that a cursor has room for as phases.
const PHASES: u64 = 8;
const LAST: u64 = 4;
/// Positions that are read at a time.
const STEP: u64 = 500;

/// About `count` keys from a cursor on.
pub(super) async fn walk(
    moment: &Moment,
    cursor: u64,
    count: usize,
    prefix: &[u8],
) -> Found<Scanned> {
    let (mut phase, mut position) = (cursor % PHASES, cursor / PHASES);
    let mut budget = count as u64;
    let mut keys = Vec::new();
    while phase <= LAST {
        let left = length(moment, phase, prefix).saturating_sub(position);
        if left == 0 {
            (phase, position) = (phase + 1, 0);
            continue;
        }
        if budget == 0 {
            return Ok(Scanned { keys, next: position * PHASES + phase });
        }
        let step = left.min(budget).min(STEP);
        step_in(moment, (phase, position, step), prefix, &mut keys).await?;
        (position, budget) = (position + step, budget - step);
    }
    Ok(Scanned { keys, next: 0 })
}

/// Whether a name with this beginning can begin with the prefix.
fn may(prefix: &[u8], beginning: &str) -> bool {
    let beginning = beginning.as_bytes();
    prefix.starts_with(beginning) || beginning.starts_with(prefix)
}

/// Positions of a phase; none when nothing in it can begin with the prefix.
fn length(moment: &Moment, phase: u64, prefix: &[u8]) -> u64 {
    let (beginnings, length): (&[&str], u64) = match phase {
        0 => return 1,
        1 => (&[EPOCH], moment.epochs),
        2 => (&[BLOCK], moment.totals.blocks),
        3 => (&[MINER], moment.totals.miners),
        _ => (&[TRANSACTION, ACCOUNT], moment.totals.transactions),
    };
    if beginnings.iter().any(|beginning| may(prefix, beginning)) { length } else { 0 }
}

async fn step_in(
    moment: &Moment,
    (phase, start, count): (u64, u64, u64),
    prefix: &[u8],
    keys: &mut Vec<(Vec<u8>, Kind)>,
) -> Found<()> {
    let stretch = (start, Order::Ascending, usize::try_from(count).unwrap_or(1));
    match phase {
        0 => {
            let single = SINGLE.into_iter().filter(|key| moment.has(*key));
            keys.extend(single.map(|key| (text(key), kind(key))));
        }
        1 => keys.extend((start..start + count).map(|it| (text(Key::Epoch(it)), Kind::List))),
        2 => blocks(moment, start, count, keys).await?,
        3 => {
            let miners = moment.scan().miners(stretch).await.map_err(failure)?;
            let name = |address| text(Key::MinerBlocks(address));
            keys.extend(miners.into_iter().map(|(_, it)| (name(it.address), Kind::Sorted)));
        }
        _ => {
            let lines = moment.scan().transactions(stretch).await.map_err(failure)?;
            for (_, line) in lines {
                keys.push((text(Key::Transaction(line.hash)), Kind::Hash));
                if may(prefix, ACCOUNT) {
                    accounts(moment, line.hash, keys).await?;
                }
            }
        }
    }
    Ok(())
}

fn kind(key: Key) -> Kind {
    match key {
        Key::SumDifficulties | Key::SumTransactions => Kind::Text,
        Key::Miners => Kind::Hash,
        Key::PivotChain => Kind::List,
        _ => Kind::Sorted,
    }
}

/// Blocks, and their transactions where the sums on the rows say that there are some.
async fn blocks(
    moment: &Moment,
    start: u64,
    count: u64,
    keys: &mut Vec<(Vec<u8>, Kind)>,
) -> Found<()> {
    let chain = moment.timeline.chain().clone();
    let list = OrderedList::new(&moment.timeline, &BLOCKS_IN_ORDER, chain);
    let packed = |row: &timeline::ListRow<_>| row.sums.get(1).copied().unwrap_or_default();
    let mut before = match start.checked_sub(1) {
        None => 0,
        Some(below) => {
            let row = list.at(&moment.view, below).await.map_err(failure)?;
            row.as_ref().map_or(0, packed)
        }
    };
    let count = usize::try_from(count).unwrap_or(1);
    let rows = list.page(&moment.view, start, Order::Ascending, count).await.map_err(failure)?;
    for (_, row) in rows {
        keys.push((text(Key::Block(row.value.hash)), Kind::Hash));
        if packed(&row) > before {
            keys.push((text(Key::BlockTransactions(row.value.hash)), Kind::Sorted));
        }
        before = packed(&row);
    }
    Ok(())
}

/// Accounts whose first transaction is this one.
async fn accounts(moment: &Moment, hash: Hash, keys: &mut Vec<(Vec<u8>, Kind)>) -> Found<()> {
    let Some(transaction) = moment.transaction(hash).await? else { return Ok(()) };
    let fields = transaction.facts.fields.read().map_err(super::damaged)?;
    let mut parties: Vec<Address> = ["from", "to"]
        .into_iter()
        .filter_map(|name| fields.get(name).and_then(serde_json::Value::as_str))
        .filter_map(|text| Address::parse(text).ok())
        .collect();
    if let [from] = parties.as_slice() {
        parties.extend(message::created(&fields, from));
    }
    parties.dedup();
    for address in parties {
        let first = (0, Order::Ascending, 1);
        let first = moment.scan().account(address, first).await.map_err(failure)?;
        if first.first().is_some_and(|(_, line)| line.hash == hash) {
            keys.push((text(Key::Account(address)), Kind::List));
        }
    }
    Ok(())
}
