//! What a node of a test is told: `cassandra.yaml`, the log, and the options of its JVM.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::Cassandra;
use crate::process::{Part, PartError};

/// The name of the part.
pub(super) const NAME: &str = "cassandra";

/// The class that is the server.
const DAEMON: &str = "org.apache.cassandra.service.CassandraDaemon";

/// One node: where it listens and how large it may grow.
#[derive(Debug)]
pub(super) struct Node {
    /// Where clients connect. Its IP address is also the one for the other nodes.
    pub(super) cql: SocketAddr,
    /// Where the other nodes connect; the same number on all nodes of a ring.
    pub(super) storage_port: u16,
    /// Where `nodetool` connects.
    pub(super) jmx_port: u16,
    /// How many nodes the ring is going to have.
    pub(super) nodes: usize,
    /// The largest heap, as the JVM reads it.
    pub(super) heap: &'static str,
}

impl Node {
    /// Describes the server, with its configuration written into its directory.
    ///
    /// `settings` are lines for the end of `cassandra.yaml`, `options` the last ones of the JVM.
    pub(super) fn part(
        &self,
        cassandra: &Cassandra,
        settings: &str,
        options: &[&str],
    ) -> Result<Part, PartError> {
        let part = Part::new(NAME, &cassandra.java)?;
        let dir = part.dir().to_owned();
        let write = || -> io::Result<PathBuf> {
            fs::create_dir(dir.join("tmp"))?;
            fs::write(dir.join("logback.xml"), LOGBACK)?;
            fs::write(dir.join("cassandra.yaml"), self.yaml(&dir) + settings)?;
            jamm(&cassandra.lib)
        };
        let agent = write().map_err(PartError::io(NAME, "write its configuration"))?;
        let jars = cassandra.lib.join("*");
        Ok(part
            .arg(format!("-javaagent:{}", agent.display()))
            .args(self.options(&dir))
            .args(opened())
            .args(options)
            .arg("-cp")
            .arg(format!("{}:{}", dir.display(), jars.display()))
            .arg(DAEMON))
    }

    fn yaml(&self, dir: &Path) -> String {
        YAML.replace("@DIR@", &dir.display().to_string())
            .replace("@IP@", &self.cql.ip().to_string())
            .replace("@SEED@", &Ipv4Addr::LOCALHOST.to_string())
            .replace("@STORAGE_PORT@", &self.storage_port.to_string())
            .replace("@CQL_PORT@", &self.cql.port().to_string())
    }

    fn options(&self, dir: &Path) -> Vec<String> {
        let dir = dir.display();
        let own = [
            format!("-Xmx{}", self.heap),
            format!("-Djava.io.tmpdir={dir}/tmp"),
            format!("-Dcassandra.config=file://{dir}/cassandra.yaml"),
            format!("-Dlogback.configurationFile=file://{dir}/logback.xml"),
            format!("-Dcassandra.storagedir={dir}"),
            format!("-Dcassandra.logdir={dir}"),
            format!("-Dcassandra.triggers_dir={dir}"),
            format!("-Dcassandra.jmx.local.port={}", self.jmx_port),
            // A copy on every node: reading it at ALL proves that a node reaches all others.
            format!("-Dcassandra.system_distributed.default_rf={}", self.nodes),
        ];
        own.into_iter().chain(JVM.map(str::to_owned)).collect()
    }
}

/// The agent that measures objects; its file name carries a version.
fn jamm(lib: &Path) -> io::Result<PathBuf> {
    for file in fs::read_dir(lib)? {
        let file = file?;
        if file.file_name().to_string_lossy().starts_with("jamm-") {
            return Ok(file.path());
        }
    }
    let text = format!("no jamm-*.jar in {}; remove its parent to fetch it again", lib.display());
    Err(io::Error::new(io::ErrorKind::NotFound, text))
}

/// Options of the JVM that are the same for every node.
///
/// With a heap that begins small, the serial collector and the first compiler alone, a start takes
/// 6 s and 420 MiB instead of 9 s and 1.4 GiB. Under load for minutes the full compiler pays off.
const JVM: [&str; 14] = [
    "-Xms128M",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    // A node without memory shall be dead, not half alive: then its end is told at once.
    "-XX:+ExitOnOutOfMemoryError",
    // Its file in /tmp would stay after kill -9.
    "-XX:-UsePerfData",
    // As Cassandra's own start script does.
    "-ea",
    "-da:net.openhft...",
    "-Djava.net.preferIPv4Stack=true",
    "-Djdk.attach.allowAttachSelf=true",
    // How long a node that joins waits for the others to hear of it; 30 s for real networks.
    "-Dcassandra.ring_delay_ms=2000",
    // Otherwise it closes its log as soon as it serves clients.
    "-Dcassandra-foreground=yes",
    // Lets `-Dcassandra.settings.NAME` set what `cassandra.yaml` sets.
    "-Dcassandra.config.allow_system_properties=true",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    // The first user of a secured node is made at once and not after 10 s.
    "-Dcassandra.superuser_setup_delay_ms=0",
];

/// What Cassandra reaches into and Java 17 closes.
pub(super) fn opened() -> impl Iterator<Item = String> {
    let option = |kind: &'static str| move |name: &&str| format!("--add-{kind}={name}=ALL-UNNAMED");
    EXPORTS.iter().map(option("exports")).chain(OPENS.iter().map(option("opens")))
}

const EXPORTS: [&str; 9] = [
    "java.base/java.lang.ref",
    "java.base/jdk.internal.misc",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.sql/java.sql",
    "jdk.attach/sun.tools.attach",
    "jdk.compiler/com.sun.tools.javac.file",
    "jdk.unsupported/sun.misc",
];

const OPENS: [&str; 14] = [
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.module",
    "java.base/java.lang.reflect",
    "java.base/java.util",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "jdk.compiler/com.sun.tools.javac",
    "jdk.management/com.sun.management.internal",
];

/// All to standard output, which is the part's log; of an error its cause first, so that it stands
/// in the end of the log that a failed test quotes.
const LOGBACK: &str = r#"<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder>
      <pattern>%-5level %date{HH:mm:ss.SSS} [%thread] %logger{0}: %msg%n%rEx{5}</pattern>
    </encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
"#;

/// The settings of every node; what is not named has Cassandra's default.
const YAML: &str = r#"
cluster_name: ostrakon
num_tokens: 16
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: "@SEED@:@STORAGE_PORT@"
# A ring of a test is empty while it forms: there is nothing to stream.
auto_bootstrap: false
listen_address: @IP@
rpc_address: @IP@
storage_port: @STORAGE_PORT@
native_transport_port: @CQL_PORT@

data_file_directories: [@DIR@/data]
commitlog_directory: @DIR@/commitlog
hints_directory: @DIR@/hints
saved_caches_directory: @DIR@/saved_caches
cdc_raw_directory: @DIR@/cdc_raw

# Not periodic, not even with a short period: replay reads up to the last mark in the log, and
# between two marks (100 ms) kill -9 loses writes that were acknowledged.
commitlog_sync: batch
commitlog_segment_size: 16MiB

memtable_heap_space: 64MiB
memtable_offheap_space: 64MiB
memtable:
  configurations:
    trie:
      class_name: TrieMemtable
    default:
      inherits: trie
sstable:
  selected_format: bti
storage_compatibility_mode: NONE

batch_size_warn_threshold: 64KiB
batch_size_fail_threshold: 640KiB
auto_snapshot: false
"#;
