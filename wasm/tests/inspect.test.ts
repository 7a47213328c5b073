import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import * as main from "../dist/index.js";
import * as small from "../dist/inspect.js";
import { bytes, data, floats, json, largestDifference, modelBytes } from "./files.js";

const isBad = (name: string) => name.includes("bad") || name.includes("missing") || name.startsWith("stream_no");
const files: [string, string][] = [
  ["embd", "section_all_dtypes_flags7.weights"], ["embd", "section_realvocab_flags7.weights"], ["embd", "stream_small.bin"],
  ...readdirSync(join(data, "finalfusion")).filter((name) => name.endsWith(".fifu")).map((name): [string, string] => ["finalfusion", name]),
  ...["adaptive", "bpe", "floats", "int4", "int5", "int8", "sentencepiece", "wordpiece"].map((name): [string, string] => ["amb", `${name}.amb`]),
  ["gguf", "small.gguf"], ["gguf", "blocks.gguf"],
  ["safetensors", "mixed.safetensors"], ["safetensors", "unsorted.safetensors"],
  ["uqff", "small_blobs.uqff"], ["uqff", "small_tensors.uqff"], ["uqff", "v1.2.0/mixed-0.uqff"],
];

describe.each([["the main entry", main], ["the inspector", small]])("%s", (_, { inspect, verify }) => {
  test.each(files)("tells what is in %s/%s", async (format, name) => {
    const file = bytes(format, name);
    const summary = await inspect(file);
    expect(summary.format).toBe(format);
    expect(summary.fileBytes).toBe(file.length);
    expect(summary.version.every(Number.isInteger)).toBe(true);
    for (const { offset, bytes: length, shape } of summary.tensors) {
      expect(offset + length).toBeLessThanOrEqual(file.length);
      expect(shape.every((dim) => dim >= 0)).toBe(true);
    }
    // However the bytes come, the answer is the same.
    const { values: _values, bytesRead: _read, ...facts } = summary;
    for (const source of [new Blob([file]), new Response(file), new Blob([file]).stream()]) {
      const { values: _v, bytesRead: _r, ...again } = await inspect(source);
      expect({ ...again, fileBytes: file.length }).toEqual(facts);
    }
    expect(await verify(file)).toEqual({ ok: true, format, bytes: file.length });
  });

  test("gives AMB's metadata and configuration as they are", async () => {
    const { document, configuration, tokens, metadata } = await inspect(bytes("amb", "wordpiece.amb"));
    expect(JSON.parse(document!)).toBeTypeOf("object");
    expect(JSON.parse(configuration!)).toBeTypeOf("object");
    expect(tokens).toBe(8);
    expect(metadata).toMatchObject({ tokenizer: "wordpiece" });
  });

  test("reads no weights", async () => {
    const { tensors, tokens, special, metadata, bytesRead } = await inspect(new Blob([modelBytes()]));
    expect(tokens).toBe(30522);
    expect(special).toMatchObject({ pad: 0, unk: 100, cls: 101, sep: 102 });
    expect(metadata).toMatchObject({ num_layers: "6", hidden_size: "384" });
    expect(tensors.length).toBeGreaterThan(100);
    expect(bytesRead).toBeLessThan(600_000);
  });

  test("says where a broken file is broken", async () => {
    const broken = modelBytes();
    broken[15_000_000]! ^= 16;
    const verdict = await verify(new Blob([broken]));
    expect(verdict).toMatchObject({ ok: false, format: "embd", error: { code: "data_checksum" } });
    const cut = bytes("gguf", "blocks.gguf").subarray(0, 9000);
    expect(await verify(cut)).toMatchObject({ ok: false, error: { code: "unexpected_end", format: "gguf" } });
    await expect(inspect(cut.subarray(0, 500))).rejects.toMatchObject({ code: "unexpected_end", format: "gguf" });
    await expect(inspect(new TextEncoder().encode("no such format"))).rejects.toMatchObject({ code: "unknown_format" });
    for (const name of readdirSync(join(data, "safetensors/bad"))) {
      expect(await verify(bytes("safetensors/bad", name)), name).toMatchObject({ ok: false });
    }
    expect(isBad("bad_index.uqff")).toBe(true);
    expect(await verify(bytes("uqff", "bad_index.uqff"))).toMatchObject({ ok: false });
  });

  test("every byte that is missing is missed", async () => {
    const whole = bytes("embd", "section_all_dtypes_flags7.weights");
    for (let length = 0; length < whole.length; length += 37) {
      expect((await verify(whole.subarray(0, length))).ok).toBe(false);
    }
  });

  test("a verification can be stopped", async () => {
    await expect(verify(modelBytes(), { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("values", () => {
  test.each(["q4_0", "q4_1", "q5_0", "q5_1", "q8_0"])("of ggml's %s are the reference's", async (dtype) => {
    const file = await main.inspect(bytes("gguf", "blocks.gguf"));
    const reference = floats("quant", `${dtype}.expected.f32`);
    expect(largestDifference(await file.values(dtype), reference)).toBe(0);
    const part = await file.values(dtype, { first: 45, count: 100 });
    expect(part).toEqual(reference.subarray(45, 145));
  });

  test("of 8-bit matrices are multiplied with their scales", async () => {
    const file = await main.inspect(new Blob([modelBytes()]));
    const words = await file.values("embeddings.word_embeddings.weight", { first: 384 * 100, count: 384 });
    const length = Math.hypot(...words);
    // The row of [UNK] in the published model.
    expect(length).toBeGreaterThan(0.5);
    expect(length).toBeLessThan(3);
  });

  test("of a UQFF layer are the reference's", async () => {
    const file = await main.inspect(bytes("uqff/v1.2.0", "mixed-0.uqff"));
    const { keys } = json<{ keys: string[] }>("uqff/v1.2.0", "manifest.json");
    let compared = 0;
    for (const key of keys) {
      const name = `${key}.expected.f32`;
      if (!readdirSync(join(data, "uqff/v1.2.0")).includes(name)) continue;
      const reference = floats("uqff/v1.2.0", name);
      const values = await file.values(`${key}.weight`);
      expect(values.length).toBe(reference.length);
      // The reference passed some layers through half precision.
      expect(largestDifference(values, reference), key).toBeLessThan(2e-3);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(0);
  });

  test("beyond the end are refused", async () => {
    const file = await main.inspect(bytes("gguf", "blocks.gguf"));
    await expect(file.values("q4_0", { first: 2048, count: 1 })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(file.values("none")).rejects.toMatchObject({ code: "missing_tensor" });
  });
});

test("files that are looked at again and again leave memory as it is", async () => {
  async function round() {
    for (const [format, name] of files) {
      await main.inspect(bytes(format, name));
      await main.verify(new Blob([bytes(format, name)]));
      await main.verify(bytes(format, name).subarray(0, 200)).catch(() => {});
    }
    await main.verify(modelBytes());
  }
  for (let at = 0; at < 2; at += 1) await round();
  const before = main.memoryBytes();
  for (let at = 0; at < 6; at += 1) await round();
  expect(main.memoryBytes()).toBe(before);
  // No model was kept.
  expect(before).toBeLessThan(modelBytes().length + 40e6);
}, 120_000);
