//! From what an observer kept to the figures of a report.

use super::observe::{Observer, Size};
use super::timeline::{Sighting, Timeline};
use super::{
    Balance, Cardinality, Heat, Monotonicity, PARTITION_BYTES, PARTITION_ROWS, PartitionSizes,
    QueryShares, Report, Spread, TopValue, Trend, TrendWindow, judge,
};
use crate::numbers::count;
use crate::{Node, Strategy, generated_tokens, keys_moved, stats};

/// Steps of a Lorenz curve: enough for a smooth line.
const LORENZ_STEPS: usize = 40;
/// Stretches of time for which monotonicity is given.
const TREND_WINDOWS: usize = 8;
/// With fewer partitions, a share of them says nothing about a strategy: whole partitions move.
const FEW_KEYS: usize = 1000;
const GENERATED_KEYS: u32 = 20_000;
/// Characters of a value that are shown.
const SHOWN: usize = 32;

pub(crate) fn build(observer: Observer) -> Report {
    let sizes: Vec<Size> = observer.partitions.kept().map(|(_, size)| *size).collect();
    let rows: Vec<u64> = sizes.iter().map(|size| size.rows).collect();
    let mut tokens: Vec<i64> =
        observer.partitions.kept().map(|(token, _)| token.cast_signed()).collect();
    tokens.sort_unstable();
    let joins_on_generated_keys = tokens.len() < FEW_KEYS;
    if joins_on_generated_keys {
        tokens = generated_tokens(GENERATED_KEYS);
    }
    let joins = Strategy::COMPARED
        .iter()
        .map(|strategy| keys_moved(*strategy, Observer::HEAT_NODES, &tokens))
        .collect();
    let mut report = Report {
        rows: observer.total.rows,
        bytes: observer.total.bytes,
        partitions: Cardinality {
            count: observer.partitions.distinct(),
            exact: observer.partitions.is_exact(),
        },
        values: Cardinality {
            count: observer.values.distinct(),
            exact: observer.values.is_exact(),
        },
        top: top(&observer),
        trend: trend(&observer.timeline),
        balance: balances(&observer),
        sizes: partition_sizes(&observer, &sizes),
        partition_gini: stats::gini(&rows),
        lorenz: stats::lorenz(&rows, LORENZ_STEPS),
        joins,
        joins_on_generated_keys,
        heat: heat(&observer),
        estimates: estimates(&observer),
        engine: None,
        verdicts: Vec::new(),
        queries: QueryShares::of(observer.facts.queries),
        table: observer.facts.name,
        placement: observer.facts.placement,
    };
    report.verdicts = judge::judge(&report);
    report
}

fn top(observer: &Observer) -> Vec<TopValue> {
    let missed = observer.top.missed();
    let mut heaviest = observer.top.top(observer.limits.top);
    // A count below its own error says nothing; the first is kept to bound all others.
    let telling = heaviest.iter().take_while(|(_, rows)| *rows > missed).count();
    heaviest.truncate(telling.max(1));
    let value = |(value, rows): (Vec<u8>, u64)| TopValue {
        value: shown(&value),
        rows,
        rows_at_most: rows + missed,
        share: stats::share(rows, observer.total.rows),
    };
    heaviest.into_iter().map(value).collect()
}

/// Text when all of it can be read, else hexadecimal; shortened, because a report is read by
/// people.
fn shown(value: &[u8]) -> String {
    let text = match std::str::from_utf8(value) {
        Ok(text) if !text.is_empty() && !text.chars().any(char::is_control) => text.to_owned(),
        _ => {
            let hex = |byte: &u8| format!("{byte:02x}");
            format!("0x{}", value.iter().map(hex).collect::<String>())
        }
    };
    let length = text.chars().count();
    if length <= SHOWN {
        return text;
    }
    // The middle goes: keys often begin alike, and differ at their end.
    let (head, tail) = (SHOWN / 2, SHOWN / 2 - 1);
    text.chars().take(head).chain(['…']).chain(text.chars().skip(length - tail)).collect()
}

fn monotonicity(sightings: &[Sighting]) -> Monotonicity {
    let pairs: Vec<_> = sightings.iter().map(|s| (s.position, &s.value)).collect();
    let values: Vec<_> = sightings.iter().map(|s| &s.value).collect();
    Monotonicity {
        correlation: stats::rank_correlation(&pairs),
        steps_up: stats::steps_up(&values),
        sampled: sightings.len() as u64,
    }
}

