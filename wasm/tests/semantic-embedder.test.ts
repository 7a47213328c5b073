// The API of browsers over tiny models, and what becomes of calls that are stopped.
import { getEventListeners } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { load, memoryBytes, type SentenceModel } from "../dist/index.js";
import { install, semanticEmbedder, type CreateOptions, type TaskType } from "../dist/semantic-embedder.js";
import { largestDifference, modelBytes } from "./files.js";
import { expected, models, picked } from "./folders.js";

const GEMMA = `${models}/embeddinggemma/`;
const SemanticEmbedder = semanticEmbedder({ model: GEMMA });

/** The events that `create` fires. */
function heard(): { loaded: number[]; monitor: NonNullable<CreateOptions["monitor"]> } {
  const loaded: number[] = [];
  return { loaded, monitor: (target) => target.addEventListener("downloadprogress", (event) => loaded.push((event as ProgressEvent).loaded)) };
}

const named = (name: string) => expect.objectContaining({ name, constructor: DOMException });

describe("vectors", () => {
  test("are those of the model, with its prompts for what they are for", async () => {
    const embedder = await SemanticEmbedder.create();
    const model = (await load(GEMMA)) as SentenceModel;
    const prompts: [TaskType, string][] = [["retrieval-query", "query"], ["retrieval-document", "document"], ["semantic-similarity", "STS"], ["clustering", "Clustering"]];
    for (const [taskType, promptName] of prompts) {
      const { embeddings } = await embedder.embed("Bread", { taskType });
      expect(largestDifference(embeddings[0]!.values, (await model.embed("Bread", { promptName })).data)).toBe(0);
    }
    // The model has no prompt for this, nor one that it uses by itself.
    for (const options of [{}, { taskType: "classification" as const }]) {
      const { embeddings } = await embedder.embed(["Bread", "is made of flour"], options);
      expect(largestDifference(embeddings[1]!.values, (await model.embed("is made of flour")).data)).toBeLessThan(1e-6);
    }
    expect(largestDifference((await embedder.embed(expected("embeddinggemma").rows[0]!.text, { taskType: "retrieval-query" })).embeddings[0]!.values,
      (await model.embedQuery(expected("embeddinggemma").rows[0]!.text)).data)).toBe(0);
    model.dispose();
    embedder.destroy();
  });

  test("say what was used, and of which space they are", async () => {
    const Own = semanticEmbedder({ model: modelBytes(), embeddingSpace: "minilm" });
    expect(await Own.availability()).toBe("available");
    const embedder = await Own.create();
    const long = "word ".repeat(400);
    const { embeddings, metadata } = await embedder.embed(["short", long]);
    expect(embeddings.map(({ statistics }) => statistics)).toEqual([{ tokenCount: 3, truncated: false }, { tokenCount: 256, truncated: true }]);
    expect(metadata).toEqual({ embeddingSpace: "minilm", maxInputTokens: 256 });
    expect([embedder.inputQuota, await embedder.measureInputUsage(["short", long])]).toEqual([256, 402]);
    embedder.destroy();
    const other = await SemanticEmbedder.create();
    expect(await other.embed([])).toEqual({ embeddings: [], metadata: { embeddingSpace: GEMMA, maxInputTokens: other.inputQuota } });
    other.destroy();
  });

  test("of what is no text are those of what becomes of it", async () => {
    const embedder = await SemanticEmbedder.create();
    const [given, meant] = await Promise.all([embedder.embed(7 as never), embedder.embed("7")]);
    expect(given).toEqual(meant);
    await expect(embedder.embed("x", { taskType: "poetry" as never })).rejects.toThrow(TypeError);
    await expect((embedder.embed as () => Promise<unknown>)()).rejects.toThrow(TypeError);
    embedder.destroy();
  });
});

describe("what is stopped", () => {
  test("rejects with an AbortError when the embedder is destroyed, then and later", async () => {
    const embedder = await SemanticEmbedder.create();
    const before = [embedder.embed("x"), embedder.measureInputUsage("x")];
    embedder.destroy();
    for (const call of [...before, embedder.embed("x"), embedder.measureInputUsage("x")]) await expect(call).rejects.toEqual(named("AbortError"));
    embedder.destroy();
  });

  test("rejects with the reason of the signal, of the call or of create", async () => {
    const reason = new Error("enough");
    const creation = new AbortController();
    const embedder = await SemanticEmbedder.create({ signal: creation.signal });
    const controller = new AbortController();
    const call = embedder.embed("x", { signal: controller.signal });
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await expect(embedder.embed("x", { signal: controller.signal })).rejects.toBe(reason);
    // Others go on.
    expect((await embedder.embed("x")).embeddings).toHaveLength(1);
    const last = embedder.embed("x");
    creation.abort(reason);
    await expect(last).rejects.toBe(reason);
    await expect(embedder.embed("x")).rejects.toBe(reason);
    await expect(SemanticEmbedder.create({ signal: creation.signal })).rejects.toBe(reason);
  });

  test("before the model is there leaves nothing behind, and others go on", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const [one, other] = [SemanticEmbedder.create({ signal: controller.signal }), SemanticEmbedder.create()];
    controller.abort(reason);
    await expect(one).rejects.toBe(reason);
    const embedder = await other;
    expect((await embedder.embed("x")).embeddings).toHaveLength(1);
    embedder.destroy();
    expect(await SemanticEmbedder.availability()).toBe("downloadable");
  });
});

