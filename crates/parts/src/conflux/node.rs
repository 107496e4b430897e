//! A running node.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use super::Conflux;
use super::rpc::{RpcError, call};
use super::settings::{NAME, Ports, Settings};
use crate::process::{Part, PartError, Process};

/// How long a node may take until it answers; an idle machine needs 5 s, a busy one 30.
const READY: Duration = Duration::from_secs(240);

/// How long the answer to a probe may take.
const PROBE: Duration = Duration::from_secs(5);

/// How long any other answer may take. A thousand blocks in one call need 10 s.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running Conflux node. How it is made to grow a tree-graph: see its calls.
#[derive(Debug)]
pub struct ConfluxNode {
    process: Process,
    ports: Ports,
    settings: Settings,
}

impl ConfluxNode {
    pub(super) fn start(conflux: &Conflux, settings: &Settings) -> Result<Self, PartError> {
        let part = Part::new(NAME, "node")?;
        let ports = Ports::free()?;
        let dir = part.dir().to_owned();
        let write = || -> io::Result<()> {
            fs::write(dir.join("start.js"), include_str!("start.js"))?;
            fs::write(dir.join("settings.json"), settings.file(&ports, &dir).to_string())
        };
        write().map_err(PartError::io(NAME, "write its settings"))?;
        let part = part
            .arg(dir.join("start.js"))
            .arg(&conflux.packages)
            .arg(dir.join("settings.json"))
            .env("LD_PRELOAD", &conflux.loopback)
            // The node leaves its working directory for one that it makes among the temporary
            // ones, and nobody removes that after kill -9. So it makes it in its own directory.
            .env("TMPDIR", &dir);
        let mut node = Self { process: part.start()?, ports, settings: settings.clone() };
        node.wait_ready()?;
        Ok(node)
    }

    /// Where JSON-RPC of the core space is spoken: `http://127.0.0.1:…`.
    #[must_use]
    pub fn http(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.http)
    }

    /// Where its subscriptions are: `ws://127.0.0.1:…`.
    #[must_use]
    pub fn ws(&self) -> String {
        format!("ws://127.0.0.1:{}", self.ports.ws)
    }

    /// Where JSON-RPC of the eSpace is spoken (`eth_…`): `http://127.0.0.1:…`.
    #[must_use]
    pub fn eth_http(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.eth_http)
    }

    /// Where its subscriptions are: `ws://127.0.0.1:…`.
    #[must_use]
    pub fn eth_ws(&self) -> String {
        format!("ws://127.0.0.1:{}", self.ports.eth_ws)
    }

    /// Every port that the node was given, to see that none is open to others.
    #[must_use]
    pub fn ports(&self) -> [u16; 6] {
        let Ports { http, ws, eth_http, eth_ws, peers, stratum } = self.ports;
        [http, ws, eth_http, eth_ws, peers, stratum]
    }

    /// What the node was told at its start.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where other nodes connect.
    pub(super) fn peer_address(&self) -> SocketAddr {
        local(self.ports.peers)
    }

    /// The process, to kill it, pause it or look at its log.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The process, to find its directory.
    pub(super) fn running(&self) -> &Process {
        &self.process
    }

    /// Calls a method of the core space: `node.rpc("cfx_getStatus", json!([]))`.
    ///
    /// # Errors
    ///
    /// When the node does not answer, or answers with an error.
    pub fn rpc(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        call(local(self.ports.http), PATIENCE, method, &params)
    }

    /// Waits until the node answers and may be told to make blocks.
    ///
    /// # Errors
    ///
    /// When it does not come up; the error quotes its log.
    pub fn wait_ready(&mut self) -> Result<(), PartError> {
        let ports = self.ports;
        // It answers before it has read its own chain. A block that is asked for by then is a
        // panic inside, after which the node is half alive.
        self.process.wait_until("conflux is in its normal phase", READY, || {
            let phase = call(local(ports.http), PROBE, "current_sync_phase", &json!([]))
                .map_err(|error| error.to_string())?;
            for port in [ports.ws, ports.eth_http, ports.eth_ws] {
                TcpStream::connect_timeout(&local(port), PROBE)
                    .map_err(|error| format!("port {port}: {error}"))?;
            }
            if phase == json!("NormalSyncPhase") { Ok(()) } else { Err(phase.to_string()) }
        })
    }

    /// Starts the node again with its data and its ports, after it was killed, and waits until it
    /// is ready. Blocks survive `kill -9`; the pool's transactions do not.
    ///
    /// # Errors
    ///
    /// When it does not come up; the error quotes its log.
    pub fn start_again(&mut self) -> Result<(), PartError> {
        self.process.start_again()?;
        self.wait_ready()
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
