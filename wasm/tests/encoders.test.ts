// Encoders of all families out of folders: the ids and vectors of transformers, the logits of cross-encoders.
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inspect, load, open, similarity, type Model, type Reranker, type SentenceModel } from "../dist/index.js";
import { data, largestDifference, modelBytes } from "./files.js";
import { complete, expected, models, picked } from "./folders.js";

const TOLERANCE = 1e-5;
const RERANKERS = [
  "cross_encoder", "modernbert_reranker", "qwen3_reranker", "qwen3_reranker_seqcls", "qwen3_reranker_seqcls_st6", "qwen3_reranker_untied",
  "xlmr_reranker",
];
/** Their files say that logits are left as they are. */
const WITHOUT_SIGMOID = ["cross_encoder", "qwen3_reranker", "qwen3_reranker_untied"];

test("there are folders of all families", () => {
  expect(complete.length).toBeGreaterThanOrEqual(19);
});

describe.each(complete.filter((name) => !RERANKERS.includes(name)))("%s", (name) => {
  let model: SentenceModel;
  beforeAll(async () => {
    model = await load(picked(name), { kind: "sentences" });
  });
  afterAll(() => model.dispose());

  test("has the ids and vectors of transformers, with every prompt", async () => {
    for (const { text, prompt_name, ids, values } of expected(name).rows) {
      const prompt = prompt_name === null ? { prompt: "" } : { promptName: prompt_name };
      const tokens = await model.tokenize(text, { maxTokens: model.maxTokens, ...prompt });
      expect([...tokens.ids]).toEqual(ids);
      const { data, truncated } = await model.embed(text, prompt);
      expect(largestDifference(data, values)).toBeLessThan(TOLERANCE);
      expect(truncated).toBe(tokens.truncated);
    }
  });

  test("gives texts together what it gives them alone", async () => {
    const rows = expected(name).rows.filter(({ prompt_name }) => prompt_name === null);
    const { data, dims } = await model.embed(rows.map(({ text }) => text), { prompt: "" });
    rows.forEach(({ values }, at) => {
      expect(largestDifference(data.subarray(at * dims, (at + 1) * dims), values)).toBeLessThan(TOLERANCE);
    });
  });
});

