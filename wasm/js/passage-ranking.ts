// Passages ranked by their words and by their meaning, as the command line ranks them: in WebAssembly, a module that is part of
// this file.
import { guarded } from "./errors.js";
import base64 from "./generated/ranking.js";
import type { RowHit, Rows } from "./index-rows.js";
import type { IndexSearchOptions } from "./indexed.js";
import type { ModelMark } from "./segment.js";
import type { Work } from "./slices.js";
import { similarity } from "./vectors.js";

interface Exports {
  memory: WebAssembly.Memory;
  ranking_new(): number;
  text_room(ranking: number, bytes: number): number;
  add_passage(ranking: number): void;
  leave_out_passage(ranking: number): void;
  remove_passage(ranking: number, passage: number): void;
  score_words(ranking: number): number;
  similarity_room(ranking: number): number;
  usual_weight(ranking: number, isBuiltIn: number): number;
  usual_depth(least: number): number;
  rank(ranking: number, by: number, weight: number, depth: number): number;
  hits(ranking: number): number;
}

/** The ways to find passages, as the module numbers them. */
const BY = { meaning: 1, words: 2, both: 3 };

/** What is looked for. */
export interface Question extends Required<Pick<IndexSearchOptions, "by" | "k">> {
  text: string;
  /** Its vector, unless passages are found by words alone. */
  vector: Float32Array | undefined;
  weight: number | undefined;
  /** The index's model. */
  mark: ModelMark;
}

export class PassageRanking {
  readonly #exports: Exports;
  readonly #ranking: number;
  /** How many passages there are, those that were removed included. */
  count = 0;

  constructor(module: WebAssembly.Module) {
    this.#exports = new WebAssembly.Instance(module).exports as unknown as Exports;
    this.#ranking = this.#exports.ranking_new();
  }

  /** Adds passages by what they say, until there are as many as rows; `undefined` is none that is found. */
  *adding(rows: Rows, textOf: (row: number) => string | undefined): Work<void> {
    while (this.count < rows.count) {
      const text = textOf(this.count);
      guarded(() => {
        if (text === undefined) return this.#exports.leave_out_passage(this.#ranking);
        this.#put(text);
        this.#exports.add_passage(this.#ranking);
      });
      // Others may go on with the next one, or remove this one.
      this.count += 1;
      yield;
    }
  }

  remove(row: number): void {
    if (row < this.count) this.#exports.remove_passage(this.#ranking, row);
  }

  /** The best of the rows that are allowed, the best first: by words, or by words and meaning. */
  search({ text, vector, by, k, weight, mark }: Question, rows: Rows, allowed: (row: number) => boolean): RowHit[] {
    return guarded(() => {
      const [exports, ranking] = [this.#exports, this.#ranking];
      this.#put(text);
      const words = this.#floats(exports.score_words(ranking));
      words.forEach((score, row) => {
        if (score > 0 && !allowed(row)) words[row] = 0;
      });
      const depth = exports.usual_depth(k);
      if (vector) {
        const nearest = rows.search(vector, depth, allowed);
        const similarities = this.#floats(exports.similarity_room(ranking));
        for (const { row, score } of nearest) similarities[row] = score;
      }
      const count = exports.rank(ranking, BY[by], weight ?? exports.usual_weight(ranking, Number(isBuiltIn(mark))), depth);
      const view = new DataView(exports.memory.buffer, exports.hits(ranking));
      return Array.from({ length: Math.min(k, count) }, (_, at) => ({ row: view.getUint32(8 * at, true), score: view.getFloat32(8 * at + 4, true) }));
    });
  }

  #put(text: string): void {
    const bytes = new TextEncoder().encode(text);
    const place = this.#exports.text_room(this.#ranking, bytes.length);
    new Uint8Array(this.#exports.memory.buffer, place).set(bytes);
  }

  /** Numbers of all passages, to be used before the module is called again. */
  #floats(place: number): Float32Array {
    return new Float32Array(this.#exports.memory.buffer, place, this.count);
  }
}

/** The first elements, in thousandths, that all-MiniLM-L6-v2 gives for the text by which an index tells models apart. */
const BUILT_IN: readonly number[] = [
  -61, 14, 7, 0, -6, 37, -35, 55, 2, 53, 14, -80, -33, -24, -107, -122, 37, -50, -16, -57, 97, 51, 49, 31, 52, 49, 97, -18, -5, -153, 17, 82,
];

/** Whether a model is the one in the program, of which is known that it knows English alone; its weights may be quantised. */
const isBuiltIn = ({ probe }: ModelMark): boolean => probe.length === BUILT_IN.length && similarity(probe, BUILT_IN) >= 0.9;

let compiled: Promise<WebAssembly.Module> | undefined;

/** What makes an empty ranking. */
export async function openRanking(): Promise<() => PassageRanking> {
  compiled ??= WebAssembly.compile(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
  const module = await compiled;
  return () => new PassageRanking(module);
}
