//! Rotary positions (Su et al. 2021): pairs of elements are turned by an angle that grows with the position.

use super::config::{LlamaConfig, RopePairs};

/// Cosine and sine for each pair of a head at `position`, one after the other; `divisors` of the frequencies may be empty.
pub(super) fn angles(config: &LlamaConfig, position: usize, divisors: &[f32], out: &mut [f32]) {
    #[allow(clippy::cast_precision_loss)] // positions and heads are far below 2²⁴
    let (size, position) = (config.head as f64, position as f64 / f64::from(config.rope_scaling));
    for (pair, out) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        #[allow(clippy::cast_precision_loss)]
        let exponent = -2.0 * pair as f64 / size;
        let divisor = f64::from(divisors.get(pair).copied().unwrap_or(1.0));
        let angle = position * libm::pow(f64::from(config.rope_base), exponent) / divisor;
        #[allow(clippy::cast_possible_truncation)] // within ±1
        {
            *out = [libm::cos(angle) as f32, libm::sin(angle) as f32];
        }
    }
}

/// Turns one head in place.
pub(super) fn turn(pairs: RopePairs, angles: &[f32], head: &mut [f32]) {
    let angles = angles.as_chunks::<2>().0;
    let turn = |x: &mut f32, y: &mut f32, [cos, sin]: [f32; 2]| {
        (*x, *y) = (*x * cos - *y * sin, *x * sin + *y * cos);
    };
    match pairs {
        RopePairs::Neighbours => {
            for ([x, y], angle) in head.as_chunks_mut::<2>().0.iter_mut().zip(angles) {
                turn(x, y, *angle);
            }
        }
        RopePairs::Halves => {
            let (first, second) = head.split_at_mut(head.len() / 2);
            for ((x, y), angle) in first.iter_mut().zip(second).zip(angles) {
                turn(x, y, *angle);
            }
        }
    }
}
