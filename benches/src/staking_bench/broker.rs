//! Our side behind a real RabbitMQ: published, consumed, taken and acknowledged. Publishing is done
//! in this process and counts; the broker's own processor time does not.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{BasicProperties, Confirmation, Connection, ConnectionProperties};
use staking::Staking;
use staking::source::{RabbitMq, Settings, Status};

use super::events::{Event, State};
use super::ours::{Ours, Store, statistics};
use super::{Measured, Side, messages};
use crate::measure::Cost;

/// Messages that are sent before the broker is asked whether it has them.
const CHUNK: usize = 1_000;
/// How often the source is asked how far it is.
const GLANCE: Duration = Duration::from_millis(5);

/// Events through queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Broker;

impl Side for Broker {
    fn name(&self) -> String {
        "ostrakon: through RabbitMQ, quorum queues".to_owned()
    }

    fn run(&mut self, events: &[Event]) -> anyhow::Result<Measured> {
        let installed =
            parts::rabbitmq::install().map_err(|missing| anyhow::anyhow!("{missing}"))?;
        let server = installed.start()?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let Store { staking, directory } = Ours { callers: 1, batch: 1, shards: 4 }.open()?;
        let told: Vec<(&str, Vec<u8>)> = events
            .iter()
            .map(|event| (queue(event), messages::message(event).into_bytes()))
            .collect();
        let measured = runtime.block_on(through(&server.url(), staking, &told));
        runtime.shutdown_timeout(Duration::from_secs(5));
        drop(directory);
        measured
    }
}

fn queue(event: &Event) -> &'static str {
    match event.state {
        State::Active => "active_staking_queue",
        State::Unbonded => "unbonding_staking_queue",
    }
}

async fn through(
    url: &str,
    staking: Staking,
    told: &[(&str, Vec<u8>)],
) -> anyhow::Result<Measured> {
    let source = RabbitMq::new(Settings::new(url), Arc::new(staking.clone()))?;
    let status = source.status();
    let consuming = tokio::spawn(source.run());
    // It declares the queues before it consumes them.
    wait(&status, |reading| reading.connected).await;
    let meter = Cost::begin();
    publish(url, told).await?;
    let all = told.len() as u64;
    wait(&status, |reading| reading.acked >= all).await;
    let client = meter.end();
    consuming.abort();
    let statistics = statistics(&staking).await?;
    Ok(Measured { client, server: Duration::ZERO, statistics })
}

async fn wait(status: &Status, done: impl Fn(&staking::source::Reading) -> bool) {
    while !done(&status.read()) {
        tokio::time::sleep(GLANCE).await;
    }
}

async fn publish(url: &str, told: &[(&str, Vec<u8>)]) -> anyhow::Result<()> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    for chunk in told.chunks(CHUNK) {
        let mut sent = Vec::with_capacity(chunk.len());
        for (queue, body) in chunk {
            let properties = BasicProperties::default().with_delivery_mode(2);
            let options = BasicPublishOptions { mandatory: true, ..Default::default() };
            let publish =
                channel.basic_publish("".into(), (*queue).into(), options, body, properties);
            sent.push(publish.await?);
        }
        for confirmation in sent {
            let confirmed = confirmation.await.context("the broker went away")?;
            ensure!(confirmed == Confirmation::Ack(None), "the broker did not take a message");
        }
    }
    Ok(())
}