test("one model serves all embedders, and is freed with the last", async () => {
  const loads = vi.fn(load);
  const Counted = semanticEmbedder({ model: GEMMA, loader: { load: loads as never } });
  const all = await Promise.all(Array.from({ length: 5 }, () => Counted.create()));
  expect(loads).toHaveBeenCalledTimes(1);
  all.slice(1).forEach((one) => one.destroy());
  expect((await all[0]!.embed("x")).embeddings).toHaveLength(1);
  all[0]!.destroy();
  const settled = memoryBytes();
  for (let turn = 0; turn < 20; turn += 1) (await Counted.create()).destroy();
  expect(loads).toHaveBeenCalledTimes(21);
  expect(memoryBytes()).toBe(settled);
});

test("progress goes from 0 to 1, in steps that pages may know", async () => {
  const { loaded, monitor } = heard();
  await semanticEmbedder({ model: new Blob([modelBytes()]) }).create({ monitor });
  expect(loaded.length).toBeGreaterThan(2);
  expect([loaded[0], loaded.at(-1)]).toEqual([0, 1]);
  for (const [at, part] of loaded.entries()) {
    expect(part % (1 / 0x10000)).toBe(0);
    if (at > 0) expect(part).toBeGreaterThan(loaded[at - 1]!);
  }
});

test("a monitor that throws ends the creation before anything is loaded", async () => {
  const loads = vi.fn(load);
  const error = new Error("no");
  const Counted = semanticEmbedder({ model: GEMMA, loader: { load: loads as never } });
  await expect(Counted.create({ monitor: () => { throw error; } })).rejects.toBe(error);
  expect(loads).not.toHaveBeenCalled();
});

describe("what cannot be loaded", () => {
  let server: Server;
  let address: string;
  beforeAll(async () => {
    server = createServer((request, response) => response.writeHead(request.url === "/damaged" ? 200 : 404).end("no model"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  test.each([["missing", "NetworkError", "http_status"], ["damaged", "OperationError", "unknown_format"]])("%s: %s", async (path, name, code) => {
    const Broken = semanticEmbedder({ model: `${address}/${path}` });
    const error = await Broken.create().catch((thrown) => thrown as DOMException & { cause: { code: string } });
    expect(error).toEqual(named(name));
    expect((error as { cause: { code: string } }).cause.code).toBe(code);
    expect(await Broken.availability()).toBe("downloadable");
  });
});

test("the class is as browsers have it", async () => {
  const embedder = await SemanticEmbedder.create();
  expect(embedder).toBeInstanceOf(SemanticEmbedder);
  expect(String(embedder)).toBe("[object SemanticEmbedder]");
  expect((SemanticEmbedder as unknown as { name: string }).name).toBe("SemanticEmbedder");
  expect(() => new (SemanticEmbedder as unknown as new () => unknown)()).toThrow(TypeError);
  embedder.destroy();
});

test("install puts it where there is none, once", () => {
  const place = globalThis as { SemanticEmbedder?: unknown };
  const first = install({ model: picked("embeddinggemma") });
  expect(place.SemanticEmbedder).toBe(first);
  expect(install({ model: "other" })).toBe(first);
  expect(Object.keys(globalThis)).not.toContain("SemanticEmbedder");
  delete place.SemanticEmbedder;
});

describe("a signal", () => {
  test("is heard by browsers that cannot put two together", async () => {
    const embedder = await SemanticEmbedder.create();
    const any = vi.spyOn(AbortSignal, "any");
    Object.defineProperty(AbortSignal, "any", { value: undefined, configurable: true, writable: true });
    try {
      const { signal } = new AbortController();
      expect((await embedder.embed("Bread", { signal })).embeddings.length).toBe(1);
      const stop = new AbortController();
      const stopped = embedder.embed("Bread", { signal: stop.signal });
      stop.abort();
      await expect(stopped).rejects.toEqual(named("AbortError"));
    } finally {
      any.mockRestore();
    }
    expect(typeof AbortSignal.any).toBe("function");
    embedder.destroy();
  });

  test("holds no embedder that was destroyed", async () => {
    const { signal } = new AbortController();
    const embedder = await SemanticEmbedder.create({ signal });
    expect(getEventListeners(signal, "abort").length).toBe(1);
    embedder.destroy();
    expect(getEventListeners(signal, "abort").length).toBe(0);
  });
});
