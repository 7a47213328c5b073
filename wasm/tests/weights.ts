// `.weights` files of the project's own test models, as the command line makes them of folders: texts of the folder, the vocabulary,
// tensors in f32 and the tokenizer's settings.
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { models } from "./folders.js";

interface Tensor {
  name: string;
  /** The number of its type in the format: 0 is f32, 8 is u8. */
  type: number;
  shape: number[];
  bytes: Uint8Array;
}

const utf8 = (text: string) => new TextEncoder().encode(text);
const u16 = (...values: number[]) => new Uint8Array(Uint16Array.from(values).buffer);
const u32 = (...values: number[]) => new Uint8Array(Uint32Array.from(values).buffer);
const u64 = (value: number) => u32(value % 2 ** 32, Math.floor(value / 2 ** 32));
const padded = (length: number) => Math.ceil(length / 64) * 64;

/** 32-bit FNV-1a. */
const hash = (name: string) => utf8(name).reduce((sum, byte) => Math.imul(sum ^ byte, 0x0100_0193) >>> 0, 0x811c_9dc5);

/** The tensors of a safetensors file, in a module's folder after its path. */
function tensors(path: string, prefix = ""): Tensor[] {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE());
  const header = JSON.parse(file.toString("utf8", 8, start)) as Record<string, { shape: number[]; data_offsets: [number, number] }>;
  return Object.entries(header).filter(([name]) => name !== "__metadata__").map(([name, { shape, data_offsets: [from, to] }]) =>
    ({ name: prefix + name, type: 0, shape, bytes: file.subarray(start + from, start + to) }));
}

/**
 * The model in the folder `name`, or at a path, whose tokenizer is WordPiece, and a tensor of so many bytes that it does not use.
 * `change` may change texts.
 */
export function weightsOf(name: string, unusedBytes = 1, change = (_path: string, text: string): string => text): Uint8Array<ArrayBuffer> {
  const folder = resolve(models, name);
  const texts = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".json") && !/expected|tokenizer\.json|special/.test(path))
    .map((path): [string, Uint8Array] => [path, utf8(change(path, readFileSync(join(folder, path), "utf8")))]);
  const tokenizer = JSON.parse(readFileSync(join(folder, "tokenizer.json"), "utf8")) as { model: { vocab: Record<string, number> } };
  const tokens = Object.entries(tokenizer.model.vocab).sort(([, a], [, b]) => a - b).map(([token]) => utf8(token));
  const special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((token) => tokenizer.model.vocab[token] ?? 0);
  tokenizer.model.vocab = { count: tokens.length, ids: tokens.length };
  const settings = utf8(JSON.stringify(tokenizer));
  const all = [
    ...readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => /(^|\/)model\.safetensors$/.test(path))
      .flatMap((path) => tensors(join(folder, path), path.slice(0, -"model.safetensors".length))), { name: "tokenizer.json", type: 8, shape: [settings.length], bytes: settings },
    { name: "unused", type: 8, shape: [unusedBytes], bytes: new Uint8Array(unusedBytes) },
  ];

  const metadata = Buffer.concat(texts.flatMap(([path, text]) => [u16(utf8(path).length, text.length), utf8(path), text]));
  const entries = Buffer.concat(tokens.flatMap((token) => [u16(token.length), token]));
  const vocabularyAt = 64 + 8 + metadata.length;
  const indexAt = vocabularyAt + 12 + entries.length + 20;
  let end = 0;
  const places = all.map(({ bytes }) => {
    const place = padded(end);
    end = place + bytes.length;
    return place;
  });
  const index = Buffer.concat([
    ...all.flatMap(({ name, type, shape }, at) => [
      u32(hash(name)), Uint8Array.of(type, shape.length), u16(utf8(name).length), u32(...Array.from({ length: 4 }, (_, axis) => shape[axis] ?? 0)), u64(places[at]!),
    ]),
    ...all.map(({ name }) => utf8(name)),
  ]);
  const dataAt = padded(indexAt + index.length);
  const file = Buffer.alloc(dataAt + end + 16);
  // Version 1.0, with a vocabulary and places at multiples of 64, without checksums.
  file.set(Buffer.concat([
    utf8("EMBD"), u16(1, 0), u32(3, 64, 8 + metadata.length, vocabularyAt, indexAt - vocabularyAt, indexAt, all.length, dataAt), u64(end),
    u64(file.length),
  ]));
  file.set(Buffer.concat([u32(texts.length, metadata.length), metadata]), 64);
  file.set(Buffer.concat([u32(tokens.length, entries.length, indexAt - 20), entries, u32(...special)]), vocabularyAt);
  file.set(index, indexAt);
  all.forEach(({ bytes }, at) => file.set(bytes, dataAt + places[at]!));
  file.set(utf8("DBME"), file.length - 8);
  return Uint8Array.from(file);
}
