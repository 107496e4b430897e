//! The one binary: command line, configuration, the running server and its pages.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `cli` | one file per command: arguments, help, what it prints |
//! | `config` | the configuration file, and what is wrong with it, by line |
//! | `demo` | what the demo shows: a chain that lives, an account with a project |
//! | `opening` | the only place that names an engine |
//! | `admin` | the commands themselves, in this process or through a running server's socket |
//! | `server` | everything that runs while a server runs, and how it ends |
//! | `services` | what a server does, all of it or parts |
//! | `system` | the tables of the platform itself: starts, samples, settings |
//! | `pages` | the pages, in the frame of `web` |
//!
//! A command never does its work itself: it builds a request, and [`admin::execute`] answers it, in
//! the server that holds the store or here. So both ways behave alike.

mod admin;
mod catalogue;
mod cli;
mod config;
mod demo;
mod failure;
mod generated;
mod log;
mod metrics;
mod opening;
mod pages;
mod server;
mod services;
mod shard_report;
mod system;

use std::process::ExitCode;

// Numbers look the same in terminal and page.
pub(crate) use web::format;

/// Rows are small and many, and are freed by other threads than those that made them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
