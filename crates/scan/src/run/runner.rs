//! One chain: takes the lease, follows one of the nodes, and goes to the next when it fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use platform::chains::Chain;
use platform::events::Events;
use platform::outgoing::NodeClient;
use store::EngineError;
use timeline::{Lane, PublishError, Published, Sweeper, Watch, Writer, WriterId};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::explorer::Explorer;
use crate::follow::{BATCH, FollowError, Follower};
use crate::ingest::IngestError;
use crate::memory::Memory;
use crate::source::{Heights, Node};

use super::teller::Teller;
use super::{Task, sweeper, wake};

/// How often a lease that another has is looked at, and our own is renewed.
const BEAT: Duration = Duration::from_secs(1);
/// How long a node is left alone when it has said nothing new.
const PERIOD: Duration = Duration::from_secs(1);
/// How long after a failure, at first and at the most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How often what is hidden is swept.
const SWEEPING: Duration = Duration::from_secs(30);
/// How often progress is told while catching up.
const TELLING: Duration = Duration::from_secs(5);
/// Times that the pivot may move under a question before that is worth a word.
const RESTLESS: u32 = 20;

/// A node and where its notices come from.
struct Seat {
    name: String,
    node: Node,
    ws: Option<String>,
}

/// Keeps one chain up to date.
pub struct Runner {
    explorer: Explorer,
    seats: Vec<Seat>,
    events: Events,
    client: Arc<NodeClient>,
    id: WriterId,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("explorer", &self.explorer).finish_non_exhaustive()
    }
}

impl Runner {
    /// A runner of a chain with its nodes, in the order of their priorities.
    ///
    /// # Errors
    /// When there are no random numbers to tell this process from others.
    pub fn new(
        explorer: Explorer,
        chain: &Chain,
        events: Events,
        client: Arc<NodeClient>,
    ) -> Result<Self, EngineError> {
        let mut nodes = chain.nodes.clone();
        nodes.sort_by_key(|node| (node.priority, std::cmp::Reverse(node.weight)));
        let seat = |node: platform::chains::Node| {
            let url = node.http_address().ok().flatten()?;
            let ws = node.ws_address().ok().flatten().map(|address| address.to_string());
            let asked = Node::new(url.to_string(), client.clone());
            Some(Seat { name: node.name, node: asked, ws })
        };
        let seats = nodes.into_iter().filter_map(seat).collect();
        let id = WriterId(index::new_op()?.0);
        Ok(Self { explorer, seats, events, client, id })
    }

    /// Runs for ever. End it by dropping the future.
    pub async fn run(&self) {
        let chain = self.explorer.name();
        if self.seats.is_empty() {
            tracing::warn!(%chain, "no node of the chain has an address for requests");
            return;
        }
        let mut watch = Watch::default();
        loop {
            match self.explorer.timeline().lead(self.id, &mut watch).await {
                Ok(Some(writer)) => {
                    tracing::info!(%chain, "this process writes the chain");
                    self.lead(writer).await;
                    tracing::info!(%chain, "another process writes the chain");
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%chain, %error, "the lease of the chain"),
            }
            tokio::time::sleep(BEAT).await;
        }
    }

    /// Writes until another process does.
    async fn lead(&self, writer: Writer) {
        tokio::select! {
            () = self.follow(writer) => {}
            () = self.tell() => {}
            () = self.sweep() => {}
        }
    }

    async fn follow(&self, mut writer: Writer) {
        let mut memory = Memory::default();
        let (mut seat, mut pause, mut restless) = (0, PAUSES.0, 0);
        loop {
            let Some(current) = self.seats.get(seat % self.seats.len()) else { return };
            let notice = Arc::new(Notify::new());
            let listening = self.listen(current, notice.clone());
            let failed = self.stay(&mut writer, &mut memory, current, &notice).await;
            drop(listening);
            let chain = self.explorer.name();
            match failed {
                FollowError::Ingest(IngestError::Publish(PublishError::Lost)) => return,
                // It works while it is asked; that is no fault of it.
                FollowError::Moved if restless < RESTLESS => {
                    restless += 1;
                    continue;
                }
                error => {
                    self.explorer.progress().failures.add(1);
                    let node = &current.name;
                    tracing::warn!(%chain, node, %error, "the chain does not go on; next node");
                }
            }
            restless = 0;
            seat += 1;
            if !self.wait(&mut writer, pause).await {
                return;
            }
            pause = if seat % self.seats.len() == 0 { (pause * 2).min(PAUSES.1) } else { pause };
        }
    }

    /// Hears a node's notices for as long as the task is kept.
    fn listen(&self, seat: &Seat, notice: Arc<Notify>) -> Option<Task> {
        let listening = wake::listen(self.client.clone(), seat.ws.clone()?, notice);
        Some(Task::spawn(listening))
    }

