//! The worker's side of the benchmark's protocol (`../README.md`): JSON lines over stdin and
//! stdout.
//!
//! A peer implements [`Engine`] (or [`PaddedEngine`] if it wants rectangular batches) and calls
//! [`serve`] from `main`. Everything that is not the peer's own work (reading JSON, building input
//! tensors, writing vectors) happens outside the timed part, for every peer alike.

mod padded;

use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use padded::{Batch, Padded, PaddedEngine, mean_and_normalize};

/// An engine that embeds texts.
pub trait Engine: Sized {
    /// A text: its token ids, special tokens included, or a `String`.
    type Text: DeserializeOwned;
    /// Texts in the form that the engine takes.
    type Request;
    /// Opens the model at `path`, to be run by `threads` threads.
    fn open(path: &str, threads: usize) -> Result<Self>;
    /// Converts texts to that form. Not timed.
    fn prepare(&mut self, texts: Vec<Self::Text>) -> Result<Self::Request>;
    /// Returns one L2-normalised vector per text, in order, concatenated. Timed.
    fn run(&mut self, request: &mut Self::Request) -> Result<Vec<f32>>;
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command<T> {
    Open { path: String, threads: usize },
    Run { texts: Vec<T>, warm: usize, runs: usize, vectors: bool },
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Started {},
    Opened { wall_ns: u64, cpu_ns: u64 },
    Ran { wall_ns: Vec<u64>, cpu_ns: Vec<u64>, vectors: Option<Vec<Vec<f32>>> },
    Failed { reason: String },
}

/// Answers commands from stdin until it ends.
pub fn serve<E: Engine>() -> Result<()> {
    let mut engine: Option<E> = None;
    answer(&Answer::Started {})?;
    for line in std::io::stdin().lock().lines() {
        let command = serde_json::from_str(&line?).context("not a command")?;
        let result = obey(&mut engine, command);
        answer(&result.unwrap_or_else(|e| Answer::Failed { reason: format!("{e:#}") }))?;
    }
    Ok(())
}

fn obey<E: Engine>(engine: &mut Option<E>, command: Command<E::Text>) -> Result<Answer> {
    match command {
        Command::Open { path, threads } => {
            let clocks = Clocks::start();
            *engine = Some(E::open(&path, threads)?);
            let (wall_ns, cpu_ns) = clocks.elapsed();
            Ok(Answer::Opened { wall_ns, cpu_ns })
        }
        Command::Run { texts, warm, runs, vectors } => {
            let engine = engine.as_mut().context("no model is open")?;
            let count = texts.len();
            let mut request = engine.prepare(texts)?;
            for _ in 0..warm {
                engine.run(&mut request)?;
            }
            let (mut wall_ns, mut cpu_ns, mut flat) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..runs {
                let clocks = Clocks::start();
                flat = std::hint::black_box(engine.run(&mut request)?);
                let (wall, cpu) = clocks.elapsed();
                wall_ns.push(wall);
                cpu_ns.push(cpu);
            }
            let width = flat.len() / count.max(1);
            let vectors =
                (vectors && width > 0).then(|| flat.chunks(width).map(<[f32]>::to_vec).collect());
            Ok(Answer::Ran { wall_ns, cpu_ns, vectors })
        }
    }
}

fn answer(answer: &Answer) -> Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

struct Clocks {
    wall: Instant,
    cpu_ns: u64,
}

impl Clocks {
    fn start() -> Self {
        Self { cpu_ns: process_cpu_ns(), wall: Instant::now() }
    }

    fn elapsed(&self) -> (u64, u64) {
        let wall = self.wall.elapsed().as_nanos() as u64;
        (wall, process_cpu_ns() - self.cpu_ns)
    }
}

/// CPU time of all threads of this process.
fn process_cpu_ns() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
