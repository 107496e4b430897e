//! One POST and its answer, over a connection to an address that was judged before.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Request, Response, Uri, header};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use store::Task;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::address::{Address, AddressError};

use super::reach::Reach;

/// Addresses of one name that are tried, one after the other.
const TRIED: usize = 4;
/// Bytes of an answer's head.
const HEAD_BYTES: usize = 64 * 1024;
/// How we introduce ourselves.
const USER_AGENT: &str = concat!("ostrakon/", env!("CARGO_PKG_VERSION"));

/// Turns names into addresses.
pub(super) trait Resolve: Send + Sync + 'static {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Task<'a, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of this machine.
pub(super) struct System;

impl Resolve for System {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> Task<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// How requests are sent.
pub(super) struct Sender {
    pub(super) reach: Reach,
    /// For everything together.
    pub(super) time: Duration,
    /// Bytes of the answer's body that are read.
    pub(super) bytes: usize,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) tls: TlsConnector,
}

/// A connection, encrypted where the address says so.
pub(super) enum Wire {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Where a redirect leads.
    pub(super) location: Option<String>,
    /// The beginning of the body.
    pub(super) body: Vec<u8>,
    /// Whether that is all of it.
    pub(super) end: End,
}

/// How the reading of a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    TooLong,
    Broken,
    TooSlow,
}

/// Why there is no answer, in words for whoever chose the address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SendError {
    #[error("the address is not possible: {0}")]
    Address(#[from] AddressError),
    #[error("the name {host} leads to no address; check how it is written, and its DNS")]
    Unknown { host: String },
    #[error(
        "{host} leads to {ip}, which is not an address of the public internet; use one that is"
    )]
    Forbidden { host: String, ip: IpAddr },
    #[error("no connection to {host}: {what}; see whether it runs and may be reached from here")]
    Connect { host: String, what: String },
    #[error("no encrypted connection to {host}: {what}; check its certificate and its port")]
    Tls { host: String, what: String },
    #[error("{host} did not answer in HTTP: {what}; check its port and what stands before it")]
    Http { host: String, what: String },
    #[error("no answer within {millis} ms; it must answer sooner, before any slow work")]
    Time { millis: u128 },
}

