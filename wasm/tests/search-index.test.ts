// The index in memory: what is found, how texts are cut, what is refused. That which browsers keep is in e2e/.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { load, topK, type SentenceModel } from "../dist/index.js";
import { createIndex, type IndexDocument, type IndexHit, type IndexOptions, type SearchIndex } from "../dist/search-index.js";
import { passagesOf } from "../js/passages.js";
import { Rows } from "../js/index-rows.js";
import { merging } from "../js/merging.js";
import { decodeSegment, decoding, encodeSegment, encoding, type Segment } from "../js/segment.js";
import { reading, writing } from "../js/segment-json.js";
import { atOnce, inSlices, type Work } from "../js/slices.js";
import { modelBytes, root, sentences } from "./files.js";

let model: SentenceModel;
beforeAll(async () => {
  model = await load(modelBytes(), { kind: "sentences" });
});
afterAll(() => model.dispose());

const open = (options: Partial<IndexOptions> = {}) => createIndex({ model, ...options });

const PETS: IndexDocument[] = [
  { id: "cat", text: "The cat sat on the mat.", metadata: { kind: "pet" } },
  { id: "bank", text: "Interest rates went up.", metadata: { kind: "money" } },
  { id: "bread", text: "Bread is made of flour.", metadata: { kind: "food" } },
];

