// The declarations as projects with other settings than ours see them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));

const USE = `
import { load, type EmbedOptions, type Reranker, type SentenceModel } from "../../dist/index.js";
import { createWorker } from "../../dist/worker.js";
import minilm from "../../../models/npm/index.js";
import amb from "../../../models/npm/amb.js";
export async function use(given: string | string[], files: FileList, options: EmbedOptions): Promise<number> {
  const model: SentenceModel = await load("/model/", { kind: "sentences" });
  const all = await model.embed(given, options);
  const packaged: SentenceModel[] = [await load(minilm, { kind: "sentences" }), await createWorker().load(amb, { kind: "sentences" })];
  const one: boolean = (await model.embedQuery("x", { promptName: "query" })).truncated;
  const many: boolean[] = (await model.embedDocuments(["x"], { truncateDim: 8, normalize: false })).truncated;
  const ranker: Reranker = await load(files, { kind: "reranker" });
  const [best] = await ranker.rerank("x", ["a"]);
  const any = await createWorker().load("/model/");
  any[Symbol.dispose]();
  return packaged.length + all.dims + (best?.score ?? 0) + Number(one) + many.length + (any.kind === "sentences" ? any.dims : 0);
}
// @ts-expect-error
export const wrong: EmbedOptions = { truncate: "start" };
// @ts-expect-error
export const unknown: EmbedOptions = { max_tokens: 3 };
`;

/** What a program in Node or a worker does, which has no declarations of the DOM. */
const USE_WITHOUT_DOM = `
import { load, NanoembedError, type InitOptions, type SentenceModel } from "../../dist/index.js";
import { createWorker, type WorkerOptions } from "../../dist/worker.js";
import { createWorker as inlined } from "../../dist/inline-worker.js";
import { load as inline } from "../../dist/inline.js";
import { inspect } from "../../dist/inspect.js";
import { install } from "../../dist/semantic-embedder.js";
import { createIndex, deleteIndex, type IndexHit } from "../../dist/search-index.js";
import { open } from "../../dist/slim.js";
export async function use(bytes: Uint8Array, init: InitOptions, workers: WorkerOptions): Promise<number> {
  const model: SentenceModel = await load(bytes, { kind: "sentences" });
  const { data } = await model.embed(["x"]);
  const words = await open("words.fifu");
  const pools = [createWorker(workers), inlined({ workers: 2 })];
  try {
    await inline(bytes);
  } catch (error) {
    if (error instanceof NanoembedError) return error.offset ?? (await inspect(bytes)).bytesRead;
  }
  model[Symbol.dispose]();
  const index = await createIndex({ model, store: "opfs", chunk: { tokens: 64 } });
  await index.add({ id: "x", text: "x", metadata: { year: 1 } }, { onProgress: ({ documents }) => documents });
  const hits: IndexHit[] = await index.search("x", { k: 3, filter: ({ metadata }) => metadata !== undefined });
  // README's filter, and one of documents whose metadata have a type.
  await index.search("x", { k: 5, filter: ({ metadata }) => metadata?.year > 2000 });
  const dated = await createIndex<{ year: number }>({ model });
  await dated.add([{ id: "x", text: "x", metadata: { year: 1 } }, { id: "y", text: "y" }]);
  const [hit] = await dated.search("x", { filter: ({ metadata }) => (metadata?.year ?? 0) > 2000 });
  const year: number | undefined = hit?.metadata?.year;
  // @ts-expect-error
  await dated.add({ id: "x", text: "x", metadata: { yaer: year } });
  // @ts-expect-error
  await dated.search("x", { filter: ({ metadata }) => metadata?.yaer === 1 });
  await index.import(await index.export());
  await deleteIndex("opfs");
  const embedder = await install({ model: bytes }).create();
  const { values } = (await embedder.embed("x", { taskType: "retrieval-query" })).embeddings[0]!;
  return data.length + hits.length + values.length + words.dims + pools.length + Object.keys(init).length;
}
// @ts-expect-error
export const wrong = load(3);
// @ts-expect-error
export const unknown = createIndex({ store: "disk" });
`;

/** With declarations of Node alone. */
const USE_IN_NODE = `${USE_WITHOUT_DOM}
export const more = [
  load(new URL("file:///x"), { signal: AbortSignal.timeout(3) }), load(new Response("")), load(new Blob([])),
  load(new Blob([]).stream() as ReadableStream<Uint8Array>),
];
// @ts-expect-error
export const stopped = load("x", { signal: 3 });
`;

/** What the compiler says of a program. */
function complaints(code: string, options: ts.CompilerOptions): string[] {
  const folder = mkdtempSync(join(here, "types-"));
  try {
    const file = join(folder, "use.ts");
    writeFileSync(file, code);
    const program = ts.createProgram([file], {
      target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, types: [],
      strict: true, noEmit: true, skipLibCheck: false, exactOptionalPropertyTypes: true, ...options,
    });
    return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const nodeNext = { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext };

test.each([["es2022", {}], ["es2023", nodeNext]] as const)("lib %s", (lib, resolution) => {
  const said = complaints(USE, { lib: [`lib.${lib}.d.ts`, "lib.dom.d.ts", "lib.dom.iterable.d.ts"], ...resolution });
  expect(said).toEqual([]);
});

test.each([["", USE_WITHOUT_DOM, []], [", with Node's", USE_IN_NODE, ["node"]]] as const)("lib es2022 without the DOM%s", (_, code, types) => {
  expect(complaints(code, { lib: ["lib.es2022.d.ts"], types: [...types], ...nodeNext })).toEqual([]);
});

test("in a worker", () => {
  const code = `${USE_WITHOUT_DOM} export const module = (compiled: WebAssembly.Module): InitOptions => ({ module_or_path: compiled });`;
  expect(complaints(code, { lib: ["lib.es2022.d.ts", "lib.webworker.d.ts"] })).toEqual([]);
});

test("declarations export what README speaks of, and nothing else", () => {
  const internal = /\b(Engine|Glue|Sink|Runners|Reader|Local\w+|Remote\w+|Thread|Modules)\b/;
  for (const entry of ["index", "inline", "worker", "inline-worker", "inspect", "slim", "semantic-embedder", "search-index", "ai-sdk", "orama", "lancedb", "chromadb"]) {
    const text = readFileSync(join(here, `../dist/${entry}.d.ts`), "utf8");
    // Each is whole by itself.
    expect(text).not.toMatch(/from "\./);
    expect(text.replace(/\/\*[^]*?\*\//g, "")).not.toMatch(internal);
  }
});
