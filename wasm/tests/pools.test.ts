// Pools in Node, whether their workers share models or not: what they take, and what they leave when something fails.
import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import * as Threads from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import { load } from "../dist/index.js";
import { createWorker as createInline } from "../dist/inline-worker.js";
import { createWorker, type WorkerOptions } from "../dist/worker.js";
import { modelBytes, root } from "./files.js";
import { models } from "./folders.js";
import { weightsOf } from "./weights.js";

/** For what the next load finds before a worker has answered the last one; models of 20 loads have several times as much. */
const ROOM = 4 * 2 ** 20;

const ended: (() => void)[] = [];
afterEach(() => ended.splice(0).forEach((end) => end()));

function pool(options: WorkerOptions = {}) {
  const made = createWorker({ workers: 2, ...options });
  ended.push(() => made.dispose());
  return made;
}

async function served(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, resolve));
  ended.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves the folder of a model; of requests for its weights every second fails, once that is asked for. */
async function folder(): Promise<{ address: string; failing: { is: boolean } }> {
  const failing = { is: false };
  let requests = 0;
  const address = await served(({ url }, response) => {
    try {
      const bytes = readFileSync(join(models, "mpnet", url!));
      if (failing.is && url!.endsWith("model.safetensors") && ++requests % 2 === 0) response.writeHead(500).end();
      else response.writeHead(200, { "content-length": bytes.length }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  return { address: `${address}/`, failing };
}

describe("of a folder nothing stays", () => {
  test("when one of the workers cannot load it", async () => {
    const { address, failing } = await folder();
    const workers = pool();
    (await workers.load(address)).dispose();
    const before = await workers.memoryBytes();
    failing.is = true;
    for (let time = 0; time < 20; time += 1) await expect(workers.load(address)).rejects.toMatchObject({ code: "http_status" });
    expect(await workers.memoryBytes()).toBeLessThan(before + ROOM);
  });

  test("when somebody does not wait for it any more", async () => {
    const { address } = await folder();
    const workers = pool();
    (await workers.load(address)).dispose();
    const before = await workers.memoryBytes();
    for (let time = 0; time < 20; time += 1) {
      const stop = new AbortController();
      const loading = workers.load(address, { signal: stop.signal, onProgress: ({ phase }) => phase === "ready" && stop.abort() });
      await expect(loading).rejects.toThrow();
    }
    expect(await workers.memoryBytes()).toBeLessThan(before + ROOM);
  });
});

describe("of Node's own workers", () => {
  test.each([["worker", createWorker], ["inline-worker", createInline]])("%s needs nothing to be said", async (_, create) => {
    using workers = create({ workers: 2 });
    const texts = ["It rains.", "Bread.", "It snows."];
    const model = await workers.load(weightsOf("mpnet"), { kind: "sentences" });
    using alone = await load(weightsOf("mpnet"), { kind: "sentences" });
    expect((await model.embed(texts)).data).toEqual((await alone.embed(texts)).data);
  });

  test("they share a model where that is asked for", async () => {
    const [copies, shared] = [pool(), pool({ share: true })];
    for (const each of [copies, shared]) await each.load(modelBytes(), { kind: "sentences" });
    expect(await shared.memoryBytes()).toBeLessThan((await copies.memoryBytes()) * 0.75);
  });

  test("a worker that fails is told by its error", async () => {
    vi.spyOn(Threads.Worker.prototype, "postMessage").mockImplementation(function (this: Threads.Worker) {
      this.emit("error", new Error("out of memory"));
    });
    try {
      await expect(pool().load(weightsOf("mpnet"))).rejects.toMatchObject({ code: "worker_failed", message: "the worker failed: out of memory" });
    } finally {
      vi.restoreAllMocks();
    }
  });
});

test("paths are those of the program", async () => {
  const workers = pool();
  const file = join(root, "ffi/tests/data/small_bert.weights");
  expect((await workers.load(`${join(models, "mpnet")}/`)).kind).toBe("sentences");
  expect((await workers.inspect(file)).format).toBe("embd");
  expect((await workers.verify(file)).ok).toBe(true);
});

test("bytes are looked at as they are, however many", async () => {
  const workers = pool();
  expect((await workers.inspect(modelBytes())).format).toBe("embd");
  expect((await workers.verify(modelBytes())).ok).toBe(true);
});

test("a request goes to a worker with its headers", async () => {
  const file = weightsOf("mpnet");
  const address = await served(({ headers }, response) => (headers.authorization ? response.end(file) : response.writeHead(401).end()));
  const request = () => new Request(address, { headers: { authorization: "Bearer x" } });
  const workers = pool();
  expect((await workers.inspect(request())).format).toBe("embd");
  expect((await workers.verify(request())).ok).toBe(true);
  await expect(workers.inspect(address)).rejects.toMatchObject({ code: "http_status" });
});

test("a module is not taken from elsewhere when it is not where it was said to be", async () => {
  const address = await served((_, response) => response.writeHead(404).end());
  const workers = pool({ weights: `${address}/none.wasm` });
  for (let time = 0; time < 2; time += 1) {
    await expect(workers.load(weightsOf("mpnet"))).rejects.toMatchObject({ code: "module_not_loaded", message: expect.stringContaining("404") });
  }
});

test("what is no option is refused by its name", async () => {
  using model = await load(weightsOf("mpnet"), { kind: "sentences" });
  for (const [name, value] of [["precision", "precice"], ["prompt", null], ["promptName", 5], ["truncate", "start"], ["role", "documents"]] as const) {
    await expect(model.embed("It rains.", { [name]: value })).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining(name) });
  }
  await expect(model.tokenize(5 as never)).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(model.tokenize("It rains.", { maxTokens: 2.5 })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("an address without a model's folder is said to be that", async () => {
  const address = `${await served((_, response) => response.writeHead(404).end())}/nothing/`;
  const missing = { code: "missing_file", message: expect.stringContaining(address) };
  await expect(load(address)).rejects.toMatchObject(missing);
  await expect(pool().load(address)).rejects.toMatchObject(missing);
  await expect(load(join(models, "mpnet"))).rejects.toMatchObject({ code: "missing_file", message: expect.stringMatching(/mpnet is a folder/) });
});

describe("as in the page", () => {
  test("a text that is none is counted among all", async () => {
    const texts = ["It rains.", "Bread.", "It snows.", 5] as string[];
    const wrong = { code: "invalid_argument", message: expect.stringContaining("text 3") };
    for (const api of [{ load }, pool()]) {
      const model = await api.load(`${join(models, "cross_encoder")}/`, { kind: "reranker" });
      await expect(model.score("How is the weather?", texts)).rejects.toMatchObject(wrong);
      model.dispose();
    }
  });

  test("an error of who is told of progress ends the call", async () => {
    const broken = new Error("the page is gone");
    const onProgress = () => { throw broken; };
    for (const api of [{ load }, pool()]) {
      const model = await api.load(weightsOf("mpnet"), { kind: "sentences" });
      await expect(model.embed("It rains.", { onProgress })).rejects.toBe(broken);
      await expect(model.embed(["It rains."], { onProgress })).rejects.toBe(broken);
      expect((await model.embed("It rains.")).dims).toBe(model.dims);
      model.dispose();
    }
  });

  test("a model that is not wanted any more when it is there is not given", async () => {
    for (const api of [{ load }, pool()]) {
      for (const source of [weightsOf("mpnet"), `${join(models, "mpnet")}/`]) {
        const stop = new AbortController();
        const loading = api.load(source, { signal: stop.signal, onProgress: ({ phase }) => phase === "ready" && stop.abort() });
        await expect(loading).rejects.toMatchObject({ name: "AbortError" });
      }
    }
  });
});
