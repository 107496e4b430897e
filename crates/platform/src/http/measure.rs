//! Measurements of requests in the text format of Prometheus.
//!
//! Labels are bounded: the route is a template, never a path; methods are a fixed list and "other";
//! statuses are classes. Whatever a client sends, the number of series stays the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};

/// Routes that are measured apart; what comes later is measured as `other`.
const ROUTES: usize = 1024;
/// Upper ends of the duration buckets, in microseconds.
const BUCKETS: [u64; 11] =
    [500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 500_000, 1_000_000, 5_000_000, 30_000_000];
/// The route of a request that no route matches.
pub(crate) const UNMATCHED: &str = "unmatched";

/// Counts of one route and method.
#[derive(Debug, Default)]
struct Route {
    classes: [AtomicU64; 5],
    buckets: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
    bytes: AtomicU64,
}

/// A route's template and a method.
type Key = (Arc<str>, &'static str);

/// Measurements of all requests.
#[derive(Debug, Default)]
pub struct Measured {
    routes: RwLock<BTreeMap<Key, Arc<Route>>>,
    in_flight: AtomicI64,
    panics: AtomicU64,
}

/// Counts a request as in flight until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Measured>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A method as a label.
pub(crate) fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

impl Measured {
    /// A request begins.
    pub(crate) fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self.clone())
    }

    /// A handler panicked.
    pub(crate) fn panicked(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// A request was answered.
    pub(crate) fn answered(
        &self,
        route: &str,
        method: &'static str,
        status: StatusCode,
        took: Duration,
        bytes: u64,
    ) {
        let counts = self.route(route, method);
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        counts.classes[class].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.partition_point(|end| *end < micros);
        counts.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        counts.micros.fetch_add(micros, Ordering::Relaxed);
        counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn route(&self, route: &str, method: &'static str) -> Arc<Route> {
        let key = (Arc::from(route), method);
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = routes.get(&key) {
            return found.clone();
        }
        let full = routes.len() >= ROUTES;
        drop(routes);
        let key = if full { (Arc::from("other"), "other") } else { key };
        let mut routes = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        routes.entry(key).or_default().clone()
    }

    /// The measurements as text.
    #[must_use]
    pub fn text(&self) -> String {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut text = String::new();
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        head(&mut text, "requests_in_flight", "gauge", "Requests being answered.");
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        let _ = writeln!(text, "ostrakon_http_requests_in_flight {in_flight}");
        head(&mut text, "panics_total", "counter", "Handlers that panicked.");
        let _ = writeln!(text, "ostrakon_http_panics_total {}", load(&self.panics));
        head(&mut text, "requests_total", "counter", "Requests answered.");
        for ((route, method), counts) in &routes {
            for (class, count) in counts.classes.iter().enumerate().filter(|(_, c)| load(c) > 0) {
                let _ = writeln!(
                    text,
                    "ostrakon_http_requests_total{{route=\"{}\",method=\"{method}\",\
                     status=\"{}xx\"}} {}",
                    escaped(route),
                    class + 1,
                    load(count),
                );
            }
        }
        head(&mut text, "answer_bytes_total", "counter", "Bytes of answers known in advance.");
        for ((route, method), counts) in &routes {
            let labels = format!("route=\"{}\",method=\"{method}\"", escaped(route));
            let bytes = load(&counts.bytes);
            let _ = writeln!(text, "ostrakon_http_answer_bytes_total{{{labels}}} {bytes}");
        }
        head(&mut text, "duration_seconds", "histogram", "Time until the head of the answer.");
        for ((route, method), counts) in &routes {
            histogram(&mut text, &escaped(route), method, counts);
        }
        text
    }
}

fn histogram(text: &mut String, route: &str, method: &str, counts: &Route) {
    let labels = format!("route=\"{route}\",method=\"{method}\"");
    let name = "ostrakon_http_duration_seconds";
    let mut sum = 0;
    for (bucket, count) in counts.buckets.iter().enumerate() {
        sum += count.load(Ordering::Relaxed);
        let end = BUCKETS.get(bucket).map(|micros| (*micros as f64 / 1e6).to_string());
        let end = end.as_deref().unwrap_or("+Inf");
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{end}\"}} {sum}");
    }
    let seconds = counts.micros.load(Ordering::Relaxed) as f64 / 1e6;
    let _ = writeln!(text, "{name}_sum{{{labels}}} {seconds}\n{name}_count{{{labels}}} {sum}");
}

/// Writes help and type of a measurement.
fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ =
        writeln!(text, "# HELP ostrakon_http_{name} {help}\n# TYPE ostrakon_http_{name} {kind}");
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_method_and_class() {
        let measured = Arc::new(Measured::default());
        let running = measured.begin();
        let answer = |status, micros| {
            let took = Duration::from_micros(micros);
            measured.answered("/api/x/{id}", "GET", status, took, 10);
        };
        answer(StatusCode::OK, 100);
        answer(StatusCode::OK, 3_000);
        answer(StatusCode::NOT_FOUND, 90_000_000);
        let text = measured.text();
        for line in [
            "ostrakon_http_requests_in_flight 1",
            "ostrakon_http_requests_total{route=\"/api/x/{id}\",method=\"GET\",status=\"2xx\"} 2",
            "ostrakon_http_requests_total{route=\"/api/x/{id}\",method=\"GET\",status=\"4xx\"} 1",
            "ostrakon_http_duration_seconds_bucket{route=\"/api/x/{id}\",method=\"GET\",\
             le=\"0.005\"} 2",
            "ostrakon_http_duration_seconds_bucket{route=\"/api/x/{id}\",method=\"GET\",\
             le=\"+Inf\"} 3",
            "ostrakon_http_answer_bytes_total{route=\"/api/x/{id}\",method=\"GET\"} 30",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        drop(running);
        assert!(measured.text().contains("requests_in_flight 0"));
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let measured = Measured::default();
        for route in 0..ROUTES + 100 {
            let route = format!("/r/{route}");
            measured.answered(&route, "GET", StatusCode::OK, Duration::ZERO, 0);
        }
        let routes = measured.routes.read().expect("not poisoned").len();
        assert_eq!(routes, ROUTES + 1);
        assert_eq!(method_label(&Method::from_bytes(b"BREW").expect("a method")), "other");
    }
}
