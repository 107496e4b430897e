//! Patterns of KEYS and MATCH.

/// Tries one text may cost: patterns such as `a*a*a*b` would else take for ever.
const MOST_STEPS: u32 = 100_000;

/// Whether a text fits a pattern: `*`, `?`, `[a-z]`, `[^a]`, and a backslash before what is meant
/// literally. A pattern that takes too many tries fits nothing.
pub(crate) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let mut steps = MOST_STEPS;
    fits(pattern, text, &mut steps).unwrap_or(false)
}

/// None when it took too many steps.
fn fits(mut pattern: &[u8], mut text: &[u8], steps: &mut u32) -> Option<bool> {
    loop {
        *steps = steps.checked_sub(1)?;
        let (first, rest) = match pattern {
            [] => return Some(text.is_empty()),
            [b'*', rest @ ..] => {
                let rest = skip_stars(rest);
                if rest.is_empty() {
                    return Some(true);
                }
                for at in 0..=text.len() {
                    if fits(rest, text.get(at..).unwrap_or_default(), steps)? {
                        return Some(true);
                    }
                }
                return Some(false);
            }
            [first, rest @ ..] => (*first, rest),
        };
        let [head, tail @ ..] = text else { return Some(false) };
        let (good, after) = match (first, rest) {
            (b'?', rest) => (true, rest),
            (b'[', rest) => class(rest, *head),
            (b'\\', [literal, after @ ..]) => (literal == head, after),
            (literal, rest) => (literal == *head, rest),
        };
        if !good {
            return Some(false);
        }
        (pattern, text) = (after, tail);
    }
}

fn skip_stars(mut pattern: &[u8]) -> &[u8] {
    while let [b'*', rest @ ..] = pattern {
        pattern = rest;
    }
    pattern
}

/// Whether a byte is in the class that begins here, and what follows it.
fn class(pattern: &[u8], byte: u8) -> (bool, &[u8]) {
    let (negated, mut pattern) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut found = false;
    loop {
        pattern = match pattern {
            // A class that is not closed ends with the pattern, as in Redis.
            [] => return (found != negated, pattern),
            [b']', rest @ ..] => return (found != negated, rest),
            [b'\\', literal, rest @ ..] => {
                found |= *literal == byte;
                rest
            }
            [low, b'-', high, rest @ ..] => {
                found |= (*low.min(high)..=*low.max(high)).contains(&byte);
                rest
            }
            [literal, rest @ ..] => {
                found |= *literal == byte;
                rest
            }
        };
    }
}

/// The text that all matches begin with, and whether it is the whole pattern.
pub(crate) fn literal_prefix(pattern: &[u8]) -> (Vec<u8>, bool) {
    let mut prefix = Vec::new();
    let mut rest = pattern;
    loop {
        rest = match rest {
            [] => return (prefix, true),
            [b'*' | b'?' | b'[', ..] => return (prefix, false),
            [b'\\', literal, rest @ ..] => {
                prefix.push(*literal);
                rest
            }
            [literal, rest @ ..] => {
                prefix.push(*literal);
                rest
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_what_redis_says_they_fit() {
        let fit = [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("a?c", "abc"),
            ("a*c", "abbc"),
            ("**c", "abc"),
            ("[a-c]x", "bx"),
            ("[c-a]x", "bx"),
            ("[^a]x", "bx"),
            ("[\\]]", "]"),
            ("\\*", "*"),
            ("epoch:*", "epoch:12"),
            ("[ab", "a"),
            ("\\", "\\"),
        ];
        for (pattern, text) in fit {
            assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        let unfit = [("a", ""), ("", "a"), ("a?", "a"), ("[^a]", "a"), ("\\*", "a"), ("*b", "a")];
        for (pattern, text) in unfit {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_made_to_be_slow_is_given_up() {
        let text = vec![b'a'; 500];
        assert!(!matches(b"a*a*a*a*a*a*a*a*a*b", &text));
    }

    #[test]
    fn the_literal_beginning_of_a_pattern_is_known() {
        let check = |pattern: &str, prefix: &str, whole| {
            assert_eq!(literal_prefix(pattern.as_bytes()), (prefix.into(), whole), "{pattern}");
        };
        check("miners", "miners", true);
        check("epoch:*", "epoch:", false);
        check("a\\*b", "a*b", true);
        check("[ab]", "", false);
    }
}