    /// Follows one node until it fails.
    async fn stay(
        &self,
        writer: &mut Writer,
        memory: &mut Memory,
        seat: &Seat,
        notice: &Notify,
    ) -> FollowError {
        loop {
            let mut follower = Follower::new(self.explorer.timeline(), writer, memory);
            let stepped = match follower.step(&seat.node).await {
                Ok(stepped) => stepped,
                Err(error) => return error,
            };
            let behind = follower.behind(stepped.node);
            self.record(stepped.published.as_ref(), stepped.node, behind);
            if behind > 2 * BATCH
                && let Err(error) = self.catch_up(&mut follower, seat).await
            {
                return error;
            }
            if stepped.published.is_some() {
                continue;
            }
            // Nothing new: a notice, or a second, whatever is first.
            let _ = timeout(PERIOD, notice.notified()).await;
            if let Err(error) = writer.renew().await {
                return IngestError::from(error).into();
            }
        }
    }

    async fn catch_up(&self, follower: &mut Follower<'_>, seat: &Seat) -> Result<(), FollowError> {
        let chain = self.explorer.name();
        let (begun, mut told, mut pushed) = (Instant::now(), Instant::now(), 0);
        let progress = self.explorer.progress();
        let done = follower.catch_up(&seat.node, |published, node| {
            let runs = published.switch.pushed.iter();
            let mined = runs.filter(|run| run.lane == Lane::MINED);
            let at = mined.map(|run| run.height.0 + run.count).max().unwrap_or(0);
            let behind = (node.mined + 1).saturating_sub(at);
            pushed += self.record(Some(published), node, behind);
            if told.elapsed() > TELLING {
                told = Instant::now();
                let rate = pushed as f64 / begun.elapsed().as_secs_f64();
                let left = behind as f64 / rate.max(0.001);
                tracing::info!(
                    %chain, epoch = at, of = node.mined, per_second = rate.round(),
                    minutes_left = (left / 60.0).round(), "catching up"
                );
            }
        });
        done.await?;
        tracing::info!(%chain, epochs = pushed, behind = progress.behind.get(), "caught up");
        Ok(())
    }

    /// Counts what was published; how many epochs came.
    fn record(&self, published: Option<&Published>, node: Heights, behind: u64) -> u64 {
        let progress = self.explorer.progress();
        progress.node.set(node.mined);
        progress.behind.set(behind);
        let Some(published) = published else { return 0 };
        let count = |runs: &[timeline::Run], lane| {
            runs.iter().filter(|run| run.lane == lane).map(|run| run.count).sum::<u64>()
        };
        let popped = count(&published.switch.popped, Lane::MINED);
        let pushed = count(&published.switch.pushed, Lane::MINED);
        progress.popped.add(popped);
        progress.pushed.add(pushed);
        progress.executed.add(count(&published.switch.pushed, Lane::EXECUTED));
        if popped > 0 {
            let chain = self.explorer.name();
            tracing::info!(%chain, switch = published.number, popped, pushed, "the pivot switched");
        }
        pushed
    }

    /// Waits, and keeps the lease meanwhile; whether it is still ours.
    async fn wait(&self, writer: &mut Writer, pause: Duration) -> bool {
        let end = Instant::now() + pause;
        loop {
            if let Err(error) = writer.renew().await {
                tracing::debug!(%error, "the lease was not renewed");
                return false;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            tokio::time::sleep(left.min(BEAT)).await;
        }
    }

    /// Tells switches as they come.
    async fn tell(&self) {
        let (timeline, name) = (self.explorer.timeline().clone(), self.explorer.name().clone());
        let mut teller = Teller::new(timeline, self.events.clone(), name);
        loop {
            match teller.tell().await {
                Ok(true) => {}
                Ok(false) => tokio::time::sleep(PAUSES.0).await,
                Err(error) => {
                    let chain = self.explorer.name();
                    tracing::warn!(%chain, %error, "a switch is not told yet");
                    tokio::time::sleep(PAUSES.1).await;
                }
            }
        }
    }

    /// Sweeps what nobody sees any more.
    async fn sweep(&self) {
        let timeline = self.explorer.timeline();
        let mut known = Sweeper::new(timeline.clone());
        loop {
            tokio::time::sleep(SWEEPING.min(timeline.settings().sweep_delay)).await;
            match sweeper::sweep(timeline, &mut known).await {
                Ok(units) => self.explorer.progress().swept.add(units as u64),
                Err(error) => {
                    let chain = self.explorer.name();
                    tracing::warn!(%chain, %error, "hidden rows are not swept yet");
                }
            }
        }
    }
}
