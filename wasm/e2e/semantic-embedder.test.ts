// The API of browsers, in Chromium: with the web platform tests for it, where NANOEMBED_WPT names a checkout of them.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { skipped } from "../scripts/skipped.mjs";
import { modelBytes } from "../tests/files.js";
import { models } from "../tests/folders.js";
import { dist, executablePath, inBrowser, launch, openPage } from "./browser.js";
import { serve, type TestServer } from "./server.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const harness = readFileSync(join(here, "wpt-harness.js"), "utf8");

let server: TestServer;
let browser: Browser;

beforeAll(async () => {
  if (!executablePath) return;
  server = await serve({ "/dist/": dist, "/models/": models }, { "model.weights": modelBytes() });
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/**
 * What an expression is worth in a page of its own, where the class is installed. Nobody has clicked there before `click()` is called:
 * what Playwright evaluates counts as if somebody had, what the page runs itself does not.
 */
async function inPage<T>(options: string, expression: string): Promise<T> {
  const page = await (await browser.newContext()).newPage();
  await page.exposeFunction("click", () => page.mouse.click(1, 1));
  const result = new Promise<T>((resolve, reject) => {
    void page.exposeFunction("tell", (value: T) => resolve(value)).catch(reject);
    page.on("pageerror", reject);
  });
  await page.addInitScript(`(async () => {
    const { install } = await import("/dist/semantic-embedder.js");
    install(${options});
    const told = await (${expression});
    globalThis.tell(told);
  })()`);
  await page.goto(`${server.origin}/blank`);
  try {
    return await result;
  } finally {
    await page.context().close();
  }
}

const WEIGHTS = '{ model: "/hostile/good/model.weights" }';
const FOLDER = '{ model: new URL("/models/embeddinggemma/", location.href) }';

inBrowser("SemanticEmbedder", () => {
  test("downloads after a click, keeps the copy, and says how far it is", async () => {
    const { states, refused, told } = await inPage<{ states: string[]; refused: string; told: ([number, number] | string)[] }>(WEIGHTS, `(async () => {
      const states = [];
      const state = async () => states.push(await SemanticEmbedder.availability());
      await state();
      const refused = await SemanticEmbedder.create().catch(({ name }) => name);
      await click();
      const told = [];
      const made = SemanticEmbedder.create({ monitor: (monitor) => monitor.addEventListener("downloadprogress", ({ loaded, total }) => told.push([loaded, total])) });
      while (await SemanticEmbedder.availability() === "downloadable") await new Promise((over) => setTimeout(over));
      await state();
      const embedder = await made;
      await state();
      // The copy stays when nobody uses the model any more.
      embedder.destroy();
      await state();
      await caches.delete("nanoembed");
      await state();
      return { states, refused, told };
    })()`);
    expect(states).toEqual(["downloadable", "downloading", "available", "available", "downloadable"]);
    expect(refused).toBe("NotAllowedError");
    expect(told.length).toBeGreaterThan(2);
    expect([told[0], told.at(-1)]).toEqual([[0, 1], [1, 1]]);
    const parts = told.map(([loaded]) => loaded as number);
    expect(parts).toEqual([...parts].sort((a, b) => a - b));
  });

  test("is installed only where there is none", async () => {
    const { page } = await openPage(browser, `${server.origin}/blank`);
    const same = await page.evaluate(`(async () => {
      const own = globalThis.SemanticEmbedder = class SemanticEmbedder {};
      const { install } = await import("/dist/semantic-embedder.js");
      return install(${WEIGHTS}) === own && globalThis.SemanticEmbedder === own;
    })()`);
    expect(same).toBe(true);
    await page.close();
  });

  test("runs in a pool of workers", async () => {
    const { page } = await openPage(browser, `${server.origin}/blank`);
    await page.mouse.click(1, 1);
    const lengths = await page.evaluate(`(async () => {
      const [{ semanticEmbedder }, { createWorker }] = await Promise.all([import("/dist/semantic-embedder.js"), import("/dist/worker.js")]);
      const loader = createWorker();
      const SemanticEmbedder = semanticEmbedder({ model: "/hostile/good/model.weights", loader });
      const embedder = await SemanticEmbedder.create();
      const { embeddings } = await embedder.embed(["a", "b"], { taskType: "retrieval-query" });
      const gone = embedder.embed(Array(500).fill("some text")).catch(({ name }) => name);
      embedder.destroy();
      const answer = [...embeddings.map(({ values }) => values.length), await gone];
      loader.dispose();
      return answer;
    })()`);
    expect(lengths).toEqual([384, 384, "AbortError"]);
    await page.close();
  });

  const wpt = process.env["NANOEMBED_WPT"];
  const folder = wpt && join(wpt, "ai/semantic_embedder");
  const files = folder && existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".window.js")) : [];
  if (files.length === 0) skipped("web platform tests of SemanticEmbedder", "no NANOEMBED_WPT");

  test.for(files.flatMap((file) => [[file, WEIGHTS], [file, FOLDER]] as const))("web platform tests: %s, %s", async ([file, options]) => {
    const code = [harness, ...[join(wpt!, "ai/resources/util.js"), join(folder!, file)].map((path) => readFileSync(path, "utf8"))];
    const all = await inPage<{ name: string; result: string }[]>(options, `(() => { ${code.join("\n")}; return results(); })()`);
    expect(all.length).toBeGreaterThan(0);
    expect(all.filter(({ result }) => result !== "passed")).toEqual([]);
  });
});
