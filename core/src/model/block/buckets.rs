//! Relative position buckets (Raffel et al. 2020): the bias of a score depends on the offset
//! between key and query, exactly for near keys and in groups for far ones.

use crate::model::config::RelativeBuckets;

impl RelativeBuckets {
    /// The bucket of a key `offset` positions after its query (before it if negative); the first
    /// half of the buckets is for earlier keys.
    pub(in crate::model) fn bucket(&self, offset: isize) -> usize {
        let half = self.buckets / 2;
        let exact = half / 2;
        let side = if offset > 0 { half } else { 0 };
        let distance = offset.unsigned_abs();
        if distance < exact {
            return side + distance;
        }
        // In f32, as in training.
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let far = {
            let ratio = |distance: usize| libm::logf(distance as f32 / exact.max(1) as f32);
            (ratio(distance) / ratio(self.distance) * (half - exact) as f32) as usize
        };
        side + exact.saturating_add(far).min(half.saturating_sub(1))
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

    #[test]
    fn no_bucket_is_beyond_the_table() {
        for buckets in (0..70).chain([1 << 24]) {
            let exact = buckets / 4;
            for distance in [0, exact, exact + 1, exact + 2, 200, 1 << 24] {
                let Some(buckets) = RelativeBuckets::new(buckets, distance) else {
                    assert!(buckets < 4 || distance <= exact);
                    continue;
                };
                for offset in [0, 1, exact.cast_signed(), 1 << 24] {
                    let found = [offset, -offset].map(|offset| buckets.bucket(offset));
                    assert!(found.iter().all(|it| *it < buckets.buckets), "{buckets:?} {offset}");
                }
            }
        }
    }
}
