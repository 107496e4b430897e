//! Members in the order of their scores.

use crate::commands::{Answer, Asked, PAGE, SYNTAX, WRONG_TYPE, is, stretch, whole};
use crate::number::{ScoreEnd, score_end};
use crate::reply::Reply;
use crate::{SortedValue, Value};

const NO_FLOAT: &str = "min or max is not a float";
const NO_LIMIT: &str = "syntax error, LIMIT is only supported in combination with either BYSCORE \
                        or BYLEX";
const NO_LEX: &str = "BYLEX is not supported: it means something only where all scores are equal";

async fn sorted(asked: &Asked<'_>) -> Result<Option<Box<dyn SortedValue>>, Reply> {
    match asked.value().await? {
        None => Ok(None),
        Some(Value::Sorted(sorted)) => Ok(Some(sorted)),
        Some(_) => Err(Reply::Error(WRONG_TYPE.to_owned())),
    }
}

pub(crate) async fn run(asked: &Asked<'_>, name: &str) -> Answer {
    match name {
        "zrange" => range(asked, Wanted::default(), true).await,
        "zrevrange" => range(asked, Wanted { reverse: true, ..Wanted::default() }, false).await,
        "zrangebyscore" => range(asked, Wanted { by: By::Score, ..Wanted::default() }, false).await,
        "zrevrangebyscore" => {
            let wanted = Wanted { by: By::Score, reverse: true, ..Wanted::default() };
            range(asked, wanted, false).await
        }
        "zcount" => {
            let ends = ends(asked.word(2), asked.word(3))?;
            let Some(sorted) = sorted(asked).await? else { return Ok(Reply::Integer(0)) };
            let (start, stop) = between(sorted.as_ref(), ends).await?;
            Ok(Reply::count(stop - start))
        }
        "zcard" => Ok(Reply::count(sorted(asked).await?.map_or(0, |sorted| sorted.len()))),
        _ => {
            let Some(sorted) = sorted(asked).await? else { return Ok(Reply::Null) };
            let found = sorted.rank(asked.word(2)).await?;
            Ok(match (found, name) {
                (None, _) => Reply::Null,
                (Some((_, score)), "zscore") => Reply::Double(score),
                (Some((rank, _)), _) => Reply::count(rank),
            })
        }
    }
}

/// What a range is counted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum By {
    #[default]
    Rank,
    Score,
    Lex,
}

/// What a range was asked for with.
#[derive(Debug)]
struct Wanted {
    by: By,
    reverse: bool,
    scores: bool,
    offset: i64,
    limit: i64,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { by: By::Rank, reverse: false, scores: false, offset: 0, limit: -1 }
    }
}

impl Wanted {
    /// Takes the words behind the ends. Only ZRANGE is told the order by them.
    fn read(mut self, mut words: &[Vec<u8>], general: bool) -> Result<Self, Reply> {
        loop {
            words = match words {
                [] => break,
                [word, rest @ ..] if is(word, "withscores") => {
                    self.scores = true;
                    rest
                }
                [word, offset, limit, rest @ ..] if is(word, "limit") => {
                    (self.offset, self.limit) = (whole(offset)?, whole(limit)?);
                    rest
                }
                [word, rest @ ..] if general && !self.reverse && is(word, "rev") => {
                    self.reverse = true;
                    rest
                }
                [word, rest @ ..] if general && self.by == By::Rank && is(word, "byscore") => {
                    self.by = By::Score;
                    rest
                }
                [word, rest @ ..] if general && self.by == By::Rank && is(word, "bylex") => {
                    self.by = By::Lex;
                    rest
                }
                _ => return Err(Reply::error(SYNTAX)),
            };
        }
        match self.by {
            By::Rank if self.limit != -1 => Err(Reply::error(NO_LIMIT)),
            By::Lex => Err(Reply::error(NO_LEX)),
            _ => Ok(self),
        }
    }
}

fn ends(low: &[u8], high: &[u8]) -> Result<(ScoreEnd, ScoreEnd), Reply> {
    let ends = score_end(low).zip(score_end(high));
    ends.ok_or_else(|| Reply::error(NO_FLOAT))
}

/// The ranks from the first member of a range of scores to behind the last.
async fn between(
    sorted: &dyn SortedValue,
    (low, high): (ScoreEnd, ScoreEnd),
) -> Result<(u64, u64), Reply> {
    let start = sorted.below(low.score, low.exclusive).await?;
    let stop = sorted.below(high.score, !high.exclusive).await?;
    Ok((start, stop.max(start)))
}

async fn range(asked: &Asked<'_>, wanted: Wanted, general: bool) -> Answer {
    let wanted = wanted.read(asked.from(4), general)?;
    let (first, second) = (asked.word(2), asked.word(3));
    let none = || Ok(Reply::Array(Vec::new()));
    if wanted.by == By::Rank {
        let (start, stop) = (whole(first)?, whole(second)?);
        let Some(sorted) = sorted(asked).await? else { return none() };
        let (start, count) = stretch(start, stop, sorted.len());
        let start = match wanted.reverse {
            true if count > 0 => sorted.len() - start - count,
            _ => start,
        };
        return members(asked, sorted.as_ref(), (start, count), &wanted).await;
    }
    let (low, high) = if wanted.reverse { (second, first) } else { (first, second) };
    let ends = ends(low, high)?;
    let Some(sorted) = sorted(asked).await? else { return none() };
    let (start, stop) = between(sorted.as_ref(), ends).await?;
    // A negative offset leaves all out, a negative limit nothing: so does Redis.
    let Ok(offset) = u64::try_from(wanted.offset) else { return none() };
    let left = (stop - start).saturating_sub(offset);
    let count = u64::try_from(wanted.limit).map_or(left, |limit| limit.min(left));
    let start = match wanted.reverse {
        true => stop.saturating_sub(offset).saturating_sub(count),
        false => start.saturating_add(offset),
    };
    members(asked, sorted.as_ref(), (start, count), &wanted).await
}

async fn members(
    asked: &Asked<'_>,
    sorted: &dyn SortedValue,
    (start, count): (u64, u64),
    wanted: &Wanted,
) -> Answer {
    let mut budget = asked.budget();
    budget.elements(count.saturating_mul(if wanted.scores { 2 } else { 1 }))?;
    let mut found = Vec::new();
    while (found.len() as u64) < count {
        let left = usize::try_from(count).unwrap_or(usize::MAX) - found.len();
        let page = sorted.page(start + found.len() as u64, left.min(PAGE)).await?;
        if page.is_empty() {
            break;
        }
        for (member, score) in page {
            budget.bytes(&member)?;
            found.push((Reply::Bulk(member), Reply::Double(score)));
        }
    }
    if wanted.reverse {
        found.reverse();
    }
    Ok(if wanted.scores {
        Reply::Pairs(found)
    } else {
        Reply::Array(found.into_iter().map(|(member, _)| member).collect())
    })
}
