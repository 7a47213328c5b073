// The declarations as projects with other settings than ours see them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

const here = fileURLToPath(new URL(".", import.meta.url));

const USE = `
import { load, type EmbedOptions, type Reranker, type SentenceModel } from "../../dist/index.js";
import { createWorker } from "../../dist/worker.js";
export async function use(given: string | string[], files: FileList, options: EmbedOptions): Promise<number> {
  const model: SentenceModel = await load("/model/", { kind: "sentences" });
  const all = await model.embed(given, options);
  const one: boolean = (await model.embedQuery("x", { promptName: "query" })).truncated;
  const many: boolean[] = (await model.embedDocuments(["x"], { truncateDim: 8, normalize: false })).truncated;
  const ranker: Reranker = await load(files, { kind: "reranker" });
  const [best] = await ranker.rerank("x", ["a"]);
  const any = await createWorker().load("/model/");
  any[Symbol.dispose]();
  return all.dims + (best?.score ?? 0) + Number(one) + many.length + (any.kind === "sentences" ? any.dims : 0);
}
// @ts-expect-error
export const wrong: EmbedOptions = { truncate: "start" };
// @ts-expect-error
export const unknown: EmbedOptions = { max_tokens: 3 };
`;

test.each([["es2022", ts.ModuleResolutionKind.Bundler], ["es2023", ts.ModuleResolutionKind.NodeNext]] as const)("lib %s", (lib, moduleResolution) => {
  const folder = mkdtempSync(join(here, "types-"));
  try {
    const file = join(folder, "use.ts");
    writeFileSync(file, USE);
    const module = moduleResolution === ts.ModuleResolutionKind.NodeNext ? ts.ModuleKind.NodeNext : ts.ModuleKind.ESNext;
    const program = ts.createProgram([file], {
      lib: [`lib.${lib}.d.ts`, "lib.dom.d.ts", "lib.dom.iterable.d.ts"], target: ts.ScriptTarget.ES2022,
      module, moduleResolution, types: [], strict: true, noEmit: true, skipLibCheck: false, exactOptionalPropertyTypes: true,
    });
    const said = ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
    expect(said).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
