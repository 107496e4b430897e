//! One connection: opened, consumed until it fails.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Fuse, FusedFuture as _, FutureExt as _};
use futures_util::stream::{self, BoxStream, SelectAll, StreamExt as _};
use lapin::message::Delivery;
use lapin::options::{BasicConsumeOptions, BasicQosOptions, ConfirmSelectOptions};
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use super::error::SourceError;
use super::retry::Desk;
use super::settings::Settings;
use super::status::Status;
use super::topology::{self, QUEUES};
use crate::intake::Intake;

/// How long a broker may take to begin a conversation.
const GREETING: Duration = Duration::from_secs(10);
/// How long it may take to agree on a connection.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// A message that was delivered, and where from.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) queue: &'static str,
    pub(super) delivery: Delivery,
}

/// The messages of a queue as they come, and at the end the reason why no more do.
type Arrivals = BoxStream<'static, Result<Arrived, SourceError>>;

/// An open connection with a consumer for every queue.
///
/// Every queue has a channel of its own, on which its messages are numbered in the order in which
/// they come. So one acknowledgement is enough for all of them up to the last one of a batch.
pub(super) struct Session<'a> {
    settings: &'a Settings,
    status: &'a Status,
    desk: Desk<'a>,
    arrivals: SelectAll<Arrivals>,
    /// Held, because the connection is closed when it is dropped.
    _connection: Connection,
}

impl<'a> Session<'a> {
    /// Connects, declares the queues and begins to consume.
    pub(super) async fn open(
        settings: &'a Settings,
        intake: &'a Arc<dyn Intake>,
        status: &'a Status,
    ) -> Result<Self, SourceError> {
        let connection = connect(settings).await?;
        topology::declare(&connection.create_channel().await?, settings.quorum).await?;
        let publisher = connection.create_channel().await?;
        publisher.confirm_select(ConfirmSelectOptions::default()).await?;
        let mut arrivals = SelectAll::new();
        for queue in QUEUES {
            arrivals.push(consume(&connection, queue, settings.prefetch).await?);
        }
        let desk = Desk::new(intake.as_ref(), publisher, settings, status);
        Ok(Self { settings, status, desk, arrivals, _connection: connection })
    }

    /// Hands messages over until something fails. While one batch is taken, the next is gathered.
    pub(super) async fn run(self) -> SourceError {
        let Self { settings, status, desk, mut arrivals, _connection } = self;
        let mut gathered = Vec::with_capacity(settings.batch);
        let mut due = Instant::now();
        let mut taking = pin!(Fuse::terminated());
        loop {
            let idle = taking.is_terminated();
            let full = gathered.len() >= settings.batch;
            if idle && full {
                taking.set(desk.settle(std::mem::take(&mut gathered)).fuse());
                continue;
            }
            let failure = tokio::select! {
                biased;
                settled = &mut taking, if !idle => settled.err(),
                arrived = arrivals.next(), if !full => match arrived {
                    Some(Ok(arrived)) => {
                        status.add_delivered();
                        if gathered.is_empty() {
                            due = Instant::now() + settings.linger;
                        }
                        gathered.push(arrived);
                        None
                    }
                    Some(Err(error)) => Some(error),
                    None => Some(SourceError::Cancelled { queue: "all queues" }),
                },
                () = sleep_until(due), if idle && !gathered.is_empty() => {
                    taking.set(desk.settle(std::mem::take(&mut gathered)).fuse());
                    None
                }
            };
            let Some(failure) = failure else { continue };
            if !taking.is_terminated() {
                // What is being taken is taken to its end; the broker will deliver it once more.
                let _ = taking.await;
            }
            return failure;
        }
    }
}

/// Opens a connection.
async fn connect(settings: &Settings) -> Result<Connection, SourceError> {
    let uri = settings.uri().map_err(|error| SourceError::Refused { said: error.to_string() })?;
    let (host, port) = (uri.authority.host.clone(), uri.authority.port);
    let address = format!("{host}:{port}");
    let away = |source| SourceError::Away { address: address.clone(), source };
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    timeout(GREETING, greet(&host, port)).await.map_err(late).flatten().map_err(away)?;
    let properties = ConnectionProperties::default().with_connection_name("ostrakon".into());
    let connection = timeout(HANDSHAKE, Connection::connect_uri(uri, properties)).await;
    connection
        .map_err(|elapsed| away(late(elapsed)))?
        .map_err(|error| SourceError::connecting(&address, error))
}

/// Whether a broker begins a conversation.
///
/// The client has a thread for every connection, and cannot be called back from one that is never
/// answered. A broker that hangs would cost a thread with every attempt; it costs this socket.
async fn greet(host: &str, port: u16) -> io::Result<()> {
    let mut stream = TcpStream::connect((host, port)).await?;
    stream.write_all(b"AMQP\x00\x00\x09\x01").await?;
    stream.read_u8().await.map(drop)
}

/// Begins to consume a queue, on a channel of its own.
async fn consume(
    connection: &Connection,
    queue: &'static str,
    prefetch: u16,
) -> Result<Arrivals, SourceError> {
    let channel = connection.create_channel().await?;
    channel.basic_qos(prefetch, BasicQosOptions::default()).await?;
    let options = BasicConsumeOptions::default();
    let consumer = channel
        .basic_consume(queue.into(), "".into(), options, FieldTable::default())
        .await
        .map_err(|error| SourceError::declaring(queue, error))?;
    // A queue that is deleted ends its stream; without the last item nobody would notice.
    let ended = stream::once(async move { Err(SourceError::Cancelled { queue }) });
    let arrived = move |delivery| Ok(Arrived { queue, delivery: delivery? });
    Ok(consumer.map(arrived).chain(ended).boxed())
}
