// What an index keeps: documents, their passages' vectors, and which documents are gone, in one run of bytes.
//
// | offset | bytes | |
// |---|---|---|
// | 0 | 4 | `NEIX` |
// | 4 | 4 | version, 1 |
// | 8 | 4 | bytes of the JSON, a multiple of 4 |
// | 12 | 4 | passages |
// | 16 | 4 | elements of a vector |
// | 20 | 4 | FNV-1a over all other 32-bit words after the first |
// | 24 | | JSON: `model`, `removed`, `documents`, spaces at its end |
// | | 4 a passage | scales, f32 |
// | | 1 an element | codes, i8; zeros make the file's size a multiple of 4 |
//
// Numbers are little-endian, as WebAssembly's and every browser's are. Passages are those of the documents, in order.
import { NanoembedError } from "./errors.js";
import type { Place } from "./passages.js";
import { reading, writing } from "./segment-json.js";
import { atOnce, type Work } from "./slices.js";

/** A document without its vectors. */
export interface StoredDocument {
  id: string;
  passages: readonly Place[];
  text?: string;
  metadata?: unknown;
}

/** What tells vectors of one model from those of another. */
export interface ModelMark {
  name: string;
  dims: number;
  /** The first elements of a certain text's vector. */
  probe: number[];
}

export interface Segment {
  model: ModelMark;
  /** Documents that are gone: those before this segment. */
  removed: string[];
  documents: StoredDocument[];
  scales: Float32Array;
  codes: Int8Array;
}

const MAGIC = 0x5849_454e;
const VERSION = 1;
const HEADER = 24;

const failure = (code: string, offset: number, message: string) => new NanoembedError(code, `byte ${offset}: ${message}`, { offset });

/** So many words, bytes, or documents are dealt with together. */
const PART_WORDS = 1 << 20;
const PART_BYTES = 1 << 22;
const PART_DOCUMENTS = 1024;

/** FNV-1a, a word at a time. */
function* checksum(words: Uint32Array): Work<number> {
  let hash = 0x811c_9dc5;
  for (let from = 0; from < words.length; from += PART_WORDS) {
    const end = Math.min(words.length, from + PART_WORDS);
    for (let at = Math.max(1, from); at < end; at += 1) if (at !== 5) hash = Math.imul(hash ^ words[at]!, 0x0100_0193);
    yield;
  }
  return hash >>> 0;
}

export const encodeSegment = (segment: Segment): Uint8Array<ArrayBuffer> => atOnce(encoding(segment));

/** The bytes of a segment. */
export function* encoding({ model, removed, documents, scales, codes }: Segment): Work<Uint8Array<ArrayBuffer>> {
  const parts = yield* writing({ model, removed }, documents);
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const json = (length + 3) & ~3;
  const at = HEADER + json;
  const bytes = new Uint8Array((at + 4 * scales.length + codes.length + 3) & ~3);
  yield* copying(parts, bytes, HEADER);
  bytes.fill(32, HEADER + length, at);
  const vectors = [scales, codes].map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength));
  yield* copying(vectors, bytes, at);
  const words = new Uint32Array(bytes.buffer);
  words.set([MAGIC, VERSION, json, scales.length, model.dims]);
  words[5] = yield* checksum(words);
  return bytes;
}

/** Copies some runs of bytes one after the other. */
function* copying(parts: readonly Uint8Array[], to: Uint8Array, place: number): Work<void> {
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PART_BYTES) {
      to.set(part.subarray(at, at + PART_BYTES), place + at);
      yield;
    }
    place += part.length;
  }
}

export const decodeSegment = (given: Uint8Array): Segment => atOnce(decoding(given));

/**
 * @throws NanoembedError `unknown_format`, `unsupported_version`, `unexpected_end`, `misaligned`, `trailing_bytes`, `data_checksum`,
 * `bad_json`, `bad_field`, `bad_count`, `bad_scale`
 */
