//! HTTP connections: accepted, limited, and finished before the server ends.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use platform::http::{Peer, Stall};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::stopped;

/// Connections at a time; more wait in the system's queue. Most of them follow events.
const CONNECTIONS: usize = 12_000;
/// How long a client may take to send the head of a request, idle time included.
const HEAD: Duration = Duration::from_secs(15);
/// How long a client may leave an answer unread.
const UNREAD: Duration = Duration::from_secs(30);
/// Bytes of a request's head, and of what is buffered for a connection.
const BUFFER_BYTES: usize = 64 * 1024;
/// How long requests get to end when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// Raises the number of files this process may open as far as it may: a connection is one, and the
/// usual limit is far below what the system allows.
pub(super) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if limit.current != limit.maximum && setrlimit(Resource::Nofile, raised).is_err() {
        tracing::warn!(?limit, "the limit of open files could not be raised");
    }
}

/// The routes, as requests of one client see them. A layer around them would be a copy of all
/// routes for every connection.
struct Routes {
    routes: TowerToHyperService<Router>,
    peer: Peer,
}

impl Service<Request<Incoming>> for Routes {
    type Response = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.routes.call(request)
    }
}

/// A connection with the routes behind it.
type Connection = http1::Connection<TokioIo<Stall<TcpStream>>, Routes>;

/// Serves until told to stop.
pub(crate) async fn serve(listener: TcpListener, router: Router, mut stop: watch::Receiver<bool>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = stopped(&mut stop) => break,
            Some(_) = connections.join_next() => continue,
            accepted = accept(&listener, &permits) => accepted,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        let routes = Routes { routes: TowerToHyperService::new(router.clone()), peer };
        connections.spawn(connection(stream, permit, routes, stop.clone()));
    }
    drop(listener);
    let ended = timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        tracing::warn!("requests were still running when the server stopped");
    }
}

async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> Option<(TcpStream, Peer, OwnedSemaphorePermit)> {
    let permit = permits.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => Some((stream, Peer(address), permit)),
        Err(error) => {
            // Most likely no file descriptor is left; trying again at once would spin.
            tracing::warn!(%error, "a connection was not accepted");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn connection(
    stream: TcpStream,
    permit: OwnedSemaphorePermit,
    routes: Routes,
    mut stop: watch::Receiver<bool>,
) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER_BYTES);
    let stream = TokioIo::new(Stall::new(stream, UNREAD));
    let connection = builder.serve_connection(stream, routes);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Ok(ended),
        () = stopped(&mut stop) => finish(connection).await,
    };
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection ended early"),
        Err(_) => tracing::debug!("a connection was cut"),
    }
    drop(permit);
}

/// Lets the request that is being answered end, and no other begin.
async fn finish(mut connection: Pin<&mut Connection>) -> Result<hyper::Result<()>, Elapsed> {
    connection.as_mut().graceful_shutdown();
    timeout(GRACE, connection).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Extension;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    async fn start() -> (std::net::SocketAddr, watch::Sender<bool>, tokio::task::JoinHandle<()>) {
        let router = Router::new()
            .route("/", get(|| async { "hello" }))
            .route(
                "/peer",
                get(|Extension(Peer(peer)): Extension<Peer>| async move { peer.to_string() }),
            )
            .route(
                "/slow",
                get(|| async {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    "done"
                }),
            );
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = watch::channel(false);
        (address, stop, tokio::spawn(serve(listener, router, stopped)))
    }

    async fn ask(address: std::net::SocketAddr, request: String) -> String {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn request(line: &str, more: &str) -> String {
        format!("{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n")
    }

    #[tokio::test]
    async fn a_request_knows_where_it_comes_from() {
        let (address, stop, task) = start().await;
        let answer = ask(address, request("GET /peer", "")).await;
        assert!(answer.contains("\r\n\r\n127.0.0.1:"), "{answer}");
        stop.send(true).expect("it runs");
        task.await.expect("it ends");
    }

    #[tokio::test]
    async fn a_request_that_began_is_finished_before_the_server_ends() {
        let (address, stop, task) = start().await;
        let asking = tokio::spawn(ask(address, request("GET /slow", "")));
        let idle = TcpStream::connect(address).await.expect("connected");
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.send(true).expect("it runs");
        assert!(asking.await.expect("asked").ends_with("done"));
        timeout(Duration::from_secs(5), task)
            .await
            .expect("an idle client is no reason to wait")
            .expect("it ends");
        drop(idle);
    }
}
