//! A tmpfs is full when it should be, and gone when its owner is.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use parts::{Tmpfs, require, wait_until};

/// Set in the process that the last test kills.
const ROLE: &str = "PARTS_TEST_OWNER";

fn mounted(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/mounts").expect("mounts");
    mounts.lines().any(|line| line.split(' ').nth(1) == path.to_str())
}

#[test]
fn it_fills_up_and_is_unmounted() {
    let Some(disk) = require(Tmpfs::mount(1 << 20)) else { return };
    let path = disk.path().to_owned();
    assert!(mounted(&path));
    let error = fs::write(path.join("big"), vec![7; 2 << 20]).expect_err("it is full");
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    fs::write(path.join("big"), vec![7; 1 << 19]).expect("half of it fits");
    drop(disk);
    assert!(!mounted(&path) && !path.exists());
}

#[test]
fn an_open_file_does_not_keep_it_mounted() {
    let Some(disk) = require(Tmpfs::mount(1 << 20)) else { return };
    let path = disk.path().to_owned();
    let _open = fs::File::create(path.join("open")).expect("made");
    drop(disk);
    assert!(!mounted(&path));
}

#[test]
fn kill_9_of_the_owner_unmounts_it() {
    let Some(_) = require(Tmpfs::mount(1 << 20)) else { return };
    let mut owner = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "owner_that_is_killed", "--nocapture"])
        .env(ROLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(owner.stdout.take().expect("piped")).lines();
    let path = lines
        .map(|line| line.expect("text"))
        .find_map(|line| line.split_once("mounted ").map(|(_, path)| PathBuf::from(path)))
        .expect("the owner speaks");
    assert!(mounted(&path));
    owner.kill().expect("killed with -9");
    owner.wait().expect("dead");
    wait_until("it is unmounted and removed", Duration::from_secs(10), || {
        if mounted(&path) || path.exists() { Err("it is there") } else { Ok(()) }
    })
    .expect("gone");
}

/// Not a test of its own: the process that the test above starts and kills.
#[test]
fn owner_that_is_killed() {
    if std::env::var_os(ROLE).is_some() {
        let disk = Tmpfs::mount(1 << 20).expect("mounted");
        println!("mounted {}", disk.path().display());
        std::thread::sleep(Duration::from_secs(60));
    }
}
