// Sentences, word vectors and files in Chromium, in the page and in workers, under a strict policy and without COOP or COEP.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { skipped } from "../scripts/skipped.mjs";
import { bytes, floats, json, largestDifference, model, modelBytes, published, root, sentences } from "../tests/files.js";
import { dist, executablePath, inBrowser, launch, openPage } from "./browser.js";
import { cli, native } from "./program.js";
import { serve, type TestServer } from "./server.js";

let server: TestServer;
let browser: Browser;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  if (!executablePath) return;
  server = await serve({ "/dist/": dist, "/models/": join(root, "models") }, {
    "model.weights": modelBytes(),
    "words.fifu": bytes("finalfusion", "explicit.fifu"),
    "quantized.fifu": bytes("finalfusion", "quantized_p1_n1_pad0.fifu"),
    "blocks.gguf": bytes("gguf", "blocks.gguf"),
    "tiny.gguf": bytes("llama", "tiny.gguf"),
  });
  browser = await launch();
  ({ page, complaints } = await openPage(browser, `${server.origin}/blank`));
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/** Runs `body` in the page, with the package as `nanoembed`. */
async function inPage<R>(body: string, argument: unknown = null, entry = "index"): Promise<R> {
  const code = `(async () => { const nanoembed = await import("/dist/${entry}.js"); const argument = ${JSON.stringify(argument)};
    const failure = (error) => ({ name: error.name, code: error.code, offset: error.offset, format: error.format, message: error.message });
    ${body} })()`;
  return page.evaluate(code) as Promise<R>;
}

