//! Times how fast nanoembed and candle dequantise ggml's types, a turn for each line of stdin:
//!
//! ```text
//! {"peer":"candle","type":"q4_0","elements":65536,"nanoseconds":20000000}   → {"nanoseconds":[…]}
//! anything that goes wrong                                                  → {"failed":"…"}
//! ```
//!
//! Both take the same blocks, which candle has quantised. A turn runs untimed for a quarter of its time, then times runs
//! one by one until the time is over. candle allocates its result, which is part of what a caller waits for; nanoembed
//! writes into memory that it is lent.

use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use nanoembed_core::quant::dequantize;
use nanoembed_core::tensor::Dtype;
use serde_json::{Value, json};

/// Names with the types of both.
const TYPES: [(&str, GgmlDType, Dtype); 13] = [
    ("f16", GgmlDType::F16, Dtype::F16),
    ("bf16", GgmlDType::BF16, Dtype::BF16),
    ("q4_0", GgmlDType::Q4_0, Dtype::Q4_0),
    ("q4_1", GgmlDType::Q4_1, Dtype::Q4_1),
    ("q5_0", GgmlDType::Q5_0, Dtype::Q5_0),
    ("q5_1", GgmlDType::Q5_1, Dtype::Q5_1),
    ("q8_0", GgmlDType::Q8_0, Dtype::Q8_0),
    ("q2_k", GgmlDType::Q2K, Dtype::Q2K),
    ("q3_k", GgmlDType::Q3K, Dtype::Q3K),
    ("q4_k", GgmlDType::Q4K, Dtype::Q4K),
    ("q5_k", GgmlDType::Q5K, Dtype::Q5K),
    ("q6_k", GgmlDType::Q6K, Dtype::Q6K),
    ("q8_k", GgmlDType::Q8K, Dtype::Q8K),
];

fn main() -> Result<()> {
    for line in stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?).map_err(Into::into).and_then(|c| turn(&c)) {
            Ok(times) => json!({ "nanoseconds": times }),
            Err(error) => json!({ "failed": format!("{error:#}") }),
        };
        writeln!(stdout(), "{answer}")?;
        stdout().flush()?;
    }
    Ok(())
}

fn turn(command: &Value) -> Result<Vec<u64>> {
    let number = |key: &str| command[key].as_u64().with_context(|| format!("no `{key}`"));
    let name = command["type"].as_str().context("no `type`")?;
    let found = TYPES.iter().find(|(known, ..)| *known == name);
    let (_, theirs, ours) = *found.with_context(|| format!("unknown type {name}"))?;
    let elements = usize::try_from(number("elements")?)?;
    let time = Duration::from_nanos(number("nanoseconds")?);
    let values: Vec<f32> = (0..elements).map(|i| (i as f32 * 0.37).sin() * 0.05).collect();
    let tensor = Tensor::from_vec(values, elements, &Device::Cpu)?;
    let blocks = QTensor::quantize(&tensor, theirs)?;
    let bytes = blocks.data()?.into_owned();
    let expected = blocks.dequantize(&Device::Cpu)?.to_vec1::<f32>()?;
    match command["peer"].as_str() {
        Some("candle") => timed(time, || Ok(drop(black_box(blocks.dequantize(&Device::Cpu)?)))),
        Some("nanoembed") => {
            let mut out = vec![0.0; elements];
            let mut run = || {
                dequantize(ours, black_box(&bytes), 0, &mut out)
                    .map_err(|error| anyhow::anyhow!("{error}"))?;
                black_box(&mut out);
                Ok(())
            };
            let times = timed(time, &mut run)?;
            ensure!(out == expected, "the values of {name} differ");
            Ok(times)
        }
        other => bail!("unknown peer {other:?}"),
    }
}

fn timed(time: Duration, mut run: impl FnMut() -> Result<()>) -> Result<Vec<u64>> {
    let warm = Instant::now();
    while warm.elapsed() < time / 4 {
        run()?;
    }
    let (started, mut times) = (Instant::now(), Vec::new());
    while started.elapsed() < time {
        let run_started = Instant::now();
        run()?;
        times.push(u64::try_from(run_started.elapsed().as_nanos())?);
    }
    Ok(times)
}
