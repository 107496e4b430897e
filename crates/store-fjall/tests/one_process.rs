//! One directory, one process: the second is told who has it.

mod common;

use common::{
    ROWS, Writing, child_duty, expect_rows, open, options, rows, says, schema, store, tell,
};
use store_fjall::{FjallEngine, OpenError};

/// Not a test: the child's part of the test below.
#[test]
fn child() {
    let Some((directory, seed)) = child_duty() else { return };
    if seed == 1 {
        let error = FjallEngine::open(&options(directory), &schema()).expect_err("is held");
        return tell(format_args!("{error}"));
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let engine = open(directory);
        store(&engine).put(rows(&ROWS, 1, 0..100)).await.expect("is written");
        tell(format_args!("open"));
        std::future::pending::<()>().await;
    });
}

#[tokio::test]
async fn a_second_process_is_told_the_first_and_opens_after_it_was_killed() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut first = Writing::start("child", directory.path(), 0);
    assert_eq!(first.next_line().as_deref(), Some("open"));
    let path = directory.path().to_str().expect("text").to_owned();
    for _ in 0..3 {
        let error = FjallEngine::open(&options(directory.path()), &schema()).expect_err("is held");
        assert!(matches!(error, OpenError::Held { .. }), "{error}");
        says(&error, &[&path, &format!("process {}", first.id()), "stop", "admin socket"]);
    }
    first.kill();
    let engine = open(directory.path());
    expect_rows(&store(&engine), &ROWS, 1, 0..100).await;

    // Now the other way round: this process has it, and a child is told so.
    let mut second = Writing::start("child", directory.path(), 1);
    let told = second.next_line().expect("an error");
    says(&told, &[&format!("process {}", std::process::id())]);
    assert!(second.ends_well());
    expect_rows(&store(&engine), &ROWS, 1, 0..100).await;
}

#[tokio::test]
async fn one_process_cannot_open_a_directory_twice_at_one_time() {
    let directory = tempfile::tempdir().expect("a directory");
    for _ in 0..3 {
        let engine = open(directory.path());
        let error = FjallEngine::open(&options(directory.path()), &schema()).expect_err("is held");
        says(&error, &[&format!("process {}", std::process::id())]);
        // Whoever is refused takes nothing away from the one who has it.
        store(&engine).put(rows(&ROWS, 1, 0..10)).await.expect("is written");
    }
}
