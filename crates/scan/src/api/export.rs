//! Whole lists as a stream: as many rows as there are, however many.

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use platform::http::{Path, Problem, Query};
use serde::{Deserialize, Serialize};
use store::{Order, Task};
use timeline::ViewError;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::accounts::Direction;
use super::objects::{AccountItem, BlockItem, Line, MinerBlock, TransactionItem};
use super::{Opened, address};
use crate::Address;
use crate::explorer::{Explorer, Explorers};
use crate::query::Scan;
use crate::sift::{Sifted, Wanted};

/// Rows that are read and sent at a time.
const ROWS: usize = 1000;

pub(super) fn routes() -> OpenApiRouter<Explorers> {
    OpenApiRouter::new()
        .routes(routes!(blocks))
        .routes(routes!(transactions))
        .routes(routes!(account))
        .routes(routes!(miner))
}

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ScanFormat)]
enum Format {
    /// Comma-separated, with a line of names.
    #[default]
    Csv,
    /// A JSON object a line.
    Ndjson,
}

/// What is exported.
#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Whole {
    /// `csv` or `ndjson`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// What is exported of an account.
#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct OfAccount {
    /// `csv` or `ndjson`.
    #[serde(default)]
    #[param(inline)]
    format: Format,
    /// Only what the account receives, sends, sends to itself, or creates.
    #[param(inline)]
    direction: Option<Direction>,
}

/// Lines, and where to go on; nowhere at the end.
type Chunk = (Vec<String>, Option<u64>);

/// Reads a list from a position on. The oldest entries come first: what is added or switched
/// meanwhile is at the other end.
trait Reader: Send + Sync + 'static {
    fn read<'a>(
        &'a self,
        scan: &'a Scan<'_>,
        from: u64,
        format: Format,
    ) -> Task<'a, Result<Chunk, ViewError>>;

    fn columns(&self) -> &'static str;
}

struct Blocks;
struct Transactions;
struct OfMiner(Address);
struct Account(Address, Option<Wanted>);

/// Lines of entries that were read from `from` on, and where to go on.
fn chunk<L: Line>(items: &[(u64, L)], read: usize, last: Option<u64>, format: Format) -> Chunk {
    let line = |item: &L| match format {
        Format::Csv => item.columns(),
        // Plain structs of numbers and texts can always be written.
        Format::Ndjson => serde_json::to_string(item).unwrap_or_default(),
    };
    let lines = items.iter().map(|(_, item)| line(item)).collect();
    (lines, last.filter(|_| read == ROWS).map(|last| last + 1))
}

macro_rules! reader {
    ($reader:ty, $item:ty, |$self:ident, $scan:ident, $stretch:ident| $read:expr) => {
        impl Reader for $reader {
            fn read<'a>(
                &'a self,
                $scan: &'a Scan<'_>,
                from: u64,
                format: Format,
            ) -> Task<'a, Result<Chunk, ViewError>> {
                Box::pin(async move {
                    let ($self, $stretch) = (self, (from, Order::Ascending, ROWS));
                    let lines = $read.await?;
                    let (read, last) = (lines.len(), lines.last().map(|(position, _)| *position));
                    let items = lines.into_iter().map(|line| (line.0, <$item>::new(line)));
                    Ok(chunk(&items.collect::<Vec<_>>(), read, last, format))
                })
            }

            fn columns(&self) -> &'static str {
                <$item>::COLUMNS
            }
        }
    };
}

reader!(Blocks, BlockItem, |_list, scan, stretch| scan.blocks(stretch));
reader!(Transactions, TransactionItem, |_list, scan, stretch| scan.transactions(stretch));
reader!(OfMiner, MinerBlock, |list, scan, stretch| scan.miner(list.0, stretch));

impl Reader for Account {
    fn read<'a>(
        &'a self,
        scan: &'a Scan<'_>,
        from: u64,
        format: Format,
    ) -> Task<'a, Result<Chunk, ViewError>> {
        Box::pin(async move {
            let stretch = (from, Order::Ascending, ROWS);
            let Sifted { lines, last } = scan.account_sifted(self.0, stretch, self.1).await?;
            let next = match last {
                Some(last) if last + 1 < scan.account_count(self.0).await? => Some(last + 1),
                _ => None,
            };
            let items = lines.into_iter().map(|line| (line.0, AccountItem::new(line)));
            let items: Vec<_> = items.collect();
            Ok((chunk(&items, 0, None, format).0, next))
        })
    }

    fn columns(&self) -> &'static str {
        AccountItem::COLUMNS
    }
}

