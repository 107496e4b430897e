//! Keys as such, and texts.

use crate::commands::{Answer, Asked, SYNTAX, WRONG_TYPE, is, whole};
use crate::glob;
use crate::number::cursor;
use crate::reply::Reply;
use crate::{Failure, Scanned, Value};

/// Keys that one SCAN looks at; without COUNT ten, as in Redis.
const SCAN_MOST: i64 = 1_000;
const SCAN_USUAL: i64 = 10;
/// Keys that KEYS looks at at a time.
const KEYS_STEP: u64 = 1_000;

pub(crate) async fn run(asked: &Asked<'_>, name: &str) -> Answer {
    match name {
        "dbsize" => Ok(Reply::count(asked.snapshot.size().await?)),
        "type" => {
            let value = asked.value().await?;
            Ok(Reply::Simple(value.map_or("none", |value| value.kind().name())))
        }
        "exists" => {
            let mut count = 0;
            for key in asked.from(1) {
                count += i64::from(asked.snapshot.find(key).await?.is_some());
            }
            Ok(Reply::Integer(count))
        }
        "get" => match asked.value().await? {
            None => Ok(Reply::Null),
            Some(Value::Text(text)) => Ok(Reply::Bulk(text)),
            Some(_) => Err(Reply::Error(WRONG_TYPE.to_owned())),
        },
        "strlen" => match asked.value().await? {
            None => Ok(Reply::Integer(0)),
            Some(Value::Text(text)) => Ok(Reply::count(text.len() as u64)),
            Some(_) => Err(Reply::Error(WRONG_TYPE.to_owned())),
        },
        "keys" => keys(asked).await,
        _ => scan(asked).await,
    }
}

async fn keys(asked: &Asked<'_>) -> Answer {
    let pattern = asked.word(1);
    let (prefix, literal) = glob::literal_prefix(pattern);
    if literal {
        let found = asked.snapshot.find(&prefix).await?;
        return Ok(Reply::Array(found.map(|_| Reply::Bulk(prefix)).into_iter().collect()));
    }
    let limit = asked.options.keys_examined;
    let (mut next, mut seen, mut found) = (0, 0, Vec::new());
    let mut budget = asked.budget();
    loop {
        let step = usize::try_from((limit - seen).min(KEYS_STEP)).unwrap_or(1);
        let page = asked.snapshot.scan(next, step, &prefix).await?;
        seen += page.keys.len() as u64;
        for (key, _) in page.keys {
            if glob::matches(pattern, &key) {
                budget.elements(1)?;
                budget.bytes(&key)?;
                found.push(Reply::Bulk(key));
            }
        }
        next = page.next;
        if next == 0 {
            return Ok(Reply::Array(found));
        }
        if seen >= limit {
            return Err(Failure::TooManyKeys(limit).into());
        }
    }
}

/// What SCAN and HSCAN may be told.
pub(crate) struct ScanOptions<'a> {
    pub(crate) count: usize,
    pub(crate) pattern: Option<&'a [u8]>,
    kind: Option<&'a [u8]>,
}

impl<'a> ScanOptions<'a> {
    /// Reads the words behind the cursor; TYPE is for keys only.
    pub(crate) fn read(mut words: &'a [Vec<u8>], of_keys: bool) -> Result<Self, Reply> {
        let (mut count, mut pattern, mut kind) = (SCAN_USUAL, None, None);
        loop {
            words = match words {
                [] => break,
                [option, value, rest @ ..] if is(option, "count") => {
                    count = whole(value)?;
                    if count < 1 {
                        return Err(Reply::error(SYNTAX));
                    }
                    rest
                }
                [option, value, rest @ ..] if is(option, "match") => {
                    pattern = Some(value.as_slice());
                    rest
                }
                [option, value, rest @ ..] if is(option, "type") && of_keys => {
                    kind = Some(value.as_slice());
                    rest
                }
                _ => return Err(Reply::error(SYNTAX)),
            };
        }
        let count = usize::try_from(count.min(SCAN_MOST)).unwrap_or(1);
        Ok(Self { count, pattern, kind })
    }

    pub(crate) fn fits(&self, text: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, text))
    }
}

pub(crate) fn read_cursor(word: &[u8]) -> Result<u64, Reply> {
    cursor(word).ok_or_else(|| Reply::error("invalid cursor"))
}

/// A cursor and what was found before it.
pub(crate) fn scanned(next: u64, found: Vec<Reply>) -> Reply {
    Reply::Array(vec![Reply::text(next.to_string()), Reply::Array(found)])
}

async fn scan(asked: &Asked<'_>) -> Answer {
    let cursor = read_cursor(asked.word(1))?;
    let options = ScanOptions::read(asked.from(2), true)?;
    let prefix = options.pattern.map(|pattern| glob::literal_prefix(pattern).0).unwrap_or_default();
    let Scanned { keys, next } = asked.snapshot.scan(cursor, options.count, &prefix).await?;
    let keys = keys.into_iter().filter(|(key, kind)| {
        options.fits(key) && options.kind.is_none_or(|wanted| is(wanted, kind.name()))
    });
    Ok(scanned(next, keys.map(|(key, _)| Reply::Bulk(key)).collect()))
}
