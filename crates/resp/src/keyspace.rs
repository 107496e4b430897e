//! What a service implements to be read through Redis commands.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A future that a trait object returns.
pub type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Why a key could not be read. Clients see the text behind `ERR`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// What is behind the keys did not answer, or answered wrongly.
    #[error("the keys cannot be read now: {0}; try again")]
    Unavailable(String),
    /// An answer is larger than the server gives at once.
    #[error(
        "the answer would have more than {limit} {what}; \
         ask for a range (ZRANGE, LRANGE, HMGET) or use SCAN, HSCAN"
    )]
    TooLarge {
        /// How much would have been given.
        limit: u64,
        /// Of what.
        what: &'static str,
    },
    /// A pattern for KEYS makes the server look at more keys than it does at once.
    #[error("KEYS would look at more than {0} keys; use SCAN with MATCH, or a key without * ? [")]
    TooManyKeys(u64),
}

/// What type a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One text.
    Text,
    /// Fields with values.
    Hash,
    /// Members with scores.
    Sorted,
    /// Elements in order.
    List,
}

impl Kind {
    /// As TYPE tells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Hash => "hash",
            Self::Sorted => "zset",
            Self::List => "list",
        }
    }
}

/// What is under a key.
pub enum Value {
    /// One text.
    Text(Vec<u8>),
    /// Fields with values.
    Hash(Box<dyn HashValue>),
    /// Members with scores.
    Sorted(Box<dyn SortedValue>),
    /// Elements in order.
    List(Box<dyn ListValue>),
}

impl Value {
    /// Its type.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Text(_) => Kind::Text,
            Self::Hash(_) => Kind::Hash,
            Self::Sorted(_) => Kind::Sorted,
            Self::List(_) => Kind::List,
        }
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Value").field(&self.kind()).finish()
    }
}

/// Something read, or why not.
pub type Found<T> = Result<T, Failure>;

/// A field with its value.
pub type Field = (Vec<u8>, Vec<u8>);

/// A member with its score.
pub type Member = (Vec<u8>, f64);

/// Fields with values, in an order that stays while the hash does not change.
pub trait HashValue: Send + Sync {
    /// How many fields.
    fn len(&self) -> u64;
    /// Whether there is none; then the key does not exist.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The value of a field.
    fn get<'a>(&'a self, field: &'a [u8]) -> Task<'a, Found<Option<Vec<u8>>>>;
    /// Up to `count` fields with values from a position on; fewer only at the end.
    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Field>>>;
}

/// Members in the order of their scores.
pub trait SortedValue: Send + Sync {
    /// How many members.
    fn len(&self) -> u64;
    /// Whether there is none; then the key does not exist.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Up to `count` members with scores from a rank on; fewer only at the end.
    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Member>>>;
    /// Rank and score of a member.
    fn rank<'a>(&'a self, member: &'a [u8]) -> Task<'a, Found<Option<(u64, f64)>>>;
    /// How many members have a lower score, or with `or_equal` no higher one. As it is, it finds
    /// the place in as many steps as the length has bits; who knows better says so.
    fn below(&self, score: f64, or_equal: bool) -> Task<'_, Found<u64>> {
        Box::pin(async move {
            let (mut low, mut high) = (0, self.len());
            while low < high {
                let middle = low + (high - low) / 2;
                let page = self.page(middle, 1).await?;
                let Some((_, found)) = page.first() else {
                    return Err(Failure::Unavailable("a member is missing".to_owned()));
                };
                if *found < score || (or_equal && *found <= score) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            Ok(low)
        })
    }
}

/// Elements in order.
pub trait ListValue: Send + Sync {
    /// How many elements.
    fn len(&self) -> u64;
    /// Whether there is none; then the key does not exist.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Up to `count` elements from a position on; fewer only at the end.
    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Vec<u8>>>>;
}

/// Some of the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Keys with their types.
    pub keys: Vec<(Vec<u8>, Kind)>,
    /// Where to go on; 0 when all were seen.
    pub next: u64,
}

/// All keys at one moment.
pub trait Snapshot: Send + Sync {
    /// What is under a key. An empty hash, set or list is none.
    fn find<'a>(&'a self, key: &'a [u8]) -> Task<'a, Found<Option<Value>>>;
    /// How many keys there are.
    fn size(&self) -> Task<'_, Found<u64>>;
    /// About `count` keys from a cursor on; the first cursor is 0. Keys that do not begin with
    /// `prefix` may be left out: nobody will look at them.
    fn scan<'a>(&'a self, cursor: u64, count: usize, prefix: &'a [u8]) -> Task<'a, Found<Scanned>>;
    /// Asked after the last read of an answer: whether what was read may be used.
    ///
    /// # Errors
    /// When the moment is so long ago that parts of it may be gone.
    fn finish(&self) -> Found<()> {
        Ok(())
    }
}

/// Keys that can be read.
pub trait Keyspace: Send + Sync {
    /// All keys as they are now, in the database that the client selected, 0 to 15. Taken once for
    /// each command. Who has but one set of keys shows it in all of them.
    fn snapshot(&self, database: u8) -> Task<'_, Found<Arc<dyn Snapshot>>>;
}
