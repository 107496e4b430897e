//! A small API in a shell, and ways to ask it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use http_body_util::BodyExt as _;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use platform::http::{
    Authority, Built, Frame, Json, List, MaybeWho, Operation, Operator, PageParams, Path, Peer,
    Problem, Promise, Query, Renewed, RouteLimits, Scopes, SessionOf, Settings, Shell, Stall, Via,
    Who,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// A thing.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Thing {
    /// Its name.
    pub(crate) name: String,
    /// How many.
    pub(crate) count: u32,
}

/// What things are filtered by.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// The chain.
    #[allow(dead_code)]
    chain: Option<String>,
}

/// A thing by its number.
#[utoipa::path(get, path = "/api/things/{id}", tag = "things", operation_id = "thing",
    params(("id" = u64, Path, description = "Its number.")),
    responses((status = 200, description = "The thing.", body = Thing)))]
async fn thing(Path(id): Path<u64>) -> Result<Json<Thing>, Problem> {
    match id {
        1 => Ok(Json(Thing { name: "one".to_owned(), count: 1 })),
        2 => Ok(Json(Thing { name: "two ".repeat(1000), count: 2 })),
        _ => Err(Problem::not_found(format_args!("thing {id}"))),
    }
}

/// All things.
#[utoipa::path(get, path = "/api/things", tag = "things", operation_id = "things",
    params(PageParams, Wanted),
    responses((status = 200, description = "A page.", body = platform::http::Items<Thing>)))]
async fn things(list: List<Wanted>) -> Result<Response, Problem> {
    let next = store::Cursor::parse("bmV4dA")?;
    let items = vec![Thing { name: "one".to_owned(), count: 1 }];
    Ok(list.answer(items, list.page.cursor.is_none().then_some(&next)))
}

/// Make a thing.
#[utoipa::path(post, path = "/api/things", tag = "things", operation_id = "make",
    request_body = Thing,
    responses((status = 200, description = "The operation.", body = String)))]
async fn make(operation: Operation, Json(thing): Json<Thing>) -> String {
    format!("{} {:?}", thing.name, operation.id)
}

/// Counts to a number.
#[utoipa::path(get, path = "/api/strict", tag = "things", operation_id = "strict",
    params(Limits), responses((status = 200, description = "The number.", body = String)))]
async fn strict(Query(limits): Query<Limits>) -> String {
    limits.height.to_string()
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Limits {
    /// A height.
    height: u32,
}

/// Who asks.
#[utoipa::path(get, path = "/api/who", tag = "who", operation_id = "who",
    responses((status = 200, description = "The name.", body = String)))]
async fn who(who: Who) -> String {
    who.name()
}

/// Change something.
#[utoipa::path(post, path = "/api/who", tag = "who", operation_id = "change",
    responses((status = 200, description = "The name.", body = String)))]
async fn change(MaybeWho(who): MaybeWho) -> String {
    who.map_or_else(|| "nobody".to_owned(), |who| who.name())
}

/// For operators.
#[utoipa::path(delete, path = "/api/who", tag = "who", operation_id = "operate",
    responses((status = 200, description = "Done.", body = String)))]
async fn operate(Operator(who): Operator) -> String {
    who.name()
}

pub(crate) fn api() -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(thing))
        .routes(routes!(things, make))
        .routes(routes!(strict))
        .routes(routes!(who, change, operate))
}

fn pages() -> Router {
    Router::new()
        .route("/panic", get(|| async { panic!("a handler's mistake") as () }))
        .route("/api/foreign", post(|body: Bytes| async move { body.len().to_string() }))
        .route("/api/large", post(|body: Bytes| async move { body.len().to_string() }))
        .route("/slow", get(std::future::pending::<String>))
        .route("/form", post(|body: String| async move { body }))
        .route("/big", get(|| async { vec![b'x'; 32 << 20] }))
        .route("/client", get(client))
}

async fn client(platform::http::Client(address): platform::http::Client) -> String {
    address.map_or_else(|| "unknown".to_owned(), |address| address.to_string())
}

/// Knows `session`, `token`, `operator` and `key`.
pub(crate) struct Accounts;

