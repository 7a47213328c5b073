import { check } from "./errors.js";

/** Vectors in fewer bytes. */
export interface QuantizedVectors {
  kind: "int8" | "binary";
  /** One signed byte an element, or one bit, the first in the highest bit of the first byte: 1 where it is above 0. */
  data: Int8Array | Uint8Array;
  /** For `int8`: what a code of each vector is worth. */
  scales?: Float32Array;
  dims: number;
}

/** A vector among others. */
export interface Hit {
  /** Which of the vectors. */
  index: number;
  /** The dot product: for vectors of length 1, as models give them, the cosine of the angle between them. */
  score: number;
}

/** The cosine of the angle between two vectors: 1 for the same direction, 0 if one of them has no length. */
export function similarity(a: ArrayLike<number>, b: ArrayLike<number>): number {
  check(a.length >= 0 && a.length === b.length, `vectors of ${a.length} and ${b.length} elements cannot be compared`);
  let dot = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i += 1) {
    const x = a[i]!;
    const y = b[i]!;
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  const lengths = Math.sqrt(aa * bb);
  return lengths > 0 ? dot / lengths : 0;
}

/**
 * The `k` vectors nearest to `query`, the best first.
 *
 * `vectors` are one flat array, as `embed` gives it for several texts, or what `quantizeVectors` made of it.
 */
export function topK(query: ArrayLike<number>, vectors: Float32Array | QuantizedVectors, k: number): Hit[] {
  const dims = query.length;
  check(dims > 0, "the query has no elements");
  const score = scorer(query, vectors);
  const count = score.count;
  const best: Hit[] = [];
  for (let index = 0; index < count; index += 1) {
    const value = score.of(index);
    if (Number.isNaN(value) || k < 1) continue;
    if (best.length >= k && value <= best[best.length - 1]!.score) continue;
    let at = best.length;
    while (at > 0 && best[at - 1]!.score < value) at -= 1;
    best.splice(at, 0, { index, score: value });
    if (best.length > k) best.pop();
  }
  return best;
}

function scorer(query: ArrayLike<number>, vectors: Float32Array | QuantizedVectors) {
  const dims = query.length;
  if (vectors instanceof Float32Array) {
    check(vectors.length % dims === 0, `${vectors.length} numbers are no whole number of vectors of ${dims}`);
    return { count: vectors.length / dims, of: (index: number) => dot(query, vectors, index * dims) };
  }
  check(vectors.dims === dims, `the query has ${dims} elements, the vectors have ${vectors.dims}`);
  const { data, scales } = vectors;
  if (vectors.kind === "int8") {
    return { count: data.length / dims, of: (index: number) => dot(query, data, index * dims) * scales![index]! };
  }
  check(vectors.kind === "binary", "no known kind of vectors");
  const bits = quantizeVectors(Float32Array.from(query), dims, "binary").data;
  return {
    count: data.length / bits.length,
    // Of random directions half the bits differ: cos(π · differing / dims) is what the angle then is.
    of(index: number) {
      let differing = 0;
      for (let i = 0; i < bits.length; i += 1) differing += ones(bits[i]! ^ data[index * bits.length + i]!);
      return Math.cos((Math.PI * differing) / dims);
    },
  };
}

function dot(query: ArrayLike<number>, data: ArrayLike<number>, start: number): number {
  let sum = 0;
  for (let i = 0; i < query.length; i += 1) sum += query[i]! * data[start + i]!;
  return sum;
}

function ones(byte: number): number {
  const pairs = byte - ((byte >> 1) & 0x55);
  const fours = (pairs & 0x33) + ((pairs >> 2) & 0x33);
  return (fours + (fours >> 4)) & 15;
}

/** Makes a flat array of vectors four times (`int8`) or 32 times (`binary`) smaller. */
export function quantizeVectors(vectors: Float32Array, dims: number, kind: "int8" | "binary"): QuantizedVectors {
  check(dims > 0 && vectors.length % dims === 0, `${vectors.length} numbers are no whole number of vectors of ${dims}`);
  const count = vectors.length / dims;
  if (kind === "binary") {
    const bytes = Math.ceil(dims / 8);
    const data = new Uint8Array(count * bytes);
    for (let index = 0; index < count; index += 1) {
      for (let i = 0; i < dims; i += 1) {
        if (vectors[index * dims + i]! > 0) data[index * bytes + (i >> 3)]! |= 128 >> (i & 7);
      }
    }
    return { kind, data, dims };
  }
  check(kind === "int8", "no known kind of vectors");
  const data = new Int8Array(vectors.length);
  const scales = new Float32Array(count);
  for (let index = 0; index < count; index += 1) {
    const vector = vectors.subarray(index * dims, (index + 1) * dims);
    const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    scales[index] = largest / 127;
    const factor = largest > 0 ? 127 / largest : 0;
    for (let i = 0; i < dims; i += 1) data[index * dims + i] = Math.round(vector[i]! * factor);
  }
  return { kind, data, scales, dims };
}
