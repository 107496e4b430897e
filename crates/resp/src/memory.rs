//! Values that are small enough to be held, and a keyspace of them.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::keyspace::{
    Field, Found, HashValue, Keyspace, Kind, ListValue, Member, Scanned, Snapshot, SortedValue,
    Task, Value,
};

/// A hash that is held whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(pub Vec<Field>);

/// A list that is held whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elements(pub Vec<Vec<u8>>);

/// A sorted set that is held whole, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Members(Vec<Member>);

impl Members {
    /// These members, put in order: by score, then by text.
    #[must_use]
    pub fn new(mut members: Vec<Member>) -> Self {
        members.sort_by(|one, other| one.1.total_cmp(&other.1).then_with(|| one.0.cmp(&other.0)));
        Self(members)
    }
}

fn part<T: Clone>(all: &[T], start: u64, count: usize) -> Vec<T> {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    all.iter().skip(start).take(count).cloned().collect()
}

impl HashValue for Fields {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn get<'a>(&'a self, field: &'a [u8]) -> Task<'a, Found<Option<Vec<u8>>>> {
        let found = self.0.iter().find(|(name, _)| name == field).map(|(_, value)| value.clone());
        Box::pin(std::future::ready(Ok(found)))
    }

    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Field>>> {
        Box::pin(std::future::ready(Ok(part(&self.0, start, count))))
    }
}

impl ListValue for Elements {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Vec<u8>>>> {
        Box::pin(std::future::ready(Ok(part(&self.0, start, count))))
    }
}

impl SortedValue for Members {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn page(&self, start: u64, count: usize) -> Task<'_, Found<Vec<Member>>> {
        Box::pin(std::future::ready(Ok(part(&self.0, start, count))))
    }

    fn rank<'a>(&'a self, member: &'a [u8]) -> Task<'a, Found<Option<(u64, f64)>>> {
        let at = self.0.iter().position(|(found, _)| found == member);
        let found = at.and_then(|at| self.0.get(at).map(|(_, score)| (at as u64, *score)));
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// A value of a keyspace in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// One text.
    Text(Vec<u8>),
    /// Fields with values.
    Hash(Fields),
    /// Members with scores.
    Sorted(Members),
    /// Elements in order.
    List(Elements),
}

impl Stored {
    fn kind(&self) -> Kind {
        match self {
            Self::Text(_) => Kind::Text,
            Self::Hash(_) => Kind::Hash,
            Self::Sorted(_) => Kind::Sorted,
            Self::List(_) => Kind::List,
        }
    }

    fn value(&self) -> Value {
        match self.clone() {
            Self::Text(text) => Value::Text(text),
            Self::Hash(fields) => Value::Hash(Box::new(fields)),
            Self::Sorted(members) => Value::Sorted(Box::new(members)),
            Self::List(elements) => Value::List(Box::new(elements)),
        }
    }
}

/// A keyspace in memory, for tests and for what is small.
#[derive(Debug, Default)]
pub struct Memory(RwLock<Arc<Keys>>);

#[derive(Debug, Default)]
struct Keys(BTreeMap<Vec<u8>, Stored>);

impl Memory {
    /// A keyspace of these keys.
    pub fn new<K: Into<Vec<u8>>>(keys: impl IntoIterator<Item = (K, Stored)>) -> Self {
        let memory = Self::default();
        memory.replace(keys);
        memory
    }

    /// Other keys from now on; commands that run go on with the old ones.
    pub fn replace<K: Into<Vec<u8>>>(&self, keys: impl IntoIterator<Item = (K, Stored)>) {
        let keys = Keys(keys.into_iter().map(|(key, value)| (key.into(), value)).collect());
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }
}

impl Keyspace for Memory {
    fn snapshot(&self, _database: u8) -> Task<'_, Found<Arc<dyn Snapshot>>> {
        let keys: Arc<dyn Snapshot> = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(std::future::ready(Ok(keys)))
    }
}

impl Snapshot for Keys {
    fn find<'a>(&'a self, key: &'a [u8]) -> Task<'a, Found<Option<Value>>> {
        Box::pin(std::future::ready(Ok(self.0.get(key).map(Stored::value))))
    }

    fn size(&self) -> Task<'_, Found<u64>> {
        Box::pin(std::future::ready(Ok(self.0.len() as u64)))
    }

    fn scan<'a>(
        &'a self,
        cursor: u64,
        count: usize,
        _prefix: &'a [u8],
    ) -> Task<'a, Found<Scanned>> {
        let start = usize::try_from(cursor).unwrap_or(usize::MAX);
        let keys = self.0.iter().skip(start).take(count);
        let keys: Vec<_> = keys.map(|(key, value)| (key.clone(), value.kind())).collect();
        let seen = start.saturating_add(keys.len());
        let next = if seen < self.0.len() { seen as u64 } else { 0 };
        Box::pin(std::future::ready(Ok(Scanned { keys, next })))
    }
}