inBrowser("the package", () => {
  test("does nothing when it is imported", async () => {
    server.requests();
    await inPage("return nanoembed.memoryBytes()");
    expect(server.requests().filter(({ path }) => path.endsWith(".wasm"))).toEqual([]);
  });

  test("is on a page that shares no memory and evaluates no text", async () => {
    expect(await page.evaluate("crossOriginIsolated")).toBe(false);
    expect(await page.evaluate("window.evaluates")).toBe(false);
    // The browser reports the probe, as it should.
    expect(complaints.filter((text) => !text.includes("unsafe-eval"))).toEqual([]);
    complaints.length = 0;
  });

  test("takes relaxed SIMD where it is there", async () => {
    server.requests();
    await inPage("await nanoembed.init()");
    const modules = server.requests().map(({ path }) => path).filter((path) => path.endsWith(".wasm"));
    expect(modules).toEqual(["/dist/nanoembed-relaxed.wasm"]);
  });

  test.each(["index", "inline"])("embeds, from an address (%s)", async (entry) => {
    const texts = sentences().map(({ text }) => text);
    const result = await inPage<{ data: number[]; tokens: number[]; progress: { loaded: number; phase: string }[]; dims: number }>(
      `const progress = [];
       const model = await nanoembed.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences", onProgress: (p) => progress.push(p) });
       const { data, tokens, dims } = await model.embed(argument);
       model.dispose();
       return { data: Array.from(data), tokens, dims, progress };`, texts, entry);
    expect(result.progress.at(-1)).toMatchObject({ phase: "ready", loaded: modelBytes().length });
    expect(result.tokens).toEqual(sentences().map(({ ids }) => Math.min(256, ids.length)));
    expect(largestDifference(result.data, native(model, texts))).toBeLessThan(1e-5);
  });

  test("embeds from an AMB file as the native program does", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nanoembed-"));
    const file = join(folder, "model.amb");
    cli(["convert", "--quiet", "--type", "int8", join(root, "ffi/tests/data/small_bert.weights"), file]);
    const other = await serve({ "/amb/": folder, "/dist/": dist }, {});
    const { page: own } = await openPage(browser, `${other.origin}/blank`);
    const texts = sentences().map(({ text }) => text);
    // Blocks are requantised unless the page says otherwise, here or in a worker.
    const [anew, asTheyAre, inWorker] = await own.evaluate(`(async () => {
      const { load } = await import("/dist/index.js");
      const { createWorker } = await import("/dist/worker.js");
      const worker = createWorker();
      const embedded = async (load, requantize) => {
        const model = await load("/amb/model.amb", { kind: "sentences", requantize });
        const { data } = await model.embed(${JSON.stringify(texts)});
        model.dispose();
        return Array.from(data);
      };
      return [await embedded(load), await embedded(load, false), await embedded((...given) => worker.load(...given), false)]; })()`) as number[][];
    expect(largestDifference(anew!, native(file, texts, ["--requantize"]))).toBeLessThan(1e-5);
    expect(largestDifference(asTheyAre!, native(file, texts))).toBeLessThan(1e-5);
    expect(inWorker).toEqual(asTheyAre);
    expect(largestDifference(anew!, asTheyAre!)).toBeGreaterThan(1e-4);
    await own.close();
    await other.close();
    rmSync(folder, { recursive: true });
  });

  if (!published) skipped("f32 in a page", "no NANOEMBED_MODEL_DIR");
  test.skipIf(!published)("embeds in f32 as the published weights do", async () => {
    const folder = mkdtempSync(join(tmpdir(), "nanoembed-"));
    const file = join(folder, "model.weights");
    cli(["convert", "--quiet", published!, file]);
    const other = await serve({ "/f32/": folder, "/dist/": dist }, {});
    const { page: own } = await openPage(browser, `${other.origin}/blank`);
    const texts = sentences().map(({ text }) => text);
    const data = await own.evaluate(`(async () => { const { load } = await import("/dist/index.js");
      const model = await load("/f32/model.weights", { kind: "sentences" });
      return Array.from((await model.embed(${JSON.stringify(texts)})).data); })()`) as number[];
    const reference = floats("minilm", "embeddings_max256.f32");
    const rows = sentences().flatMap(({ row }) => [...reference.subarray(row * 384, (row + 1) * 384)]);
    expect(largestDifference(data, rows)).toBeLessThan(1e-5);
    expect(largestDifference(data, native(file, texts))).toBeLessThan(1e-5);
    await own.close();
    await other.close();
    rmSync(folder, { recursive: true });
  });

  test("loads from every kind of source", async () => {
    const same = await inPage<boolean[]>(
      `const address = "/models/all-MiniLM-L6-v2.int8.weights";
       const buffer = await (await fetch(address)).arrayBuffer();
       const sources = [new URL(address, location), new Request(address), await fetch(address), (await fetch(address)).body,
         new Blob([buffer]), new File([buffer], "x"), buffer, new Uint8Array(buffer)];
       const vectors = [];
       for (const source of sources) {
         const model = await nanoembed.load(source, { kind: "sentences" });
         vectors.push(Array.from((await model.embed("the same")).data).join());
         model.dispose();
       }
       return vectors.map((vector) => vector === vectors[0]);`);
    expect(same).toEqual(Array(8).fill(true));
  });

  test("words, loaded and where they are", async () => {
    const { ganz, idspispopd } = json<Record<string, Record<string, { embedding: number[] } | null>>>("finalfusion", "expected.json")["explicit.fifu"]!;
    server.requests();
    const result = await inPage<{ loaded: number[]; remote: number[]; none: boolean; neighbours: unknown[][]; known: boolean; spelled: { vector: number[]; known: boolean; subwords: number }[] }>(
      `const loaded = await nanoembed.load("/hostile/good/words.fifu", { kind: "words" });
       const remote = await nanoembed.open("/hostile/good/words.fifu");
       const vectors = await Promise.all([loaded, remote].map((words) => words.vector("ganz")));
       const spelled = await Promise.all([loaded, remote].map((words) => words.vector("idspispopd")));
       const first = await loaded.word(0);
       const neighbours = await Promise.all([loaded, remote].map((words) => words.similar(first, { k: 4 })));
       return { loaded: Array.from(vectors[0].vector), remote: Array.from(vectors[1].vector), known: vectors[0].known, spelled: spelled.map((found) => ({ ...found, vector: Array.from(found.vector) })),
         none: (await remote.vector("日本語")) === undefined, neighbours };`);
    expect(largestDifference(result.loaded, ganz!.embedding)).toBeLessThan(1e-6);
    expect(result.remote).toEqual(result.loaded);
    expect([result.known, result.none]).toEqual([true, true]);
    expect(result.spelled[0]!.known).toBe(false);
    expect(largestDifference(result.spelled[0]!.vector, idspispopd!.embedding)).toBeLessThan(1e-6);
    expect(result.spelled[1]).toEqual(result.spelled[0]);
    expect(result.neighbours[0]).toEqual(result.neighbours[1]);
    expect(result.neighbours[0]!.length).toBe(4);
    expect(server.requests().some(({ range }) => range !== undefined)).toBe(true);
  });

  test("inspects and verifies by ranges, and without", async () => {
    const result = await inPage<Record<string, number | string | boolean>[]>(
      `const all = [];
       for (const mode of ["good", "no-ranges", "packed"]) {
         const file = await nanoembed.inspect("/hostile/" + mode + "/blocks.gguf");
         const verdict = await nanoembed.verify("/hostile/" + mode + "/blocks.gguf");
         all.push({ format: file.format, tensors: file.tensors.length, ok: verdict.ok });
       }
       const ranged = await nanoembed.inspect("/hostile/good/model.weights");
       all.push({ format: ranged.format, few: ranged.bytesRead < 600000, value: (await ranged.values("embeddings.LayerNorm.weight")).length });
       return all;`, null, "inspect");
    expect(result.slice(0, 3)).toEqual(Array(3).fill({ format: "gguf", tensors: 12, ok: true }));
    expect(result[3]).toEqual({ format: "embd", few: true, value: 384 });
  });

  test("keeps downloads where it is asked to", async () => {
    for (const cache of ["cache-api", "opfs"]) {
      server.requests();
      const phases = await inPage<string[]>(
        `const phases = [];
         for (let visit = 0; visit < 2; visit += 1) {
           const words = await nanoembed.load("/hostile/good/words.fifu", { cache: argument, onProgress: ({ phase }) => phases.push(phase) });
           words.dispose();
         }
         return phases.filter((phase, at) => phase !== phases[at - 1]);`, cache);
      expect(phases).toEqual(["download", "ready", "cache", "ready"]);
      expect(server.requests().filter(({ path }) => path.endsWith(".fifu")).length).toBe(1);
    }
  });

  test("two loads of one address at once download it once, also if the first is given up", async () => {
    for (const kind of ["cache-api", "opfs"]) {
      server.requests();
      const sizes = await inPage<number[]>(
        `const load = async (name, options) => {
           const model = await nanoembed.load("/hostile/good/" + name + argument + "/words.fifu", { kind: "words", cache: argument, ...options });
           model.dispose();
           return model.count;
         };
         const controller = new AbortController();
         const given = load("up", { signal: controller.signal }).catch((error) => error.name);
         const taken = load("up");
         controller.abort();
         return [...await Promise.all([load("one"), load("one"), load("one")]), await given, await taken];`, kind);
      expect(sizes).toEqual([sizes[0], sizes[0], sizes[0], "AbortError", sizes[0]]);
      expect(server.requests().filter(({ path }) => path.includes(`one${kind}`))).toHaveLength(1);
    }
  });

  test("a kept copy outlives what callers get wrong", async () => {
    const phases = await inPage<string[]>(
      `const phases = [];
       const load = (options) => nanoembed.load("/hostile/good/words.fifu?kept", { cache: "cache-api", ...options });
       (await load()).dispose();
       for (const wrong of [{ kind: "sentences" }, { limits: { maxBytes: 10 } }, { integrity: "sha256-x" }]) {
         phases.push(await load(wrong).then(() => "none", (error) => error.code));
       }
       (await load({ onProgress: ({ phase }) => phases.push(phase) })).dispose();
       return phases.filter((phase, at) => phase !== phases[at - 1]);`);
    expect(phases).toEqual(["wrong_kind", "too_large", "invalid_argument", "cache", "ready"]);
  });

  test("complains of nothing", () => expect(complaints).toEqual([]));
});

