// The package as npm packs it, installed in a project of its own: bundlers, a plain page and Node find its parts.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import * as esbuild from "esbuild";
import type { Browser } from "playwright-core";
import { rollup } from "rollup";
import { build, createServer } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import webpack from "webpack";
import { bytes } from "../tests/files.js";
import { executablePath, launch, openPage } from "./browser.js";
import { project as newProject } from "./project.js";
import { POLICY, serve } from "./server.js";

let project: string;
let browser: Browser;

const FILE = "/hostile/good/words.fifu";
const CAUSAL = "/hostile/good/tiny.gguf";

/** What all pages do. */
const SHARED = `
const report = {};
const length = async (words) => (await words.vector("ganz")).vector.length;
const tokens = async (model) => { let count = 0; for await (const _ of model.generate("a", { maxTokens: 3 })) count += 1; return count; };
const done = async (run) => { try { await run(); window.report = report } catch (error) { window.report = String(error) } };
`;

/** Uses every entry that needs a file of its own, and says so. */
const APP = `
import { load, inspect } from "nanoembed";
import { createWorker } from "nanoembed/worker";
import { inspect as small } from "nanoembed/inspect";
import { open } from "nanoembed/slim";
import { deleteIndex } from "nanoembed/search-index";
${SHARED}
done(async () => {
  report.main = await length(await load("${FILE}"));
  report.slim = await length(await open("${FILE}"));
  report.inspect = (await inspect("${FILE}")).tensors.length;
  report.small = (await (await small("${FILE}")).values("embeddings", { count: 3 })).length;
  report.index = await deleteIndex("indexeddb").then(() => "deleted");
  const pool = createWorker();
  report.worker = await length(await pool.load("${FILE}"));
  report.causal = [await tokens(await load("${CAUSAL}")), await tokens(await pool.load("${CAUSAL}"))];
  pool.dispose();
});
`;
const EXPECTED = { main: 50, slim: 50, inspect: 2, small: 3, index: "deleted", worker: 50, causal: [3, 3] };

/** The same with the entries that need no other file. */
const INLINE = `
import { load, inspect } from "nanoembed/inline";
import { createWorker } from "nanoembed/inline-worker";
${SHARED}
done(async () => {
  report.main = await length(await load("${FILE}"));
  report.inspect = (await inspect("${FILE}")).tensors.length;
  const pool = createWorker({ workers: 2 });
  report.worker = await length(await pool.load("${FILE}"));
  report.causal = [await tokens(await load("${CAUSAL}")), await tokens(await pool.load("${CAUSAL}"))];
  report.seen = [(await pool.inspect("${FILE}")).tensors.length, (await pool.verify("${FILE}")).ok];
  pool.dispose();
});
`;
const EXPECTED_INLINE = { main: 50, inspect: 2, worker: 50, causal: [3, 3], seen: [2, true] };

beforeAll(async () => {
  project = (await newProject({
    "app.js": APP,
    "inline.js": INLINE,
    "words.fifu": bytes("finalfusion", "explicit.fifu"),
    "index.html": '<!doctype html><script type="module" src="./app.js"></script>',
  }))!;
  if (executablePath) browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  rmSync(project, { recursive: true, force: true });
});

const files = { "words.fifu": bytes("finalfusion", "explicit.fifu"), "tiny.gguf": bytes("llama", "tiny.gguf") };

/** What the page at an address reports. */
async function reportAt(address: string): Promise<unknown> {
  const { page, complaints } = await openPage(browser, address);
  try {
    await page.waitForFunction(() => "report" in globalThis, null, { timeout: 60_000 });
    return await page.evaluate("window.report");
  } catch (error) {
    throw new Error(complaints.join("\n") || String(error));
  } finally {
    await page.close();
  }
}

/** What the app in `folder` reports. */
async function reportOf(folder: string, policy = POLICY): Promise<unknown> {
  const server = await serve({ "/": folder }, files, { "content-security-policy": policy });
  try {
    return await reportAt(`${server.origin}/index.html`);
  } finally {
    await server.close();
  }
}

/** A folder of the project for a page whose script is `main.js`. */
function folderFor(name: string, script = '<script type="module" src="./main.js"></script>'): string {
  const folder = join(project, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "index.html"), `<!doctype html>${script}`);
  return folder;
}

/** What stands in README for tools that leave the package's files behind. */
function copyFiles(folder: string): void {
  execFileSync("sh", ["-c", `cp node_modules/nanoembed/dist/*.wasm node_modules/nanoembed/dist/*-thread.js ${folder}`], { cwd: project });
}

/** Of a page whose worker comes from its own code. */
const WITH_BLOBS = POLICY.replace("worker-src 'self'", "worker-src blob:");

async function withRollup(input: string, dir: string): Promise<void> {
  const bundle = await rollup({ input: join(project, input), plugins: [nodeResolve({ browser: true })] });
  await bundle.write({ dir, entryFileNames: "main.js" });
  await bundle.close();
}

const withEsbuild = (input: string, folder: string, options: esbuild.BuildOptions = {}) =>
  esbuild.build({ absWorkingDir: project, entryPoints: [input], bundle: true, format: "esm", outfile: join(folder, "main.js"), logLevel: "error", ...options });

