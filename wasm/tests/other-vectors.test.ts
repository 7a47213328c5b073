// Sparse vectors, and a vector for each token, of models in folders and files: those of transformers, PyLate and FlagEmbedding.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { load, type MultiEmbedding, type Reranker, type SentenceModel, type SparseEmbedding } from "../dist/index.js";
import { createWorker } from "../dist/worker.js";
import { floats, json, largestDifference } from "./files.js";
import { heads, picked } from "./folders.js";
import { weightsOf } from "./weights.js";

const TOLERANCE = 2e-5;
const precise = { precision: "precise" } as const;

interface Row {
  text: string;
  kind: "query" | "document";
  sparse: Record<string, number>;
  offset: number;
  tokens: number;
  colbert_rows: number;
}

const rows = (name: string): Row[] => json<{ rows: Row[] }>("heads", name, "expected.json").rows;
const folder = (name: string) => picked(join(heads, name));
const open = async (name: string) => (await load(folder(name))) as SentenceModel;

function checkSparse(found: SparseEmbedding, row: Row): void {
  const expected = Object.entries(row.sparse).map(([id, weight]): [number, number] => [Number(id), weight]).sort(([a], [b]) => a - b);
  expect([...found.indices]).toEqual(expected.map(([id]) => id));
  expect(largestDifference(found.values, expected.map(([, weight]) => weight))).toBeLessThanOrEqual(TOLERANCE);
}

test.each(["splade", "splade_distil", "bge_m3_multi"])("%s makes the sparse vectors of transformers", async (name) => {
  const model = await open(name);
  const expected = rows(name);
  const done: number[] = [];
  const options = { vectors: "sparse", onProgress: (it: { done: number }) => done.push(it.done), ...precise } as const;
  const all = await model.embed(expected.map(({ text }) => text), options);
  expect(done).toEqual(expected.map((_, at) => at + 1));
  for (const [at, row] of expected.entries()) {
    checkSparse(all[at]!, row);
    checkSparse(await model.embed(row.text, { vectors: "sparse", ...precise }), row);
  }
  model.dispose();
});

test("tokens of sparse vectors are spelled as in the vocabulary", async () => {
  const model = await open("splade");
  const { vocab } = json<{ model: { vocab: Record<string, number> } }>("heads", "splade", "tokenizer.json").model;
  const { indices, pieces } = await model.embed(rows("splade")[0]!.text, { vectors: "sparse", pieces: true });
  expect(pieces!.map((piece) => vocab[piece])).toEqual([...indices]);
  model.dispose();
});

/** The vectors of PyLate for the texts of one side. */
function sided(side: Row["kind"]): { text: string; values: Float32Array }[] {
  const all = floats("heads", "colbert", "expected.f32");
  return rows("colbert").filter(({ kind }) => kind === side)
    .map(({ text, offset, tokens }) => ({ text, values: all.subarray(offset * 128, (offset + tokens) * 128) }));
}

async function checkLate(model: SentenceModel, reranker: Reranker): Promise<void> {
  const sums = json<{ maxsim: number[][] }>("heads", "colbert", "expected.json").maxsim;
  const [queries, documents] = [sided("query"), sided("document")];
  const options = { vectors: "multi", ...precise } as const;
  const answers = await model.embedDocuments(documents.map(({ text }) => text), options);
  for (const [at, { data, dims }] of answers.entries()) {
    expect(dims).toBe(128);
    expect(largestDifference(data, documents[at]!.values)).toBeLessThanOrEqual(TOLERANCE);
  }
  for (const [at, { text, values }] of queries.entries()) {
    const question: MultiEmbedding = await model.embedQuery(text, options);
    expect(question.tokens).toBe(32);
    expect(largestDifference(question.data, values)).toBeLessThanOrEqual(TOLERANCE);
    const scores = await model.maxSim(question, answers);
    // Of 32 vectors.
    expect(largestDifference(scores, sums[at]!)).toBeLessThanOrEqual(32 * TOLERANCE);
    const compared = await reranker.score(text, documents.map((it) => it.text), precise);
    expect(compared.map(({ scores: [score] }) => score)).toEqual(scores);
    const ranked = await reranker.rerank(text, documents.map((it) => it.text), precise);
    expect(ranked.map(({ index }) => index)).toEqual(sums[at]!.map((_, index) => index).sort((a, b) => sums[at]![b]! - sums[at]![a]!));
  }
  expect(reranker.labels).toEqual([""]);
}

