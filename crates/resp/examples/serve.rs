//! Serves three keys on port 6380: `cargo run -p resp --example serve`, then `redis-cli -p 6380`.

use std::sync::Arc;

use resp::{Elements, Fields, Memory, Options, Stored};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let keys = Memory::new([
        ("greeting", Stored::Text(b"hello".to_vec())),
        ("colours", Stored::List(Elements(vec![b"red".to_vec(), b"blue".to_vec()]))),
        ("ages", Stored::Hash(Fields(vec![(b"ann".to_vec(), b"41".to_vec())]))),
    ]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:6380").await?;
    println!("redis-cli -p 6380; ends with Ctrl-C");
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let server = tokio::spawn(resp::serve(listener, Arc::new(keys), Options::default(), stopped));
    tokio::signal::ctrl_c().await?;
    stop.send_replace(true);
    server.await?;
    Ok(())
}
