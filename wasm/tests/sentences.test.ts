import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { load, memoryBytes, similarity, type SentenceModel } from "../dist/index.js";
import { createWorker } from "../dist/worker.js";
import { bytes, floats, largestDifference, modelBytes, sentences } from "./files.js";

const WIDTH = 384;
let model: SentenceModel;
beforeAll(async () => {
  model = await load(modelBytes(), { kind: "sentences" });
});
afterAll(() => model.dispose());

describe("the default model", () => {
  const all = sentences();

  test("has the token ids of the reference", async () => {
    for (const { text, ids } of all) {
      expect([...(await model.tokenize(text)).ids]).toEqual(ids);
    }
  });

  test.each(["default", "precise"] as const)("embeds the reference sentences, %s", async (precision) => {
    const reference = floats("minilm", "embeddings_max256.f32");
    const { data, tokens, truncated } = await model.embed(all.map(({ text }) => text), { precision });
    let sum = 0;
    let least = 1;
    all.forEach(({ ids, row }, at) => {
      const vector = data.subarray(at * WIDTH, (at + 1) * WIDTH);
      const cosine = similarity(vector, reference.subarray(row * WIDTH, (row + 1) * WIDTH));
      sum += cosine;
      least = Math.min(least, cosine);
      expect(tokens[at]).toBe(Math.min(256, ids.length));
      expect(truncated[at]).toBe(ids.length > 256);
    });
    expect(sum / all.length).toBeGreaterThan(0.998);
    expect(least).toBeGreaterThan(0.99);
  });

  test("gives one text the vector that it has among others", async () => {
    const texts = ["one", "The quick brown fox jumps over the lazy dog.", "Ünïcödé 日本語", ""];
    const { data } = await model.embed(texts);
    for (const [at, text] of texts.entries()) {
      const one = await model.embed(text);
      expect(largestDifference(one.data, data.subarray(at * WIDTH, (at + 1) * WIDTH))).toBeLessThan(1e-6);
    }
  });
});

