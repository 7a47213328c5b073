//! Relative positions in buckets (Raffel et al. 2020): what is added to a score depends on how far
//! its key lies before or behind its query, near ones exactly and far ones together.

use crate::model::config::RelativeBuckets;

impl RelativeBuckets {
    /// The bucket of a key that lies `offset` positions behind its query, or before it if that is
    /// negative: the first half of the buckets is for keys before.
    pub(in crate::model) fn bucket(&self, offset: isize) -> usize {
        let half = self.buckets / 2;
        let exact = half / 2;
        let side = if offset > 0 { half } else { 0 };
        let distance = offset.unsigned_abs();
        if distance < exact {
            return side + distance;
        }
        // In f32, as the models were trained.
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let far = {
            let ratio = |distance: usize| libm::logf(distance as f32 / exact.max(1) as f32);
            (ratio(distance) / ratio(self.distance) * (half - exact) as f32) as usize
        };
        side + (exact + far).min(half.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of `relative_position_bucket` in transformers 5.
    #[test]
    fn near_keys_have_buckets_of_their_own_and_far_ones_share() {
        let buckets = RelativeBuckets { buckets: 32, distance: 128 };
        let offsets = [0, -1, -7, -8, -11, -12, -16, -64, -127, -128, -500, 1, 7, 8, 16, 128];
        let expected = [0, 1, 7, 8, 8, 9, 10, 14, 15, 15, 15, 17, 23, 24, 26, 31];
        assert_eq!(offsets.map(|offset| buckets.bucket(offset)), expected);
    }
}
