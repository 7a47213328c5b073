// Encoders of all families: files that the command line makes of folders, in Node; a folder by its address, in Chromium.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { load, type Reranker, type SentenceModel } from "../dist/index.js";
import { largestDifference } from "../tests/files.js";
import { complete, expected, models, picked } from "../tests/folders.js";
import { dist, executablePath, inBrowser, launch, openPage } from "./browser.js";
import { cli } from "./program.js";
import { serve, type TestServer } from "./server.js";

const TOLERANCE = 1e-5;

/** What the module for `.weights` and AMB files runs. */
const SMALL = complete.filter((name) => !/^(model2vec.*|.*reranker.*|cross_encoder|bert_cased.*)$/.test(name));

/** What llama.cpp knows no architecture for, or pools otherwise. */
const NOT_IN_GGUF = /^(albert|deberta_v2|mpnet|gte|bert_cased|bert_cased_st6|bert_max_pool|model2vec.*|.*reranker.*|cross_encoder|modernbert_mean|nomic_moe|roberta|t5_encoder)$/;

describe.each(complete)("%s", (name) => {
  const out = mkdtempSync(join(tmpdir(), "nanoembed-"));
  afterAll(() => rmSync(out, { recursive: true }));

  const file = (ending: string): Uint8Array<ArrayBuffer> => {
    const path = join(out, `model.${ending}`);
    const args = ending === "gguf" ? ["migrate"] : ["convert", "--type", "f32"];
    cli([...args, "--quiet", join(models, name), path]);
    return Uint8Array.from(readFileSync(path));
  };
  const endings = NOT_IN_GGUF.test(name) ? ["weights", "amb"] : ["weights", "amb", "gguf"];

  test.each(endings)("as a .%s file has the ids and vectors of transformers", async (ending) => {
    const model = (await load(file(ending))) as SentenceModel | Reranker;
    const { rows, maxLength } = expected(name);
    for (const { text, prompt_name, ids, query, document, values } of rows) {
      if (model.kind === "reranker") {
        const [found] = await model.score(query, [document], { maxTokens: maxLength });
        expect(Math.abs(found!.logits[0]! - values[0]!)).toBeLessThan(TOLERANCE);
        continue;
      }
      const prompt = prompt_name === null ? { prompt: "" } : { promptName: prompt_name };
      expect([...(await model.tokenize(text, { maxTokens: model.maxTokens, ...prompt })).ids]).toEqual(ids);
      expect(largestDifference((await model.embed(text, prompt)).data, values)).toBeLessThan(TOLERANCE);
    }
    model.dispose();
  });

  test.runIf(SMALL.includes(name)).each(["weights", "amb"])("as a .%s file starts no module but its own, which gives what that for folders does, bit by bit", async (ending) => {
    const bytes = file(ending);
    const wasm = vi.spyOn(WebAssembly, "instantiate");
    const small = (await load(bytes)) as SentenceModel;
    const started = wasm.mock.calls.map(([source]) => (source as unknown as ArrayBuffer).byteLength);
    wasm.mockRestore();
    // Once a module is there, it is not started again.
    expect([[], [statSync(join(dist, "nanoembed-weights.wasm")).size], [statSync(join(dist, "nanoembed-weights-relaxed.wasm")).size]]).toContainEqual(started);
    const large = (await load(picked(name))) as SentenceModel;
    expect([small.dims, small.maxTokens, small.prompts]).toEqual([large.dims, large.maxTokens, large.prompts]);
    const texts = ["", "How do I reset my password?", "ÅNGSTRÖM 漢字 𝔘𝔫𝔦 \u0130 x", "word ".repeat(3000), "漢".repeat(3000), "[UNK] <s> </s> <mask>"];
    for (const promptName of [undefined, ...large.prompts]) {
      const options = promptName === undefined ? {} : { promptName };
      expect(await small.embed(texts, options)).toEqual(await large.embed(texts, options));
      for (const text of texts) expect(await small.tokenize(text, options)).toEqual(await large.tokenize(text, options));
    }
    for (const maxTokens of [2, 7]) expect(await small.embed(texts, { maxTokens })).toEqual(await large.embed(texts, { maxTokens }));
    const refusal = (model: SentenceModel) => model.embed("x", { promptName: "odd" }).catch(({ code, message }) => [code, message]);
    expect(await refusal(small)).toEqual(await refusal(large));
    await expect(load(bytes, { requantize: true })).rejects.toMatchObject({ code: "unsupported_setting" });
    await expect(load(bytes, { kind: "reranker" })).rejects.toMatchObject({ code: "wrong_kind" });
    [small, large].forEach((model) => model.dispose());
  });
});

