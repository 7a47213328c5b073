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

/** The cosine of the angle between two vectors: 1 for the same direction, 0 if one of them has no length, NaN if an element is. */
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
  return lengths === 0 ? 0 : dot / lengths;
}

/** Refuses what is no number of things to be found. */
export function checkCount(k: number): void {
  check(k >= 0 && (Number.isInteger(k) || k === Infinity), "k must be a whole number");
}

let candidates: typeof import("./scan.js").candidates | undefined;
let scan: Promise<unknown> | undefined;

/** Brings what makes search in few bits fast. It says which vectors are looked at, not what they score. */
function bringScan(): void {
  scan ??= import("./scan.js").then(({ ready }) => (candidates = ready())).catch(() => {});
}

/**
 * The `k` vectors nearest to `query`, the best first.
 *
 * `vectors` are one flat array, as `embed` gives it for several texts, or what `quantizeVectors` made of it. The
 * latter are searched in WebAssembly, which is loaded when vectors are first quantised or searched, and by the same scores in
 * JavaScript until it is there.
 */
export function topK(query: ArrayLike<number>, vectors: Float32Array | QuantizedVectors, k: number): Hit[] {
  const dims = query.length;
  check(dims > 0, "the query has no elements");
  checkCount(k);
  const { codes, count, of } = scorer(query, vectors);
  let best: Hit[] = [];
  // What a vector has to score more than, once there are enough.
  let bar: number | undefined;
  // Equal scores stay in the order of the vectors.
  const sorted = () => best.sort((a, b) => b.score - a.score).slice(0, k);
  const few = codes && candidates?.(codes, vectors as QuantizedVectors, k);
  for (let at = 0; at < (few?.length ?? count); at += 1) {
    const index = few?.[at] ?? at;
    const value = of(index);
    if (Number.isNaN(value) || k < 1) continue;
    if (bar !== undefined && value <= bar) continue;
    best.push({ index, score: value });
    if (best.length < 2 * k) continue;
    best = sorted();
    bar = best[best.length - 1]!.score;
  }
  return sorted();
}

/** How many vectors there are, what one scores, and the query as it is compared with vectors in few bits. */
interface Scorer {
  count: number;
  of(index: number): number;
  codes?: ArrayLike<number>;
}

function scorer(query: ArrayLike<number>, vectors: Float32Array | QuantizedVectors): Scorer {
  const dims = query.length;
  if (vectors instanceof Float32Array) {
    check(vectors.length % dims === 0, `${vectors.length} numbers are no whole number of vectors of ${dims}`);
    return { count: vectors.length / dims, of: (index) => dot(query, vectors, index * dims) };
  }
  check(vectors.dims === dims, `the query has ${dims} elements, the vectors have ${vectors.dims}`);
  const { data, kind, scales } = vectors;
  if (kind === "int8") {
    bringScan();
    return { codes: query, count: data.length / dims, of: (index) => dot(query, data, index * dims) * scales![index]! };
  }
  check(kind === "binary", "no known kind of vectors");
  const codes = quantizeVectors(Float32Array.from(query), dims, "binary").data;
  return {
    codes,
    count: data.length / codes.length,
    // Of random directions half the bits differ: cos(π · differing / dims) is what the angle then is.
    of(index) {
      let differing = 0;
      for (let i = 0; i < codes.length; i += 1) {
        for (let byte = codes[i]! ^ data[index * codes.length + i]!; byte; byte &= byte - 1) differing += 1;
      }
      return Math.cos((Math.PI * differing) / dims);
    },
  };
}

function dot(query: ArrayLike<number>, data: ArrayLike<number>, start: number): number {
  let sum = 0;
  for (let i = 0; i < query.length; i += 1) sum += query[i]! * data[start + i]!;
  return sum;
}

/** Makes a flat array of vectors four times (`int8`) or 32 times (`binary`) smaller. */
export function quantizeVectors(vectors: Float32Array, dims: number, kind: "int8" | "binary"): QuantizedVectors {
  check(dims > 0 && vectors.length % dims === 0, `${vectors.length} numbers are no whole number of vectors of ${dims}`);
  const count = vectors.length / dims;
  // Codes would say nothing of it: NaN would be 0.
  const wrong = vectors.findIndex((value) => !Number.isFinite(value));
  check(wrong < 0, `vector ${Math.floor(wrong / dims)} has an element that is no finite number: ${vectors[wrong]}`);
  bringScan();
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
    data.set(vector.map((value) => Math.round(value * factor)), index * dims);
  }
  return { kind, data, scales, dims };
}
