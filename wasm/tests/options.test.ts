// Options whose names nobody knows: each function refuses them, in the page and in workers, and no others.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { embeddingModel, rerankingModel } from "../dist/ai-sdk.js";
import * as chroma from "../dist/chromadb.js";
import * as main from "../dist/index.js";
import * as inspector from "../dist/inspect.js";
import * as lance from "../dist/lancedb.js";
import * as langchain from "../dist/langchain.js";
import * as llamaindex from "../dist/llamaindex.js";
import { embeddingPlugin } from "../dist/orama.js";
import { createIndex } from "../dist/search-index.js";
import { semanticEmbedder } from "../dist/semantic-embedder.js";
import * as slim from "../dist/slim.js";
import { createWorker, type WorkerPool } from "../dist/worker.js";
import { bytes, modelBytes } from "./files.js";
import { models } from "./folders.js";

vi.mock("@langchain/core/embeddings", () => ({ Embeddings: class {} }));
vi.mock("@langchain/core/documents", () => ({ Document: class {} }));
vi.mock("@langchain/core/retrievers/document_compressors", () => ({ BaseDocumentCompressor: class {} }));
vi.mock("@llamaindex/core/embeddings", () => ({ BaseEmbedding: class {} }));
vi.mock("@llamaindex/core/schema", () => ({ MetadataMode: {} }));
vi.mock("@lancedb/lancedb", () => ({ rerankers: {} }));
vi.mock("@lancedb/lancedb/embedding", () => ({
  TextEmbeddingFunction: class { resolveVariables = (options: object) => options; }, register: () => () => {},
}));
vi.mock("chromadb", () => ({ registerEmbeddingFunction() {} }));

const words = () => bytes("finalfusion", "fasttext.fifu");

/** The error that names an option, and others that there are. */
const refused = (name: string, known: string) => ({
  code: "invalid_argument",
  message: expect.stringMatching(new RegExp(`^there is no option "${name.replaceAll(".", "\\.")}"; the options are (.*, )?${known}(,|$)`)),
});

/** A call with any options, and one of those that it knows. */
type Call = readonly [call: (options: never) => unknown, known: string];

async function expectRefused([call, known]: Call, place = ""): Promise<void> {
  const wanted = async (options: unknown) => {
    const given = call(options as never) as AsyncGenerator;
    return given?.next ? given.next() : given;
  };
  await expect(wanted({ truncatDim: 64 })).rejects.toMatchObject(refused(`${place}truncatDim`, known));
  await expect(wanted({ toString: "x" })).rejects.toMatchObject(refused(`${place}toString`, known));
}