describe("an index", () => {
  test("finds what texts mean, and says where it stands", async () => {
    const index = await open();
    expect(await index.add(PETS)).toEqual({ documents: 3, passages: 3 });
    const [best] = await index.search("How do I bake?", { k: 2 });
    expect(best).toMatchObject({ id: "bread", start: 0, end: 23, text: "Bread is made of flour.", metadata: { kind: "food" } });
    const { data } = await model.embed("How do I bake?");
    const { data: passage } = await model.embed("Bread is made of flour.");
    expect(best!.similarity).toBeCloseTo(data.reduce((sum, x, i) => sum + x * passage[i]!, 0), 2);
    expect(await index.search(data)).toEqual(await index.search("How do I bake?", { by: "meaning" }));
    expect([index.documents, index.passages]).toEqual([3, 3]);
    expect(await index.get("bank")).toEqual(PETS[1]);
    expect(await index.get("nobody")).toBeUndefined();
    const { passages, vectors } = await index.contents();
    expect(passages.map(({ text }) => text)).toEqual(PETS.map(({ text }) => text));
    expect(passages[topK(data, vectors, 1)[0]!.index]).toMatchObject({ id: "bread", start: 0, end: 23 });
    index.close();
    await expect(index.search("x")).rejects.toMatchObject({ code: "disposed" });
    await expect(index.add(PETS)).rejects.toMatchObject({ code: "disposed" });
  });

  test("gives metadata that are the caller's", async () => {
    const index = await open();
    await index.add(PETS);
    const [hit] = await index.search("cat", { k: 1 });
    (hit!.metadata as { kind: string }).kind = "changed";
    ((await index.contents()).passages[0]!.metadata as { kind: string }).kind = "changed";
    ((await index.get("cat"))!.metadata as { kind: string }).kind = "changed";
    expect(await index.get("cat")).toEqual(PETS[0]);
    index.close();
  });

  test("hears a signal, and that it is closed, while its source is silent, and tells it", async () => {
    const ended = vi.fn(() => Promise.resolve({ done: true as const, value: undefined }));
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}), return: ended }) };
    const index = await open();
    const stop = new AbortController();
    const adding = index.add(silent, { signal: stop.signal });
    stop.abort();
    await expect(adding).rejects.toMatchObject({ name: "AbortError" });
    const other = index.add(silent);
    index.close();
    await expect(other).rejects.toMatchObject({ code: "disposed" });
    expect(ended).toHaveBeenCalledTimes(2);
  });

  test("lets others run while it cuts a long text, and hears a signal", async () => {
    const index = await open();
    const stop = new AbortController();
    const embedded = vi.spyOn(model, "embedDocuments");
    setTimeout(() => stop.abort(), 20);
    const adding = index.add({ id: "long", text: "All work and no play. ".repeat(50_000) }, { signal: stop.signal });
    await expect(adding).rejects.toMatchObject({ name: "AbortError" });
    expect(embedded).not.toHaveBeenCalled();
    embedded.mockRestore();
    index.close();
  });

  test("takes documents from anywhere, the last one of an id, and forgets what is removed", async () => {
    const index = await open();
    await index.add(PETS[0]!);
    await index.add((async function* () {
      yield { id: "cat", text: "Dogs bark." };
      yield PETS[1]!;
      yield { id: "cat", text: "Rockets fly to the moon." };
    })());
    expect(await index.ids()).toEqual(["bank", "cat"]);
    expect((await index.search("space travel"))[0]).toMatchObject({ id: "cat", text: "Rockets fly to the moon.", metadata: undefined });
    expect((await index.search("pets")).map(({ id }) => id).sort()).toEqual(["bank", "cat"]);
    expect(await index.remove(["cat", "cat", "nobody"])).toBe(1);
    expect(await index.has("cat")).toBe(false);
    expect((await index.search("space travel")).map(({ id }) => id)).toEqual(["bank"]);
  });

  test("leaves out what a filter leaves out", async () => {
    for (const vectors of ["int8", "binary"] as const) {
      const index = await open({ vectors });
      await index.add(PETS);
      const filter = ({ metadata }: { metadata: unknown }) => (metadata as { kind: string }).kind !== "food";
      expect((await index.search("How do I bake?", { filter })).map(({ id }) => id)).not.toContain("bread");
    }
  });

  test("goes on in another one through export and import", async () => {
    const index = await open({ modelName: "MiniLM" });
    await index.add(PETS);
    await index.remove("bank");
    const bytes = await index.export();
    const other = await open({ keepTexts: false, modelName: "MiniLM" });
    expect(await other.import(bytes)).toEqual({ documents: 2, passages: 2 });
    const found = await other.search("How do I bake?");
    expect(found).toEqual((await index.search("How do I bake?", { by: "meaning" })).map((hit) => ({ ...hit, text: undefined })));
    await expect((await open({ modelName: "E5" })).import(bytes)).rejects.toMatchObject({ code: "other_model", message: expect.stringMatching(/"MiniLM" \(384.*"E5"/) });
    await expect((await open({ truncateDim: 64 })).import(bytes)).rejects.toMatchObject({ code: "other_model", message: expect.stringMatching(/384 elements.*64 elements/) });
  });

  test("refuses another model whose name nobody says", async () => {
    const index = await open();
    await index.add(PETS);
    const other = { ...stub(384), embedDocuments: async (texts: readonly string[]) => embeddings(texts, 384, 7) } as unknown as SentenceModel;
    await expect((await open({ model: other })).import(await index.export())).rejects.toMatchObject({ code: "other_model", message: expect.stringMatching(/whose vectors are others/) });
  });

  test("hears its signal, whatever its source throws when it is left", async () => {
    const index = await open();
    const next = () => ({ done: false, value: PETS[0]! });
    const source = { [Symbol.iterator]: () => ({ next, return: () => { throw new Error("left"); } }) };
    await expect(index.add(source, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    index.close();
  });

  test("says what is wrong with calls", async () => {
    const index = await open();
    for (const wrong of [3, "text", {}, [null], [{ id: 3, text: "x" }], [{ id: "a", text: 4 }], [{ id: "", text: "x" }], [{ id: "a", text: "x", metadata: 3n }]]) {
      await expect(index.add(wrong as never)).rejects.toMatchObject({ code: "invalid_argument" });
    }
    await expect(index.search("x", { k: 0 })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(index.search(new Float32Array(3))).rejects.toMatchObject({ code: "invalid_argument" });
    for (const wrong of [{ by: "rank" }, { weight: 2 }, { weight: Number.NaN }, { words: true }]) {
      await expect(index.search("x", wrong as never)).rejects.toMatchObject({ code: "invalid_argument" });
    }
    await expect(index.search(new Float32Array(384), { by: "words" })).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringMatching(/question in words/) });
    await expect((await open({ keepTexts: false })).search("x", { by: "both" })).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringMatching(/texts that are kept/) });
    for (const wrong of [{ store: "disk" }, { vectors: "f32" }, { chunk: { tokens: 3 } }, { chunk: { tokens: 1000 } }, { chunk: { tokens: 64, overlap: 40 } }]) {
      await expect(open(wrong as never)).rejects.toMatchObject({ code: "invalid_argument" });
    }
    // That browsers have, and Node has not.
    await expect(open({ store: "opfs" })).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("keeps what it has said it keeps when it is stopped", async () => {
    const index = await open();
    const stop = new AbortController();
    const many = Array.from({ length: 300 }, (_, at) => ({ id: String(at), text: `Text ${at}` }));
    const told: number[] = [];
    await expect(index.add(many, { signal: stop.signal, onProgress: ({ documents }) => {
      told.push(documents);
      stop.abort(new Error("enough"));
    } })).rejects.toThrow("enough");
    expect(told).toEqual([256]);
    expect(index.documents).toBe(256);
    expect(await index.add(many)).toEqual({ documents: 300, passages: 300 });
    expect([index.documents, index.passages]).toEqual([300, 300]);
  });
});

