// The examples of README.md are run as they stand there.
import { existsSync, readFileSync, writeFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { bytes, modelBytes } from "./files.js";
import { models } from "./folders.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const examples = [...readFileSync(join(here, "../README.md"), "utf8").matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code!);

let server: Server;
let origin: string;
beforeAll(async () => {
  const files: Record<string, Uint8Array> = { "/all-MiniLM-L6-v2.int8.weights": modelBytes(), "/vectors.fifu": bytes("finalfusion", "explicit.fifu"),
    // Any model of that kind.
    "/smollm2-135m-instruct.gguf": bytes("llama", "tiny.gguf") };
  // Tiny models of these families.
  const folders: Record<string, string> = { "/embeddinggemma-300m/": "embeddinggemma", "/bge-reranker-base/": "xlmr_reranker",
    "/splade-v3-distilbert/": "../heads/splade_distil", "/answerai-colbert-small-v1/": "../heads/colbert" };
  const inFolder = (path: string) => {
    const folder = Object.keys(folders).find((start) => path.startsWith(start));
    if (!folder) return undefined;
    const file = join(models, folders[folder]!, path.slice(folder.length));
    return existsSync(file) ? readFileSync(file) : undefined;
  };
  server = createServer((request, response) => {
    const file = files[request.url!] ?? inFolder(request.url!);
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    if (!file) return void response.writeHead(404).end();
    const [start, end] = range ? [Number(range[1]), Math.min(file.length, Number(range[2]) + 1)] : [0, file.length];
    response.writeHead(range ? 206 : 200, { etag: '"1"', "content-length": end - start, "content-range": `bytes ${start}-${end - 1}/${file.length}` });
    response.end(file.subarray(start, end));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

test("there are examples of every entry", () => {
  const all = examples.join();
  for (const entry of ["nanoembed", "nanoembed/worker", "nanoembed/slim", "nanoembed/inspect", "nanoembed/search-index"]) expect(all).toContain(`"${entry}"`);
});

test.each(examples.map((code, at) => [at, code] as const))("example %i", async (at, code) => {
  // Beside the package, so that its name is found; addresses need an origin here.
  const file = join(here, `readme-${at}.generated.mjs`);
  const exported = /^(const|let) (\w+|\{[^}]*\}|\[\w+\])/gm;
  const names = [...code.matchAll(exported)].map(([, , name]) => name!.replace(/[{}[\] ]/g, "")).join(",");
  // The package with the model is tested by itself, since it takes a minute to make.
  const runnable = code.replace('import minilm from "nanoembed-minilm";', 'const minilm = "/all-MiniLM-L6-v2.int8.weights";');
  writeFileSync(file, `${runnable.replaceAll('"/', `"${origin}/`)}\nexport { ${names} };\n`);
  // Progress is hundreds of lines, among which nobody finds what failed.
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  try {
    const result = (await import(/* @vite-ignore */ file)) as Record<string, unknown>;
    if ("best" in result) expect(result["best"]).toMatchObject({ index: 2 });
    if ("hit" in result) expect(result["hit"]).toMatchObject({ id: "bread.txt", start: 0, end: 23 });
    if ("ranks" in result) expect(result["ranks"]).toHaveLength(3);
    if ("dims" in result) expect([result["dims"], (result["data"] as Float32Array).length]).toEqual([32, 64]);
    if ("answer" in result) expect(result["answer"]).not.toBe("");
    if ("pieces" in result) expect(result["pieces"]).toHaveLength((result["indices"] as Uint32Array).length);
    if ("scores" in result) expect(result["scores"]).toHaveLength(2);
    if ("verdict" in result) expect(result["verdict"]).toMatchObject({ ok: true });
    if ("numbers" in result) expect(result["numbers"]).toHaveLength(384);
    if (at === 0) expect(result["data"]).toHaveLength(384);
    if (code.includes("console.log")) expect(log).toHaveBeenCalled();
  } finally {
    log.mockRestore();
    rmSync(file);
  }
});
