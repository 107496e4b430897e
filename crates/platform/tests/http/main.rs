//! The shell from outside: routed in the process, and over real sockets.

mod common;
mod document;
mod events;
mod refusals;
mod shell;
mod sockets;
mod who;