let server: TestServer;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  if (!executablePath) return;
  server = await serve({ "/dist/": dist, "/models/": models }, {});
  browser = await launch();
  ({ page } = await openPage(browser, `${server.origin}/blank`));
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
});

inBrowser("in Chromium", () => {
  test("a folder embeds and ranks, in the page and in workers", async () => {
    const row = expected("embeddinggemma").rows.find(({ prompt_name }) => prompt_name === "query")!;
    const pair = expected("xlmr_reranker").rows[0]!;
    const found = await page.evaluate(`(async () => {
      const nanoembed = await import("/dist/index.js");
      const { createWorker } = await import("/dist/worker.js");
      const pool = createWorker({ workers: 2 });
      const results = [];
      for (const load of [nanoembed.load, (...given) => pool.load(...given)]) {
        const model = await load("/models/embeddinggemma/", { kind: "sentences" });
        const { data } = await model.embedQuery(${JSON.stringify(row.text)});
        const documents = await model.embedDocuments(["a", "b", "c"]);
        const ranker = await load("/models/xlmr_reranker/", { kind: "reranker" });
        const [{ logits }] = await ranker.score(${JSON.stringify(pair.query)}, [${JSON.stringify(pair.document)}]);
        const ranks = await ranker.rerank("x", ["a", "b", "c"]);
        results.push({ data: [...data], logits, documents: documents.data.length / documents.dims, prompts: model.prompts.length, ranks: ranks.length });
        const wrong = await load("/models/mpnet/model.safetensors").catch(({ message }) => message);
        if (!/folder/.test(wrong)) throw new Error(wrong);
      }
      pool.dispose();
      return results;
    })()`) as { data: number[]; logits: number[]; documents: number; prompts: number; ranks: number }[];
    expect(found).toHaveLength(2);
    for (const { data, logits, ...rest } of found) {
      expect(largestDifference(data, row.values)).toBeLessThan(TOLERANCE);
      expect(Math.abs(logits[0]! - pair.values[0]!)).toBeLessThan(TOLERANCE);
      expect(rest).toEqual({ documents: 3, prompts: 4, ranks: 3 });
    }
  });

  describe("from another origin", () => {
    let home: Server;
    let allowing: TestServer;
    let closed: TestServer;
    let bare: Page;
    beforeAll(async () => {
      // A page without a policy of its own: what is to be told is the other server's doing.
      home = createServer((_, response) => void response.setHeader("content-type", "text/html").end("<!doctype html>"));
      await new Promise<void>((ready) => home.listen(0, "127.0.0.1", ready));
      allowing = await serve({ "/dist/": dist, "/models/": models }, {}, { "access-control-allow-origin": "*" });
      closed = await serve({ "/models/": models }, {});
      bare = await browser.newPage();
      await bare.goto(`http://127.0.0.1:${(home.address() as AddressInfo).port}/`);
    });
    afterAll(async () => {
      await bare.close();
      await allowing.close();
      await closed.close();
      home.close();
    });

    test("workers are made that the page may not start itself", async () => {
      const dims = await bare.evaluate(`(async () => {
        const { createWorker } = await import("${allowing.origin}/dist/worker.js");
        const pool = createWorker();
        const model = await pool.load("${allowing.origin}/models/mpnet/", { kind: "sentences" });
        const { data } = await model.embed("hello");
        pool.dispose();
        return data.length;
      })()`);
      expect(dims).toBe(expected("mpnet").rows[0]!.values.length);
    });

    test("a server that allows nobody is told from one that is not there", async () => {
      const messages = await bare.evaluate(`(async () => {
        const { load } = await import("${allowing.origin}/dist/index.js");
        const message = (address) => load(address, { retries: 0 }).catch(({ message }) => message);
        return [await message("${closed.origin}/models/mpnet/config.json"), await message("http://127.0.0.1:9/x.weights")];
      })()`) as string[];
      expect(messages[0]).toContain("access-control-allow-origin");
      expect(messages[1]).toContain("no server is there");
    });
  });
});
