import { describe, expect, test } from "vitest";
import { NanoembedError, quantizeVectors, similarity, topK } from "../dist/index.js";

/** Numbers without a pattern, the same in every run. */
function noise(count: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

const unit = (vector: Float32Array) => {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
};

describe("similarity", () => {
  test("is the cosine", () => {
    expect(similarity([1, 0], [2, 0])).toBe(1);
    expect(similarity([1, 0], [0, 3])).toBe(0);
    expect(similarity([1, 2], [-2, -4])).toBeCloseTo(-1, 12);
  });

  test("of a vector without length is 0, and of different lengths is refused", () => {
    expect(similarity([0, 0], [1, 0])).toBe(0);
    expect(() => similarity([1], [1, 2])).toThrow(NanoembedError);
  });
});

describe("topK", () => {
  const dims = 24;
  const vectors = new Float32Array(50 * dims);
  for (let i = 0; i < 50; i += 1) vectors.set(unit(noise(dims, i + 1)), i * dims);
  const query = unit(noise(dims, 99));
  const scores = Array.from({ length: 50 }, (_, i) => similarity(query, vectors.subarray(i * dims, (i + 1) * dims)));
  const ranked = scores.map((score, index) => ({ score, index })).sort((a, b) => b.score - a.score);

  test.each([0, 1, 7, 50, 80])("finds the best %i as sorting all would", (k) => {
    const hits = topK(query, vectors, k);
    expect(hits.map((hit) => hit.index)).toEqual(ranked.slice(0, k).map((hit) => hit.index));
    hits.forEach((hit, at) => expect(hit.score).toBeCloseTo(ranked[at]!.score, 5));
  });

  test("leaves out what is not a number", () => {
    const odd = Float32Array.of(Number.NaN, 1, 2);
    expect(topK([1], odd, 3).map((hit) => hit.index)).toEqual([2, 1]);
  });

  test("agrees on int8 within half a code an element", () => {
    const small = quantizeVectors(vectors, dims, "int8");
    expect(small.data.byteLength).toBe(vectors.length);
    for (const { index, score } of topK(query, small, 50)) {
      expect(Math.abs(score - scores[index]!)).toBeLessThan(0.02);
    }
  });

  test("keeps the signs in binary, one bit an element", () => {
    const tiny = quantizeVectors(Float32Array.of(1, -1, 0.5, 0, 0, 0, 0, 2, -3), 9, "binary");
    expect([...tiny.data]).toEqual([0b10100001, 0]);
    const all = quantizeVectors(vectors, dims, "binary");
    expect(topK(vectors.subarray(5 * dims, 6 * dims), all, 1)).toEqual([{ index: 5, score: 1 }]);
  });

  test("refuses what is no whole number of vectors", () => {
    expect(() => topK([1, 2], new Float32Array(3), 1)).toThrow(/whole number/);
    expect(() => quantizeVectors(new Float32Array(3), 2, "int8")).toThrow(NanoembedError);
  });

  test("refuses embeddings in place of their data, and kinds that it does not know", () => {
    const embedding = { data: vectors.subarray(0, dims), dims };
    expect(() => similarity(embedding as never, embedding as never)).toThrow(NanoembedError);
    expect(() => topK(embedding.data, { data: vectors, dims } as never, 2)).toThrow(NanoembedError);
    expect(() => quantizeVectors(vectors, dims, "Int8" as never)).toThrow(NanoembedError);
  });
});
