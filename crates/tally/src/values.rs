//! A small vector of amounts, and arithmetic on it that never wraps.

use serde::{Deserialize, Serialize};

use crate::{LimitError, limits};

/// The values of an entry or of a sum, at most [`limits::VALUES`] of them.
///
/// A column that is not there is zero, and zeros at the end are not kept: `[1, 0]` equals `[1]`, so
/// a service may add a column later without touching what was counted before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Values(Vec<i128>);

impl Values {
    /// Values from a slice.
    ///
    /// # Errors
    /// When there are too many.
    pub fn new(values: &[i128]) -> Result<Self, LimitError> {
        LimitError::check("the number of values", values.len(), 0, limits::VALUES)?;
        Ok(Self(values.to_vec()).trimmed())
    }

    /// The value of a column; zero where there is none.
    #[must_use]
    pub fn get(&self, column: usize) -> i128 {
        self.0.get(column).copied().unwrap_or_default()
    }

    /// The columns up to the last one that is not zero.
    #[must_use]
    pub fn as_slice(&self) -> &[i128] {
        &self.0
    }

    /// These values with `old` taken out and `new` put in, or the column that would overflow.
    pub(crate) fn replace(&self, old: &Self, new: &Self) -> Result<Self, usize> {
        let columns = self.0.len().max(old.0.len()).max(new.0.len());
        let mut values = Vec::with_capacity(columns);
        for column in 0..columns {
            let (sum, old, new) = (self.get(column), old.get(column), new.get(column));
            // When the result fits, one of the two orders gets there without overflowing.
            let out_first = sum.checked_sub(old).and_then(|rest| rest.checked_add(new));
            let in_first = || sum.checked_add(new).and_then(|more| more.checked_sub(old));
            values.push(out_first.or_else(in_first).ok_or(column)?);
        }
        Ok(Self(values).trimmed())
    }

    /// The sum of both, or the column that would overflow.
    pub(crate) fn plus(&self, other: &Self) -> Result<Self, usize> {
        self.replace(&Self::default(), other)
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: i128 = i128::MAX;
    const MIN: i128 = i128::MIN;

    fn of(values: &[i128]) -> Values {
        Values::new(values).expect("few enough")
    }

    fn check(sum: &[i128], old: &[i128], new: &[i128], expected: Result<&[i128], usize>) {
        assert_eq!(
            of(sum).replace(&of(old), &of(new)),
            expected.map(of),
            "{sum:?} {old:?} {new:?}"
        );
    }

    #[test]
    fn one_value_replaces_another_in_a_sum() {
        check(&[], &[], &[5], Ok(&[5]));
        check(&[5, 1], &[5], &[7], Ok(&[7, 1]));
        check(&[5, 1], &[0, 1], &[], Ok(&[5]));
        check(&[5], &[], &[0, 0, 9], Ok(&[5, 0, 9]));
    }

    #[test]
    fn only_a_result_that_does_not_fit_is_an_overflow() {
        check(&[MAX], &[], &[1], Err(0));
        check(&[0, MIN], &[], &[0, -1], Err(1));
        check(&[MAX], &[-1], &[-1], Ok(&[MAX]));
        check(&[MIN], &[1], &[1], Ok(&[MIN]));
        check(&[MAX], &[1], &[2], Err(0));
        check(&[-1], &[MAX], &[MAX], Ok(&[-1]));
    }

    #[test]
    fn zeros_at_the_end_do_not_count() {
        assert_eq!(of(&[1, 0]), of(&[1]));
        assert_eq!(of(&[0, 0]), Values::default());
        assert_eq!(of(&[1]).get(7), 0);
        assert!(Values::new(&[0; limits::VALUES + 1]).is_err());
    }
}