describe.each(["in the page", "in a worker"])("%s", (where) => {
  let pool: WorkerPool | undefined;
  let api: Pick<WorkerPool, "load" | "open" | "inspect" | "verify">;
  const calls: Record<string, Call> = {};

  beforeAll(async () => {
    if (where === "in a worker") pool = createWorker();
    api = pool ?? main;
    const sentences = await api.load(modelBytes(), { kind: "sentences" });
    const reranker = await api.load(`${join(models, "cross_encoder")}/`, { kind: "reranker" });
    const vectors = await api.load(words(), { kind: "words" });
    const causal = await api.load(bytes("llama", "tiny.gguf"), { kind: "causal" });
    const { values } = await api.inspect(bytes("gguf", "small.gguf"));
    Object.assign(calls, {
      load: [(options) => api.load(modelBytes(), options), "requantize"],
      "load of a folder": [(options) => api.load(`${join(models, "mpnet")}/`, options), "kind"],
      open: [(options) => api.open(new Blob([words()]), options), "duplicates"],
      inspect: [(options) => api.inspect(modelBytes(), options), "strict"],
      verify: [(options) => api.verify(modelBytes(), options), "onProgress"],
      values: [(options) => values("token_embd.weight", options), "first"],
      embed: [(options) => sentences.embed("x", options), "truncateDim"],
      "embed of several": [(options) => sentences.embed(["x", "y"], options), "truncateDim"],
      embedQuery: [(options) => sentences.embedQuery("x", options), "out"],
      embedDocuments: [(options) => sentences.embedDocuments([], options), "out"],
      embedStream: [(options) => sentences.embedStream([], options), "truncateDim"],
      tokenize: [(options) => sentences.tokenize("x", options), "maxTokens"],
      rerank: [(options) => reranker.rerank("x", ["y"], options), "maxTokens"],
      score: [(options) => reranker.score("x", [], options), "precision"],
      vector: [(options) => vectors.vector("x", options), "signal"],
      similar: [(options) => vectors.similar("no such word", options), "k"],
      analogy: [(options) => vectors.analogy("a", "b", "c", options), "k"],
      generate: [(options) => causal.generate("x", options), "temperature"],
      "tokenize of a causal model": [(options) => causal.tokenize("x", options), "maxTokens"],
    } satisfies Record<string, Call>);
  });
  afterAll(() => pool?.dispose());

  test.each([
    "load", "load of a folder", "open", "inspect", "verify", "values", "embed", "embed of several", "embedQuery", "embedDocuments", "embedStream",
    "tokenize", "rerank", "score", "vector", "similar", "analogy", "generate", "tokenize of a causal model",
  ])("%s refuses what it does not know", (name) => expectRefused(calls[name]!));

  test("what others take is refused, too", async () => {
    const [onProgress, out] = [() => {}, new Float32Array(384)];
    for (const name of ["open", "inspect", "tokenize", "rerank", "vector", "generate"]) {
      const [call, known] = calls[name]!;
      const given = call({ onProgress } as never) as AsyncGenerator;
      await expect(given.next ? given.next() : given, name).rejects.toMatchObject(refused("onProgress", known));
    }
    const [tokenize] = calls["tokenize"]!;
    await expect(tokenize({ out } as never)).rejects.toMatchObject(refused("out", "prompt"));
    await expect(api.load(modelBytes(), { limits: { maxbytes: 5 } as never })).rejects.toMatchObject(refused("limits.maxbytes", "maxBytes"));
  });

  test("a number in place of options is refused", async () => {
    const [similar] = calls["similar"]!;
    await expect(similar(3 as never)).rejects.toMatchObject({ code: "invalid_argument", message: "options must be an object" });
  });

  test("an option that is undefined is none, whatever its name", async () => {
    const [embed] = calls["embed"]!;
    expect(await embed({ truncatDim: undefined, truncateDim: 64 } as never)).toMatchObject({ dims: 64 });
  });

  test("the package's own options are not told", async () => {
    const [embed] = calls["embed"]!;
    await expect(embed({ roles: "query" } as never)).rejects.toMatchObject({ message: expect.not.stringMatching(/start|role,/) });
  });
});

test.each<[string, Call]>([
  ["init", [main.init, "module_or_path"]],
  ["init of the inspector", [inspector.init, "module_or_path"]],
  ["init of word vectors", [slim.init, "module_or_path"]],
  ["load of word vectors", [(options) => slim.load(words(), options), "duplicates"]],
  ["open of word vectors", [(options) => slim.open(words(), options), "duplicates"]],
  ["createWorker", [(options: object) => createWorker(options), "workers"]],
  ["semanticEmbedder", [(options: object) => semanticEmbedder({ model: "x", ...options }), "embeddingSpace"]],
  ["embeddingModel", [(options) => embeddingModel({} as never, options), "modelId"]],
  ["NanoembedEmbeddings", [(options: object) => new langchain.NanoembedEmbeddings({ model: {} as never, ...options }), "maxRetries"]],
  ["rerankingModel", [(options) => rerankingModel({} as never, options), "modelId"]],
  ["NanoembedReranker for LangChain", [(options: object) => new langchain.NanoembedReranker({ model: {} as never, ...options }), "topN"]],
  ["NanoembedReranker for LlamaIndex", [(options: object) => new llamaindex.NanoembedReranker({ model: {} as never, ...options }), "topN"]],
  ["NanoembedReranker for LanceDB", [(options: object) => new lance.NanoembedReranker({ model: {} as never, ...options }), "column"]],
  ["NanoembedFunction for LanceDB", [(options: object) => new lance.NanoembedFunction({ path: "x", ...options }), "path"]],
  ["NanoembedFunction for Chroma", [(options: object) => new chroma.NanoembedFunction({ path: "x", ...options }), "model"]],
  ["NanoembedEmbedding", [(options: object) => new llamaindex.NanoembedEmbedding({ model: {} as never, ...options }), "model"]],
  ["embeddingPlugin", [(options: object) => embeddingPlugin({ model: {} as never, texts: [], ...options }), "property"]],
])("%s refuses what it does not know", (_, call) => expectRefused(call));

