// Static models in a module of their own: what the module for all families gives, and what that one is needed for.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { load, type SentenceModel } from "../dist/index.js";
import { largestDifference, root } from "./files.js";
import { expected, picked } from "./folders.js";

const NAME = "model2vec_int8_mapped";
/** That folder as `nanoembed convert` writes it. */
const file = () => new Uint8Array(readFileSync(`${root}/ffi/tests/data/small_table.weights`));
const moduleBytes = (name: string) => statSync(fileURLToPath(new URL(`../dist/${name}.wasm`, import.meta.url))).size;

/** The file with `from` replaced by `to`, which is as long, and its checksums made good. */
function changed(from: string, to: string): Uint8Array {
  const bytes = file();
  const at = Buffer.from(bytes.buffer).indexOf(from);
  expect(at).toBeGreaterThan(0);
  expect(to.length).toBe(from.length);
  bytes.set(new TextEncoder().encode(to), at);
  return sealed(bytes);
}

/** The file with settings of sentence-transformers, in the room of what its `config.json` says beyond need. */
function withPrompts(settings: object): Uint8Array {
  const bytes = file();
  const view = new DataView(bytes.buffer);
  const key = "config.json";
  const value = Buffer.from(bytes.buffer).indexOf(key) + key.length;
  const lengths = value - key.length - 4;
  const room = view.getUint16(lengths + 2, true);
  const config = '{"model_type":"model2vec","architectures":["StaticModel"],"normalize":true}';
  const name = "config_sentence_transformers.json";
  const rest = room - config.length - 4 - name.length;
  const text = new TextEncoder();
  bytes.set(text.encode(config), value);
  view.setUint16(lengths + 2, config.length, true);
  view.setUint16(value + config.length, name.length, true);
  view.setUint16(value + config.length + 2, rest, true);
  bytes.set(text.encode(name + JSON.stringify(settings).padEnd(rest)), value + config.length + 4);
  view.setUint32(64, view.getUint32(64, true) + 1, true);
  return sealed(bytes);
}

/** Writes the checksum of tensor data and that of the file into the footer. */
function sealed(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer);
  const footer = bytes.length - 16;
  const data = view.getUint32(36, true);
  view.setUint32(footer, crc32(bytes.subarray(data, footer)), true);
  view.setUint32(footer + 4, crc32(bytes.subarray(0, footer)), true);
  return bytes;
}

/** The sizes of the modules that are started meanwhile, but for Node's own, which it has compiled before. */
async function started(run: () => Promise<unknown>): Promise<number[]> {
  const spy = vi.spyOn(WebAssembly, "instantiate");
  try {
    await run();
    const sources = spy.mock.calls.map(([source]) => source as unknown);
    return sources.flatMap((source) => (source instanceof WebAssembly.Module ? [] : [(source as ArrayBuffer).byteLength]));
  } finally {
    spy.mockRestore();
  }
}

test("a static model starts its own module and no other; files that this cannot do start that for all families", async () => {
  expect(await started(() => load(file()))).toEqual([moduleBytes("nanoembed-static")]);
  expect(await started(() => load(changed('##","max_input', '@@","max_input')))).toHaveLength(1);
});

test("a file that is called as static models are is looked for in no other module, one in such a folder in that for BERT", async () => {
  const folder = mkdtempSync(join(tmpdir(), "static-"));
  const startedBy = async (name: string) => {
    writeFileSync(join(folder, name), file());
    const modules = await started(async () => {
      (await load(join(folder, name), { kind: "sentences" })).dispose();
      // What is begun beside it is not waited for.
      await new Promise((over) => setTimeout(over, 300));
    });
    return modules.length;
  };
  expect([await startedBy("potion-base-8M.weights"), await startedBy("all-MiniLM-L6-v2.weights")]).toEqual([0, 1]);
  rmSync(folder, { recursive: true });
});