describe("words", () => {
  /** The passages of ranking/tests/bm25.py, and the values that it computes for them. */
  const passages = ["the cat sat on the mat", "the dog chased the cat and the other cat", "a bird", "parse_header reads a header"];
  const expected = [...readFileSync(join(root, "ranking/tests/bm25.rs"), "utf8").matchAll(/\("(.*)", \[(.*)\]\)/g)]
    .map(([, query, scores]) => [query!, scores!.split(", ").map(Number)] as const);
  const documents = passages.map((text, at) => ({ id: String(at), text }));

  test("are ranked as by the formula, whatever was there before and came later", async () => {
    const index = await open({ model: stub(8) as never });
    await index.add([...documents.slice(1, 3), { id: "gone", text: "the cat and the dog" }]);
    await index.search("cat", { by: "words" });
    await index.add([{ id: "2", text: "another cat" }, documents[0]!, documents[3]!]);
    await index.remove("gone");
    await index.add(documents[2]!);
    expect(expected).toHaveLength(5);
    for (const [query, scores] of expected) {
      const hits = await index.search(query, { by: "words" });
      expect(hits).toHaveLength(scores.filter((score) => score > 0).length);
      hits.forEach(({ id, score, similarity }, at) => {
        expect(score).toBeCloseTo(scores[Number(id)]!, 6);
        expect(score).toBeLessThanOrEqual(hits[at - 1]?.score ?? Infinity);
        expect(similarity).toBeUndefined();
      });
    }
    expect(await index.search("cats", { by: "words", k: 1 })).toMatchObject([{ id: "1", text: passages[1] }]);
    expect(await index.search("cats", { by: "words", filter: ({ id }) => id !== "1" })).toMatchObject([{ id: "0" }]);
  });

  test("are the same for questions at once, and after changes meanwhile", async () => {
    const many = Array.from({ length: 4000 }, (_, at) => ({ id: String(at), text: `passage ${at} of words that are many, ${"as in long texts, ".repeat(8)}${at % 7}` }));
    const [index, other] = [await open({ model: stub(8) as never }), await open({ model: stub(8) as never })];
    await index.add(many);
    const question = (which: SearchIndex) => which.search("passage 17 of many", { by: "words", k: 4000 });
    const asked = [question(index), question(index)];
    await index.remove(["5", "3999"]);
    asked.push(question(index));
    await Promise.all(asked);
    await other.add(many.filter(({ id }) => id !== "5" && id !== "3999"));
    const plain = (hits: IndexHit[]) => hits.map(({ id, score }) => [id, score]);
    expect(plain(await question(index))).toEqual(plain(await question(other)));
  });

  test("find what a model of meaning passes over, and count beside it", async () => {
    const index = await open();
    await index.add([...PETS, { id: "error", text: "The program ends with E0382." }, { id: "other", text: "The program ends with E0499." }]);
    expect((await index.search("what is E0382", { k: 1 }))[0]).toMatchObject({ id: "error", score: 1 });
    const [best] = await index.search("How do I bake?", { k: 1, weight: 1 });
    expect(best).toMatchObject({ id: "bread", score: 1 });
    const [meant] = await index.search("How do I bake?", { k: 1, by: "meaning" });
    expect(best!.similarity).toBeCloseTo(meant!.score, 6);
    // Stop words say nothing beside a meaning, and something alone.
    const both = (await index.search("What is on the?")).map(({ id }) => id);
    expect(both).toEqual((await index.search("What is on the?", { by: "meaning" })).map(({ id }) => id));
    expect((await index.search("on the", { by: "words" }))[0]).toMatchObject({ id: "cat" });
    expect(await index.search("", { by: "words" })).toEqual([]);
  });

  test.each([
    ["how to open a file", [0.7, 0.7]], ["wie kann man die Datei öffnen", [0.3, 0.7]], ["открыть файл", [0.1, 0.7]],
  ])("count more where the built-in model knows little: %s", async (question, shares) => {
    const known = question.split(" ").at(-1)!;
    for (const [at, share] of shares.entries()) {
      const index = await open({ model: nearest("near", at === 0) });
      await index.add([{ id: "words", text: `${known} file` }, { id: "near", text: "near" }]);
      const hits = await index.search(question);
      // One is the best by meaning alone, one by words alone.
      expect(Object.fromEntries(hits.map(({ id, score }) => [id, Number(score.toFixed(6))]))).toEqual({ near: share, words: Number((1 - share).toFixed(6)) });
      expect(await index.search(question, { weight: 0.5 })).toMatchObject([{ score: 0.5 }, { score: 0.5 }]);
    }
  });

  /** A model to which one text is all that questions mean, which is the built-in one by the mark of an index, or another. */
  function nearest(text: string, isBuiltIn: boolean): SentenceModel {
    const dims = 384;
    const axis = (at: number) => Float32Array.from({ length: dims }, (_, index) => Number(index === at));
    return {
      ...stub(dims), tokenize: (part: string) => model.tokenize(part),
      embedQuery: async () => ({ data: axis(40), dims, tokens: 3, truncated: false }),
      embedDocuments: async (texts: readonly string[]) => {
        const isMark = texts[0]!.startsWith("Which model");
        if (isMark && isBuiltIn) return model.embedDocuments(texts);
        const data = new Float32Array(texts.length * dims);
        texts.forEach((each, at) => data.set(axis(isMark ? 3 : each === text ? 40 : 50), at * dims));
        return { data, dims, tokens: texts.map(() => 3), truncated: texts.map(() => false) };
      },
    } as unknown as SentenceModel;
  }
});

