//! What paper 001's formula does over the years: exact arithmetic, nothing simulated.

use serde::{Deserialize, Serialize};

use super::calendar;
use crate::{paper_shard, stats};

/// The formula over a span of years.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormulaFacts {
    /// First year of the span.
    pub first_year: u16,
    /// Last year of the span.
    pub last_year: u16,
    /// Months in the span.
    pub months: u32,
    /// Different values the formula takes.
    pub distinct: u32,
    /// The greatest number that divides every value.
    pub common_divisor: u32,
    /// Share of the steps from a month to the next that go up.
    pub steps_up: f64,
    /// Rank correlation with time over the whole span.
    pub correlation: f64,
    /// Rank correlation with time inside each decade, where a cluster lives.
    pub decades: Vec<SpanCorrelation>,
}

/// How closely the formula follows time inside some years.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpanCorrelation {
    /// First year.
    pub from: u16,
    /// Last year.
    pub to: u16,
    /// Spearman's rank correlation; MongoDB calls 0.7 monotonic.
    pub correlation: f64,
}

impl FormulaFacts {
    /// The facts of the years `first_year` to `last_year`.
    #[must_use]
    pub fn of(first_year: u16, last_year: u16) -> Self {
        let values = values(first_year, last_year);
        let mut distinct = values.clone();
        distinct.sort_unstable();
        distinct.dedup();
        Self {
            first_year,
            last_year,
            months: values.len() as u32,
            distinct: distinct.len() as u32,
            common_divisor: distinct.iter().copied().fold(0, greatest_common_divisor),
            steps_up: stats::steps_up(&values),
            correlation: correlation(&values),
            decades: decades(first_year, last_year),
        }
    }
}

fn values(first_year: u16, last_year: u16) -> Vec<u32> {
    calendar::months(first_year, last_year).map(paper_shard).collect()
}

fn correlation(values: &[u32]) -> f64 {
    let pairs: Vec<_> = values.iter().enumerate().collect();
    stats::rank_correlation(&pairs)
}

fn decades(first_year: u16, last_year: u16) -> Vec<SpanCorrelation> {
    let spans = (first_year / 10..=last_year / 10).map(|decade| {
        let from = first_year.max(decade * 10);
        (from, last_year.min(decade * 10 + 9))
    });
    spans
        .map(|(from, to)| SpanCorrelation { from, to, correlation: correlation(&values(from, to)) })
        .collect()
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_has_80_values_all_multiples_of_three() {
        let facts = FormulaFacts::of(2015, 2035);
        assert_eq!((facts.months, facts.distinct, facts.common_divisor), (252, 80, 3));
    }

    #[test]
    fn the_formula_climbs_with_time() {
        let facts = FormulaFacts::of(2015, 2035);
        assert!((facts.steps_up - 231.0 / 251.0).abs() < 1e-9, "{}", facts.steps_up);
        let twenties = facts.decades.iter().find(|span| span.from == 2020).expect("a decade");
        assert_eq!(twenties.to, 2029);
        assert!((twenties.correlation - 0.733).abs() < 0.001, "{}", twenties.correlation);
    }

    /// Only over the whole span does the formula look harmless: it restarts with each decade.
    #[test]
    fn the_whole_span_hides_the_climb() {
        let facts = FormulaFacts::of(2015, 2035);
        assert!((facts.correlation - 0.168).abs() < 0.001, "{}", facts.correlation);
    }
}
