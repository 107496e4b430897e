//! A node that asks for a password and speaks only TLS.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Cassandra;
use super::server::READY;
use super::settings::{NAME, Node};
use crate::command::run;
use crate::process::{PartError, Process};

/// The password of the file with the node's key; the file lies in the node's own directory.
const STORE_PASSWORD: &str = "ostrakon";

/// What the node logs when its first user can log in.
const USER_MADE: &str = "Created default superuser role 'cassandra'";

/// How long `keytool` waits for a connection and for each answer, in milliseconds.
const BOUND: [&str; 2] =
    ["-J-Dsun.net.client.defaultConnectTimeout=5000", "-J-Dsun.net.client.defaultReadTimeout=5000"];

/// A running node that asks for a password and speaks only TLS.
#[derive(Debug)]
pub struct Secured {
    process: Process,
    address: SocketAddr,
    ca_pem: PathBuf,
    keytool: PathBuf,
}

impl Secured {
    /// The user that exists from the start, a superuser.
    pub const USER: &str = "cassandra";

    /// Its password.
    pub const PASSWORD: &str = "cassandra";

    pub(super) fn start(cassandra: &Cassandra, node: Node) -> Result<Self, PartError> {
        let part = node.part(cassandra, SETTINGS, &[])?;
        let keytool = cassandra.java.with_file_name("keytool");
        let ca_pem = certificate(&keytool, part.dir(), node.cql)?;
        let process = part.start()?;
        let mut secured = Self { process, address: node.cql, ca_pem, keytool };
        secured.wait_ready()?;
        Ok(secured)
    }

    /// Where CQL is spoken, over TLS.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate to trust, as PEM. It names the node's IP address and `localhost`.
    #[must_use]
    pub fn ca_pem_path(&self) -> &Path {
        &self.ca_pem
    }

    /// The process, to kill it, pause it or start it again.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Waits until the node speaks TLS and its user can log in; for use after a new start.
    ///
    /// # Errors
    ///
    /// When it does not; the error quotes its log.
    pub fn wait_ready(&mut self) -> Result<(), PartError> {
        let address = self.address;
        let connects = || TcpStream::connect(address).map(drop);
        self.process.wait_until("cassandra listens", READY, connects)?;
        // A client of the JDK, because a TLS of one's own is too much for a probe.
        let mut hello = Command::new(&self.keytool);
        hello.args(BOUND).args(["-printcert", "-rfc", "-sslserver", &address.to_string()]);
        self.process.wait_until("cassandra speaks TLS", READY, || run(&mut hello))?;
        let log = self.process.log().to_owned();
        self.process.wait_until("the first user is made", READY, || {
            let text = std::fs::read_to_string(&log).map_err(|error| error.to_string())?;
            if text.contains(USER_MADE) { Ok(()) } else { Err("not in the log".to_owned()) }
        })
    }
}

/// Lines of `cassandra.yaml`. The passwords of files are not secrets here.
const SETTINGS: &str = r#"
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  optional: false
  keystore: node.p12
  keystore_password: ostrakon
  store_type: PKCS12
  require_client_auth: false
"#;

/// Makes the node's key and a certificate that it signs itself, and returns the latter as PEM.
fn certificate(keytool: &Path, dir: &Path, node: SocketAddr) -> Result<PathBuf, PartError> {
    let pem = dir.join("ca.pem");
    let names = format!("san=ip:{},dns:localhost", node.ip());
    let tool = |command: &mut Command| {
        command.args(["-keystore", "node.p12", "-storepass", STORE_PASSWORD, "-alias", "node"]);
        run(command.current_dir(dir))
            .map_err(|source| PartError::Command { part: NAME.to_owned(), source })
    };
    tool(
        Command::new(keytool)
            .args(["-genkeypair", "-storetype", "PKCS12", "-keyalg", "EC", "-groupname"])
            .args(["secp256r1", "-dname", "CN=ostrakon test", "-validity", "30", "-ext", &names]),
    )?;
    tool(Command::new(keytool).args(["-exportcert", "-rfc", "-file"]).arg(&pem))?;
    Ok(pem)
}