fn trend(timeline: &Timeline) -> Option<Trend> {
    let sightings = timeline.sightings();
    if sightings.is_empty() {
        return None;
    }
    let windows = timeline.grouped(TREND_WINDOWS).into_iter().filter_map(|group| {
        let (from, to) = (group.first()?.position, group.last()?.position);
        Some(TrendWindow { from, to, monotonicity: monotonicity(&group) })
    });
    Some(Trend { whole: monotonicity(&sightings), windows: windows.collect() })
}

fn balances(observer: &Observer) -> Vec<Balance> {
    let mut clusters = observer.limits.clusters.clone();
    clusters.retain(|nodes| (1..=256).contains(nodes));
    clusters.sort_unstable();
    clusters.dedup();
    clusters.into_iter().map(|nodes| balance(observer, nodes)).collect()
}

fn balance(observer: &Observer, nodes: u16) -> Balance {
    let owners = observer.ring.owners_among(nodes);
    let rows = per_node(&owners, nodes, observer.ranges.iter().map(|size| size.rows));
    let bytes = per_node(&owners, nodes, observer.ranges.iter().map(|size| size.bytes));
    Balance {
        nodes,
        max_over_mean: stats::max_over_mean(&rows),
        bytes_max_over_mean: stats::max_over_mean(&bytes),
        variation: stats::coefficient_of_variation(&rows),
        gini: stats::gini(&rows),
        empty: rows.iter().filter(|rows| **rows == 0).count() as u16,
        rows,
    }
}

fn per_node(owners: &[Node], nodes: u16, loads: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sums = vec![0; usize::from(nodes)];
    for (Node(owner), load) in owners.iter().zip(loads) {
        if let Some(sum) = sums.get_mut(usize::from(*owner)) {
            *sum += load;
        }
    }
    sums
}

fn partition_sizes(observer: &Observer, sizes: &[Size]) -> PartitionSizes {
    let over = |size: &&Size| size.rows > PARTITION_ROWS || size.bytes > PARTITION_BYTES;
    let spread = |of: fn(&Size) -> u64, heaviest: Vec<(i64, u64)>, missed: u64| {
        let mut sorted: Vec<u64> = sizes.iter().map(of).collect();
        sorted.sort_unstable();
        let kept = sorted.last().copied().unwrap_or(0);
        let counted = heaviest.first().map_or(0, |(_, count)| *count);
        let max = kept.max(counted);
        // With every partition kept there is nothing to bound: the largest is known.
        let exact = observer.partitions.is_exact();
        Spread {
            p50: stats::percentile(&sorted, 50),
            p99: stats::percentile(&sorted, 99),
            max,
            max_at_most: if exact { max } else { max.max(counted + missed) },
        }
    };
    let (rows, bytes) = (&observer.heavy_rows, &observer.heavy_bytes);
    PartitionSizes {
        rows: spread(|size| size.rows, rows.top(1), rows.missed()),
        bytes: spread(|size| size.bytes, bytes.top(1), bytes.missed()),
        share_over: stats::share(sizes.iter().filter(over).count() as u64, sizes.len() as u64),
    }
}

fn heat(observer: &Observer) -> Option<Heat> {
    let nodes = Observer::HEAT_NODES;
    let owners = observer.ring.owners_among(nodes);
    let width = observer.timeline.width();
    let first = observer.timeline.windows().next()?.0;
    let mut windows: Vec<Vec<u64>> = Vec::new();
    let (mut hottest, mut total) = (0, 0);
    for (start, window) in observer.timeline.windows() {
        let rows = per_node(&owners, nodes, window.rows.iter().copied());
        hottest += rows.iter().copied().max().unwrap_or(0);
        total += rows.iter().sum::<u64>();
        windows.resize(((start - first) / width) as usize, vec![0; usize::from(nodes)]);
        windows.push(rows);
    }
    Some(Heat { nodes, first, width, windows, hottest_share: stats::share(hottest, total) })
}

