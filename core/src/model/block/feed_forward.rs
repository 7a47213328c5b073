//! Activations of the feed-forward layer, alone or as gates.
//!
//! The tanh approximation of GELU is x · sigmoid(x · t), where t = 2 √(2 / π) · (1 + 0.044715 ·
//! x²): the SiLU kernel computes it from `x · t` and `1 / t`.

use crate::kernel::Kernels;
use crate::kernel::pieces::{pieces, pieces_mut};
use crate::model::config::{Activation, FAMILIES};

/// The number of elements for which a second operand is computed at a time.
const PIECE: usize = 64;

/// 2 √(2 / π).
const DOUBLE_ROOT: f32 = 1.595_769;
const CUBIC: f32 = 0.044_715;

/// Applies an activation to rows of `width`, in place.
pub(in crate::model) fn activate(
    kernels: &Kernels,
    activation: Activation,
    x: &mut [f32],
    width: usize,
) {
    match activation {
        _ if !FAMILIES => x.chunks_exact_mut(width.max(1)).for_each(|row| (kernels.gelu)(row)),
        Activation::Gelu => x.chunks_exact_mut(width.max(1)).for_each(|row| (kernels.gelu)(row)),
        Activation::Relu => x.iter_mut().for_each(|x| *x = x.max(0.0)),
        Activation::GeluTanh | Activation::Silu => {
            for x in x.chunks_mut(PIECE) {
                let mut ones = [1.0; PIECE];
                gate(kernels, activation, x, ones.get_mut(..x.len()).unwrap_or_default(), width);
            }
        }
    }
}

/// Replaces `gate`, in rows of `width`, by `activation(gate) · up`; overwrites `up`.
pub(in crate::model) fn gate(
    kernels: &Kernels,
    activation: Activation,
    gate: &mut [f32],
    up: &mut [f32],
    width: usize,
) {
    match activation {
        Activation::Silu => (kernels.swiglu)(gate, up),
        Activation::GeluTanh => {
            for (x, up) in gate.iter_mut().zip(&mut *up) {
                let t = DOUBLE_ROOT * (1.0 + CUBIC * *x * *x);
                *x *= t;
                *up /= t;
            }
            (kernels.swiglu)(gate, up);
        }
        Activation::Gelu | Activation::Relu => {
            activate(kernels, activation, gate, width);
            for (gate, up) in pieces_mut(gate, width).zip(pieces(up, width)) {
                gate.iter_mut().zip(up).for_each(|(gate, up)| *gate *= up);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;
    use crate::kernel;

    fn exact(activation: Activation, x: f64) -> f64 {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        match activation {
            Activation::Gelu => x * 0.5 * libm::erfc(-x / core::f64::consts::SQRT_2),
            Activation::GeluTanh => {
                let root = (2.0 / core::f64::consts::PI).sqrt();
                0.5 * x * (1.0 + (root * (x + 0.044_715 * x.powi(3))).tanh())
            }
            Activation::Silu => x * sigmoid(x),
            Activation::Relu => x.max(0.0),
        }
    }

    const ALL: [Activation; 4] =
        [Activation::Gelu, Activation::GeluTanh, Activation::Silu, Activation::Relu];

    #[test]
    fn activations_and_gates_are_within_two_millionths_on_every_table() {
        for kernels in kernel::available() {
            for (activation, width) in ALL.into_iter().flat_map(|it| [(it, 1), (it, 67), (it, 128)])
            {
                let x: Vec<f32> = (0..2 * width).map(|i| i as f32 * 0.31 - 12.0).collect();
                let mut alone = x.clone();
                activate(&kernels, activation, &mut alone, width);
                let up: Vec<f32> = x.iter().map(|x| 0.7 - x * 0.11).collect();
                let (mut gated, mut lost) = (x.clone(), up.clone());
                gate(&kernels, activation, &mut gated, &mut lost, width);
                for (((x, up), alone), gated) in x.iter().zip(up).zip(alone).zip(gated) {
                    let exact = exact(activation, f64::from(*x));
                    let near = |found: f32, exact: f64| {
                        (f64::from(found) - exact).abs() <= 2e-6 * (1.0 + exact.abs())
                    };
                    assert!(near(alone, exact), "{activation:?} {x}: {alone} {exact}");
                    assert!(near(gated, exact * f64::from(up)), "{activation:?} {x} · {up}");
                }
            }
        }
    }
}
