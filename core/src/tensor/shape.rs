//! Shapes: up to [`MAX_DIMS`] dimensions, checked products.

/// The most dimensions a tensor may have here.
pub const MAX_DIMS: usize = 8;

/// The dimensions of a tensor, outermost first (row-major).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    dims: [u64; MAX_DIMS],
    ndim: u8,
}

impl Shape {
    /// The shape without dimensions, of one element.
    pub const SCALAR: Self = Self { dims: [1; MAX_DIMS], ndim: 0 };

    /// A shape of the given dimensions; `None` if there are more than [`MAX_DIMS`].
    #[must_use]
    pub fn new(dims: &[u64]) -> Option<Self> {
        let ndim = u8::try_from(dims.len()).ok()?;
        let mut all = [1; MAX_DIMS];
        all.get_mut(..dims.len())?.copy_from_slice(dims);
        Some(Self { dims: all, ndim })
    }

    /// The dimensions, outermost first.
    #[must_use]
    pub fn dims(&self) -> &[u64] {
        self.dims.get(..usize::from(self.ndim)).unwrap_or(&[])
    }

    /// The number of elements; `None` if it does not fit 64 bits. A shape without dimensions has
    /// one element.
    #[must_use]
    pub fn elements(&self) -> Option<u64> {
        self.dims().iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim))
    }

    /// The number of rows: the outermost dimension, 1 for a tensor without dimensions.
    #[must_use]
    pub fn rows(&self) -> u64 {
        if self.ndim < 2 { 1 } else { self.dims[0] }
    }

    /// The number of elements in a row: the product of all dimensions but the outermost, or the
    /// length of a vector.
    #[must_use]
    pub fn cols(&self) -> Option<u64> {
        let inner = if self.ndim < 2 { self.dims() } else { self.dims().get(1..)? };
        inner.iter().try_fold(1_u64, |product, &dim| product.checked_mul(dim))
    }
}

impl core::fmt::Debug for Shape {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.dims()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_one_row() {
        let shape = Shape::new(&[7]).unwrap();
        assert_eq!((shape.rows(), shape.cols()), (1, Some(7)));
    }

    #[test]
    fn a_product_that_wraps_is_none() {
        assert_eq!(Shape::new(&[1 << 32, 1 << 32]).unwrap().elements(), None);
    }

    #[test]
    fn nine_dimensions_are_too_many() {
        assert_eq!(Shape::new(&[1; 9]), None);
    }
}