inBrowser("a connection that is", () => {
  const load = (mode: string, name = "words.fifu", options = "{}") => inPage<Record<string, unknown>>(
    `try {
       const model = await nanoembed.load("/hostile/${mode}/" + argument + "/${name}", ${options});
       const words = model.kind === "words" ? (await model.vector("ganz"))?.vector : (await model.embed("a text")).data;
       model.dispose();
       return { ok: true, first: words?.[0] };
     } catch (error) { return failure(error); }`, Math.random().toString(36).slice(2));

  test.each([["chopped", "words.fifu"], ["slow", "words.fifu"], ["packed", "words.fifu"], ["no-ranges", "words.fifu"], ["broken", "words.fifu"],
    ["broken", "model.weights"], ["packed", "model.weights"]])("%s: %s is loaded all the same", async (mode, name) => {
    const good = await load("good", name);
    expect(good["ok"]).toBe(true);
    server.requests();
    expect(await load(mode, name)).toEqual(good);
    if (mode === "broken") expect(server.requests().map(({ range }) => range !== undefined)).toEqual([false, true, true, true]);
  });

  test.each([
    ["broken-for-good", "connection_lost"], ["no-tag", "connection_lost"], ["changing", "source_changed"],
    ["cut", "unexpected_end"], ["page", "unknown_format"], ["404", "http_status"], ["500", "http_status"],
  ])("%s: %s", async (mode, code) => {
    expect(await load(mode)).toMatchObject({ name: "NanoembedError", code });
  });

  test("flipped: a checksum says so", async () => {
    expect(await load("flipped", "model.weights")).toMatchObject({ code: "data_checksum", format: "embd" });
  });

  test("longer: what follows is refused", async () => {
    expect(await load("longer", "model.weights")).toMatchObject({ code: "trailing_bytes" });
  });

  test("stalled: is given up after the time that was set", async () => {
    expect(await load("stalled", "words.fifu", "{ stall: 300, retries: 0 }")).toMatchObject({ code: "timed_out" });
  });

  test("aborted: at any time, and everything is freed", async () => {
    const result = await inPage<{ names: string[]; grown: number }>(
      `(await nanoembed.load("/hostile/good/model.weights")).dispose();
       const names = [], before = nanoembed.memoryBytes();
       for (let round = 0; round < 24; round += 1) {
         const controller = new AbortController();
         setTimeout(() => controller.abort(), round * 7 % 60);
         try {
           const model = await nanoembed.load("/hostile/slow/" + round + "/model.weights", { signal: controller.signal });
           model.dispose(); names.push("loaded");
         } catch (error) { names.push(error.name); }
       }
       return { names, grown: nanoembed.memoryBytes() - before };`);
    expect(result).toEqual({ names: Array(24).fill("AbortError"), grown: 0 });
  });

  test("changing while ranges are read", async () => {
    const code = await inPage<string>(
      `try { await (await nanoembed.open("/hostile/changing-ranges/quantized.fifu")).vector("x"); const words = await nanoembed.open("/hostile/changing-ranges/words.fifu"); await words.vector("ganz"); return "none" } catch (error) { return error.code }`);
    expect(["source_changed", "none"]).toContain(code);
  });
});

