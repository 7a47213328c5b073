// The package with the default model, in Node, in pages and in bundlers. With NANOEMBED_MODEL_DIR its files are made of the published
// model as models/npm/make.sh makes them, which takes a minute; without, that of the repository is in their place.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as esbuild from "esbuild";
import type { Browser } from "playwright-core";
import { build, createServer } from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import webpack from "webpack";
import { load, similarity, type SentenceModel } from "../dist/index.js";
import { skipped } from "../scripts/skipped.mjs";
import { modelBytes, published, root } from "../tests/files.js";
import { executablePath, launch, openPage } from "./browser.js";
import { project, unpackModel } from "./project.js";
import { POLICY, serve } from "./server.js";

if (!published) skipped("the files of the package with the default model", "no NANOEMBED_MODEL_DIR");

const TEXT = "How do I reset my password?";

/** What somebody writes, and what is done with the vector, or with what is said in its place. */
const program = (from: string, tell: (result: string) => string) => `
import { load } from "nanoembed";
import minilm from "${from}";
try {
  const model = await load(minilm, { kind: "sentences" });
  const { data } = await model.embed("${TEXT}");
  ${tell("[...data]")};
} catch (error) {
  ${tell("String(error)")};
}
`;
const inPage = (result: string) => `window.vector = ${result}`;
const onStdout = (result: string) => `console.log(JSON.stringify(${result}))`;

describe("nanoembed-minilm", () => {
  let folder: string;
  let browser: Browser;
  /** The vector of the text by the model in the repository. */
  let expected: Float32Array;

  beforeAll(async () => {
    if (published) execFileSync(join(root, "models/npm/make.sh"), [published], { stdio: "pipe" });
    folder = (await project({
      "index.html": '<!doctype html><script type="module" src="./app.js"></script>',
      "app.js": program("nanoembed-minilm", inPage),
    }))!;
    unpackModel(folder);
    const model = (await load(modelBytes())) as SentenceModel;
    expected = (await model.embed(TEXT)).data;
    if (executablePath) browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  test.skipIf(!published)("holds the models, their licence and what was changed", () => {
    expect(readdirSync(join(folder, "node_modules/nanoembed-minilm")).sort()).toEqual([
      "LICENSE", "NOTICE", "README.md", "address.d.ts", "address.js", "all-MiniLM-L6-v2.amb", "all-MiniLM-L6-v2.int8.weights", "amb.d.ts",
      "amb.js", "index.d.ts", "index.js", "package.json",
    ]);
  });

  test.each([["nanoembed-minilm", 0.99], ...(published ? [["nanoembed-minilm/amb", 0.97] as const] : [])] as const)("Node, %s", (from, least) => {
    const file = join(folder, "node.mjs");
    writeFileSync(file, program(from, onStdout));
    const vector = JSON.parse(execFileSync(process.execPath, [file], { cwd: folder }).toString()) as number[];
    expect(similarity(vector, expected)).toBeGreaterThan(least);
  });

  /** The vector that a page computes, or what it says in its place. */
  async function vectorAt(address: string): Promise<number[]> {
    const { page, complaints } = await openPage(browser, address);
    try {
      await page.waitForFunction(() => "vector" in globalThis, null, { timeout: 60_000 });
      return (await page.evaluate("window.vector")) as number[];
    } catch (error) {
      throw new Error(complaints.join("\n") || String(error));
    } finally {
      await page.close();
    }
  }

  async function vectorIn(out: string): Promise<number[]> {
    const server = await serve({ "/": out }, {}, { "content-security-policy": POLICY });
    try {
      return await vectorAt(`${server.origin}/index.html`);
    } finally {
      await server.close();
    }
  }

  describe.skipIf(!executablePath)("in a browser", () => {
    test("Vite", async () => {
      await build({ root: folder, configFile: false, logLevel: "error", build: { target: "es2022", modulePreload: { polyfill: false } } });
      expect(similarity(await vectorIn(join(folder, "dist")), expected)).toBeGreaterThan(0.99);
      // What is not imported is not copied.
      expect(readdirSync(join(folder, "dist/assets")).filter((name) => name.endsWith(".amb"))).toEqual([]);
    });

    test("Vite's development server", async () => {
      const server = await createServer({ root: folder, configFile: false, logLevel: "error", server: { host: "127.0.0.1", port: 0 } });
      try {
        await server.listen();
        expect(similarity(await vectorAt(server.resolvedUrls!.local[0]!), expected)).toBeGreaterThan(0.99);
      } finally {
        await server.close();
      }
    });

    test("webpack", async () => {
      const out = join(folder, "packed");
      await new Promise<void>((resolve, reject) =>
        webpack({ context: folder, entry: "./app.js", mode: "production", output: { path: out, publicPath: "/" }, performance: { hints: false }, experiments: { topLevelAwait: true } },
          (error, done) => (error ?? done?.hasErrors() ? reject(error ?? new Error(done!.toString())) : resolve())));
      writeFileSync(join(out, "index.html"), '<!doctype html><script type="module" src="./main.js"></script>');
      expect(similarity(await vectorIn(out), expected)).toBeGreaterThan(0.99);
    });

    test("esbuild, with the files copied, and what is said without them", async () => {
      const out = join(folder, "esbuild");
      await esbuild.build({ absWorkingDir: folder, entryPoints: ["app.js"], bundle: true, format: "esm", target: "es2022", outfile: join(out, "main.js"), logLevel: "error" });
      writeFileSync(join(out, "index.html"), '<!doctype html><script type="module" src="./main.js"></script>');
      for (const file of readdirSync(join(folder, "node_modules/nanoembed/dist")).filter((name) => name.endsWith(".wasm"))) {
        cpSync(join(folder, "node_modules/nanoembed/dist", file), join(out, file));
      }
      const copy = /cp node_modules\/nanoembed-minilm\/(\S+) OUT/;
      const said = String(await vectorIn(out));
      expect(said).toMatch(/answered 404/);
      const [, file] = copy.exec(said)!;
      cpSync(join(folder, "node_modules/nanoembed-minilm", file!), join(out, file!));
      expect(similarity(await vectorIn(out), expected)).toBeGreaterThan(0.99);
    });

    test("a plain page, as from a CDN", async () => {
      const out = join(folder, "plain");
      mkdirSync(out);
      cpSync(join(folder, "node_modules"), join(out, "node_modules"), { recursive: true });
      const code = program("/node_modules/nanoembed-minilm/index.js", inPage).replace('"nanoembed"', '"/node_modules/nanoembed/dist/index.js"');
      writeFileSync(join(out, "app.js"), code);
      writeFileSync(join(out, "index.html"), '<!doctype html><script type="module" src="./app.js"></script>');
      expect(similarity(await vectorIn(out), expected)).toBeGreaterThan(0.99);
    });
  });
});