fn known(account: &str, via: Via) -> Who {
    let roles = BTreeSet::from_iter((account == "root").then(|| "operator".to_owned()));
    let project = (via == Via::Key).then(|| "p1".to_owned());
    let account = Some(account.to_owned());
    Who { account, roles, scopes: Scopes::All, project, via }
}

impl Authority for Accounts {
    fn by_session<'a>(
        &'a self,
        secret: &'a str,
    ) -> Promise<'a, Result<Option<SessionOf>, Problem>> {
        let valid = ["session", "old-session", "new-session"].contains(&secret);
        let who = valid.then(|| known("ann", Via::Session));
        let renew = secret == "old-session";
        Box::pin(async move { Ok(who.map(|who| SessionOf { who, renew })) })
    }

    fn renewed<'a>(&'a self, _: &'a str) -> Promise<'a, Result<Option<Renewed>, Problem>> {
        Box::pin(async { Ok(Some(Renewed { secret: "new-session".to_owned(), seconds: 60 })) })
    }

    fn by_bearer<'a>(&'a self, token: &'a str) -> Promise<'a, Result<Option<Who>, Problem>> {
        Box::pin(async move {
            Ok(match token {
                "token" => Some(known("ann", Via::Bearer)),
                "operator" => Some(known("root", Via::Bearer)),
                _ => None,
            })
        })
    }

    fn by_key<'a>(&'a self, key: &'a str) -> Promise<'a, Result<Option<Who>, Problem>> {
        Box::pin(async move { Ok((key == "key").then(|| known("ann", Via::Key))) })
    }
}

/// A shell with small limits.
pub(crate) fn shell(settings: Settings) -> Shell {
    let frame: Frame = Arc::new(|title, content| {
        maud::html! { html { head { title { (title) } } body { (content) } } }
    });
    let large = RouteLimits { body_bytes: Some(4096), ..RouteLimits::default() };
    Shell::new(settings)
        .api(api())
        .pages(pages())
        .authority(Arc::new(Accounts))
        .limits("/api/large", large)
        .frame(frame)
}

pub(crate) fn small() -> Settings {
    Settings {
        body_bytes: 1024,
        body_time: Duration::from_millis(200),
        answer_time: Duration::from_millis(1000),
        ..Settings::default()
    }
}

pub(crate) fn built() -> Built {
    shell(small()).finish()
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// Checks that this is a whole problem, and gives it back.
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("/api/docs#problem-{code}"));
        assert_eq!(problem["instance"], self.header("x-request-id"), "the request id");
        assert!(!problem["detail"].as_str().unwrap_or_default().is_empty(), "{problem}");
        problem
    }
}

/// Asks a router in the process.
pub(crate) async fn ask(router: &Router, request: Request) -> Answer {
    let response = router.clone().oneshot(request).await.expect("answered");
    let (head, body) = response.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    Answer { status: head.status, headers: head.headers, body }
}

/// A request: method, path, headers, body.
pub(crate) fn request(line: &str, headers: &[(&str, &str)], body: &str) -> Request {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).expect("a request")
}

pub(crate) async fn get_of(router: &Router, path: &str) -> Answer {
    ask(router, request(&format!("GET {path}"), &[], "")).await
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// Serves a router on a real socket, as the program does.
pub(crate) async fn serve(router: Router, stall: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            // Else small writes, as events are, wait for the client's acknowledgement.
            stream.set_nodelay(true).expect("a socket");
            let router = router.clone().layer(axum::Extension(Peer(peer)));
            tokio::spawn(async move {
                let mut builder = http1::Builder::new();
                builder.timer(TokioTimer::new()).max_buf_size(64 * 1024);
                builder.header_read_timeout(Duration::from_secs(15));
                let io = TokioIo::new(Stall::new(stream, stall));
                let _ = builder.serve_connection(io, TowerToHyperService::new(router)).await;
            });
        }
    });
    address
}

/// Sends bytes and reads until the server closes.
pub(crate) async fn send(address: SocketAddr, bytes: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let _ = stream.write_all(bytes.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}