describe("the same model out of a file and out of its folder", () => {
  let small: SentenceModel;
  let large: SentenceModel;
  beforeAll(async () => {
    [small, large] = await Promise.all([load(file(), { kind: "sentences" }), load(picked(NAME), { kind: "sentences" })]);
  });
  afterAll(() => [small, large].forEach((model) => model.dispose()));

  test("has the ids and vectors that are expected, bit by bit the same", async () => {
    expect([small.dims, small.maxTokens, small.prompts]).toEqual([large.dims, large.maxTokens, large.prompts]);
    for (const { text, ids, values } of expected(NAME).rows) {
      expect([...(await small.tokenize(text, { maxTokens: small.maxTokens })).ids]).toEqual(ids);
      const found = await small.embed(text);
      expect(largestDifference(found.data, values)).toBeLessThan(1e-5);
      expect(found).toEqual(await large.embed(text));
    }
  });

  test("cuts texts alike", async () => {
    const texts = ["", "hello world, hello again", "ÅNGSTRÖM 漢字 𝔘𝔫𝔦 \u0130 x", "word ".repeat(3000), "漢".repeat(700), "[UNK] [PAD] [CLS]"];
    for (const maxTokens of [1, 2, 7, 512]) {
      expect(await small.embed(texts, { maxTokens })).toEqual(await large.embed(texts, { maxTokens }));
      for (const text of texts) expect(await small.tokenize(text, { maxTokens })).toEqual(await large.tokenize(text, { maxTokens }));
    }
    const options = { prompt: "query: ", truncateDim: 8 };
    expect(await small.embed(texts, options)).toEqual(await large.embed(texts, options));
  });

  test("refuses alike", async () => {
    for (const model of [small, large]) {
      await expect(model.embed("x", { maxTokens: 0 })).rejects.toMatchObject({ code: "invalid_argument" });
      await expect(model.embed("x", { promptName: "query" })).rejects.toMatchObject({ code: "invalid_argument" });
      await expect(model.embed("word ".repeat(3000), { truncate: "error" })).rejects.toMatchObject({ code: "too_many_tokens" });
    }
    for (const source of [file(), picked(NAME)]) {
      await expect(load(source, { kind: "reranker" })).rejects.toMatchObject({ code: "wrong_kind" });
    }
    await expect(load(file(), { requantize: true })).rejects.toMatchObject({
      code: "unsupported_setting", message: expect.stringContaining("requantize"),
    });
  });
});

describe("files", () => {
  test("with a tokenizer of another kind are run by the module for all families", async () => {
    using model = await load(changed('##","max_input', '@@","max_input'), { kind: "sentences" });
    expect((await model.embed("hello")).dims).toBe(48);
  });

  test("with prompts that are empty need no other module, and have the same names there", async () => {
    const prompts = { query: "", document: "", title: null };
    const modules = await started(async () => {
      using model = (await load(withPrompts({ prompts }))) as SentenceModel;
      expect(model.prompts).toEqual(["document", "query", "title"]);
      const plain = await model.embed("hello");
      expect(await model.embed("hello", { promptName: "query" })).toEqual(plain);
      expect(await model.embedQuery("hello")).toEqual(plain);
      await expect(model.embed("hello", { promptName: "passage" })).rejects.toMatchObject({ code: "invalid_argument" });
    });
    expect(modules).toHaveLength(0);
  });

  test("with prompts that say something are run by the module for all families", async () => {
    using model = await load(withPrompts({ prompts: { query: "q: ", document: "" } }), { kind: "sentences" });
    expect(model.prompts).toEqual(["document", "query"]);
    expect((await model.embedQuery("hello")).tokens).toBeGreaterThan((await model.embedDocuments(["hello"])).tokens[0]!);
  });

  test("with a setting that nothing does are refused by its name", async () => {
    const odd = load(changed('"max_length":512,"embed', '"max_lengtj":512,"embed'));
    await expect(odd).rejects.toMatchObject({ code: "unsupported_setting", message: expect.stringContaining("max_lengtj") });
  });

  test("that are cut or damaged are refused", async () => {
    const whole = file();
    for (const length of [9, 100, 700, 5000, whole.length - 1]) {
      await expect(load(whole.slice(0, length))).rejects.toMatchObject({ code: expect.stringMatching(/^(unexpected_end|bad_|out_of_bounds)/) });
    }
    whole[whole.length - 100]! ^= 1;
    await expect(load(whole)).rejects.toMatchObject({ code: "data_checksum" });
  });
});
