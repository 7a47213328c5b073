//! Numbers of files against the limits of [`nanoembed_core::limit`], refused by their names.

use nanoembed_core::limit::{Exceeded, Limit};

use crate::error::{Error, Result};

/// The size `value` that a file gives under `name`: not 0 and within `limit`.
pub fn size(limit: Limit, name: &str, value: u64) -> Result<usize> {
    use nanoembed_core::ErrorKind::{BadMetadata, OverLimit};
    match limit.check(value) {
        Ok(0) => Err(Error::input(BadMetadata, format!("`{name}` is 0"))),
        Ok(size) => Ok(size),
        Err(_) => {
            let message = format!("`{name}`: {}", Exceeded { limit, value });
            Err(Error::input(OverLimit, message).with_hint(
                "the number is damaged, or the model is not of a kind that is known here",
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_out_of_range_are_refused_by_name() {
        assert_eq!(size(Limit::LAYERS, "layers", 12).unwrap(), 12);
        for value in [0, 1025, 1 << 31, u64::MAX] {
            let failure = size(Limit::LAYERS, "num_layers", value).unwrap_err();
            assert!(format!("{failure:?}").contains("`num_layers`"), "{failure:?}");
        }
    }
}