describe.skipIf(!executablePath)("in a browser", () => {
  test("Vite", async () => {
    await build({ root: project, configFile: false, logLevel: "error", build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false } } });
    expect(await reportOf(join(project, "dist"))).toEqual(EXPECTED);
  });

  test("Vite's development server", async () => {
    const hostile = join(project, "public/hostile/good");
    mkdirSync(hostile, { recursive: true });
    for (const [name, file] of Object.entries(files)) writeFileSync(join(hostile, name), file);
    const server = await createServer({ root: project, configFile: false, logLevel: "error", server: { host: "127.0.0.1", port: 0 } });
    try {
      await server.listen();
      expect(await reportAt(server.resolvedUrls!.local[0]!)).toEqual(EXPECTED);
    } finally {
      await server.close();
      rmSync(join(project, "public"), { recursive: true });
    }
  });

  test("webpack", async () => {
    const out = folderFor("packed");
    const stats = await new Promise<webpack.Stats>((resolve, reject) =>
      webpack({ context: project, entry: "./app.js", mode: "production", output: { path: out, publicPath: "/" }, performance: { hints: false } },
        (error, done) => (error ? reject(error) : resolve(done!))));
    expect(stats.toJson({ all: false, errors: true, warnings: true })).toMatchObject({ errors: [], warnings: [] });
    expect(await reportOf(out)).toEqual(EXPECTED);
  });

  test("a plain page", async () => {
    const folder = folderFor("plain");
    cpSync(join(project, "node_modules/nanoembed/dist"), join(folder, "nanoembed"), { recursive: true });
    writeFileSync(join(folder, "main.js"), APP.replace(/"nanoembed(\/([\w-]+))?"/g, (_, __, entry) => `"/nanoembed/${entry ?? "index"}.js"`));
    expect(await reportOf(folder)).toEqual(EXPECTED);
  });

  test("esbuild, the inline entries", async () => {
    const folder = folderFor("esbuild-inline");
    await withEsbuild("inline.js", folder);
    expect(await reportOf(folder, WITH_BLOBS)).toEqual(EXPECTED_INLINE);
  });

  test("esbuild, a script that is no module", async () => {
    const folder = folderFor("esbuild-iife", '<script src="./main.js"></script>');
    await withEsbuild("inline.js", folder, { format: "iife" });
    expect(await reportOf(folder, WITH_BLOBS)).toEqual(EXPECTED_INLINE);
  });

  test("esbuild, with the files copied", async () => {
    const folder = folderFor("esbuild");
    await withEsbuild("app.js", folder);
    copyFiles(folder);
    expect(await reportOf(folder)).toEqual(EXPECTED);
  });

  test("Rollup, the inline entries", async () => {
    const folder = folderFor("rollup-inline");
    await withRollup("inline.js", folder);
    expect(await reportOf(folder, WITH_BLOBS)).toEqual(EXPECTED_INLINE);
  });

  test("Rollup, with the files copied", async () => {
    const folder = folderFor("rollup");
    await withRollup("app.js", folder);
    copyFiles(folder);
    expect(await reportOf(folder)).toEqual(EXPECTED);
  });

  test.each(["esm", "iife"] as const)("what is missing is said, with a remedy (%s)", async (format) => {
    const folder = folderFor(`missing-${format}`);
    await withEsbuild("app.js", folder, { format, logLevel: "silent" });
    const said = await reportOf(folder);
    // In a script that is no module there is no address to name.
    if (format === "esm") expect(said).toMatch(/nanoembed-slim\.wasm answered 404/);
    expect(said).toMatch(/esbuild and Rollup.*copy them.*node_modules\/nanoembed\/dist.*nanoembed\/inline.*init\(\)/);
  });
});

test("Node", () => {
  const code = `
    import { readFileSync } from "node:fs";
    const before = Object.keys(globalThis).length;
    const all = await Promise.all(["nanoembed", "nanoembed/slim", "nanoembed/inline", "nanoembed/inspect", "nanoembed/worker"].map((name) => import(name)));
    const file = readFileSync("words.fifu");
    const lengths = [];
    const sources = [file, "words.fifu", new URL("words.fifu", import.meta.url)];
    for (const [at, { load }] of all.slice(0, 3).entries()) lengths.push((await (await load(sources[at])).vector("ganz")).vector.length);
    console.log(JSON.stringify([lengths, (await all[3].inspect(file)).format, Object.keys(globalThis).length === before]));`;
  writeFileSync(join(project, "node.mjs"), code);
  const answer = execFileSync(process.execPath, ["node.mjs"], { cwd: project }).toString();
  expect(JSON.parse(answer)).toEqual([[50, 50, 50], "finalfusion", true]);
});

test("Node, after a bundler that leaves the modules behind", async () => {
  writeFileSync(join(project, "server.js"), 'import { load } from "nanoembed"; console.log((await load("words.fifu")).count);');
  await withEsbuild("server.js", join(project, "bundled"), { platform: "node" });
  const run = (cwd: string) => execFileSync(process.execPath, [join(project, "bundled/main.js")], { cwd, stdio: "pipe" }).toString();
  expect(Number(run(project))).toBeGreaterThan(0);
  const elsewhere = mkdtempSync(join(tmpdir(), "nanoembed-elsewhere-"));
  cpSync(join(project, "words.fifu"), join(elsewhere, "words.fifu"));
  expect(() => run(elsewhere)).toThrow(/nanoembed-slim\.wasm'.*copy them/);
  rmSync(elsewhere, { recursive: true });
});

test("Node, pools after a bundler", async () => {
  const pool = (entry: string) => `
    import { createWorker } from "nanoembed/${entry}";
    const pool = createWorker({ workers: 2 });
    console.log((await pool.load("words.fifu")).count);
    pool.dispose();`;
  const count = async (entry: string) => {
    writeFileSync(join(project, "pool.js"), pool(entry));
    await withEsbuild("pool.js", join(project, "pools"), { platform: "node" });
    return execFileSync(process.execPath, [join(project, "pools/main.js")], { cwd: project, stdio: "pipe" }).toString();
  };
  expect(Number(await count("inline-worker"))).toBeGreaterThan(0);
  await expect(count("worker")).rejects.toThrow(/worker-thread\.js is not there: bundled code takes nanoembed\/inline-worker/);
});
