//! The journal of switches.

use axum::extract::State;
use axum::response::Response;
use platform::ListCursor;
use platform::http::{Items, Json, List, PageParams, Path, Problem};
use serde::Serialize;
use store::Cursor;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Opened, problem};
use crate::Hash;
use crate::explorer::Explorers;
use crate::journal::{self, SwitchLine};
use crate::query::Scan;

/// The name of the list in cursors.
const LIST: &str = "scan.journal";
/// Transactions of one switch that are followed at the most.
const FOLLOWED: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<Explorers> {
    OpenApiRouter::new().routes(routes!(switches)).routes(routes!(switch))
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

/// A switch, and where everything in it went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanSwitchDetail)]
struct SwitchDetail {
    /// The switch.
    #[serde(flatten)]
    switch: SwitchItem,
    /// The epochs that left the chain, the lowest first. At most a thousand.
    epochs: Vec<Popped>,
    /// Where their transactions are now. At most a thousand.
    transactions: Vec<Went>,
    /// Whether there are more transactions than these.
    more: bool,
}

/// An epoch that left the chain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanPoppedEpoch)]
struct Popped {
    /// Its number.
    number: u64,
    /// Its blocks in the order of execution.
    blocks: Vec<BlockWent>,
}

/// Where a block went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanBlockWent)]
struct BlockWent {
    /// The block.
    hash: String,
    /// The epoch it is in now; absent while it is orphaned.
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<u64>,
}

/// Where a transaction went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanTransactionWent)]
struct Went {
    /// The transaction.
    hash: String,
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
            number.map_err(|_| platform::ListCursorError::Damaged)?
        }
    };
    let timeline = opened.explorer.timeline();
    let page = journal::page(timeline, before, list.page.limit).await.map_err(problem)?;
    let items = page.switches.iter().map(|(number, line)| SwitchItem::new(*number, line));
    let encode = |next: u64| ListCursor::encode(LIST, &chain, &next.to_be_bytes());
    let next = page.next.map(|next| Cursor::parse(&encode(next))).transpose()?;
    Ok(list.answer(items.collect(), next.as_ref()))
}

/// A switch: which epochs were popped, and where everything in them went.
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
    let found = journal::switch(opened.explorer.timeline(), number).await.map_err(problem)?;
    let missing = || Problem::not_found(format_args!("switch {number} that popped epochs"));
    let (line, popped) = found.ok_or_else(missing)?;
    let scan = opened.scan();
    let mut detail = SwitchDetail {
        switch: SwitchItem::new(number, &line),
        epochs: Vec::new(),
        transactions: Vec::new(),
        more: false,
    };
    for (number, epoch) in popped {
        let mut blocks = Vec::with_capacity(epoch.blocks.len());
        for hash in epoch.blocks {
            let block = scan.block(hash).await.map_err(problem)?;
            let epoch = block.and_then(|block| block.seat).map(|seat| seat.epoch);
            blocks.push(BlockWent { hash: hash.to_string(), epoch });
            detail.follow(&scan, hash).await?;
        }
        detail.epochs.push(Popped { number, blocks });
    }
    opened.check()?;
    Ok(Json(detail))
}

impl SwitchDetail {
    /// Adds where the transactions of a block are now.
    async fn follow(&mut self, scan: &Scan<'_>, block: Hash) -> Result<(), Problem> {
        let room = FOLLOWED.saturating_sub(self.transactions.len());
        let mut hashes = scan.block_transactions(block, 0, room + 1).await.map_err(problem)?;
        self.more |= hashes.len() > room;
        hashes.truncate(room);
        for hash in hashes {
            let found = scan.transaction(hash).await.map_err(problem)?;
            let first = found.and_then(|found| found.packings.first().map(|(_, it)| *it));
            self.transactions.push(Went {
                hash: hash.to_string(),
                block: first.map(|packing| packing.block.to_string()),
                epoch: first.map(|packing| packing.epoch),
            });
        }
        Ok(())
    }
}
