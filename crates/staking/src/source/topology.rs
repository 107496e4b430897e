//! The queues, declared as Babylon's own client declares them.
//!
//! ```text
//!   <queue> ── rejected ──► common_dlx ── <queue>_routing_key ──► <queue>_delay
//!      ▲                                                              │
//!      └────────────────────────── expired ───────────────────────────┘
//! ```
//!
//! Whoever comes first declares; for everybody else the arguments must be equal, to the letter, or
//! the broker refuses. So none may be added here, however useful it would be. Two that an operator
//! can add as a policy, which is not compared:
//!
//! - Between two queues the broker carries an expired message at most once: a broker killed in that
//!   moment loses it. In quorum queues it is carried at least once with
//!   `rabbitmqctl set_policy --apply-to queues delay '_delay$'
//!   '{"dead-letter-strategy":"at-least-once","overflow":"reject-publish"}'`.
//! - From RabbitMQ 4.0 on, a quorum queue rejects what it has delivered 20 times. It comes to
//!   `<queue>_delay` without an expiration, stays there, and holds up what comes after it. Take the
//!   limit off: `rabbitmqctl set_policy --apply-to queues unlimited '_queue$'
//!   '{"delivery-limit":-1}'`.

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};

use super::error::SourceError;

/// The queues: seven of Babylon's client, and one for slashed delegations, which it has not.
pub const QUEUES: [&str; 8] = [
    "active_staking_queue",
    "unbonding_staking_queue",
    "withdraw_staking_queue",
    "expired_staking_queue",
    "staking_stats_queue",
    "btc_info_queue",
    "confirmed_info_queue",
    "slashed_staking_queue",
];

/// The exchange for what queues reject.
const REJECTED: &str = "common_dlx";

/// Where messages of a queue are put off.
pub(super) fn delay_queue(queue: &str) -> String {
    format!("{queue}_delay")
}

/// Declares everything that is not there yet, and compares what is.
pub(super) async fn declare(channel: &Channel, quorum: bool) -> Result<(), SourceError> {
    let kind = if quorum { "quorum" } else { "classic" };
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    // An exchange has no use for the type of a queue; Babylon's client gives it one nevertheless.
    let arguments = arguments(&[("x-queue-type", kind)]);
    channel
        .exchange_declare(REJECTED.into(), ExchangeKind::Direct, durable, arguments)
        .await
        .map_err(|error| SourceError::declaring(REJECTED, error))?;
    for queue in QUEUES {
        declare_pair(channel, queue, kind).await?;
    }
    Ok(())
}

/// Declares a queue and the one that its messages are put off to.
async fn declare_pair(channel: &Channel, queue: &str, kind: &str) -> Result<(), SourceError> {
    let delay = delay_queue(queue);
    let routing_key = format!("{queue}_routing_key");
    // The exchange without a name brings a message to the queue that its key names.
    declare_queue(channel, &delay, kind, "", queue).await?;
    declare_queue(channel, queue, kind, REJECTED, &routing_key).await?;
    let (bound, key) = (delay.as_str().into(), routing_key.as_str().into());
    channel
        .queue_bind(bound, REJECTED.into(), key, QueueBindOptions::default(), FieldTable::default())
        .await
        .map_err(|error| SourceError::declaring(&delay, error))
}

async fn declare_queue(
    channel: &Channel,
    name: &str,
    kind: &str,
    rejected_to: &str,
    rejected_key: &str,
) -> Result<(), SourceError> {
    let arguments = arguments(&[
        ("x-queue-type", kind),
        ("x-dead-letter-exchange", rejected_to),
        ("x-dead-letter-routing-key", rejected_key),
    ]);
    channel
        .queue_declare(name.into(), QueueDeclareOptions::durable(), arguments)
        .await
        .map(drop)
        .map_err(|error| SourceError::declaring(name, error))
}

fn arguments(pairs: &[(&str, &str)]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in pairs {
        table.insert((*name).into(), AMQPValue::LongString((*value).into()));
    }
    table
}
