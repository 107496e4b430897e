//! The side of the admin socket that asks.

use tokio::io::BufReader;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::wire::{self, Call, FRAME_BYTES, Frame, PATIENCE, SILENCE};
use super::{Answer, Request, Watch};

/// Asks the server at the other end and follows its progress to the end.
pub(crate) async fn ask(
    mut stream: UnixStream,
    request: &Request,
    watch: &mut Watch,
) -> anyhow::Result<Answer> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    let call = Call::new(request)?;
    let silent = |_| anyhow::anyhow!("the server does not answer; see its log");
    timeout(PATIENCE, wire::write(&mut writer, &call)).await.map_err(silent)??;
    loop {
        // Leaving ends the work: the server gives up what nobody waits for.
        watch.go_on()?;
        let frame = timeout(SILENCE, wire::read::<Frame>(&mut reader, FRAME_BYTES));
        match frame.await.map_err(silent)?? {
            Frame::Progress { table, entries } => watch.tell(&table, entries),
            Frame::Working => {}
            Frame::Answer(answer) => return Ok(*answer),
            Frame::Error(error) => anyhow::bail!("{error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::{server, socket};
    use crate::opening::OpenStore;
    use std::sync::{Arc, Mutex};
    use tokio::io::AsyncWriteExt as _;
    use tokio::sync::watch;

    struct Running {
        dir: tempfile::TempDir,
        stop: watch::Sender<bool>,
        task: tokio::task::JoinHandle<()>,
    }

    async fn running() -> Running {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = socket::AdminSocket::bind(dir.path()).expect("bound");
        let (stop, stopped) = watch::channel(false);
        let opened = Arc::new(OpenStore::model().await);
        let task = tokio::spawn(server::serve(socket, opened, stopped));
        Running { dir, stop, task }
    }

    impl Running {
        async fn connect(&self) -> UnixStream {
            socket::connect(self.dir.path()).await.expect("no error").expect("somebody listens")
        }

        async fn end(self) {
            self.stop.send(true).expect("it runs");
            self.task.await.expect("it ends");
        }
    }

    #[tokio::test]
    async fn progress_and_answer_come_through_the_socket() {
        let running = running().await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = seen.clone();
        let mut watch = Watch::new(
            move |table: &str, _| keep.lock().expect("sound").push(table.to_owned()),
            Arc::default(),
        );
        let answer = ask(running.connect().await, &Request::Verify, &mut watch).await;
        let Answer::Verify(answer) = answer.expect("answered") else { panic!("another answer") };
        assert_eq!(answer.0.findings_total, 0);
        assert!(seen.lock().expect("sound").contains(&"system.samples".to_owned()));
        running.end().await;
    }

    #[tokio::test]
    async fn errors_of_the_server_are_those_of_the_command() {
        let running = running().await;
        let request = Request::Backup { file: running.dir.path().join("admin.sock") };
        let error = ask(running.connect().await, &request, &mut Watch::quiet()).await;
        let error = error.expect_err("refused").to_string();
        assert!(error.contains("exists already"), "{error}");
        running.end().await;
    }

    #[tokio::test]
    async fn strangers_cannot_disturb_the_server() {
        let running = running().await;
        let silent = running.connect().await;
        let mut rude = running.connect().await;
        rude.write_all(&[b'x'; 70_000]).await.expect("sent");
        let mut gone = running.connect().await;
        gone.write_all(b"{\"protocol\":1,\"request\":\"verify\"}\n").await.expect("sent");
        drop(gone);
        let answer = ask(running.connect().await, &Request::Schema, &mut Watch::quiet()).await;
        answer.expect("answered");
        drop((silent, rude));
        running.end().await;
    }

    #[tokio::test]
    async fn a_server_that_is_full_says_so_and_recovers() {
        let running = running().await;
        let mut idle = Vec::new();
        for _ in 0..16 {
            idle.push(running.connect().await);
        }
        let refused = ask(running.connect().await, &Request::Schema, &mut Watch::quiet()).await;
        let refused = refused.expect_err("full").to_string();
        assert!(refused.contains("try again"), "{refused}");
        drop(idle);
        let mut answered = false;
        for _ in 0..100 {
            let again = ask(running.connect().await, &Request::Schema, &mut Watch::quiet()).await;
            answered |= again.is_ok();
            if answered {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert!(answered);
        running.end().await;
    }
}
