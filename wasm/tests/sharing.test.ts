// Pools whose workers share a model, in Node: what they give, and what they hold.
import { afterEach, expect, test, vi } from "vitest";
import { load, type SentenceModel } from "../dist/index.js";
import { createWorker, type WorkerPool } from "../dist/worker.js";
import { bytes, modelBytes, sentences, wordVectors } from "./files.js";
import { expected } from "./folders.js";
import { NodeWorker } from "./node-worker.js";
import { weightsOf } from "./weights.js";

const pools: WorkerPool[] = [];
const started: NodeWorker[] = [];

function pool(workers: number, share: boolean, file = share ? "shared-thread.js" : "worker-thread.js"): WorkerPool {
  const create = () => {
    const worker = new NodeWorker(new URL(`../dist/${file}`, import.meta.url));
    started.push(worker);
    return worker as never;
  };
  const made = createWorker({ workers, share, create });
  pools.push(made);
  return made;
}

afterEach(() => {
  for (const made of pools.splice(0)) made.dispose();
  started.length = 0;
  vi.unstubAllGlobals();
});

const texts = Array.from({ length: 150 }, (_, at) => `How do I reset password ${at}? ${"It rains. ".repeat(at % 13)}`);
const MEGABYTE = 2 ** 20;
/** Larger than all that a worker needs besides. */
const PADDING = 24 * MEGABYTE;

test.each([
  ["mpnet", () => weightsOf("mpnet"), expected("mpnet").rows[0]!],
  ["distilbert", () => weightsOf("distilbert"), expected("distilbert").rows[0]!],
  ["BERT", modelBytes, sentences()[0]!],
])("%s has the same bits in one instance, in workers with copies and in workers that share it", async (_, file, row) => {
  using alone = await load(file(), { kind: "sentences" });
  const { data } = await alone.embed(texts);
  for (const share of [false, true]) {
    const model = await pool(3, share).load(file(), { kind: "sentences" });
    const asked = await Promise.all([model.embed(texts), ...texts.slice(0, 40).map((text) => model.embed(text)), model.embed(texts)]);
    expect(asked[0]!.data).toEqual(data);
    expect(asked.at(-1)!.data).toEqual(data);
    asked.slice(1, -1).forEach((one, at) => expect(one.data).toEqual(data.slice(at * alone.dims, (at + 1) * alone.dims)));
    expect([...(await model.tokenize(row.text, { maxTokens: model.maxTokens })).ids]).toEqual(row.ids);
  }
});

test.each([
  ["mpnet", weightsOf("mpnet", PADDING)],
  ["BERT", modelBytes()],
])("there is one copy of %s in workers that share it", async (_, file) => {
  const [copies, shared] = [pool(3, false), pool(3, true)];
  for (const each of [copies, shared]) await (await each.load(file)).dispose();
  expect(await copies.memoryBytes()).toBeGreaterThan(3 * file.length);
  expect(await shared.memoryBytes()).toBeGreaterThan(file.length);
  expect(await shared.memoryBytes()).toBeLessThan(1.5 * file.length);
});

test("a model's memory is there for the next when all workers have disposed of it", async () => {
  const file = weightsOf("mpnet", PADDING);
  const shared = pool(2, true);
  const sizes: number[] = [];
  for (let time = 0; time < 5; time += 1) {
    const model = (await shared.load(file)) as SentenceModel;
    // One after the other: how far memory grows depends on what workers do at the same time.
    for (const text of texts.slice(0, 40)) await model.embed(text);
    model.dispose();
    sizes.push(await shared.memoryBytes());
  }
  expect(new Set(sizes.slice(1)).size).toBe(1);
  // Two at once have memory each.
  const [one, two] = [await shared.load(file), await shared.load(file)];
  expect(await shared.memoryBytes()).toBeGreaterThan(2 * PADDING);
  one.dispose();
  expect((await (two as SentenceModel).embed("It rains.")).dims).toBe(two.kind === "sentences" ? two.dims : 0);
});

