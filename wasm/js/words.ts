/// <reference lib="esnext.disposable" preserve="true" />
import { Purpose, type Engine, type Glue, type PartsReader, type Reader } from "./engine.js";
import { NanoembedError, check, checkNames, guarded } from "./errors.js";
import { disposeSymbol } from "./dispose.js";
import { parts, readIndex, type Parts } from "./parts.js";
import type { Platform } from "./platform.js";
import { FETCH, located, unlessAborted, type FetchOptions, type Source } from "./source.js";
import { checkCount } from "./vectors.js";

/** The vector of a word. */
export interface WordVector {
  /** Of length 1, unless the file has it otherwise. */
  vector: Float32Array;
  /** The length that the vector had before it was normalised. */
  norm: number;
  /** Whether the word is in the vocabulary; otherwise its vector is made of those of its n-grams. */
  known: boolean;
  /** How many rows of n-grams the vector is made of; 0 for a known word. */
  subwords: number;
}

/** A word near another. */
export interface Neighbour {
  word: string;
  /** The cosine similarity. */
  score: number;
}

export interface SearchOptions {
  /** How many words are wanted. Default 10. */
  k?: number;
  signal?: Platform<"AbortSignal">;
  /** Is told how many of the rows were searched. */
  onProgress?: (progress: { searched: number; total: number }) => void;
}

export interface WordOptions extends FetchOptions {
  /** What to do with words that stand in the vocabulary twice: refuse the file, or find the first. Default `error`. */
  duplicates?: "error" | "first";
}

/** Word vectors, in memory or in a file that stays where it is. */
export interface WordVectors {
  readonly kind: "words";
  /** Elements of a vector. */
  readonly dims: number;
  /** How many words there are. */
  readonly count: number;
  /** How words that are missing are spelled by n-grams: `simple` (not at all), `bucket`, `fasttext`, `explicit`, `floret`. */
  readonly subwords: string;

  /** The vector of a word, its own or made of its n-grams'; `undefined` if there is neither. */
  vector(word: string, options?: { signal?: Platform<"AbortSignal"> }): Promise<WordVector | undefined>;
  /** The words nearest to a word (which is left out) or a vector. Of a file that stays where it is, all rows are read. */
  similar(query: string | Float32Array, options?: SearchOptions): Promise<Neighbour[]>;
  /** What `c` is to as `b` is to `a`: king, man, woman gives queen for `analogy("man", "king", "woman")`. */
  analogy(a: string, b: string, c: string, options?: SearchOptions): Promise<Neighbour[]>;
  /** The word of a row, in the order of the file. */
  word(row: number): Promise<string>;
  /** Frees everything. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** What a module has of word vectors. */
export interface WordModule {
  dims(): number;
  count(): number;
  subwords(): string;
  word(row: number): string;
  missing(word: string): Float64Array;
  essentials(): Float64Array;
  hold(offset: number, bytes: Uint8Array): void;
  insert(offset: number, bytes: Uint8Array): void;
  vector(word: string): Float32Array | undefined;
  row(): number;
  parts(): number;
  norm(): number;
  begin_search(query: Float32Array, count: number, skip: Uint32Array): void;
  rows_at(): Float64Array;
  search(first: number, end: number): void;
  best_rows(): Uint32Array;
  best_scores(): Float32Array;
  analogy(a: string, b: string, c: string): Float32Array | undefined;
  analogy_rows(): Uint32Array;
  free(): void;
}

export interface WordGlue extends Glue {
  Reader: new (purpose: number, strict: boolean, length: number) => PartsReader;
  WordVectors: new (reader: Reader, seed: number, takesFirst: boolean) => WordModule;
}

/** Rows that are read at a time when a file that stays where it is is searched, in bytes. */
const SEARCH_BYTES = 1 << 20;
const wordFormat = () => "finalfusion";
/** Ranges that are nearer to each other than this are read as one. */
const GAP_BYTES = 4096;

class LocalWords implements WordVectors {
  readonly kind = "words";
  readonly dims: number;
  readonly count: number;
  readonly subwords: string;
  #words: WordModule | undefined;
  #file: Parts | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(words: WordModule, file?: Parts) {
    this.#words = words;
    this.#file = file;
    this.dims = words.dims();
    this.count = words.count();
    this.subwords = words.subwords();
  }

