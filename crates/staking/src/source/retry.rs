//! What becomes of a batch: acknowledged, or put off.

use std::collections::BTreeMap;
use std::time::Duration;

use lapin::options::{BasicAckOptions, BasicNackOptions, BasicPublishOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation, PublisherConfirm};
use tokio::time::{Instant, sleep, timeout_at};

use super::error::SourceError;
use super::session::Arrived;
use super::settings::Settings;
use super::status::Status;
use super::topology::delay_queue;
use crate::intake::{Intake, Message, Taken};

/// How often a message was put off. Babylon's client reads it as a signed number of 32 bits, and
/// fails on any other.
const ATTEMPTS: &str = "x-processing-attempts";
/// After the last of the usual attempts a message stays away so many times as long.
const LONG: u32 = 12;
/// No message stays away longer.
const LONGEST_DELAY: Duration = Duration::from_secs(3_600);
/// How long the broker may take to confirm what was put off.
const CONFIRMED: Duration = Duration::from_secs(30);
/// A store that took nothing of a batch is left alone for so long at the most.
const REST: Duration = Duration::from_secs(1);
/// Written to disk, and so there again after a restart.
const PERSISTENT: u8 = 2;

/// Where a batch is handed over and its messages are settled.
#[derive(Debug)]
pub(super) struct Desk<'a> {
    intake: &'a dyn Intake,
    publisher: Channel,
    settings: &'a Settings,
    status: &'a Status,
}

impl<'a> Desk<'a> {
    pub(super) fn new(
        intake: &'a dyn Intake,
        publisher: Channel,
        settings: &'a Settings,
        status: &'a Status,
    ) -> Self {
        Self { intake, publisher, settings, status }
    }

    /// Hands a batch over, puts off what the store did not take, and acknowledges the rest.
    pub(super) async fn settle(&self, batch: Vec<Arrived>) -> Result<(), SourceError> {
        let taken = self.intake.take(batch.iter().map(message).collect()).await;
        let refused = self.refused(&batch, &taken);
        let mut returned = vec![false; batch.len()];
        let failure = self.put_off(&batch, &refused, &mut returned).await;
        self.acknowledge(&batch, &returned).await?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        if refused.len() == batch.len() {
            sleep(self.settings.retry_delay.min(REST)).await;
        }
        Ok(())
    }

    /// The places of those that the store did not take. One without an answer is one of them.
    fn refused(&self, batch: &[Arrived], taken: &[Taken]) -> Vec<usize> {
        let mut refused = Vec::new();
        let mut first_reason = None;
        let mut most_attempts = 0;
        for (place, arrived) in batch.iter().enumerate() {
            let reason = match taken.get(place) {
                Some(Taken::Later(reason)) => reason.as_str(),
                None => "the intake gave no answer",
                Some(_) => continue,
            };
            refused.push(place);
            first_reason.get_or_insert(reason);
            most_attempts = attempts(&arrived.delivery.properties).max(most_attempts);
        }
        let (refused_now, of) = (refused.len(), batch.len());
        if let Some(reason) = first_reason {
            let spent = most_attempts >= self.settings.retries;
            if spent {
                tracing::error!(refused_now, of, most_attempts, reason, "staking: still refused");
            } else {
                tracing::warn!(
                    refused_now,
                    of,
                    most_attempts,
                    reason,
                    "staking: tried again later"
                );
            }
        }
        refused
    }

    /// Copies messages to the queues they wait in, all at once, and waits until the broker has
    /// them. Those that it does not confirm are marked to be returned to where they came from.
    async fn put_off(
        &self,
        batch: &[Arrived],
        refused: &[usize],
        returned: &mut [bool],
    ) -> Option<SourceError> {
        let deadline = Instant::now() + CONFIRMED;
        let mut sent = Vec::with_capacity(refused.len());
        for place in refused {
            sent.push((*place, self.send_to_delay(&batch[*place]).await));
        }
        let mut failure = None;
        for (place, confirmation) in sent {
            let outcome = match confirmation {
                Ok(confirmation) => timeout_at(deadline, confirmed(confirmation))
                    .await
                    .unwrap_or_else(|_| Err("no answer in time".to_owned())),
                Err(error) => Err(error.to_string()),
            };
            match outcome {
                Ok(()) => self.status.add_retried(),
                Err(said) => {
                    returned[place] = true;
                    let queue = delay_queue(batch[place].queue);
                    failure.get_or_insert(SourceError::Unconfirmed { queue, said });
                }
            }
        }
        failure
    }

    async fn send_to_delay(&self, arrived: &Arrived) -> Result<PublisherConfirm, lapin::Error> {
        let attempts = attempts(&arrived.delivery.properties).saturating_add(1);
        let delay = delay(self.settings, attempts);
        let queue = delay_queue(arrived.queue).into();
        // A message that finds no queue is told of, and not dropped.
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let (body, properties) = (&arrived.delivery.data, put_off_properties(attempts, delay));
        self.publisher.basic_publish("".into(), queue, options, body, properties).await
    }

