//! The model keeps the contract.

use std::sync::Arc;

use store::conformance::{Subject, cases, concurrent, full, random, schema, seed};
use store::{Maintenance, ModelEngine, Task};

struct Model;

impl Subject for Model {
    fn open(&self) -> Task<'_, Arc<dyn Maintenance>> {
        Box::pin(async {
            let engine = ModelEngine::default();
            engine.apply(&schema()).await.expect("the model takes any schema");
            Arc::new(engine) as Arc<dyn Maintenance>
        })
    }

    fn checks_once(&self) -> bool {
        true
    }

    fn is_durable(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn the_model_keeps_every_case() {
    cases(&Model).await;
}

#[tokio::test]
async fn the_model_equals_itself_at_random() {
    random(&Model, seed("model random"), if full() { 10_000 } else { 2_000 }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_keeps_the_contract_under_concurrency() {
    concurrent(&Model, seed("model concurrent"), if full() { 10_000 } else { 2_000 }).await;
}