describe.each(RERANKERS)("%s", (name) => {
  let model: Reranker;
  beforeAll(async () => {
    model = await load(picked(name), { kind: "reranker" });
  });
  afterAll(() => model.dispose());

  test("has the logits of transformers", async () => {
    const { rows, maxLength } = expected(name);
    for (const { query, document, sigmoid, values } of rows) {
      const [found] = await model.score(query, [document], { maxTokens: maxLength });
      expect(Math.abs(found!.logits[0]! - values[0]!)).toBeLessThan(TOLERANCE);
      expect(Math.abs(found!.scores[0]! - (WITHOUT_SIGMOID.includes(name) ? values[0]! : sigmoid))).toBeLessThan(TOLERANCE);
    }
  });

  test("ranks texts, and refuses what is none", async () => {
    const query = "How do I reset my password?";
    const texts = ["It rains.", 'Click "forgot password" and follow the link.', "", "It rains."];
    const scores = await model.score(query, texts);
    const ranks = await model.rerank(query, texts);
    expect(ranks.map(({ index }) => index)).toEqual([0, 1, 2, 3].sort((a, b) => scores[b]!.logits[0]! - scores[a]!.logits[0]!));
    expect(ranks.map(({ index, score }) => score === scores[index]!.scores[0])).toEqual([true, true, true, true]);
    expect(await model.rerank(query, [])).toEqual([]);
    await expect(model.rerank(query, [1 as never])).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(model.rerank(query, texts, { maxTokens: 1e6 })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(model.rerank(query, texts, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
  });

  test("is of its own kind", async () => {
    await expect(load(picked(name), { kind: "sentences" })).rejects.toMatchObject({ code: "wrong_kind" });
  });
});

describe("prompts", () => {
  let model: SentenceModel;
  beforeAll(async () => {
    model = await load(picked("embeddinggemma"), { kind: "sentences" });
  });
  afterAll(() => model.dispose());

  test("are chosen by what a text is for, by name, or given", async () => {
    expect(model.prompts).toEqual(expect.arrayContaining(["query", "document", "Clustering"]));
    const text = "How do I reset my password?";
    const row = (name: string | null) =>
      expected("embeddinggemma").rows.find((row) => row.text === text && row.prompt_name === name)!.values;
    const near = (data: Float32Array, name: string | null) => expect(largestDifference(data, row(name))).toBeLessThan(TOLERANCE);
    near((await model.embedQuery(text)).data, "query");
    near((await model.embedDocuments([text])).data, "document");
    near((await model.embed(text, { promptName: "Clustering" })).data, "Clustering");
    near((await model.embed(text, { prompt: "task: search result | query: " })).data, "query");
    near((await model.embedQuery(text, { promptName: "document" })).data, "document");
    near((await model.embed(text, { prompt: "" })).data, null);
    for await (const { data } of model.embedStream([text], { promptName: "query" })) near(data, "query");
  });

  test("that are not there are refused with those that are", async () => {
    const unknown = model.embed("x", { promptName: "odd" });
    await expect(unknown).rejects.toMatchObject({ code: "invalid_argument", message: expect.stringContaining("Clustering") });
    await expect(model.embed("x", { promptName: "query", prompt: "" })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("of a role that has none are nothing, whatever the default is", async () => {
    const settings = { prompts: { query: "q: ", Clustering: "c: " }, default_prompt_name: "Clustering" };
    const change = (path: string, bytes: Uint8Array<ArrayBuffer>) =>
      path === "config_sentence_transformers.json" ? new TextEncoder().encode(JSON.stringify(settings)) as Uint8Array<ArrayBuffer> : bytes;
    using own = await load(picked("embeddinggemma", change), { kind: "sentences" });
    const [plain, clustering] = [await own.embed("x", { prompt: "" }), await own.embed("x", { prompt: "c: " })];
    expect(await own.embed("x")).toEqual(clustering);
    expect((await own.embedDocuments(["x"])).data).toEqual(plain.data);
    expect(await own.embedQuery("x")).toEqual(await own.embed("x", { prompt: "q: " }));
  });

  test("of models without any are nothing, or given", async () => {
    using plain = await load(modelBytes(), { kind: "sentences" });
    const [alone, before] = [await plain.embed("query: hello"), await plain.embed("hello", { prompt: "query: " })];
    expect(before.data).toEqual(alone.data);
    expect((await plain.embedQuery("hello")).data).toEqual((await plain.embed("hello")).data);
    await expect(plain.embed("x", { promptName: "query" })).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

test("first elements are scaled unless they are to be as the model has them", async () => {
  using model = await load(picked("bert_cased"), { kind: "sentences" });
  const whole = (await model.embed("hello")).data;
  const cut = (await model.embed("hello", { truncateDim: 8, normalize: false })).data;
  expect(cut).toEqual(whole.slice(0, 8));
  const scaled = (await model.embed("hello", { truncateDim: 8 })).data;
  expect(Math.hypot(...scaled)).toBeCloseTo(1, 6);
  expect(similarity(scaled, cut)).toBeCloseTo(1, 6);
  expect(Math.hypot(...whole)).not.toBeCloseTo(1, 2);
  expect(Math.hypot(...(await model.embed("hello", { normalize: true })).data)).toBeCloseTo(1, 6);
});

describe("folders by their address", () => {
  let server: Server;
  let base: string;
  const asked: string[] = [];
  let isClosed = false;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const [, mode, ...rest] = decodeURIComponent(new URL(request.url!, "http://x").pathname).split("/");
      const path = rest.join("/");
      asked.push(path);
      try {
        if (mode === "dead") throw new Error("nothing there");
        if (mode === "endless" && path.endsWith("tokenizer.json")) {
          const more = () => void (response.destroyed || response.write(" ".repeat(1 << 20), more));
          response.on("close", () => { isClosed = true; });
          return more();
        }
        if (mode === "both" && path.endsWith("safetensors.index.json")) return response.end(JSON.stringify({ weight_map: { any: "odd.safetensors" } }));
        if (mode === "adapted" && path.endsWith("adapter_config.json")) return response.end('{"peft_type": "LORA"}');
        const isSharded = mode === "sharded" && path.endsWith("safetensors.index.json");
        if (isSharded) return response.end(JSON.stringify({ weight_map: { any: "model.safetensors" } }));
        response.end(readFileSync(join(models, path)));
      } catch {
        // Some servers answer with their own page where there is nothing.
        if (mode === "pages") response.setHeader("content-type", "text/html").end("<!doctype html><p>Welcome");
        else response.writeHead(404).end("nothing");
      }
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  test.each(["plain", "pages", "sharded", "both"])("%s", async (mode) => {
    const phases: string[] = [];
    const totals = new Set<number | undefined>();
    let last = 0;
    using model = await load(`${base}/${mode}/embeddinggemma/`, {
      kind: "sentences",
      onProgress: ({ loaded, total, phase }) => {
        totals.add(total);
        expect(loaded).toBeGreaterThanOrEqual(last);
        last = loaded;
        if (phases.at(-1) !== phase) phases.push(phase);
      },
    });
    expect(phases).toEqual(["download", "ready"]);
    expect([...totals]).toEqual([last]);
    const [{ text, values }] = expected("embeddinggemma").rows;
    expect(largestDifference((await model.embed(text, { prompt: "" })).data, values)).toBeLessThan(TOLERANCE);
    expect(asked).toContain("embeddinggemma/2_Dense/config.json");
  });

  test("are refused when there is an adapter beside the weights", async () => {
    await expect(load(`${base}/adapted/mpnet/`)).rejects.toMatchObject({
      code: "unsupported_setting", message: expect.stringContaining("adapter_config.json"),
    });
  });

  test("are refused when a text does not end, whatever the server says of its size", async () => {
    await expect(load(`${base}/endless/mpnet/`)).rejects.toMatchObject({
      code: "too_large", message: expect.stringContaining("tokenizer.json"),
    });
    await expect.poll(() => isClosed).toBe(true);
  });

  test("say what is missing", async () => {
    await expect(load(`${base}/dead/mpnet/`)).rejects.toMatchObject({ message: expect.stringContaining("config.json") });
    await expect(load(`${base}/pages/nowhere/`)).rejects.toMatchObject({ message: expect.stringContaining("config.json") });
  });

  test("and addresses of files say what came in place of these, and from where", async () => {
    const page = load(`${base}/pages/nowhere/model.weights`);
    await expect(page).rejects.toMatchObject({ code: "unknown_format", message: expect.stringMatching(/web page.*nowhere\/model\.weights/) });
    const weights = load(`${base}/plain/mpnet/model.safetensors`);
    await expect(weights).rejects.toMatchObject({ code: "unknown_format", message: expect.stringContaining("folder") });
    await expect(load(`${base}/plain/x.weights`)).rejects.toMatchObject({ code: "http_status", message: expect.stringContaining("404") });
    await expect(load("http://127.0.0.1:9/x.weights")).rejects.toMatchObject({
      code: "connection_lost", message: expect.stringContaining("127.0.0.1:9"),
    });
    await expect(load(new Uint8Array())).rejects.toMatchObject({ message: expect.stringContaining("empty") });
  });
});

test("folders and files are read where they lie, by path or file: URL", async () => {
  const [{ text, values }] = expected("mpnet").rows;
  const folder = `${join(models, "mpnet")}/`;
  for (const source of [folder, pathToFileURL(folder), pathToFileURL(folder).href, `${relative(process.cwd(), folder)}/`]) {
    using model = await load(source, { kind: "sentences" });
    expect(largestDifference((await model.embed(text, { prompt: "" })).data, values)).toBeLessThan(TOLERANCE);
  }
  const words = join(data, "finalfusion/explicit.fifu");
  for (const source of [words, pathToFileURL(words)]) {
    using whole = await load(source, { kind: "words" });
    using opened = await open(source);
    expect(opened.count).toBe(whole.count);
    expect((await inspect(source)).format).toBe("finalfusion");
  }
  await expect(load("nowhere/x.weights")).rejects.toMatchObject({ code: "missing_file", message: expect.stringContaining("nowhere/x.weights") });
  const hint = "load its folder: https://huggingface.co/intfloat/multilingual-e5-small-v1.5/resolve/main/";
  await expect(load("intfloat/multilingual-e5-small-v1.5")).rejects.toMatchObject({ code: "missing_file", message: expect.stringContaining(hint) });
  await expect(load("nowhere/x.weights")).rejects.not.toMatchObject({ message: expect.stringContaining("huggingface") });
  await expect(load("nowhere/")).rejects.toMatchObject({ message: expect.stringContaining("config.json") });
});

test("a limit of bytes is one of all files that a folder's model is read from", async () => {
  const files = picked("bert_cased").filter(({ name }) => !name.startsWith("expected.") && name !== "special_tokens_map.json");
  const maxBytes = files.reduce((sum, file) => sum + file.size, 0);
  using model = await load(picked("bert_cased"), { kind: "sentences", limits: { maxBytes } });
  expect(model.dims).toBeGreaterThan(0);
  const less = load(picked("bert_cased"), { limits: { maxBytes: maxBytes - 1 } });
  await expect(less).rejects.toMatchObject({ code: "too_large" });
});

describe("folders that are not whole", () => {
  const without = (name: string, gone: string) => load(picked(name, (path, bytes) => (path === gone ? undefined : bytes)));
  const cut = (name: string, part: string) =>
    load(picked(name, (path, bytes) => (path === part ? bytes.slice(0, bytes.length >> 1) : bytes)));

  test.each([
    ["config.json", "missing_metadata"], ["tokenizer.json", "missing_vocabulary"], ["model.safetensors", "missing_file"],
    ["2_Dense/model.safetensors", "missing_file"], ["2_Dense/config.json", "missing_metadata"],
  ])("without %s", async (gone, code) => {
    await expect(without("embeddinggemma", gone)).rejects.toMatchObject({ code, message: expect.stringContaining(gone) });
  });

  test.each(["config.json", "tokenizer.json", "modules.json", "model.safetensors", "3_Dense/model.safetensors"])("with half of %s", async (part) => {
    await expect(cut("embeddinggemma", part)).rejects.toMatchObject({
      code: expect.stringMatching(/^(bad_json|unexpected_end|out_of_bounds)$/),
      message: expect.stringMatching(new RegExp(`byte \\d+.*${part}|${part}: byte \\d+`)),
    });
  });

  test("with a page in place of the weights", async () => {
    const page = new TextEncoder().encode("<!doctype html><title>Not found</title>") as Uint8Array<ArrayBuffer>;
    const folder = load(picked("mpnet", (path, bytes) => (path === "model.safetensors" ? page : bytes)));
    await expect(folder).rejects.toMatchObject({
      code: "unknown_format", message: expect.stringMatching(/web page.*model\.safetensors/),
    });
  });

  test("with weights of another model", async () => {
    const other = Uint8Array.from(readFileSync(join(models, "mpnet/model.safetensors")));
    const mixed = load(picked("roberta", (path, bytes) => (path === "model.safetensors" ? other : bytes)));
    await expect(mixed).rejects.toMatchObject({ code: expect.stringMatching(/tensor|shape/) });
  });

  test("with a setting that changes results and is not known", async () => {
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    const odd = load(picked("mpnet", (path, bytes) => {
      if (path !== "config.json") return bytes;
      return new TextEncoder().encode(JSON.stringify({ ...JSON.parse(text(bytes)), odd_scale: 2 })) as Uint8Array<ArrayBuffer>;
    }));
    await expect(odd).rejects.toMatchObject({ code: "unsupported_setting", message: expect.stringContaining("odd_scale") });
  });

  test("or hold a model of another kind", async () => {
    await expect(load(picked("mpnet"), { kind: "causal" })).rejects.toMatchObject({ code: "wrong_kind" });
    const model: Model = await load(picked("mpnet"));
    expect(model.kind).toBe("sentences");
    model.dispose();
  });
});

test("a folder of BERT with its vocabulary alone has the ids that it has with a tokenizer", async () => {
  let lines: string[] = [];
  const files = picked("bert_cased", (path, bytes) => {
    if (path !== "tokenizer.json") return bytes;
    const { model } = JSON.parse(new TextDecoder().decode(bytes)) as { model: { vocab: Record<string, number> } };
    lines = Object.entries(model.vocab).sort(([, a], [, b]) => a - b).map(([token]) => `${token}\n`);
    return undefined;
  });
  using model = await load([...files, new File(lines, "vocab.txt")], { kind: "sentences" });
  for (const { text, ids } of expected("bert_cased").rows) {
    expect([...(await model.tokenize(text, { maxTokens: model.maxTokens, prompt: "" })).ids]).toEqual(ids);
  }
});

describe("folders that were picked", () => {
  test("have files at different places, or are refused", async () => {
    const files = picked("bert_max_pool").map((file) => new File([file], file.name));
    const same = { code: "invalid_argument", message: expect.stringContaining("config.json") };
    await expect(load(files, { kind: "sentences" })).rejects.toMatchObject(same);
    await expect(load(files.reverse(), { kind: "sentences" })).rejects.toMatchObject(same);
    const named = picked("bert_max_pool").map((file) => new File([file], file.webkitRelativePath.replace("bert_max_pool/", "")));
    const { rows } = expected("bert_max_pool");
    using model = await load(named, { kind: "sentences" });
    expect(largestDifference((await model.embed(rows[0]!.text, { prompt: "" })).data, rows[0]!.values)).toBeLessThan(TOLERANCE);
  });

  test("have all that their list of modules names", async () => {
    const files = picked("bert_max_pool", (path, bytes) => (path.startsWith("1_Pooling/") ? undefined : bytes));
    await expect(load(files)).rejects.toMatchObject({ code: "missing_metadata", message: expect.stringContaining("1_Pooling/config.json") });
  });

  test("are not requantised", async () => {
    const refused = { code: "unsupported_setting", message: expect.stringContaining("requantize") };
    await expect(load(picked("mpnet"), { requantize: true })).rejects.toMatchObject(refused);
  });
});
