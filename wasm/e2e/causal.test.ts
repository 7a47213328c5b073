// Causal models in Chromium, in the page and in workers.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { skipped } from "../scripts/skipped.mjs";
import { bytes, json, root } from "../tests/files.js";
import { dist, inBrowser, launch, openPage } from "./browser.js";
import { cli } from "./program.js";
import { serve, type TestServer } from "./server.js";

/** How `generate` of the native program continues a prompt with the likeliest tokens. */
const continued = (file: string, prompt: string, tokens: number) =>
  JSON.parse(cli(["generate", prompt, "--quiet", "--json", "--temperature", "0", "--max-tokens", String(tokens), "--model", file]).toString()) as { ids: number[]; text: string };

/** The body of a function that gives all that an iteration gives. */
const COLLECT = `const collect = async (iterator) => {
  const pieces = [], ids = [];
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return { pieces, ids: ids.filter((id) => id !== undefined), ...value };
    pieces.push(value.text); ids.push(value.id);
  }
};`;

inBrowser("causal models", () => {
  const tiny = join(root, "tests/data/llama/tiny.gguf");
  const { texts } = json<{ texts: { prompt: string; greedy: number[]; text: string }[] }>("llama", "tiny.json");
  let browser: Browser;
  let folder: string;
  let other: TestServer;
  beforeAll(async () => {
    browser = await launch();
    folder = mkdtempSync(join(tmpdir(), "nanoembed-"));
    // In types that AMB has, rounded anew: another model.
    cli(["convert", "--quiet", "--type", "int8", tiny, join(folder, "tiny.amb")]);
    other = await serve({ "/made/": folder, "/dist/": dist }, { "tiny.gguf": bytes("llama", "tiny.gguf") });
  });
  afterAll(async () => {
    await browser?.close();
    await other?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs `body` in a page of its own. */
  async function run<R>(entry: string, body: string, argument: unknown): Promise<R> {
    const { page: own, complaints: heard } = await openPage(browser, `${other.origin}/blank`);
    try {
      const result = await own.evaluate(`(async () => { const nanoembed = await import("/dist/${entry}.js"); const argument = ${JSON.stringify(argument)}; ${COLLECT} ${body} })()`);
      expect(heard.filter((text) => !text.includes("unsafe-eval"))).toEqual([]);
      return result as R;
    } finally {
      await own.close();
    }
  }

  test.each([["/hostile/good/tiny.gguf", tiny], ["/hostile/chopped/tiny.gguf", tiny], ["/made/tiny.amb", "tiny.amb"]])("%s is continued as by the native program", async (address, name) => {
    const file = name === tiny ? tiny : join(folder, name);
    other.requests();
    const found = await run<{ ids: number[]; text: string; pieces: string[]; reason: string }[]>("index",
      `const model = await nanoembed.load("${address}", { kind: "causal" });
       const all = [];
       for (const { prompt, greedy } of argument) all.push(await collect(model.generate(prompt, { temperature: 0, maxTokens: greedy.length })));
       model.dispose();
       return all;`, texts);
    for (const [at, { prompt, greedy, text }] of texts.entries()) {
      const native = continued(file, prompt, greedy.length);
      // The program leaves this character out where it writes to no terminal.
      const said = { ...found[at]!, text: found[at]!.text.replaceAll("\u007f", "") };
      expect(said).toMatchObject({ ...native, text: native.text.replaceAll("\u007f", "") });
      expect(found[at]!.pieces.join("")).toBe(found[at]!.text);
      if (name === tiny) expect(found[at]).toMatchObject({ ids: greedy, text, reason: "length" });
    }
    const modules = other.requests().map(({ path }) => path).filter((path) => path.endsWith(".wasm"));
    // Of an AMB file the first tensor tells, which the other module sees.
    expect(modules.sort()).toEqual(name === tiny ? ["/dist/nanoembed-causal-relaxed.wasm"] : ["/dist/nanoembed-causal-relaxed.wasm", "/dist/nanoembed-relaxed.wasm"]);
  });

  test("workers continue texts, stop when they are told to, and go on", async () => {
    const result = await run<{ found: { ids: number[]; text: string }[]; streamed: boolean; aborted: string; left: number; busy: boolean; after: string; tokens: number; refused: unknown }>("worker",
      `const pool = nanoembed.createWorker({ workers: 2 });
       const model = await pool.load("/hostile/good/tiny.gguf");
       const found = await Promise.all(argument.map(({ prompt, greedy }) => collect(model.generate(prompt, { temperature: 0, maxTokens: greedy.length }))));
       const times = [];
       const controller = new AbortController();
       const aborted = await (async () => {
         for await (const _ of model.generate("a", { maxTokens: 150, signal: controller.signal })) {
           times.push(true);
           if (times.length === 3) controller.abort();
         }
         return "none";
       })().catch((error) => error.name);
       let left = 0;
       for await (const _ of model.generate("a", { maxTokens: 150 })) { left += 1; if (left === 4) break; }
       const refused = await collect(model.generate("a", { maxTokens: 500 })).catch(({ name, code }) => ({ name, code }));
       const tokens = (await model.tokenize("in the end")).ids.length;
       const again = await collect(model.generate("a", { temperature: 0, maxTokens: 3 }));
       model.dispose();
       const after = await collect(model.generate("a")).catch((error) => error.code);
       pool.dispose();
       return { found, aborted, streamed: times.length === 3, left, refused, tokens, busy: again.tokens !== 3, after, kind: model.kind };`, texts);
    texts.forEach(({ greedy, text }, at) => expect(result.found[at]).toMatchObject({ ids: greedy, text }));
    expect(result).toMatchObject({ aborted: "AbortError", streamed: true, left: 4, refused: { name: "NanoembedError", code: "too_many_tokens" }, busy: false, after: "disposed", kind: "causal" });
  });

  const real = process.env["NANOEMBED_SMOLLM2"];
  if (!real) skipped("SmolLM2 in a page", "no NANOEMBED_SMOLLM2");
  test.skipIf(!real)("SmolLM2 in a page says what llama.cpp and the native program say", async () => {
    const expected = json<{ prompt_text: string; greedy: number[] }>("llama", "smollm2.json");
    const large = await serve({ "/real/": dirname(real!), "/dist/": dist }, {});
    const { page: own } = await openPage(browser, `${large.origin}/blank`);
    const { ids, text, speed, prompt } = await own.evaluate(`(async () => { const { load } = await import("/dist/index.js"); ${COLLECT}
      const model = await load("/real/${basename(real!)}", { kind: "causal" });
      const iterator = model.generate(${JSON.stringify(expected.prompt_text)}, { temperature: 0, maxTokens: 64 });
      const begin = performance.now();
      const { value } = await iterator.next();
      const start = performance.now();
      const rest = await collect(iterator);
      return { ids: [value.id, ...rest.ids], text: rest.text, speed: 63000 / (performance.now() - start), prompt: rest.promptTokens * 1000 / (start - begin) }; })()`) as { ids: number[]; text: string; speed: number; prompt: number };
    await own.close();
    await large.close();
    console.log(`SmolLM2 in Chromium: ${prompt.toFixed(1)} tokens a second of the prompt, ${speed.toFixed(1)} generated`);
    expect(ids).toEqual(expected.greedy);
    expect({ ids, text }).toEqual(continued(real!, expected.prompt_text, 64));
  });
});