inBrowser("workers", () => {
  test("answer a question before the texts that were given before it", async () => {
    const done = await inPage<unknown[]>(
      `const pool = nanoembed.createWorker({ workers: 2 });
       const model = await pool.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences" });
       const done = [];
       const texts = Array.from({ length: 1000 }, (_, at) => "text number " + at + " of many");
       const seen = [];
       const many = model.embed(texts, { onProgress: (progress) => seen.push(progress.done) }).then(() => done.push("many"));
       const one = model.embed("a question").then(() => done.push("one"));
       await Promise.all([many, one]);
       pool.dispose();
       return [...done, seen.at(-1)];`, null, "worker");
    expect(done).toEqual(["one", "many", 1000]);
  });

  test("answer a question between the parts of a call", async () => {
    const order = await inPage<string[]>(
      `const pool = nanoembed.createWorker();
       const model = await pool.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences" });
       const order = [];
       const questions = [];
       await model.embed(Array(64).fill("the cat sat on the mat and looked at the dog ".repeat(4)), { onProgress({ done }) {
         order.push(done);
         if (done === 16) questions.push(model.embed("a question").then(() => order.push("question")));
       } });
       await Promise.all(questions);
       pool.dispose();
       return order;`, null, "worker");
    expect(order).toEqual([16, "question", 32, 48, 64]);
  });

  test("that end without a word leave nobody waiting", async () => {
    const found = await inPage<string[]>(
      `let worker;
       const pool = nanoembed.createWorker({
         create: () => (worker = new Worker(new URL("/dist/worker-thread.js", location.href), { type: "module" })),
       });
       const model = await pool.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences" });
       const asked = model.embed(Array(1000).fill("a text of some words")).catch(({ code }) => code);
       worker.terminate();
       return [await asked, await model.embed("x").catch(({ code }) => code)];`, null, "worker");
    expect(found).toEqual(["worker_failed", "worker_failed"]);
  });

  test("do the same, download once, and stop when they are told to", async () => {
    server.requests();
    const texts = sentences().map(({ text }) => text);
    const result = await inPage<{ data: number[]; one: boolean; streamed: number[]; aborted: string; refused: Record<string, unknown>; after: string; memory: number; words: number; verdict: unknown; values: number }>(
      `const pool = nanoembed.createWorker({ workers: 2 });
       const progress = [];
       const model = await pool.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences", onProgress: ({ loaded }) => progress.push(loaded) });
       const { data, tokens } = await model.embed(argument);
       const single = await model.embed(argument[3]);
       const one = Array.from(single.data).join() === Array.from(data.subarray(3 * 384, 4 * 384)).join() || Math.max(...single.data.map((v, i) => Math.abs(v - data[3 * 384 + i]))) < 1e-5;
       const streamed = [];
       for await (const { index } of model.embedStream(argument.slice(0, 40))) streamed.push(index);
       const controller = new AbortController();
       const running = model.embed(Array(400).fill("word ".repeat(200)), { signal: controller.signal });
       setTimeout(() => controller.abort(), 50);
       const aborted = await running.then(() => "none", (error) => error.name);
       const refused = await model.embed("word ".repeat(400), { truncate: "error" }).catch(failure);
       const memory = await pool.memoryBytes();
       const words = await pool.open("/hostile/good/words.fifu");
       const { vector } = await words.vector("ganz");
       const verdict = await pool.verify("/hostile/flipped/model.weights");
       const file = await pool.inspect("/hostile/good/blocks.gguf");
       const values = (await file.values("q4_0", { first: 5, count: 7 })).length;
       model.dispose();
       const after = await model.embed("x").catch((error) => error.code);
       pool.dispose();
       return { data: Array.from(data), one, streamed, aborted, refused, memory, after, words: vector.length, verdict: { ok: verdict.ok, code: verdict.error?.code }, values };`,
      texts, "worker");
    expect(server.requests().filter(({ path }) => path.endsWith("int8.weights")).length).toBe(1);
    expect(largestDifference(result.data, native(model, texts))).toBeLessThan(1e-5);
    expect(result).toMatchObject({ one: true, aborted: "AbortError", refused: { code: "too_many_tokens" }, after: "disposed", values: 7 });
    expect(result.streamed).toEqual(Array.from({ length: 40 }, (_, at) => at));
    expect(result.verdict).toEqual({ ok: false, code: "data_checksum" });
  });

  test("drop what is queued when a call is aborted or fails, and take any source", async () => {
    const result = await inPage<{ aborted: string; refused: string; first: string[]; kinds: string[]; wrong: string[] }>(
      `const pool = nanoembed.createWorker();
       const model = await pool.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences" });
       const texts = Array(1200).fill("a short text");
       await model.embed(texts.slice(0, 100));
       // Another worker starts a third of the texts: what comes after an aborted call is there before they are.
       const rival = nanoembed.createWorker();
       const other = await rival.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences" });
       const first = [];
       const next = async () => {
         const slow = other.embed(texts.slice(0, 400)).then(() => "a third of the texts");
         first.push(await Promise.race([model.embed("x").then(() => "the next text"), slow]));
         await slow;
       };
       const aborted = await model.embed(texts, { signal: AbortSignal.timeout(30) }).catch((error) => error.name);
       await next();
       const refused = await model.embed([...texts.slice(0, 70), "word ".repeat(400), ...texts], { truncate: "error" })
         .catch((error) => error.code + ": " + error.message);
       await next();
       const kinds = [];
       for (const source of [await fetch("/hostile/good/blocks.gguf"), new Request("/hostile/good/blocks.gguf"), (await fetch("/hostile/good/blocks.gguf")).body]) {
         kinds.push((await pool.inspect(source)).format);
       }
       const wrong = [];
       for (const call of [() => model.embed(new Set(["a"])), () => model.embed("a", { out: new Float32Array(3) }), () => model.embed([], { truncateDim: -5 })]) {
         wrong.push(await call().then(() => "none", (error) => error.code));
       }
       pool.dispose();
       rival.dispose();
       return { aborted, refused, first, kinds, wrong };`, null, "worker");
    expect(result).toMatchObject({ aborted: "TimeoutError", refused: "too_many_tokens: text 70 has 402 tokens, more than 256", kinds: ["gguf", "gguf", "gguf"] });
    expect(result.wrong).toEqual(["invalid_argument", "invalid_argument", "invalid_argument"]);
    expect(result.first).toEqual(["the next text", "the next text"]);
  });

  // A page that computes itself draws no frame before it is done.
  test("leave the page to draw its frames while 1,000 texts are embedded", async () => {
    const frames = await inPage<number>(
      `const pool = nanoembed.createWorker();
       const model = await pool.load("/models/all-MiniLM-L6-v2.int8.weights", { kind: "sentences" });
       await model.embed("warm");
       let isOver = false, frames = 0;
       const tick = () => { frames += 1; if (!isOver) requestAnimationFrame(tick); };
       requestAnimationFrame(tick);
       await model.embed(Array.from({ length: 1000 }, (_, at) => "This is passage number " + at));
       isOver = true;
       pool.dispose();
       return frames;`, null, "worker");
    expect(frames).toBeGreaterThan(20);
  });
});

