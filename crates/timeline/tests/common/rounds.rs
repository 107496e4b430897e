//! Many worlds, one after the other, and what must have happened in them.

use store::conformance::seed;

use super::actors::{Counts, World};

/// Makes `checks` checks in worlds of `each`: a world's chain stays short while its hidden past
/// grows, and a fresh one brings other dice. What comes with a world lives as long as it does.
pub(crate) fn rounds<G>(
    name: &str,
    checks: u64,
    each: u64,
    world: impl Fn(u64) -> (World, G),
) -> Counts {
    let first = seed(name);
    let mut sum = Counts::default();
    for round in 0..checks.div_ceil(each) {
        let (world, _guard) = world(first.wrapping_add(round));
        match world.run(each) {
            Ok(counts) => sum.add(counts),
            Err(torn) => panic!("OSTRAKON_SEED={}: {torn}", first.wrapping_add(round)),
        }
        if (round + 1) % 40 == 0 {
            println!("{name}: {} of {checks} checks", sum.checks);
        }
    }
    println!("{name}: {sum:?}");
    sum
}

impl Counts {
    /// A run in which too little happened proves nothing.
    pub(crate) fn expect_all(&self) {
        assert!(self.reorganisations > 0 && self.crashes > 0 && self.lost > 0, "{self:?}");
        assert!(self.swept > 0 && self.publishes > self.reorganisations, "{self:?}");
    }
}