impl Sender {
    /// Sends a body and reads the beginning of the answer.
    pub(super) async fn post(
        &self,
        url: &str,
        headers: &[(&'static str, &str)],
        body: &str,
    ) -> Result<Answer, SendError> {
        let deadline = tokio::time::Instant::now() + self.time;
        let target = Target::read(url)?;
        let request = target.request(headers, body)?;
        let asked = tokio::time::timeout_at(deadline, async {
            match self.wire_to(&target).await? {
                Wire::Plain(stream) => self.exchange(&target, stream, request, deadline).await,
                Wire::Encrypted(stream) => self.exchange(&target, stream, request, deadline).await,
            }
        });
        match asked.await {
            Ok(answer) => answer,
            Err(_) => Err(SendError::Time { millis: self.time.as_millis() }),
        }
    }

    /// A connection to the host of an address.
    pub(super) async fn wire(&self, url: &str) -> Result<Wire, SendError> {
        self.wire_to(&Target::read(url)?).await
    }

    async fn wire_to(&self, target: &Target) -> Result<Wire, SendError> {
        let stream = self.connect(target).await?;
        if !target.encrypted {
            return Ok(Wire::Plain(stream));
        }
        let failed = |what: String| SendError::Tls { host: target.host.clone(), what };
        let name = ServerName::try_from(target.bare_host().to_owned())
            .map_err(|error| failed(error.to_string()))?;
        let stream = self.tls.connect(name, stream).await;
        Ok(Wire::Encrypted(Box::new(stream.map_err(|error| failed(error.to_string()))?)))
    }

    /// Connects to one of the addresses behind the host that may be reached.
    async fn connect(&self, target: &Target) -> Result<TcpStream, SendError> {
        let host = || target.host.clone();
        let found = match target.bare_host().parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, target.port)],
            Err(_) => self.resolver.resolve(&target.host, target.port).await.unwrap_or_default(),
        };
        let Some(first) = found.first() else { return Err(SendError::Unknown { host: host() }) };
        let allowed = found.iter().filter(|address| self.reach.allows(address.ip()));
        let allowed: Vec<_> = allowed.take(TRIED).collect();
        // An address that swallows packets must not use up the time of the next one.
        let share = self.time / u32::try_from(allowed.len().max(1)).unwrap_or(u32::MAX);
        let mut failure = SendError::Forbidden { host: host(), ip: first.ip() };
        for address in allowed {
            let what = match tokio::time::timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                // The kind alone reads the same on every machine.
                Ok(Err(error)) => error.kind().to_string(),
                Err(_) => "no sign of life".to_owned(),
            };
            failure = SendError::Connect { host: host(), what };
        }
        Err(failure)
    }

    async fn exchange(
        &self,
        target: &Target,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        request: Request<Full<Bytes>>,
        deadline: tokio::time::Instant,
    ) -> Result<Answer, SendError> {
        let failed = |error: hyper::Error| SendError::Http {
            host: target.host.clone(),
            what: error.to_string(),
        };
        let mut settings = http1::Builder::new();
        let handshake = settings.max_buf_size(HEAD_BYTES).handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(failed)?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(failed)?;
            Ok(self.read(response, deadline).await)
        };
        tokio::pin!(answer, connection);
        // The connection moves the bytes. When it ends, what it received is still there to read.
        let mut open = true;
        loop {
            tokio::select! {
                answer = &mut answer => return answer,
                _ = &mut connection, if open => open = false,
            }
        }
    }

    /// The head of an answer and the beginning of its body. The head is what counts for some, so
    /// whatever happens to the body is told and is no failure here.
    async fn read(&self, response: Response<Incoming>, deadline: tokio::time::Instant) -> Answer {
        let location = response.headers().get(header::LOCATION);
        let location = location.and_then(|value| value.to_str().ok()).map(ToOwned::to_owned);
        let status = response.status().as_u16();
        let mut incoming = response.into_body();
        let mut body = Vec::new();
        // A little before the end of all time, or there would be no answer at all.
        let deadline = deadline - self.time / 20;
        let end = loop {
            let data = match tokio::time::timeout_at(deadline, incoming.frame()).await {
                Err(_) => break End::TooSlow,
                Ok(None) => break End::Whole,
                Ok(Some(Err(_))) => break End::Broken,
                Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            let room = self.bytes - body.len();
            body.extend_from_slice(data.get(..room).unwrap_or(&data));
            if data.len() > room {
                break End::TooLong;
            }
        };
        Answer { status, location, body, end }
    }
}

/// Where a request goes.
struct Target {
    encrypted: bool,
    /// A name, an IPv4 address, or an IPv6 address in brackets.
    host: String,
    port: u16,
    /// The host as the header has it.
    authority: String,
    path: String,
}

impl Target {
    fn read(url: &str) -> Result<Self, SendError> {
        let address = Address::parse(url, &["http", "https"])?;
        let encrypted = address.scheme() == "https";
        let port = address.port().unwrap_or(if encrypted { 443 } else { 80 });
        let host = address.host().to_owned();
        let authority = match address.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.clone(),
        };
        // Only the path is taken from here: the host is the one that was read strictly.
        let uri: Uri = address.to_string().parse().map_err(|_| AddressError::Path)?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Self { encrypted, host, port, authority, path })
    }

    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    fn request(
        &self,
        headers: &[(&'static str, &str)],
        body: &str,
    ) -> Result<Request<Full<Bytes>>, SendError> {
        let mut request = Request::post(&self.path)
            .header(header::HOST, &self.authority)
            .header(header::USER_AGENT, USER_AGENT)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .header(header::CONNECTION, "close");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes())));
        Ok(request.map_err(|_| AddressError::Path)?)
    }
}