export function* decoding(given: Uint8Array): Work<Segment> {
  // Words begin at multiples of four.
  const bytes = given.byteOffset % 4 === 0 ? given : given.slice();
  if (bytes.length < 4 || new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true) !== MAGIC) {
    throw failure("unknown_format", 0, "this is no index that nanoembed wrote");
  }
  if (bytes.length < HEADER) throw failure("unexpected_end", bytes.length, "the index ends within its header");
  const [, version, json, count, dims, sum] = new Uint32Array(bytes.buffer, bytes.byteOffset, HEADER / 4) as unknown as number[];
  if (version !== VERSION) throw failure("unsupported_version", 4, `the index has version ${version}; version ${VERSION} is read here`);
  const codesAt = HEADER + json! + 4 * count!;
  // Exact: below 2^53 for all numbers that there may be.
  const end = codesAt + count! * dims!;
  const size = end + ((4 - (end % 4)) % 4);
  if (json! % 4 !== 0) throw failure("misaligned", 8, "the length of the JSON is no multiple of 4");
  if (bytes.length < size) throw failure("unexpected_end", bytes.length, `the index ends where ${size} bytes should be`);
  if (bytes.length > size) throw failure("trailing_bytes", size, "the index has more bytes than it says");
  if ((yield* checksum(new Uint32Array(bytes.buffer, bytes.byteOffset, size / 4))) !== sum) {
    throw failure("data_checksum", 20, "the index is damaged: its checksum is another");
  }
  const { model, removed, documents } = yield* parsed(bytes.subarray(HEADER, HEADER + json!), count!, dims!);
  const scales = new Float32Array(bytes.buffer, bytes.byteOffset + HEADER + json!, count);
  const bad = scales.findIndex((scale) => !Number.isFinite(scale));
  if (bad >= 0) throw failure("bad_scale", HEADER + json! + 4 * bad, "a scale is no finite number");
  const codes = new Int8Array(bytes.buffer, bytes.byteOffset + codesAt, count! * dims!);
  return { model, removed, documents, scales, codes };
}

/** What the JSON says, if all of it is what it should be. */
function* parsed(text: Uint8Array, count: number, dims: number): Work<Pick<Segment, "model" | "removed" | "documents">> {
  let read: Partial<Segment> | undefined;
  try {
    read = (yield* reading(new TextDecoder("utf-8", { fatal: true }).decode(text))) as Partial<Segment>;
  } catch (cause) {
    throw failure("bad_json", HEADER, `the index's JSON cannot be read: ${String(cause)}`);
  }
  const { model, removed, documents } = read ?? {};
  if (!isMark(model) || model.dims !== dims) throw failure("bad_field", HEADER, "the index does not say of which model it is");
  if (!Array.isArray(removed) || !removed.every((id) => typeof id === "string")) {
    throw failure("bad_field", HEADER, "removed is no array of strings");
  }
  if (!Array.isArray(documents)) throw failure("bad_field", HEADER, "documents is no array");
  const seen = new Set<string>();
  let passages = 0;
  for (const [at, document] of documents.entries()) {
    if (!isDocument(document) || seen.has(document.id)) throw failure("bad_field", HEADER, `document ${at} is not as it should be`);
    seen.add(document.id);
    passages += document.passages.length;
    if (at % PART_DOCUMENTS === 0) yield;
  }
  if (passages !== count) throw failure("bad_count", HEADER, `there are ${count} vectors of ${passages} passages`);
  return { model, removed, documents };
}

function isMark(value: unknown): value is ModelMark {
  const { name, dims, probe } = (value ?? {}) as Partial<ModelMark>;
  return typeof name === "string" && Number.isInteger(dims) && dims! > 0 && Array.isArray(probe) && probe.every((x) => typeof x === "number");
}

function isDocument(value: unknown): value is StoredDocument {
  const { id, text, passages } = (value ?? {}) as Partial<StoredDocument>;
  if (typeof id !== "string" || !["string", "undefined"].includes(typeof text) || !Array.isArray(passages)) return false;
  const most = text?.length ?? Number.MAX_SAFE_INTEGER;
  return passages.every((place: unknown) =>
    Array.isArray(place) && place.length === 2 && place.every(Number.isInteger) && place[0] >= 0 && place[0] <= place[1] && place[1] <= most);
}
