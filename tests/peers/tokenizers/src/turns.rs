//! Alternating runs of several tokenizers on the same texts.

use std::time::Duration;

use cpu_time::ThreadTime;

const ROUNDS: usize = 21;

/// The capacity in ids.
pub const BUFFER: usize = 65_536;

/// A name, and a function that writes the ids of a text and returns their number.
pub type Way<'w> = (&'w str, &'w mut dyn FnMut(&str, &mut [u32]) -> usize);

/// Runs each tokenizer over all texts, alternating, and prints medians of the thread's CPU time.
pub fn in_turns(texts: &[String], tokens: usize, ways: &mut [Way<'_>]) {
    let bytes: usize = texts.iter().map(String::len).sum();
    let mut ids = vec![0; BUFFER];
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..ROUNDS {
        for ((_, encode), times) in ways.iter_mut().zip(&mut times) {
            times.push(time(|| texts.iter().map(|text| encode(text, &mut ids)).sum::<usize>()));
        }
    }
    for ((name, _), times) in ways.iter().zip(times) {
        report(name, times, bytes, tokens);
    }
}

/// The thread's CPU time during `run`.
pub fn time<R>(run: impl FnOnce() -> R) -> Duration {
    let start = ThreadTime::now();
    std::hint::black_box(run());
    start.elapsed()
}

/// The median and the minimum of some times.
pub fn median_and_least(mut times: Vec<Duration>) -> [f64; 2] {
    times.sort();
    [times[times.len() / 2], times[0]].map(|time| time.as_secs_f64())
}

fn report(name: &str, times: Vec<Duration>, bytes: usize, tokens: usize) {
    let [median, fastest] = median_and_least(times);
    println!(
        "{name:18} median {:6.2} MB/s, {:5.2} M tokens/s; fastest {:6.2} MB/s",
        bytes as f64 / median / 1e6,
        tokens as f64 / median / 1e6,
        bytes as f64 / fastest / 1e6
    );
}
