// Vectors in 8 bits, in WebAssembly's memory, and the search among them.
import { coded, kthLargest, Scanner } from "./scan.js";

/** Rows that lie together: memory grows by so many. */
const BLOCK = 1024;

/** A row and what it scores. */
export interface RowHit {
  row: number;
  score: number;
}

/** The rows of one index. */
export class Rows {
  readonly #dims: number;
  /** Bytes of a row's bits, 0 if the search is not by bits first. */
  readonly #bitBytes: number;
  readonly #scanner = new Scanner();
  readonly #query: number;
  readonly #bits: number;
  readonly #sums: number;
  /** Where the codes of each block begin; after them its bits. */
  readonly #blocks: number[] = [];
  #scales = new Float32Array(BLOCK);
  #count = 0;
  /** How many rows are not removed. */
  live = 0;

  constructor(dims: number, isBinary: boolean) {
    this.#dims = dims;
    this.#bitBytes = isBinary ? Math.ceil(dims / 8) : 0;
    this.#query = this.#scanner.reserve(2 * dims);
    this.#bits = this.#scanner.reserve(this.#bitBytes);
    this.#sums = this.#scanner.reserve(4 * BLOCK);
  }

  /** Rows with those that were removed. */
  get count(): number {
    return this.#count;
  }

  /** The memory that they take. */
  get bytes(): number {
    return this.#scanner.buffer.byteLength + this.#scales.byteLength;
  }

