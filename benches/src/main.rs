//! `cargo xtask bench NAME`: side by side with peers, in one run, as ratios.

mod measure;
mod store_bench;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.as_str() {
        "store" => store_bench::run(),
        _ => bail!("there is no bench {name:?}; benches: store"),
    }
}
