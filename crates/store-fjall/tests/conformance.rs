//! The embedded engine keeps the contract.

use std::sync::Arc;

use store::conformance::{Subject, cases, concurrent, full, random, schema, seed};
use store::{Maintenance, Task};
use store_fjall::{FjallEngine, Options};
use tempfile::TempDir;

struct Embedded {
    directory: TempDir,
    check_once: bool,
}

impl Embedded {
    fn new(check_once: bool) -> Self {
        Self { directory: TempDir::new().expect("a directory"), check_once }
    }
}

impl Subject for Embedded {
    fn open(&self) -> Task<'_, Arc<dyn Maintenance>> {
        Box::pin(async {
            // Bulk runs begin early, so that journal and runs meet in the same partitions.
            let mut options = Options::new(self.directory.path());
            options.bulk_rows = 200;
            options.check_once = self.check_once;
            let engine = FjallEngine::open(&options, &schema()).expect("opens");
            Arc::new(engine) as Arc<dyn Maintenance>
        })
    }

    fn checks_once(&self) -> bool {
        self.check_once
    }

    fn is_durable(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn the_embedded_engine_keeps_every_case() {
    cases(&Embedded::new(true)).await;
    cases(&Embedded::new(false)).await;
}

#[tokio::test]
async fn the_embedded_engine_equals_the_model_at_random() {
    let operations = if full() { 10_000 } else { 3_000 };
    random(&Embedded::new(false), seed("fjall random"), operations).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_engine_keeps_the_contract_under_concurrency() {
    let operations = if full() { 10_000 } else { 3_000 };
    concurrent(&Embedded::new(false), seed("fjall concurrent"), operations).await;
}
