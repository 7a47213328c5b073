//! Counts for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The upper bounds of the histogram of response times, in seconds.
const BOUNDS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// Counts since the server's start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    times: Mutex<Times>,
    pub(crate) texts: AtomicU64,
    pub(crate) tokens: AtomicU64,
    pub(crate) turns: AtomicU64,
    pub(crate) generated: AtomicU64,
}

/// Times of answered requests.
#[derive(Debug, Default)]
struct Times {
    /// The counts of the histogram: one for each bound, and one beyond the last.
    counts: [u64; BOUNDS.len() + 1],
    seconds: f64,
}

impl Metrics {
    /// Counts a request that was answered with a status.
    pub(crate) fn answered(&self, endpoint: &'static str, status: u16, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((endpoint, status)).or_default() += 1;
        let seconds = took.as_secs_f64();
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.seconds += seconds;
        let bound = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        if let Some(count) = times.counts.get_mut(bound) {
            *count += 1;
        }
    }

    /// The number of answers, and of those that are errors.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = requests.iter().filter(|((_, status), _)| *status >= 400);
        (requests.values().sum(), failed.map(|(_, count)| count).sum())
    }

    /// The page for Prometheus, with the number of requests that are being answered.
    pub(crate) fn page(&self, in_flight: usize) -> String {
        let mut page = String::new();
        let mut family = |name: &str, kind: &str, help: &str, lines: &str| {
            let _ = write!(
                page,
                "# HELP nanoembed_{name} {help}\n# TYPE nanoembed_{name} {kind}\n{lines}"
            );
        };
        let mut lines = String::new();
        for ((endpoint, status), count) in
            &*self.requests.lock().unwrap_or_else(PoisonError::into_inner)
        {
            let labels = format!("endpoint=\"{endpoint}\",status=\"{status}\"");
            let _ = writeln!(lines, "nanoembed_requests_total{{{labels}}} {count}");
        }
        family("requests_total", "counter", "Requests that were answered.", &lines);
        for (name, help, count) in [
            ("texts_total", "Texts embedded or ranked.", &self.texts),
            ("tokens_total", "Tokens of these texts.", &self.tokens),
            ("batches_total", "Batches in which they were computed.", &self.turns),
            ("generated_tokens_total", "Tokens added to texts.", &self.generated),
        ] {
            let count = count.load(Ordering::Relaxed);
            family(name, "counter", help, &format!("nanoembed_{name} {count}\n"));
        }
        let line = format!("nanoembed_requests_in_flight {in_flight}\n");
        family("requests_in_flight", "gauge", "Requests that are being answered.", &line);
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut lines, mut sum) = (String::new(), 0);
        let bounds = BOUNDS.iter().map(ToString::to_string).chain(["+Inf".into()]);
        for (bound, count) in bounds.zip(times.counts) {
            sum += count;
            let _ = writeln!(lines, "nanoembed_request_seconds_bucket{{le=\"{bound}\"}} {sum}");
        }
        let seconds = times.seconds;
        let _ = write!(
            lines,
            "nanoembed_request_seconds_sum {seconds}\nnanoembed_request_seconds_count {sum}\n"
        );
        family("request_seconds", "histogram", "Time from head to answer.", &lines);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let metrics = Metrics::default();
        metrics.answered("/health", 200, Duration::from_millis(2));
        metrics.answered("/health", 200, Duration::from_secs(60));
        metrics.answered("/embed", 429, Duration::ZERO);
        assert_eq!(metrics.totals(), (3, 1));
        let page = metrics.page(4);
        for line in [
            "nanoembed_requests_total{endpoint=\"/health\",status=\"200\"} 2",
            "nanoembed_requests_in_flight 4",
            "nanoembed_request_seconds_bucket{le=\"0.001\"} 1",
            "nanoembed_request_seconds_bucket{le=\"0.003\"} 2",
            "nanoembed_request_seconds_bucket{le=\"10\"} 2",
            "nanoembed_request_seconds_bucket{le=\"+Inf\"} 3",
            "nanoembed_request_seconds_count 3",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} in {page}");
        }
    }
}
