//! Charts over the latest blocks, from sums that stand on every row.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::html;
use platform::http::{Path, Query};
use scan::Sample;
use serde::Deserialize;
use web::{Across, Chart, format, power};

use super::page::{Page, Refused};
use crate::pages::kit::Visitor;
use crate::server::App;

/// How many of the latest blocks may be chosen.
const CHOICES: [u64; 3] = [1_000, 10_000, 100_000];
/// Rows that are read for any of them.
const POINTS: u64 = 121;

/// What is asked of the charts.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    blocks: Option<u64>,
    /// The language, which the visitor has read already.
    #[serde(default)]
    #[allow(dead_code, reason = "parameters that nobody names are refused")]
    lang: Option<String>,
}

/// A moment and its value.
type Point = (u64, f64);

/// The three curves.
#[derive(Debug, Default, PartialEq)]
struct Curves {
    tps: Vec<Point>,
    difficulty: Vec<Point>,
    block_time: Vec<Point>,
}

impl Curves {
    /// Of samples that stand in the order of blocks.
    fn new(samples: &[Sample]) -> Self {
        let mut curves = Self::default();
        let mut rest = samples.iter();
        let Some(mut before) = rest.next() else { return curves };
        for sample in rest {
            // Times are whole seconds, and blocks of one epoch need not stand in the order of
            // their times: a stretch without a time of its own joins the next one.
            let Some(seconds) = sample.timestamp.checked_sub(before.timestamp) else { continue };
            if seconds == 0 {
                continue;
            }
            let blocks = sample.order.saturating_sub(before.order).max(1) as f64;
            let packed = sample.transactions.saturating_sub(before.transactions) as f64;
            let difficulty = sample.difficulty.saturating_sub(before.difficulty) as f64;
            let at = sample.timestamp;
            curves.tps.push((at, packed / seconds as f64));
            curves.difficulty.push((at, difficulty / blocks));
            curves.block_time.push((at, seconds as f64 / blocks));
            before = sample;
        }
        curves
    }
}

pub(super) async fn page(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(chain): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    let page = Page::open(&app, visitor, &chain).await?;
    let words = page.words();
    let chosen = asked.blocks.unwrap_or(CHOICES[0]);
    if !CHOICES.contains(&chosen) {
        return Err(page.bad(words.bad_choice, words.bad_choice_advice));
    }
    let samples = page.scan().samples(POINTS, chosen).await?;
    let mut curves = Curves::new(&samples);
    let (unit, word) = power(&curves.difficulty);
    curves.difficulty.iter_mut().for_each(|point| point.1 /= unit);
    let difficulty = match word {
        "" => words.difficulty_chart.to_owned(),
        word => format!("{} ({word})", words.difficulty_chart),
    };
    let ends = (curves.tps.first(), curves.tps.last());
    let span = match ends {
        (Some(first), Some(last)) => (first.0, last.0),
        _ => (0, 1),
    };
    // Samples are evenly spaced in blocks, so no pause between them means that nobody measured.
    let (across, gap, none) = (Across::Time, u64::MAX, words.no_blocks);
    let chart = |title, points| Chart { title, points, across, span, gap, none };
    let content = html! {
        div.charts {
            (chart(words.tps_chart, curves.tps.as_slice()).line(format::short))
            (chart(&difficulty, curves.difficulty.as_slice()).line(format::short))
            (chart(words.block_time_chart, curves.block_time.as_slice()).line(format::short))
        }
        p.note { (words.charts_note) }
    };
    let content = html! {
        h1 { (words.charts) }
        nav.tabs.small aria-label=(words.last_blocks) {
            span { (words.last_blocks) }
            @for choice in CHOICES {
                @let here = (choice == chosen).then_some("page");
                a href={ (page.path("/charts")) "?blocks=" (choice) } aria-current=[here] {
                    (format::count(choice))
                }
            }
        }
        (page.live("charts", &content))
    };
    let here = asked.blocks.map_or("/charts".into(), |blocks| format!("/charts?blocks={blocks}"));
    page.answer(("/charts", &here), words.charts, &content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_made_of_differences_and_skips_what_has_no_time() {
        let sample = |order, timestamp, difficulty, transactions| Sample {
            order,
            timestamp,
            difficulty,
            transactions,
        };
        let samples = [
            sample(0, 100, 10, 0),
            sample(10, 100, 110, 7),
            sample(20, 110, 210, 20),
            sample(30, 105, 310, 30),
            sample(40, 120, 410, 60),
        ];
        let curves = Curves::new(&samples);
        assert_eq!(curves.tps, [(110, 2.0), (120, 4.0)]);
        assert_eq!(curves.difficulty, [(110, 10.0), (120, 10.0)]);
        assert_eq!(curves.block_time, [(110, 0.5), (120, 0.5)]);
        assert_eq!(Curves::new(&samples[..1]), Curves::default());
        assert_eq!(Curves::new(&[]), Curves::default());
    }
}
