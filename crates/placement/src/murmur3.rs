//! The partitioner of Cassandra and ScyllaDB.

/// The token Cassandra's `Murmur3Partitioner` gives a partition key.
///
/// This is the first half of MurmurHash3 x64 128 with two quirks that are part of the protocol:
/// tail bytes are sign-extended, and `i64::MIN` is replaced by `i64::MAX`.
#[must_use]
pub fn token(key: &[u8]) -> i64 {
    const C1: i64 = 0x87c3_7b91_1142_53d5_u64 as i64;
    const C2: i64 = 0x4cf5_ad43_2745_937f_u64 as i64;
    let (mut h1, mut h2) = (0i64, 0i64);
    let mut blocks = key.chunks_exact(16);
    for block in &mut blocks {
        let (low, high) = block.split_at(8);
        let k1 = i64::from_le_bytes(low.try_into().unwrap_or_default());
        let k2 = i64::from_le_bytes(high.try_into().unwrap_or_default());
        h1 ^= k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (mut k1, mut k2) = (0i64, 0i64);
    for (i, &byte) in blocks.remainder().iter().enumerate() {
        let signed = i64::from(byte as i8);
        if i < 8 { k1 ^= signed << (8 * i) } else { k2 ^= signed << (8 * (i - 8)) }
    }
    h2 ^= k2.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    h1 ^= k1.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let length = key.len() as i64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = mix(h1).wrapping_add(mix(h2));
    if h1 == i64::MIN { i64::MAX } else { h1 }
}

fn mix(value: i64) -> i64 {
    let mut k = value as u64;
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (k ^ (k >> 33)) as i64
}

#[cfg(test)]
mod tests {
    use super::token;

    /// Tokens that `SELECT token(key)` gives on a real cluster.
    #[test]
    fn tokens_are_those_of_cassandra() {
        for (key, expected) in [
            ("test", -6_017_608_668_500_074_083),
            ("xd", 4_507_812_186_440_344_727),
            ("primary_key", -1_632_642_444_691_073_360),
            ("kremówki", 4_354_931_215_268_080_151),
        ] {
            assert_eq!(token(key.as_bytes()), expected, "{key}");
        }
    }
}