describe("options", () => {
  const long = "word ".repeat(400);

  test("long texts are cut, and said to be", async () => {
    const { tokens, truncated } = await model.embed(long);
    expect([tokens, truncated]).toEqual([256, true]);
    expect(await model.embed(long, { maxTokens: 512 })).toMatchObject({ tokens: 402, truncated: false });
    expect(await model.tokenize(long, { maxTokens: 10 })).toMatchObject({ total: 402, truncated: true });
    for (const maxTokens of [1, -1, NaN]) {
      await expect(model.tokenize(long, { maxTokens })).rejects.toMatchObject({ code: "invalid_argument" });
    }
  });

  test("or refused", async () => {
    await expect(model.embed("x", { truncate: "start" as never })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(model.embed(["short", long], { truncate: "error" })).rejects.toMatchObject({ code: "too_many_tokens" });
    expect((await model.embed("short", { truncate: "error" })).truncated).toBe(false);
    const stream = model.embedStream([...Array(40).fill("short"), long], { truncate: "error" });
    await expect((async () => { for await (const _ of stream); })()).rejects.toThrow("text 40 has 402 tokens");
  });

  test("truncateDim keeps the first elements, of length 1", async () => {
    const whole = (await model.embed("a text")).data;
    const { data, dims } = await model.embed(["a text", "another"], { truncateDim: 64 });
    expect([dims, data.length]).toEqual([64, 128]);
    expect(Math.hypot(...data.subarray(0, 64))).toBeCloseTo(1, 6);
    expect(similarity(data.subarray(0, 64), whole.subarray(0, 64))).toBeCloseTo(1, 6);
    await expect(model.embed("x", { truncateDim: 385 })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("progress counts the texts that have their vectors", async () => {
    const seen: { done: number; total: number }[] = [];
    const texts = Array.from({ length: 100 }, (_, at) => `text number ${at}`);
    await model.embed(texts, { onProgress: (progress) => seen.push(progress) });
    expect(seen.at(-1)).toEqual({ done: 100, total: 100 });
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.map(({ done }) => done)).toEqual([...new Set(seen.map(({ done }) => done))].sort((a, b) => a - b));
  });

  test("out is filled, and must be large enough", async () => {
    const out = new Float32Array(1000);
    const { data } = await model.embed(["a", "b"], { out });
    expect(data.buffer).toBe(out.buffer);
    expect(data.length).toBe(2 * WIDTH);
    await expect(model.embed(["a", "b", "c"], { out })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("each text has its row of the one array, also of workers", async () => {
    const pool = createWorker({ workers: 2 });
    try {
      for (const each of [model, await pool.load(modelBytes(), { kind: "sentences" })]) {
        const out = new Float32Array(200);
        const { data, rows, dims } = await each.embed(["a", "b", "c"], { truncateDim: 64, out });
        expect([data.buffer === out.buffer, dims]).toEqual([true, 64]);
        expect(rows.map(({ buffer, byteOffset, length }) => [buffer === out.buffer, byteOffset, length])).toEqual([[true, 0, 64], [true, 256, 64], [true, 512, 64]]);
        expect((await each.embed([])).rows).toEqual([]);
      }
    } finally {
      pool.dispose();
    }
  });

  test("a question does not wait for the texts that were given before it", async () => {
    const done: string[] = [];
    const texts = Array.from({ length: 300 }, (_, at) => `text number ${at} of many`);
    const given = texts.slice();
    const many = model.embed(given).then((all) => (done.push("many"), all));
    const one = model.embed("a question").then((vector) => (done.push("one"), vector));
    expect((await one).data).toEqual((await model.embed("a question")).data);
    const { data } = await many;
    expect(done).toEqual(["one", "many"]);
    expect(largestDifference(data.subarray(299 * WIDTH), (await model.embed(texts[299]!)).data)).toBeLessThan(1e-6);
  });

  test("calls at the same time do not mix their texts", async () => {
    const texts = ["one", "two", "three", "four", "five"];
    const alone: Float32Array[] = [];
    for (const text of texts) alone.push((await model.embed(text)).data);
    const together = await Promise.all(texts.map((text) => model.embed(text)));
    together.forEach(({ data }, at) => expect(data).toEqual(alone[at]));
  });

  test("no texts give no vectors, and what is no text is refused", async () => {
    expect((await model.embed([])).data.length).toBe(0);
    await expect(model.embed([1 as never])).rejects.toMatchObject({ code: "invalid_argument" });
    expect((await model.embed("still works")).tokens).toBe(4);
  });

  test("a signal stops between batches", async () => {
    const controller = new AbortController();
    const texts = Array.from({ length: 200 }, () => "word ".repeat(200));
    const running = model.embed(texts, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
    await expect(model.embed("x", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
    expect((await model.embed("goes on")).tokens).toBe(4);
  });

  test("others have their turn after at most 128 tokens and a text", async () => {
    const texts = Array.from({ length: 100 }, (_, at) => `text number ${at} of many`);
    let [turns, isOver] = [0, false];
    const others = () => {
      turns += 1;
      if (!isOver) setImmediate(others);
    };
    setImmediate(others);
    const steps: number[] = [];
    const { tokens } = await model.embed(texts, { onProgress: ({ done }) => void steps.push(done) });
    isOver = true;
    for (const [at, done] of steps.entries()) {
      const batch = tokens.slice(steps[at - 1] ?? 0, done);
      expect(batch.slice(0, -1).reduce((sum, count) => sum + count, 0)).toBeLessThan(128);
    }
    expect(turns).toBeGreaterThanOrEqual(steps.length - 1);
  });

  test("streams of texts keep their order", async () => {
    async function* lines() {
      for (let i = 0; i < 40; i += 1) yield `line ${i}`;
    }
    const seen: number[] = [];
    for await (const { index, text, data, tokens } of model.embedStream(lines())) {
      expect(text).toBe(`line ${index}`);
      expect([data.length, tokens]).toEqual([WIDTH, 4]);
      seen.push(index);
    }
    expect(seen).toEqual(Array.from({ length: 40 }, (_, i) => i));
  });

  test("streams give the vector of a text before they ask for one that is not there yet", async () => {
    let got = () => {};
    async function* questions() {
      for (let i = 0; i < 3; i += 1) {
        const answered = new Promise<void>((resolve) => (got = resolve));
        yield `question ${i}`;
        await answered;
      }
    }
    let count = 0;
    for await (const { index } of model.embedStream(questions())) {
      expect(index).toBe(count++);
      got();
    }
    expect(count).toBe(3);
  });

  test("streams end when they are told to while their source is silent, and tell it", async () => {
    let ended = false;
    const silent: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<never>(() => {}),
        return: async () => {
          ended = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const stream = model.embedStream(silent, { signal: AbortSignal.timeout(50) });
    await expect(stream.next()).rejects.toMatchObject({ name: "TimeoutError" });
    expect(ended).toBe(true);
    async function* failing() {
      yield "one";
      throw new Error("no more");
    }
    const failed = model.embedStream(failing());
    expect((await failed.next()).value).toMatchObject({ index: 0, text: "one" });
    await expect(failed.next()).rejects.toThrow("no more");
  });

  test("streams leave nothing at their signal, and take no place for vectors", async () => {
    const { signal } = new AbortController();
    for await (const _ of model.embedStream(["It rains.", "It snows."], { signal })) continue;
    await new Promise((over) => setTimeout(over));
    expect(getEventListeners(signal, "abort").length).toBe(0);
    for (const options of [{ out: new Float32Array(384) }, { onProgress() {} }]) {
      await expect(model.embedStream(["It rains."], options as object).next()).rejects.toMatchObject({ code: "invalid_argument" });
    }
  });

  test("what is no text and no array of texts is refused", async () => {
    for (const wrong of [new Set(["a"]), ["a"].values(), 42, { 0: "a" }]) {
      await expect(model.embed(wrong as unknown as string)).rejects.toMatchObject({ code: "invalid_argument" });
    }
    await expect(model.embedStream("hi there").next()).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

describe("sources", () => {
  const file = modelBytes();
  const stream = (step: number) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < file.length; at += step) controller.enqueue(file.subarray(at, at + step));
        controller.close();
      },
    });
  const sources = {
    "an ArrayBuffer": () => file.buffer,
    "a part of one": () => new DataView(file.buffer),
    "a Blob": () => new Blob([file]),
    "a stream": () => stream(100_003),
    "a Response": () => new Response(stream(1 << 20)),
  };

  test.each(Object.entries(sources))("%s", async (_, source) => {
    using loaded = await load(source(), { kind: "sentences" });
    expect((await loaded.embed("hello")).data).toEqual((await model.embed("hello")).data);
  });

  test("progress counts up to the end", async () => {
    const seen: number[] = [];
    let last;
    const loaded = await load(new Blob([file]), { onProgress: (progress) => seen.push((last = progress).loaded) });
    loaded.dispose();
    expect(last).toEqual({ loaded: file.length, total: file.length, phase: "ready" });
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });
});

describe("what is wrong is told", () => {
  const cut = modelBytes().subarray(0, 400_000);

  test("a file that ends too early", async () => {
    await expect(load(cut)).rejects.toMatchObject({ code: "unexpected_end", format: "embd", offset: 400_000 });
  });

  test("a flipped bit anywhere in the weights", async () => {
    const broken = modelBytes();
    broken[12_345_678]! ^= 4;
    await expect(load(broken)).rejects.toMatchObject({ code: "data_checksum", format: "embd" });
  });

  test("something else altogether", async () => {
    for (const nothing of [undefined, null, 7, {}, []]) {
      await expect(load(nothing as unknown as string)).rejects.toMatchObject({ code: "invalid_argument" });
    }
    await expect(load(new TextEncoder().encode("<!doctype html><p>404"))).rejects.toMatchObject({ code: "unknown_format" });
    await expect(load(new Uint8Array())).rejects.toMatchObject({ code: "unknown_format" });
    await expect(load(modelBytes(), { kind: "words" })).rejects.toMatchObject({ code: "wrong_kind" });
    await expect(load(bytes("embd", "section_all_dtypes_flags7.weights"))).rejects.toMatchObject({ code: "missing_tensor" });
  });

  test("a file larger than allowed, and another digest", async () => {
    await expect(load(cut, { limits: { maxBytes: 1000 } })).rejects.toMatchObject({ code: "too_large" });
    await expect(load(modelBytes(), { integrity: `sha256-${"A".repeat(43)}=` })).rejects.toMatchObject({ code: "integrity" });
    await expect(load(modelBytes(), { integrity: "md5-x" })).rejects.toMatchObject({ code: "invalid_argument" });
    const digest = Buffer.from(await crypto.subtle.digest("SHA-256", modelBytes())).toString("base64");
    (await load(modelBytes(), { integrity: `sha256-${digest}` })).dispose();
  });

  test("a model that was disposed of", async () => {
    const gone = await load(modelBytes(), { kind: "sentences" });
    gone[Symbol.dispose]();
    gone.dispose();
    await expect(gone.embed("x")).rejects.toMatchObject({ code: "disposed" });
    await expect(gone.tokenize("x")).rejects.toMatchObject({ code: "disposed" });
  });
});

test("loading, failing and disposing leave the module's memory as it is", async () => {
  const broken = modelBytes();
  broken[20_000_000]! ^= 1;
  async function round() {
    const loaded = await load(modelBytes(), { kind: "sentences" });
    await loaded.embed(["a text", "word ".repeat(300)]);
    loaded.dispose();
    await load(broken).catch(() => {});
    const controller = new AbortController();
    const aborted = load(new Blob([modelBytes()]), {
      signal: controller.signal,
      onProgress: ({ loaded: bytes }) => bytes > 9e6 && controller.abort(),
    });
    await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
  }
  await round();
  await round();
  const before = memoryBytes();
  for (let i = 0; i < 8; i += 1) await round();
  expect(memoryBytes()).toBe(before);
}, 240_000);