  #open(): WordModule {
    if (!this.#words) throw new NanoembedError("disposed", "the word vectors were disposed of");
    return this.#words;
  }

  /** One call after the other: what one has read must not be dropped for another before it is used. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(run);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  vector(word: string, options: { signal?: AbortSignal } = {}): Promise<WordVector | undefined> {
    return this.#inTurn(() => {
      checkNames<"signal">(options, { signal: true });
      return this.#vector(word, options.signal);
    });
  }

  async #vector(word: string, signal?: AbortSignal): Promise<WordVector | undefined> {
    await this.#fetch(word, signal);
    const words = this.#open();
    return guarded(() => {
      const vector = words.vector(word);
      return vector && { vector, norm: words.norm(), known: words.row() >= 0, subwords: words.parts() };
    }, wordFormat);
  }

  /** Reads what the vector of a word needs. */
  async #fetch(word: string, signal?: AbortSignal): Promise<void> {
    check(typeof word === "string", "a word must be a string");
    signal?.throwIfAborted();
    const ranges = guarded(() => this.#open().missing(word), wordFormat);
    await this.#read(ranges, signal, (offset, bytes) => this.#open().insert(offset, bytes));
  }

  async #read(
    ranges: Float64Array,
    signal: AbortSignal | undefined,
    take: (offset: number, bytes: Uint8Array) => void,
  ): Promise<void> {
    const file = this.#file;
    if (!file || ranges.length === 0) return;
    await Promise.all(
      joined(ranges).map(async ({ offset, end }) => {
        const bytes = await exactly(file, offset, end - offset, signal);
        take(offset, bytes);
      }),
    );
  }

  /** Reads what every row needs. */
  async prepare(signal?: AbortSignal): Promise<this> {
    const words = this.#open();
    await this.#read(words.essentials(), signal, (offset, bytes) => words.hold(offset, bytes));
    return this;
  }

  similar(query: string | Float32Array, options: SearchOptions = {}): Promise<Neighbour[]> {
    return this.#inTurn(async () => {
      checkSearch(options);
      if (typeof query !== "string") return this.#search(unit(query), new Uint32Array(), options);
      const found = await this.#vector(query, options.signal);
      if (!found) return [];
      const row = this.#open().row();
      return this.#search(found.vector, Uint32Array.of(...(row >= 0 ? [row] : [])), options);
    });
  }

  analogy(a: string, b: string, c: string, options: SearchOptions = {}): Promise<Neighbour[]> {
    return this.#inTurn(async () => {
      checkSearch(options);
      for (const word of [a, b, c]) await this.#fetch(word, options.signal);
      const words = this.#open();
      const query = guarded(() => words.analogy(a, b, c), wordFormat);
      return query ? this.#search(query, words.analogy_rows(), options) : [];
    });
  }

  async #search(query: Float32Array, skip: Uint32Array, options: SearchOptions): Promise<Neighbour[]> {
    const { k = 10, signal, onProgress } = options;
    const words = this.#open();
    guarded(() => words.begin_search(query, Math.min(k, this.count), skip), wordFormat);
    const tables = words.rows_at();
    const rowBytes = this.#file ? tables[1]! : this.dims * 4;
    const step = Math.max(1, Math.floor(SEARCH_BYTES / Math.max(1, rowBytes)) * (this.#file ? 1 : 16));
    for (let first = 0; first < this.count; first += step) {
      const end = Math.min(this.count, first + step);
      if (this.#file) {
        const ranges: number[] = [];
        for (let at = 0; at < tables.length; at += 2) {
          ranges.push(tables[at]! + first * tables[at + 1]!, (end - first) * tables[at + 1]!);
        }
        await this.#read(Float64Array.from(ranges), signal, (offset, bytes) => this.#open().insert(offset, bytes));
      } else if (first > 0) {
        await new Promise((resolve) => setTimeout(resolve));
      }
      signal?.throwIfAborted();
      guarded(() => this.#open().search(first, end), wordFormat);
      onProgress?.({ searched: end, total: this.count });
    }
    this.#open();
    const scores = words.best_scores();
    return Array.from(words.best_rows(), (row, at) => ({ word: words.word(row), score: scores[at]! }));
  }

  async word(row: number): Promise<string> {
    check(Number.isInteger(row) && row >= 0 && row < this.count, `row must be 0 to ${this.count - 1}`);
    return guarded(() => this.#open().word(row), wordFormat);
  }

  dispose(): void {
    this.#words?.free();
    this.#words = undefined;
    this.#file?.close();
    this.#file = undefined;
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}

function checkSearch(options: SearchOptions): void {
  const { k = 0 } = options;
  checkNames<keyof SearchOptions>(options, { k: true, signal: true, onProgress: true });
  checkCount(k);
}

/** Ranges, sorted, with neighbours put together. */
function joined(ranges: Float64Array): { offset: number; end: number }[] {
  const sorted: { offset: number; end: number }[] = [];
  for (let at = 0; at < ranges.length; at += 2) {
    sorted.push({ offset: ranges[at]!, end: ranges[at]! + ranges[at + 1]! });
  }
  sorted.sort((a, b) => a.offset - b.offset);
  const result: { offset: number; end: number }[] = [];
  for (const range of sorted) {
    const last = result[result.length - 1];
    if (last && range.offset <= last.end + GAP_BYTES) last.end = Math.max(last.end, range.end);
    else result.push(range);
  }
  return result;
}

async function exactly(file: Parts, offset: number, bytes: number, signal?: AbortSignal): Promise<Uint8Array> {
  const read = await file.read(offset, bytes, signal);
  if (read.length !== bytes) {
    throw new NanoembedError("source_changed", "the file is shorter than it was", { offset, format: "finalfusion" });
  }
  return read;
}

/** Opens word vectors in a file that stays where it is: header and vocabulary are read, vectors when they are asked for. */
export async function openWith(engine: Engine<WordGlue>, source: Source, options: WordOptions = {}): Promise<WordVectors> {
  checkNames<keyof WordOptions>(options, { ...FETCH, duplicates: true });
  await unlessAborted(engine.ready(), options.signal);
  let file: Parts | undefined;
  let reader: PartsReader | undefined;
  try {
    file = await parts(source, options);
    reader = new engine.glue.Reader(Purpose.Open, false, file.size ?? -1);
    await readIndex(engine, reader, file, options.signal);
    const whole = reader;
    reader = undefined;
    const words = makeWords(engine, whole, options);
    const local = new LocalWords(words, file);
    try {
      return await local.prepare(options.signal);
    } catch (error) {
      local.dispose();
      throw error;
    }
  } catch (error) {
    reader?.free();
    file?.close();
    throw located(error, source);
  }
}

/** The same direction, of length 1. */
function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((value) => value / length) : vector;
}

/** Word vectors in memory, of what a reader has read. */
export const loadWords = (engine: Engine<WordGlue>, reader: Reader, options: WordOptions): WordVectors =>
  new LocalWords(makeWords(engine, reader, options));

function makeWords(engine: Engine<WordGlue>, reader: Reader, options: WordOptions): WordModule {
  const seed = new Float64Array(1);
  globalThis.crypto?.getRandomValues(new Uint8Array(seed.buffer));
  const { WordVectors } = engine.glue;
  return guarded(() => new WordVectors(reader, seed[0]!, options.duplicates === "first"), wordFormat);
}