test("a model for late interaction makes the vectors and the scores of PyLate", async () => {
  const model = await open("colbert");
  const reranker = await load(folder("colbert"), { kind: "reranker" });
  await checkLate(model, reranker);
  model.dispose();
  reranker.dispose();
});

test("it does so as a file, and in workers", async () => {
  const file = weightsOf(join(heads, "colbert"));
  const model = (await load(file.slice())) as SentenceModel;
  const reranker = await load(file.slice(), { kind: "reranker" });
  await checkLate(model, reranker);
  using workers = createWorker({ workers: 2 });
  await checkLate((await workers.load(new Blob([file]))) as SentenceModel, await workers.load(new Blob([file]), { kind: "reranker" }));
});

test("the layer beside BGE-M3's weights makes the vectors of FlagEmbedding, and dense ones stay", async () => {
  const model = await open("bge_m3_multi");
  const all = floats("heads", "bge_m3_multi", "expected_colbert.f32");
  const dense = floats("heads", "bge_m3_multi", "expected.f32");
  let at = 0;
  for (const [row, { text, colbert_rows }] of rows("bge_m3_multi").entries()) {
    const { data, dims } = await model.embed(text, { vectors: "multi", ...precise });
    expect(dims).toBe(32);
    expect(largestDifference(data, all.subarray(at, (at += colbert_rows * 32)))).toBeLessThanOrEqual(TOLERANCE);
    const one = await model.embed(text, { vectors: "dense", ...precise });
    expect(largestDifference(one.data, dense.subarray(row * one.dims, (row + 1) * one.dims))).toBeLessThanOrEqual(TOLERANCE);
  }
  model.dispose();
});

test("what a model does not make, and options for dense vectors, are refused by name", async () => {
  const [splade, colbert] = [await open("splade"), await open("colbert")];
  const refused = (code: string, message: string) => ({ code, message: expect.stringContaining(message) as string });
  await expect(splade.embed("a")).rejects.toMatchObject(refused("other_model", "no dense vectors; it makes sparse"));
  await expect(splade.embed("a", { vectors: "multi" })).rejects.toMatchObject(refused("other_model", "no multi vectors"));
  await expect(colbert.embed("a", { vectors: "multi" })).rejects.toMatchObject(refused("invalid_argument", "embedQuery"));
  await expect(splade.embed("a", { vectors: "odd" as never })).rejects.toMatchObject(refused("invalid_argument", "vectors"));
  for (const option of [{ truncateDim: 4 }, { normalize: true }, { out: new Float32Array(9) }]) {
    const asked = splade.embed("a", { vectors: "sparse", ...option } as never);
    await expect(asked).rejects.toMatchObject(refused("invalid_argument", `${Object.keys(option)[0]!} is for dense`));
  }
  await expect(colbert.embedQuery("a", { vectors: "multi", pieces: true } as never)).rejects.toMatchObject(refused("invalid_argument", "pieces"));
  await expect(splade.embed(["a b c d", "e"], { vectors: "sparse", maxTokens: 3, truncate: "error" }))
    .rejects.toMatchObject(refused("too_many_tokens", "text 0"));
  const empty = { data: new Float32Array(), dims: 3, tokens: 0, truncated: false };
  await expect(splade.maxSim(empty, [])).rejects.toMatchObject({ code: "other_model" });
  await expect(colbert.maxSim(empty, [])).rejects.toMatchObject(refused("invalid_argument", "128"));
  const cut = await colbert.embedDocuments(["a b c d e f g h"], { vectors: "multi", maxTokens: 6 });
  expect(cut[0]).toMatchObject({ tokens: 6, truncated: true });
  splade.dispose();
  colbert.dispose();
});

test("models of BERT alone make dense vectors, whatever they are asked for", async () => {
  const bytes = Uint8Array.from(readFileSync(join(heads, "../../../ffi/tests/data/small_bert.weights")));
  const model = (await load(bytes)) as SentenceModel;
  await expect(model.embed("a", { vectors: "sparse" })).rejects.toMatchObject({ code: "other_model" });
  expect((await model.embed("a", { vectors: "dense" })).data).toEqual((await model.embed("a")).data);
  model.dispose();
});
