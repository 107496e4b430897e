//! A client of the tests' own, which does what Babylon's does, and an intake that remembers.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lapin::options::{
    BasicGetOptions, BasicPublishOptions, ConfirmSelectOptions, ExchangeDeclareOptions,
    QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, ExchangeKind,
};
use staking::source::{QUEUES, RabbitMq, Settings, Status};
use staking::{Intake, Message, Taken};

/// How long anything of these tests may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// A connection of the test's own.
pub(crate) struct Client {
    _connection: Connection,
    channel: Channel,
}

impl Client {
    pub(crate) async fn connect(url: &str) -> Self {
        let properties = ConnectionProperties::default();
        let connection = Connection::connect(url, properties).await.expect("connects");
        let channel = connection.create_channel().await.expect("a channel");
        channel.confirm_select(ConfirmSelectOptions::default()).await.expect("confirms");
        Self { _connection: connection, channel }
    }

    /// Declares a queue with all that belongs to it, in Babylon's order and with its arguments.
    pub(crate) async fn declare(&self, queue: &str, kind: &str) {
        let (delay, key) = (format!("{queue}_delay"), format!("{queue}_routing_key"));
        let durable = ExchangeDeclareOptions { durable: true, ..Default::default() };
        let of_kind = table(&[("x-queue-type", kind)]);
        let exchange = "common_dlx".into();
        self.channel
            .exchange_declare(exchange, ExchangeKind::Direct, durable, of_kind)
            .await
            .expect("an exchange");
        for (name, to, by) in [(delay.as_str(), "", queue), (queue, "common_dlx", key.as_str())] {
            let arguments = table(&[
                ("x-queue-type", kind),
                ("x-dead-letter-exchange", to),
                ("x-dead-letter-routing-key", by),
            ]);
            let durable = QueueDeclareOptions { durable: true, ..Default::default() };
            self.channel.queue_declare(name.into(), durable, arguments).await.expect("a queue");
        }
        let (delay, key) = (delay.into(), key.into());
        let options = QueueBindOptions::default();
        self.channel
            .queue_bind(delay, "common_dlx".into(), key, options, FieldTable::default())
            .await
            .expect("bound");
    }

    /// Publishes messages as Babylon does, and waits until the broker has them all.
    pub(crate) async fn publish(&self, queue: &str, bodies: impl IntoIterator<Item = Vec<u8>>) {
        let mut sent = Vec::new();
        for body in bodies {
            let mut headers = FieldTable::default();
            headers.insert("x-processing-attempts".into(), AMQPValue::LongInt(0));
            let properties = BasicProperties::default()
                .with_delivery_mode(2)
                .with_content_type("text/plain".into())
                .with_headers(headers);
            let options = BasicPublishOptions { mandatory: true, ..Default::default() };
            let publish =
                self.channel.basic_publish("".into(), queue.into(), options, &body, properties);
            sent.push(publish.await.expect("sent"));
        }
        for confirmation in sent {
            assert_eq!(confirmation.await.expect("confirmed"), Confirmation::Ack(None));
        }
    }

    /// Messages that wait in a queue, those that a consumer has not included.
    pub(crate) async fn waiting(&self, queue: &str) -> u32 {
        let passive = QueueDeclareOptions { passive: true, durable: true, ..Default::default() };
        let declared = self.channel.queue_declare(queue.into(), passive, FieldTable::default());
        declared.await.expect("it exists").message_count()
    }

    /// All queues that are not empty, once no consumer has anything any more.
    pub(crate) async fn leftovers(&self) -> BTreeMap<String, u32> {
        let mut left = BTreeMap::new();
        for queue in QUEUES {
            for name in [queue.to_owned(), format!("{queue}_delay")] {
                let waiting = self.waiting(&name).await;
                if waiting > 0 {
                    left.insert(name, waiting);
                }
            }
        }
        left
    }

