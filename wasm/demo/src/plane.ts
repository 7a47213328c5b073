/** Points in a unit square for vectors, by their two main directions (power iteration on the covariance). */
export function plane(vectors: Float32Array, dims: number): [number, number][] {
  const count = vectors.length / dims;
  if (count === 0) return [];
  const mean = new Float64Array(dims);
  for (let at = 0; at < vectors.length; at += 1) mean[at % dims]! += vectors[at]! / count;
  const along = (axis: Float64Array) =>
    Float64Array.from({ length: count }, (_, row) => {
      let sum = 0;
      for (let at = 0; at < dims; at += 1) sum += (vectors[row * dims + at]! - mean[at]!) * axis[at]!;
      return sum;
    });
  const axes: Float64Array[] = [];
  for (const first of [1, 2]) {
    let axis = Float64Array.from({ length: dims }, (_, at) => Math.sin((at + 1) * first));
    for (let step = 0; step < 24; step += 1) {
      const scores = along(axis);
      const next = new Float64Array(dims);
      for (let row = 0; row < count; row += 1) {
        for (let at = 0; at < dims; at += 1) next[at]! += scores[row]! * (vectors[row * dims + at]! - mean[at]!);
      }
      for (const known of axes) {
        const share = known.reduce((sum, value, at) => sum + value * next[at]!, 0);
        for (let at = 0; at < dims; at += 1) next[at]! -= share * known[at]!;
      }
      const length = Math.hypot(...next) || 1;
      axis = next.map((value) => value / length);
    }
    axes.push(axis);
  }
  const [xs, ys] = axes.map((axis) => spread(along(axis)));
  return Array.from({ length: count }, (_, row) => [xs![row]!, ys![row]!]);
}

/** To 0 … 1, half by value and half by rank: far points stay far, and crowds can be told apart. */
function spread(values: Float64Array): Float64Array {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const order = Array.from(values.keys()).sort((a, b) => values[a]! - values[b]!);
  const result = new Float64Array(values.length);
  order.forEach((index, rank) => {
    const byValue = (values[index]! - least) / (most - least || 1);
    result[index] = (byValue + rank / Math.max(1, values.length - 1)) / 2;
  });
  return result;
}
