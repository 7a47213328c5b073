import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as main from "../dist/index.js";
import * as inline from "../dist/inline.js";
import type { CausalModel, GenerateOptions, Generated } from "../dist/index.js";
import { skipped } from "../scripts/skipped.mjs";
import { bytes, json, modelBytes } from "./files.js";

const { load, memoryBytes } = main;

interface Text {
  prompt: string;
  ids: number[];
  greedy: number[];
  text: string;
}
/** What `tests/tools/tiny_llama.py` computed in f64, and Hugging Face's `tokenizers` made of the prompts. */
const reference = json<{ tokens: string; texts: Text[] }>("llama", "tiny.json");
const { texts } = reference;
const tokens = reference.tokens.split(" ");
const file = () => bytes("llama", "tiny.gguf");

/** Everything that an iteration gives. */
async function all(model: CausalModel, prompt: string, options: GenerateOptions) {
  const pieces: string[] = [];
  const ids: number[] = [];
  const iterator = model.generate(prompt, options);
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return { pieces, ids, ...(value as Generated) };
    pieces.push(value.text);
    if (value.id !== undefined) ids.push(value.id);
  }
}

let model: CausalModel;
beforeAll(async () => {
  model = await load(file(), { kind: "causal" });
});
afterAll(() => model.dispose());

describe.each([["the main entry", main], ["the inline entry", inline]])("%s", (_, entry) => {
  test("continues prompts as the reference does", async () => {
    using own = await entry.load(new Blob([file()]), { kind: "causal" });
    expect([own.kind, own.vocabulary, own.maxTokens]).toEqual(["causal", 283, 192]);
    for (const { prompt, ids, greedy, text } of texts) {
      expect([...(await own.tokenize(prompt)).ids]).toEqual(ids);
      for (const precision of ["default", "precise"] as const) {
        const found = await all(own, prompt, { temperature: 0, maxTokens: greedy.length, precision });
        expect(found).toMatchObject({ ids: greedy, text, tokens: greedy.length, promptTokens: ids.length, reason: "length" });
        expect(found.pieces.join("")).toBe(text);
      }
    }
  });
});

test("pieces are what a decoder of UTF-8 makes of the tokens' bytes, wherever they are cut", async () => {
  let characters = 0;
  for (let seed = 1; seed <= 12; seed += 1) {
    const { ids, pieces, text } = await all(model, "a", { temperature: 2, topK: 0, topP: 1, seed, maxTokens: 180 });
    expect(pieces.join("")).toBe(text);
    for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
    const spelled = Buffer.concat(ids.map((id) => Buffer.from(tokens[id]!, "hex")));
    expect(text).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(spelled));
    characters += [...text].filter((character) => character > "\u007f" && character !== "\uFFFD").length;
  }
  // Characters of several tokens were among them.
  expect(characters).toBeGreaterThan(10);
});

describe("options", () => {
  const ids = async (options: GenerateOptions) => (await all(model, "in the end", { maxTokens: 30, ...options })).ids;

  test("the same seed gives the same text, another another", async () => {
    expect(await ids({ seed: 5 })).toEqual(await ids({ seed: 5 }));
    expect(await ids({ seed: 5 })).not.toEqual(await ids({ seed: 6 }));
  });

  test("one token to choose from is the likeliest", async () => {
    const greedy = await ids({ temperature: 0 });
    expect(await ids({ temperature: 1, topK: 1 })).toEqual(greedy);
    expect(await ids({ temperature: 1, topP: 0 })).toEqual(greedy);
  });

  test("chat puts the prompt in ChatML", async () => {
    const form = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n";
    const [chat, plain] = [await all(model, "Hello", { chat: true, maxTokens: 5 }), await all(model, form, { maxTokens: 5 })];
    expect(chat).toEqual(plain);
    const renamed = Buffer.from(Buffer.from(file()).toString("latin1").replaceAll("<|im_end|>", "<|im_ent|>"), "latin1");
    const without = await load(renamed, { kind: "causal" });
    await expect(all(without, "Hello", { chat: true, maxTokens: 2 })).rejects.toMatchObject({ code: "invalid_argument" });
    await all(without, "Hello", { maxTokens: 2 });
    without.dispose();
  });

  test("what cannot be is refused", async () => {
    const code = (options: GenerateOptions, prompt: string = "a") => all(model, prompt, options).then(() => "none", ({ code }) => code);
    for (const options of [{ temperature: -1 }, { temperature: NaN }, { topP: 1.5 }, { topK: -1 }, { seed: -1 }, { maxTokens: 0 }, { maxTokens: 1.5 }]) {
      expect(await code(options), JSON.stringify(options)).toBe("invalid_argument");
    }
    expect(await code({ maxTokens: 192 })).toBe("too_many_tokens");
    expect(await code({}, "a ".repeat(200))).toBe("too_many_tokens");
    expect(await code({}, "")).toBe("invalid_argument");
    expect(await code({}, 5 as never)).toBe("invalid_argument");
    // Without a limit of its own a text ends where the model does, if it does not come to an end before.
    const ends = [];
    for (let seed = 0; seed < 12; seed += 1) ends.push(await all(model, "a ".repeat(80), { seed }));
    const full = ends.filter(({ reason }) => reason === "length");
    expect(full.length).toBeGreaterThan(0);
    for (const { promptTokens, tokens: added } of full) expect(promptTokens + added).toBe(192);
    for (const { promptTokens, tokens: added } of ends) expect(promptTokens + added).toBeLessThanOrEqual(192);
  });
});