fn estimates(observer: &Observer) -> Vec<String> {
    let limits = &observer.limits;
    let mut notes = Vec::new();
    if !observer.partitions.is_exact() {
        notes.push(format!(
            "More than {} partitions: their number, sizes, Lorenz curve and moved keys come from a \
             uniform sample; the largest partition is bounded from below and above.",
            count(limits.sample as u64)
        ));
    }
    if !observer.values.is_exact() {
        notes.push(format!(
            "More than {} values: their number is an estimate.",
            count(limits.sample as u64)
        ));
    }
    if observer.top.missed() > 0 {
        notes.push(format!(
            "Only the heaviest {} values were counted: each count may lack up to {} rows.",
            count(limits.heaviest as u64),
            count(observer.top.missed())
        ));
    }
    if !observer.timeline.is_exact() {
        notes.push(format!(
            "Monotonicity rests on {} sampled rows.",
            count(limits.sightings as u64)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Limits, Observation, TableFacts};
    use crate::{Cluster, YearMonth, paper_shard, token};

    #[test]
    fn loads_per_node_are_those_of_the_cluster_itself() {
        let mut observer = Observer::new(TableFacts::default());
        let mut expected = vec![0u64; 12];
        let cluster = Cluster::new(Strategy::CASSANDRA, 12);
        for key in 0..3000u32 {
            let key = key.to_be_bytes();
            observer.observe(Observation::row(&key, 10));
            expected[usize::from(cluster.node_of(&key).0)] += 1;
        }
        let report = observer.finish();
        let balance = report.balance.iter().find(|b| b.nodes == 12).expect("12 nodes");
        assert_eq!(balance.rows, expected);
        assert_eq!(report.partitions, Cardinality { count: 3000, exact: true });
        assert_eq!(report.balance.iter().map(|b| b.nodes).collect::<Vec<_>>(), [3, 6, 12, 16, 32]);
    }

    /// The formula through the general machinery: the report finds what the arithmetic says.
    #[test]
    fn the_report_sees_the_formula_climb() {
        let mut observer = Observer::new(TableFacts::default());
        let months = (2020..2030).flat_map(|y| (1..=12).filter_map(move |m| YearMonth::new(y, m)));
        for (at, month) in months.enumerate() {
            let value = paper_shard(month).to_be_bytes();
            observer.observe(Observation {
                value: Some(&value),
                ..Observation::row(b"user", 1).at(at as u64)
            });
        }
        let trend = observer.finish().trend.expect("rows had positions");
        assert!((trend.whole.correlation - 0.733).abs() < 0.001, "{trend:?}");
        assert!(trend.whole.is_monotonic() && trend.whole.steps_up > 0.9);
        assert!(trend.windows.len() > 1);
    }

    #[test]
    fn what_is_capped_is_named_and_still_close() {
        let limits = Limits { sample: 1000, heaviest: 100, sightings: 50, ..Limits::default() };
        let mut observer = Observer::with_limits(TableFacts::default(), limits);
        for key in 0..20_000u64 {
            observer.observe(Observation::row(&key.to_be_bytes(), 10).at(key));
            observer.observe(Observation::row(b"heavy", 10).at(key));
        }
        let report = observer.finish();
        assert_eq!(report.estimates.len(), 4, "{:#?}", report.estimates);
        assert!(!report.partitions.exact);
        assert!((15_000..25_000).contains(&report.partitions.count), "{:?}", report.partitions);
        let top = report.top.first().expect("a heaviest value");
        assert_eq!(top.value, "heavy");
        assert!(top.rows <= 20_000 && 20_000 <= top.rows_at_most, "{top:?}");
        let largest = report.sizes.rows;
        assert!(largest.max <= 20_000 && 20_000 <= largest.max_at_most, "{largest:?}");
        assert_eq!(report.sizes.rows.p50, 1);
    }

    #[test]
    fn an_empty_table_gives_a_report_without_figures_that_are_not_numbers() {
        let report = Observer::new(TableFacts::default()).finish();
        let json = serde_json::to_string(&report).expect("a report is plain data");
        assert!(!json.contains("NaN"));
        let again: Report = serde_json::from_str(&json).expect("and can be read back");
        assert_eq!(again, report);
    }

    #[test]
    fn gaps_in_time_are_empty_windows() {
        let mut observer = Observer::new(TableFacts::default());
        for at in [10, 11, 14] {
            observer.observe(Observation::row(b"p", 1).at(at));
        }
        let heat = observer.finish().heat.expect("rows had positions");
        let sums: Vec<u64> = heat.windows.iter().map(|window| window.iter().sum()).collect();
        assert_eq!((heat.first, heat.width, sums), (10, 1, vec![1, 1, 0, 0, 1]));
        assert!((heat.hottest_share - 1.0).abs() < 1e-9);
    }

    #[test]
    fn values_are_shown_as_text_or_hexadecimal_and_shortened() {
        for (value, expected) in [
            (&b"alice"[..], "alice"),
            (&[0, 1, 255], "0x0001ff"),
            (b"", "0x"),
            (b"0123456789012345678901234567890123456789", "0123456789012345…567890123456789"),
        ] {
            assert_eq!(shown(value), expected);
        }
    }

    #[test]
    fn long_values_with_the_same_beginning_stay_apart() {
        let mut observer = Observer::new(TableFacts::default());
        for last in [b'a', b'b'] {
            let value = [vec![b'x'; 200], vec![last]].concat();
            observer.observe(Observation::row(&value, 1));
        }
        assert_eq!(observer.finish().top.len(), 2);
        assert_ne!(token(&[b'x'; 200]), token(&[b'x'; 201]));
    }
}
