//! Transactions, and the blocks that pack them.

use axum::extract::State;
use axum::response::Response;
use platform::http::{Items, Json, List, PageParams, Path, Problem};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::objects::{Transaction, TransactionItem};
use super::pages::{Dense, Places, Reading};
use super::{Opened, hash, problem};
use crate::Hash;
use crate::explorer::Explorers;
use crate::query::TransactionAnswer;
use crate::tables::Packing;

pub(super) fn routes() -> OpenApiRouter<Explorers> {
    OpenApiRouter::new()
        .routes(routes!(transactions))
        .routes(routes!(transaction))
        .routes(routes!(packings))
}

/// A block that packs a transaction.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ScanPacking)]
struct PackingItem {
    /// The block.
    block: String,
    /// The place of the transaction in it.
    index: u32,
    /// The epoch of the block.
    epoch: u64,
    /// The time of the block, Unix seconds.
    timestamp: u64,
    /// Whether this packing is the one that was executed.
    executed: bool,
}

/// Transactions in the order of first packings.
#[utoipa::path(get, path = "/api/{chain}/transactions", tag = "scan",
    operation_id = "scan_transactions",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Reading, PageParams),
    responses((status = 200, description = "A page.", body = Items<TransactionItem>)))]
async fn transactions(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    list: List<Reading>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let scan = opened.scan();
    let total = scan.totals().await.map_err(problem)?.transactions;
    let dense = Dense { name: "scan.transactions", key: (&chain, String::new()), total };
    let read = |stretch| scan.transactions(stretch);
    dense.answer(&opened, (&list, list.filter.order), read, TransactionItem::new).await
}

/// A transaction.
///
/// Also one that no block of the chain packs any more: `firstBlockHash` is null then.
#[utoipa::path(get, path = "/api/{chain}/transactions/{hash}", tag = "scan",
    operation_id = "scan_transaction",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("hash" = String, Path, description = "0x and 64 digits.",
            pattern = "^0x[0-9a-fA-F]{64}$")),
    responses((status = 200, description = "The transaction.", body = Transaction)))]
async fn transaction(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
) -> Result<Json<Transaction>, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let hash = hash(&text)?;
    let found = find(&opened, hash).await?;
    Ok(Json(Transaction(found.fields(hash).map_err(Problem::internal)?)))
}

/// The blocks that pack a transaction, in the order of execution; the first one counts.
///
/// The same transaction may be packed in several branches that are merged later.
#[utoipa::path(get, path = "/api/{chain}/transactions/{hash}/packings", tag = "scan",
    operation_id = "scan_packings",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("hash" = String, Path, description = "0x and 64 digits.",
            pattern = "^0x[0-9a-fA-F]{64}$"), PageParams),
    responses((status = 200, description = "A page.", body = Items<PackingItem>)))]
async fn packings(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
    list: List,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    let hash = hash(&text)?;
    let executed = find(&opened, hash).await?.receipt.map(|receipt| receipt.block);
    let places = Places { name: "scan.packings", key: (&chain, hash.to_string()) };
    let after = places.read(&list)?.map(|[order, index]| (order, index as u32));
    let limit = list.page.limit;
    // One more than is shown tells whether there are more.
    let mut found = opened.scan().packings(hash, after, limit + 1).await.map_err(problem)?;
    opened.check()?;
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().map(|(order, index, _)| [*order, u64::from(*index)]);
    let next = places.next(last.filter(|_| more))?;
    let item = |(_, index, packing): (u64, u32, Packing)| PackingItem {
        block: packing.block.to_string(),
        index,
        epoch: packing.epoch,
        timestamp: packing.timestamp,
        executed: executed == Some(packing.block),
    };
    Ok(list.answer(found.into_iter().map(item).collect(), next.as_ref()))
}

async fn find(opened: &Opened, hash: Hash) -> Result<TransactionAnswer, Problem> {
    let found = opened.scan().transaction(hash).await.map_err(problem)?;
    opened.check()?;
    found.ok_or_else(|| Problem::not_found(format_args!("transaction {hash}")))
}
