//! `cargo xtask bench NAME`: side by side with peers, in one run, as ratios.

mod cluster_bench;
mod kernel_bench;
mod measure;
mod scan_bench;
mod staking_bench;
mod store_bench;

use anyhow::bail;

/// As in the program that is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.as_str() {
        "cluster" => cluster_bench::run(),
        "kernel" => kernel_bench::run(),
        "scan" => scan_bench::run(),
        "staking" => staking_bench::run(),
        "store" => store_bench::run(),
        _ => bail!("there is no bench {name:?}; benches: cluster, kernel, scan, staking, store"),
    }
}
