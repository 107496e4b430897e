//! Fields with values.

use crate::commands::keys::{ScanOptions, read_cursor, scanned};
use crate::commands::{Answer, Asked, PAGE, WRONG_TYPE};
use crate::reply::Reply;
use crate::{HashValue, Value};

/// A hash of so many fields is scanned at once, as Redis does with small ones.
const SCANNED_WHOLE: u64 = 128;

async fn hash(asked: &Asked<'_>) -> Result<Option<Box<dyn HashValue>>, Reply> {
    match asked.value().await? {
        None => Ok(None),
        Some(Value::Hash(hash)) => Ok(Some(hash)),
        Some(_) => Err(Reply::Error(WRONG_TYPE.to_owned())),
    }
}

pub(crate) async fn run(asked: &Asked<'_>, name: &str) -> Answer {
    if name == "hscan" {
        return scan(asked).await;
    }
    let hash = hash(asked).await?;
    let hash = hash.as_deref();
    match name {
        "hget" => Ok(get(hash, asked.word(2)).await?.map_or(Reply::Null, Reply::Bulk)),
        "hexists" => Ok(Reply::Integer(i64::from(get(hash, asked.word(2)).await?.is_some()))),
        "hlen" => Ok(Reply::count(hash.map_or(0, HashValue::len))),
        "hmget" => {
            let mut budget = asked.budget();
            let mut values = Vec::new();
            for field in asked.from(2) {
                let value = get(hash, field).await?;
                budget.bytes(value.as_deref().unwrap_or_default())?;
                values.push(value.map_or(Reply::Null, Reply::Bulk));
            }
            Ok(Reply::Array(values))
        }
        "hkeys" => {
            let fields = all(asked, hash, 1).await?.into_iter().map(|(field, _)| field);
            Ok(Reply::Array(fields.collect()))
        }
        "hvals" => {
            let values = all(asked, hash, 1).await?.into_iter().map(|(_, value)| value);
            Ok(Reply::Array(values.collect()))
        }
        _ => Ok(Reply::Map(all(asked, hash, 2).await?)),
    }
}

async fn get(hash: Option<&dyn HashValue>, field: &[u8]) -> Result<Option<Vec<u8>>, Reply> {
    match hash {
        None => Ok(None),
        Some(hash) => Ok(hash.get(field).await?),
    }
}

/// All fields with values, when so many elements for each may be answered.
async fn all(
    asked: &Asked<'_>,
    hash: Option<&dyn HashValue>,
    elements: u64,
) -> Result<Vec<(Reply, Reply)>, Reply> {
    let mut found = Vec::new();
    let Some(hash) = hash else { return Ok(found) };
    let mut budget = asked.budget();
    budget.elements(hash.len().saturating_mul(elements))?;
    while (found.len() as u64) < hash.len() {
        let page = hash.page(found.len() as u64, PAGE).await?;
        if page.is_empty() {
            break;
        }
        for (field, value) in page {
            budget.bytes(&field)?;
            budget.bytes(&value)?;
            found.push((Reply::Bulk(field), Reply::Bulk(value)));
        }
    }
    Ok(found)
}

async fn scan(asked: &Asked<'_>) -> Answer {
    let cursor = read_cursor(asked.word(2))?;
    let Some(hash) = hash(asked).await? else { return Ok(scanned(0, Vec::new())) };
    let options = ScanOptions::read(asked.from(3), false)?;
    let whole = hash.len() <= SCANNED_WHOLE;
    let start = if whole { 0 } else { cursor };
    let count = if whole { SCANNED_WHOLE as usize } else { options.count };
    let page = hash.page(start, count).await?;
    let seen = start.saturating_add(page.len() as u64);
    let next = if seen < hash.len() && !page.is_empty() { seen } else { 0 };
    let mut budget = asked.budget();
    let mut found = Vec::new();
    for (field, value) in page.into_iter().filter(|(field, _)| options.fits(field)) {
        budget.bytes(&field)?;
        budget.bytes(&value)?;
        found.extend([Reply::Bulk(field), Reply::Bulk(value)]);
    }
    Ok(scanned(next, found))
}