describe("long texts", () => {
  const long = Array.from({ length: 12 }, () => sentences().map(({ text }) => text).slice(0, 12).join(" ")).join("\n\n");

  test("are cut where sentences end, into passages that the model reads whole", async () => {
    const index = await open({ chunk: { tokens: 64, overlap: 8 } });
    const { passages } = await index.add({ id: "long", text: long });
    const hits = await index.search("anything", { k: passages });
    expect(hits).toHaveLength(passages);
    const { truncated, tokens } = await model.embed(hits.map(({ text }) => text!), { maxTokens: 64 });
    expect(truncated).not.toContain(true);
    // Not much shorter than they may be.
    expect(tokens.reduce((sum, each) => sum + each) / passages).toBeGreaterThan(32);
    hits.sort((a, b) => a.start - b.start);
    let covered = 0;
    for (const { start, end, text } of hits) {
      expect(text).toBe(long.slice(start, end));
      expect(long.slice(covered, start).trim()).toBe("");
      expect(end).toBeGreaterThan(covered);
      covered = end;
    }
    expect(covered).toBe(long.trimEnd().length);
    expect(hits.some(({ start }, at) => at > 0 && start < hits[at - 1]!.end)).toBe(true);
  });

  test("are passages by paragraph and item where that is asked for", async () => {
    const text = "One.\n\nTwo lines\nof one.\n- an item\n- another, much longer item that does not fit where eight tokens may be";
    const places = await passagesOf(text, { tokens: 9, overlap: 0, paragraphs: true }, async (part) => words(part));
    expect(places.map(([start, end]) => text.slice(start, end))).toEqual([
      "One.", "Two lines\nof one.", "- an item", "- another, much longer item", "that does not fit where", "eight tokens may be",
    ]);
  });

  // A token a word, of four characters at most.
  const words = (text: string) => (text.match(/\S{1,4}/g) ?? []).length + 2;
  test.each([
    ["nothing", "  \n "], ["a word", " word "], ["no space", "x".repeat(5000)], ["pairs", "😀".repeat(900)], ["spaces", `a${" ".repeat(50_000)}b`.repeat(3)],
    ["lines", Array.from({ length: 500 }, (_, at) => `line ${at}`).join("\n")], ["sentences", "This is one. And another! Why? ".repeat(200)],
  ])("of %s lose nothing, and are cut in few steps", async (_, text) => {
    for (const overlap of [0, 4, 16]) {
      let steps = 0;
      let seen = 0;
      const places = await passagesOf(text, { tokens: 32, overlap, paragraphs: false }, async (part) => {
        steps += 1;
        seen += part.length;
        return words(part);
      });
      let covered = 0;
      for (const [start, end] of places) {
        expect(words(text.slice(start, end))).toBeLessThanOrEqual(32);
        expect(text.slice(covered, start).trim()).toBe("");
        expect(end).toBeGreaterThan(covered);
        expect(text.slice(start, end).isWellFormed()).toBe(true);
        covered = end;
      }
      expect(text.slice(covered).trim()).toBe("");
      expect(steps).toBeLessThanOrEqual(4 * places.length + 16);
      expect(seen).toBeLessThan(12 * text.length + 1000);
    }
  });
});

