//! Elements in order.

use crate::commands::{Answer, Asked, PAGE, WRONG_TYPE, stretch};
use crate::reply::Reply;
use crate::{ListValue, Value};

async fn list(asked: &Asked<'_>) -> Result<Option<Box<dyn ListValue>>, Reply> {
    match asked.value().await? {
        None => Ok(None),
        Some(Value::List(list)) => Ok(Some(list)),
        Some(_) => Err(Reply::Error(WRONG_TYPE.to_owned())),
    }
}

pub(crate) async fn run(asked: &Asked<'_>, name: &str) -> Answer {
    match name {
        "llen" => Ok(Reply::count(list(asked).await?.map_or(0, |list| list.len()))),
        "lindex" => {
            let Some(list) = list(asked).await? else { return Ok(Reply::Null) };
            let index = asked.whole(2)?;
            let position = match u64::try_from(index) {
                Ok(position) => Some(position),
                Err(_) => list.len().checked_sub(index.unsigned_abs()),
            };
            let Some(position) = position.filter(|position| *position < list.len()) else {
                return Ok(Reply::Null);
            };
            let element = list.page(position, 1).await?.pop();
            Ok(element.map_or(Reply::Null, Reply::Bulk))
        }
        _ => {
            let (start, stop) = (asked.whole(2)?, asked.whole(3)?);
            let Some(list) = list(asked).await? else { return Ok(Reply::Array(Vec::new())) };
            let (start, count) = stretch(start, stop, list.len());
            range(asked, list.as_ref(), start, count).await
        }
    }
}

async fn range(asked: &Asked<'_>, list: &dyn ListValue, start: u64, count: u64) -> Answer {
    let mut budget = asked.budget();
    budget.elements(count)?;
    let mut found = Vec::new();
    while (found.len() as u64) < count {
        let left = usize::try_from(count).unwrap_or(usize::MAX) - found.len();
        let page = list.page(start + found.len() as u64, left.min(PAGE)).await?;
        if page.is_empty() {
            break;
        }
        for element in page {
            budget.bytes(&element)?;
            found.push(Reply::Bulk(element));
        }
    }
    Ok(Reply::Array(found))
}
