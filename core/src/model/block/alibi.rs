//! ALiBi, attention with linear biases (Press et al. 2022): the farther a key is from its query,
//! the lower its score, by a slope of each head.

/// The biases on the scores of all heads for a key `distance` positions from its query.
pub(in crate::model) fn biases(distance: usize, out: &mut [f32]) {
    let heads = out.len();
    for (head, bias) in out.iter_mut().enumerate() {
        #[allow(clippy::cast_precision_loss)] // texts are shorter
        let distance = distance as f32;
        *bias = -slope(head, heads) * distance;
    }
}

/// The slope of one of several heads. The first k, the largest power of two, have 2^(−8i/k) for i
/// from 1 on; the others have every second slope of 2k heads, 2^(−8(2i − 1)/2k).
fn slope(head: usize, heads: usize) -> f32 {
    let power = 1_usize << heads.checked_ilog2().unwrap_or(0);
    let (step, steps) = match head.checked_sub(power) {
        None => (head + 1, power),
        Some(further) => (2 * further + 1, 2 * power),
    };
    #[allow(clippy::cast_precision_loss)] // heads are few
    let exponent = (8 * step) as f32 / steps as f32;
    libm::exp2f(-exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recursion of the paper's code, in f64.
    fn expected(head: usize, heads: usize) -> f64 {
        let power = |heads: usize| {
            let start = (-(3.0 - (heads as f64).log2()).exp2()).exp2();
            move |head: usize| start * start.powi(head as i32)
        };
        let closest = 1 << heads.ilog2();
        match head.checked_sub(closest) {
            None => power(closest)(head),
            Some(further) => power(2 * closest)(2 * further),
        }
    }

    #[test]
    fn slopes_are_those_of_the_paper() {
        for heads in 1..=40 {
            for head in 0..heads {
                let (found, expected) = (f64::from(slope(head, heads)), expected(head, heads));
                assert!((found - expected).abs() <= 1e-6 * expected, "{head} of {heads}: {found}");
            }
        }
        let mut of_six = [0.0; 6];
        biases(3, &mut of_six);
        let slopes = [0.25, 0.0625, 0.015_625, 0.003_906_25, 0.5, 0.125];
        assert_eq!(of_six, slopes.map(|slope| -3.0 * slope));
    }
}