/** Numbers without a pattern, the same in every run. */
function noise(count: number, seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

const embeddings = (texts: readonly string[], dims: number, seed = 1) => ({
  data: noise(texts.length * dims, texts.length + seed), dims, tokens: texts.map(() => 3), truncated: texts.map(() => false),
});

/** A model that says nothing of meaning. */
const stub = (dims: number) => ({
  kind: "sentences", dims, maxTokens: 64, prompts: [], embedDocuments: async (texts: readonly string[]) => embeddings(texts, dims),
  embedQuery: async () => ({ ...embeddings([""], dims), tokens: 3, truncated: false }), tokenize: async () => ({ ids: new Uint32Array(), total: 3, truncated: false }),
});

describe("rows", () => {
  test.each([8, 30, 384])("of %i elements are found as by f64", (dims) => {
    const count = 2500;
    const codes = Int8Array.from(noise(count * dims, 1), (x) => Math.round(127 * x));
    const scales = noise(count, 2).map((x) => 0.5 + x / 4);
    const rows = new Rows(dims, false);
    // In parts that end within blocks.
    for (let at = 0; at < count; at += 700) rows.add(codes.subarray(at * dims, (at + 700) * dims), scales.subarray(at, at + 700));
    for (let row = 0; row < count; row += 7) rows.remove(row);
    expect([rows.count, rows.live]).toEqual([count, count - Math.ceil(count / 7)]);
    const query = noise(dims, 3);
    const exact = Array.from({ length: count }, (_, row) => ({ row, score: scales[row]! * query.reduce((sum, x, i) => sum + x * codes[row * dims + i]!, 0) }))
      .filter(({ row }) => row % 7 !== 0 && row % 2 === 0).sort((a, b) => b.score - a.score);
    const found = rows.search(query, 20, (row) => row % 2 === 0);
    expect(found.map(({ row }) => row)).toEqual(exact.slice(0, 20).map(({ row }) => row));
    found.forEach(({ score }, at) => expect(score).toBeCloseTo(exact[at]!.score, 3 - Math.ceil(Math.log10(dims))));
    expect(rows.search(query, 5000, () => true)).toHaveLength(rows.live);
    expect(rows.search(query.fill(Number.NaN), 5, () => true)).toEqual([]);
  });

  test("by their signs first are nearly those of all", () => {
    const [dims, count] = [128, 6000];
    // Around some centres, as texts are.
    const centres = noise(60 * dims, 4);
    const codes = Int8Array.from(noise(count * dims, 5), (x, at) => Math.round(60 * x + 60 * centres[((Math.floor(at / dims) % 60) * dims) + (at % dims)]!));
    const [exact, quick] = [new Rows(dims, false), new Rows(dims, true)];
    for (const rows of [exact, quick]) rows.add(codes, new Float32Array(count).fill(0.01));
    let hits = 0;
    for (let at = 0; at < 20; at += 1) {
      const query = Float32Array.from(codes.subarray(at * 97 * dims, (at * 97 + 1) * dims)).map((x, i) => x + 30 * noise(dims, at)[i]!);
      const all = exact.search(query, 10, () => true);
      const found = quick.search(query, 10, () => true);
      expect(found[0]).toEqual(all[0]);
      hits += found.filter(({ row }) => all.some((hit) => hit.row === row)).length;
    }
    expect(hits / 200).toBeGreaterThan(0.95);
  });
});

describe("a segment", () => {
  const mark = { name: "m", dims: 3, probe: [1, 0, 0] };
  const segment = (removed: string[], ...documents: [id: string, codes: number[]][]): Segment => ({
    model: mark, removed, documents: documents.map(([id, codes]) => ({ id, passages: Array.from({ length: codes.length / 3 }, (_, at) => [at, at + 1] as const), text: `text of ${id} 😀` })),
    codes: Int8Array.from(documents.flatMap(([, codes]) => codes)), scales: Float32Array.from(documents.flatMap(([, codes]) => codes.filter((_, at) => at % 3 === 0)).map(Math.abs)),
  });
  const one = segment(["x"], ["a", [1, 2, 3, 4, 5, 6]], ["b", [7, 8, 9]]);

  test("is read as it was written, from any place", () => {
    const bytes = encodeSegment(one);
    expect(decodeSegment(bytes)).toEqual(one);
    const moved = new Uint8Array(bytes.length + 1);
    moved.set(bytes, 1);
    expect(decodeSegment(moved.subarray(1))).toEqual(one);
  });

  test("that is cut, longer, or has another bit is refused, and never by a panic", () => {
    const bytes = encodeSegment(one);
    for (let end = 0; end < bytes.length; end += 1) {
      expect(() => decodeSegment(bytes.slice(0, end))).toThrow(expect.objectContaining({ name: "NanoembedError", offset: end < 4 ? 0 : end }));
    }
    expect(() => decodeSegment(new Uint8Array([...bytes, 0]))).toThrow(expect.objectContaining({ code: "trailing_bytes" }));
    for (let bit = 0; bit < 8 * bytes.length; bit += 1) {
      const damaged = bytes.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => decodeSegment(damaged)).toThrow(expect.objectContaining({ name: "NanoembedError" }));
    }
  });

  test.each([
    ["bad_field", { documents: [{ id: "a", passages: [[0, 99]], text: "short" }] }], ["bad_field", { documents: [{ id: "a", passages: [[2, 1]] }] }],
    ["bad_field", { documents: [{ id: 3, passages: [] }] }], ["bad_field", { documents: [null] }], ["bad_field", { documents: "x" }], ["bad_field", { removed: [1] }],
    ["bad_field", { documents: [{ id: "a", passages: [[0, 1]] }, { id: "a", passages: [] }] }], ["bad_count", { documents: [] }],
    ["bad_field", { model: { name: "m", dims: 3, probe: ["x"] } }], ["bad_scale", { scales: Float32Array.of(Number.NaN, 1, 1) }],
  ])("with a right checksum over what is wrong is refused: %s %j", (code, wrong) => {
    expect(() => decodeSegment(encodeSegment({ ...one, ...wrong } as never))).toThrow(expect.objectContaining({ code }));
  });

  test("stands for several, one after the other", () => {
    const later = segment(["b"], ["c", [10, 11, 12]], ["a", [13, 14, 15]]);
    const last = segment([], ["b", [16, 17, 18]]);
    expect(atOnce(merging([one, later, last], false))).toEqual({ ...segment(["x", "b"], ["a", [13, 14, 15]], ["c", [10, 11, 12]], ["b", [16, 17, 18]]) });
    expect(atOnce(merging([one, later], true)).removed).toEqual([]);
  });
});