  /** Adds rows, and gives the number of the first. */
  add(codes: Int8Array, scales: Float32Array): number {
    const [first, dims] = [this.#count, this.#dims];
    const end = first + scales.length;
    while (this.#blocks.length * BLOCK < end) this.#blocks.push(this.#scanner.reserve(BLOCK * (dims + this.#bitBytes)));
    if (end > this.#scales.length) {
      const longer = new Float32Array(Math.max(end, 2 * this.#scales.length));
      longer.set(this.#scales);
      this.#scales = longer;
    }
    this.#scales.set(scales, first);
    for (let row = first; row < end; row = (Math.floor(row / BLOCK) + 1) * BLOCK) {
      const most = Math.min(end, (Math.floor(row / BLOCK) + 1) * BLOCK);
      const part = codes.subarray((row - first) * dims, (most - first) * dims);
      this.codesOf(row, most - row).set(part);
      if (this.#bitBytes > 0) this.#addBits(row, most - row, part);
    }
    this.#count = end;
    this.live += scales.length;
    return first;
  }

  /** A row is found no more. */
  remove(row: number): void {
    this.live -= Number(!Number.isNaN(this.#scales[row]));
    this.#scales[row] = Number.NaN;
  }

  /** The codes of rows of one block, to be used before rows are added. */
  codesOf(row: number, count: number): Int8Array {
    return new Int8Array(this.#scanner.buffer, this.#codesAt(row), count * this.#dims);
  }

  /** What codes of a row are worth. */
  scaleOf(row: number): number {
    return this.#scales[row]!;
  }

  /** The `k` best rows of those that are allowed, the best first. */
  search(query: Float32Array, k: number, allowed: (row: number) => boolean): RowHit[] {
    const unit = this.#put(query);
    if (unit === undefined || k < 1) return [];
    const best = new Best(k, allowed);
    const rows = this.#bitBytes > 0 ? this.#nearby(query, k, allowed) : undefined;
    if (rows) {
      for (const row of rows) this.#score(row, 1, unit, this.#codesAt(row), best);
    } else {
      this.#eachBlock((codes, count, first) => this.#score(first, count, unit, codes, best));
    }
    return best.hits();
  }

  /** What some rows score. */
  scores(query: Float32Array, rows: readonly number[]): number[] {
    const unit = this.#put(query);
    const score = (row: number) => {
      let found = Number.NaN;
      if (unit !== undefined) this.#score(row, 1, unit, this.#codesAt(row), { see: (_, score) => (found = score) });
      return found;
    };
    return rows.map(score);
  }

  /** Puts a query where it is compared with rows, and gives what its codes are worth. */
  #put(query: Float32Array): number | undefined {
    const small = coded(query);
    if (small) new Int16Array(this.#scanner.buffer, this.#query, this.#dims).set(small.codes);
    return small?.unit;
  }

  #score(first: number, count: number, unit: number, codes: number, to: Pick<Best, "see">): void {
    this.#scanner.dotRows(this.#query, this.#dims, codes, count, this.#sums);
    const sums = new Int32Array(this.#scanner.buffer, this.#sums, count);
    for (let at = 0; at < count; at += 1) to.see(first + at, sums[at]! * unit * this.#scales[first + at]!);
  }

  /** Some more rows than wanted whose signs are most like the query's; `undefined` if there are hardly more in all. */
  #nearby(query: Float32Array, k: number, allowed: (row: number) => boolean): number[] | undefined {
    const wanted = Math.max(LEAST_NEARBY, NEARBY * k);
    if (2 * wanted >= this.live) return undefined;
    putBits(query, 0, this.#dims, new Uint8Array(this.#scanner.buffer), this.#bits);
    const likeness = new Float64Array(this.#count).fill(Number.NaN);
    this.#eachBlock((codes, count, first) => {
      this.#scanner.differingBits(this.#bits, this.#bitBytes, codes + BLOCK * this.#dims, count, this.#sums);
      const sums = new Int32Array(this.#scanner.buffer, this.#sums, count);
      for (let row = first; row < first + count; row += 1) {
        if (!Number.isNaN(this.#scales[row]) && allowed(row)) likeness[row] = -sums[row - first]!;
      }
    });
    const bar = kthLargest(likeness, wanted);
    const found: number[] = [];
    for (let row = 0; row < this.#count; row += 1) if (likeness[row]! >= bar) found.push(row);
    return found;
  }

  #eachBlock(run: (codes: number, count: number, first: number) => void): void {
    for (let block = 0; block * BLOCK < this.#count; block += 1) {
      run(this.#blocks[block]!, Math.min(BLOCK, this.#count - block * BLOCK), block * BLOCK);
    }
  }

  #codesAt(row: number): number {
    return this.#blocks[Math.floor(row / BLOCK)]! + (row % BLOCK) * this.#dims;
  }

  #addBits(row: number, count: number, codes: Int8Array): void {
    const at = this.#blocks[Math.floor(row / BLOCK)]! + BLOCK * this.#dims + (row % BLOCK) * this.#bitBytes;
    const to = new Uint8Array(this.#scanner.buffer);
    for (let each = 0; each < count; each += 1) putBits(codes, each * this.#dims, this.#dims, to, at + each * this.#bitBytes);
  }
}

/** How many rows are looked at in 8 bits for each that is wanted, and at least. */
const NEARBY = 10;
const LEAST_NEARBY = 200;

/** Puts a bit for each of `dims` elements from `first` on, 1 where it is above 0, at a place in `to`. */
function putBits(vector: ArrayLike<number>, first: number, dims: number, to: Uint8Array, place: number): void {
  for (let at = 0; at < dims; at += 8) {
    let byte = 0;
    const end = Math.min(8, dims - at);
    for (let bit = 0; bit < end; bit += 1) byte |= Number(vector[first + at + bit]! > 0) << (7 - bit);
    to[place + at / 8] = byte;
  }
}

/** The best rows so far. */
class Best {
  readonly #k: number;
  readonly #allowed: (row: number) => boolean;
  #held: RowHit[] = [];
  #bar = -Infinity;

  constructor(k: number, allowed: (row: number) => boolean) {
    this.#k = k;
    this.#allowed = allowed;
  }

  /** What is no number is no hit. */
  see(row: number, score: number): void {
    if (!(score > this.#bar) || !this.#allowed(row)) return;
    this.#held.push({ row, score });
    if (this.#held.length >= 2 * this.#k + 64) this.#bar = this.hits().at(-1)!.score;
  }

  /** The best first; among equals the one that was there before. */
  hits(): RowHit[] {
    this.#held.sort((a, b) => b.score - a.score || a.row - b.row);
    this.#held.length = Math.min(this.#held.length, this.#k);
    return this.#held;
  }
}
