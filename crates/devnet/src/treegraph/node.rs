//! The node: HTTP in front of a graph, and a clock that makes it grow.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
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
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use super::{Graph, GraphSettings, Rpc, Step};

/// Bytes of one request.
const BODY_BYTES: usize = 256 * 1024;
/// Connections at the same time; more are closed at once.
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
}

impl Default for TreeGraphOptions {
    fn default() -> Self {
        let (graph, pace) = (GraphSettings::default(), Duration::from_millis(700));
        Self { graph, network: 1234, pace, past: 100 }
    }
}

/// A node that runs until it is dropped; its connections break then.
#[derive(Debug)]
pub struct TreeGraphNode {
    address: SocketAddr,
    graph: Arc<RwLock<Graph>>,
    tasks: [AbortHandle; 2],
}

impl TreeGraphNode {
    /// Starts a node on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start(options: TreeGraphOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let graph = Arc::new(RwLock::new(grown(&options)));
        let served = Served { graph: graph.clone(), network: options.network };
        let router = Router::new()
            .route("/", post(answer))
            .layer(DefaultBodyLimit::max(BODY_BYTES))
            .with_state(served);
        let serving = tokio::spawn(accept(listener, router));
        let growing = tokio::spawn(grow(graph.clone(), options.pace));
        let tasks = [serving.abort_handle(), growing.abort_handle()];
        Ok(Self { address, graph, tasks })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for requests, as a chain's node has it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes a step out of turn.
    pub fn step(&self) -> Step {
        step(&self.graph)
    }
}

impl Drop for TreeGraphNode {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// What the routes need.
#[derive(Clone)]
struct Served {
    graph: Arc<RwLock<Graph>>,
    network: u64,
}

async fn answer(State(served): State<Served>, body: Bytes) -> Response {
    let answer = {
        // Nothing is half done inside, whoever panicked.
        let graph = served.graph.read().unwrap_or_else(PoisonError::into_inner);
        Rpc::new(&graph, served.network).answer(&body)
    };
    let text = answer.map_or_else(String::new, |answer| answer.to_string());
    ([(CONTENT_TYPE, "application/json; charset=utf-8")], text).into_response()
}

/// Serves connections. They end with this task, because they are its own.
async fn accept(listener: TcpListener, router: Router) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if connections.len() >= CONNECTIONS {
            continue;
        }
        let service = TowerToHyperService::new(router.clone());
        connections.spawn(async move {
            let mut settings = http1::Builder::new();
            settings.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
            // A client that hangs up is nobody's failure.
            let _ = settings.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// A graph with a past that ends now.
fn grown(options: &TreeGraphOptions) -> Graph {
    let (now, pace) = (now(), options.pace.as_millis() as u64);
    let age = |step: u64| (options.past - step).saturating_mul(pace) / 1000;
    let genesis = now.saturating_sub(age(0) + 1);
    let mut graph = Graph::new(GraphSettings { genesis, ..options.graph });
    for step in 0..options.past {
        graph.step(now.saturating_sub(age(step)));
    }
    graph
}

async fn grow(graph: Arc<RwLock<Graph>>, pace: Duration) {
    loop {
        tokio::time::sleep(pace).await;
        step(&graph);
    }
}

fn step(graph: &RwLock<Graph>) -> Step {
    graph.write().unwrap_or_else(PoisonError::into_inner).step(now())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
