//! An indexer that publishes what it knows, through a broker that comes and goes.

use std::time::Duration;

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties};
use staking::source::QUEUES;

/// Messages that are sent before the broker is asked whether it has them.
const CHUNK: usize = 200;

/// Publishes all messages, spread over some time. What the broker did not confirm is sent again, so
/// some come twice: how many of them.
pub(crate) async fn publish(
    url: &str,
    messages: &[(&'static str, Vec<u8>)],
    over: Duration,
) -> u64 {
    let pause = over / u32::try_from(messages.len() / CHUNK + 1).unwrap_or(u32::MAX);
    let mut chunks = messages.chunks(CHUNK).peekable();
    let mut repeated = 0;
    let mut connected = None;
    while let Some(chunk) = chunks.peek() {
        if connected.is_none() {
            connected = connect(url).await.ok();
        }
        let done = match &connected {
            Some((_, channel)) => send(channel, chunk).await.unwrap_or(false),
            None => false,
        };
        if done {
            chunks.next();
            tokio::time::sleep(pause).await;
        } else {
            repeated += chunk.len() as u64;
            connected = None;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
    repeated
}

/// Messages in all queues, those that wait for another try included; none when the broker is away.
pub(crate) async fn waiting(url: &str) -> Option<u32> {
    let (_connection, channel) = connect(url).await.ok()?;
    let mut all = 0;
    for queue in QUEUES {
        for name in [queue.to_owned(), format!("{queue}_delay")] {
            let passive =
                QueueDeclareOptions { passive: true, durable: true, ..Default::default() };
            let declared =
                channel.queue_declare(name.as_str().into(), passive, FieldTable::default());
            all += declared.await.ok()?.message_count();
        }
    }
    Some(all)
}

async fn connect(url: &str) -> lapin::Result<(Connection, Channel)> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok((connection, channel))
}

/// Whether the broker has all of them.
async fn send(channel: &Channel, chunk: &[(&'static str, Vec<u8>)]) -> lapin::Result<bool> {
    let mut sent = Vec::with_capacity(chunk.len());
    for (queue, body) in chunk {
        let properties = BasicProperties::default().with_delivery_mode(2);
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let publish = channel.basic_publish("".into(), (*queue).into(), options, body, properties);
        sent.push(publish.await?);
    }
    let mut all = true;
    for confirmation in sent {
        // A message that no queue takes comes back with its confirmation.
        all &= confirmation.await? == Confirmation::Ack(None);
    }
    Ok(all)
}
