// Adapters with the packages that they are for, of which npm installs some 60 MB.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";
import { model } from "../tests/files.js";
import { project } from "./project.js";

let folder: string | undefined;
beforeAll(() => void (folder = project({}, ["@langchain/core@1.4.0", "@llamaindex/core@0.6.23", "ai@6.0.326", "zod@4", "@orama/orama@3.1.18"])));
afterAll(() => folder && rmSync(folder, { recursive: true }));

/** What every program begins with. */
const START = `
import { load } from "nanoembed";
const model = load(${JSON.stringify(model)}, { kind: "sentences" });
const texts = ["The cat sat on the mat.", "Interest rates went up.", "Bread is made of flour."];
const question = "How is bread made?";
const near = (a, b) => Math.max(...Array.from(a, (value, at) => Math.abs(value - b[at]))) < 1e-6;
const documents = await (await model).embedDocuments(texts);
const query = (await (await model).embedQuery(question)).data;
const are = (vectors) => vectors.length === texts.length && vectors.every((vector, at) => Array.isArray(vector) && near(vector, documents.data.subarray(at * 384, (at + 1) * 384)));
const say = (...all) => console.log(JSON.stringify(all));
`;

const PROGRAMS = {
  "LangChain.js": [`
    import { NanoembedEmbeddings } from "nanoembed/langchain";
    import { Embeddings } from "@langchain/core/embeddings";
    import { Document } from "@langchain/core/documents";
    import { VectorStore } from "@langchain/core/vectorstores";
    const embeddings = new NanoembedEmbeddings({ model });
    class Store extends VectorStore {
      rows = [];
      _vectorstoreType() { return "test"; }
      async addDocuments(documents) { await this.addVectors(await this.embeddings.embedDocuments(documents.map(({ pageContent }) => pageContent)), documents); }
      async addVectors(vectors, documents) { vectors.forEach((vector, at) => this.rows.push([documents[at], vector])); }
      async similaritySearchVectorWithScore(query, k) {
        const score = (vector) => vector.reduce((sum, value, at) => sum + value * query[at], 0);
        return this.rows.map(([document, vector]) => [document, score(vector)]).sort((a, b) => b[1] - a[1]).slice(0, k);
      }
    }
    const store = new Store(embeddings, {});
    await store.addDocuments(texts.map((pageContent) => new Document({ pageContent })));
    const [best] = await store.asRetriever(1).invoke(question);
    say(embeddings instanceof Embeddings, are(await embeddings.embedDocuments(texts)), near(await embeddings.embedQuery(question), query), best.pageContent);
  `, [true, true, true, "Bread is made of flour."]],
  "LlamaIndex.TS": [`
    import { NanoembedEmbedding } from "nanoembed/llamaindex";
    import { BaseEmbedding } from "@llamaindex/core/embeddings";
    import { TextNode } from "@llamaindex/core/schema";
    const embedding = new NanoembedEmbedding({ model });
    const nodes = await embedding(texts.map((text) => new TextNode({ text })));
    const asked = await embedding.getQueryEmbedding({ type: "text", text: question });
    const none = await embedding.getQueryEmbedding({ type: "image_url", image_url: { url: "x" } });
    say(embedding instanceof BaseEmbedding, are(await embedding.getTextEmbeddingsBatch(texts)), near(asked, query), none, nodes.map((node) => node.getEmbedding().length));
  `, [true, true, true, null, [384, 384, 384]]],
  "the AI SDK": [`
    import { embeddingModel } from "nanoembed/ai-sdk";
    import { cosineSimilarity, embed, embedMany } from "ai";
    const own = embeddingModel(model);
    const { embeddings, usage } = await embedMany({ model: own, values: texts });
    const { embedding } = await embed({ model: own, value: question, providerOptions: { nanoembed: { role: "query" } } });
    const scores = embeddings.map((one) => cosineSimilarity(one, embedding));
    const refused = await embed({ model: own, value: question, providerOptions: { nanoembed: { dimensions: 3 } }, maxRetries: 0 }).catch(({ message }) => message);
    const stopped = await embed({ model: own, value: question, abortSignal: AbortSignal.abort() }).catch(({ name }) => name);
    say(are(embeddings), near(embedding, query), scores.indexOf(Math.max(...scores)), usage.tokens === documents.tokens.reduce((a, b) => a + b), refused.includes("nanoembed.dimensions"), stopped);
  `, [true, true, 2, true, true, "AbortError"]],
  Orama: [`
    import { embeddingPlugin } from "nanoembed/orama";
    import { create, getByID, insert, insertMultiple, search, update, upsert } from "@orama/orama";
    const db = create({ schema: { text: "string", embeddings: "vector[384]" }, plugins: [embeddingPlugin({ model, texts: ["text"] })] });
    await insert(db, { id: "0", text: texts[0] });
    await insertMultiple(db, texts.slice(1).map((text, at) => ({ id: String(at + 1), text })));
    // Searches take vectors from the documents that they give.
    const kept = are(texts.map((_, at) => getByID(db, String(at)).embeddings));
    const found = await search(db, { mode: "vector", term: question, similarity: 0.3 });
    const hybrid = await search(db, { mode: "hybrid", term: question, similarity: 0.3 });
    const words = await search(db, { term: "cat" });
    const near0 = async (id) => near(getByID(db, id).embeddings, (await (await model).embed("Rockets fly.")).data);
    const updated = await near0(await update(db, "0", { id: "0", text: "Rockets fly." }));
    const upserted = await near0(await upsert(db, { id: "1", text: "Rockets fly." }));
    const nested = create({ schema: { meta: { note: "string" }, embeddings: "vector[384]" }, plugins: [embeddingPlugin({ model, texts: ["meta.note"] })] });
    await insertMultiple(nested, texts.map((note, at) => ({ id: String(at), meta: { note } })));
    const inner = are(texts.map((_, at) => getByID(nested, String(at)).embeddings));
    const without = await insert(nested, { meta: {} }).catch(({ code }) => code);
    say(kept, found.hits[0].document.text, hybrid.hits[0].document.text, words.hits[0].document.text, updated, upserted, inner, without);
  `, [true, "Bread is made of flour.", "Bread is made of flour.", "The cat sat on the mat.", true, true, true, "invalid_argument"]],
} as const;

