//! The node: HTTP and WebSocket in front of a graph, and a clock that makes it grow.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::Value as Json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast::Receiver;
use tokio::task::{AbortHandle, JoinSet};

use super::faults::{Exposed, Faults};
use super::hub::{Hub, Notice};
use super::subscriptions::Subscriptions;
use super::{Fault, Graph, GraphSettings, Rpc, Step, sockets};

/// Bytes of one request.
const BODY_BYTES: usize = 256 * 1024;
/// Connections at the same time of either kind; more are closed at once.
const CONNECTIONS: usize = 256;
/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long the node waits when it cannot accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How a node behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeGraphOptions {
    /// How its graph grows.
    pub graph: GraphSettings,
    /// The number of the network, also its chain id. It shows in addresses.
    pub network: u64,
    /// The time between steps.
    pub pace: Duration,
    /// Steps that were made before it starts, so that there is a past to look at.
    pub past: u64,
    /// Epochs that were mined before those, so that charts and lists have rows at once.
    pub history: u64,
}

impl Default for TreeGraphOptions {
    fn default() -> Self {
        let (graph, pace) = (GraphSettings::default(), Duration::from_millis(700));
        Self { graph, network: 1234, pace, past: 100, history: 0 }
    }
}

/// A node that runs until it is dropped; its connections break then.
#[derive(Debug)]
pub struct TreeGraphNode {
    address: SocketAddr,
    ws_address: SocketAddr,
    served: Served,
    faults: Faults,
    tasks: [AbortHandle; 3],
}

impl TreeGraphNode {
    /// Starts a node on two free ports of 127.0.0.1, for HTTP and for WebSocket.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start(options: TreeGraphOptions) -> io::Result<Self> {
        let http = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let ws = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (address, ws_address) = (http.local_addr()?, ws.local_addr()?);
        let graph = grown(&options);
        let hub = Hub::new(&graph, options.network);
        let live = Arc::new(RwLock::new(Live { graph, hub }));
        let served = Served { live, network: options.network };
        let faults = Faults::new();
        let router = Router::new()
            .route("/", post(answer))
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .with_state(served.clone());
        let over_http = accept(http, faults.watch(), move |stream| ask(stream, router.clone()));
        let talking = served.clone();
        let over_ws = accept(ws, faults.watch(), move |stream| {
            sockets::serve(stream, talking.clone(), BODY_BYTES)
        });
        let growing = grow(served.clone(), options.pace);
        let tasks = [tokio::spawn(over_http), tokio::spawn(over_ws), tokio::spawn(growing)];
        let tasks = tasks.map(|task| task.abort_handle());
        Ok(Self { address, ws_address, served, faults, tasks })
    }

    /// Where it listens for HTTP.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for requests, as a chain's node has it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where it listens for WebSocket connections.
    #[must_use]
    pub fn ws_address(&self) -> SocketAddr {
        self.ws_address
    }

    /// The address for requests and subscriptions.
    #[must_use]
    pub fn ws_url(&self) -> String {
        format!("ws://{}", self.ws_address)
    }

    /// Makes a step out of turn.
    pub fn step(&self) -> Step {
        self.served.step(|graph| graph.step(now()))
    }

    /// Switches to another branch that replaces up to six epochs; a young graph only grows.
    pub fn switch(&self, depth: u64) -> Step {
        self.served.step(|graph| graph.switch(depth, now()))
    }

    /// From now on this is wrong with it, for connections that are there and those that come.
    pub fn set_fault(&self, fault: Fault) {
        self.faults.set(fault);
    }

    /// Breaks every connection that is there; new ones are served.
    pub fn drop_connections(&self) {
        self.faults.drop_all();
    }
}

impl Drop for TreeGraphNode {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// The graph and whom it tells: behind one lock, so that all hear of steps in their order.
#[derive(Debug)]
struct Live {
    graph: Graph,
    hub: Hub,
}

/// What connections need.
#[derive(Clone, Debug)]
pub(super) struct Served {
    live: Arc<RwLock<Live>>,
    network: u64,
}

impl Served {
    fn answer(&self, body: &[u8]) -> Option<Json> {
        // Nothing is half done inside, whoever panicked.
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        Rpc::new(&live.graph, self.network).answer(body)
    }

    pub(super) fn answer_over(&self, body: &[u8], held: &mut Subscriptions) -> Option<Json> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        Rpc::new(&live.graph, self.network).answer_over(body, Some(held))
    }

    pub(super) fn listen(&self) -> Receiver<Notice> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).hub.listen()
    }

    fn step(&self, step: impl FnOnce(&mut Graph) -> Step) -> Step {
        let mut live: RwLockWriteGuard<'_, Live> =
            self.live.write().unwrap_or_else(PoisonError::into_inner);
        let Live { graph, hub } = &mut *live;
        let done = step(graph);
        hub.tell(graph);
        done
    }
}

async fn answer(State(served): State<Served>, body: Bytes) -> Response {
    let text = served.answer(&body).map_or_else(String::new, |answer| answer.to_string());
    ([(CONTENT_TYPE, "application/json; charset=utf-8")], text).into_response()
}

/// Serves connections. They end with this task, because they are its own.
async fn accept<F>(listener: TcpListener, exposed: Exposed, serve: impl Fn(TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if connections.len() < CONNECTIONS {
            connections.spawn(exposed.clone().serve(serve(stream)));
        }
    }
}

/// Serves an HTTP connection.
async fn ask(stream: TcpStream, router: Router) {
    let mut settings = http1::Builder::new();
    settings.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    let service = TowerToHyperService::new(router);
    // A client that hangs up is nobody's failure.
    let _ = settings.serve_connection(TokioIo::new(stream), service).await;
}

/// A graph with a past that ends now.
fn grown(options: &TreeGraphOptions) -> Graph {
    let (now, pace) = (now(), options.pace.as_millis() as u64);
    let age = |steps: u64| steps.saturating_mul(pace) / 1000;
    let genesis = now.saturating_sub(age(options.past.saturating_add(options.history)) + 1);
    let mut graph = Graph::new(GraphSettings { genesis, ..options.graph });
    while graph.latest() < options.history {
        let left = options.history - graph.latest() + options.past;
        graph.step(now.saturating_sub(age(left)));
    }
    for step in 0..options.past {
        graph.step(now.saturating_sub(age(options.past - step)));
    }
    graph
}

async fn grow(served: Served, pace: Duration) {
    loop {
        tokio::time::sleep(pace).await;
        served.step(|graph| graph.step(now()));
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
