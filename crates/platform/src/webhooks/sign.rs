//! Signatures of deliveries.

use crate::secret::{hex, hmac, same_text};

/// The header a delivery carries its signature in.
pub const SIGNATURE_HEADER: &str = "Ostrakon-Signature";

/// The header's value for a body sent at `seconds`.
#[must_use]
pub fn sign(secret: &str, seconds: u64, body: &str) -> String {
    format!("t={seconds},v1={}", digest(secret, seconds, body))
}

/// Whether a header belongs to a body, and was made at most `tolerance` seconds before or after
/// `now`: what a receiver does, here for tests and as an example.
#[must_use]
pub fn verify(secret: &str, header: &str, body: &str, now: u64, tolerance: u64) -> bool {
    let Some((time, signature)) = header.strip_prefix("t=").and_then(|h| h.split_once(",v1="))
    else {
        return false;
    };
    let Ok(seconds) = time.parse::<u64>() else { return false };
    now.abs_diff(seconds) <= tolerance && same_text(&digest(secret, seconds, body), signature)
}

fn digest(secret: &str, seconds: u64, body: &str) -> String {
    let time = seconds.to_string();
    hex(&hmac(secret.as_bytes(), &[time.as_bytes(), b".", body.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_body_time_and_secret_only() {
        let header = sign("secret", 1000, "{}");
        assert!(header.starts_with("t=1000,v1="));
        assert!(verify("secret", &header, "{}", 1100, 300));
        assert!(!verify("secret", &header, "{ }", 1100, 300));
        assert!(!verify("other", &header, "{}", 1100, 300));
        assert!(!verify("secret", &header, "{}", 1400, 300), "too old");
        assert!(!verify("secret", &header.replace("1000", "1050"), "{}", 1100, 300));
        for wrong in ["", "t=", "v1=", "t=1000", "t=x,v1=y", "t=1000,v1="] {
            assert!(!verify("secret", wrong, "{}", 1000, 300), "{wrong}");
        }
    }
}