describe("documents in JSON", () => {
  const outcome = (run: () => unknown) => {
    try {
      return run();
    } catch {
      return "refused";
    }
  };
  const same = (text: string) => expect([text.slice(0, 99), outcome(() => atOnce(reading(text)))]).toEqual([text.slice(0, 99), outcome(() => JSON.parse(text))]);
  // What looks like the ends of documents, and is none.
  const odd = ['},{"id":"x","passages":[', "\\", '\\"', '"', "]}", "\\\\\"},{", 'x"documents":[', "ü😀\u2028", "x".repeat(70_000), ""];
  const documents = odd.flatMap((text, at) => [
    { id: `a${at}${text.slice(0, 30)}`, passages: [], text },
    { id: `b${at}`, passages: [], metadata: [{ id: text.slice(0, 9) }, { id: "y", documents: [{}, [[], text.slice(0, 5)]] }] },
  ]);
  const head = { model: { name: '"documents":[', dims: 1, probe: [1] }, removed: ['"documents":[', "x"] };

  test("are written and read in parts as in one", () => {
    const many = Array.from({ length: 40 }, () => documents).flat();
    // Longer than a part, and full of what looks like its end.
    const nested = { id: "n", passages: [], metadata: Array.from({ length: 30_000 }, (_, at) => ({ id: at })) };
    for (const all of [many, [], [nested, ...documents, nested], documents]) {
      const text = JSON.stringify({ ...head, documents: all });
      expect(Buffer.concat(atOnce(writing(head, all))).toString()).toBe(text);
      expect(atOnce(reading(text))).toEqual(JSON.parse(text));
      same(`${text}  `);
    }
  });

  test("are refused wherever all of them are", () => {
    const long = JSON.stringify({ id: "long", text: "x".repeat(66_000) });
    for (const text of ['{"documents":[]}', '{"documents": [1]}', '{"documents":[1,2],"documents":[3]}', '{"documents":[1],"model":2}', "[]", "7", "",
      '{"documents":[1,]}', '{"documents":[,1]}', '{"documents":[1 2]}', '{"documents":[1}', '{"documents":[1]]', '{"documents":[1]}}', '{"documents":["]}',
      '{"a":{"documents":[1]}}', '{"x\\"documents":[1]}', '\ufeff{"documents":[1]}', '{"documents":[\ufeff1]}', '{"documents":[1]}\u00a0', '{"documents":[1]}     ',
      '{"documents":[', '"documents":[]}', `{"documents":[${long},${long},]}`, `{"documents":[${long},,${long}]}`, `{"documents":[,${long}]}`,
      `{"documents":[${long},${long}]}`, `{"documents":[${long}${long}]}`, `{"documents":[${long},${long}}]}`, `{"documents":[${long}],"documents":[${long}]}`,
      `{"documents":[[${long},${long}]]}`, `{"documents":[[${long}],${long}]]}`, `{"documents":[${long},${long}], "a":[]}`, `{"documents":[${long},${long},{"id":]}`]) {
      same(text);
    }
    const small = JSON.stringify({ ...head, documents: documents.filter(({ text }) => (text?.length ?? 0) < 1000) });
    for (let at = 0; at < small.length; at += 1) for (const other of ['"', ",", "]", "}", "\\"]) same(small.slice(0, at) + other + small.slice(at + 1));
  });
});

