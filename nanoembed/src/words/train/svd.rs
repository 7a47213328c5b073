//! Singular values of a square matrix by one-sided Jacobi rotations: slow, short and exact to the
//! last digits. Source: Golub & Van Loan, "Matrix Computations", 8.6.3.

use nanoembed_core::{Error, limit};

/// `A = U · diag(s) · Vᵀ`, singular values in falling order.
#[derive(Debug)]
pub struct Svd {
    /// Columns are left singular vectors; kept column by column.
    pub u: Vec<f64>,
    pub s: Vec<f64>,
    /// Columns are right singular vectors; kept column by column.
    pub v: Vec<f64>,
}

/// The singular values of the matrix whose columns of `n` numbers follow each other.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub fn svd(columns: &[f64], n: usize) -> Result<Svd, Error> {
    let mut a = limit::exactly(columns.iter().copied())?;
    let mut v = limit::exactly((0..n * n).map(|at| f64::from(u8::from(at / n == at % n))))?;
    for _ in 0..60 {
        let mut largest = 0.0_f64;
        for p in 0..n {
            for q in p + 1..n {
                largest = largest.max(rotate(&mut a, &mut v, n, (p, q)));
            }
        }
        if largest < 1e-13 {
            break;
        }
    }
    let length = |col: usize| a[col * n..(col + 1) * n].iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut order = limit::exactly((0..n).map(|col| (length(col), col)))?;
    order.sort_unstable_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
    let largest = order.first().map_or(0.0, |(length, _)| *length);
    let (u, v_sorted) = (limit::reserved(n * n)?, limit::reserved(n * n)?);
    let mut svd = Svd { u, s: limit::reserved(n)?, v: v_sorted };
    for (length, col) in order {
        let column = &a[col * n..(col + 1) * n];
        match length > largest * 1e-12 && length > 0.0 {
            true => svd.u.extend(column.iter().map(|x| x / length)),
            false => {
                let unit = orthogonal(&svd.u, n)?;
                svd.u.extend(unit);
            }
        }
        svd.s.push(length);
        svd.v.extend_from_slice(&v[col * n..(col + 1) * n]);
    }
    Ok(svd)
}

/// Makes two columns orthogonal; how far from it they were.
fn rotate(a: &mut [f64], v: &mut [f64], n: usize, (p, q): (usize, usize)) -> f64 {
    let (x, y) = two(a, n, p, q);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(&*y) {
        xx += x * x;
        yy += y * y;
        xy += x * y;
    }
    let bound = (xx * yy).sqrt();
    if bound == 0.0 || xy.abs() <= 1e-15 * bound {
        return 0.0;
    }
    let zeta = (yy - xx) / (2.0 * xy);
    let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let cosine = 1.0 / (1.0 + t * t).sqrt();
    let sine = cosine * t;
    turn((x, y), (cosine, sine));
    turn(two(v, n, p, q), (cosine, sine));
    xy.abs() / bound
}

fn turn((x, y): (&mut [f64], &mut [f64]), (cosine, sine): (f64, f64)) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

fn two(columns: &mut [f64], n: usize, p: usize, q: usize) -> (&mut [f64], &mut [f64]) {
    let (before, after) = columns.split_at_mut(q * n);
    (&mut before[p * n..(p + 1) * n], &mut after[..n])
}

/// A unit vector that is orthogonal to all columns.
fn orthogonal(columns: &[f64], n: usize) -> Result<Vec<f64>, Error> {
    let mut vector = limit::filled(n, 0.0)?;
    for axis in 0..n {
        vector.fill(0.0);
        vector[axis] = 1.0;
        // Twice is enough.
        for _ in 0..2 {
            for column in columns.chunks_exact(n) {
                let dot: f64 = column.iter().zip(&vector).map(|(x, y)| x * y).sum();
                vector.iter_mut().zip(column).for_each(|(to, x)| *to -= dot * x);
            }
        }
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.5 / (n as f64).sqrt() {
            vector.iter_mut().for_each(|x| *x /= length);
            return Ok(vector);
        }
    }
    vector.fill(0.0);
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::super::Numbers;
    use super::*;

    #[test]
    fn the_parts_make_the_matrix_and_are_orthogonal() {
        let mut numbers = Numbers::new(3);
        for (n, rank) in [(1, 1), (2, 2), (7, 7), (12, 5), (9, 0)] {
            let mut number = || numbers.below(2001) as f64 / 1000.0 - 1.0;
            let left: Vec<f64> = (0..n * rank).map(|_| number()).collect();
            let right: Vec<f64> = (0..n * rank).map(|_| number()).collect();
            let a: Vec<f64> = (0..n * n)
                .map(|at| (0..rank).map(|k| left[k * n + at % n] * right[k * n + at / n]).sum())
                .collect();
            let Svd { u, s, v } = svd(&a, n).unwrap();
            for (at, expected) in a.iter().enumerate() {
                let (col, row) = (at / n, at % n);
                let sum = |x: &[f64], y: &[f64], s: &dyn Fn(usize) -> f64| -> f64 {
                    (0..n).map(|k| x[k * n + row] * s(k) * y[k * n + col]).sum()
                };
                assert!((sum(&u, &v, &|k| s[k]) - expected).abs() < 1e-9);
                let identity = f64::from(u8::from(row == col));
                assert!((sum(&u, &u, &|_| 1.0) - identity).abs() < 1e-9, "{n} {rank}");
                assert!((sum(&v, &v, &|_| 1.0) - identity).abs() < 1e-9);
            }
            assert!(s.is_sorted_by(|x, y| x >= y));
        }
    }
}
