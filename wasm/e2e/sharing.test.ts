// Pools whose workers share a model, in Chromium: pages that are cross-origin isolated, and pages that are not.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { load, type SentenceModel } from "../dist/index.js";
import { modelBytes, root } from "../tests/files.js";
import { weightsOf } from "../tests/weights.js";
import { dist, inBrowser, launch, openPage } from "./browser.js";
import { cli } from "./program.js";
import { serve, type TestServer } from "./server.js";

const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

const MEGABYTE = 2 ** 20;
/** Larger than all that a worker needs besides. */
const PADDING = 24 * MEGABYTE;
const files: Record<string, Uint8Array<ArrayBuffer>> = {
  "mpnet.weights": weightsOf("mpnet", PADDING), "distilbert.weights": weightsOf("distilbert"), "minilm.weights": modelBytes(),
};

const texts = Array.from({ length: 120 }, (_, at) => `How do I reset password ${at}? ${"It rains. ".repeat(at % 13)}`);

interface Found {
  isIsolated: boolean;
  alone: string;
  together: string[];
  memory: number;
}

/** What a page finds in a pool of three workers: the bits of one instance and those of many calls at once, and the pool's memory. */
const inPage = (file: string) => `(async () => {
  const [{ load }, { createWorker }] = await Promise.all([import("/dist/index.js"), import("/dist/worker.js")]);
  const texts = ${JSON.stringify(texts)};
  const bits = ({ data }) => [...new Uint32Array(data.buffer, data.byteOffset, data.length)].join();
  const one = await load("/hostile/good/${file}");
  const alone = bits(await one.embed(texts));
  one.dispose();
  const pool = createWorker({ workers: 3 });
  const model = await pool.load("/hostile/chopped/${file}");
  const asked = await Promise.all([0, 1, 2, 3].map(() => model.embed(texts)));
  const memory = await pool.memoryBytes();
  pool.dispose();
  return { isIsolated: crossOriginIsolated, alone, together: asked.map(bits), memory };
})()`;

let isolated: TestServer;
let open: TestServer;
let browser: Browser;
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "nanoembed-"));
  for (const [from, to] of [["ffi/tests/data/small_bert.weights", "small.amb"], ["tests/data/models/distilbert", "distilbert.amb"]] as const) {
    cli(["convert", "--quiet", "--type", "int8", join(root, from), join(folder, to)]);
    files[to] = new Uint8Array(readFileSync(join(folder, to)));
  }
  rmSync(folder, { recursive: true });
  isolated = await serve({ "/dist/": dist }, files, ISOLATED);
  open = await serve({ "/dist/": dist }, files);
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  await isolated?.close();
  await open?.close();
});

/** What the server was asked for by pages and workers: modules. */
const modules = (server: TestServer) => server.requests().map(({ path }) => path).filter((path) => path.endsWith(".wasm"));

async function find(server: TestServer, file: string, before: (page: Page) => Promise<unknown> = async () => {}): Promise<Found> {
  const { page, complaints } = await openPage(browser, `${server.origin}/blank`);
  await before(page);
  server.requests();
  const found = (await page.evaluate(inPage(file))) as Found;
  await page.close();
  expect(complaints.filter((complaint) => !/404|ERR_FAILED/.test(complaint))).toEqual([]);
  return found;
}

inBrowser("in Chromium", () => {
  test.each([
    ["mpnet.weights", "nanoembed-weights"],
    ["distilbert.weights", "nanoembed-weights"],
    ["minilm.weights", "nanoembed"],
    ["small.amb", "nanoembed"],
    ["distilbert.amb", "nanoembed-weights"],
  ])("workers of an isolated page share %s, bit by bit", async (file, module) => {
    const found = await find(isolated, file);
    expect(found.isIsolated).toBe(true);
    expect(new Set([found.alone, ...found.together]).size).toBe(1);
    // One for the page, and one for all workers.
    expect(modules(isolated).sort()).toEqual([`/dist/${module}-relaxed.wasm`, `/dist/${module}-shared-relaxed.wasm`]);
    if (files[file]!.length > PADDING / 2) expect(found.memory).toBeLessThan(2 * Math.max(files[file]!.length, PADDING));
    using model = (await load(files[file]!)) as SentenceModel;
    const { data } = await model.embed(texts);
    expect(found.alone.split(",")).toHaveLength(data.length);
  });

  test("an isolated page is told that a server may not let it read", async () => {
    const { page } = await openPage(browser, `${isolated.origin}/blank`);
    const told = await page.evaluate(`import("/dist/index.js").then(({ load }) => load("${open.origin}/hostile/good/distilbert.weights")).then(() => "loaded", String)`);
    await page.close();
    expect(told).toMatch(/the page is cross-origin isolated.*access-control-allow-origin/);
  });

  test("workers of other pages have a copy each", async () => {
    const found = await find(open, "mpnet.weights");
    expect(found.isIsolated).toBe(false);
    expect(new Set([found.alone, ...found.together]).size).toBe(1);
    expect(modules(open).filter((path) => /shared/.test(path))).toEqual([]);
    expect(found.memory).toBeGreaterThan(3 * PADDING);
  });

  test("workers have a copy each where the module is missing that they would share", async () => {
    const found = await find(isolated, "mpnet.weights", (page) => page.context().route(/nanoembed.*-shared/, (route) => route.abort()));
    expect(found.isIsolated).toBe(true);
    expect(new Set([found.alone, ...found.together]).size).toBe(1);
    expect(found.memory).toBeGreaterThan(3 * PADDING);
  });
});
