//! The journal of switches.

use axum::extract::State;
use axum::response::Response;
use platform::http::{Items, Json, List, PageParams, Path, Problem};
use platform::{ListCursor, ListCursorError};
use serde::Serialize;
use store::Cursor;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::pages::Places;
use super::{Opened, problem};
use crate::Hash;
use crate::explorer::Explorers;
use crate::journal::{self, SwitchLine};
use crate::popped::{self, Place, PoppedBlock, PoppedTransaction};
use crate::query::{BlockAnswer, TransactionAnswer};

/// The name of the list in cursors.
const LIST: &str = "scan.journal";

pub(super) fn routes() -> OpenApiRouter<Explorers> {
    OpenApiRouter::new()
        .routes(routes!(switches))
        .routes(routes!(switch))
        .routes(routes!(blocks))
        .routes(routes!(transactions))
}

/// Epochs from one to another.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanEpochRange)]
struct Range {
    /// The first.
    from: u64,
    /// The last.
    to: u64,
}

/// A switch of the pivot chain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanSwitch)]
struct SwitchItem {
    /// Its number; events name it too.
    number: u64,
    /// Epochs that left the chain.
    popped: Range,
    /// Epochs that joined it, in the same moment.
    pushed: Option<Range>,
}

/// A switch, and how much it popped.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanSwitchDetail)]
struct SwitchDetail {
    /// The switch.
    #[serde(flatten)]
    switch: SwitchItem,
    /// Popped epochs that are written down, at most a thousand.
    epochs: u64,
    /// Blocks of these.
    blocks: u64,
}

/// Where a popped block went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanBlockWent)]
struct BlockWent {
    /// The block.
    hash: String,
    /// The epoch it was in.
    popped_epoch: u64,
    /// The epoch it is in now; absent while it is orphaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
}

/// Where a transaction of a popped block went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanTransactionWent)]
struct TransactionWent {
    /// The transaction.
    hash: String,
    /// The epoch it was in.
    popped_epoch: u64,
    /// The block of that epoch.
    popped_block: String,
    /// The block that packs it first now; absent while none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<String>,
    /// The epoch of that block.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
}

impl SwitchItem {
    fn new(number: u64, line: &SwitchLine) -> Self {
        let range = |(from, to)| Range { from, to };
        Self { number, popped: range(line.popped), pushed: line.pushed.map(range) }
    }
}

/// Switches that popped epochs, the newest first.
///
/// A page may be shorter than asked for and still have a next one.
#[utoipa::path(get, path = "/api/{chain}/journal", tag = "scan", operation_id = "scan_journal",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), PageParams),
    responses((status = 200, description = "A page.", body = Items<SwitchItem>)))]
async fn switches(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    list: List,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let before = match &list.page.cursor {
        None => opened.view.tip().switches,
        Some(cursor) => {
            let inner = ListCursor::decode(LIST, &chain, cursor.as_str())?;
            let number = inner.try_into().map(u64::from_be_bytes);
            number.map_err(|_| ListCursorError::Damaged)?
        }
    };
    let timeline = opened.explorer.timeline();
    let page = journal::page(timeline, before, list.page.limit).await.map_err(problem)?;
    let items = page.switches.iter().map(|(number, line)| SwitchItem::new(*number, line));
    let encode = |next: u64| ListCursor::encode(LIST, &chain, &next.to_be_bytes());
    let next = page.next.map(|next| Cursor::parse(&encode(next))).transpose()?;
    Ok(list.answer(items.collect(), next.as_ref()))
}

/// A switch, and how much it popped.
#[utoipa::path(get, path = "/api/{chain}/journal/{number}", tag = "scan",
    operation_id = "scan_switch",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("number" = u64, Path, description = "Its number.", minimum = 0)),
    responses((status = 200, description = "The switch.", body = SwitchDetail)))]
