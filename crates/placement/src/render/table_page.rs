//! One table on the HTML page.

use super::charts::{self, Caption};
use super::format::{bounds, bytes, count, decimal, escape, estimate, percent};
use super::page::{badge, table};
use crate::report::{Monotonicity, Report, Spread, Verdict};

pub(crate) fn section(index: usize, report: &Report) -> String {
    if report.rows == 0 {
        return empty(index, report);
    }
    format!(
        "<section id=\"t{index}\" aria-labelledby=\"t{index}-name\">\n<div class=\"top\">\
         <h2 id=\"t{index}-name\">{}</h2>{}</div>\n<p class=\"note\"><code>{}</code></p>\n{}{}\
         <div class=\"grid\">\n{}</div>\n<div class=\"grid wide\">\n{}</div>\n{}</section>\n",
        escape(&report.table),
        badge(report.grade()),
        escape(&report.placement),
        facts(report),
        verdicts(&report.verdicts),
        figures(index, report),
        tables(report),
        estimates(report),
    )
}

/// A table without rows has nothing to draw, but what it promises can be judged already.
fn empty(index: usize, report: &Report) -> String {
    format!(
        "<section id=\"t{index}\" aria-labelledby=\"t{index}-name\">\n<div class=\"top\">\
         <h2 id=\"t{index}-name\">{}</h2></div>\n<p class=\"note\"><code>{}</code> No rows yet.\
         </p>\n{}</section>\n",
        escape(&report.table),
        escape(&report.placement),
        queries(report),
    )
}

fn facts(report: &Report) -> String {
    let rows = report.sizes.rows;
    let largest = bounds(&count(rows.max), &count(rows.max_at_most));
    let facts = [
        ("Rows", count(report.rows)),
        ("Bytes", bytes(report.bytes)),
        ("Partitions", estimate(report.partitions.count, report.partitions.exact)),
        ("Key values", estimate(report.values.count, report.values.exact)),
        ("Rows in the largest partition", largest),
    ];
    let fact =
        |(name, value): &(&str, String)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>");
    format!("<dl class=\"facts\">{}</dl>\n", facts.iter().map(fact).collect::<String>())
}

fn verdicts(verdicts: &[Verdict]) -> String {
    let item = |verdict: &Verdict| {
        format!(
            "<li>{}<span class=\"subject\">{}</span>\
             <p>{} <span class=\"advice\">{}</span></p></li>\n",
            badge(verdict.grade),
            verdict.subject,
            escape(&verdict.finding),
            escape(&verdict.advice)
        )
    };
    format!("<ul class=\"verdicts\">\n{}</ul>\n", verdicts.iter().map(item).collect::<String>())
}

fn figure(title: &str, chart: &str, caption: &str) -> String {
    format!("<figure><h3>{title}</h3>{chart}<figcaption>{caption}</figcaption></figure>\n")
}

fn figures(index: usize, report: &Report) -> String {
    let mut out = String::new();
    let shown = report.balance.iter().find(|b| b.nodes == 16).or(report.balance.last());
    if let Some(balance) = shown {
        let description = format!(
            "Rows on each of {} nodes; the fullest holds {:.2} times the mean.",
            balance.nodes, balance.max_over_mean
        );
        let id = format!("t{index}-load");
        let caption = Caption { id: &id, title: "Load per node", description: &description };
        let chart = charts::bars(&caption, &balance.rows);
        out.push_str(&figure("Load per node", &chart, &format!("{description} Dashed: the mean.")));
    }
    if let Some(heat) = &report.heat {
        let description = format!(
            "{} nodes from top to bottom, {} windows of {} positions from {} left to right.",
            heat.nodes,
            heat.windows.len(),
            count(heat.width),
            count(heat.first)
        );
        let id = format!("t{index}-heat");
        let caption = Caption { id: &id, title: "Load over time", description: &description };
        let chart = charts::heat(&caption, &heat.windows) + &charts::heat_legend();
        out.push_str(&figure("Load over time", &chart, &description));
    }
    if !report.lorenz.is_empty() {
        let description = format!(
            "Share of the rows that the smallest partitions hold; Gini coefficient {:.2}.",
            report.partition_gini
        );
        let id = format!("t{index}-lorenz");
        let caption = Caption { id: &id, title: "Lorenz curve", description: &description };
        let chart = charts::lorenz(&caption, &report.lorenz);
        out.push_str(&figure("Rows over partitions", &chart, &description));
    }
    out
}

