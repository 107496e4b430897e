//! The report for a terminal.

use super::ShardReport;
use super::format::{LEVELS, bounds, bytes, count, decimal, estimate, level, percent, plain};
use crate::activity::Comparison;
use crate::report::{Heat, Report, Spread};

const WIDTH: usize = 100;
/// One mark per level of heat.
const MARKS: [char; 6] = [' ', '·', '░', '▒', '▓', '█'];
const BAR: usize = 60;

pub(crate) fn render(report: &ShardReport) -> String {
    let mut out = Text::default();
    out.heading("Shard report", '=');
    if report.tables.is_empty() {
        out.line("No tables were observed.");
    }
    for table in &report.tables {
        out.line("");
        table_section(&mut out, table);
    }
    if let Some(activity) = &report.activity {
        out.line("");
        activity_section(&mut out, activity);
    }
    out.0
}

/// Lines, none wider than the terminal.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: &str) {
        let shortened: String = line.chars().take(WIDTH).collect();
        self.0.push_str(shortened.trim_end());
        self.0.push('\n');
    }

    fn heading(&mut self, title: &str, rule: char) {
        self.line(title);
        self.line(&rule.to_string().repeat(title.chars().count().min(WIDTH)));
    }

    /// The title of a part, set off by an empty line.
    fn part(&mut self, title: &str) {
        self.line("");
        self.line(title);
    }

    /// Words after a label, continued under the first word.
    fn wrapped(&mut self, label: &str, words: &str) {
        let indent = label.chars().count();
        let mut line = label.to_owned();
        for word in words.split_whitespace() {
            let used = line.chars().count();
            if used > indent && used + 1 + word.chars().count() > WIDTH {
                self.line(&line);
                line = " ".repeat(indent);
            } else if used > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(&line);
    }

    /// A table: the first column to the left, numbers to the right.
    fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
        let all = || std::iter::once(&head).chain(rows);
        let width = |column: usize| {
            let cells = all().filter_map(|row| row.get(column));
            cells.map(|cell: &String| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        for row in all() {
            let cells = row.iter().zip(&widths).enumerate().map(|(index, (cell, width))| {
                if index == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            self.line(&format!("  {}", cells.collect::<Vec<_>>().join("  ")));
        }
    }
}

fn table_section(out: &mut Text, report: &Report) {
    out.heading(&format!("{}  [{}]", plain(&report.table), report.grade()), '-');
    out.wrapped(
        "",
        &format!(
            "{}; {} rows, {}, {} partitions, {} values",
            plain(&report.placement),
            count(report.rows),
            bytes(report.bytes),
            estimate(report.partitions.count, report.partitions.exact),
            estimate(report.values.count, report.values.exact),
        ),
    );
    out.line("");
    for verdict in &report.verdicts {
        let label = format!("  {:<6}  {:<14}  ", verdict.grade, verdict.subject);
        out.wrapped(&label, &format!("{} {}", verdict.finding, verdict.advice));
    }
    load(out, report);
    sizes(out, report);
    engine(out, report);
    values(out, report);
    trend(out, report);
    if let Some(heat) = &report.heat {
        heat_strip(out, heat);
    }
    growth(out, report);
    if !report.estimates.is_empty() {
        out.part("Estimates");
    }
    for note in &report.estimates {
        out.wrapped("  ", note);
    }
}

fn load(out: &mut Text, report: &Report) {
    out.part("Load over nodes");
    let rows: Vec<Vec<String>> = report
        .balance
        .iter()
        .map(|balance| {
            vec![
                balance.nodes.to_string(),
                decimal(balance.max_over_mean),
                decimal(balance.bytes_max_over_mean),
                decimal(balance.variation),
                decimal(balance.gini),
                balance.empty.to_string(),
            ]
        })
        .collect();
    out.table(&["nodes", "max/mean rows", "max/mean bytes", "variation", "Gini", "empty"], &rows);
    let Some(balance) = report.balance.iter().find(|balance| balance.nodes == 16) else { return };
    let most = balance.rows.iter().copied().max().unwrap_or(0).max(1);
    for (node, rows) in balance.rows.iter().enumerate() {
        let bar = "█".repeat((*rows as usize).saturating_mul(BAR) / most as usize);
        out.line(&format!("  node {node:>2}  {bar} {}", count(*rows)));
    }
}

fn sizes(out: &mut Text, report: &Report) {
    out.part("Partition size (Cassandra's rule: 100,000 rows, 100 MB)");
    let row = |name: &str, spread: &Spread, show: fn(u64) -> String| {
        let largest = bounds(&show(spread.max), &show(spread.max_at_most));
        vec![name.to_owned(), show(spread.p50), show(spread.p99), largest]
    };
    let rows = [row("rows", &report.sizes.rows, count), row("bytes", &report.sizes.bytes, bytes)];
    out.table(&["per partition", "p50", "p99", "max"], &rows);
}

fn engine(out: &mut Text, report: &Report) {
    let Some(view) = &report.engine else { return };
    out.part(&format!("As {} itself estimates it", plain(&view.engine)));
    let row = |name: &str, ours: String, theirs: String, ratio: f64| {
        vec![name.to_owned(), ours, theirs, decimal(ratio)]
    };
    let ours = estimate(report.partitions.count, report.partitions.exact);
    let rows = [
        row("partitions", ours, count(view.partitions), view.partitions_ratio),
        row("bytes", bytes(report.bytes), bytes(view.bytes), view.bytes_ratio),
    ];
    out.table(&["measured", "seen here", "its estimate", "ratio"], &rows);
}

fn values(out: &mut Text, report: &Report) {
    if report.top.is_empty() {
        return;
    }
    out.part("Heaviest values");
    let rows: Vec<Vec<String>> = report
        .top
        .iter()
        .map(|top| {
            let rows = bounds(&count(top.rows), &count(top.rows_at_most));
            vec![plain(&top.value), rows, percent(top.share)]
        })
        .collect();
    out.table(&["value", "rows", "share"], &rows);
}

fn trend(out: &mut Text, report: &Report) {
    let Some(trend) = &report.trend else { return };
    out.part("Monotonicity (0.7 and more is monotonic)");
    let row = |span: String, m: &crate::report::Monotonicity| {
        vec![span, decimal(m.correlation), percent(m.steps_up), count(m.sampled)]
    };
    let mut rows = vec![row("whole span".into(), &trend.whole)];
    for window in &trend.windows {
        rows.push(row(format!("{} to {}", window.from, window.to), &window.monotonicity));
    }
    out.table(&["positions", "rank correlation", "steps up", "rows looked at"], &rows);
}

fn heat_strip(out: &mut Text, heat: &Heat) {
    out.part(&format!(
        "Load over time: {} windows of {} from {}; the busiest node takes {} of a window",
        heat.windows.len(),
        heat.width,
        heat.first,
        percent(heat.hottest_share)
    ));
    for node in 0..usize::from(heat.nodes) {
        let cell = |window: &Vec<u64>| {
            let fair = window.iter().sum::<u64>() as f64 / f64::from(heat.nodes);
            let load = window.get(node).copied().unwrap_or(0);
            MARKS.get(level(load, fair)).copied().unwrap_or(' ')
        };
        let strip: String = heat.windows.iter().map(cell).collect();
        out.line(&format!("  node {node:>2}  {strip}"));
    }
    out.line(&format!("  {}", legend()));
}

fn legend() -> String {
    let marks = MARKS.iter().zip(LEVELS).skip(1).map(|(mark, name)| format!("{mark} {name}"));
    format!("of its fair share: {}", marks.collect::<Vec<_>>().join("  "))
}

fn growth(out: &mut Text, report: &Report) {
    let Some(first) = report.joins.first() else { return };
    out.part(&format!(
        "Keys moved from {} to {} nodes (ideal {}; {} {})",
        first.from,
        first.to,
        percent(first.ideal),
        count(first.keys),
        if report.joins_on_generated_keys { "generated keys" } else { "partitions" }
    ));
    let rows: Vec<Vec<String>> = report
        .joins
        .iter()
        .map(|join| {
            let fullest = decimal(join.max_over_mean);
            vec![join.strategy.to_string(), percent(join.share_moved), fullest]
        })
        .collect();
    out.table(&["placed by", "moved", "max/mean"], &rows);
}

fn activity_section(out: &mut Text, activity: &Comparison) {
    let (facts, model) = (&activity.formula, &activity.model);
    out.heading("Shard keys for monthly activity (paper 001)", '-');
    out.wrapped("", &format!(
        "The formula takes {} values in {} months, all multiples of {}; {} of the steps from month \
         to month go up.",
        facts.distinct, facts.months, facts.common_divisor, percent(facts.steps_up),
    ));
    for span in &facts.decades {
        out.line(&format!(
            "  rank correlation with time {}-{}: {:.2}",
            span.from, span.to, span.correlation
        ));
    }
    out.part(&format!(
        "Simulated: {} users, {} shards, {} documents per chunk, seed {}",
        count(model.users.into()),
        model.shards,
        model.chunk_documents,
        model.seed
    ));
    let rows: Vec<Vec<String>> = activity
        .keys
        .iter()
        .map(|result| {
            let reach = format!("{:.1}", result.shards_per_user_year);
            vec![result.key.to_string(), percent(result.hottest_share), reach]
        })
        .collect();
    let head = ["shard key", "hottest shard's share of a day", "shards of a user's year"];
    out.table(&head, &rows);
    out.line(&format!("  ideal share {}", percent(activity.ideal)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tests::example;

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let text = render(example());
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest.expect("lines") <= WIDTH);
    }

    #[test]
    fn the_text_holds_every_part_and_no_control_character() {
        let text = render(example());
        for part in [
            "activity  [good]",
            "feed  [change]",
            "Load over nodes",
            "Partition size",
            "As cassandra itself estimates it",
            "Monotonicity",
            "Load over time",
            "Keys moved from 16 to 17 nodes",
            "mod N",
            "{hash(user), year, month}",
            "80 values in 252 months",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    }

    #[test]
    fn words_continue_under_the_first_word() {
        let mut out = Text::default();
        out.wrapped("label  ", &"word ".repeat(30));
        let lines: Vec<&str> = out.0.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].starts_with("       word"));
    }
}
