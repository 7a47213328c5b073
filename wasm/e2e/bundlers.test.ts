// The package as npm packs it, installed in a project of its own: Vite, webpack, a plain page and Node find its parts.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import webpack from "webpack";
import { bytes } from "../tests/files.js";
import { executablePath, launch, openPage } from "./browser.js";
import { serve } from "./server.js";

const here = fileURLToPath(new URL("..", import.meta.url));
let project: string;
let browser: Browser;

/** Uses every entry that needs a file of its own, and says so. */
const APP = `
import { load, inspect } from "nanoembed";
import { createWorker } from "nanoembed/worker";
import { inspect as small } from "nanoembed/inspect";
import { open } from "nanoembed/slim";
import { load as inlined } from "nanoembed/inline";
const file = "/hostile/good/words.fifu";
const report = {};
const length = async (words) => (await words.vector("ganz")).vector.length;
report.main = await length(await load(file));
report.slim = await length(await open(file));
report.inline = await length(await inlined(file));
report.inspect = (await inspect(file)).tensors.length;
report.small = (await (await small(file)).values("embeddings", { count: 3 })).length;
const pool = createWorker();
report.worker = await length(await pool.load(file));
const tokens = async (model) => { let count = 0; for await (const _ of model.generate("a", { maxTokens: 3 })) count += 1; return count; };
report.causal = [await tokens(await load("/hostile/good/tiny.gguf")), await tokens(await inlined("/hostile/good/tiny.gguf")), await tokens(await pool.load("/hostile/good/tiny.gguf"))];
pool.dispose();
window.report = report;
`;
const EXPECTED = { main: 50, slim: 50, inline: 50, inspect: 2, small: 3, worker: 50, causal: [3, 3, 3] };

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "nanoembed-app-"));
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", project], { cwd: here }).toString().trim().split("\n").at(-1)!;
  const home = join(project, "node_modules/nanoembed");
  mkdirSync(home, { recursive: true });
  execFileSync("tar", ["xzf", join(project, packed), "-C", home, "--strip-components=1"]);
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  writeFileSync(join(project, "app.js"), APP);
  writeFileSync(join(project, "words.fifu"), bytes("finalfusion", "explicit.fifu"));
  writeFileSync(join(project, "index.html"), '<!doctype html><script type="module" src="./app.js"></script>');
  if (executablePath) browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  rmSync(project, { recursive: true, force: true });
});

/** What the app in `folder` reports. */
async function reportOf(folder: string): Promise<unknown> {
  const server = await serve({ "/": folder }, { "words.fifu": bytes("finalfusion", "explicit.fifu"), "tiny.gguf": bytes("llama", "tiny.gguf") });
  const { page, complaints } = await openPage(browser, `${server.origin}/index.html`);
  try {
    await page.waitForFunction(() => "report" in globalThis, null, { timeout: 30_000 });
    return await page.evaluate("window.report");
  } catch (error) {
    throw new Error(complaints.join("\n") || String(error));
  } finally {
    await page.close();
    await server.close();
  }
}

describe.skipIf(!executablePath)("in a browser", () => {
  test("Vite", async () => {
    await build({ root: project, configFile: false, logLevel: "error", build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } } });
    expect(await reportOf(join(project, "dist"))).toEqual(EXPECTED);
  });

  test("webpack", async () => {
    const out = join(project, "packed");
    const stats = await new Promise<webpack.Stats>((resolve, reject) =>
      webpack({ context: project, entry: "./app.js", mode: "production", output: { path: out, publicPath: "/" }, performance: { hints: false } },
        (error, done) => (error ? reject(error) : resolve(done!))));
    expect(stats.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] });
    writeFileSync(join(out, "index.html"), '<!doctype html><script type="module" src="./main.js"></script>');
    expect(await reportOf(out)).toEqual(EXPECTED);
  });

  test("a plain page", async () => {
    const folder = join(project, "plain");
    mkdirSync(folder);
    cpSync(join(project, "node_modules/nanoembed/dist"), join(folder, "nanoembed"), { recursive: true });
    writeFileSync(join(folder, "app.js"), APP.replace(/"nanoembed(\/(\w+))?"/g, (_, __, entry) => `"/nanoembed/${entry ?? "index"}.js"`));
    writeFileSync(join(folder, "index.html"), '<!doctype html><script type="module" src="./app.js"></script>');
    expect(await reportOf(folder)).toEqual(EXPECTED);
  });
});

test("Node", () => {
  const code = `
    import { readFileSync } from "node:fs";
    const before = Object.keys(globalThis).length;
    const all = await Promise.all(["nanoembed", "nanoembed/slim", "nanoembed/inline", "nanoembed/inspect", "nanoembed/worker"].map((name) => import(name)));
    const file = readFileSync("words.fifu");
    const lengths = [];
    for (const { load } of all.slice(0, 3)) lengths.push((await (await load(file)).vector("ganz")).vector.length);
    console.log(JSON.stringify([lengths, (await all[3].inspect(file)).format, Object.keys(globalThis).length === before]));`;
  writeFileSync(join(project, "node.mjs"), code);
  const answer = execFileSync(process.execPath, ["node.mjs"], { cwd: project }).toString();
  expect(JSON.parse(answer)).toEqual([[50, 50, 50], "finalfusion", true]);
});