fn tables(report: &Report) -> String {
    [
        balance(report),
        growth(report),
        sizes(report),
        engine(report),
        top(report),
        queries(report),
        trend(report),
    ]
    .concat()
}

fn balance(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .balance
        .iter()
        .map(|balance| {
            vec![
                balance.nodes.to_string(),
                decimal(balance.max_over_mean),
                decimal(balance.variation),
                decimal(balance.gini),
                balance.empty.to_string(),
            ]
        })
        .collect();
    table("Balance", &["Nodes", "Max/mean", "Variation", "Gini", "Empty"], &rows)
}

fn growth(report: &Report) -> String {
    let Some(first) = report.joins.first() else { return String::new() };
    let rows: Vec<Vec<String>> = report
        .joins
        .iter()
        .map(|join| {
            let fullest = decimal(join.max_over_mean);
            vec![join.strategy.to_string(), percent(join.share_moved), fullest]
        })
        .collect();
    let whose = if report.joins_on_generated_keys { "generated keys" } else { "partitions" };
    let caption = format!(
        "Keys moved, {} to {} nodes (ideal {}; {} {whose})",
        first.from,
        first.to,
        percent(first.ideal),
        count(first.keys)
    );
    table(&caption, &["Placed by", "Moved", "Max/mean"], &rows)
}

fn sizes(report: &Report) -> String {
    let row = |name: &str, spread: &Spread, show: fn(u64) -> String, rule: &str| {
        let largest = bounds(&show(spread.max), &show(spread.max_at_most));
        vec![name.to_owned(), show(spread.p50), show(spread.p99), largest, rule.to_owned()]
    };
    let rows = [
        row("Rows", &report.sizes.rows, count, "100,000"),
        row("Bytes", &report.sizes.bytes, bytes, "100 MB"),
    ];
    table("Partition size", &["Per partition", "p50", "p99", "Max", "Rule"], &rows)
}

fn engine(report: &Report) -> String {
    let Some(view) = &report.engine else { return String::new() };
    let row = |name: &str, ours: String, theirs: String, ratio: f64| {
        vec![name.to_owned(), ours, theirs, decimal(ratio)]
    };
    let ours = estimate(report.partitions.count, report.partitions.exact);
    let rows = [
        row("Partitions", ours, count(view.partitions), view.partitions_ratio),
        row("Bytes", bytes(report.bytes), bytes(view.bytes), view.bytes_ratio),
    ];
    let caption = format!("As {} itself estimates it", escape(&view.engine));
    table(&caption, &["Measured", "Seen here", "Its estimate", "Ratio"], &rows)
}

fn top(report: &Report) -> String {
    if report.top.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = report
        .top
        .iter()
        .map(|top| {
            let rows = bounds(&count(top.rows), &count(top.rows_at_most));
            vec![format!("<code>{}</code>", escape(&top.value)), rows, percent(top.share)]
        })
        .collect();
    table("Heaviest values", &["Value", "Rows", "Share"], &rows)
}

fn queries(report: &Report) -> String {
    if report.queries.declared.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = report
        .queries
        .declared
        .iter()
        .map(|query| vec![escape(&query.name), query.touches.to_string()])
        .collect();
    table("Declared queries", &["Query", "Touches"], &rows)
}

fn trend(report: &Report) -> String {
    let Some(trend) = &report.trend else { return String::new() };
    let row =
        |span: String, m: &Monotonicity| vec![span, decimal(m.correlation), percent(m.steps_up)];
    let mut rows = vec![row("Whole span".into(), &trend.whole)];
    for window in &trend.windows {
        let span = format!("{} to {}", count(window.from), count(window.to));
        rows.push(row(span, &window.monotonicity));
    }
    let head = ["Positions", "Rank correlation", "Steps up"];
    table("Monotonicity (0.7 is monotonic)", &head, &rows)
}

fn estimates(report: &Report) -> String {
    let note = |note: &String| format!("<p class=\"note\">Estimated: {}</p>\n", escape(note));
    report.estimates.iter().map(note).collect()
}