inBrowser("memory", () => {
  const embeds = Number(process.env["NANOEMBED_EMBEDS"] ?? 500);
  const cycles = Number(process.env["NANOEMBED_CYCLES"] ?? 6);

  test(`stays flat over ${embeds} embeds and ${cycles} times loading and disposing`, async () => {
    const grown = await inPage<{ embeds: number; cycles: number; total: number }>(
      `const address = "/models/all-MiniLM-L6-v2.int8.weights";
       const model = await nanoembed.load(address, { kind: "sentences" });
       for (const words of [3, 50, 150, 250]) await model.embed("word ".repeat(words));
       await model.embed(Array(20).fill("word ".repeat(40)));
       const first = nanoembed.memoryBytes();
       for (let at = 0; at < argument.embeds; at += 1) await model.embed("word ".repeat(at % 30) + at);
       const embeds = nanoembed.memoryBytes() - first;
       model.dispose();
       for (let at = 0; at < 2; at += 1) (await nanoembed.load(address)).dispose();
       const second = nanoembed.memoryBytes();
       for (let at = 0; at < argument.cycles; at += 1) {
         const again = await nanoembed.load(address, { kind: "sentences" });
         await again.embed("x");
         again.dispose();
       }
       return { embeds, cycles: nanoembed.memoryBytes() - second, total: nanoembed.memoryBytes() };`, { embeds, cycles });
    expect(grown).toMatchObject({ embeds: 0, cycles: 0 });
    expect(grown.total).toBeLessThan(2 * modelBytes().length + 32e6);
  }, 180_000 + 60 * embeds + 3_000 * cycles);
});