test("a kind that there is not is told, with those that there are", async () => {
  const pool = createWorker();
  try {
    for (const kind of ["sentence", "toString", ""]) {
      const message = `there is no kind "${kind}"; the kinds are sentences, reranker, words, causal`;
      for (const api of [main, pool]) {
        await expect(api.load(modelBytes(), { kind: kind as never })).rejects.toMatchObject({ code: "invalid_argument", message });
      }
    }
  } finally {
    pool.dispose();
  }
});

test("options within others are told with their place", async () => {
  await expectRefused([(options) => semanticEmbedder({ model: "x", options }), "cache"], "options.");
  const asked = (nanoembed: never) => embeddingModel({} as never).doEmbed({ values: [], providerOptions: { nanoembed } });
  await expectRefused([asked, "role"], "providerOptions.nanoembed.");
  const ranked = (nanoembed: never) =>
    rerankingModel({} as never).doRerank({ query: "x", documents: { type: "text", values: [] }, providerOptions: { nanoembed } });
  await expectRefused([ranked, "precision"], "providerOptions.nanoembed.");
});

test("what other packages give adapters beside options is let pass", async () => {
  using model = await main.load(modelBytes(), { kind: "sentences" });
  const call = { values: ["x"], headers: {}, providerOptions: { openai: { dimensions: 3 }, nanoembed: { truncateDim: 64 } } };
  expect((await embeddingModel(model).doEmbed(call)).embeddings[0]).toHaveLength(64);
  expect(() => new langchain.NanoembedEmbeddings({ model, maxConcurrency: 2, onFailedAttempt() {} })).not.toThrow();
});

test("what other functions of LanceDB and Chroma keep is read", () => {
  // As those of Python.
  expect(() => new lance.NanoembedFunction({ path: "x", threads: null } as never)).not.toThrow();
  expect(chroma.NanoembedFunction.buildFromConfig({ path: "x", threads: null }).getConfig!()).toEqual({ path: "x" });
  const missing = { code: "invalid_argument", message: expect.stringContaining("the model's address is missing") };
  expect(() => new lance.NanoembedFunction({ path: null } as never)).toThrow(expect.objectContaining(missing));
  expect(() => chroma.NanoembedFunction.buildFromConfig({ path: null })).toThrow(expect.objectContaining(missing));
  expect(() => new lance.NanoembedFunction({ path: "x" }).ndims()).toThrow("the model is not loaded");
});

test.each([["LangChain", langchain], ["LlamaIndex", llamaindex]])("what reranks for %s keeps one text or more", (_, { NanoembedReranker }) => {
  for (const topN of [0, -1, 1.5]) expect(() => new NanoembedReranker({ model: {} as never, topN })).toThrow("topN must be 1 or more");
});

test("an index refuses what it does not know", async () => {
  using model = await main.load(modelBytes(), { kind: "sentences" });
  await expectRefused([(options: object) => createIndex({ model, ...options }), "keepTexts"]);
  await expectRefused([(chunk) => createIndex({ model, chunk }), "overlap"], "chunk.");
  const index = await createIndex({ model });
  await expectRefused([(options) => index.add([], options), "onEmbedded"]);
  await expectRefused([(options) => index.search("x", options), "k"]);
  await expect(index.search("x", 3 as never)).rejects.toMatchObject({ code: "invalid_argument" });
  index.close();
});
