//! Sockets in the data directory: who may use them, and where their paths are too long.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tokio::net::{UnixListener, UnixStream};

const ADMIN: &str = "admin.sock";
/// Where processes that do not hold an embedded store reach the one that does.
pub(crate) const STORE: &str = "store.sock";
/// What every system takes; Linux takes 107, others 103.
const PATH_BYTES: usize = 100;

/// The file of a socket that listens; it goes away with this.
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A socket that stays behind is replaced at the next start.
        let _ = fs::remove_file(&self.0);
    }
}

/// Listens at `name` in `directory`, for this user only. Whoever calls it has the directory's lock.
pub(crate) fn listen(
    directory: &Path,
    name: &'static str,
) -> anyhow::Result<(UnixListener, SocketFile)> {
    let path = directory.join(name);
    let listener = bind(directory, name, &path)
        .with_context(|| format!("the socket {} cannot be made", path.display()))?;
    Ok((listener, SocketFile(path)))
}

/// The admin socket. While it lives the directory is locked.
pub(crate) struct AdminSocket {
    /// Where clients come in.
    pub(crate) listener: UnixListener,
    _file: SocketFile,
    _directory: File,
}

impl AdminSocket {
    /// Listens in `directory`, for which it is locked: rows in a cluster are held by nobody, but
    /// one directory serves one server. So whatever socket stands there was left by a process that
    /// is gone, and is replaced.
    pub(crate) fn bind(directory: &Path) -> anyhow::Result<Self> {
        let cannot = || format!("{} cannot be locked", directory.display());
        let locked = File::open(directory).with_context(cannot)?;
        match locked.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => anyhow::bail!(
                "a server already runs in {}; stop it, or give this one a directory of its own \
                 with --data",
                directory.display()
            ),
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
        }
        let (listener, file) = listen(directory, ADMIN)?;
        Ok(Self { listener, _file: file, _directory: locked })
    }
}

/// Binds in a private directory first: nobody else can reach the socket before its mode is set.
fn bind(directory: &Path, name: &str, path: &Path) -> anyhow::Result<UnixListener> {
    let private = directory.join(".socket");
    match fs::remove_dir_all(&private) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    fs::DirBuilder::new().mode(0o700).create(&private)?;
    let listener = short(&private, name, |short| UnixListener::bind(short))?;
    let made = private.join(name);
    fs::set_permissions(&made, Permissions::from_mode(0o600))?;
    fs::rename(&made, path)?;
    fs::remove_dir(&private)?;
    Ok(listener)
}

/// Reaches the server that holds the store in `directory`; none when nobody listens there.
pub(crate) async fn connect(directory: &Path) -> anyhow::Result<Option<UnixStream>> {
    let path = directory.join(ADMIN);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    // The directory must stay open until the connection stands.
    let stream = short(directory, ADMIN, |short| {
        let stream = std::os::unix::net::UnixStream::connect(short)?;
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream)
    });
    match stream {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            // Left by a process that was killed.
            Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(None),
            Some(io::ErrorKind::PermissionDenied) => {
                let what = "belongs to another user; run this command as the server's user";
                Err(anyhow::anyhow!("{} {what}", path.display()))
            }
            _ => Err(error.context(format!("{} cannot be reached", path.display()))),
        },
    }
}

/// Calls `with` with a path of the socket in `directory` that is short enough for the system: a
/// path through an open directory where the plain one is too long.
fn short<T>(
    directory: &Path,
    name: &str,
    with: impl FnOnce(&Path) -> io::Result<T>,
) -> anyhow::Result<T> {
    let plain = directory.join(name);
    if plain.as_os_str().len() <= PATH_BYTES {
        return Ok(with(&plain)?);
    }
    let opened = File::open(directory)?;
    let through = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
    if !through.exists() {
        anyhow::bail!(
            "{} is longer than the {PATH_BYTES} bytes a socket's path may have; move the data to a \
             directory with a shorter path",
            plain.display()
        );
    }
    Ok(with(&through.join(name))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn can_talk(directory: &Path) -> bool {
        let socket = AdminSocket::bind(directory).expect("bound");
        let client = connect(directory).await.expect("no error");
        client.is_some() && socket.listener.accept().await.is_ok()
    }

    #[tokio::test]
    async fn only_its_owner_may_use_the_socket_and_it_goes_away() {
        let dir = tempfile::tempdir().expect("a directory");
        let socket = AdminSocket::bind(dir.path()).expect("bound");
        let mode = fs::metadata(dir.path().join(ADMIN)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 1);
        drop(socket);
        assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 0);
        assert!(connect(dir.path()).await.expect("no error").is_none());
    }

    #[tokio::test]
    async fn a_directory_serves_one_server() {
        let dir = tempfile::tempdir().expect("a directory");
        let first = AdminSocket::bind(dir.path()).expect("bound");
        let error = AdminSocket::bind(dir.path()).err().expect("refused").to_string();
        assert!(error.contains("--data"), "{error}");
        assert!(connect(dir.path()).await.expect("no error").is_some(), "not disturbed");
        drop(first);
        AdminSocket::bind(dir.path()).expect("free again");
    }

    #[tokio::test]
    async fn a_socket_that_a_killed_process_left_is_nobody_and_is_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let left = std::os::unix::net::UnixListener::bind(dir.path().join(ADMIN)).expect("bound");
        drop(left);
        fs::create_dir(dir.path().join(".admin")).expect("left in the middle of a start");
        assert!(connect(dir.path()).await.expect("no error").is_none());
        assert!(can_talk(dir.path()).await);
    }

    #[tokio::test]
    async fn a_path_longer_than_a_socket_may_have_works_too() {
        let dir = tempfile::tempdir().expect("a directory");
        let deep = dir.path().join("a".repeat(120)).join("b".repeat(120));
        fs::create_dir_all(&deep).expect("made");
        assert!(can_talk(&deep).await);
    }
}
