// Adapters with the packages that they are for, of which npm installs some 400 MB.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";
import { data, model } from "../tests/files.js";
import { project } from "./project.js";

// Without what these packages can do without, such as models of their own; the machine's part of LanceDB is named.
const machine = `${process.platform}-${process.arch}${process.platform === "linux" ? "-gnu" : ""}`;
const PACKAGES = [
  "@langchain/core@1.4.0", "@langchain/classic@1.0.50", "@llamaindex/core@0.6.23", "ai@7.0.173", "ai6@npm:ai@6.0.326", "zod@4",
  "@orama/orama@3.1.18", "@lancedb/lancedb@0.39.0", `@lancedb/lancedb-${machine}@0.39.0`, "apache-arrow@18.1.0", "chromadb@3.5.0",
];

let folder: string | undefined;
beforeAll(async () => void (folder = await project({}, PACKAGES, ["--omit=optional"])));
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
const path = ${JSON.stringify(model)};
`;

/** What programs that rerank begin with, whose model has random weights. */
const RERANKER = `
const reranker = load(${JSON.stringify(`${data}/models/cross_encoder/`)}, { kind: "reranker" });
const ranks = await (await reranker).rerank(question, texts);
const order = ranks.map(({ index }) => index);
`;

type Program = readonly [code: string, expected: unknown[]];

/** A program by both versions of the AI SDK. */
const ofBoth = (name: string, [code, expected]: Program): Record<string, Program> =>
  Object.fromEntries([["6", "ai6"], ["7", "ai"]].map(([version, from]) => [`the AI SDK ${version}, ${name}`, [code.replace("PACKAGE", from!), expected]]));

const PROGRAMS: Record<string, Program> = {
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
  "LangChain.js, a compressor": [`${RERANKER}
    import { NanoembedReranker } from "nanoembed/langchain";
    import { BaseDocumentCompressor } from "@langchain/core/retrievers/document_compressors";
    import { BaseRetriever } from "@langchain/core/retrievers";
    import { Document } from "@langchain/core/documents";
    import { ContextualCompressionRetriever } from "@langchain/classic/retrievers/contextual_compression";
    const given = texts.map((pageContent, at) => new Document({ pageContent, id: String(at), metadata: { at } }));
    class All extends BaseRetriever {
      lc_namespace = ["test"];
      async _getRelevantDocuments() { return given; }
    }
    const baseCompressor = new NanoembedReranker({ model: reranker, topN: 2 });
    const found = await new ContextualCompressionRetriever({ baseCompressor, baseRetriever: new All() }).invoke(question);
    const all = await new NanoembedReranker({ model: reranker }).compressDocuments(given, question);
    say(
      baseCompressor instanceof BaseDocumentCompressor, found.every((document) => document instanceof Document),
      found.map(({ metadata }, at) => metadata.at === order[at] && metadata.relevanceScore === ranks[at].score),
      all.map(({ id }) => Number(id)).join() === order.join(), given.some(({ metadata }) => "relevanceScore" in metadata),
      await new NanoembedReranker({ model: reranker }).compressDocuments([], question),
    );
  `, [true, true, [true, true], true, false, []]],
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
  "LlamaIndex.TS, a postprocessor": [`${RERANKER}
    import { NanoembedReranker } from "nanoembed/llamaindex";
    import { BaseRetriever } from "@llamaindex/core/retriever";
    import { RetrieverQueryEngine } from "@llamaindex/core/query-engine";
    import { EngineResponse, TextNode } from "@llamaindex/core/schema";
    const given = texts.map((text, at) => ({ node: new TextNode({ text, id_: String(at) }), score: 0.5 }));
    class All extends BaseRetriever {
      async _retrieve() { return given; }
    }
    const reranker3 = new NanoembedReranker({ model: reranker });
    const engine = new RetrieverQueryEngine(new All(), { synthesize: async ({ nodes }) => EngineResponse.fromResponse("", false, nodes) }, [new NanoembedReranker({ model: reranker, topN: 2 })]);
    const { sourceNodes } = await engine.query({ query: question });
    const idsOf = (nodes) => nodes.map(({ node }) => Number(node.id_));
    const asked = await reranker3.postprocessNodes(given, [{ type: "text", text: question }, { type: "image_url", image_url: { url: "x" } }]);
    const titled = new TextNode({ text: "Bread.", metadata: { title: "Food" } });
    const [{ score }] = await reranker3.postprocessNodes([{ node: titled }], question);
    const [whole] = await (await reranker).rerank(question, [titled.getContent("EMBED")]);
    say(
      sourceNodes.map(({ node, score }, at) => Number(node.id_) === order[at] && score === ranks[at].score),
      idsOf(asked).join() === order.join(), given.every(({ score }) => score === 0.5), score === whole.score,
      await reranker3.postprocessNodes([], question), await reranker3.postprocessNodes(given).catch(({ code }) => code),
    );
  `, [[true, true], true, true, true, [], "invalid_argument"]],
  ...ofBoth("embeddings", [`
    import { embeddingModel } from "nanoembed/ai-sdk";
    import { cosineSimilarity, embed, embedMany } from "PACKAGE";
    const own = embeddingModel(model);
    const { embeddings, usage } = await embedMany({ model: own, values: texts });
    const { embedding } = await embed({ model: own, value: question, providerOptions: { nanoembed: { role: "query" } } });
    const scores = embeddings.map((one) => cosineSimilarity(one, embedding));
    const refused = await embed({ model: own, value: question, providerOptions: { nanoembed: { dimensions: 3 } }, maxRetries: 0 }).catch(({ message }) => message);
    const stopped = await embed({ model: own, value: question, abortSignal: AbortSignal.abort() }).catch(({ name }) => name);
    say(are(embeddings), near(embedding, query), scores.indexOf(Math.max(...scores)), usage.tokens === documents.tokens.reduce((a, b) => a + b), refused.includes("nanoembed.dimensions"), stopped);
  `, [true, true, 2, true, true, "AbortError"]]),
  ...ofBoth("ranks", [`${RERANKER}
    import { rerankingModel } from "nanoembed/ai-sdk";
    import { rerank } from "PACKAGE";
    const own = rerankingModel(reranker);
    const { ranking, rerankedDocuments } = await rerank({ model: own, query: question, documents: texts, topN: 2 });
    const objects = texts.map((text) => ({ text }));
    const asJson = await (await reranker).rerank(question, objects.map((one) => JSON.stringify(one)));
    const byObjects = await rerank({ model: own, query: question, documents: objects });
    const asked = (options) => rerank({ model: own, query: question, documents: texts, maxRetries: 0, ...options });
    const refused = await asked({ providerOptions: { nanoembed: { truncateDim: 3 } } }).catch(({ message }) => message);
    const precise = await asked({ providerOptions: { nanoembed: { precision: "precise" } } });
    const stopped = await asked({ abortSignal: AbortSignal.abort() }).catch(({ name }) => name);
    say(
      ranking.every(({ originalIndex, score }, at) => originalIndex === order[at] && score === ranks[at].score), ranking.length,
      rerankedDocuments[0] === texts[order[0]], byObjects.ranking.every(({ originalIndex }, at) => originalIndex === asJson[at].index),
      refused.includes("nanoembed.truncateDim"), precise.ranking.length, stopped,
    );
  `, [true, 2, true, true, true, 3, "AbortError"]]),
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
  LanceDB: [`
    import { mkdtempSync, rmSync } from "node:fs";
    import { connect } from "@lancedb/lancedb";
    import { LanceSchema, getRegistry } from "@lancedb/lancedb/embedding";
    import "nanoembed/lancedb";
    const registered = getRegistry().get("nanoembed");
    const embedding = await registered.create({ path });
    const home = mkdtempSync("lance-");
    const schema = LanceSchema({ text: embedding.sourceField(), vector: embedding.vectorField() });
    const table = await (await connect(home)).createTable("texts", texts.slice(0, 2).map((text) => ({ text })), { schema });
    // Opened again, and told nothing of the model.
    const opened = await (await connect(home)).openTable("texts");
    await opened.add([{ text: texts[2] }]);
    const rows = await opened.query().toArray();
    const kept = are(texts.map((text) => Array.from(rows.find((row) => row.text === text).vector)));
    const [best] = await opened.search(question).limit(1).toArray();
    getRegistry().setVar("model", path);
    const named = await registered.create({ path: "$var:model" });
    const refused = await Promise.all([{}, { path, pth: 1 }].map((options) => registered.create(options).catch(({ code }) => code)));
    const missing = await registered.create({ path: "none.weights" }).catch(({ code }) => code);
    rmSync(home, { recursive: true });
    say(embedding.ndims(), kept, best.text, near(await embedding.computeQueryEmbeddings(question), query), named.ndims(), named.toJSON(), refused, missing);
  `, [384, true, "Bread is made of flour.", true, 384, { path: "$var:model" }, ["invalid_argument", "invalid_argument"], "missing_file"]],
  "LanceDB, a reranker": [`${RERANKER}
    import { mkdtempSync, rmSync } from "node:fs";
    import { Bool, Field, FixedSizeList, Float32, Int32, Int64, List, Schema, Struct, TimestampMicrosecond, Utf8 } from "apache-arrow";
    import { Index, connect } from "@lancedb/lancedb";
    import { NanoembedReranker } from "nanoembed/lancedb";
    const list = (type) => new List(new Field("item", type, true));
    const types = {
      text: new Utf8(), count: new Int32(), large: new Int64(), isShort: new Bool(), at: new TimestampMicrosecond(), tags: list(new Utf8()),
      inner: new Struct([new Field("a", new Utf8(), true), new Field("b", list(new Float32()), true)]),
      kind: new Utf8(), vector: new FixedSizeList(3, new Field("item", new Float32(), true)),
    };
    const schema = new Schema(Object.entries(types).map(([name, type]) => new Field(name, type, true)));
    const all = [...texts, "Bread and cats are made of flour and fur.", null].map((text, at) => ({
      text, count: at, large: 2n ** 40n + BigInt(at), isShort: at % 2 === 0, at: 1_700_000_000_000 + at, tags: at === 1 ? null : Array(at).fill("t" + at),
      inner: { a: "a" + at, b: [at, at / 2] }, kind: ["x", "y"][at % 2], vector: [at, 1, 2],
    }));
    all[2].count = all[3].isShort = all[3].at = null;
    const home = mkdtempSync("lance-");
    const table = await (await connect(home)).createTable("texts", all, { schema });
    await table.createIndex("text", { config: Index.fts() });
    const own = new NanoembedReranker({ model: reranker });
    const asked = () => table.query().fullTextSearch("bread cat").nearestTo([2, 1, 2]).limit(5);
    const plain = (row) => JSON.stringify(row.toJSON(), (_, value) => (typeof value === "bigint" ? String(value) : value));
    const stored = (await table.query().toArray()).map(plain);
    const found = await asked().rerank(own).toArray();
    const byAll = await (await reranker).rerank("bread cat", all.map(({ text }) => text ?? ""));
    const isStored = found.map((row, at) => {
      const { _relevance_score: score, ...rest } = row.toJSON();
      return plain({ toJSON: () => rest }) === stored[byAll[at].index] && score === Math.fround(byAll[at].score);
    });
    const few = await asked().rerank(own).select(["text"]).limit(2).toArray();
    const places = few.map(({ text }) => byAll.findIndex(({ index }) => all[index].text === text));
    const none = await asked().where("count > 99").rerank(own).toArray();
    const renamed = await asked().rerank(new NanoembedReranker({ model: reranker, column: "kind" })).toArray();
    const missing = await asked().rerank(own).select(["count"]).toArray().catch(({ message }) => message.includes("no column text"));
    rmSync(home, { recursive: true });
    say(isStored, places.length, places[0] < places[1], Object.keys(few[0].toJSON()), none, renamed.length, missing);
  `, [[true, true, true, true, true], 2, true, ["text", "_relevance_score"], [], 5, true]],
  Chroma: [`
    import { once } from "node:events";
    import { createServer } from "node:http";
    import { ChromaClient } from "chromadb";
    import { NanoembedFunction } from "nanoembed/chromadb";
    // As much of Chroma's server as the package calls here.
    const collections = new Map();
    const answers = {
      create: ({ name, configuration }) => void collections.set(name, { id: name, name, configuration_json: configuration, rows: [] }),
      add({ rows }, { ids, documents, embeddings }) { ids.forEach((id, at) => rows.push({ id, document: documents[at], vector: embeddings[at] })); return {}; },
      get: ({ rows }) => ({ ids: rows.map(({ id }) => id), embeddings: rows.map(({ vector }) => vector), include: ["embeddings"] }),
      query({ rows }, { query_embeddings: [asked] }) {
        const distance = (vector) => 1 - vector.reduce((sum, value, at) => sum + value * asked[at], 0);
        const [best] = [...rows].sort((a, b) => distance(a.vector) - distance(b.vector));
        return { ids: [[best.id]], documents: [[best.document]], distances: [[distance(best.vector)]], include: ["documents", "distances"] };
      },
    };
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const piece of request) body += piece;
      const [kind, name, call] = request.url.replace(/\\?.*/, "").split("/").slice(request.url.includes("tenants") ? 7 : 3);
      const asked = body && JSON.parse(body);
      if (kind === "collections" && !name) answers.create(asked);
      const collection = collections.get(name ?? asked.name);
      const said = kind === "collections" ? (call ? answers[call](collection, asked) : { metadata: null, ...collection })
        : { tenant: "default_tenant", databases: ["default_database"], user_id: "x", max_batch_size: 100 };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = () => new ChromaClient({ host: "127.0.0.1", port: server.address().port });

    const ids = texts.map((_, at) => String(at));
    const collection = await client().createCollection({ name: "kept", embeddingFunction: new NanoembedFunction({ path }) });
    await collection.add({ ids, documents: texts });
    // Opened again, and told nothing of the model.
    const opened = await client().getCollection({ name: "kept" });
    const { embeddings } = await opened.get({ ids, include: ["embeddings"] });
    const best = await opened.query({ queryTexts: [question], nResults: 1 });
    const kept = collections.get("kept").configuration_json;
    const given = await client().createCollection({ name: "given", embeddingFunction: new NanoembedFunction({ model }) });
    await given.add({ ids, documents: texts });
    const found = await given.query({ queryTexts: [question], nResults: 1 });
    const refused = [{}, { path, model }].map((options) => { try { return new NanoembedFunction(options); } catch ({ code }) { return code; } });
    server.close();
    const near1 = near([best.distances[0][0]], [1 - query.reduce((sum, value, at) => sum + value * embeddings[2][at], 0)]);
    say(
      kept.embedding_function.name, kept.embedding_function.config.path === path, kept.hnsw.space, are(embeddings), near1,
      best.documents[0][0], collections.get("given").configuration_json.embedding_function.type, found.documents[0][0], refused,
    );
    process.exit();
  `, ["nanoembed", true, "cosine", true, true, "Bread is made of flour.", "legacy", "Bread is made of flour.", ["invalid_argument", "invalid_argument"]]],
};

test.for(Object.entries(PROGRAMS))("%s", ([name, [code, expected]], { skip }) => {
  if (!folder) return skip();
  const file = join(folder, `${name.replace(/\W/g, "")}.mjs`);
  writeFileSync(file, START + code);
  const said = execFileSync(process.execPath, [file], { cwd: folder }).toString().trim().split("\n").at(-1)!;
  expect(JSON.parse(said)).toEqual(expected);
});

const TYPED = `
import { load, type Reranker, type SentenceModel } from "nanoembed";
import { NanoembedEmbeddings, NanoembedReranker } from "nanoembed/langchain";
import * as llama from "nanoembed/llamaindex";
import { embeddingModel, rerankingModel } from "nanoembed/ai-sdk";
import { embeddingPlugin } from "nanoembed/orama";
import * as lance from "nanoembed/lancedb";
import * as chroma from "nanoembed/chromadb";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import type { BaseDocumentCompressor } from "@langchain/core/retrievers/document_compressors";
import type { BaseEmbedding } from "@llamaindex/core/embeddings";
import type { BaseNodePostprocessor } from "@llamaindex/core/postprocessor";
import type { Table, rerankers } from "@lancedb/lancedb";
import { LanceSchema, getRegistry, type TextEmbeddingFunction } from "@lancedb/lancedb/embedding";
import type { EmbeddingFunction, EmbeddingFunctionClass } from "chromadb";
import { embedMany, rerank } from "ai";
import * as ai6 from "ai6";
import { create } from "@orama/orama";
const model: Promise<SentenceModel> = load("x", { kind: "sentences" });
export const langchain: EmbeddingsInterface = new NanoembedEmbeddings({ model, maxConcurrency: 2 });
export const llamaindex: BaseEmbedding = new llama.NanoembedEmbedding({ model });
export const many = [embedMany({ model: embeddingModel(model), values: ["x"] }), ai6.embedMany({ model: embeddingModel(model), values: ["x"] })];
const reranker: Promise<Reranker> = load("x", { kind: "reranker" });
const ranked = { model: rerankingModel(reranker), query: "x", documents: ["y"] };
export const ranks = [rerank(ranked), ai6.rerank(ranked)];
export const compressor: BaseDocumentCompressor = new NanoembedReranker({ model: reranker, topN: 3 });
export const postprocessor: BaseNodePostprocessor = new llama.NanoembedReranker({ model: reranker, topN: 3 });
export const lanceReranker: rerankers.Reranker = new lance.NanoembedReranker({ model: reranker, column: "x" });
export const hybrid = (table: Table) => table.query().fullTextSearch("x").nearestTo([1]).rerank(new lance.NanoembedReranker({ model: reranker }));
export const lancedb: TextEmbeddingFunction = new lance.NanoembedFunction({ path: "x" });
export const created: Promise<lance.NanoembedFunction> = getRegistry().get<lance.NanoembedFunction>("nanoembed")!.create({ path: "x" });
export const schema = LanceSchema({ text: lancedb.sourceField(), vector: lancedb.vectorField() });
export const chromadb: EmbeddingFunction = new chroma.NanoembedFunction({ path: "x" });
export const chromaClass: EmbeddingFunctionClass = chroma.NanoembedFunction;
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
