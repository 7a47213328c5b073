// What an index keeps: documents, their passages' vectors, and which documents are gone, in one run of bytes.
//
// | offset | bytes | |
// |---|---|---|
// | 0 | 4 | `NEIX` |
// | 4 | 4 | version, 1 |
// | 8 | 4 | bytes of the JSON, a multiple of 4 |
// | 12 | 4 | passages |
// | 16 | 4 | elements of a vector |
// | 20 | 4 | FNV-1a over all other 32-bit words behind the first |
// | 24 | | JSON: `model`, `removed`, `documents`, spaces at its end |
// | | 4 a passage | scales, f32 |
// | | 1 an element | codes, i8; zeros make the file's size a multiple of 4 |
//
// Numbers are little-endian, as WebAssembly's and every browser's are. Passages are those of the documents, in order.
import { NanoembedError } from "./errors.js";
import type { Place } from "./passages.js";

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

/** FNV-1a, a word at a time. */
function checksum(words: Uint32Array): number {
  let hash = 0x811c_9dc5;
  for (let at = 1; at < words.length; at += 1) if (at !== 5) hash = Math.imul(hash ^ words[at]!, 0x0100_0193);
  return hash >>> 0;
}

export function encodeSegment({ model, removed, documents, scales, codes }: Segment): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(JSON.stringify({ model, removed, documents }));
  const json = (text.length + 3) & ~3;
  const at = HEADER + json;
  const bytes = new Uint8Array((at + 4 * scales.length + codes.length + 3) & ~3);
  bytes.set(text, HEADER);
  bytes.fill(32, HEADER + text.length, at);
  bytes.set(new Uint8Array(scales.buffer, scales.byteOffset, scales.byteLength), at);
  bytes.set(new Uint8Array(codes.buffer, codes.byteOffset, codes.byteLength), at + 4 * scales.length);
  const words = new Uint32Array(bytes.buffer);
  words.set([MAGIC, VERSION, json, scales.length, model.dims]);
  words[5] = checksum(words);
  return bytes;
}

/**
 * @throws NanoembedError `unknown_format`, `unsupported_version`, `unexpected_end`, `misaligned`, `trailing_bytes`, `data_checksum`,
 * `bad_json`, `bad_field`, `bad_count`, `bad_scale`
 */
export function decodeSegment(given: Uint8Array): Segment {
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
  if (checksum(new Uint32Array(bytes.buffer, bytes.byteOffset, size / 4)) !== sum) {
    throw failure("data_checksum", 20, "the index is damaged: its checksum is another");
  }
  const { model, removed, documents } = parsed(bytes.subarray(HEADER, HEADER + json!), count!, dims!);
  const scales = new Float32Array(bytes.buffer, bytes.byteOffset + HEADER + json!, count);
  const bad = scales.findIndex((scale) => !Number.isFinite(scale));
  if (bad >= 0) throw failure("bad_scale", HEADER + json! + 4 * bad, "a scale is no finite number");
  const codes = new Int8Array(bytes.buffer, bytes.byteOffset + codesAt, count! * dims!);
  return { model, removed, documents, scales, codes };
}

/** What the JSON says, if all of it is what it should be. */
function parsed(text: Uint8Array, count: number, dims: number): Pick<Segment, "model" | "removed" | "documents"> {
  let read: Partial<Segment> | undefined;
  try {
    read = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(text)) as Partial<Segment>;
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

/** One segment that says what several say, one after the other. `isFirst`: nothing comes before them. */
export function mergeSegments(segments: readonly Segment[], isFirst: boolean): Segment {
  const removed = new Set<string>();
  const kept = new Map<string, { document: StoredDocument; from: Segment; row: number }>();
  for (const from of segments) {
    for (const id of from.removed) {
      kept.delete(id);
      removed.add(id);
    }
    let row = 0;
    for (const document of from.documents) {
      kept.set(document.id, { document, from, row });
      row += document.passages.length;
    }
  }
  const { model } = segments.at(-1)!;
  const documents = [...kept.values()].map(({ document }) => document);
  const count = documents.reduce((sum, { passages }) => sum + passages.length, 0);
  const scales = new Float32Array(count);
  const codes = new Int8Array(count * model.dims);
  let to = 0;
  for (const { document, from, row } of kept.values()) {
    const end = row + document.passages.length;
    scales.set(from.scales.subarray(row, end), to);
    codes.set(from.codes.subarray(row * model.dims, end * model.dims), to * model.dims);
    to += document.passages.length;
  }
  return { model, removed: isFirst ? [] : [...removed], documents, scales, codes };
}
