//! A decoder for comparisons: a worker for `tests/peers/bench.py generate`, or the perplexity of a
//! text.
//!
//! ```text
//! cargo run --release -p nanoembed-tests --example decoder -- serve FILE [words|bytes|floats]
//! ```
//!
//! `serve` answers JSON lines: `{"generate": {"ids": […], "tokens": n}}` with the greedy
//! continuation and its time in nanoseconds, of the clock and of this thread.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use nanoembed_core::model::llama::{Activations, Output};
use nanoembed_tests::decoder::Decoder;
use serde::Deserialize;
use serde_json::json;

/// Tokens of a prompt that pass through the layers together.
const TOKENS_AT_ONCE: usize = 64;
/// Positions of a worker.
const POSITIONS: usize = 1024;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    Generate { ids: Vec<u32>, tokens: usize },
}

/// Nanoseconds of the clock and of this thread.
struct Clock(Instant, u64);

impl Clock {
    fn start() -> Self {
        Self(Instant::now(), Self::thread_ns())
    }

    /// This thread's CPU time according to the scheduler; 0 if it is not available.
    fn thread_ns() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    fn read(&self) -> serde_json::Value {
        let wall = u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        json!({"wall_ns": wall, "cpu_ns": Self::thread_ns() - self.1})
    }
}

fn likeliest(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(0, |(id, _)| u32::try_from(id).expect("vocabularies are small"))
}

fn generate(decoder: &mut Decoder<'_>, prompt: &[u32], tokens: usize) -> serde_json::Value {
    decoder.clear();
    let mut logits = vec![0.0; decoder.llama.config().vocabulary];
    let clock = Clock::start();
    decoder.forward(prompt, Output::LastLogits(&mut logits));
    let (prompt, mut ids) = (clock.read(), vec![likeliest(&logits)]);
    let clock = Clock::start();
    while let (true, Some(&last)) = (ids.len() <= tokens, ids.last()) {
        decoder.forward(&[last], Output::LastLogits(&mut logits));
        ids.push(likeliest(&logits));
    }
    json!({"generated": {"prompt": prompt, "tokens": clock.read(), "ids": ids}})
}

fn serve(bytes: &[u8], activations: Activations) {
    let mut decoder = Decoder::open(bytes, (TOKENS_AT_ONCE, POSITIONS), activations);
    let mut stdout = std::io::stdout();
    let mut answer = |value: &serde_json::Value| {
        writeln!(stdout, "{value}").and_then(|()| stdout.flush()).expect("someone listens");
    };
    answer(&json!({"started": {}}));
    for line in std::io::stdin().lock().lines() {
        match serde_json::from_str(&line.expect("text")) {
            Ok(Command::Generate { ids, tokens }) => {
                answer(&generate(&mut decoder, &ids, tokens));
            }
            Err(error) => answer(&json!({"failed": {"reason": error.to_string()}})),
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, file, rest @ ..] = &arguments[..] else {
        eprintln!("usage: decoder serve FILE [words|bytes|floats]");
        return ExitCode::from(2);
    };
    let activations = match rest.first().map(String::as_str) {
        None | Some("words") => Activations::Words,
        Some("bytes") => Activations::Bytes,
        Some("floats") => Activations::Floats,
        Some(other) => panic!("no activations are called {other}"),
    };
    let bytes = std::fs::read(file).expect("a file that can be read");
    match command.as_str() {
        "serve" => serve(&bytes, activations),
        other => panic!("no command is called {other}"),
    }
    ExitCode::SUCCESS
}
