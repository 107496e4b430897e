//! The two clients: what each asks of an answer, and what it says when it gets none.

use std::sync::Arc;
use std::time::Duration;

use store::Task;
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::chains::{Ask, AskError};
use crate::webhooks::{Delivery, Post, PostError, SIGNATURE_HEADER};

use super::exchange::{Answer, End, Sender, System};
use super::reach::Reach;

/// How long a webhook may take, all in all.
const WEBHOOK_TIME: Duration = Duration::from_secs(10);
/// Bytes of a webhook's answer that are read. Nobody looks at them; a receiver that is hung up on
/// in the middle of a sentence would log an error.
const WEBHOOK_BYTES: usize = 4 * 1024;
/// How long a node may take, all in all.
const NODE_TIME: Duration = Duration::from_secs(5);
/// Bytes of a node's answer.
const NODE_BYTES: usize = 1024 * 1024;
/// The same for answers that hold many blocks.
const BLOCKS_TIME: Duration = Duration::from_secs(30);
const BLOCKS_BYTES: usize = 64 * 1024 * 1024;
/// Characters of a foreign address that are told again.
const LOCATION_CHARS: usize = 100;

/// Why no client was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("encryption cannot be set up: {0}; this is a fault of the build, report it")]
pub struct OutgoingError(String);

/// Delivers events to webhooks, to addresses of the public internet only.
pub struct WebhookClient {
    pub(super) sender: Sender,
}

/// Asks nodes, wherever their operator says they are.
pub struct NodeClient {
    pub(super) sender: Sender,
}

impl WebhookClient {
    /// A client that trusts the certificates of this machine. `allow_loopback` lets webhooks lead
    /// to this machine, also without encryption.
    ///
    /// # Errors
    /// When encryption cannot be set up.
    pub fn new(allow_loopback: bool) -> Result<Self, OutgoingError> {
        let reach = Reach::Public { loopback: allow_loopback };
        let sender = sender(reach, WEBHOOK_TIME, WEBHOOK_BYTES)?;
        Ok(Self { sender })
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<(), String> {
        let plain = Address::parse(&delivery.url, &["http"]).is_ok_and(|url| !url.is_loopback());
        if plain {
            return Err("the address must begin with https://; register it so".to_owned());
        }
        let headers = [(SIGNATURE_HEADER, delivery.signature.as_str())];
        let answer = self.sender.post(&delivery.url, &headers, &delivery.body).await;
        let answer = answer.map_err(|error| error.to_string())?;
        match answer.status {
            200..=299 => Ok(()),
            status @ 300..=399 => Err(format!(
                "it answered {status} and wants to redirect{}, which is not followed; register \
                 the address it leads to",
                destination(&answer)
            )),
            status @ (401 | 403) => Err(format!(
                "it answered {status}; let requests with our signature in, without a login"
            )),
            status @ (404 | 410) => {
                Err(format!("it answered {status}; check the path of the address"))
            }
            status => {
                Err(format!("it answered {status}; answer 200 to 299 when an event has arrived"))
            }
        }
    }
}

impl Post for WebhookClient {
    fn post<'a>(&'a self, delivery: &'a Delivery) -> Task<'a, Result<(), PostError>> {
        Box::pin(async move { self.deliver(delivery).await.map_err(PostError) })
    }
}

impl NodeClient {
    /// A client that trusts the certificates of this machine.
    ///
    /// # Errors
    /// When encryption cannot be set up.
    pub fn new() -> Result<Self, OutgoingError> {
        Ok(Self { sender: sender(Reach::Anywhere, NODE_TIME, NODE_BYTES)? })
    }

    /// The same for answers that hold many blocks: they are larger, and take longer.
    ///
    /// # Errors
    /// When encryption cannot be set up.
    pub fn for_blocks() -> Result<Self, OutgoingError> {
        Ok(Self { sender: sender(Reach::Anywhere, BLOCKS_TIME, BLOCKS_BYTES)? })
    }

    async fn question(&self, url: &str, body: &str) -> Result<String, String> {
        let answer = self.sender.post(url, &[], body).await.map_err(|error| error.to_string())?;
        let status = answer.status;
        match status {
            300..=399 => {
                return Err(format!(
                    "it answered {status} and wants to redirect{}, which is not followed; give \
                     the address it leads to",
                    destination(&answer)
                ));
            }
            // Bitcoin's nodes, for one, send their errors with a status of 500.
            400.. if !answer.body.trim_ascii_start().starts_with(b"{") => {
                return Err(match status {
                    401 | 403 => format!(
                        "it answered {status}; let this machine in, or use an address with its key"
                    ),
                    404 => format!("it answered {status}; check the path of the address"),
                    429 => format!("it answered {status}; it is asked too often, raise its limit"),
                    _ => format!("it answered {status}; see its log"),
                });
            }
            _ => {}
        }
        match answer.end {
            End::Whole => {}
            End::TooLong => {
                let limit = self.sender.bytes;
                return Err(format!("its answer is longer than {limit} bytes; check its address"));
            }
            End::Broken => return Err("its answer broke off; see its log".to_owned()),
            End::TooSlow => {
                let limit = self.sender.time.as_millis();
                return Err(format!("its answer took longer than {limit} ms; see its load"));
            }
        }
        String::from_utf8(answer.body)
            .map_err(|_| "its answer is not text; check its address".to_owned())
    }
}

impl Ask for NodeClient {
    fn ask<'a>(&'a self, url: &'a str, body: &'a str) -> Task<'a, Result<String, AskError>> {
        Box::pin(async move { self.question(url, body).await.map_err(AskError) })
    }
}

fn destination(answer: &Answer) -> String {
    let printable = |text: &String| text.chars().take(LOCATION_CHARS).collect::<String>();
    answer.location.as_ref().map_or_else(String::new, |to| format!(" to {}", printable(to)))
}

fn sender(reach: Reach, time: Duration, bytes: usize) -> Result<Sender, OutgoingError> {
    let mut roots = rustls::RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (trusted, _) = roots.add_parsable_certificates(found.certs);
    if trusted == 0 {
        tracing::warn!("this machine trusts no certificate; https fails: install ca-certificates");
    }
    Ok(Sender { reach, time, bytes, resolver: Arc::new(System), tls: connector(roots)? })
}

pub(super) fn connector(roots: rustls::RootCertStore) -> Result<TlsConnector, OutgoingError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| OutgoingError(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
