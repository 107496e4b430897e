//! Forgets operation ids after their 24 hours, while compacting: no sweeper, no index.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use fjall::compaction::filter::{CompactionFilter, CompactionFilterResult};
use fjall::compaction::filter::{Context, Factory, ItemAccessor, Verdict};
use store::{Schema, Writes};

use crate::layout::{Operation, is_operation};

/// Unix seconds.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs())
}

/// Which filter a keyspace has, by its name.
type Assigner = Arc<dyn Fn(&str) -> Option<Arc<dyn Factory>> + Send + Sync>;

/// Gives every guarded table of `schema` the filter.
pub(crate) fn filters(schema: &Schema) -> Assigner {
    let guarded: HashSet<&'static str> = schema
        .tables()
        .filter(|table| table.writes() == Writes::Guarded)
        .map(store::TableDef::name)
        .collect();
    Arc::new(move |keyspace| {
        guarded.contains(keyspace).then(|| Arc::new(ExpiryFactory) as Arc<dyn Factory>)
    })
}

struct ExpiryFactory;

impl Factory for ExpiryFactory {
    fn name(&self) -> &str {
        "operation expiry"
    }

    fn make_filter(&self, _context: &Context) -> Box<dyn CompactionFilter> {
        Box::new(Expiry { now: now() })
    }
}

struct Expiry {
    now: u64,
}

impl CompactionFilter for Expiry {
    fn filter_item(&mut self, item: ItemAccessor<'_>, _: &Context) -> CompactionFilterResult {
        if !is_operation(item.key()) {
            return Ok(Verdict::Keep);
        }
        let expired = Operation::decode(&item.value()?.into())
            .is_some_and(|operation| operation.expires < self.now);
        Ok(if expired { Verdict::Remove } else { Verdict::Keep })
    }
}