describe("long work", () => {
  const segment = (count: number): Segment => ({
    model: { name: "m", dims: 256, probe: [1] }, removed: [], scales: new Float32Array(count).fill(1), codes: new Int8Array(256 * count),
    documents: Array.from({ length: count }, (_, at) => ({ id: String(at), passages: [[0, 1]] as const, text: `text ${at} `.repeat(20) })),
  });
  /** In how many slices it may be done. */
  const slices = (work: Work<unknown>) => {
    let count = 1;
    while (!work.next().done) count += 1;
    return count;
  };

  test("can be interrupted, the more often the more there is", () => {
    for (const work of [encoding, (all: Segment) => decoding(encodeSegment(all)), (all: Segment) => merging([all, all], false)]) {
      const [some, twice] = [slices(work(segment(10_000))), slices(work(segment(20_000)))];
      expect(some).toBeGreaterThan(20);
      expect(twice / some).toBeGreaterThan(1.8);
    }
  });

  test("lets others in, and ends where it is told to", async () => {
    function* forever(): Work<never> {
      for (;;) yield;
    }
    let turns = 0;
    const ended = inSlices(forever(), () => {
      if (turns > 0) throw new Error("enough");
    });
    setTimeout(() => (turns += 1));
    await expect(ended).rejects.toThrow("enough");
  });
});

