//! Delegations arrive twice and out of order; the totals are right all the same.

use std::sync::Arc;

use store::{ModelEngine, Store};
use tally::{Outcome, Set, Settings, Tallies, Tally};

const ACTIVE: u64 = 1;
const UNBONDED: u64 = 2;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tallies =
        Tallies::new(Store::new(Arc::new(ModelEngine::default()), 0), Settings::default())?;
    let overall = Tally::new("staking.overall")?;

    // The values are the staked amount and the number of delegations, both absolute.
    let mut events = Vec::new();
    for delegation in 0..1000u32 {
        let entry = delegation.to_be_bytes();
        events.push(Set::new(&overall, &entry, ACTIVE, &[50_000, 1])?);
        if delegation % 4 == 0 {
            events.insert(0, Set::new(&overall, &entry, UNBONDED, &[0, 0])?); // before it began
        }
    }
    events.extend_from_within(..300); // and many of them again

    let mut counted = 0;
    for outcome in tallies.set_many(events).await {
        counted += usize::from(matches!(outcome?, Outcome::Counted { .. }));
    }
    let sums = tallies.sums(&overall).await?;
    println!("{counted} of 1550 events counted: {} staked", sums.values.get(0));
    assert_eq!((sums.values.get(0), sums.values.get(1)), (750 * 50_000, 750));
    assert!(tallies.recount(&overall).await?.agrees());
    Ok(())
}