test("errors are those of one instance, and name the argument", async () => {
  const model = await pool(2, true).load(weightsOf("mpnet"), { kind: "sentences" });
  const wrong = Array.from({ length: 60 }, (_, at) => model.embed("x", { promptName: `odd${at}` }));
  for (const error of await Promise.allSettled(wrong)) {
    expect(error).toMatchObject({ status: "rejected", reason: { code: "invalid_argument", message: expect.stringContaining("it has none") } });
  }
  expect((await model.embed(texts)).tokens).toHaveLength(texts.length);
});

test("a file that is broken is refused as elsewhere, and leaves a pool that works", async () => {
  const file = weightsOf("mpnet");
  const broken = file.slice(0, -100_000);
  const reason = await load(broken).catch((error: Error) => error) as Error;
  const shared = pool(2, true);
  await expect(shared.load(broken)).rejects.toMatchObject({ message: reason.message });
  await expect(shared.load(file, { kind: "words" as never })).rejects.toMatchObject({ code: "wrong_kind" });
  expect((await shared.load(file)).kind).toBe("sentences");
});

test("files for other modules are loaded by every worker", async () => {
  const shared = pool(2, true);
  const words = await shared.load(wordVectors(100, 8), { kind: "words" });
  expect(await Promise.all([words.word(1), words.word(2)])).toEqual(["word1", "word2"]);
  const table = bytes("../../ffi/tests/data/small_table.weights");
  const model = await shared.load(table, { kind: "sentences" });
  using alone = await load(table, { kind: "sentences" });
  expect((await model.embed(texts.slice(0, 20))).data).toEqual((await alone.embed(texts.slice(0, 20))).data);
});

test("a file that comes in small pieces is shared, too", async () => {
  const file = weightsOf("mpnet", PADDING);
  const pieces = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < 20_000; at += 100) controller.enqueue(file.slice(at, at + 100));
      controller.enqueue(file.slice(20_000));
      controller.close();
    },
  });
  const shared = pool(2, true);
  const model = (await shared.load(pieces)) as SentenceModel;
  using alone = (await load(file)) as SentenceModel;
  expect((await model.embed(texts)).data).toEqual((await alone.embed(texts)).data);
  expect(await shared.memoryBytes()).toBeLessThan(1.9 * PADDING);
});

test("when a worker fails, the others go on", async () => {
  const model = await pool(3, true).load(weightsOf("mpnet"), { kind: "sentences" });
  const before = await model.embed(texts);
  const under = model.embed(texts);
  started[1]!.fail("gone");
  await expect(under).rejects.toMatchObject({ code: "worker_failed" });
  expect((await model.embed(texts)).data).toEqual(before.data);
  started[0]!.fail("gone");
  expect((await model.embed(texts)).data).toEqual(before.data);
});

test("workers that cannot share have a copy each", async () => {
  const file = weightsOf("mpnet", PADDING);
  // Workers of another file, and a page that is not isolated.
  const other = pool(2, true, "worker-thread.js");
  await other.load(file);
  expect(await other.memoryBytes()).toBeGreaterThan(2 * PADDING);
  vi.stubGlobal("crossOriginIsolated", false);
  const open = pool(2, true);
  await open.load(file);
  expect(await open.memoryBytes()).toBeGreaterThan(2 * PADDING);
});

test("of several texts that are too long the first is named, whichever worker finds it", async () => {
  const model = await pool(3, true).load(weightsOf("mpnet"), { kind: "sentences" });
  const many = Array.from({ length: 60 }, (_, at) => (at < 8 ? "short" : "It rains. ".repeat(20 + at)));
  for (let time = 0; time < 4; time += 1) {
    const embedding = model.embed(many, { maxTokens: 16, truncate: "error" });
    await expect(embedding).rejects.toMatchObject({ code: "too_many_tokens", message: expect.stringMatching(/^text 8 /) });
  }
});

test("a signal that is none is refused, and nothing waits for it", async () => {
  const workers = pool(2, false);
  const model = await workers.load(weightsOf("mpnet"), { kind: "sentences" });
  await expect(model.embed("It rains.", { signal: {} as AbortSignal })).rejects.toMatchObject({ code: "invalid_argument" });
  const under = model.embed(texts);
  workers.dispose();
  await expect(under).rejects.toMatchObject({ code: "disposed" });
});