    /// Tells the broker to forget a batch, and to deliver again what must be returned.
    async fn acknowledge(&self, batch: &[Arrived], returned: &[bool]) -> Result<(), SourceError> {
        let mut queues: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, arrived) in batch.iter().enumerate() {
            queues.entry(arrived.queue).or_default().push(place);
        }
        for places in queues.values() {
            let acked = match places.last() {
                // Batches are settled one after the other, and a channel serves one queue: all that
                // came before the last one of this batch is in it or in one before.
                Some(last) if places.iter().all(|place| !returned[*place]) => {
                    let multiple = BasicAckOptions { multiple: true };
                    let sent = batch[*last].delivery.acker.ack(multiple).await?;
                    if sent { places.len() } else { 0 }
                }
                _ => one_by_one(batch, places, returned).await?,
            };
            self.status.add_acked(acked);
        }
        Ok(())
    }
}

/// Settles each message for itself; how many were acknowledged.
async fn one_by_one(
    batch: &[Arrived],
    places: &[usize],
    returned: &[bool],
) -> Result<usize, lapin::Error> {
    let mut acked = 0;
    for place in places {
        let acker = &batch[*place].delivery.acker;
        if returned[*place] {
            acker.nack(BasicNackOptions { requeue: true, ..BasicNackOptions::default() }).await?;
        } else if acker.ack(BasicAckOptions::default()).await? {
            acked += 1;
        }
    }
    Ok(acked)
}

/// The message for the intake. Its body is copied, because it is sent on when the store refuses.
fn message(arrived: &Arrived) -> Message {
    Message { source: arrived.queue.to_owned(), body: arrived.delivery.data.clone() }
}

/// Whether the broker has a message and found a queue for it.
async fn confirmed(confirmation: PublisherConfirm) -> Result<(), String> {
    match confirmation.await {
        Ok(Confirmation::Ack(None)) => Ok(()),
        Ok(Confirmation::Ack(Some(_))) => Err("there is no such queue".to_owned()),
        Ok(_) => Err("the broker could not keep it".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// How long a message stays away before it is tried for the time after `attempts`.
fn delay(settings: &Settings, attempts: u32) -> Duration {
    let times = if attempts <= settings.retries { 1 } else { LONG };
    settings.retry_delay.saturating_mul(times).min(LONGEST_DELAY)
}

/// How often a message was put off already, by whichever client.
fn attempts(properties: &BasicProperties) -> u32 {
    let header = properties.headers().as_ref().and_then(|headers| headers.inner().get(ATTEMPTS));
    let number = match header {
        Some(AMQPValue::ShortShortInt(number)) => i64::from(*number),
        Some(AMQPValue::ShortShortUInt(number)) => i64::from(*number),
        Some(AMQPValue::ShortInt(number)) => i64::from(*number),
        Some(AMQPValue::ShortUInt(number)) => i64::from(*number),
        Some(AMQPValue::LongInt(number)) => i64::from(*number),
        Some(AMQPValue::LongUInt(number)) => i64::from(*number),
        Some(AMQPValue::LongLongInt(number)) => *number,
        _ => 0,
    };
    u32::try_from(number.clamp(0, i64::from(i32::MAX))).unwrap_or(0)
}

/// Those that Babylon's client gives, and nothing that the broker added on the way.
fn put_off_properties(attempts: u32, delay: Duration) -> BasicProperties {
    let mut headers = FieldTable::default();
    let number = i32::try_from(attempts).unwrap_or(i32::MAX);
    headers.insert(ATTEMPTS.into(), AMQPValue::LongInt(number));
    BasicProperties::default()
        .with_delivery_mode(PERSISTENT)
        .with_content_type("text/plain".into())
        .with_expiration(delay.as_millis().to_string().into())
        .with_headers(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_longer_after_the_last_of_the_usual_attempts() {
        let settings = Settings::new("amqp://localhost");
        assert_eq!(delay(&settings, 1), Duration::from_secs(5));
        assert_eq!(delay(&settings, 10), Duration::from_secs(5));
        assert_eq!(delay(&settings, 11), Duration::from_secs(60));
        let rare = Settings { retry_delay: LONGEST_DELAY, ..settings };
        assert_eq!(delay(&rare, u32::MAX), LONGEST_DELAY);
    }

    #[test]
    fn attempts_are_counted_on_in_whatever_number_they_come() {
        let with = |value| {
            let mut headers = FieldTable::default();
            headers.insert(ATTEMPTS.into(), value);
            attempts(&BasicProperties::default().with_headers(headers))
        };
        assert_eq!(attempts(&BasicProperties::default()), 0);
        assert_eq!(with(AMQPValue::LongInt(3)), 3);
        assert_eq!(with(AMQPValue::LongLongInt(4)), 4);
        assert_eq!(with(AMQPValue::ShortInt(-1)), 0);
        assert_eq!(with(AMQPValue::LongLongInt(i64::MAX)), 0x7fff_ffff);
        assert_eq!(with(AMQPValue::Boolean(true)), 0);
        assert_eq!(attempts(&put_off_properties(7, Duration::from_secs(1))), 7);
    }
}
