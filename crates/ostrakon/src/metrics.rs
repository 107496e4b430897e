//! Measurements in the text format of Prometheus.
//!
//! Written by hand: every engine measures its own things, so names and help come with the values,
//! and a registry of declared metrics would only be in the way.

use std::fmt::Write as _;

use store::Stat;

/// A page of measurements.
#[derive(Debug, Default)]
pub(crate) struct Exposition(String);

impl Exposition {
    /// Adds an engine's measurements under `prefix`.
    pub(crate) fn stats(mut self, prefix: &str, stats: &[Stat]) -> Self {
        for stat in stats {
            let kind = if stat.counter { "counter" } else { "gauge" };
            self.add(&format!("{prefix}_{}", stat.name), kind, stat.help, "", stat.value);
        }
        self
    }

    /// Adds one gauge.
    pub(crate) fn gauge(mut self, name: &str, help: &str, value: f64) -> Self {
        self.add(name, "gauge", help, "", value);
        self
    }

    /// Adds a gauge of 1 whose label is what matters.
    pub(crate) fn label(mut self, name: &str, help: &str, label: &str, text: &str) -> Self {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        self.add(name, "gauge", help, &format!("{{{label}=\"{escaped}\"}}"), 1.0);
        self
    }

    /// Adds a measurement of several things, each under its own label.
    pub(crate) fn each<'a>(
        mut self,
        (name, kind, help): (&str, &str, &str),
        label: &str,
        values: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Self {
        let mut values = values.into_iter().peekable();
        if values.peek().is_some() {
            let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        }
        for (text, value) in values {
            let _ = writeln!(self.0, "{name}{{{label}=\"{text}\"}} {value}");
        }
        self
    }

    /// The page.
    pub(crate) fn text(self) -> String {
        self.0
    }

    fn add(&mut self, name: &str, kind: &str, help: &str, labels: &str, value: f64) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Rust writes an infinity as `inf`, Prometheus as `+Inf`.
        let value = match value {
            value if value == f64::INFINITY => "+Inf".to_owned(),
            value if value == f64::NEG_INFINITY => "-Inf".to_owned(),
            value => value.to_string(),
        };
        let _ =
            write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measurement_has_help_and_type() {
        let stats = [Stat { name: "rows_total", help: "Rows.", counter: true, value: 3.0 }];
        let text = Exposition::default()
            .stats("ostrakon_store", &stats)
            .gauge("ostrakon_x", "A\nB\\C.", 0.25)
            .label("ostrakon_build_info", "Build.", "version", "1\"2\\3")
            .text();
        assert_eq!(
            text,
            "# HELP ostrakon_store_rows_total Rows.\n\
             # TYPE ostrakon_store_rows_total counter\n\
             ostrakon_store_rows_total 3\n\
             # HELP ostrakon_x A\\nB\\\\C.\n\
             # TYPE ostrakon_x gauge\n\
             ostrakon_x 0.25\n\
             # HELP ostrakon_build_info Build.\n\
             # TYPE ostrakon_build_info gauge\n\
             ostrakon_build_info{version=\"1\\\"2\\\\3\"} 1\n"
        );
    }

    #[test]
    fn numbers_that_are_none_are_written_as_prometheus_reads_them() {
        let write = |value| Exposition::default().gauge("a", "b", value).text();
        assert!(write(f64::NAN).ends_with("a NaN\n"));
        assert!(write(f64::INFINITY).ends_with("a +Inf\n"));
    }
}