async fn switch(
    State(explorers): State<Explorers>,
    Path((chain, number)): Path<(String, u64)>,
) -> Result<Json<SwitchDetail>, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let line = find(&opened, number).await?;
    let counts = popped::counts(opened.explorer.timeline(), number).await.map_err(problem)?;
    let switch = SwitchItem::new(number, &line);
    Ok(Json(SwitchDetail { switch, epochs: counts.epochs, blocks: counts.blocks }))
}

/// The blocks that a switch popped, in the order they were executed, and where each went.
#[utoipa::path(get, path = "/api/{chain}/journal/{number}/blocks", tag = "scan",
    operation_id = "scan_switch_blocks",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("number" = u64, Path, description = "The switch.", minimum = 0), PageParams),
    responses((status = 200, description = "A page.", body = Items<BlockWent>)))]
async fn blocks(
    State(explorers): State<Explorers>,
    Path((chain, number)): Path<(String, u64)>,
    list: List,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    find(&opened, number).await?;
    let places = Places { name: "scan.journal.blocks", key: (&chain, number.to_string()) };
    let (from, timeline) = (begin(&places, &list)?, opened.explorer.timeline());
    let found = popped::blocks(timeline, number, from, list.page.limit).await.map_err(problem)?;
    let hashes: Vec<Hash> = found.items.iter().map(|item| item.hash).collect();
    let known = opened.scan().blocks_of(&hashes).await.map_err(problem)?;
    opened.check()?;
    let item = |(item, known): (PoppedBlock, Option<BlockAnswer>)| BlockWent {
        hash: item.hash.to_string(),
        popped_epoch: item.place.epoch,
        epoch: known.and_then(|known| known.seat).map(|seat| seat.epoch),
    };
    let next = places.next(found.next.map(Place::numbers))?;
    Ok(list.answer(found.items.into_iter().zip(known).map(item).collect(), next.as_ref()))
}

/// The transactions of the blocks that a switch popped, and where each went.
///
/// A transaction comes once for each of the blocks that packs it. A page may be shorter than asked
/// for and still have a next one.
#[utoipa::path(get, path = "/api/{chain}/journal/{number}/transactions", tag = "scan",
    operation_id = "scan_switch_transactions",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("number" = u64, Path, description = "The switch.", minimum = 0), PageParams),
    responses((status = 200, description = "A page.", body = Items<TransactionWent>)))]
async fn transactions(
    State(explorers): State<Explorers>,
    Path((chain, number)): Path<(String, u64)>,
    list: List,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    find(&opened, number).await?;
    let places = Places { name: "scan.journal.transactions", key: (&chain, number.to_string()) };
    let (from, timeline) = (begin(&places, &list)?, opened.explorer.timeline());
    let found = popped::transactions(timeline, number, from, list.page.limit);
    let found = found.await.map_err(problem)?;
    let hashes: Vec<Hash> = found.items.iter().map(|item| item.hash).collect();
    let known = opened.scan().transactions_of(&hashes).await.map_err(problem)?;
    opened.check()?;
    let item = |(item, known): (PoppedTransaction, Option<TransactionAnswer>)| {
        let first = known.and_then(|known| known.packings.first().map(|(_, it)| *it));
        TransactionWent {
            hash: item.hash.to_string(),
            popped_epoch: item.place.epoch,
            popped_block: item.block.to_string(),
            block: first.map(|packing| packing.block.to_string()),
            epoch: first.map(|packing| packing.epoch),
        }
    };
    let next = places.next(found.next.map(Place::numbers))?;
    Ok(list.answer(found.items.into_iter().zip(known).map(item).collect(), next.as_ref()))
}

async fn find(opened: &Opened, number: u64) -> Result<SwitchLine, Problem> {
    let found = journal::switch(opened.explorer.timeline(), number).await.map_err(problem)?;
    found.ok_or_else(|| Problem::not_found(format_args!("switch {number} that popped epochs")))
}

/// Where a page begins.
fn begin(places: &Places<'_>, list: &List) -> Result<Place, Problem> {
    let Some(numbers) = places.read(list)? else { return Ok(Place::default()) };
    Ok(Place::of(numbers).ok_or(ListCursorError::Damaged)?)
}