/// What is left of an export.
struct Rest<R> {
    explorer: Explorer,
    reader: R,
    format: Format,
    next: Option<u64>,
    begun: bool,
}

impl<R: Reader> Rest<R> {
    /// The next bytes; none at the end. A view that grew old is taken anew, and the list goes on
    /// from where it was.
    async fn more(&mut self) -> Result<Option<Bytes>, ViewError> {
        let Some(from) = self.next else { return Ok(None) };
        let view = self.explorer.view().await?;
        let scan = Scan::new(self.explorer.timeline(), &view);
        let (lines, next) = self.reader.read(&scan, from, self.format).await?;
        self.explorer.timeline().check_age(&view)?;
        self.next = next;
        let mut text = String::with_capacity(lines.len() * 128);
        if !std::mem::replace(&mut self.begun, true) && self.format == Format::Csv {
            text.push_str(self.reader.columns());
            text.push('\n');
        }
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
        Ok(Some(text.into()))
    }
}

fn stream<R: Reader>(opened: Opened, reader: R, format: Format) -> Response {
    let Opened { explorer, .. } = opened;
    let rest = Rest { explorer, reader, format, next: Some(0), begun: false };
    let stream = futures_util::stream::try_unfold(rest, |mut rest| async move {
        let bytes = rest.more().await?;
        Ok::<_, ViewError>(bytes.map(|bytes| (bytes, rest)))
    });
    let kind = match format {
        Format::Csv => "text/csv; charset=utf-8; header=present",
        Format::Ndjson => "application/x-ndjson",
    };
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(stream)).into_response()
}

/// All blocks in the order of execution.
#[utoipa::path(get, path = "/api/{chain}/blocks/export", tag = "scan",
    operation_id = "scan_export_blocks",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Whole),
    responses((status = 200, description = "Every row.",
        content((String = "text/csv"), (String = "application/x-ndjson")))))]
async fn blocks(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    Query(whole): Query<Whole>,
) -> Result<Response, Problem> {
    Ok(stream(Opened::new(&explorers, &chain).await?, Blocks, whole.format))
}

/// All transactions in the order of first packings.
#[utoipa::path(get, path = "/api/{chain}/transactions/export", tag = "scan",
    operation_id = "scan_export_transactions",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32), Whole),
    responses((status = 200, description = "Every row.",
        content((String = "text/csv"), (String = "application/x-ndjson")))))]
async fn transactions(
    State(explorers): State<Explorers>,
    Path(chain): Path<String>,
    Query(whole): Query<Whole>,
) -> Result<Response, Problem> {
    Ok(stream(Opened::new(&explorers, &chain).await?, Transactions, whole.format))
}

/// The whole history of an account.
#[utoipa::path(get, path = "/api/{chain}/accounts/{address}/export", tag = "scan",
    operation_id = "scan_export_account",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("address" = String, Path, description = "0x and 40 digits, or base32.",
            pattern = "^(0x[0-9a-fA-F]{40}|(cfx|cfxtest|net[0-9]{1,9}):[a-z0-9]{42})$"), OfAccount),
    responses((status = 200, description = "Every row.",
        content((String = "text/csv"), (String = "application/x-ndjson")))))]
async fn account(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
    Query(asked): Query<OfAccount>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    Ok(stream(opened, Account(address(&text)?, asked.direction.map(Wanted::from)), asked.format))
}

/// All blocks of a miner.
#[utoipa::path(get, path = "/api/{chain}/miners/{address}/export", tag = "scan",
    operation_id = "scan_export_miner",
    params(("chain" = String, Path, description = "The chain.",
            pattern = "^[a-z](-?[a-z0-9])+$", max_length = 32),
        ("address" = String, Path, description = "0x and 40 digits, or base32.",
            pattern = "^(0x[0-9a-fA-F]{40}|(cfx|cfxtest|net[0-9]{1,9}):[a-z0-9]{42})$"), Whole),
    responses((status = 200, description = "Every row.",
        content((String = "text/csv"), (String = "application/x-ndjson")))))]
async fn miner(
    State(explorers): State<Explorers>,
    Path((chain, text)): Path<(String, String)>,
    Query(whole): Query<Whole>,
) -> Result<Response, Problem> {
    let opened = Opened::new(&explorers, &chain).await?;
    Ok(stream(opened, OfMiner(address(&text)?), whole.format))
}
