//! Measures the dequantisation of ggml's types in nanoembed and candle, one turn per line of stdin:
//!
//! ```text
//! {"peer":"candle","type":"q4_0","elements":65536,"nanoseconds":20000000}   → {"nanoseconds":[…]}
//! anything that goes wrong                                                  → {"failed":"…"}
//! ```
//!
//! Both take the same blocks, quantised by candle, and their results are compared. candle lacks
//! MXFP4: nanoembed quantises it, as UQFF stores it. The peers `stores` and `streams` only write a
//! constant, with ordinary and with non-temporal stores: the limit of the memory. A turn warms up
//! for a quarter of its time, then times single runs until the time is over. candle allocates its
//! result, for which a caller also waits; nanoembed writes into the caller's memory.

use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::quant::mxfp4;
use nanoembed_core::tensor::{Dtype, Encoding, Shape, Weight};
use serde_json::{Value, json};

/// Names with the types of both.
const TYPES: [(&str, GgmlDType, Dtype); 14] = [
    ("f16", GgmlDType::F16, Dtype::F16),
    ("bf16", GgmlDType::BF16, Dtype::BF16),
    ("q4_0", GgmlDType::Q4_0, Dtype::Q4_0),
    ("q4_1", GgmlDType::Q4_1, Dtype::Q4_1),
    ("q5_0", GgmlDType::Q5_0, Dtype::Q5_0),
    ("q5_1", GgmlDType::Q5_1, Dtype::Q5_1),
    ("q8_0", GgmlDType::Q8_0, Dtype::Q8_0),
    ("q8_1", GgmlDType::Q8_1, Dtype::Q8_1),
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
    let elements = usize::try_from(number("elements")?)?;
    let time = Duration::from_nanos(number("nanoseconds")?);
    match command["peer"].as_str() {
        Some("stores") => return written(elements, time, |out| out.fill(1.5)),
        Some("streams") => return written(elements, time, stream),
        _ => (),
    }
    let values: Vec<f32> = (0..elements).map(|i| (i as f32 * 0.37).sin() * 0.05).collect();
    let is_ours = match command["peer"].as_str() {
        Some("candle") => false,
        Some("nanoembed") => true,
        other => bail!("unknown peer {other:?}"),
    };
    if name == "mxfp4" && is_ours {
        let (mut codes, mut scales) = (vec![0; elements / 2], vec![0; elements / mxfp4::GROUP]);
        mxfp4::quantize(&values, &mut codes, &mut scales).context("lengths")?;
        let encoding = Encoding::Mxfp4 { codes: &codes, scales: &scales };
        return Ok(ours(&encoding, elements, time)?.0);
    }
    let Some((_, theirs, dtype)) = TYPES.iter().find(|(known, ..)| *known == name) else {
        return Ok(Vec::new());
    };
    let blocks = QTensor::quantize(&Tensor::from_vec(values, elements, &Device::Cpu)?, *theirs)?;
    if !is_ours {
        return timed(time, || Ok(drop(black_box(blocks.dequantize(&Device::Cpu)?))));
    }
    let encoding = Encoding::Plain { dtype: *dtype, data: &blocks.data()? };
    let (times, out) = ours(&encoding, elements, time)?;
    let expected = blocks.dequantize(&Device::Cpu)?.to_vec1::<f32>()?;
    ensure!(out == expected, "the values of {name} differ");
    Ok(times)
}

/// The times of all runs, and the result.
fn ours(encoding: &Encoding<'_>, elements: usize, time: Duration) -> Result<(Vec<u64>, Vec<f32>)> {
    let failed = |error| anyhow::anyhow!("{error}");
    let shape = Shape::new(&[elements as u64]).context("a shape")?;
    let weight = Weight::new(shape, *encoding).map_err(|kind| anyhow::anyhow!("{kind:?}"))?;
    let mut out = vec![0.0; elements];
    let times = timed(time, || {
        Dequantizer::detect().dequantize_weight(black_box(&weight), 0, &mut out).map_err(failed)?;
        black_box(&mut out);
        Ok(())
    })?;
    Ok((times, out))
}

fn written(elements: usize, time: Duration, write: impl Fn(&mut [f32])) -> Result<Vec<u64>> {
    let mut out = vec![1.0; elements];
    timed(time, || Ok(write(black_box(&mut out))))
}

/// Writes with stores that bypass the caches.
#[cfg(target_arch = "x86_64")]
fn stream(out: &mut [f32]) {
    use std::arch::x86_64::{_mm_set1_ps, _mm_sfence, _mm_stream_ps};
    // SAFETY: four floats are 16 bytes, aligned; every x86-64 CPU has SSE.
    unsafe {
        for line in out.align_to_mut::<[std::arch::x86_64::__m128; 1]>().1 {
            _mm_stream_ps(line.as_mut_ptr().cast(), _mm_set1_ps(1.5));
        }
        _mm_sfence();
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(out: &mut [f32]) {
    out.fill(1.5);
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
