//! Events as messages of Babylon's queue, with transactions of the real shape and size.
//!
//! Everything that an [`Event`] does not tell (signatures, heights, the other transaction) follows
//! from its hash, so a message that comes again is the same byte for byte.

use serde_json::json;

use super::events::{Event, State, hex};

/// Blocks of Bitcoin: about 15 months.
const TIMELOCK: u16 = 64_000;
const UNBONDING_TIMELOCK: u16 = 1_008;
const FEE: i64 = 10_000;
const FIRST_HEIGHT: u64 = 857_910;
const FIRST_TIME: u64 = 1_724_342_400;

/// The message of an event: type 1 for a delegation that is active, type 2 for one that unbonds.
pub(crate) fn message(event: &Event) -> String {
    match event.state {
        State::Active => active(event),
        State::Unbonded => unbonding(event),
    }
}

fn active(event: &Event) -> String {
    let mut rng = rng(event);
    let (height, time) = begun(&mut rng);
    json!({
        "schema_version": 0,
        "event_type": 1,
        "staking_tx_hash_hex": event.hash,
        "staker_pk_hex": event.staker,
        "finality_provider_pk_hex": event.provider,
        "staking_value": event.value,
        "staking_start_height": height,
        "staking_start_timestamp": time,
        "staking_timelock": TIMELOCK,
        "staking_output_index": 0,
        "staking_tx_hex": staking_transaction(event, &mut rng),
        "is_overflow": false,
    })
    .to_string()
}

fn unbonding(event: &Event) -> String {
    let mut rng = rng(event);
    let (height, time) = begun(&mut rng);
    let later = rng.u64(1..u64::from(TIMELOCK));
    json!({
        "schema_version": 0,
        "event_type": 2,
        "staking_tx_hash_hex": event.hash,
        "unbonding_start_height": height + later,
        "unbonding_start_timestamp": time + 600 * later,
        "unbonding_timelock": UNBONDING_TIMELOCK,
        "unbonding_output_index": 0,
        "unbonding_tx_hex": unbonding_transaction(event, &mut rng),
        "unbonding_tx_hash_hex": hex(random(&mut rng, 32)),
    })
    .to_string()
}

fn rng(event: &Event) -> fastrand::Rng {
    let digits = event.hash.get(..16).unwrap_or_default();
    fastrand::Rng::with_seed(u64::from_str_radix(digits, 16).unwrap_or_default())
}

fn random(rng: &mut fastrand::Rng, count: usize) -> Vec<u8> {
    std::iter::repeat_with(|| rng.u8(..)).take(count).collect()
}

/// The height and the time at which a delegation began.
fn begun(rng: &mut fastrand::Rng) -> (u64, u64) {
    let blocks = rng.u64(0..2_000);
    (FIRST_HEIGHT + blocks, FIRST_TIME + 600 * blocks)
}

/// The bytes of a transaction, written in hexadecimal as they are added.
struct Transaction(String);

impl Transaction {
    /// Version 2, with witnesses.
    fn begin(inputs: u8) -> Self {
        let mut begun = Self(String::with_capacity(1_200));
        begun.bytes([2, 0, 0, 0, 0, 1, inputs]);
        begun
    }

    fn bytes(&mut self, bytes: impl IntoIterator<Item = u8>) {
        self.0.push_str(&hex(bytes));
    }

    /// Spends an output of the transaction with this hash; hashes stand backwards in there.
    fn input(&mut self, hash: &str, output: u32) {
        let pairs = (0..hash.len() / 2).rev();
        self.0.extend(pairs.filter_map(|pair| hash.get(2 * pair..2 * pair + 2)));
        self.bytes(output.to_le_bytes());
        self.bytes([0, 0xff, 0xff, 0xff, 0xff]);
    }

    /// Pays to a script that begins with two operations and ends with random bytes.
    fn output(&mut self, rng: &mut fastrand::Rng, value: i64, script: [u8; 2], rest: usize) {
        self.bytes(value.to_le_bytes());
        self.bytes([u8::try_from(2 + rest).unwrap_or(u8::MAX)]);
        self.bytes(script);
        self.bytes(random(rng, rest));
    }

    /// An item of a witness.
    fn item(&mut self, rng: &mut fastrand::Rng, length: u8) {
        self.bytes([length]);
        self.bytes(random(rng, length.into()));
    }

    fn end(mut self) -> String {
        self.bytes([0; 4]);
        self.0
    }
}

/// Inputs with a signature each; the stake, the data that names staker and provider, the change.
fn staking_transaction(event: &Event, rng: &mut fastrand::Rng) -> String {
    let inputs = rng.u8(1..=2);
    let mut made = Transaction::begin(inputs);
    for _ in 0..inputs {
        let spent = hex(random(rng, 32));
        made.input(&spent, rng.u32(0..4));
    }
    made.bytes([3]);
    made.output(rng, event.value, [0x51, 0x20], 32);
    made.bytes([0; 8]);
    // A mark, a version, both keys and the timelock: 71 bytes behind OP_RETURN.
    made.bytes([0x49, 0x6a, 0x47]);
    made.bytes(*b"bbn1\0");
    made.0.push_str(&event.staker);
    made.0.push_str(&event.provider);
    made.bytes(TIMELOCK.to_be_bytes());
    let change = rng.i64(1_000..100_000_000);
    made.output(rng, change, [0x00, 0x14], 20);
    for _ in 0..inputs {
        made.bytes([2]);
        made.item(rng, 71);
        made.item(rng, 33);
    }
    made.end()
}

/// The stake moves to another script; signatures, the script and its proof are the witness.
fn unbonding_transaction(event: &Event, rng: &mut fastrand::Rng) -> String {
    let mut made = Transaction::begin(1);
    made.input(&event.hash, 0);
    made.bytes([1]);
    made.output(rng, event.value - FEE, [0x51, 0x20], 32);
    made.bytes([4]);
    for length in [64, 64, 206, 65] {
        made.item(rng, length);
    }
    made.end()
}

#[cfg(test)]
mod tests {
    use super::super::events::events;
    use super::*;
    use serde_json::Value;

    #[test]
    fn messages_are_of_the_real_shape_and_size() {
        let told = events(5, 500);
        let (mut digits, mut transactions) = (0, 0);
        for event in &told {
            let text = message(event);
            assert_eq!(text, message(event), "one that comes again is the same");
            let found: Value = serde_json::from_str(&text).expect("it is JSON");
            assert_eq!(found["staking_tx_hash_hex"], event.hash);
            let (number, field) = match event.state {
                State::Active => (1, "staking_tx_hex"),
                State::Unbonded => (2, "unbonding_tx_hex"),
            };
            assert_eq!(found["event_type"], number);
            let transaction = found[field].as_str().expect("a text");
            assert!(transaction.len().is_multiple_of(2) && transaction.starts_with("0200000000"));
            if event.state == State::Active {
                (digits, transactions) = (digits + transaction.len(), transactions + 1);
                assert!(transaction.contains(&format!("{}{}", event.staker, event.provider)));
                assert_eq!(found["staking_value"], event.value);
            }
        }
        assert!((380..420).contains(&(digits / 2 / transactions)), "{digits} {transactions}");
    }
}