test.for(Object.entries(PROGRAMS))("%s", ([name, [code, expected]], { skip }) => {
  if (!folder) return skip();
  const file = join(folder, `${name.replace(/\W/g, "")}.mjs`);
  writeFileSync(file, START + code);
  const said = execFileSync(process.execPath, [file], { cwd: folder }).toString().trim().split("\n").at(-1)!;
  expect(JSON.parse(said)).toEqual(expected);
});

const TYPED = `
import { load, type SentenceModel } from "nanoembed";
import { NanoembedEmbeddings } from "nanoembed/langchain";
import { NanoembedEmbedding } from "nanoembed/llamaindex";
import { embeddingModel } from "nanoembed/ai-sdk";
import { embeddingPlugin } from "nanoembed/orama";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import type { BaseEmbedding } from "@llamaindex/core/embeddings";
import { embedMany } from "ai";
import { create } from "@orama/orama";
const model: Promise<SentenceModel> = load("x", { kind: "sentences" });
export const langchain: EmbeddingsInterface = new NanoembedEmbeddings({ model, maxConcurrency: 2 });
export const llamaindex: BaseEmbedding = new NanoembedEmbedding({ model });
export const many = embedMany({ model: embeddingModel(model), values: ["x"] });
export const db = create({ schema: { text: "string" } as const, plugins: [embeddingPlugin({ model, texts: ["text"] })] });
// @ts-expect-error
export const wrong = new NanoembedEmbeddings({});
`;

test("their types fit", ({ skip }) => {
  if (!folder) return skip();
  const file = join(folder, "typed.ts");
  writeFileSync(file, TYPED);
  const program = ts.createProgram([file], {
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, strict: true,
    noEmit: true, skipLibCheck: true, lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"], types: [],
  });
  const said = ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  expect(said).toEqual([]);
});
