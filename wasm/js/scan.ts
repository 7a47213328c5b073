// Search among vectors of few bits, in WebAssembly: a module of a kilobyte, which is part of this file.
import base64 from "./generated/scan.js";
import type { QuantizedVectors } from "./vectors.js";

interface Exports {
  memory: WebAssembly.Memory;
  /** Where the memory begins that is the caller's. */
  __heap_base: WebAssembly.Global<"i32">;
  dot_rows(query: number, dims: number, rows: number, count: number, out: number): void;
  differing_bits(query: number, bytes: number, rows: number, count: number, out: number): void;
}

/** What a query's codes may add up to: no sum of products with signed bytes leaves 32 bits then. */
const MOST_QUERY = 2 ** 24 - 1;

/** A query in 16 bits an element: element `i` is `codes[i] * unit`, with an error of half a unit at most. */
export interface CodedQuery {
  codes: Int16Array;
  unit: number;
}

/** `undefined` if an element is no finite number. */
export function coded(query: ArrayLike<number>): CodedQuery | undefined {
  let largest = 0;
  let sum = 0;
  for (let i = 0; i < query.length; i += 1) {
    largest = Math.max(largest, Math.abs(query[i]!));
    sum += Math.abs(query[i]!);
  }
  // Rounding adds half a unit an element.
  const unit = Math.max(largest / 32767, sum / (MOST_QUERY - query.length)) || 1;
  if (!Number.isFinite(sum) || query.length >= MOST_QUERY) return undefined;
  return { codes: Int16Array.from(query, (value) => Math.round(value / unit)), unit };
}

let compiled: WebAssembly.Module | undefined;

/** A memory, and what compares a query with rows that lie in it. */
export class Scanner {
  readonly #exports: Exports;
  #end: number;

  constructor() {
    compiled ??= new WebAssembly.Module(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
    this.#exports = new WebAssembly.Instance(compiled).exports as unknown as Exports;
    this.#end = this.#exports.__heap_base.value;
  }

  /** Where there is room for so many bytes from now on; views that were made before are of no use afterwards. */
  reserve(bytes: number): number {
    const start = (this.#end + 15) & ~15;
    this.#end = start + bytes;
    const { memory } = this.#exports;
    const missing = this.#end - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65536));
    return start;
  }

  /** The memory as it is now. */
  get buffer(): ArrayBuffer {
    return this.#exports.memory.buffer;
  }

  /** Puts `Σ query · row` at `out` for each row of signed bytes. */
  dotRows(query: number, dims: number, rows: number, count: number, out: number): void {
    this.#exports.dot_rows(query, dims, rows, count, out);
  }

  /** Puts at `out` how many bits of each row differ from the query's. */
  differingBits(query: number, bytes: number, rows: number, count: number, out: number): void {
    this.#exports.differing_bits(query, bytes, rows, count, out);
  }
}

/** As many bytes of rows are looked at in one go as stay in the CPU's cache. */
const ROOM = 1 << 17;

let shared: Scanner | undefined;
/** What lies in memory that is kept between calls: a query, rows, sums. It is made larger for rows that are long. */
let place = { room: 0, query: 0, rows: 0, out: 0 };

function scannerFor(rowBytes: number): Scanner {
  const scanner = (shared ??= new Scanner());
  const room = Math.max(ROOM, rowBytes);
  if (room > place.room) {
    // Sums of one-byte rows are four times as long as these.
    place = { room, query: scanner.reserve(2 * room), rows: scanner.reserve(room), out: scanner.reserve(4 * room) };
  }
  return scanner;
}

/** Gives the sums of all rows, part by part, with the number of the first. */
function scan(
  query: Int16Array | Uint8Array, data: Int8Array | Uint8Array, compare: "dotRows" | "differingBits",
  take: (sums: Int32Array, first: number) => void,
): void {
  const bytes = query.length;
  const scanner = scannerFor(bytes);
  const { room, query: queryAt, rows, out } = place;
  const given = new Uint8Array(query.buffer, query.byteOffset, query.byteLength);
  new Uint8Array(scanner.buffer).set(given, queryAt);
  const all = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const most = Math.floor(room / bytes);
  for (let first = 0; first * bytes < all.length; first += most) {
    const part = all.subarray(first * bytes, (first + most) * bytes);
    new Uint8Array(scanner.buffer, rows).set(part);
    const count = part.length / bytes;
    scanner[compare](queryAt, bytes, rows, count, out);
    take(new Int32Array(scanner.buffer, out, count), first);
  }
}

/** The `k`th largest of the numbers; −∞ if there are fewer. */
export function kthLargest(values: Float64Array, k: number): number {
  const best = new Float64Array(2 * k).fill(-Infinity);
  let bar = -Infinity;
  let held = 0;
  for (const value of values) {
    if (!(value > bar)) continue;
    best[held] = value;
    held += 1;
    if (held < best.length) continue;
    // The upper half is what stays.
    best.sort();
    best.copyWithin(0, k);
    best.fill(-Infinity, k);
    held = k;
    bar = best[0]!;
  }
  return best.sort()[k]!;
}

/**
 * Which of the vectors may be among the `k` best, and maybe some more, in their order: those whose exact scores have to be
 * looked at. `undefined` if all have to be. The query is one of numbers for `int8`, of bits for `binary`.
 */
export function candidates(query: ArrayLike<number>, vectors: QuantizedVectors, k: number): number[] | undefined {
  const { data, scales, kind } = vectors;
  const count = data.length / query.length;
  if (!(k >= 1 && 4 * k < count) || !Number.isInteger(count) || data.BYTES_PER_ELEMENT !== 1) return undefined;
  const values = new Float64Array(count);
  // How far a score may be from its value, for a scale of 1.
  let slack = 0;
  if (kind === "binary") {
    scan(query as Uint8Array, data, "differingBits", (sums, first) => sums.forEach((sum, at) => (values[first + at] = -sum)));
  } else {
    const small = coded(query);
    if (!small) return undefined;
    const { codes, unit } = small;
    // Half a unit for each element, times the largest code; and what rounding takes of sums in floats.
    slack = 64.001 * query.length * unit;
    scan(codes, data, "dotRows", (sums, first) => {
      for (let at = 0; at < sums.length; at += 1) values[first + at] = sums[at]! * unit * scales![first + at]!;
    });
  }
  const error = (index: number) => slack && slack * Math.abs(scales![index]!);
  const bar = kthLargest(slack ? values.map((value, index) => value - error(index)) : values, Math.ceil(k));
  const found: number[] = [];
  for (let index = 0; index < count; index += 1) {
    if (values[index]! + error(index) >= bar) found.push(index);
  }
  return found;
}

/** `candidates`, once it is known that modules can be compiled here. */
export function ready(): typeof candidates {
  shared = new Scanner();
  return candidates;
}
