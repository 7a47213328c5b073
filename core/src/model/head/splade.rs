//! The pooling of SPLADE: scores of all tokens of the vocabulary become a sparse vector.

/// How the scores that a text's tokens give to a token of the vocabulary become its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpladeSettings {
    /// How the weights that a text's tokens give become one.
    pub pooling: SpladePooling,
    /// True if the logarithm is taken twice: `ln(1 + ln(1 + max(x, 0)))`.
    pub is_logged_twice: bool,
}

/// How several weights of a token become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpladePooling {
    /// The largest.
    Max,
    /// Their sum.
    Sum,
}

impl SpladeSettings {
    /// The weight of a token with these scores; 0 if none is positive.
    pub(super) fn weight(self, scores: impl Iterator<Item = f32>) -> f32 {
        match self.pooling {
            // The logarithm grows with its argument.
            SpladePooling::Max => self.scaled(scores.fold(0.0, f32::max)),
            SpladePooling::Sum => {
                scores.filter(|score| *score > 0.0).map(|score| self.scaled(score)).sum()
            }
        }
    }

    fn scaled(self, score: f32) -> f32 {
        let once = libm::log1pf(score);
        if self.is_logged_twice { libm::log1pf(once) } else { once }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_logarithms_of_positive_scores() {
        let scores = [-3.0_f32, 0.5, 2.0, -0.25];
        let [small, large] = [0.5, 2.0].map(libm::log1p);
        let weight = |pooling, is_logged_twice| {
            let settings = SpladeSettings { pooling, is_logged_twice };
            f64::from(settings.weight(scores.into_iter()))
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        near(weight(SpladePooling::Max, false), large);
        near(weight(SpladePooling::Sum, false), small + large);
        near(weight(SpladePooling::Max, true), libm::log1p(large));
        near(weight(SpladePooling::Sum, true), libm::log1p(small) + libm::log1p(large));
        for pooling in [SpladePooling::Max, SpladePooling::Sum] {
            let settings = SpladeSettings { pooling, is_logged_twice: false };
            assert_eq!(settings.weight([-1.0, 0.0].into_iter()), 0.0);
        }
    }
}