describe("closing", () => {
  const waiting = () => {
    let signal: AbortSignal | undefined;
    const never = new Promise<never>(() => {});
    const embedDocuments = async (texts: readonly string[], options: { signal?: AbortSignal } = {}) => {
      if (texts.length === 1 && signal === undefined && options.signal === undefined) return embeddings(texts, 16);
      signal = options.signal;
      return never;
    };
    return { model: { ...stub(16), embedDocuments, embedQuery: () => never } as never, aborted: () => signal?.aborted };
  };
  const disposed = { name: "NanoembedError", code: "disposed", message: "the index was closed" };

  test.each([undefined, new AbortController().signal])("ends all that is under way, and the embedding", async (signal) => {
    const { model, aborted } = waiting();
    const index = await createIndex({ model });
    const under = [
      index.add(PETS, signal ? { signal } : {}), index.search("x"),
      index.add((async function* () { await new Promise(() => {}); yield PETS[0]!; })()),
    ];
    await new Promise((over) => setTimeout(over));
    expect(aborted()).toBe(false);
    index.close();
    index.close();
    for (const each of under) await expect(each).rejects.toMatchObject(disposed);
    expect(aborted()).toBe(true);
    for (const each of [index.add(PETS), index.import(new Uint8Array()), index.ids(), index.remove("x"), index.export(), index.contents()]) {
      await expect(each).rejects.toMatchObject(disposed);
    }
    expect([index.documents, index.passages]).toEqual([0, 0]);
  });

  test("leaves nothing of what was being taken in", async () => {
    const from = await createIndex({ model: stub(16) as never });
    await from.add(Array.from({ length: 3000 }, (_, at) => ({ id: String(at), text: "x" })));
    const bytes = await from.export();
    const index = await createIndex({ model: stub(16) as never });
    const under = [index.import(bytes), index.add(PETS), index.remove("1")];
    index.close();
    for (const each of under) await expect(each).rejects.toMatchObject(disposed);
    await new Promise((over) => setTimeout(over, 50));
    expect([index.documents, index.passages]).toEqual([0, 0]);
  });
});

test("rows of documents that are gone are given up", async () => {
  const index: SearchIndex = await createIndex({ model: stub(16) as never });
  const many = Array.from({ length: 3000 }, (_, at) => ({ id: String(at), text: "x" }));
  let most = 0;
  for (let turn = 0; turn < 6; turn += 1) {
    await index.add(many);
    most = Math.max(most, index.memoryBytes);
  }
  expect([index.documents, index.passages]).toEqual([3000, 3000]);
  // 18,000 rows were added.
  expect(most).toBeLessThan(12_000 * 20 + 200_000);
  expect(await index.search(noise(16, 1), { k: 5000 })).toHaveLength(3000);
});
