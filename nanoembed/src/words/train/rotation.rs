//! Rotations that make vectors fit for being cut into parts: `x · P` is quantised, so that a
//! reconstruction is `P · centroids`.

use nanoembed_core::{Error, limit};

use super::svd::svd;

/// A matrix `[n, n]`, row by row; `x · P` has `Σ_i x_i · P[i][j]` at `j`.
#[derive(Clone, Debug)]
pub struct Rotation {
    pub n: usize,
    pub rows: Vec<f32>,
}

impl Rotation {
    /// `x · P` into `out`.
    pub fn apply(&self, x: &[f32], out: &mut [f32]) {
        out.fill(0.0);
        for (value, row) in x.iter().zip(self.rows.chunks_exact(self.n)) {
            out.iter_mut().zip(row).for_each(|(to, factor)| *to += value * factor);
        }
    }
}

/// The main axes of the vectors, dealt to `parts` parts so that the products of their variances are
/// alike ("Gaussian" optimisation of Ge et al.).
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn principal(vectors: &[f32], n: usize, parts: usize) -> Result<Rotation, Error> {
    let count = vectors.len() / n.max(1);
    let mut covariance = limit::filled(n * n, 0.0_f64)?;
    for vector in vectors.chunks_exact(n.max(1)) {
        for (x, row) in vector.iter().zip(covariance.chunks_exact_mut(n)) {
            row.iter_mut().zip(vector).for_each(|(to, y)| *to += f64::from(*x) * f64::from(*y));
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of vectors in memory")]
    covariance.iter_mut().for_each(|value| *value /= count.max(1) as f64);
    // Of a symmetric matrix without negative eigenvalues the singular vectors are the eigenvectors.
    let axes = svd(&covariance, n)?;
    let columns = deal(&axes.s, parts)?;
    from_columns(n, columns.iter().map(|&axis| &axes.u[axis * n..(axis + 1) * n]))
}

/// The order of the axes: each goes to the part whose product is the smallest so far and has room.
fn deal(variances: &[f64], parts: usize) -> Result<Vec<usize>, Error> {
    let room = variances.len() / parts.max(1);
    let mut dealt = limit::filled(room * parts, 0)?;
    // The product and the number of axes of each part.
    let mut filled = limit::filled(parts, (0.0_f64, 0))?;
    let smallest = variances.first().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE) * 1e-9;
    for (axis, variance) in variances.iter().enumerate() {
        let with_room = filled.iter_mut().enumerate().filter(|(_, (_, axes))| *axes < room);
        if let Some((part, (product, axes))) = with_room.min_by(|x, y| x.1.0.total_cmp(&y.1.0)) {
            *product += (variance.max(smallest) / smallest).ln();
            dealt[part * room + *axes] = axis;
            *axes += 1;
        }
    }
    Ok(dealt)
}

/// The rotation of the vectors nearest to `targets`: `min_P |X·P − Y|` over orthogonal `P`
/// (Schönemann 1966, "A generalized solution of the orthogonal Procrustes problem").
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn towards(vectors: &[f32], targets: &[f32], n: usize) -> Result<Rotation, Error> {
    // Column j of XᵀY.
    let mut product = limit::filled(n * n, 0.0_f64)?;
    for (vector, target) in vectors.chunks_exact(n.max(1)).zip(targets.chunks_exact(n.max(1))) {
        for (y, column) in target.iter().zip(product.chunks_exact_mut(n)) {
            column.iter_mut().zip(vector).for_each(|(to, x)| *to += f64::from(*x) * f64::from(*y));
        }
    }
    let parts = svd(&product, n)?;
    // P = U·Vᵀ: column j is Σ_k u_k · v_k[j].
    product.fill(0.0);
    for (j, column) in product.chunks_exact_mut(n.max(1)).enumerate() {
        for (u, v) in parts.u.chunks_exact(n).zip(parts.v.chunks_exact(n)) {
            column.iter_mut().zip(u).for_each(|(to, u)| *to += u * v[j]);
        }
    }
    from_columns(n, product.chunks_exact(n.max(1)))
}

#[expect(clippy::cast_possible_truncation, reason = "files have f32")]
fn from_columns<'c>(n: usize, columns: impl Iterator<Item = &'c [f64]>) -> Result<Rotation, Error> {
    let mut rows = limit::filled(n * n, 0.0)?;
    for (j, column) in columns.enumerate() {
        for (i, value) in column.iter().enumerate() {
            rows[i * n + j] = *value as f32;
        }
    }
    Ok(Rotation { n, rows })
}

#[cfg(test)]
mod tests {
    use super::super::Numbers;
    use super::*;

    fn vectors(n: usize, count: usize) -> Vec<f32> {
        let mut numbers = Numbers::new(9);
        let mut number = || numbers.below(2001) as f32 / 1000.0 - 1.0;
        (0..count)
            .flat_map(|_| (0..n).map(|col| number() * (1 + col % 3) as f32).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn a_rotation_is_found_again() {
        let n = 6;
        let x = vectors(n, 200);
        let rotation = principal(&x, n, 3).unwrap();
        let mut y = vec![0.0; x.len()];
        for (x, y) in x.chunks(n).zip(y.chunks_mut(n)) {
            rotation.apply(x, y);
            let length = |x: &[f32]| x.iter().map(|x| x * x).sum::<f32>();
            assert!((length(x) - length(y)).abs() < 1e-4);
        }
        let found = towards(&x, &y, n).unwrap();
        assert!(found.rows.iter().zip(&rotation.rows).all(|(x, y)| (x - y).abs() < 1e-5));
    }

    #[test]
    fn axes_are_dealt_evenly() {
        assert_eq!(deal(&[8.0, 4.0, 2.0, 1.0], 2).unwrap(), [0, 3, 1, 2]);
        assert_eq!(deal(&[1.0, 0.0, 0.0], 1).unwrap(), [0, 1, 2]);
    }
}