describe("on the way", () => {
  test("others run between two tokens", async () => {
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const generated = await all(model, "a", { maxTokens: 100 });
    isOver = true;
    expect(turns).toBeGreaterThanOrEqual(generated.tokens - 1);
  });

  test("a signal stops before the next token", async () => {
    const controller = new AbortController();
    let seen = 0;
    const running = (async () => {
      for await (const _ of model.generate("a", { signal: controller.signal, maxTokens: 150 })) {
        seen += 1;
        if (seen === 5) controller.abort();
      }
    })();
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
    expect(seen).toBe(5);
    await expect(all(model, "a", { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
  });

  test("texts that are continued at the same time are what they are alone", async () => {
    const prompts = ["one", "two", "in the end", "a"];
    const alone = [];
    for (const prompt of prompts) alone.push(await all(model, prompt, { maxTokens: 25, seed: 3 }));
    const together = await Promise.all(prompts.map((prompt) => all(model, prompt, { maxTokens: 25, seed: 3 })));
    expect(together).toEqual(alone);
  });

  test("disposing of the model ends them", async () => {
    const own = await load(file(), { kind: "causal" });
    const iterator = own.generate("a");
    await iterator.next();
    own.dispose();
    own[Symbol.dispose]();
    await expect(iterator.next()).rejects.toMatchObject({ code: "disposed" });
    await expect(own.generate("a").next()).rejects.toMatchObject({ code: "disposed" });
    await expect(own.tokenize("a")).rejects.toMatchObject({ code: "disposed" });
  });

  test("memory stays as it is, whether texts are ended or left", async () => {
    async function round() {
      using own = await load(new Blob([file()]), { kind: "causal" });
      await all(own, "in the end", { maxTokens: 60 });
      for await (const _ of own.generate("another", { maxTokens: 100 })) break;
      await load(file().subarray(0, 50_000)).catch(() => {});
    }
    for (let at = 0; at < 3; at += 1) await round();
    const before = memoryBytes();
    for (let at = 0; at < 60; at += 1) await round();
    expect(memoryBytes()).toBe(before);
  });
});

describe("the kind", () => {
  test("is told by the file", async () => {
    const own = await load(file());
    expect(own.kind).toBe("causal");
    own.dispose();
    for (const kind of ["sentences", "words"] as const) {
      await expect(load(file(), { kind } as never)).rejects.toMatchObject({ code: "wrong_kind", format: "gguf" });
    }
    await expect(load(modelBytes(), { kind: "causal" })).rejects.toMatchObject({ code: "wrong_kind", format: "embd" });
  });

  test("is not this one in every GGUF file", async () => {
    await expect(load(bytes("gguf", "blocks.gguf"))).rejects.toMatchObject({ name: "NanoembedError", format: "gguf" });
    await expect(load(file().subarray(0, 20))).rejects.toMatchObject({ code: "unexpected_end", format: "gguf" });
    await expect(load(file().subarray(0, 3))).rejects.toMatchObject({ code: "unknown_format" });
  });

  test("does not depend on how the bytes come", async () => {
    const whole = file();
    const { text } = texts[0]!;
    for (const step of [17, 999]) {
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          for (let at = 0; at < whole.length; at += step) controller.enqueue(whole.slice(at, at + step));
          controller.close();
        },
      });
      using own = await load(stream, { kind: "causal" });
      expect((await all(own, texts[0]!.prompt, { temperature: 0, maxTokens: texts[0]!.greedy.length })).text).toBe(text);
    }
  });
});

const real = process.env["NANOEMBED_SMOLLM2"];
if (!real) skipped("SmolLM2 says what llama.cpp says", "no NANOEMBED_SMOLLM2");

test.skipIf(!real)("SmolLM2 says what llama.cpp says", async () => {
  const expected = json<{ prompt_text: string; prompt: number[]; greedy: number[] }>("llama", "smollm2.json");
  using own = await load(readFileSync(real!), { kind: "causal" });
  expect([...(await own.tokenize(expected.prompt_text)).ids]).toEqual(expected.prompt);
  const { ids } = await all(own, expected.prompt_text, { temperature: 0, maxTokens: expected.greedy.length });
  expect(ids).toEqual(expected.greedy);
}, 300_000);

test("what is no text and no precision is refused", async () => {
  const refused = { code: "invalid_argument" };
  for (const text of [5, undefined]) await expect(model.tokenize(text as never)).rejects.toMatchObject(refused);
  await expect(model.generate("a", { precision: "precice" as never }).next()).rejects.toMatchObject(refused);
});
