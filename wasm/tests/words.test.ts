import { describe, expect, test } from "vitest";
import { load, open, similarity, type WordVectors } from "../dist/index.js";
import * as slim from "../dist/slim.js";
import { bytes, json, wordVectors } from "./files.js";

type Expected = Record<string, Record<string, { embedding: number[] } | null>>;
const expected = json<Expected>("finalfusion", "expected.json");
const names = ["bucket_e2.fifu", "explicit.fifu", "fasttext.fifu", "floret.fifu", "quantized_p1_n1_pad0.fifu", "quantized_p0_n1_pad3.fifu"]
  .filter((name) => name in expected);
const file = (name: string) => bytes("finalfusion", name);

/** All the ways to get at a file's words. */
const ways: Record<string, (name: string) => Promise<WordVectors>> = {
  "loaded": (name) => load(file(name), { kind: "words" }),
  "where it is": (name) => open(new Blob([file(name)])),
  "loaded by the slim module": (name) => slim.load(file(name)),
  "where it is, by the slim module": (name) => slim.open(new Blob([file(name)])),
};

describe.each(Object.entries(ways))("a file %s", (_, get) => {
  test.each(names)("%s has the vectors of the reference", async (name) => {
    using words = await get(name);
    for (const [word, answer] of Object.entries(expected[name]!)) {
      const found = await words.vector(word);
      if (!answer) {
        expect(found, word).toBeUndefined();
        continue;
      }
      expect(found!.vector.length).toBe(words.dims);
      answer.embedding.forEach((value, at) => expect(found!.vector[at]).toBeCloseTo(value, 5));
      expect(found!.known).toBe(found!.subwords === 0);
    }
  });

  test("neighbours are those that comparing with every word gives", async () => {
    using words = await get("fasttext.fifu");
    const all: { word: string; vector: Float32Array }[] = [];
    for (let row = 0; row < words.count; row += 1) {
      const word = await words.word(row);
      all.push({ word, vector: (await words.vector(word))!.vector });
    }
    for (const query of [all[0]!, all[5]!]) {
      const ranked = all
        .filter(({ word }) => word !== query.word)
        .map(({ word, vector }) => ({ word, score: similarity(query.vector, vector) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, 5);
      const found = await words.similar(query.word, { k: 5 });
      expect(found.map(({ word }) => word)).toEqual(ranked.map(({ word }) => word));
      found.forEach(({ score }, at) => expect(score).toBeCloseTo(ranked[at]!.score, 4));
      expect((await words.similar(query.vector, { k: 1 }))[0]!.word).toBe(query.word);
    }
    const [a, b, c] = [all[1]!, all[2]!, all[3]!];
    const target = b.vector.map((value, at) => value - a.vector[at]! + c.vector[at]!);
    const best = all
      .filter(({ word }) => ![a.word, b.word, c.word].includes(word))
      .sort((x, y) => similarity(target, y.vector) - similarity(target, x.vector))[0]!;
    expect((await words.analogy(a.word, b.word, c.word, { k: 3 }))[0]!.word).toBe(best.word);
  });

  test("a vector of any length is as near to words as its direction is, and k is a count", async () => {
    using words = await get("fasttext.fifu");
    const { vector } = (await words.vector(await words.word(0)))!;
    const [one, ten] = await Promise.all([1, 10].map((factor) => words.similar(vector.map((x) => factor * x), { k: 3 })));
    one!.forEach(({ word, score }, at) => {
      expect(ten![at]!.word).toBe(word);
      expect(ten![at]!.score).toBeCloseTo(score, 5);
    });
    expect((await words.similar(vector, { k: Infinity })).length).toBe(words.count);
    for (const k of [-1, 1.5, NaN, null as never]) await expect(words.similar(vector, { k })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("words that nothing is known of have no neighbours", async () => {
    using words = await get("quantized_p1_n1_pad0.fifu");
    expect(words.subwords).toBe("simple");
    expect(await words.vector("no such word")).toBeUndefined();
    expect(await words.similar("no such word")).toEqual([]);
    expect(await words.analogy("no", "such", "word")).toEqual([]);
  });
});

test("words that are disposed of while they search say so", async () => {
  const words = await open(new Blob([file("explicit.fifu")]));
  const searching = words.similar(new Float32Array(words.dims).fill(1));
  await Promise.resolve();
  words.dispose();
  await expect(searching).rejects.toMatchObject({ code: "disposed" });
});

test("a file that stays where it is is read in parts", async () => {
  const whole = file("explicit.fifu");
  let read = 0;
  const blob = new Blob([whole]);
  const slice = blob.slice.bind(blob);
  blob.slice = (start, end, type) => {
    read += end! - start!;
    return slice(start, end, type);
  };
  using words = await open(blob);
  await words.vector("ganz");
  expect(read).toBeGreaterThan(0);
  await words.vector("ganz");
});

test("what is wrong is told", async () => {
  await expect(open(new Blob([file("fasttext.fifu").subarray(0, 5000)]))).rejects.toMatchObject({ format: "finalfusion" });
  await expect(slim.load(bytes("embd", "section_realvocab_flags7.weights"))).rejects.toMatchObject({ code: "unknown_format" });
  const words = await load(file("fasttext.fifu"), { kind: "words" });
  words.dispose();
  await expect(words.vector("x")).rejects.toMatchObject({ code: "disposed" });
  await expect(load(file("fasttext.fifu"), { kind: "sentences" })).rejects.toMatchObject({ code: "wrong_kind" });
});

describe("a file that is larger than what is kept of it", () => {
  // Rows of 8 kB: a thousand lookups fill what is kept; and rows of 200 bytes: some lie in stretches that were read for others.
  test.each([[3000, 2048], [20000, 50]])("%i words of %i elements have the same neighbours as in memory", async (count, dims) => {
    const blob = wordVectors(count, dims);
    using there = await open(blob);
    using here = await load(blob, { kind: "words" });
    // Not the first ones, which come with the header.
    const word = (at: number) => `word${100 + ((at * 7919) % (count - 100))}`;
    for (let at = 0; at < 1023; at += 1) expect(await there.vector(word(at))).toBeDefined();
    for (let at = 0; at < 4; at += 1) {
      const three = [word(at), word(at + 2000), word(at + 1500)] as const;
      expect(await there.analogy(...three, { k: 3 })).toEqual(await here.analogy(...three, { k: 3 }));
      expect(await there.similar(word(at), { k: 3 })).toEqual(await here.similar(word(at), { k: 3 }));
    }
    expect(await there.vector(word(5))).toEqual(await here.vector(word(5)));
  });

  test("words are spelled by n-grams that lie between others", async () => {
    const blob = wordVectors(1000, 50, 50_000);
    using there = await open(blob);
    using here = await load(blob, { kind: "words" });
    for (let at = 0; at < 500; at += 1) expect(await there.vector(`unseen${at}`)).toEqual(await here.vector(`unseen${at}`));
  });
});

test("what is no word and no row is refused", async () => {
  using words = await load(file("fasttext.fifu"), { kind: "words" });
  const refused = { code: "invalid_argument" };
  for (const row of [NaN, undefined, -1, 1.5, words.count]) await expect(words.word(row as number)).rejects.toMatchObject(refused);
  for (const word of [5, undefined]) {
    await expect(words.vector(word as never)).rejects.toMatchObject(refused);
    await expect(words.analogy("a", "b", word as never)).rejects.toMatchObject(refused);
  }
});