    /// Takes one message out of a queue: its body, and how often it was put off.
    pub(crate) async fn get(&self, queue: &str) -> Option<(Vec<u8>, Option<AMQPValue>)> {
        let options = BasicGetOptions { no_ack: true };
        let got = self.channel.basic_get(queue.into(), options).await.expect("an answer")?;
        let headers = got.delivery.properties.headers().clone().unwrap_or_default();
        let attempts = headers.inner().get("x-processing-attempts").cloned();
        Some((got.delivery.data, attempts))
    }

    pub(crate) async fn delete(&self, queue: &str) {
        let options = QueueDeleteOptions::default();
        self.channel.queue_delete(queue.into(), options).await.expect("deleted");
    }
}

fn table(pairs: &[(&str, &str)]) -> FieldTable {
    let mut table = FieldTable::default();
    for (name, value) in pairs {
        table.insert((*name).into(), AMQPValue::LongString((*value).into()));
    }
    table
}

/// Decides on a message, which it sees for the given time, counted from 1.
pub(crate) type Answer = dyn Fn(&Message, usize) -> Taken + Send + Sync;

/// An intake that remembers how often it has seen what.
pub(crate) struct Memory {
    seen: Mutex<BTreeMap<(String, Vec<u8>), usize>>,
    sizes: Mutex<Vec<usize>>,
    answer: Box<Answer>,
    /// How long every call takes.
    slowness: Duration,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    pub(crate) fn new(
        slowness: Duration,
        answer: impl Fn(&Message, usize) -> Taken + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (seen, sizes) = (Mutex::default(), Mutex::default());
        Arc::new(Self { seen, sizes, answer: Box::new(answer), slowness })
    }

    /// Takes everything.
    pub(crate) fn willing() -> Arc<Self> {
        Self::new(Duration::ZERO, |_, _| Taken::Applied)
    }

    /// How many different messages came.
    pub(crate) fn distinct(&self) -> usize {
        self.seen.lock().expect("no panic").len()
    }

    /// How often a message came.
    pub(crate) fn times(&self, queue: &str, body: &[u8]) -> usize {
        let key = (queue.to_owned(), body.to_owned());
        self.seen.lock().expect("no panic").get(&key).copied().unwrap_or_default()
    }

    /// How many messages the largest call had.
    pub(crate) fn largest_batch(&self) -> usize {
        self.sizes.lock().expect("no panic").iter().copied().max().unwrap_or_default()
    }
}

impl Intake for Memory {
    fn take<'a>(
        &'a self,
        messages: Vec<Message>,
    ) -> Pin<Box<dyn Future<Output = Vec<Taken>> + Send + 'a>> {
        Box::pin(async move {
            tokio::time::sleep(self.slowness).await;
            self.sizes.lock().expect("no panic").push(messages.len());
            let mut seen = self.seen.lock().expect("no panic");
            let mut answers = Vec::with_capacity(messages.len());
            for message in messages {
                let times = seen.entry((message.source.clone(), message.body.clone())).or_default();
                *times += 1;
                answers.push((self.answer)(&message, *times));
            }
            answers
        })
    }
}

/// A source that ends with its test.
pub(crate) struct Running {
    pub(crate) status: Arc<Status>,
    task: tokio::task::JoinHandle<std::convert::Infallible>,
}

impl Running {
    pub(crate) fn start(settings: Settings, intake: &Arc<Memory>) -> Self {
        let source = RabbitMq::new(settings, Arc::clone(intake) as Arc<dyn Intake>);
        let source = source.expect("good settings");
        Self { status: source.status(), task: tokio::spawn(source.run()) }
    }

    /// Ends it, and waits until it is gone.
    pub(crate) async fn stop(mut self) {
        self.task.abort();
        assert!((&mut self.task).await.is_err_and(|error| error.is_cancelled()), "it never ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for something, and says what did not come.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, probe: impl FnMut() -> F) {
    within(PATIENCE, what, probe).await;
}

/// The same with a patience of its own.
pub(crate) async fn within<F: Future<Output = bool>>(
    patience: Duration,
    what: &str,
    mut probe: impl FnMut() -> F,
) {
    let start = Instant::now();
    while !probe().await {
        assert!(start.elapsed() < patience, "not so after {patience:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
