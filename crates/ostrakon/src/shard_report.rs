//! The shard report of the real tables: walks the store and lets crate `placement` judge.

use bytes::Bytes;
use placement::Placement;
use placement::render::ShardReport;
use placement::report::{DeclaredQuery, Limits, Observation, Observer, Report, TableFacts};
use store::{EngineError, Entry, TableDef, TableEstimate, Walker};

use crate::admin::Watch;
use crate::opening::OpenStore;

/// Entries read at a time.
const PAGE: usize = 10_000;

/// Walks every table that is in the store. `nodes` adds a cluster size to the usual ones.
pub(crate) async fn observe(
    opened: &OpenStore,
    nodes: Option<u16>,
    watch: &mut Watch,
) -> anyhow::Result<ShardReport> {
    let limits = limits(nodes);
    let walker = opened.engine.walk().await?;
    let mut report = ShardReport::default();
    for table in opened.schema.tables() {
        let limits = limits.clone();
        report.tables.push(observe_table(walker.as_ref(), table, limits, watch).await?);
    }
    // A second opinion: a report without it is still a report.
    if let Err(error) = compare(opened, &mut report).await {
        tracing::warn!(%error, "the engine's own estimates could not be read");
    }
    Ok(report)
}

/// Sets what the engine itself estimates beside what was seen. A cluster spells `service.table` as
/// `service_table`.
async fn compare(opened: &OpenStore, report: &mut ShardReport) -> Result<(), EngineError> {
    let estimates = opened.engine.estimates().await?;
    if estimates.is_empty() {
        return Ok(());
    }
    let engine = opened.engine.info().await?.engine;
    for table in &mut report.tables {
        let spelled = table.table.replace('.', "_");
        let own = |estimate: &&TableEstimate| [&table.table, &spelled].contains(&&estimate.table);
        if let Some(TableEstimate { partitions, bytes, .. }) = estimates.iter().find(own) {
            table.compare(engine, *partitions, *bytes);
        }
    }
    Ok(())
}

/// The usual limits, with one more cluster size.
pub(crate) fn limits(nodes: Option<u16>) -> Limits {
    let mut limits = Limits::default();
    if let Some(nodes) = nodes.filter(|nodes| !limits.clusters.contains(nodes)) {
        limits.clusters.push(nodes);
        limits.clusters.sort_unstable();
    }
    limits
}

async fn observe_table(
    walker: &dyn Walker,
    table: &'static TableDef,
    limits: Limits,
    watch: &mut Watch,
) -> anyhow::Result<Report> {
    let mut sums = Sums::new(table, limits);
    let mut position: Option<Bytes> = None;
    loop {
        let page = walker.page(table, position, PAGE).await?;
        page.entries.iter().for_each(|entry| sums.add(entry));
        watch.tell(table.name(), sums.seen);
        watch.go_on()?;
        match page.next {
            Some(next) => position = Some(next),
            None => return Ok(sums.finish()),
        }
    }
}

/// Adds rows up per partition before they are judged: entries of a partition follow each other on
/// every engine, and one observation of a thousand rows costs as much as one of a single row.
struct Sums {
    table: &'static TableDef,
    observer: Observer,
    partition: Vec<u8>,
    rows: u64,
    bytes: u64,
    seen: u64,
}

impl Sums {
    fn new(table: &'static TableDef, limits: Limits) -> Self {
        let observer = Observer::with_limits(facts(table), limits);
        Self { table, observer, partition: Vec::new(), rows: 0, bytes: 0, seen: 0 }
    }

    fn add(&mut self, entry: &Entry) {
        if entry.partition() != self.partition {
            self.end_partition();
            self.partition = entry.partition().to_vec();
        }
        if let Entry::Row { key, value } = entry {
            self.rows += 1;
            self.seen += 1;
            self.bytes += (key.joined().len() + value.len()) as u64;
        }
    }

    fn end_partition(&mut self) {
        if self.rows > 0 {
            self.observer.observe(Observation {
                partition: &self.partition,
                rows: self.rows,
                bytes: self.bytes,
                position: window(self.table.placement(), &self.partition),
                value: None,
            });
        }
        (self.rows, self.bytes) = (0, 0);
    }

    fn finish(mut self) -> Report {
        self.end_partition();
        self.observer.finish()
    }
}

/// The place of a partition on the time axis. A bucketed key ends with the number of its bucket,
/// and sequences grow with time; other placements say nothing about time.
fn window(placement: Placement, partition: &[u8]) -> Option<u64> {
    match placement {
        Placement::Bucketed { .. } => {
            partition.last_chunk::<8>().map(|bucket| u64::from_be_bytes(*bucket))
        }
        _ => None,
    }
}

fn facts(table: &TableDef) -> TableFacts {
    let query = |query: &store::Query| DeclaredQuery {
        name: query.name.to_owned(),
        touches: query.touches,
        weight: 1,
    };
    TableFacts {
        name: table.name().to_owned(),
        placement: table.placement().to_string(),
        queries: table.queries().iter().map(query).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::tables::{SAMPLES, Sample, SampleNumber, StartNumber};
    use store::Sequenced;

    #[tokio::test]
    async fn rows_partitions_and_windows_are_those_of_the_store() {
        let opened = OpenStore::model().await;
        let rows = (0..2000).map(|number| {
            let key = (SampleNumber(number), StartNumber(1));
            SAMPLES.row(&Sequenced((), number), &key, &Sample::default()).expect("a row")
        });
        opened.store.put(rows.collect()).await.expect("written");
        let report = observe(&opened, Some(5), &mut Watch::quiet()).await.expect("observed");
        let samples = report.tables.iter().find(|table| table.table == "system.samples");
        let samples = samples.expect("the table is there");
        assert_eq!((samples.rows, samples.partitions.count), (2000, 3));
        assert_eq!(samples.heat.as_ref().expect("a time axis").windows.len(), 3);
        assert_eq!(samples.queries.declared.len(), 2);
        let sizes: Vec<u16> = samples.balance.iter().map(|balance| balance.nodes).collect();
        assert!(sizes.contains(&5) && sizes.is_sorted(), "{sizes:?}");
    }
}
