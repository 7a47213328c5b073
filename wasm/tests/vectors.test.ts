import { beforeAll, describe, expect, test, vi } from "vitest";
import { NanoembedError, quantizeVectors, similarity, topK, type Hit, type QuantizedVectors } from "../dist/index.js";

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
    expect(similarity([NaN, 1], [1, 0])).toBeNaN();
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

describe("search in few bits", () => {
  let compiled: ReturnType<typeof vi.spyOn>;
  beforeAll(async () => {
    // Sentences' module is not among them: nothing here embeds.
    compiled = vi.spyOn(WebAssembly, "Instance");
    quantizeVectors(noise(3, 1), 3, "int8");
    await vi.waitFor(() => expect(compiled).toHaveBeenCalled());
    await new Promise((over) => setTimeout(over));
  });

  /** What f64 says of all vectors, the best first, the first one first among equals. */
  function twin(query: Float32Array, small: QuantizedVectors, k: number): Hit[] {
    const bits = quantizeVectors(query, query.length, "binary").data;
    const bytes = small.kind === "int8" ? query.length : bits.length;
    const all = Array.from({ length: small.data.length / bytes }, (_, index) => {
      const row = [...small.data.subarray(index * bytes, (index + 1) * bytes)];
      if (small.kind === "int8") return { index, score: row.reduce((sum, code, i) => sum + query[i]! * code, 0) * small.scales![index]! };
      const differing = row.reduce((sum, byte, i) => sum + [...(byte ^ bits[i]!).toString(2)].filter((bit) => bit === "1").length, 0);
      return { index, score: Math.cos((Math.PI * differing) / query.length) };
    });
    return all.sort((a, b) => b.score - a.score || a.index - b.index).slice(0, k);
  }

  test.each([1, 7, 8, 9, 24, 31, 100, 384].flatMap((dims) => [3, 50, 1000].map((count) => [dims, count] as const)))(
    "of %i elements among %i gives the hits and the scores of f64, bit for bit", (dims, count) => {
      for (const kind of ["int8", "binary"] as const) {
        const small = quantizeVectors(noise(count * dims, dims + count), dims, kind);
        for (const k of [1, 2, 10, count]) {
          const query = noise(dims, k);
          expect(topK(query, small, k)).toEqual(twin(query, small, k));
        }
      }
    });

  test("takes vectors that do not fit its memory at once, and views of larger arrays", () => {
    const [dims, count] = [96, 3000];
    const small = quantizeVectors(noise(count * dims, 5), dims, "int8");
    const moved = new Int8Array(count * dims + 3);
    moved.set(small.data, 3);
    const query = noise(dims, 6);
    expect(topK(query, { ...small, data: moved.subarray(3) }, 5)).toEqual(twin(query, small, 5));
    const wide = quantizeVectors(noise(12 * 200_000, 7), 200_000, "int8");
    expect(topK(noise(200_000, 8), wide, 2)).toEqual(twin(noise(200_000, 8), wide, 2));
  });

  test("finds the same among vectors that hardly differ", () => {
    const dims = 32;
    const one = noise(dims, 9);
    const vectors = new Float32Array(400 * dims);
    for (let i = 0; i < 400; i += 1) vectors.set(one.map((value, at) => value * (1 + i * 1e-7) + (at === i % dims ? 0.004 : 0)), i * dims);
    const small = quantizeVectors(vectors, dims, "int8");
    expect(topK(one, small, 20)).toEqual(twin(one, small, 20));
  });

  test("leaves out what is not a number, and knows nothing of a query that is none", () => {
    const small = quantizeVectors(noise(100 * 8, 3), 8, "int8");
    small.scales![4] = Number.NaN;
    const query = noise(8, 4);
    const before = twin(query, { ...small, scales: small.scales!.with(4, 0) }, 100).filter(({ index }) => index !== 4);
    expect(topK(query, small, 9)).toEqual(before.slice(0, 9));
    expect(topK(query.with(2, Number.NaN), small, 3)).toEqual([]);
    expect(topK(query.with(2, Infinity), small, 3)).toHaveLength(3);
    expect(topK(new Float32Array(8), small, 3).map(({ score }) => Math.abs(score))).toEqual([0, 0, 0]);
  });
});

test("how many are wanted is a whole number, or all", () => {
  const vectors = noise(40, 7);
  expect(topK(vectors.subarray(0, 4), vectors, Infinity).length).toBe(10);
  for (const k of [NaN, undefined, -1, 1.5]) expect(() => topK(vectors.subarray(0, 4), vectors, k as number)).toThrow(NanoembedError);
});

test("vectors that are not finite are not quantised, whatever they would become", () => {
  for (const odd of [Number.NaN, Infinity, -Infinity]) {
    for (const kind of ["int8", "binary"] as const) {
      expect(() => quantizeVectors(Float32Array.of(1, 2, 3, odd), 2, kind)).toThrow(/vector 1 .*no finite number/);
    }
    expect(() => topK([odd, 1], quantizeVectors(Float32Array.of(1, 2), 2, "binary"), 1)).toThrow(NanoembedError);
  }
});

test("all of many vectors are found in order, whatever order they have", () => {
  const count = 200_000;
  const vectors = Float32Array.from({ length: count }, (_, at) => Math.floor(at / 2) / count);
  const all = topK([1], vectors, count);
  const expected = [...vectors.keys()].sort((a, b) => vectors[b]! - vectors[a]! || a - b);
  expect(all.map(({ index }) => index)).toEqual(expected);
  for (const k of [Infinity, count - 1, 1000, 3, 1, 0]) {
    expect(topK([1], vectors, k).map(({ index }) => index)).toEqual(expected.slice(0, k));
  }
});
