//! Product quantisers: vectors are cut into parts, and each part becomes the number of the nearest
//! of a few hundred centroids. Source: Jégou et al. 2011, "Product Quantization for Nearest
//! Neighbor Search"; rotations from Ge et al. 2013, "Optimized Product Quantization".

pub mod kmeans;
pub mod product;
pub mod rotation;
pub mod svd;

use std::collections::HashSet;

use nanoembed_core::{Error, limit};

use crate::hashed;

/// Numbers that are made from a seed: the same each time, unlike one another.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        // SplitMix64 (Steele et al. 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = u128::from(number ^ (number >> 31));
        usize::try_from((number * end as u128) >> 64).unwrap_or(0)
    }

    /// Different numbers below `end` in rising order, `count` or all.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub fn sample(&mut self, end: usize, count: usize) -> Result<Vec<usize>, Error> {
        // Floyd's method: every choice is as likely as any other.
        let count = count.min(end);
        let mut chosen = HashSet::new();
        let mut sample = limit::reserved(count)?;
        for last in end - count..end {
            let mut number = self.below(last + 1);
            if !hashed::add(&mut chosen, number)? {
                number = last;
                hashed::add(&mut chosen, number)?;
            }
            sample.push(number);
        }
        sample.sort_unstable();
        Ok(sample)
    }
}
